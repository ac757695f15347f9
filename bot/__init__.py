"""Chatbots with conversation flows.

What a bot's own Python needs is here: ``from bot import handler``.
"""

from bot.extensions.decorators import function, handler, on, provider, template_filter
from bot.extensions.verbs import Expression, Leave, step_kind

__all__ = ["Expression", "Leave", "function", "handler", "on", "provider", "step_kind", "template_filter"]
__version__ = "0.1.0"
