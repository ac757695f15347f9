"""A bot and its contacts by the real path in one process, beside the emulator, on a clock that is moved."""
