"""A worker pool: one thread for each job that can be done now."""

import threading
from collections import deque
from collections.abc import Callable
from datetime import timedelta

import pytest

from bot.core.clock import MovableClock
from bot.core.defects import NoThread
from bot.runtime.performers import WorkerPool
from tests.patience import PATIENCE
from tests.runtime.engine_kit import START
from tests.server.process.serving import until


def test_after_a_rest_as_many_jobs_are_done_at_once_as_there_are_threads() -> None:
    jobs: deque[Callable[[], object]] = deque()

    pool: WorkerPool[Callable[[], object], object] = WorkerPool(
        MovableClock(START),
        refresh=lambda now: (len(jobs), None),
        pop=lambda now: jobs.popleft() if jobs else None,
        do=lambda job: job(),
        done=lambda job, result: None,
        size=2,
        name="pool",
    )
    pool.start()

    def give(*new: Callable[[], object]) -> None:
        with pool.lock:
            jobs.extend(new)
            pool.changed()

    give(lambda: None)
    until(lambda: pool._idle == 1)
    both = threading.Barrier(3, timeout=PATIENCE)
    give(both.wait, both.wait)
    both.wait()
    pool.stop(PATIENCE)


def test_a_job_for_which_no_thread_can_be_started_waits_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock, jobs, done = MovableClock(START), deque(["first", "second"]), list[str]()
    pool: WorkerPool[str, None] = WorkerPool(
        clock,
        refresh=lambda now: (len(jobs), None),
        pop=lambda now: jobs.popleft() if jobs else None,
        do=done.append,
        done=lambda job, result: None,
        size=2,
        name="pool",
    )
    start = threading.Thread.start

    def no_worker(self: threading.Thread) -> None:
        if self.name == "pool":
            raise RuntimeError("can't start new thread")
        start(self)

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", no_worker)
        pool.start()
        assert "pool" in caplog.text
        assert "no more threads" in caplog.text
    assert not done
    clock.move(timedelta(seconds=2))
    until(lambda: done == ["first", "second"])
    pool.stop(PATIENCE)


def test_without_a_thread_that_could_wake_it_a_pool_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine ends with these words, and is started again."""
    pool: WorkerPool[str, None] = WorkerPool(
        MovableClock(START),
        refresh=lambda now: (1, None),
        pop=lambda now: None,
        do=lambda job: None,
        done=lambda job, result: None,
        size=1,
        name="pool",
    )

    def no_thread(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", no_thread)
    with pytest.raises(NoThread, match="this machine can start no more threads now"):
        pool.start()
