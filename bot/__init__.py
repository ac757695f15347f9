"""Chatbots with conversation flows.

A bot's own Python needs one name: ``from bot import handler``.
"""

from bot.lang.handlers import handler

__all__ = ["handler"]
__version__ = "0.1.0"
