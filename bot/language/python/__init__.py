"""The declarations in a bot's own Python: handlers, functions, filters, step kinds, providers, hooks."""
