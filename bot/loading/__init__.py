"""From a folder to a bot that can be served: its files, its Python, and the watchdog that stops that Python."""
