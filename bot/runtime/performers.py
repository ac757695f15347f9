"""Performers: make the calls that sessions wait for, on threads of their own and outside any transaction."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random
from time import monotonic
from typing import Any, Generic, Protocol, TypeVar

from bot.core.clock import LONGEST_BACKOFF, Clock, DelayQueue, Timekeeper, backoff, left_to_wait
from bot.core.defects import NoThread, found, guard, start_thread
from bot.core.effects import (
    AskModel,
    Call,
    DeleteFile,
    Fetch,
    HttpRequest,
    JudgeAnswer,
    Performed,
    Publish,
    RunHook,
    Transcribe,
)
from bot.core.errors import BotError
from bot.core.immutable import immutable
from bot.core.values import Usage, files_in
from bot.store.rows import CallRow

LONGEST_WAIT = LONGEST_BACKOFF
"""The seconds that a service may ask for before the next attempt: somebody waits for the answer."""

NO_RECEIVER = "no receiver"
"""The outcome of an event that nobody gets any more."""

log = logging.getLogger(__name__)


@immutable
class CallAttempt:
    """How one attempt ended: ``done`` with a ``value``, or the name of what went wrong.

    ``again``: the same may succeed later, after ``wait`` where that is known, `LONGEST_WAIT` at most. ``usage``: what
    the models used up. ``failures``: which models failed, each with what went wrong, in the words of an outcome.
    """

    outcome: str
    value: Any = None
    detail: str = ""
    again: bool = False
    wait: timedelta | None = None
    usage: tuple[Usage, ...] = ()
    failures: tuple[tuple[str, str], ...] = ()


@immutable
class CallResult:
    """The result of a call, or of an attempt.

    ``outcome``: ``done`` with a ``value``; ``timeout``; ``mismatch`` (arguments or result do not fit); the name of
    an error (the attempts are used up); ``retry`` at ``due_at``; or ``said``: a paragraph, the ``value``, is complete.
    """

    row: CallRow
    outcome: str
    value: Any
    detail: str
    attempts: int
    due_at: datetime | None
    usage: tuple[Usage, ...] = ()
    said: int = 0  # paragraphs so far
    failures: tuple[tuple[str, str], ...] = ()


Say = Callable[[str], bool]
"""Reports a paragraph of an answer that goes on; False: nobody waits for it any more."""

Perform = Callable[[CallRow, Say], CallAttempt]
"""Makes a row's call once, from any thread, and raises nothing."""


@immutable
class CrashQuarantine:
    """How calls are made that ``may_crash`` the engine: see `bot.store.crash_quarantine`.

    Each is made alone, after ``claim`` has returned: then it is durable that the row is about to be performed.
    ``concerns`` says which rows can end the process: those that run the bot's own Python. ``is_suspect``: a row was in
    progress at two crashes.
    """

    may_crash: Callable[[CallRow], bool] = lambda row: False
    claim: Callable[[CallRow], None] = lambda row: None
    concerns: Callable[[CallRow], bool] = lambda row: True
    is_suspect: Callable[[CallRow], bool] = lambda row: False

    def is_for(self, row: CallRow) -> bool:
        """True if a call is made alone."""
        return self.may_crash(row) and self.concerns(row)


class Prompter(Protocol):
    """Asks a person before a call is made, such as a question to a model in `bot chat`."""

    def before(self, perform: Perform) -> Perform:
        """Return a function that asks the person, and then makes the call."""
        ...

    def waits(self, row: CallRow) -> bool:
        """True if the person is being asked about this row."""
        ...


NO_QUARANTINE = CrashQuarantine()
"""For calls that cannot end the process."""


@dataclass(slots=True, eq=False)
class _Job:
    row: CallRow
    attempts: int  # this one included
    deadline: float  # by `Clock.elapsed`, to end by; while it waits: to begin by, if no thread is left
    given_up: bool = False
    withdrawn: bool = False
    said: int = 0


