"""An emulator of the messaging gateway, built from its specification without any code of this package's client."""

from bot.testing.emulator.emulated_account import AcceptedMessage, NotShown
from bot.testing.emulator.emulated_templates import MessageTemplate, TemplateButton
from bot.testing.emulator.emulator import API_KEY, SECRET, Emulator
from bot.testing.emulator.event_payloads import EVENTS
from bot.testing.emulator.gateway_behaviour import Behaviour
from bot.testing.emulator.injected_faults import Faults, InjectedFault, Request
from bot.testing.emulator.interactive import InteractiveChoice

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
