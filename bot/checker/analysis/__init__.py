"""Analyses of a bot's graph: reachable steps, longest paths in time and messages, and variables that may be null."""
