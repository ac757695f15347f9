"""The two SQLite files: the inbox, which the web process writes, and the engine's. All SQL of the project is here."""
