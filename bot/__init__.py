"""Chatbots with conversation flows.

A bot's own Python imports its decorators from here: ``from bot import handler``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bot.language.python.decorators import function, handler, on, provider, template_filter
    from bot.language.python.verbs import Expression, Leave, step_kind

__all__ = ["Expression", "Leave", "function", "handler", "on", "provider", "step_kind", "template_filter"]
__version__ = "0.1.0"

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import a decorator when it is asked for: `bot --help` needs none, and took 10 ms longer."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = "verbs" if name in ("Expression", "Leave", "step_kind") else "decorators"
        return getattr(import_module(f"bot.language.python.{module}"), name)
