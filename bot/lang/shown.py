"""How a value reads as text."""

from collections.abc import Mapping
from datetime import datetime, time, timedelta
from decimal import Decimal
from typing import Any

from bot.core.values import Location, Media
from bot.lang import durations

MAX_TEXT = 64 * 1024  # characters of one rendered text, and of every text on the way there


def shown(value: Any) -> str:
    """A value as a contact reads it: null is nothing, numbers are at their shortest, lists have commas."""
    match value:
        case str():
            return str(value)
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float() | Decimal():
            return _shortest(value)
        case datetime():
            return f"{value:%Y-%m-%d %H:%M}"
        case time():
            return f"{value:%H:%M}"
        case timedelta():
            return durations.words(value)
        case list() | tuple():
            return ", ".join(shown(item) for item in value)
        case Mapping():
            return ", ".join(f"{key}: {shown(item)}" for key, item in value.items())
        case Media(url=url):
            return url
        case Location(latitude=latitude, longitude=longitude):
            return f"{latitude}, {longitude}"
    return str(value)


def _shortest(number: float | Decimal) -> str:
    exact = number if isinstance(number, Decimal) else Decimal(repr(number))
    if not exact.is_finite() or abs(exact.adjusted()) > 30:
        return str(number)
    text = f"{exact:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
