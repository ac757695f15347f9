"""How long a test waits for what must come."""

PATIENCE = 120.0  # seconds, after which it has failed: on a busy machine a second's work takes many
