"""A watch over the bot's own Python that runs in threads of ours: code that takes too long there is stopped.

It is stopped by an exception in its thread, as soon as it is at Python code again. Code that stays in one call of C
code (a sleep, a read), or that catches every exception, cannot be stopped. Then the process that runs it decides what
happens. C code that keeps the interpreter to itself (a regular expression, a sum) stops the watch too: see
`end_when_deaf`.
"""

import faulthandler
import functools
import logging
import threading
from collections.abc import Callable
from math import inf
from time import monotonic, sleep
from typing import Any

from bot.core.defects import guard
from bot.language.expressions.sandbox import OutOfTime

SECONDS = 1.0  # for what runs within a turn: no other turn is taken meanwhile
STUCK_SECONDS = 2.0  # after which something that was stopped should have ended
DEAF_SECONDS = 20.0  # without any Python code in the whole process
log = logging.getLogger(__name__)


class _Stopped(BaseException):
    """Raised in a thread that takes too long. No `except Exception` takes it."""


class _Cleared(BaseException):
    """Raised in place of an exception that was not raised yet, where it does no harm."""


class _Job:
    """A function that runs. Either its thread or the watch takes ``decided`` first, and so decides how it ends."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.deadline = inf  # set when it begins: the preparation is never stopped
        self.thread = threading.get_ident()
        self.decided = threading.Lock()
        self.stopped_at: float | None = None
        self.is_stuck = False

    def stop(self) -> None:
        """Stop it, unless it has just ended. From the watch's thread."""
        if self.decided.acquire(blocking=False):
            _raise_in(self.thread, _Stopped)
            self.stopped_at = monotonic()

    def end(self) -> bool:
        """It has ended. True where it was stopped before; then its exception has come, or comes no more."""
        if self.decided.acquire(blocking=False):
            return False
        while self.stopped_at is None:
            sleep(0.001)  # the exception is on its way
        _clear_raised(self.thread)
        return True


class Watchdog:
    """Watches all threads of a process. ``on_stuck`` is called with a function that cannot be stopped."""

    def __init__(self, stuck_seconds: float = STUCK_SECONDS, on_stuck: Callable[[str], None] | None = None) -> None:
        self.on_stuck = on_stuck
        self._stuck_seconds = stuck_seconds
        self._jobs: set[_Job] = set()
        self._busy = threading.Event()
        self._lock = threading.Lock()
        self._shortest = SECONDS
        self._thread: threading.Thread | None = None

    def run(self, what: str, function: Callable[[], Any], seconds: float) -> Any:
        """Call a function. Raises `OutOfTime` where it was not done within so many seconds."""
        job = _Job(what)
        self._watch_over(job, seconds)
        try:
            try:
                job.deadline = monotonic() + seconds
                result = function()
            finally:
                late = job.end()
        except _Stopped:
            late = True
        finally:
            self._jobs.discard(job)
        if late:
            raise OutOfTime(f"was not done within {seconds:g} s")
        return result

    def _watch_over(self, job: _Job, seconds: float) -> None:
        if self._thread is None or seconds < self._shortest:
            with self._lock:
                self._shortest = min(self._shortest, seconds)
                if self._thread is None:
                    self._thread = threading.Thread(target=guard(self._watch), name="watchdog", daemon=True)
                    self._thread.start()
        self._jobs.add(job)
        if not self._busy.is_set():
            self._busy.set()

    def _watch(self) -> None:
        """Look a few times within the shortest limit while something runs; sleep while nothing does."""
        while True:
            self._busy.wait()
            sleep(self._shortest / 4)
            self._busy.clear()
            for job in tuple(self._jobs):
                self._look(job, monotonic())
            if self._jobs:
                self._busy.set()

    def _look(self, job: _Job, now: float) -> None:
        if job.stopped_at is None and now >= job.deadline:
            log.error("%s takes too long: it is stopped", job.what)
            job.stop()
        elif job.stopped_at is not None and now >= job.stopped_at + self._stuck_seconds and not job.is_stuck:
            job.is_stuck = True
            log.critical(
                "%s cannot be stopped: it is in a call that does not return, or takes every exception", job.what
            )
            if self.on_stuck is not None:
                self.on_stuck(job.what)


WATCHDOG = Watchdog()
"""The process's."""


def end_when_deaf(seconds: float = DEAF_SECONDS) -> None:
    """End the process as soon as no Python code has run in it for so long, with the stacks of its threads on stderr.

    The timer is `faulthandler`'s, which needs no interpreter; a thread puts it off for as long as it gets to run.
    """

    def put_off() -> None:
        while True:
            faulthandler.dump_traceback_later(seconds, exit=True)
            sleep(seconds / 4)

    threading.Thread(target=guard(put_off), name="heartbeat", daemon=True).start()


def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, stopped after `SECONDS`."""

    what = getattr(function, "__qualname__", type(function).__name__)

    @functools.wraps(function)
    def bounded(*args: Any, **kwargs: Any) -> Any:
        return WATCHDOG.run(what, functools.partial(function, *args, **kwargs), SECONDS)

    return bounded


def _raise_in(thread: int, error: type[BaseException]) -> None:
    """Raise an exception in a thread when it is at Python code next, in place of one that has not been raised yet."""
    import ctypes  # 2 ms, which a start need not spend

    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


def _clear_raised(thread: int) -> None:
    """See that nothing is raised any more in this very thread.

    To ask CPython for no exception leaves it looking for one at each step: slow, and for ever under a profiler.
    """
    try:
        _raise_in(thread, _Cleared)
        while True:
            sleep(0)
    except _Cleared:
        pass