class Performers:
    """Performs rows of one kind, and reports the result of each.

    A call that is not back ``within`` its seconds has timed out. A thread cannot be ended, so its thread is written off
    until the call returns, and another is started in its place, up to ``spare`` of them. When all of them hang, calls
    that wait time out too. ``report`` is called with a lock held: it must not call back. A contact's calls come one at
    a time, because its session waits for each; an earlier call still runs only if a model was asked anew (`while_busy:
    merge`), or a word of the contact's has led away from it.
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
        quarantine: CrashQuarantine = NO_QUARANTINE,
        prompter: Prompter | None = None,
    ) -> None:
        self._perform = perform if prompter is None else prompter.before(perform)
        self._prompter = prompter
        self._quarantine = quarantine
        self._clock = clock
        self._report = report
        self._threads = threads
        self._spare = spare
        self._random = random or Random()
        self._pool: WorkerPool[_Job, CallAttempt] = WorkerPool(
            clock, refresh=self._refresh, pop=self._pop, do=self._do, done=self._done, size=threads, name=name
        )
        self._lock = self._pool.lock
        self._waiting: DelayQueue[_Job] = DelayQueue()
        self._in_flight: set[_Job] = set()
        self._hanging = 0
        self._closed = False

    def start(self) -> None:
        """Begin to make calls."""
        self._pool.start()

    def end(self) -> None:
        """Begin no more calls."""
        self._pool.end()

    def stop(self, timeout: float) -> None:
        """Begin no more calls, and wait for those in flight. Results that come later are not reported."""
        self._pool.stop(timeout)
        with self._lock:
            self._closed = True

    def offer(self, rows: Sequence[CallRow]) -> None:
        """Take rows."""
        with self._lock:
            for row in rows:
                wait = left_to_wait(row.attempts, row.due_at, self._clock.now())
                self._schedule(row, row.attempts + 1, wait)
            self._pool.changed()

    def withdraw(self, contact: str) -> None:
        """Forget a contact's calls: their rows are gone. A call that is being made is not tried again."""
        with self._lock:
            self._waiting.remove(lambda job: job.row.contact == contact)
            for job in self._in_flight:
                job.withdrawn = job.withdrawn or job.row.contact == contact

    def idle(self) -> bool:
        """True when nothing happens until the clock moves, rows are offered, or a person answers: no call runs or could
        begin now.
        """
        with self._lock:
            due = self._waiting.next_due()
            nothing_ready = not self._waiting.ready or self._all_hang()
            nothing_runs = all(self._prompter is not None and self._prompter.waits(job.row) for job in self._in_flight)
            return nothing_runs and nothing_ready and (due is None or due > self._clock.elapsed())

    def next_due(self) -> float | None:
        """When, by `Clock.elapsed`, something happens by itself: the next attempt, or a time-out."""
        with self._lock:
            return self._next_change()

    # On threads

    def _do(self, job: _Job) -> CallAttempt:
        if self._quarantine.is_suspect(job.row):
            log.error("%s is not done again: the engine crashed twice while it was", call_name(job.row))
            return CallAttempt("error", detail="the engine crashed twice while this was done")
        try:
            if self._quarantine.is_for(job.row):
                self._quarantine.claim(job.row)
            return self._perform(job.row, lambda text: self._say(job, text))
        except BotError as error:  # it could not be claimed, and was not begun
            return CallAttempt("error", detail=str(error), again=True)
        except Exception as defect:  # of ours: it costs this call its result, and not the thread
            found(defect, call_name(job.row), ends_process=False)
            return CallAttempt("error", detail=type(defect).__name__)

    def _say(self, job: _Job, text: str) -> bool:
        with self._lock:
            if job.given_up or job.withdrawn or self._closed:
                return False
            job.said += 1
            self._report(_result(job, CallAttempt("said", text)))
            return True

    # With the lock held

    def _schedule(self, row: CallRow, attempts: int, wait: float) -> None:
        now = self._clock.elapsed()
        job = _Job(row, attempts, now + wait + row.effect.within)
        self._waiting.add(job, now + wait, now)

    def _refresh(self, now: float) -> tuple[int, float | None]:
        """Time out what is late. Returns how many calls can begin now, and when that changes by itself."""
        self._waiting.update(now)
        for job in [job for job in self._in_flight if job.deadline <= now]:
            self._give_up(job)
        ready = self._waiting.ready
        while self._all_hang() and ready and ready[0].deadline <= now:
            self._report(_result(ready.popleft(), CallAttempt("timeout", detail="no thread was free: too many hang")))
        return self._startable(), self._next_change()

    def _give_up(self, job: _Job) -> None:
        job.given_up = True
        self._in_flight.discard(job)
        self._resize(self._hanging + 1)
        log.error("%s hangs: it is not back after %g s", call_name(job.row), job.row.effect.within)
        self._report(_result(job, CallAttempt("timeout", detail=f"not back after {job.row.effect.within:g} s")))

    def _resize(self, hanging: int) -> None:
        self._hanging = hanging
        self._pool.size = self._threads + min(hanging, self._spare)

    def _all_hang(self) -> bool:
        return self._hanging >= self._threads + self._spare

    def _next_change(self) -> float | None:
        times = [job.deadline for job in self._in_flight]
        if (due := self._waiting.next_due()) is not None:
            times.append(due)
        if self._waiting.ready and self._all_hang():
            times.append(self._waiting.ready[0].deadline)
        return min(times, default=None)

    def _startable(self) -> int:
        """How many calls can begin now. A call that may crash the engine waits until no other call is being made, and
        the others wait for it.
        """
        ready = self._waiting.ready
        if any(self._quarantine.is_for(job.row) for job in self._in_flight):
            return 0
        if ready and self._quarantine.is_for(ready[0].row):
            return 0 if self._in_flight else 1
        return len(ready)

    def _pop(self, now: float) -> _Job | None:
        if not self._startable():
            return None
        job = self._waiting.ready.popleft()
        job.deadline = now + job.row.effect.within
        self._in_flight.add(job)
        self._pool.wake_by(job.deadline)
        return job

    def _done(self, job: _Job, attempt: CallAttempt) -> None:
        if job.given_up:
            self._resize(self._hanging - 1)
            if (attempt.usage or files_in(attempt.value)) and not self._closed:
                self._report(_result(job, replace(attempt, outcome="late")))
        elif not self._closed:
            self._settle(job, attempt)

    def _settle(self, job: _Job, attempt: CallAttempt) -> None:
        self._in_flight.discard(job)
        row = job.row
        if attempt.again and job.attempts < row.effect.tries and not (job.said or job.withdrawn):
            wait = max(attempt.wait.total_seconds() if attempt.wait else 0.0, backoff(job.attempts, self._random))
            due_at = self._clock.now() + timedelta(seconds=wait)
            self._report(_result(job, replace(attempt, outcome="retry"), due_at))
            self._schedule(row, job.attempts + 1, wait)
        else:
            self._report(_result(job, attempt))


