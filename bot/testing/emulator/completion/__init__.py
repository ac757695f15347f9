"""An emulator of the chat-completion API, built from its specification without any code of this package's client."""

from bot.testing.emulator.completion.completion_account import EXCLUSIVE, EmulatedModel
from bot.testing.emulator.completion.completion_api import ENDPOINTS
from bot.testing.emulator.completion.completion_requests import Received
from bot.testing.emulator.completion.completion_service import KEY, MODELS, CompletionService
from bot.testing.emulator.completion.model_answers import (
    ERRORS,
    CompletionBehaviour,
    ErrorAnswer,
    ModelAnswer,
    NoAnswer,
    RawAnswer,
    failure,
)

__all__ = [
    "ENDPOINTS",
    "ERRORS",
    "EXCLUSIVE",
    "KEY",
    "MODELS",
    "CompletionBehaviour",
    "CompletionService",
    "EmulatedModel",
    "ErrorAnswer",
    "ModelAnswer",
    "NoAnswer",
    "RawAnswer",
    "Received",
    "failure",
]
