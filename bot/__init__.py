"""Chatbots with conversation flows.

What a bot's own Python needs is here: ``from bot import handler``.
"""

from bot.lang.functions import function, template_filter
from bot.lang.handlers import handler
from bot.lang.hooks import on
from bot.lang.providers import provider
from bot.lang.verbs import Expression, Leave, step_kind

__all__ = ["Expression", "Leave", "function", "handler", "on", "provider", "step_kind", "template_filter"]
__version__ = "0.1.0"