Peer = tuple[type[Performed], str]
"""The kind of a call, and what it depends on."""


def peer_of(effect: Performed) -> Peer:
    """The peer that a call depends on, if the bot's files name it: a handler, a hook, a service, the first model that
    is asked. All other addresses are one peer.
    """
    by = effect.by if isinstance(effect, Transcribe) else effect
    match by:
        case Call(handler=name) | RunHook(hook=name):
            return type(effect), name
        case HttpRequest(address=address):
            return type(effect), address.partition(":")[0]
        case AskModel(models=(first, *_)):
            return type(effect), first
    return type(effect), ""


class PerformersByEffect:
    """All performers as one: gives each row to the performers of its effect and of its peer (`peer_of`).

    Each peer has its own, made by ``make`` with its first row, so that one that is slow or hangs takes no thread from
    another. Calls of one effect that ``may_crash`` the engine have the same, because the crash quarantine makes them
    one at a time.
    """

    def __init__(
        self,
        make: Mapping[type[Performed], Callable[[], Performers]],
        may_crash: Callable[[CallRow], bool] = lambda row: False,
    ) -> None:
        self._make = make
        self._may_crash = may_crash
        self._lock = threading.Lock()
        self._performers: dict[Peer, Performers] = {}
        self._running = False

    def start(self) -> None:
        """Begin to make calls."""
        with self._lock:
            self._running = True
        for performers in self._all():
            performers.start()

    def end(self) -> None:
        """Begin no more calls."""
        with self._lock:
            self._running = False
        for performers in self._all():
            performers.end()

    def stop(self, timeout: float) -> None:
        """Begin no more calls, and wait for those in flight, all within ``timeout`` seconds."""
        until = monotonic() + timeout
        self.end()
        for performers in self._all():
            performers.stop(max(0.0, until - monotonic()))

    def offer(self, rows: Sequence[CallRow]) -> None:
        """Take rows."""
        offered: dict[Peer, list[CallRow]] = {}
        for row in rows:
            peer = (type(row.effect), "") if self._may_crash(row) else peer_of(row.effect)
            offered.setdefault(peer, []).append(row)
        for peer, own in offered.items():
            self._of(peer).offer(own)

    def withdraw(self, contact: str) -> None:
        """Forget a contact's calls."""
        for performers in self._all():
            performers.withdraw(contact)

    def idle(self) -> bool:
        """True when nothing happens until the clock moves (or rows are offered)."""
        return all(performers.idle() for performers in self._all())

    def next_due(self) -> float | None:
        """When, by `Clock.elapsed`, something happens by itself."""
        times = (performers.next_due() for performers in self._all())
        return min((time for time in times if time is not None), default=None)

    def _all(self) -> list[Performers]:
        with self._lock:
            return [*self._performers.values()]

    def _of(self, peer: Peer) -> Performers:
        with self._lock:
            if peer not in self._performers:
                kind, _ = peer
                self._performers[peer] = self._make[kind]()
                if self._running:
                    self._performers[peer].start()
            return self._performers[peer]


