"""A bot's files, read and understood: YAML, expressions, types, steps, flows. No I/O, no clock."""
