"""A template that fails, and what is said of a value then: its kind, never the value itself."""

import re
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from bot.core.errors import BotError
from bot.core.values import Location, Media, Record

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
    ((dict, Record, Mapping), "a record"),
    (Media, "a file"),
    (Location, "a place"),
)
_NAMED = {
    name: words
    for types, words in _KINDS
    for cls in (types if isinstance(types, tuple) else (types,))
    for name in (cls.__name__, f"{cls.__module__}.{cls.__name__}")
}
"""The kinds by how Python's own errors name a value's class."""


class TemplateFailed(BotError):
    """A template or an expression cannot be worked out with the values at hand. The text holds none of them."""


def kind_of(value: Any) -> str:
    """What a value is, in words: errors say this instead of the value, which may be a contact's text."""
    return next((words for types, words in _KINDS if isinstance(value, types)), "a value of another kind")


def kinds_in(message: str) -> list[str]:
    """The kinds of the values that a `TypeError` of Python's own is about, by its text."""
    return [_NAMED[name] for name in re.findall(r"[\w.]+", message) if name in _NAMED]
