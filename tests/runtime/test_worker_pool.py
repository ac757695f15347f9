"""A crew of threads: one for each job that can be done now."""

import threading
from collections import deque
from collections.abc import Callable

from bot.clock import MovableClock
from bot.runtime.worker_pool import WorkerPool
from tests.patience import PATIENCE
from tests.process.serving import until
from tests.runtime.engine_kit import START


def test_after_a_rest_as_many_jobs_are_done_at_once_as_there_are_threads() -> None:
    lock = threading.Lock()
    jobs: deque[Callable[[], object]] = deque()

    def do(job: Callable[[], object]) -> None:
        job()

    crew: WorkerPool[Callable[[], object]] = WorkerPool(
        lock,
        MovableClock(START),
        lambda: jobs.popleft() if jobs else None,
        do,
        lambda: None,
        size=2,
        name="crew",
    )
    crew.start()

    def give(*new: Callable[[], object]) -> None:
        with lock:
            jobs.extend(new)
            crew.call(len(jobs))

    give(lambda: None)
    until(lambda: crew._idle == 1)
    both = threading.Barrier(3, timeout=PATIENCE)
    give(both.wait, both.wait)
    both.wait()
    crew.stop(PATIENCE)
