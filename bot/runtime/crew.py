"""Worker threads around one lock, started only as there is work for them."""

import threading
from collections.abc import Callable
from time import monotonic
from typing import Generic, TypeVar

J = TypeVar("J")


class Crew(Generic[J]):
    """Threads that take a job and do it, over and over; one that is done looks for the next job by itself.

    ``take`` is called with the lock held and gives a job, or None when there is none now; ``do`` is called
    without it and must not raise. Every method here but `join` wants the lock held. ``size`` is the largest
    number of threads; when it is lowered, a thread that is over it ends after its job.
    """

    def __init__(
        self, lock: threading.Lock, take: Callable[[], J | None], do: Callable[[J], None], size: int, name: str
    ) -> None:
        self.size = size
        self._lock = lock
        self._take = take
        self._do = do
        self._name = name
        self._wake = threading.Condition(lock)
        self._threads: set[threading.Thread] = set()
        self._idle = 0
        self._called = 0  # woken or started, but not yet here to take a job
        self._ending = False

    def call(self, jobs: int) -> None:
        """See to it that a thread comes for each of so many jobs, as far as there may be threads."""
        while self._called < jobs and not self._ending:
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

    def end(self) -> None:
        """Take no more jobs."""
        self._ending = True
        self._wake.notify_all()

    def join(self, timeout: float) -> bool:
        """Wait until every thread has ended. False when some have not within ``timeout`` seconds."""
        deadline = monotonic() + timeout
        with self._lock:
            threads = list(self._threads)
        for thread in threads:
            thread.join(max(0.0, deadline - monotonic()))
        return not any(thread.is_alive() for thread in threads)

    def _run(self) -> None:
        called = True
        while (job := self._next(called)) is not None:
            self._do(job)
            called = False

    def _next(self, called: bool) -> J | None:
        with self._lock:
            self._called -= called
            while not self._ending and len(self._threads) <= self.size:
                job = self._take()
                if job is not None:
                    return job
                self._idle += 1
                self._wake.wait()
                self._called -= 1
            self._threads.discard(threading.current_thread())
            return None
