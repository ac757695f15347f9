"""Values and durations in sentences for people."""

from datetime import timedelta
from typing import Any


def quoted(text: str) -> str:
    """A text in quotes, on one line and not too long to be read."""
    return f'"{short(text)}"'


def short(value: Any) -> str:
    """The beginning of a value, on one line."""
    text = " ".join(str(value).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST].rstrip()}…"


_LONGEST = 120  # characters


def spelt_out(duration: timedelta) -> str:
    """A duration for people: ``26 hours``, ``3 days and 2 hours``, ``1 minute``."""
    left, parts = round(duration.total_seconds()), []
    units = _UNITS if left >= 2 * _UNITS["day"] else {unit: _UNITS[unit] for unit in ("hour", "minute", "second")}
    for unit, seconds in units.items():
        count, left = divmod(left, seconds)
        if count:
            parts.append(f"{count} {unit}{'' if count == 1 else 's'}")
    return " and ".join(parts[:2]) or "a moment"


_UNITS = {"day": 86_400, "hour": 3600, "minute": 60, "second": 1}
