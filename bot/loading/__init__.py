"""Loads a bot from its folder: its files, its Python, and the watchdog that stops this Python when it hangs."""
