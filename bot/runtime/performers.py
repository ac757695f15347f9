"""Performers: call Python handlers on threads of their own, outside any transaction."""

import heapq
import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from random import Random
from typing import Any

from bot.clock import Clock
from bot.lang.handlers import HandlerSpec
from bot.runtime.calling import Caller, Ended
from bot.runtime.crew import Crew
from bot.store.rows import CallRow

LONGEST_BACKOFF = 60.0  # seconds
_LOOK_AT_CLOCK = 60.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CallResult:
    """What became of a call, or of a try.

    ``outcome``: ``done`` with a ``value``; ``timeout``; ``mismatch`` (arguments or result do not fit); the name of
    a declared error; ``error`` (any other, the tries are used up); or ``retry`` at ``due_at``.
    """

    row: CallRow
    outcome: str
    value: Any
    detail: str
    attempts: int
    due_at: datetime | None


@dataclass(slots=True, eq=False)
class _Job:
    row: CallRow
    attempts: int  # this one included
    deadline: datetime  # to end by; while it waits: to begin by, if no thread is left
    given_up: bool = False


class Performers:
    """Takes rows, calls each one's handler, and reports what came of it.

    A handler that is not back ``within`` its seconds has timed out. A thread cannot be ended, so its thread is
    written off until the handler returns; up to ``spare`` others are started in place of such. When all of them
    hang, calls that wait time out too. ``report`` is called with a lock held: it must not call back. A contact's
    calls come one at a time, because its session waits for each.
    """

    def __init__(
        self,
        handlers: Mapping[str, HandlerSpec],
        clock: Clock,
        report: Callable[[CallResult], None],
        *,
        threads: int = 16,
        spare: int = 16,
        random: Random | None = None,
    ) -> None:
        self._handlers = handlers
        self._clock = clock
        self._report = report
        self._threads = threads
        self._spare = spare
        self._random = random or Random()
        self._callers: dict[str, Caller] = {}
        self._lock = threading.Lock()
        self._crew = Crew(self._lock, self._take, self._do, threads, "handlers")
        self._time = threading.Condition(self._lock)
        self._timekeeper = threading.Thread(target=self._keep_time, name="handlers-time", daemon=True)
        self._ready: deque[_Job] = deque()
        self._later: list[tuple[datetime, int, _Job]] = []
        self._order = count()
        self._in_flight: set[_Job] = set()
        self._hanging = 0
        self._awaited: datetime | None = None  # what the timekeeper waits for
        self._running = False
        self._closed = False

    def start(self) -> None:
        """Begin to call."""
        with self._lock:
            self._running = True
            self._timekeeper.start()

    def stop(self, timeout: float) -> None:
        """Call nothing more, and wait for what is in flight. What has not come back by then is not reported."""
        with self._lock:
            started, self._running = self._running, False
            self._crew.end()
            self._time.notify_all()
        if started:
            self._timekeeper.join()
        self._crew.join(timeout)
        with self._lock:
            self._closed = True

    def offer(self, rows: Sequence[CallRow]) -> None:
        """Take rows."""
        with self._lock:
            for row in rows:
                self._schedule(row, row.attempts + 1, row.due_at)
            self._look()

    def idle(self) -> bool:
        """True when nothing happens until the clock moves (or rows are offered): no call runs or could begin now."""
        with self._lock:
            due = self._later[0][0] if self._later else None
            nothing_ready = not self._ready or self._all_hang()
            return not self._in_flight and nothing_ready and (due is None or due > self._clock.now())

    def next_due(self) -> datetime | None:
        """When something happens by itself: the next try, or a time-out."""
        with self._lock:
            return self._look_at()

    # With the lock held

    def _schedule(self, row: CallRow, attempts: int, due_at: datetime) -> None:
        now = self._clock.now()
        job = _Job(row, attempts, max(due_at, now) + timedelta(seconds=row.within))
        if due_at <= now:
            self._ready.append(job)
        else:
            heapq.heappush(self._later, (due_at, next(self._order), job))

    def _look(self, hands: int = 0) -> None:
        """Something has changed: call threads for what can begin, time out what is late, set the timekeeper.

        ``hands`` threads look for a job right after this, uncalled.
        """
        if not self._running:
            return
        now = self._clock.now()
        while self._later and self._later[0][0] <= now:
            self._ready.append(heapq.heappop(self._later)[2])
        for job in [job for job in self._in_flight if job.deadline <= now]:
            self._give_up(job)
        self._crew.call(len(self._ready) - hands)
        while self._all_hang() and self._ready and self._ready[0].deadline <= now:
            job = self._ready.popleft()
            self._report(_result(job, "timeout", "no thread was free: too many handlers hang"))
        look_at = self._look_at()
        if look_at is not None and (self._awaited is None or look_at < self._awaited):
            self._time.notify()

    def _give_up(self, job: _Job) -> None:
        job.given_up = True
        self._in_flight.discard(job)
        self._hangs(self._hanging + 1)
        log.error('handler "%s" hangs: it is not back after %g s', job.row.handler, job.row.within)
        self._report(_result(job, "timeout", f"not back after {job.row.within:g} s"))

    def _hangs(self, threads: int) -> None:
        self._hanging = threads
        self._crew.size = self._threads + min(threads, self._spare)

    def _all_hang(self) -> bool:
        return self._hanging >= self._threads + self._spare

    def _look_at(self) -> datetime | None:
        times = [job.deadline for job in self._in_flight]
        if self._later:
            times.append(self._later[0][0])
        if self._ready and self._all_hang():
            times.append(self._ready[0].deadline)
        return min(times, default=None)

    def _take(self) -> _Job | None:
        if not self._ready:
            return None
        job = self._ready.popleft()
        job.deadline = self._clock.now() + timedelta(seconds=job.row.within)
        self._in_flight.add(job)
        if self._awaited is None or job.deadline < self._awaited:
            self._time.notify()
        return job

    def _settle(self, job: _Job, ended: Ended) -> None:
        self._in_flight.discard(job)
        row = job.row
        if ended.outcome == "error" and job.attempts < row.tries:
            due_at = self._clock.now() + self._backoff(job.attempts)
            self._report(_result(job, "retry", ended.detail, due_at=due_at))
            self._schedule(row, job.attempts + 1, due_at)
        else:
            self._report(_result(job, ended.outcome, ended.detail, ended.value))

    def _backoff(self, attempts: int) -> timedelta:
        seconds = min(2.0 ** min(attempts - 1, 10), LONGEST_BACKOFF)
        return timedelta(seconds=seconds * self._random.uniform(1.0, 1.25))

    # On threads

    def _do(self, job: _Job) -> None:
        ended = self._call(job.row)
        with self._lock:
            if job.given_up:
                self._hangs(self._hanging - 1)
            elif not self._closed:
                self._settle(job, ended)
            self._look(hands=0 if job.given_up else 1)  # a thread that was written off may be one too many now

    def _call(self, row: CallRow) -> Ended:
        spec = self._handlers.get(row.handler)
        if spec is None:
            return Ended("error", detail=f'there is no handler "{row.handler}"')
        caller = self._callers.get(row.handler)
        if caller is None or caller.spec is not spec:
            caller = self._callers[row.handler] = Caller(spec)
        return caller.call(row)

    def _keep_time(self) -> None:
        with self._lock:
            while self._running:
                self._look()
                self._awaited = self._look_at()
                self._clock.wait(self._time, self._awaited, _LOOK_AT_CLOCK)


def _result(job: _Job, outcome: str, detail: str, value: Any = None, due_at: datetime | None = None) -> CallResult:
    return CallResult(job.row, outcome, value, detail, job.attempts, due_at)
