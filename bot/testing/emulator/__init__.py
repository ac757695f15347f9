"""An emulator of the messaging gateway, built from its specification without any code of this package's client."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bot.testing.emulator.emulated_account import AcceptedMessage, NotShown
    from bot.testing.emulator.emulated_templates import MessageTemplate, TemplateButton
    from bot.testing.emulator.emulator import API_KEY, SECRET, Emulator
    from bot.testing.emulator.event_payloads import EVENTS
    from bot.testing.emulator.gateway_behaviour import Behaviour
    from bot.testing.emulator.injected_faults import Faults, InjectedFault, Request
    from bot.testing.emulator.interactive import InteractiveChoice

_FILES = {
    "emulated_account": ("AcceptedMessage", "NotShown"),
    "emulated_templates": ("MessageTemplate", "TemplateButton"),
    "emulator": ("API_KEY", "SECRET", "Emulator"),
    "event_payloads": ("EVENTS",),
    "gateway_behaviour": ("Behaviour",),
    "injected_faults": ("Faults", "InjectedFault", "Request"),
    "interactive": ("InteractiveChoice",),
}

__all__ = [
    "API_KEY",
    "EVENTS",
    "SECRET",
    "AcceptedMessage",
    "Behaviour",
    "Emulator",
    "Faults",
    "InjectedFault",
    "InteractiveChoice",
    "MessageTemplate",
    "NotShown",
    "Request",
    "TemplateButton",
]


def __getattr__(name: str) -> Any:
    """Import a name when it is asked for: Flask is large, and a check needs a list of event names alone."""
    for file, names in _FILES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{file}"), name)
    raise AttributeError(name)
