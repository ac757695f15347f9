"""The one clock, and what waits for it. Every part that needs the time is given one; tests and `bot chat` give one that
they move.

It tells two things: what time it is, which may be set back or forward while the bot runs, and how long something takes,
which is never measured by the time of day (see docs/architecture.md, "Time").
"""

import heapq
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from random import Random
from time import monotonic
from typing import Generic, Protocol, TypeVar

from bot.core.defects import guard, start_thread

T = TypeVar("T")


_NOTHING = timedelta()
SMALLEST_STEP = timedelta(seconds=5)
"""A smaller change of the clock is an ordinary correction, and is not reported."""

LONGEST_BACKOFF = 60.0  # seconds
_SPREAD = 1.25
_LONGEST_WAIT = LONGEST_BACKOFF * _SPREAD
_LOOK_AT_CLOCK = 60.0  # seconds
_BELIEVED_AFTER = 86_400.0  # seconds


class Clock(Protocol):
    """Tells the time, measures how much passes, and waits for it to pass."""

    def now(self) -> datetime:
        """The time, aware, in UTC. It may step, either way."""
        ...

    def elapsed(self) -> float:
        """The seconds that have passed since some moment. It never steps: deadlines in memory are such numbers."""
        ...

    def wait(self, condition: threading.Condition, until: float | None, at_most: float) -> None:
        """Wait on a held condition until notified, until `elapsed` says ``until``, or for ``at_most`` real seconds."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """The time, aware, in UTC."""
        return datetime.now(UTC)

    def elapsed(self) -> float:
        """The seconds since the machine started."""
        return monotonic()

    def wait(self, condition: threading.Condition, until: float | None, at_most: float) -> None:
        """Wait on a held condition until notified, until `elapsed` says ``until``, or for ``at_most`` seconds."""
        left = at_most if until is None else min(at_most, until - monotonic())
        if left > 0:
            condition.wait(left)


class MovableClock:
    """A clock that tests move. Between moves it stands still, or continues if it is ``running``."""

    def __init__(self, start: datetime, *, running: bool = False) -> None:
        self._lock = threading.Lock()
        self._start = start.astimezone(UTC)
        self._passed = timedelta()
        self._running_since = monotonic() if running else None
        self._holds, self._continues = 0, False
        self._waiting: set[threading.Condition] = set()

    def now(self) -> datetime:
        """The time, aware, in UTC."""
        with self._lock:
            return self._start + self._all_passed()

    def elapsed(self) -> float:
        """The seconds that have passed since the clock was made, however often it was set."""
        with self._lock:
            return self._all_passed().total_seconds()

    def move(self, by: timedelta) -> None:
        """Let time pass at once, and wake all who wait for it."""
        self.move_to(self.now() + by)

    def move_to(self, time: datetime) -> None:
        """Let time pass until then (never back), and wake all who wait for it."""
        with self._lock:
            self._passed = max(self._all_passed(), time.astimezone(UTC) - self._start)
            if self._running_since is not None:
                self._running_since = monotonic()
        self._wake()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let the clock stand still meanwhile; it can be moved. May be nested, and used from many threads."""
        with self._lock:
            self._holds += 1
            self._passed, runs = self._all_passed(), self._running_since is not None
            self._continues = self._continues or runs
            self._running_since = None
        try:
            yield
        finally:
            with self._lock:
                self._holds -= 1
                if not self._holds and self._continues:
                    self._running_since, self._continues = monotonic(), False
            self._wake()

    def step(self, by: timedelta) -> None:
        """Set the time forward, or back if ``by`` is negative, without any time passing; and wake all who wait."""
        with self._lock:
            self._start += by
        self._wake()

    def wait(self, condition: threading.Condition, until: float | None, at_most: float) -> None:
        """Wait on a held condition until notified, until `elapsed` says ``until``, or for ``at_most`` real seconds."""
        with self._lock:
            self._waiting.add(condition)
            left = at_most if until is None else until - self._all_passed().total_seconds()
            runs = self._running_since is not None
        try:
            if left > 0:
                condition.wait(min(left, at_most) if runs else at_most)
        finally:
            with self._lock:
                self._waiting.discard(condition)

    def _all_passed(self) -> timedelta:
        if self._running_since is None:
            return self._passed
        return self._passed + timedelta(seconds=monotonic() - self._running_since)

    def _wake(self) -> None:
        with self._lock:
            waiting = list(self._waiting)
        for condition in waiting:
            with condition:
                condition.notify_all()


