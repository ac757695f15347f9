"""Values that all other parts use. Nothing here does I/O, reads a clock or draws a random number."""
