"""The declarations of a bot's Python as values: handlers, functions, filters, step kinds, providers, hooks."""
