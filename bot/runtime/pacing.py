"""The gateway's limits: when the next request may go out, all endpoints together (spec: Limits).

Pure state with the time as an argument; not safe for threads by itself.
"""

from collections import deque
from collections.abc import Iterable
from datetime import datetime, timedelta

from bot.gateway.rate import Rate

MINUTE = 60.0
DAY = 86_400.0
_HEADERS_HOLD = timedelta(seconds=MINUTE)


class Pacing:
    """Gives out permits for requests, within two sliding windows: a minute, and a day.

    A request counts from its permit until a minute (a day) after its answer: the gateway counts it somewhere in
    between, so that its window cannot overflow either. Any 24 hours within the limit also keep the calendar day,
    which is 24 hours, within it.

    What the gateway's headers say lowers this and never raises it. ``recent`` are the requests before a restart:
    when, and how many.
    """

    def __init__(
        self, per_minute: int = 60, per_day: int = 10_000, recent: Iterable[tuple[datetime, int]] = ()
    ) -> None:
        self._windows = (_Window(per_minute, MINUTE, 0.125), _Window(per_day, DAY, 60.0))
        self._in_flight = 0
        self._given = 0  # permits so far: the number of a permit is its place among them
        self._paused_until: datetime | None = None
        self._said: _Said | None = None
        for at, count in sorted(recent):
            for window in self._windows:
                window.count(at.timestamp(), count)

    def left(self, now: datetime) -> int:
        """How many permits there are now."""
        if self._paused_until is not None and self._paused_until > now:
            return 0
        seconds = now.timestamp()
        left = min(window.left(seconds) for window in self._windows) - self._in_flight
        if self._said is not None and self._said.until > now:
            left = min(left, self._said.left(self._given))
        return max(left, 0)

    def take(self, now: datetime) -> int | None:
        """A permit for one request, or None when there is none now. Give it back by `ended` or `unused`."""
        if not self.left(now):
            return None
        self._in_flight += 1
        self._given += 1
        return self._given

    def ended(self, permit: int, now: datetime, rate: Rate | None) -> None:
        """The permit's request was answered, or failed; ``rate`` is what the answer said about limits."""
        self._in_flight -= 1
        seconds = now.timestamp()
        for window in self._windows:
            window.count(seconds, 1)
        if rate is not None and rate.remaining is not None and (self._said is None or self._said.permit < permit):
            until = min(rate.resets_at or now + _HEADERS_HOLD, now + _HEADERS_HOLD)
            self._said = _Said(permit, rate.remaining, until)

    def unused(self, permit: int) -> None:
        """The permit's request never left: it does not count."""
        self._in_flight -= 1

    def pause(self, until: datetime) -> None:
        """No request before then, whoever's it is."""
        self._paused_until = max(until, self._paused_until or until)

    def opens_at(self, now: datetime) -> datetime | None:
        """When there is a permit next: ``now`` if there is one; None if that depends on a request in flight."""
        opens = now
        if self._paused_until is not None:
            opens = max(opens, self._paused_until)
        if self._said is not None and not self._said.left(self._given):
            opens = max(opens, self._said.until)
        seconds = now.timestamp()
        for window in self._windows:
            wait = window.wait(seconds, self._in_flight)
            if wait is None:
                return None
            opens = max(opens, now + timedelta(seconds=wait))
        return opens


class _Said:
    """``remaining`` requests were left, by the gateway's word, when it answered the one with this permit.

    The newest permit's answer is the newest word; what was given out since then is not in it.
    """

    __slots__ = ("permit", "remaining", "until")

    def __init__(self, permit: int, remaining: int, until: datetime) -> None:
        self.permit = permit
        self.remaining = remaining
        self.until = until

    def left(self, given: int) -> int:
        return max(self.remaining - (given - self.permit), 0)


class _Window:
    """How many requests ended within the last ``span`` seconds, counted in steps of ``step`` seconds.

    A step leaves the window when its end does, so the count is never too low, and the memory has a bound.
    """

    def __init__(self, limit: int, span: float, step: float) -> None:
        self._limit = limit
        self._span = span
        self._step = step
        self._counts: deque[list[int]] = deque()  # [number of the step, requests]
        self._total = 0

    def count(self, at: float, requests: int) -> None:
        step = int(at // self._step)
        if self._counts and step <= self._counts[-1][0]:  # also when a clock was set back
            self._counts[-1][1] += requests
        else:
            self._counts.append([step, requests])
        self._total += requests

    def left(self, now: float) -> int:
        """How many more requests fit now, with none in flight."""
        while self._counts and self._leaves(0) <= now:
            self._total -= self._counts.popleft()[1]
        return self._limit - self._total

    def wait(self, now: float, in_flight: int) -> float | None:
        """Seconds until one more request fits: 0 if it does; None if not before one in flight has ended."""
        missing = in_flight + 1 - self.left(now)
        if missing <= 0:
            return 0
        for index in range(len(self._counts)):
            missing -= self._counts[index][1]
            if missing <= 0:
                return self._leaves(index) - now
        return None

    def _leaves(self, index: int) -> float:
        return (self._counts[index][0] + 1) * self._step + self._span