def call_name(row: CallRow) -> str:
    """A name for a row's call in the log, such as ``handler "orders"``."""
    match row.effect:
        case Call(handler=handler):
            return f'handler "{handler}"'
        case AskModel():
            return "a model"
        case JudgeAnswer():
            return "a judge"
        case Fetch():
            return "the keeping of a file"
        case DeleteFile():
            return "the deletion of a file"
        case HttpRequest():
            return "an HTTP request"
        case Transcribe():
            return "the transcription of a voice note"
        case RunHook(hook=hook):
            return f'hook "{hook}"'
        case Publish():
            return "the delivery of an event"


def _result(job: _Job, attempt: CallAttempt, due_at: datetime | None = None) -> CallResult:
    outcome, value, detail = attempt.outcome, attempt.value, attempt.detail
    return CallResult(job.row, outcome, value, detail, job.attempts, due_at, attempt.usage, job.said, attempt.failures)


J = TypeVar("J")
R = TypeVar("R")
_STARTS_AGAIN_SECONDS = 1.0  # after a worker could not be started


class WorkerPool(Generic[J, R]):
    """Threads that take a job, do it, and take the next one; they are started only when there is work for them.

    The pool owns ``lock``, under which its owner decides everything about the jobs:

    * ``refresh(now)`` brings the jobs up to date. It returns how many can begin now, and when more of them can.
    * ``pop(now)`` returns the next job, or None when none can begin.
    * ``do(job)`` runs on a worker without the lock, and raises nothing.
    * ``done(job, result)`` takes the result, with the lock held again.

    Times are those of `Clock.elapsed`. ``size`` is the largest number of workers; when it is lowered, a worker that is
    one too many ends after its job.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        refresh: Callable[[float], tuple[int, float | None]],
        pop: Callable[[float], J | None],
        do: Callable[[J], R],
        done: Callable[[J, R], None],
        size: int,
        name: str,
    ) -> None:
        self.lock = threading.Lock()
        self.size = size
        self.running = False
        self._clock = clock
        self._refresh = refresh
        self._pop = pop
        self._do = do
        self._done = done
        self._name = name
        self._workers: set[threading.Thread] = set()
        self._wake = threading.Condition(self.lock)
        self._idle = 0
        self._coming = 0  # workers that were woken or started, and have not taken a job yet
        self._timekeeper = Timekeeper(clock, self.lock, self._keep_time, name)

    def start(self) -> None:
        """Begin to take jobs."""
        with self.lock:
            self.running = True
            self._update(free=0)

    def end(self) -> None:
        """Take no more jobs."""
        with self.lock:
            self.running = False
            self._wake.notify_all()
            self._timekeeper.end()

    def stop(self, timeout: float) -> None:
        """Take no more jobs, and wait ``timeout`` seconds at most for those that are being done."""
        deadline = monotonic() + timeout
        self.end()
        with self.lock:
            workers = list(self._workers)
        self._timekeeper.join()
        for worker in workers:
            worker.join(max(0.0, deadline - monotonic()))

    def changed(self) -> None:
        """Look at the jobs again, because something has changed. With the lock held."""
        self._update(free=0)

    def wake_by(self, time: float) -> None:
        """Wake the pool at this time at the latest, to begin the jobs that can begin. With the lock held."""
        self._timekeeper.wake_by(time)

    def _update(self, free: int) -> float | None:
        """Call a worker for each job that can begin, but for those that ``free`` workers take next. Returns when to
        look again.
        """
        if not self.running:
            return None
        ready, next_change = self._refresh(self._clock.elapsed())
        self._call(ready - free)
        if next_change is not None:
            self.wake_by(next_change)
        return next_change

    def _call(self, workers: int) -> None:
        while self._coming < workers:
            if self._idle:
                self._idle -= 1
                self._wake.notify()
            elif len(self._workers) < self.size:
                worker = threading.Thread(target=guard(self._work), name=self._name, daemon=True)
                try:
                    start_thread(worker)
                except NoThread as error:
                    log.error("what can be done now waits (%s): %s", self._name, error)
                    self.wake_by(self._clock.elapsed() + _STARTS_AGAIN_SECONDS)
                    return
                self._workers.add(worker)
            else:
                return
            self._coming += 1

    def _work(self) -> None:
        with self.lock:
            self._coming -= 1
            job = self._next()
        while job is not None:
            result = self._do(job)
            with self.lock:
                self._done(job, result)
                self._update(free=0 if self._is_one_too_many() else 1)
                job = self._next()

    def _next(self) -> J | None:
        """Wait for the worker's next job; None when the worker is to end. With the lock held."""
        while self.running and not self._is_one_too_many():
            job = self._pop(self._clock.elapsed())
            if job is not None:
                return job
            self._idle += 1
            self._wake.wait()
            self._coming -= 1
        self._workers.discard(threading.current_thread())
        return None

    def _is_one_too_many(self) -> bool:
        return len(self._workers) > self.size

    def _keep_time(self) -> float | None:
        with self.lock:
            return self._update(free=0)
