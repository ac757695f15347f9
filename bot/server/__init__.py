"""`bot serve`: its processes, the webhook, the engine's socket for commands, and `bot doctor`."""
