"""The parts of commands that are no command themselves."""
