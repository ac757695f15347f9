"""The processes of `bot serve`: a supervisor and its children: the web process, the engine, and the console's."""
