"""The root of every error that this package raises on purpose."""


class BotError(Exception):
    """An error whose text is written for the person who reads it: what is wrong, where, what to do."""
