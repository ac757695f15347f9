"""The limits of an API key: requests a minute and a day, over all endpoints together (spec: "Limits")."""

from collections import deque
from datetime import datetime
from email.utils import format_datetime
from math import ceil

from bot.testing.emulator.gateway_behaviour import Behaviour
from bot.testing.emulator.request_rules import refuse

MINUTE = 60.0
DAY = 86400.0


class _CountWindow:
    """Counts requests in a sliding window, or in one that begins at every multiple of its length."""

    def __init__(self, limit: int, length: float) -> None:
        self.limit = limit
        self._length = length
        self._times: deque[float] = deque()

    def remaining(self, now: float, fixed: bool) -> int:
        start = now // self._length * self._length if fixed else now - self._length
        # A sliding window does not contain its own beginning; a fixed one does.
        while self._times and (self._times[0] < start if fixed else self._times[0] <= start):
            self._times.popleft()
        return self.limit - len(self._times)

    def take(self, now: float) -> None:
        self._times.append(now)

    def reset(self, now: float, fixed: bool) -> float:
        if fixed:
            return (now // self._length + 1) * self._length
        return (self._times[0] if self._times else now) + self._length


class RequestLimits:
    """The limits of a key. The account's lock guards them."""

    def __init__(self, per_minute: int, per_day: int, behaviour: Behaviour) -> None:
        self._minute = _CountWindow(per_minute, MINUTE)
        self._day = _CountWindow(per_day, DAY)
        self._behaviour = behaviour

    def headers(self, now: datetime) -> dict[str, str]:
        """The three headers of an answer: what is left, without counting a request, and until when."""
        seconds = now.timestamp()
        window, remaining, fixed = self._tightest(seconds)
        # Rounded up: in that second there is room again.
        return {
            "X-RateLimit-Limit": str(self._minute.limit),
            "X-RateLimit-Remaining": str(max(remaining, 0)),
            "X-RateLimit-Reset": str(ceil(window.reset(seconds, fixed))),
        }

    def take(self, now: datetime) -> None:
        """Count a request. Raises `Refusal` with ``RATE_LIMIT_EXCEEDED`` if the limit is used up."""
        seconds = now.timestamp()
        window, remaining, fixed = self._tightest(seconds)
        if remaining <= 0:
            reset = window.reset(seconds, fixed)
            wait = max(1, ceil(reset - seconds))
            refuse(
                "RATE_LIMIT_EXCEEDED", f"Rate limit exceeded, retry in {wait} s", headers=self.retry_after(now, wait)
            )
        self._minute.take(seconds)
        self._day.take(seconds)

    def retry_after(self, now: datetime, seconds: float) -> dict[str, str]:
        """The ``Retry-After`` header, in seconds or as a date."""
        if self._behaviour.retry_after == "seconds":
            return {"Retry-After": str(ceil(seconds))}
        date = datetime.fromtimestamp(ceil(now.timestamp() + seconds), now.tzinfo)
        return {"Retry-After": format_datetime(date, usegmt=True)}

    def _tightest(self, now: float) -> tuple[_CountWindow, int, bool]:
        fixed_minute = self._behaviour.minute_window == "fixed"
        fixed_day = self._behaviour.day_window == "calendar"
        minute = self._minute.remaining(now, fixed_minute)
        day = self._day.remaining(now, fixed_day)
        return (self._day, day, fixed_day) if day < minute else (self._minute, minute, fixed_minute)
