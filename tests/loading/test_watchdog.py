"""What takes too long is stopped, what is in time is left alone, and nothing is raised where it does not belong."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from time import sleep

import pytest

from bot.language.expressions.sandbox import OutOfTime
from bot.loading.watchdog import Watchdog
from tests.patience import PATIENCE

SHORT = 0.02


@pytest.fixture
def restless() -> Iterator[None]:
    """Threads take turns at nearly every instruction."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def run(code: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=PATIENCE)


def endless() -> None:
    while True:
        pass


def test_what_is_in_time_returns_and_raises_as_it_does() -> None:
    watchdog = Watchdog()
    assert watchdog.run("it", lambda: 3, 60) == 3
    with pytest.raises(ZeroDivisionError):
        watchdog.run("it", lambda: 1 / 0, 60)


def test_a_loop_without_an_end_is_stopped_each_time() -> None:
    watchdog = Watchdog()
    for _ in range(5):
        with pytest.raises(OutOfTime, match=r"was not done within 0\.02 s"):
            watchdog.run("it", endless, SHORT)
    assert watchdog.run("it", lambda: 3, 60) == 3


def test_what_takes_every_exception_for_its_own_is_late_all_the_same() -> None:
    caught: list[BaseException] = []

    def deaf() -> int:
        try:
            endless()
        except BaseException as error:
            caught.append(error)
        return 3

    with pytest.raises(OutOfTime):
        Watchdog().run("it", deaf, SHORT)
    assert len(caught) == 1


def test_an_exception_comes_in_its_own_thread_and_in_no_other() -> None:
    watchdog, results = Watchdog(), dict[int, str]()

    def work(number: int, job: Callable[[], object]) -> None:
        try:
            watchdog.run("it", job, SHORT if job is endless else 60)
            results[number] = "done"
        except OutOfTime:
            results[number] = "late"

    jobs = [endless, lambda: sleep(0.2), endless, lambda: None]
    threads = [threading.Thread(target=work, args=each) for each in enumerate(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {0: "late", 1: "done", 2: "late", 3: "done"}


def test_what_ends_just_when_it_is_stopped_is_one_or_the_other_and_raises_nothing_later() -> None:
    watchdog = Watchdog()
    came = {True: 0, False: 0}
    for number in range(300):
        try:
            watchdog.run("it", lambda steps=number * 200: sum(range(steps)), 0.0005)  # type: ignore[misc]
            came[True] += 1
        except OutOfTime:
            came[False] += 1
    assert sum(came.values()) == 300


def test_what_has_no_time_at_all_is_late_wherever_it_is_stopped(restless: None) -> None:
    watchdog = Watchdog()
    for _ in range(3000):
        try:
            watchdog.run("it", lambda: sum(range(1000)), 0)
        except OutOfTime as error:
            assert str(error) == "was not done within 0 s"


def test_what_cannot_be_stopped_is_reported_once() -> None:
    stuck: list[str] = []
    released = threading.Event()

    def report(what: str) -> None:
        stuck.append(what)
        released.set()

    def deaf() -> None:
        while not released.is_set():
            try:
                sleep(0.001)
            except BaseException:
                continue

    with pytest.raises(OutOfTime):
        Watchdog(stuck_seconds=SHORT, on_stuck=report).run("it", deaf, SHORT)
    assert stuck == ["it"]


def test_a_process_that_c_code_keeps_to_itself_ends_and_says_where() -> None:
    code = """
import faulthandler
import re
from threading import Event
from bot.loading.watchdog import Watchdog, end_when_deaf

later, begun = faulthandler.dump_traceback_later, Event()

def end_later(seconds, exit):
    later(seconds, exit=exit)
    begun.set()

def matches() -> None:
    end_when_deaf(0.3)
    begun.wait()
    re.match("(a+)+$", "a" * 60 + "b")  # for years, and no other thread gets to run

faulthandler.dump_traceback_later = end_later
Watchdog().run("matches", matches, 60)
"""
    ended = run(code)
    assert ended.returncode == 1
    assert "in matches" in ended.stderr and "Timeout" in ended.stderr


def test_a_process_that_works_and_waits_puts_its_end_off_again_and_again() -> None:
    code = """
import faulthandler
from queue import SimpleQueue
from bot.loading.watchdog import end_when_deaf

put_off = SimpleQueue()
faulthandler.dump_traceback_later = lambda seconds, exit: put_off.put((seconds, exit))
end_when_deaf(0.04)
print([put_off.get() for _ in range(3)])
"""
    ended = run(code)
    assert (ended.returncode, ended.stdout) == (0, f"{[(0.04, True)] * 3}\n"), ended.stderr


def test_after_something_was_stopped_a_profiler_still_comes_to_an_end() -> None:
    code = """
import sys
from bot.language.expressions.sandbox import OutOfTime
from bot.loading.watchdog import Watchdog

def endless():
    while True:
        pass

try:
    Watchdog().run("it", endless, 0.05)
except OutOfTime:
    pass
sys.setprofile(lambda *event: None)
len([n for n in range(10)])
sys.setprofile(None)
"""
    ended = run(code)
    assert ended.returncode == 0, ended.stderr
