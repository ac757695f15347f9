"""A simulation: a real bot and the emulated gateway in one process, on a clock that can be moved."""
