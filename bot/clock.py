"""The one clock. Every part that needs the time is given one; tests and `bot chat` give one that they move."""

import threading
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Protocol


class Clock(Protocol):
    """Tells the time and waits for it to pass."""

    def now(self) -> datetime:
        """The time, aware, in UTC."""
        ...

    def wait(self, condition: threading.Condition, until: datetime | None, at_most: float) -> None:
        """Wait on a held condition until notified, until a time, or for ``at_most`` real seconds."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """The time, aware, in UTC."""
        return datetime.now(UTC)

    def wait(self, condition: threading.Condition, until: datetime | None, at_most: float) -> None:
        """Wait on a held condition until notified, until a time, or for ``at_most`` real seconds."""
        left = at_most if until is None else min(at_most, (until - self.now()).total_seconds())
        if left > 0:
            condition.wait(left)


class MovableClock:
    """A clock that moves when it is told to; between moves it stands still or, if ``running``, goes on."""

    def __init__(self, start: datetime, *, running: bool = False) -> None:
        self._lock = threading.Lock()
        self._start = start.astimezone(UTC)
        self._running_since = monotonic() if running else None
        self._waiting: set[threading.Condition] = set()

    def now(self) -> datetime:
        """The time, aware, in UTC."""
        with self._lock:
            return self._now()

    def _now(self) -> datetime:
        if self._running_since is None:
            return self._start
        return self._start + timedelta(seconds=monotonic() - self._running_since)

    def move(self, by: timedelta) -> None:
        """Let time pass at once, and wake everybody who waits for it."""
        self.move_to(self.now() + by)

    def move_to(self, time: datetime) -> None:
        """Set the time (never back), and wake everybody who waits for it."""
        with self._lock:
            self._start = max(self._now(), time.astimezone(UTC))
            if self._running_since is not None:
                self._running_since = monotonic()
            waiting = list(self._waiting)
        for condition in waiting:
            with condition:
                condition.notify_all()

    def wait(self, condition: threading.Condition, until: datetime | None, at_most: float) -> None:
        """Wait on a held condition until notified, until a time, or for ``at_most`` real seconds."""
        with self._lock:
            self._waiting.add(condition)
            now = self._now()
            runs = self._running_since is not None
        try:
            if until is None or until > now:
                left = (until - now).total_seconds() if until is not None and runs else at_most
                condition.wait(min(left, at_most))
        finally:
            with self._lock:
                self._waiting.discard(condition)
