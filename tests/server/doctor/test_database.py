"""What `bot doctor` says of a store in PostgreSQL."""

from collections.abc import Iterator
from contextlib import closing, nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from bot.server import doctor
from bot.store import postgres_database
from bot.store.database import PostgresAddress
from bot.store.opening import engine_writer
from bot.store.postgres_database import DatabaseServer
from tests.postgres import Postgres, new_database

NOON = datetime(2030, 5, 6, 12, tzinfo=UTC)
SOUND = DatabaseServer(160_004, "16.4", (), has_late_standby=False, is_read_only=False, is_pooled=False, now=NOON)


@pytest.fixture(scope="module")
def address(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresAddress]:
    with new_database(postgres, tmp_path_factory.mktemp("bot")) as made:
        yield made


def test_a_server_that_may_lose_what_it_has_committed_fails(address: PostgresAddress) -> None:
    """The server of the tests does not wait for its disk."""
    found = list(doctor.database(address, datetime.now(UTC)))
    assert [(result.state, result.what.split()[0]) for result in found] == [
        ("fail", "fsync"),
        ("fail", "full_page_writes"),
    ]


def test_the_state_of_the_store_is_that_of_its_tables(address: PostgresAddress) -> None:
    found = [(result.about, result.state) for result in doctor.store_state(address, datetime.now(UTC))]
    assert ("store", "ok") in found and "fail" not in {state for _, state in found}


def test_a_command_that_writes_itself_is_no_machine(address: PostgresAddress, tmp_path: Path) -> None:
    with closing(engine_writer(address)):  # as where no server runs, and the gateway is asked
        assert list(doctor.served(address, tmp_path)) == []


def test_another_number_of_shards_fails_with_what_to_set(address: PostgresAddress) -> None:
    (result,) = doctor.store_state(replace(address, shards=4), datetime.now(UTC))
    assert result.state == "fail" and "has 1 shard, and BOT_SHARDS says 4: set BOT_SHARDS=1" in result.what


def test_a_pooler_in_transaction_mode_is_found_since_two_sessions_are_one(
    address: PostgresAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not postgres_database.database_server(address).is_pooled
    with postgres_database.connect(address, "engine") as only:
        monkeypatch.setattr(postgres_database, "connect", lambda *_: nullcontext(only))
        assert postgres_database.database_server(address).is_pooled


def test_a_database_that_can_only_be_read_is_found(postgres: Postgres, tmp_path: Path) -> None:
    with new_database(postgres, tmp_path) as own:
        with psycopg.connect(own.url, autocommit=True) as connection:
            connection.execute(f"ALTER DATABASE {connection.info.dbname} SET default_transaction_read_only = on")
        assert postgres_database.database_server(own).is_read_only


def test_a_server_that_is_away_fails_with_the_reason(tmp_path: Path) -> None:
    (result,) = doctor.database(PostgresAddress("postgresql://bot@127.0.0.1:1/bot", tmp_path / "bot", tmp_path), NOON)
    assert result.state == "fail" and "cannot be used now" in result.what


@pytest.mark.parametrize(
    ("changed", "states"),
    [
        ({}, ["ok"]),
        ({"number": 140_012, "version": "14.12"}, ["fail"]),
        ({"has_late_standby": True}, ["warn", "ok"]),
        ({"now": NOON + timedelta(seconds=6)}, ["warn", "ok"]),
        ({"is_pooled": True}, ["fail"]),
        ({"is_read_only": True}, ["fail"]),
    ],
)
def test_what_is_not_as_it_should_be_is_named(
    address: PostgresAddress, monkeypatch: pytest.MonkeyPatch, changed: dict[str, object], states: list[str]
) -> None:
    fields = {
        name: getattr(SOUND, name)
        for name in ("number", "version", "unsafe", "has_late_standby", "is_read_only", "is_pooled", "now")
    }
    monkeypatch.setattr(postgres_database, "database_server", lambda _: DatabaseServer(**fields | changed))
    assert [result.state for result in doctor.database(address, NOON)] == states
