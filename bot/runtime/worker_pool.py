"""Worker threads around one lock, started only as there is work for them, and one that looks when a time has come."""

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

T = TypeVar("T")


class DelayQueue(Generic[T]):
    """Items in the order in which they became ready, and by the time at which others do, which is `Clock.elapsed`."""

    def __init__(self) -> None:
        self.ready: deque[T] = deque()
        self._later: list[tuple[float, int, T]] = []
        self._order = count()

    def add(self, item: T, due_at: float, now: float) -> None:
        """Take an item that may go at ``due_at``."""
        if due_at <= now:
            self.ready.append(item)
        else:
            heapq.heappush(self._later, (to_microseconds(due_at), next(self._order), item))

    def drop(self, gone: Callable[[T], bool]) -> None:
        """Forget the items for which ``gone`` is true."""
        self.ready = deque(item for item in self.ready if not gone(item))
        self._later = [entry for entry in self._later if not gone(entry[2])]
        heapq.heapify(self._later)

    def ripen(self, now: float) -> None:
        """What has fallen due is ready."""
        while self._later and self._later[0][0] <= now:
            self.ready.append(heapq.heappop(self._later)[2])

    def due(self) -> float | None:
        """When the first of what waits for its time falls due."""
        return self._later[0][0] if self._later else None


J = TypeVar("J")

_LOOK_AT_CLOCK = 60.0  # seconds


class WorkerPool(Generic[J]):
    """Threads that take a job and do it, over and over; one that is done looks for the next job by itself.

    ``take`` is called with the lock held and gives a job, or None when there is none now; ``do`` is called
    without it and must not raise. ``look`` is called with the lock held at the start, and again at the time (of
    `Clock.elapsed`) that it gave last. ``size`` is the largest number of workers; when it is lowered, one that is over it ends after its job.
    """

    def __init__(
        self,
        lock: threading.Lock,
        clock: Clock,
        take: Callable[[], J | None],
        do: Callable[[J], None],
        look: Callable[[], float | None],
        size: int,
        name: str,
    ) -> None:
        self.size = size
        self.running = False
        self._lock = lock
        self._clock = clock
        self._take = take
        self._do = do
        self._look = look
        self._name = name
        self._wake = threading.Condition(lock)
        self._threads: set[threading.Thread] = set()
        self._idle = 0
        self._called = 0  # woken or started, but not yet here to take a job
        self._time = threading.Condition(lock)
        self._timekeeper = threading.Thread(target=self._keep_time, name=f"{name}-time", daemon=True)
        self._awaited: float | None = None  # what the timekeeper waits for

    def start(self) -> None:
        """Begin."""
        with self._lock:
            self.running = True
            self._timekeeper.start()

    def end(self) -> None:
        """Take no more jobs."""
        with self._lock:
            self.running = False
            self._wake.notify_all()
            self._time.notify_all()

    def stop(self, timeout: float) -> None:
        """Take no more jobs, and wait for those that are being done, ``timeout`` seconds at most."""
        deadline = monotonic() + timeout
        self.end()
        with self._lock:
            threads = list(self._threads)
        if self._timekeeper.ident is not None:  # it may never have been started
            self._timekeeper.join()
        for thread in threads:
            thread.join(max(0.0, deadline - monotonic()))

    def call(self, jobs: int) -> None:
        """See to it that a thread comes for each of so many jobs, as far as there may be threads. With the lock held."""
        while self._called < jobs and self.running:
            if self._idle:
                self._idle -= 1
                self._wake.notify()
            elif len(self._threads) < self.size:
                thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                thread.start()
                self._threads.add(thread)
            else:
                return
            self._called += 1

    def expect(self, at: float | None) -> None:
        """There is something to look at by then. With the lock held."""
        if at is not None and (self._awaited is None or at < self._awaited):
            self._time.notify()

    def _run(self) -> None:
        called = True
        while (job := self._next(called)) is not None:
            self._do(job)
            called = False

    def _next(self, called: bool) -> J | None:
        with self._lock:
            self._called -= called
            while self.running and len(self._threads) <= self.size:
                job = self._take()
                if job is not None:
                    return job
                self._idle += 1
                self._wake.wait()
                self._called -= 1
            self._threads.discard(threading.current_thread())
            return None

    def _keep_time(self) -> None:
        with self._lock:
            while self.running:
                self._awaited = self._look()
                self._clock.wait(self._time, self._awaited, _LOOK_AT_CLOCK)


LONGEST_BACKOFF = 60.0  # seconds
_SPREAD = 1.25
_LONGEST_WAIT = LONGEST_BACKOFF * _SPREAD


def backoff(attempts: int, random: Random) -> float:
    """The pause in seconds after so many tries: from a second on doubled each time, and spread, so that not all come back at once."""
    seconds = min(2.0 ** min(max(attempts - 1, 0), 10), LONGEST_BACKOFF)
    return to_microseconds(seconds * random.uniform(1.0, _SPREAD))


def left_to_wait(attempts: int, due_at: datetime, now: datetime) -> float:
    """The seconds until what is stored to be tried at ``due_at`` is tried: no more than any pause can have been.

    The clock may have been set back since then. What has not been tried yet waits for nothing.
    """
    return min(max((due_at - now).total_seconds(), 0.0), _LONGEST_WAIT) if attempts else 0.0
