"""Analyses of the graph: reachable steps, longest paths in time and messages, and which variables may be null."""
