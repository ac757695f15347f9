"""A template that fails, and what is said of a value then: its kind, never the value itself."""

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from bot.core.errors import BotError

_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (type(None), "null"),
    (bool, "true or false"),
    (str, "a text"),
    ((int, float, Decimal), "a number"),
    (datetime, "a date with a time"),
    (date, "a date"),
    (time, "a time of day"),
    (timedelta, "a duration"),
    ((list, tuple), "a list"),
    (Mapping, "a record"),
)


class TemplateFailed(BotError):
    """A template or an expression cannot be worked out with the values at hand. The text holds none of them."""


def kind_of(value: Any) -> str:
    """What a value is, in words: errors say this instead of the value, which may be a contact's text."""
    return next((words for types, words in _KINDS if isinstance(value, types)), "a value of another kind")
