"""Performers: do what a session waits for on threads of their own, outside any transaction."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from time import monotonic
from typing import Any

from bot.clock import Clock
from bot.core.effects import Call, Complete, Fetch, HttpRequest, Performed, Tell
from bot.core.errors import BotError
from bot.core.values import Usage
from bot.runtime.batch import place_of
from bot.runtime.worker_pool import LONGEST_BACKOFF, DelayQueue, WorkerPool, backoff, left_to_wait
from bot.store.crash_quarantine import MOST_CRASHES
from bot.store.rows import CallRow


@dataclass(frozen=True, slots=True)
class CrashQuarantine:
    """``careful`` says whether the engine is. ``claim`` returns when it is durable that a row is about to be done.

    ``concerns`` says which rows may end the process: those that run the bot's own Python.
    """

    careful: Callable[[], bool] = lambda: False
    claim: Callable[[CallRow], None] = lambda row: None
    concerns: Callable[[CallRow], bool] = lambda row: True


NO_QUARANTINE = CrashQuarantine()
"""For what cannot end the process."""


LONGEST_WAIT = LONGEST_BACKOFF
"""The seconds that a service may ask for before the next try: somebody waits for the answer."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CallAttempt:
    """How one try ended: ``done`` with a ``value``, or the name of what went wrong.

    ``again``: the same may succeed later, after ``wait`` where that is known, `LONGEST_WAIT` at most. ``usage``: what the
    models used up.
    """

    outcome: str
    value: Any = None
    detail: str = ""
    again: bool = False
    wait: timedelta | None = None
    usage: tuple[Usage, ...] = ()


@dataclass(frozen=True, slots=True)
class CallResult:
    """What became of a call, or of a try.

    ``outcome``: ``done`` with a ``value``; ``timeout``; ``mismatch`` (arguments or result do not fit); the name of
    an error (the tries are used up); ``retry`` at ``due_at``; or ``said``: a paragraph, the ``value``, is complete.
    """

    row: CallRow
    outcome: str
    value: Any
    detail: str
    attempts: int
    due_at: datetime | None
    usage: tuple[Usage, ...] = ()
    said: int = 0  # paragraphs so far


Say = Callable[[str], bool]
"""Reports a paragraph of an answer that goes on; False: nobody waits for it any more."""

Perform = Callable[[CallRow, Say], CallAttempt]
"""Does a row once, from any thread, and raises nothing."""


@dataclass(slots=True, eq=False)
class _Job:
    row: CallRow
    attempts: int  # this one included
    deadline: float  # by `Clock.elapsed`, to end by; while it waits: to begin by, if no thread is left
    given_up: bool = False
    withdrawn: bool = False
    said: int = 0