class ClockJumps:
    """Notices that the clock was set: the time of day and the elapsed time no longer agree."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began = clock.now() - timedelta(seconds=clock.elapsed())  # the time of day at which nothing had passed

    def pop(self, now: datetime, elapsed: float) -> timedelta:
        """How far the clock, which says ``now`` and ``elapsed``, was set since the last call: below 0 is back, 0 is not
        at all.
        """
        by = now - timedelta(seconds=elapsed) - self._began
        if -SMALLEST_STEP < by < SMALLEST_STEP:
            return _NOTHING
        self._began += by
        return by

    def pending(self) -> bool:
        """True if the clock was set since the last call of `pop`."""
        by = self._clock.now() - timedelta(seconds=self._clock.elapsed()) - self._began
        return not -SMALLEST_STEP < by < SMALLEST_STEP


class ExpiryTime:
    """The time by which things are too late. Safe to use from many threads.

    If the clock is set back, it follows at once; if the clock is set forward, after a day: a mistake must not let
    everything expire that waits. Something that expires too late costs a request that the gateway refuses; too early, a
    message.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._jumps = ClockJumps(clock)
        self._ahead: list[tuple[float, timedelta]] = []  # when the clock was set forward, and how far

    def now(self) -> datetime:
        """The time of day, or one before it."""
        with self._lock:
            now, passed = self._clock.now(), self._clock.elapsed()
            by = self._jumps.pop(now, passed)
            if not by and not self._ahead:
                return now
            if by < timedelta():
                self._ahead.clear()
            elif by:
                self._ahead.append((passed, by))
            self._ahead = [step for step in self._ahead if passed < step[0] + _BELIEVED_AFTER]
            return now - sum((by for _, by in self._ahead), timedelta())


def deadline_of(clock: Clock, time: datetime) -> float:
    """The value of `Clock.elapsed` at that time, unless the clock is set."""
    return clock.elapsed() + (time - clock.now()).total_seconds()


def time_of(clock: Clock, deadline: float) -> datetime:
    """The time at which `Clock.elapsed` says ``deadline``, unless it is set. It is after now if that is ahead."""
    left = deadline - clock.elapsed()
    return clock.now() + (max(timedelta(seconds=left), timedelta.resolution) if left > 0 else timedelta(seconds=left))


def to_microseconds(deadline: float) -> float:
    """A sum of seconds, rounded: 0.1 + 0.2 is 0.3, as for times of day."""
    return round(deadline, 6)


class Timekeeper:
    """A thread that calls ``look`` when its time comes. ``look`` returns when that is next; None: only when `wake_by`
    says so.

    It is started when the first time is named. ``lock`` is its owner's, and free while ``look`` is called. Times are
    those of `Clock.elapsed`.
    """

    def __init__(self, clock: Clock, lock: threading.Lock, look: Callable[[], float | None], name: str) -> None:
        self._clock = clock
        self._look = look
        self._changed = threading.Condition(lock)
        self._due: float | None = None  # what it waits for; while it looks, the earliest time that was named meanwhile
        self._ended = False
        self._thread = threading.Thread(target=guard(self._run), name=f"{name}-time", daemon=True)

    def wake_by(self, time: float) -> None:
        """Wake the thread at this time at the latest. With the lock held.

        Raises `bot.core.defects.NoThread`: then nothing would wake it later.
        """
        if self._due is None or time < self._due:
            if self._thread.ident is None and not self._ended:
                start_thread(self._thread)
            self._due = time
            self._changed.notify_all()

    def end(self) -> None:
        """Look no more. With the lock held."""
        self._ended = True
        self._changed.notify_all()

    def join(self) -> None:
        """Wait until it has ended."""
        if self._thread.ident is not None:  # it may never have been started
            self._thread.join()

    def _run(self) -> None:
        while not self._ended:
            due = self._look()
            with self._changed:
                if due is not None and (self._due is None or due < self._due):
                    self._due = due
                if not self._ended:
                    self._clock.wait(self._changed, self._due, _LOOK_AT_CLOCK)
                self._due = None


class DelayQueue(Generic[T]):
    """Items in the order in which they become ready. Times are those of `Clock.elapsed`."""

    def __init__(self) -> None:
        self.ready: deque[T] = deque()
        self._later: list[tuple[float, int, T]] = []
        self._order = count()

    def __iter__(self) -> Iterator[tuple[float, T]]:
        """The items that are ready later, the first ones first, each with its time."""
        return ((due_at, item) for due_at, _, item in sorted(self._later))

    def add(self, item: T, due_at: float, now: float) -> None:
        """Add an item that is ready at ``due_at``."""
        if due_at <= now:
            self.ready.append(item)
        else:
            heapq.heappush(self._later, (to_microseconds(due_at), next(self._order), item))

    def remove(self, gone: Callable[[T], bool]) -> None:
        """Remove the items for which ``gone`` is true."""
        self.ready = deque(item for item in self.ready if not gone(item))
        self._later = [entry for entry in self._later if not gone(entry[2])]
        heapq.heapify(self._later)

    def update(self, now: float) -> None:
        """Make the items ready that are due by now."""
        while self._later and self._later[0][0] <= now:
            self.ready.append(heapq.heappop(self._later)[2])

    def next_due(self) -> float | None:
        """The time at which the first item is due; None without items."""
        return self._later[0][0] if self._later else None


def backoff(attempts: int, random: Random) -> float:
    """The seconds to wait after so many attempts: 1, 2, 4 ... `LONGEST_BACKOFF`, and up to a quarter more by chance."""
    seconds = min(2.0 ** min(max(attempts - 1, 0), 10), LONGEST_BACKOFF)
    return to_microseconds(seconds * random.uniform(1.0, _SPREAD))


def left_to_wait(attempts: int, due_at: datetime, now: datetime) -> float:
    """The seconds that a stored row still waits for its next attempt at ``due_at``; 0 for one without an attempt.

    It is never more than the longest backoff: the clock may have been set back since the row was written.
    """
    return min(max((due_at - now).total_seconds(), 0.0), _LONGEST_WAIT) if attempts else 0.0
