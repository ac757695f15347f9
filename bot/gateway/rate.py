"""What the gateway says about its limits with each answer (spec: Limits)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

_LONGEST_WAIT = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Rate:
    """How many requests are left until when, and how long to wait (a span, or a time); None where it is not said."""

    remaining: int | None = None
    resets_at: datetime | None = None
    retry_after: timedelta | datetime | None = None

    def wait(self, now: datetime) -> float | None:
        """How many seconds ``Retry-After`` asks to wait, a day at most; None where it asks for no wait at all."""
        if self.retry_after is None:
            return None
        left = self.retry_after - now if isinstance(self.retry_after, datetime) else self.retry_after
        return min(left, _LONGEST_WAIT).total_seconds() if left > timedelta() else None

    def resets_in(self, now: datetime) -> float | None:
        """In how many seconds there are requests again; below 0 where one of the two clocks is wrong."""
        return None if self.resets_at is None else (self.resets_at - now).total_seconds()


def read_rate(headers: Mapping[str, str]) -> Rate:
    """Read ``X-RateLimit-Remaining``, ``X-RateLimit-Reset`` and ``Retry-After``; what is no such value is not said."""
    remaining = _number(headers.get("X-RateLimit-Remaining"))
    return Rate(
        None if remaining is None else int(remaining),
        _time(headers.get("X-RateLimit-Reset")),
        _wait(headers.get("Retry-After")),
    )


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _time(text: str | None) -> datetime | None:
    seconds = _number(text)
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _wait(text: str | None) -> timedelta | datetime | None:
    seconds = _number(text)
    if seconds is not None:
        return timedelta(seconds=min(seconds, _LONGEST_WAIT.total_seconds()))
    try:
        at = parsedate_to_datetime(text or "")
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
