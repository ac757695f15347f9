"""Durations as people write them in flow files: ``90s``, ``10m``, ``2h30m``, ``5d 2h``, ``1w``."""

import re
from datetime import timedelta

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
LONGEST = timedelta(days=366)
_PART = r"(\d{1,9})\s*([smhdw])"
_WHOLE = re.compile(rf"\s*(?:{_PART}\s*)+", re.IGNORECASE)


def parse(text: str) -> timedelta | None:
    """Read a duration; None when it is none, nothing at all, or longer than a year."""
    if len(text) > 100 or not _WHOLE.fullmatch(text):
        return None
    seconds = sum(int(number) * UNITS[unit.lower()] for number, unit in re.findall(_PART, text, re.IGNORECASE))
    return timedelta(seconds=seconds) if 0 < seconds <= LONGEST.total_seconds() else None


def words(duration: timedelta, units: int = 2) -> str:
    """Write a duration, to the second at most, in so many units, its largest: ``2h 30m``."""
    left = int(duration.total_seconds())
    parts = []
    for unit in ("d", "h", "m", "s"):
        count, left = divmod(left, UNITS[unit])
        if count:
            parts.append(f"{count}{unit}")
    return " ".join(parts[:units]) or "0s"
