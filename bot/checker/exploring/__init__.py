"""Explores a bot with the real engine and without I/O: possible moves, their effects, and the search for a state."""
