"""The processes of `bot serve`: a supervisor and its two children, the web process and the engine."""
