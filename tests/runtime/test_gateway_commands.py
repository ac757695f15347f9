"""What a command has the gateway do."""

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.core.alarms import Alarms
from bot.core.clock import MovableClock, SystemClock
from bot.core.engine_answers import GatewayItems, NoPermit
from bot.core.engine_requests import (
    A,
    GatewayCommand,
    ListGatewayContacts,
    ListTemplates,
    RegisterWebhook,
    UpsertContact,
    answer_as_json,
    read_answer,
)
from bot.core.values import time_text
from bot.runtime.engine_loop import EngineStopped
from bot.runtime.gateway_commands import (
    CommandPermits,
    GatewayCommands,
    NotRepeated,
    commands_without_server,
)
from bot.runtime.rate_limiter import RateLimiter
from bot.runtime.scheduler import CircuitBreakers
from bot.services.gateway.gateway_answers import GatewayUnauthorized, OutcomeUnknown
from bot.services.gateway.gateway_client import Gateway
from bot.settings import AccountSettings
from bot.store.files import StoreLocked
from bot.store.sqlite_schema import migrate
from bot.store.store_reader import StoreReader
from bot.testing.emulator import Emulator
from tests.cli.keeping import START, kept
from tests.patience import wait_for
from tests.postgres import about_files

NOON = datetime(2030, 5, 12, 12, tzinfo=UTC)
CONTACT = "6281234567890"
PUT = UpsertContact(CONTACT, CONTACT, None, [])


@pytest.fixture
def gateway() -> Iterator[Emulator]:
    with Emulator(SystemClock(), threads=2, per_minute=6000, per_day=1_000_000) as emulator:
        yield emulator


def account(gateway: Emulator, per_minute: int = 6000) -> AccountSettings:
    return AccountSettings(gateway.url, gateway.api_key, None, per_minute, 1_000_000)


@pytest.fixture
def commands(gateway: Emulator, tmp_path: Path) -> Iterator[GatewayCommands]:
    with commands_without_server(account(gateway), tmp_path / "bot.db", SystemClock()) as commands:
        yield commands


def through_json(commands: GatewayCommands, command: GatewayCommand[A]) -> A:
    return read_answer(command, json.loads(json.dumps(answer_as_json(commands.run(command)))))


def test_each_answer_is_plain_enough_for_the_local_socket(commands: GatewayCommands, gateway: Emulator) -> None:
    assert through_json(commands, replace(PUT, name="Ann", tags=["vip"])).id
    page = through_json(commands, ListGatewayContacts(1))
    assert [(item["phone"], item["tags"]) for item in page.items] == [(CONTACT, ["vip"])]
    assert page.has_more is False
    assert through_json(commands, ListTemplates()) == GatewayItems([], False)
    webhook = RegisterWebhook("n", "https://bot.example/w", ["message.read"])
    answer = through_json(commands, replace(webhook, secret="mine"))
    assert (answer.url, answer.events, answer.secret) == ("https://bot.example/w", ["message.read"], "mine")
    assert gateway.unknown_fields == set()


def test_what_an_engine_had_begun_that_ended_is_done_again_where_that_is_harmless(commands: GatewayCommands) -> None:
    assert commands.run(replace(PUT, again=True)).id
    webhook = RegisterWebhook("n", "https://bot.example/w", ["message.read"])
    with pytest.raises(NotRepeated, match="see in the gateway's inbox whether it did"):
        commands.run(replace(webhook, again=True))


def test_a_contact_that_is_refused_is_an_answer_and_a_bad_key_is_none(
    commands: GatewayCommands, gateway: Emulator
) -> None:
    assert "VALIDATION_INVALID_PHONE" in str(commands.run(replace(PUT, phone="0812")).refused)
    gateway.faults.add("unauthorized", count=1)
    with pytest.raises(GatewayUnauthorized):
        commands.run(PUT)
    gateway.faults.add("error_before", count=1)
    with pytest.raises(OutcomeUnknown):
        commands.run(PUT)


def test_a_contact_is_put_by_one_request(commands: GatewayCommands, gateway: Emulator) -> None:
    assert commands.run(PUT).id
    assert gateway.requests == 1
    (contact,) = commands.run(ListGatewayContacts(1)).items
    assert contact["name"] is None


