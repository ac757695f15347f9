"""The store: the inbox, which the web process writes, and the engine's tables, in SQLite or PostgreSQL.

All SQL of the project is here.
"""
