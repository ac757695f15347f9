"""What monitors and commands see of servers whose store is divided, while the engine of a shard does not answer."""

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from tests.cli.terminal import call
from tests.patience import PATIENCE, wait_for
from tests.server.process.test_shards import CONTACTS, Divided, divided, subscribe  # noqa: F401
from tests.server.test_kill import Server


def asked(server: Server, path: str) -> requests.Response:
    return requests.get(f"http://127.0.0.1:{server.port}{path}", timeout=PATIENCE)


@contextmanager
def standing_still(server: Server, name: str) -> Iterator[None]:
    engine = server.children()[name]
    os.kill(engine, signal.SIGSTOP)
    yield
    os.kill(engine, signal.SIGCONT)


@pytest.mark.parametrize("apart", [False, True])
def test_monitors_are_told_of_all_shards_and_which_one_has_no_engine(divided: Divided, apart: bool) -> None:  # noqa: F811
    web = divided.start("one", *["--web"] * apart)
    engines = divided.start("two", "--engine") if apart else web
    subscribe(divided, web)
    divided.says("hi")
    wait_for(lambda: asked(web, "/readyz").status_code == 200)
    lines = asked(web, "/metrics").text.splitlines()
    assert {"bot_engine_up 1.0", 'bot_turns_total{event="MessageReceived"} 2.0'} <= {*lines}
    with standing_still(engines, "engine.1"):
        ready = asked(web, "/readyz")
        assert (ready.status_code, ready.json()["message"]) == (
            503,
            "the engine of shard 1 does not answer: events are kept meanwhile",
        )
        lines = asked(web, "/metrics").text.splitlines()
        assert {"bot_engine_up 0.0", 'bot_turns_total{event="MessageReceived"} 1.0'} <= {*lines}
    wait_for(lambda: asked(web, "/readyz").status_code == 200)


def test_commands_on_a_machine_without_a_server_ask_the_engines_of_another(
    divided: Divided,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = divided.start("one")
    subscribe(divided, server)
    divided.says("hi")
    for name in ("bot.yml", "main.yml", "handlers.py"):
        shutil.copy(server.folder / name, tmp_path)
    monkeypatch.setenv("BOT_STORE", divided.store.url)
    for contact in CONTACTS:
        assert call("sessions", "reset", contact, "--bot", tmp_path).code == 0
    divided.says("hello")
    assert [divided.texts(contact) for contact in CONTACTS] == [["You wrote:", "You wrote:"]] * 2
    none = "0 messages wait to be sent, 0 given up.\n"  # once the engines have noted that both were sent
    wait_for(lambda: call("queue", "--bot", tmp_path).out == none)
