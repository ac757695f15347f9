"""A worker pool: one thread for each job that can be done now."""

import threading
from collections import deque
from collections.abc import Callable

from bot.core.clock import MovableClock
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
