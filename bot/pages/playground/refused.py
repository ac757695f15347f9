"""The error for an act that cannot be done on the page."""

from bot.core.errors import BotError


class Refused(BotError):
    """The person asked for something that cannot be done; the text says why."""
