"""What a forked process has of its parent's, and what it has not."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.server.process.supervisor import fork

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def report_of(pipe: tuple[int, int], *more: int) -> dict[str, Any]:
    """What a forked process says of itself."""

    def run() -> None:
        report = {
            "files": sorted(int(each.name) for each in Path("/proc/self/fd").iterdir() if each.exists()),
            "session": os.getsid(0) == os.getpid(),
            "name": Path("/proc/self/comm").read_text().strip(),
            "caught": [number for number in signal.valid_signals() if callable(signal.getsignal(number))],
            "blocked": len(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
            "path": sys.path,
        }
        os.write(pipe[1], json.dumps(report).encode())
        os._exit(0)

    pid = fork("bot-test", run, [pipe[1], *more])
    assert os.waitpid(pid, 0) == (pid, 0)
    report: dict[str, Any] = json.loads(os.read(pipe[0], 1 << 20))
    return report


def test_it_has_the_streams_and_the_files_that_it_was_given(pipe: tuple[int, int]) -> None:
    assert report_of(pipe)["files"] == [0, 1, 2, pipe[1]]
    assert report_of(pipe, pipe[0])["files"] == [0, 1, 2, *sorted(pipe)]


def test_it_has_a_session_and_a_name_of_its_own_and_no_handler_of_a_signal(pipe: tuple[int, int]) -> None:
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        report = report_of(pipe)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (report["session"], report["name"], report["caught"], report["blocked"]) == (True, "bot-test", [], 0)


def test_it_imports_nothing_of_the_folder_that_the_command_runs_in(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.server.process.supervisor._COMMAND_FOLDER", "/a/bot")
    monkeypatch.setattr(sys, "path", ["/a/bot", "/lib"])
    assert report_of(pipe)["path"] == ["/lib", str(Path(__file__).parents[3])]


def test_a_signal_that_comes_at_once_is_the_new_processes_alone() -> None:
    pid = fork("bot-test", signal.pause, [])
    os.kill(pid, signal.SIGTERM)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGTERM


def test_it_ends_with_1_where_it_does_not_end_itself() -> None:
    pid = fork("bot-test", lambda: None, [])
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1
