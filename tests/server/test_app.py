"""A whole bot in one process, with the emulator of the gateway on the other side."""

import logging
import re
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import requests

from bot.core.clock import MovableClock, SystemClock
from bot.core.effects import RunHook
from bot.core.engine_answers import ConversationChanged, Mistakes, Status
from bot.core.engine_requests import AskFlows, AskStatus, CheckStart, CorrectRecipients, ResetContact
from bot.core.errors import BotError
from bot.core.session import OPTED_OUT, Session
from bot.core.telemetry import TURNS
from bot.core.values import Usage
from bot.loading.folder import read_folder
from bot.loading.program import FaultyBot, load_program, problems_of
from bot.runtime.engine_loop import EngineLoop
from bot.runtime.rate_limiter import RateLimiter
from bot.server.app import TOLERANCE, Bot, Engine, EngineFailed, GatewayAccount
from bot.server.web.web_service import WebService
from bot.settings import ModelService
from bot.store.commit import Commit
from bot.store.database import shard_number, shards_of
from bot.store.engine_store import EngineStore
from bot.store.files import FileLock, StoreMissing, inbox_path
from bot.store.integrity import StoresDiffer
from bot.store.postgres_schema import migrate as migrate_database
from bot.store.rows import CallRow
from bot.store.sqlite_schema import migrate
from bot.testing.emulator.emulator import API_KEY, SECRET, Emulator
from tests.patience import PATIENCE
from tests.postgres import Postgres, about_files, new_database
from tests.store.store_kit import sqlite

CONTACT = "6281234567890"
ROOT = Path(__file__).parents[2]
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
        self.clock = clock
        self.engine = Engine(load_program(read_folder(folder)), store, clock, GatewayAccount(emulator.url, API_KEY))
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


def test_flows_are_told_once_the_next_event_is_taken_with_them(talk: Callable[[], Talk], folder: Path) -> None:
    bot = talk()
    told = list[object]()
    (folder / "more.yml").write_text("flow: more\nstart: {words: [more]}\nsteps: {a: {say: More., then: end}}\n")
    with patch.object(EngineLoop, "use", lambda *_: told.append(bot.engine.operate(AskFlows()).flows)):
        bot.engine.swap(load_program(read_folder(folder)))
    assert "more" not in str(told)
    assert "more" in bot.engine.operate(AskFlows()).flows


def test_without_a_model_no_message_is_asked_about_also_after_a_swap(talk: Callable[[], Talk], folder: Path) -> None:
    (folder / "shop.yml").write_text(
        "flow: shop\nstart: {about: they want to buy, examples: [two please]}\nsteps: {a: {say: Yes., then: end}}\n"
    )
    bot = talk()
    bot.says("hm")
    bot.engine.swap(load_program(read_folder(folder)))
    bot.says("Ann")
    bot.says("three")
    assert texts(bot) == ["What is your name?", "Hello Ann", "What is your name?"]


def test_an_operator_asks_the_engine(talk: Callable[[], Talk]) -> None:
    bot = talk()
    bot.says("hi")
    assert bot.engine.operate(AskStatus()).cursor == 1
    assert bot.engine.operate(ResetContact(CONTACT)) == ConversationChanged(CONTACT)
    with pytest.raises(BotError):
        bot.engine.operate(CorrectRecipients("spring", 1, []))


def test_a_program_is_told_who_has_opted_out_and_the_gateway_has_the_tag(
    talk: Callable[[], Talk], folder: Path
) -> None:
    (folder / "bot.yml").write_text(f"{BOT}opt_out: {{words: [stop], say: Bye., back: [start]}}\n")
    bot = talk()
    asked = CheckStart(CONTACT, "main", {})
    bot.says("hi")
    assert bot.engine.operate(asked) == Mistakes()
    bot.says("stop")
    assert bot.engine.operate(asked) == Mistakes({"contact": "the contact has opted out: no flow is started for it"})
    assert texts(bot) == ["What is your name?", "Bye."]
    assert bot.emulator.wait_until(lambda: bot.emulator.contact(CONTACT)["tags"] == ["opted_out"], PATIENCE)


def metrics(talk: Talk) -> dict[str, float]:
    text = requests.get(talk.bot.url.replace("/webhook", "/metrics"), timeout=PATIENCE).text
    lines = (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, value in lines}


def test_the_metrics_tell_what_both_halves_did_and_how_they_stand(talk: Callable[[], Talk]) -> None:
    bot = talk()
    bot.says("hi")
    bot.says("Ann")
    found = metrics(bot)
    assert found['bot_webhook_requests_total{answer="kept"}'] == found["bot_event_wait_seconds_count"] >= 2
    assert found['bot_sends_total{outcome="sent",priority="reply"}'] == 2
    assert found['bot_send_seconds_count{priority="reply"}'] == 2
    assert found['bot_calls_total{kind="call",outcome="done"}'] == 1
    assert found['bot_turns_total{event="MessageReceived"}'] == 2
    assert found['bot_turns_total{event="CallEnded"}'] == 1
    assert found['bot_queue_rows{queue="outbox"}'] == found['bot_queue_rows{queue="inbox"}'] == 0
    assert (found['bot_limit_left{window="minute"}'], found['bot_limit_left{window="day"}']) == (58, 9998)
    assert found["bot_engine_up"] == 1
    assert CONTACT not in requests.get(bot.bot.url.replace("/webhook", "/metrics"), timeout=PATIENCE).text


