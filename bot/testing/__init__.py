"""A bot without an account: the emulators, the simulation on a clock of its own, written conversations."""
