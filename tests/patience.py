"""How long a test waits for what must come."""

import os

PATIENCE = float(os.environ.get("PATIENCE", 120))
"""Seconds, after which it has failed: on a busy machine a second's work takes many."""
