"""Runs a bot without an account: emulators of both services, a simulation with its own clock, and written tests."""
