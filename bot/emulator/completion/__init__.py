"""An emulator of the chat-completion API, built from its specification and from nothing of this package's client."""

from bot.emulator.completion.account import EXCLUSIVE, Model
from bot.emulator.completion.answers import ERRORS, Answer, Failure, Raw, Silence, failure
from bot.emulator.completion.api import ENDPOINTS
from bot.emulator.completion.behaviour import Behaviour
from bot.emulator.completion.requests import Received
from bot.emulator.completion.service import KEY, MODELS, CompletionService

__all__ = [
    "ENDPOINTS",
    "ERRORS",
    "EXCLUSIVE",
    "KEY",
    "MODELS",
    "Answer",
    "Behaviour",
    "CompletionService",
    "Failure",
    "Model",
    "Raw",
    "Received",
    "Silence",
    "failure",
]