class Performers:
    """Takes rows, performs each, and reports what came of it.

    A call that is not back ``within`` its seconds has timed out. A thread cannot be ended, so its thread is
    written off until the call returns; up to ``spare`` others are started in place of such. When all of them
    hang, calls that wait time out too. ``report`` is called with a lock held: it must not call back. A contact's
    calls come one at a time, because its session waits for each; only a model that is asked anew (`while_busy: merge`),
    and what a word of the contact's has led away from, may still be at work. ``caution`` is for what may end the process: while the engine is careful, such
    calls are made one at a time and claimed before, and one that was under way at two crashes is not made again.
    """

    def __init__(
        self,
        perform: Perform,
        clock: Clock,
        report: Callable[[CallResult], None],
        *,
        name: str = "handlers",
        threads: int = 16,
        spare: int = 16,
        random: Random | None = None,
        caution: CrashQuarantine = NO_QUARANTINE,
    ) -> None:
        self._perform = perform
        self._caution = caution
        self._clock = clock
        self._report = report
        self._threads = threads
        self._spare = spare
        self._random = random or Random()
        self._lock = threading.Lock()
        self._crew = WorkerPool(self._lock, clock, self._take, self._do, self._look, threads, name)
        self._line: DelayQueue[_Job] = DelayQueue()
        self._in_flight: set[_Job] = set()
        self._hanging = 0
        self._closed = False

    def start(self) -> None:
        """Begin to call."""
        self._crew.start()

    def end(self) -> None:
        """Call nothing more."""
        self._crew.end()

    def stop(self, timeout: float) -> None:
        """Call nothing more, and wait for what is in flight. What has not come back by then is not reported."""
        self._crew.stop(timeout)
        with self._lock:
            self._closed = True

    def offer(self, rows: Sequence[CallRow]) -> None:
        """Take rows."""
        with self._lock:
            for row in rows:
                wait = left_to_wait(row.attempts, row.due_at, self._clock.now())
                self._schedule(row, row.attempts + 1, wait)
            self._look()

    def withdraw(self, contact: str) -> None:
        """Forget what is to be done for a contact: its rows are gone. What is being done is not tried again."""
        with self._lock:
            self._line.drop(lambda job: job.row.contact == contact)
            for job in self._in_flight:
                job.withdrawn = job.withdrawn or job.row.contact == contact

    def idle(self) -> bool:
        """True when nothing happens until the clock moves (or rows are offered): no call runs or could begin now."""
        with self._lock:
            due = self._line.due()
            nothing_ready = not self._line.ready or self._all_hang()
            return not self._in_flight and nothing_ready and (due is None or due > self._clock.elapsed())

    def next_due(self) -> float | None:
        """When, by `Clock.elapsed`, something happens by itself: the next try, or a time-out."""
        with self._lock:
            return self._look_at()

    # With the lock held

    def _schedule(self, row: CallRow, attempts: int, wait: float) -> None:
        now = self._clock.elapsed()
        job = _Job(row, attempts, now + wait + row.effect.within)
        self._line.add(job, now + wait, now)

    def _look(self, hands: int = 0) -> float | None:
        """Something has changed: call threads for what can begin, time out what is late.

        ``hands`` threads look for a job right after this, uncalled. Returns when to look again at the latest.
        """
        if not self._crew.running:
            return None
        now, ready = self._clock.elapsed(), self._line.ready
        self._hangs(self._hanging)
        self._line.ripen(now)
        for job in [job for job in self._in_flight if job.deadline <= now]:
            self._give_up(job)
        self._crew.call(len(ready) - hands)
        while self._all_hang() and ready and ready[0].deadline <= now:
            self._report(_result(ready.popleft(), "timeout", "no thread was free: too many hang"))
        look_at = self._look_at()
        self._crew.expect(look_at)
        return look_at

    def _give_up(self, job: _Job) -> None:
        job.given_up = True
        self._in_flight.discard(job)
        self._hangs(self._hanging + 1)
        log.error("%s hangs: it is not back after %g s", name_of(job.row), job.row.effect.within)
        self._report(_result(job, "timeout", f"not back after {job.row.effect.within:g} s"))

    def _hangs(self, threads: int) -> None:
        self._hanging = threads
        self._crew.size = (1 if self._caution.careful() else self._threads) + min(threads, self._spare)

    def _all_hang(self) -> bool:
        return self._hanging >= self._threads + self._spare

    def _look_at(self) -> float | None:
        times = [job.deadline for job in self._in_flight]
        if (due := self._line.due()) is not None:
            times.append(due)
        if self._line.ready and self._all_hang():
            times.append(self._line.ready[0].deadline)
        return min(times, default=None)

    def _take(self) -> _Job | None:
        if not self._line.ready:
            return None
        job = self._line.ready.popleft()
        job.deadline = self._clock.elapsed() + job.row.effect.within
        self._in_flight.add(job)
        self._crew.expect(job.deadline)
        return job

    def _settle(self, job: _Job, ended: CallAttempt) -> None:
        self._in_flight.discard(job)
        row = job.row
        if ended.again and job.attempts < row.effect.tries and not (job.said or job.withdrawn):
            wait = max(ended.wait.total_seconds() if ended.wait else 0.0, backoff(job.attempts, self._random))
            due_at = self._clock.now() + timedelta(seconds=wait)
            self._report(_result(job, "retry", ended.detail, due_at=due_at, usage=ended.usage))
            self._schedule(row, job.attempts + 1, wait)
        else:
            self._report(_result(job, ended.outcome, ended.detail, ended.value, usage=ended.usage))

    # On threads

    def _do(self, job: _Job) -> None:
        ended = self._performed(job)
        with self._lock:
            if job.given_up:
                self._hangs(self._hanging - 1)
                if ended.usage and not self._closed:
                    self._report(_result(job, "late", ended.detail, usage=ended.usage))
            elif not self._closed:
                self._settle(job, ended)
            self._look(hands=0 if job.given_up else 1)  # a thread that was written off may be one too many now

    def _performed(self, job: _Job) -> CallAttempt:
        if job.row.crashes >= MOST_CRASHES:
            log.error("%s is not done again: the engine crashed twice while it was", name_of(job.row))
            return CallAttempt("error", detail="the engine crashed twice while this was done")
        try:
            if self._caution.careful() and self._caution.concerns(job.row):
                self._caution.claim(job.row)
            return self._perform(job.row, lambda text: self._say(job, text))
        except BotError as error:  # it could not be claimed, and was not begun
            return CallAttempt("error", detail=str(error), again=True)
        except Exception as error:  # a defect of ours costs this call its result, and not the thread
            log.error("%s failed, %s", name_of(job.row), place_of(error))
            return CallAttempt("error", detail=type(error).__name__)

    def _say(self, job: _Job, text: str) -> bool:
        with self._lock:
            if job.given_up or job.withdrawn or self._closed:
                return False
            job.said += 1
            self._report(_result(job, "said", "", text))
            return True


