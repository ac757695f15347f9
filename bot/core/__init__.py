"""Values that every other part speaks in. Nothing here does I/O, reads a clock or draws a random number."""
