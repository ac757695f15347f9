"""Walking through a bot with the real engine, without I/O: what could happen next, what it came to, and how to get where."""