def test_what_waits_and_why_stands_in_the_metrics(talk: Callable[[], Talk]) -> None:
    bot = talk()
    bot.emulator.faults.add("unauthorized")
    bot.says("hi")
    bot.clock.move(timedelta(seconds=30))
    found = metrics(bot)
    assert found['bot_engine_alarms{alarm="delivery-held"}'] == found['bot_queue_rows{queue="outbox"}'] == 1
    assert found['bot_sends_total{outcome="held",priority="reply"}'] == 1
    assert found['bot_queue_oldest_seconds{queue="outbox"}'] >= 30
    bot.emulator.faults.clear()
    bot.clock.move(timedelta(minutes=2))
    assert bot.engine.wait_settled(PATIENCE)
    assert metrics(bot)['bot_queue_oldest_seconds{queue="outbox"}'] == 0


def test_an_engine_that_can_draw_no_permits_any_more_ends(talk: Callable[[], Talk]) -> None:
    engine = talk().bot.engine
    engine.check()
    with patch.object(RateLimiter, "works", False), pytest.raises(EngineFailed, match="no permits"):
        engine.check()


def test_nothing_is_counted_where_turns_wait_for_it(talk: Callable[[], Talk]) -> None:
    bot = talk()
    bot.says("hi")
    connection, read = sqlite(bot.engine), list[str]()
    connection.set_trace_callback(read.append)
    assert bot.engine.operate(AskStatus()).cursor == 1
    assert metrics(bot)['bot_queue_rows{queue="dead_letters"}'] == 0
    connection.set_trace_callback(None)
    assert [sql for sql in read if "count(" in sql] == []


def test_every_metric_is_explained(talk: Callable[[], Talk]) -> None:
    text = requests.get(talk().bot.url.replace("/webhook", "/metrics"), timeout=PATIENCE).text
    kinds = dict(line.split()[2:] for line in text.splitlines() if line.startswith("# TYPE"))
    page = (ROOT / "docs" / "monitoring.md").read_text()
    rows = re.findall(r"^\* `(bot_\w+)`: ", page, re.MULTILINE)
    assert sorted(rows) == sorted(name for name in kinds)


def test_each_turn_is_a_line_of_the_log_where_that_is_asked_for(
    talk: Callable[[], Talk], caplog: pytest.LogCaptureFixture
) -> None:
    bot = talk()
    bot.says("hi")
    assert [record.name for record in caplog.records] == []
    caplog.set_level(logging.INFO, TURNS)
    bot.says("Ann")
    first, second = (vars(record)["fields"] for record in caplog.records if record.name == TURNS)
    assert (first["event"], first["rule"], first["steps"]) == (
        "MessageReceived",
        "answer",
        ["main.ask:then", "main.greet"],
    )
    assert (second["sends"], second["wake_at"], second["failed"]) == (1, None, False)
    assert first["contact"] == second["contact"] != CONTACT
    assert CONTACT not in caplog.text and "Ann" not in caplog.text


@pytest.mark.parametrize(("half", "others"), [("bot.server.web.web_service", "pycurl"), ("bot.server.app", "flask")])
def test_each_half_imports_only_what_is_its_own(half: str, others: str) -> None:
    program = f"import sys, {half}; sys.exit({others!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@about_files
def test_a_bot_that_cannot_start_leaves_no_thread_and_no_lock(folder: Path) -> None:
    store = folder / "bot.db"
    migrate(store)
    with sqlite3.connect(store) as ahead:
        ahead.execute("UPDATE meta SET cursor = 7")
    ahead.close()
    program = load_program(read_folder(folder))  # which starts the process's watchdog
    threads = set(threading.enumerate())
    for _ in range(2):
        engine = Engine(program, store, SystemClock(), GatewayAccount("http://127.0.0.1:9", "k"))
        with pytest.raises(StoresDiffer):
            Bot(engine, store, SystemClock(), SECRET).start()
    assert set(threading.enumerate()) == threads


@about_files
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
        Engine(program, store, SystemClock(), GatewayAccount("http://127.0.0.1:9", "k"))
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
        begun=lambda: True,
        wake=lambda shards: None,
        ask=lambda request: Status(),
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


def test_an_engine_of_a_shard_knows_of_the_whole_store_what_all_contacts_share(
    postgres: Postgres, folder: Path, tmp_path: Path
) -> None:
    """Who has opted out, and the tokens that count against the budget of all."""
    noon = datetime(2030, 5, 12, 12, tzinfo=UTC)
    with new_database(postgres, tmp_path, "template0") as address:
        store = replace(address, shards=2)
        migrate_database(store)
        first, second = shards_of(store)
        of_first = next(each for each in (f"628123456789{n}" for n in range(9)) if shard_number(each, 2) == 0)
        commit = Commit(0, noon)
        commit.sessions.set(Session(of_first, tags=(OPTED_OUT,)), None)
        commit.calls.add_usage(
            CallRow(1, "", "", of_first, RunHook("", {}), 0, noon), "main", Usage("m", 700, 300, False)
        )
        with closing(EngineStore(first)) as other:
            other.write(commit)
        models = ModelService("https://models.invalid/api/v1", "key", ("m",), "authorization")
        program = load_program(read_folder(folder))
        engine = Engine(
            program, second, MovableClock(noon), GatewayAccount("https://gateway.invalid", "k"), models=models
        )
        try:
            assert "contact" in engine.check_start(CheckStart(of_first, "main", {}))
            assert engine._model_calls is not None
            assert engine._model_calls._used(None, noon - timedelta(hours=1)) == 1000
        finally:
            engine.stop()
