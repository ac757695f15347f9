"""Templates and expressions: parsed, checked, rendered in a sandbox, evaluated abstractly."""
