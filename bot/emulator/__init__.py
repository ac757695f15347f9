"""An emulator of the messaging gateway, built from its specification and from nothing of this package's client."""

from bot.emulator.account import NotShown, Sent
from bot.emulator.behaviour import Behaviour
from bot.emulator.emulator import API_KEY, SECRET, Emulator
from bot.emulator.events import EVENTS
from bot.emulator.faults import Fault, Faults, Request
from bot.emulator.interactive import Choice
from bot.emulator.templates import MessageTemplate, TemplateButton

__all__ = [
    "API_KEY",
    "EVENTS",
    "SECRET",
    "Behaviour",
    "Choice",
    "Emulator",
    "Fault",
    "Faults",
    "MessageTemplate",
    "NotShown",
    "Request",
    "Sent",
    "TemplateButton",
]
