"""What a bot adds in Python: handlers, functions, filters, step kinds, providers, hooks, as values."""
