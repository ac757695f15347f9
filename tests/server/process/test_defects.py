"""`bot serve` when one of its threads raises what nobody foresaw: its process is started again, and everybody can see why."""

import json
from functools import partial
from pathlib import Path
from urllib.request import urlopen

import pytest

from bot.core.engine_requests import AskStatus
from bot.server import local_socket
from tests.server.process.serving import Serve, Serving, until

THREADS = {
    "inbox": ("web", "bot.store.inbox:InboxWriter._next_group"),
    "house": ("web", "bot.server.web.web_service:WebService._erase"),
    "web": ("web", "bot.server.web.web_server:WebServer._each_second"),
    "signals": ("web", "bot.server.process.web_process:_stop_on_sigterm"),
    "turns": ("engine", "bot.runtime.engine_cycle:EngineCycle.run"),
    "http": ("engine", "bot.runtime.delivery:Delivery._on_attempts"),
    "main": ("engine", "bot.server.app:Engine.check"),
}
"""By the name of the thread: its process, and a function that it calls soon."""
SIGNALS = 'a defect in "signals", Unforeseen at '


@pytest.fixture
def flags(folder: Path) -> dict[str, Path]:
    return {thread: folder / f"broken-{thread}" for thread in THREADS}


@pytest.fixture
def serving(serve: Serve, flags: dict[str, Path]) -> Serving:
    flags["signals"].touch()  # it is called once, when the process begins
    return serve(broken={place: str(flags[thread]) for thread, (_, place) in THREADS.items()}).up()


def test_a_process_with_a_thread_that_raises_is_started_again_and_loses_nothing(
    serving: Serving, flags: dict[str, Path]
) -> None:
    if not any(SIGNALS in line for line in serving.seen):  # it may come before or after the line of the start
        serving.line_with(SIGNALS)
    sent = 0
    for thread, (process, _) in THREADS.items():
        if thread == "signals":
            continue
        flags[thread].touch()
        until(partial(_accepted, serving, f"evt-{sent}"))
        sent += 1
        line = serving.line_with(f'a defect in "{thread}", Unforeseen at ')
        assert f" {process} " in line
        serving.line_with(f"the {process} process ended with ")
        until(lambda: _ready_with_alarm(serving))
    serving.settle(sent)
    assert serving.kept() == [f"evt-{number}" for number in range(sent)]
    (alarm,) = [a for a in local_socket.ask(serving.store, AskStatus()).alarms if a["name"] == "defect"]
    assert 'in the engine process, in "main", Unforeseen at ' in alarm["what"]
    assert alarm["what"].endswith(f"({len(THREADS)} so far)")
    assert serving.end() == 0


def _accepted(serving: Serving, event: str) -> bool:
    try:
        return serving.post(event) == 200
    except OSError:  # its process has just ended: the gateway tries again, and so do we
        return False


def _ready_with_alarm(serving: Serving) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{serving.port}/readyz") as answer:
            return "defect" in json.loads(answer.read())["alarms"]
    except OSError:
        return False
