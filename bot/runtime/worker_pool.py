"""Worker threads with a delay queue: what delivery and every kind of performer runs its jobs on."""

import heapq
import threading
from collections import deque
from collections.abc import Callable
from datetime import datetime
from itertools import count
from random import Random
from time import monotonic
from typing import Generic, TypeVar

from bot.clock import Clock, to_microseconds

J = TypeVar("J")
R = TypeVar("R")
T = TypeVar("T")

LONGEST_BACKOFF = 60.0  # seconds
_SPREAD = 1.25
_LONGEST_WAIT = LONGEST_BACKOFF * _SPREAD
_LOOK_AT_CLOCK = 60.0  # seconds


class WorkerPool(Generic[J, R]):
    """Threads that take a job, do it, and take the next one; they are started only when there is work for them.

    The pool owns ``lock``, under which its owner decides everything about the jobs:

    * ``look(now)`` brings the jobs up to date. It returns how many can begin now, and when more of them can.
    * ``take(now)`` returns the next job, or None when none can begin.
    * ``do(job)`` runs on a worker without the lock, and raises nothing.
    * ``done(job, result)`` takes the result, with the lock held again.

    Times are those of `Clock.elapsed`. ``size`` is the largest number of workers; when it is lowered, a worker that is
    one too many ends after its job.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        look: Callable[[float], tuple[int, float | None]],
        take: Callable[[float], J | None],
        do: Callable[[J], R],
        done: Callable[[J, R], None],
        size: int,
        name: str,
    ) -> None:
        self.lock = threading.Lock()
        self.size = size
        self.running = False
        self._clock = clock
        self._look = look
        self._take = take
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
            self._timekeeper.start()

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

    def look_at(self, time: float | None) -> None:
        """Look at the jobs at this time at the latest. With the lock held."""
        self._timekeeper.look_at(time)

    def _update(self, free: int) -> float | None:
        """Call a worker for each job that can begin, but for those that ``free`` workers take next. Returns when to look again."""
        if not self.running:
            return None
        ready, look_at = self._look(self._clock.elapsed())
        self._call(ready - free)
        self.look_at(look_at)
        return look_at

    def _call(self, workers: int) -> None:
        while self._coming < workers:
            if self._idle:
                self._idle -= 1
                self._wake.notify()
            elif len(self._workers) < self.size:
                worker = threading.Thread(target=self._work, name=self._name, daemon=True)
                worker.start()
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
            job = self._take(self._clock.elapsed())
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


class Timekeeper:
    """A thread that calls ``look`` when its time comes. ``look`` returns when that is next; None: only when `look_at` says so.

    ``lock`` is its owner's, and free while ``look`` is called. Times are those of `Clock.elapsed`.
    """

    def __init__(self, clock: Clock, lock: threading.Lock, look: Callable[[], float | None], name: str) -> None:
        self._clock = clock
        self._look = look
        self._changed = threading.Condition(lock)
        self._due: float | None = None  # what it waits for; while it looks, the earliest time that was named meanwhile
        self._ended = False
        self._thread = threading.Thread(target=self._run, name=f"{name}-time", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def look_at(self, time: float | None) -> None:
        """Look at this time at the latest. With the lock held."""
        if time is not None and (self._due is None or time < self._due):
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
    """Items that are ready, in the order in which they became so, and items that are ready later. Times are `Clock.elapsed`'s."""

    def __init__(self) -> None:
        self.ready: deque[T] = deque()
        self._later: list[tuple[float, int, T]] = []
        self._order = count()

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
        """When the first of the later items is due."""
        return self._later[0][0] if self._later else None


def backoff(attempts: int, random: Random) -> float:
    """The seconds to wait after so many attempts: 1, 2, 4 ... `LONGEST_BACKOFF`, spread, so that not all come back at once."""
    seconds = min(2.0 ** min(max(attempts - 1, 0), 10), LONGEST_BACKOFF)
    return to_microseconds(seconds * random.uniform(1.0, _SPREAD))


def left_to_wait(attempts: int, due_at: datetime, now: datetime) -> float:
    """The seconds that a stored row still waits for its next attempt at ``due_at``; 0 for one without an attempt.

    It is never more than the longest backoff: the clock may have been set back since the row was written.
    """
    return min(max((due_at - now).total_seconds(), 0.0), _LONGEST_WAIT) if attempts else 0.0