def name_of(row: CallRow) -> str:
    """What a row does, in words for the log."""
    match row.effect:
        case Call(handler=handler):
            return f'handler "{handler}"'
        case Complete():
            return "a model"
        case Fetch():
            return "the keeping of a file"
        case HttpRequest():
            return "an HTTP request"
        case Tell(hook=hook):
            return f'hook "{hook}"'


def _result(
    job: _Job,
    outcome: str,
    detail: str,
    value: Any = None,
    due_at: datetime | None = None,
    usage: tuple[Usage, ...] = (),
) -> CallResult:
    return CallResult(job.row, outcome, value, detail, job.attempts, due_at, usage, job.said)


class PerformersByEffect:
    """Gives each row to those who do what it asks for."""

    def __init__(self, performers: Mapping[type[Performed], Performers]) -> None:
        self._performers = performers

    def start(self) -> None:
        """Begin."""
        for performers in self._performers.values():
            performers.start()

    def end(self) -> None:
        """Begin nothing more."""
        for performers in self._performers.values():
            performers.end()

    def stop(self, timeout: float) -> None:
        """Begin nothing more, and wait for what is in flight, all within ``timeout`` seconds."""
        until = monotonic() + timeout
        self.end()
        for performers in self._performers.values():
            performers.stop(max(0.0, until - monotonic()))

    def offer(self, rows: Sequence[CallRow]) -> None:
        """Take rows."""
        for kind, performers in self._performers.items():
            own = [row for row in rows if isinstance(row.effect, kind)]
            if own:
                performers.offer(own)

    def withdraw(self, contact: str) -> None:
        """Forget what is to be done for a contact."""
        for performers in self._performers.values():
            performers.withdraw(contact)

    def idle(self) -> bool:
        """True when nothing happens until the clock moves (or rows are offered)."""
        return all(performers.idle() for performers in self._performers.values())

    def next_due(self) -> float | None:
        """When, by `Clock.elapsed`, something happens by itself."""
        times = (performers.next_due() for performers in self._performers.values())
        return min((time for time in times if time is not None), default=None)
