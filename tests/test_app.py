"""A whole bot in one process, with the emulator of the gateway on the other side."""

import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bot.app import TOLERANCE, Bot, Engine
from bot.clock import MovableClock, SystemClock
from bot.core.errors import BotError
from bot.emulator.emulator import API_KEY, SECRET, Emulator
from bot.folder import read_folder
from bot.program import FaultyBot, load_program, problems_of
from bot.runtime.passes import CursorBeyondLog
from bot.store.files import FileLock, StoreMissing, inbox_path
from bot.store.migrations import migrate
from bot.web.service import WebService
from tests.patience import PATIENCE

CONTACT = "6281234567890"
BOT = """
name: Test Bot
defaults: {timeout: {after: 1h, then: end}, retry: {max: 3, else: end}, errors: {else: end}}
"""
FLOW = """
flow: main
start: {otherwise: true}
vars: {name: text, greeting: text}
steps:
  ask: {ask: What is your name?, save: name}
  greet: {call: greet, with: {name: "{{ name }}"}, save: greeting}
  say: {say: "{{ greeting }}"}
"""
HANDLERS = """
from bot import handler

@handler("greet")
def greet(name: str) -> str:
    return f"Hello {name}"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bot.yml").write_text(BOT)
    (tmp_path / "main.yml").write_text(FLOW)
    (tmp_path / "handlers.py").write_text(HANDLERS)
    return tmp_path


class Talk:
    """A contact and a bot."""

    def __init__(self, folder: Path, emulator: Emulator, clock: MovableClock) -> None:
        store = folder / "bot.db"
        migrate(store)
        self.emulator = emulator
        self.engine = Engine(
            load_program(read_folder(folder)), store, clock, gateway_url=emulator.url, gateway_key=API_KEY
        )
        self.bot = Bot(self.engine, store, clock, SECRET)
        self.bot.start()
        emulator.subscribe(self.bot.url)

    def says(self, text: str) -> None:
        event = self.emulator.receive(CONTACT, text)
        assert self.emulator.wait_until(lambda: event in self.emulator.acknowledged, PATIENCE)
        assert self.engine.wait_settled(PATIENCE)

    def heard(self) -> list[Any]:
        return [sent.body for sent in self.emulator.sent]


@pytest.fixture
def talk(folder: Path) -> Iterator[Callable[[], Talk]]:
    clock = MovableClock(datetime(2030, 5, 12, 9, tzinfo=UTC), running=True)
    talks: list[Talk] = []
    with Emulator(clock) as emulator:

        def start() -> Talk:
            talks.append(Talk(folder, emulator, clock))
            return talks[-1]

        yield start
        emulator.stop()  # first: the bot's web server waits a while for connections that are kept open
        for each in talks:
            each.bot.stop()


def texts(talk: Talk) -> list[str]:
    return [body["text"]["body"] for body in talk.heard()]


def test_a_conversation_goes_through_webhook_engine_handler_and_gateway(talk: Callable[[], Talk]) -> None:
    bot = talk()
    bot.says("hi")
    bot.says("Ann")
    assert texts(bot) == ["What is your name?", "Hello Ann"]


def test_a_swap_brings_new_flows_and_new_handlers_to_a_conversation_under_way(
    talk: Callable[[], Talk], folder: Path
) -> None:
    bot = talk()
    bot.says("hi")
    (folder / "handlers.py").write_text(HANDLERS.replace("Hello", "Hallo"))
    bot.engine.swap(load_program(read_folder(folder)))
    bot.says("Ann")
    assert texts(bot)[-1] == "Hallo Ann"


def test_an_operator_asks_the_engine(talk: Callable[[], Talk]) -> None:
    bot = talk()
    bot.says("hi")
    assert bot.engine.operate({"do": "status"})["sessions"] == 1
    assert bot.engine.operate({"do": "reset", "contact": CONTACT}) == {"contact": CONTACT}
    with pytest.raises(BotError):
        bot.engine.operate({"do": "dance"})


@pytest.mark.parametrize(("half", "others"), [("bot.web.service", "urllib3"), ("bot.app", "flask")])
def test_each_half_imports_only_what_is_its_own(half: str, others: str) -> None:
    program = f"import sys, {half}; sys.exit({others!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_bot_that_cannot_start_leaves_no_thread_and_no_lock(folder: Path) -> None:
    store = folder / "bot.db"
    migrate(store)
    with sqlite3.connect(store) as ahead:
        ahead.execute("UPDATE meta SET cursor = 7")
    ahead.close()
    threads = set(threading.enumerate())
    for _ in range(2):
        engine = Engine(
            load_program(read_folder(folder)), store, SystemClock(), gateway_url="http://127.0.0.1:9", gateway_key="k"
        )
        with pytest.raises(CursorBeyondLog):
            Bot(engine, store, SystemClock(), SECRET).start()
    assert set(threading.enumerate()) == threads


def test_a_half_that_lacks_a_file_leaves_no_thread_and_no_lock(folder: Path) -> None:
    store = folder / "bot.db"
    migrate(store)
    store.rename(folder / "away.db")
    threads = set(threading.enumerate())
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(StoreMissing):
        web_service(store, listener)
    assert set(threading.enumerate()) == threads
    (folder / "away.db").rename(store)
    inbox_path(store).unlink()
    program = load_program(read_folder(folder))
    with pytest.raises(StoreMissing):
        Engine(program, store, SystemClock(), gateway_url="http://127.0.0.1:9", gateway_key="k")
    FileLock(store).release()
    FileLock(inbox_path(store)).release()


def web_service(store: Path, listener: socket.socket) -> WebService:
    return WebService(
        store,
        listener,
        SystemClock(),
        secrets=[SECRET],
        tolerance=TOLERANCE,
        path="/webhook",
        wake=lambda: None,
        engine_is_up=lambda: True,
    )


def test_all_problems_of_flows_and_handlers_are_found_at_once(folder: Path) -> None:
    (folder / "handlers.py").write_text("1 / 0")
    (folder / "main.yml").write_text(FLOW.replace("say: {say", "say: {then: nowhere, say"))
    found = [(problem.path, problem.code) for problem in problems_of(read_folder(folder))]
    assert found == [("handlers.py", "E505"), ("main.yml", "E102")]
    with pytest.raises(FaultyBot):
        load_program(read_folder(folder))


def test_a_handler_that_is_missing_is_a_problem_where_the_handlers_could_be_loaded(folder: Path) -> None:
    (folder / "handlers.py").write_text("")
    assert [problem.code for problem in problems_of(read_folder(folder))] == ["E501"]
