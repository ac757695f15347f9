"""One thread waits for its neighbours and for another process at once."""

import os
import threading
from collections.abc import Iterator
from time import monotonic

import pytest

from bot.runtime.engine_loop import WakePipe
from tests.patience import PATIENCE


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    read, write = os.pipe()
    yield read, write
    os.close(read)
    os.close(write)


def test_a_byte_from_another_process_wakes(pipe: tuple[int, int]) -> None:
    wakes = WakePipe(pipe[0])
    threading.Timer(0.02, os.write, (pipe[1], b"x")).start()
    with wakes:
        assert wakes.wait(PATIENCE) and not wakes.wait(0.0)


def test_a_byte_that_came_before_is_not_missed(pipe: tuple[int, int]) -> None:
    wakes = WakePipe(pipe[0])
    os.write(pipe[1], b"xx")
    with wakes:
        assert wakes.wait(PATIENCE) and not wakes.was_written()


def test_a_thread_wakes_the_one_that_waits(pipe: tuple[int, int]) -> None:
    wakes, done = WakePipe(pipe[0]), list[str]()

    def notify() -> None:
        with wakes:  # which is free: the other waits
            done.append("x")
            wakes.notify_all()
            wakes.notify_all()

    with wakes:
        threading.Timer(0.02, notify).start()
        assert wakes.wait_for(lambda: done, PATIENCE)
        assert not wakes.wait(0.0), "two notifications are one"


def test_who_works_is_not_woken_but_finds_that_it_was_written_to(pipe: tuple[int, int]) -> None:
    wakes = WakePipe(pipe[0])
    with wakes:
        wakes.notify_all()
        assert not wakes.wait(0.0) and not wakes.was_written()
    os.write(pipe[1], b"x")
    assert wakes.was_written() and not wakes.was_written()


def test_the_wait_ends_in_time(pipe: tuple[int, int]) -> None:
    began = monotonic()
    with (wakes := WakePipe(pipe[0])):
        assert not wakes.wait(0.05)
    assert 0.05 <= monotonic() - began < PATIENCE