def test_after_a_429_nothing_is_asked_before_the_gateway_allows_it(tmp_path: Path) -> None:
    clock = MovableClock(NOON)
    with (
        Emulator(clock, threads=2) as gateway,
        commands_without_server(account(gateway), tmp_path / "bot.db", clock) as commands,
    ):
        gateway.faults.add("rate_limited", count=1, seconds=30)
        asking = threading.Thread(target=commands.run, args=(ListTemplates(),), daemon=True)
        asking.start()
        wait_for(lambda: gateway.faults.hits.get("rate_limited") == 1)
        clock.move(timedelta(seconds=29))
        assert gateway.requests == 1

        def is_asked_again() -> bool:
            clock.move(timedelta(seconds=2))  # again and again: it may have begun to wait only after the first move
            return gateway.requests == 2

        wait_for(is_asked_again)
        asking.join(20)


def test_a_command_is_told_how_long_the_gateway_allows_nothing(tmp_path: Path) -> None:
    clock = MovableClock(NOON)
    with (
        Emulator(clock, threads=2) as gateway,
        commands_without_server(account(gateway), tmp_path / "bot.db", clock) as commands,
    ):
        gateway.faults.add("rate_limited", count=1, seconds=100)
        with pytest.raises(NoPermit) as refused:
            commands.run(ListTemplates())
        assert refused.value.wait == pytest.approx(100, abs=1)
        with pytest.raises(NoPermit) as read:
            read_answer(ListTemplates(), answer_as_json(refused.value))
        assert (str(read.value), read.value.wait) == (str(refused.value), refused.value.wait)
        clock.move(timedelta(seconds=101))
        assert commands.run(ListTemplates()).items == []
        assert gateway.requests == 2


def test_the_requests_of_a_server_that_has_ended_count(tmp_path: Path) -> None:
    clock, store = MovableClock(NOON), tmp_path / "bot.db"
    migrate(store)
    with closing(sqlite3.connect(store)) as file, file:
        file.execute(
            "INSERT INTO messages (ref, key, contact, effect, outcome, message_ids, attempts, created_at, at, detail) "
            "VALUES ('r', 'k', '628', '{}', 'sent', '[]', 10, ?1, ?1, '')",
            [time_text(NOON)],
        )
    with (
        Emulator(clock, threads=2) as gateway,
        commands_without_server(account(gateway, per_minute=20), store, clock) as commands,
    ):
        asking = threading.Thread(target=commands.run, args=(ListTemplates(),), daemon=True)
        asking.start()
        clock.move(timedelta(seconds=59))
        assert gateway.requests == 0
        clock.move(timedelta(seconds=2))
        asking.join(20)
        assert gateway.requests == 1


@about_files
def test_each_request_is_noted_before_it_is_made_and_counts_from_then_on(tmp_path: Path) -> None:
    clock, store = MovableClock(NOON), tmp_path / "bot.db"
    migrate(store)
    with Emulator(clock, threads=2) as gateway:
        with commands_without_server(account(gateway), store, clock) as commands:
            commands.run(ListTemplates())
            gateway.faults.add("unauthorized", count=1)
            with pytest.raises(GatewayUnauthorized):
                commands.run(PUT)
    with closing(StoreReader(store)) as reader:
        assert reader.messages.requests(NOON) == [(0.0, 2)]
    with closing(sqlite3.connect(store)) as file:
        assert file.execute("SELECT rule, event FROM turns ORDER BY id").fetchall() == [
            ("command", '{"do":"gateway","call":"templates"}'),
            ("command", '{"do":"gateway","call":"put_contact"}'),
        ]


def test_a_server_notes_them_too(tmp_path: Path) -> None:
    with kept(tmp_path) as bot:
        bot.engine.operate(ListTemplates())
    with closing(StoreReader(tmp_path / "bot.db")) as reader:
        assert [count for _, count in reader.messages.requests(START)] == [1]


def test_what_cannot_be_noted_is_not_asked(gateway: Emulator) -> None:
    def note(call: str) -> None:
        raise EngineStopped("the engine does not run")

    clock = SystemClock()
    permits = CommandPermits(
        threading.Lock(), RateLimiter(60, 10_000), CircuitBreakers(Alarms(clock)), clock, lambda: None
    )
    commands = GatewayCommands(Gateway(gateway.url, gateway.api_key), permits.permit, note, clock)
    with pytest.raises(EngineStopped):
        commands.run(ListTemplates())
    assert gateway.requests == 0


def test_one_command_at_a_time_asks_and_none_beside_a_server(gateway: Emulator, tmp_path: Path) -> None:
    store = tmp_path / "bot.db"
    with commands_without_server(account(gateway), store, SystemClock()):
        with pytest.raises(StoreLocked):
            with commands_without_server(account(gateway), store, SystemClock()):
                pass
    with commands_without_server(account(gateway), store, SystemClock()) as again:
        assert again.run(ListTemplates()) == GatewayItems([], False)
    assert not store.exists()
