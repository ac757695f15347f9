"""Templates and expressions: parsed, checked, worked out in a sandbox, evaluated abstractly."""
