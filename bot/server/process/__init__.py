"""The processes of `bot serve`: a supervisor, which starts the web, engine and console processes."""
