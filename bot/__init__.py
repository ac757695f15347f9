"""Chatbots with conversation flows.

A bot's own Python imports its decorators from here: ``from bot import handler``.
"""

from bot.language.python.decorators import function, handler, on, provider, template_filter
from bot.language.python.verbs import Expression, Leave, step_kind

__all__ = ["Expression", "Leave", "function", "handler", "on", "provider", "step_kind", "template_filter"]
__version__ = "0.1.0"
