"""The flow language: reads YAML, expressions, types, steps and flows into a library. No I/O, no clock."""
