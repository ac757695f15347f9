"""The numbered migrations, of files and of a database: a later version adds one, and machines are upgraded one after another."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import pytest
from sqlite_utils import Database

from bot.core.clock import SystemClock
from bot.store import sqlite_schema, store_schema
from bot.store.database import PostgresAddress, StoreAddress, shards_of
from bot.store.engine_store import EngineStore
from bot.store.files import StoreOutdated, StoreTooNew, StoreUnavailable
from bot.store.inbox import InboxWriter
from bot.store.opening import engine_reader, engine_writer, log_writer, other_engines, signal_key
from bot.store.postgres_database import connect
from bot.store.sqlite_database import ENGINE_FILE, INBOX_FILE
from bot.store.store_reader import StoreReader
from bot.store.store_schema import MIGRATIONS, Migration
from bot.store.store_setup import prepare
from tests.patience import PATIENCE
from tests.postgres import Postgres, new_database

EXPANDS = Migration(
    "colours",
    engine="""
    ALTER TABLE sessions ADD COLUMN colour TEXT;
    CREATE TABLE colours (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, body BLOB);
    INSERT INTO colours (name) VALUES ('red');
    """,
    inbox="""
    ALTER TABLE log ADD COLUMN colour TEXT;
    """,
)
BREAKS = Migration(
    "breaks", engine="ALTER TABLE sessions ADD COLUMN shape TEXT;\nALTER TABLE no_table ADD COLUMN a TEXT;\n"
)
CONTRACTS = Migration("no names", inbox="ALTER TABLE log DROP COLUMN name;\n", oldest=2)
Patch = Callable[..., None]


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Patch:
    """Make this the program of a version with more migrations."""
    return lambda *more: monkeypatch.setattr(store_schema, "MIGRATIONS", (*MIGRATIONS, *more))


@pytest.fixture
def address(postgres: Postgres, tmp_path: Path) -> Iterator[PostgresAddress]:
    with new_database(postgres, tmp_path) as made:
        yield made


@pytest.fixture(params=["files", "a database"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> StoreAddress:
    made: StoreAddress = tmp_path / "bot.db" if request.param == "files" else request.getfixturevalue("address")
    prepare(made)
    return made


def colours(store: StoreAddress) -> list[str]:
    with closing(engine_reader(store)) as database:
        return [name for (name,) in database.all("SELECT name FROM colours WHERE id = 1 AND body IS NULL")]


def test_a_later_version_adds_one_migration_which_a_store_of_either_kind_gets_once(
    store: StoreAddress, later: Patch
) -> None:
    with closing(EngineStore(store)) as opened:
        before = opened.store_id, signal_key(store)
    later(EXPANDS)
    with pytest.raises(StoreOutdated, match="is of an older version: start the server once"):
        engine_reader(store)
    for _ in range(2):
        prepare(store)
    assert colours(store) == ["red"]
    with closing(EngineStore(store)) as opened, closing(log_writer(store)) as log:
        assert (opened.store_id, signal_key(store)) == before
        assert log.all("SELECT colour FROM log") == []


def test_a_new_store_is_made_with_all_migrations(tmp_path: Path, address: PostgresAddress, later: Patch) -> None:
    with connect(address, "engine") as connection:
        connection.execute("DROP SCHEMA bot, engine, inbox CASCADE", prepare=False)
    later(EXPANDS)
    for store in (address, tmp_path / "bot.db"):
        prepare(store)
        assert colours(store) == ["red"]


def test_a_migration_that_ends_in_the_middle_leaves_the_version_before(store: StoreAddress, later: Patch) -> None:
    later(EXPANDS)
    prepare(store)
    later(EXPANDS, BREAKS)
    with pytest.raises((sqlite3.OperationalError, StoreUnavailable), match="no_table"):
        prepare(store)
    later(EXPANDS)
    with closing(engine_writer(store)) as database, pytest.raises((sqlite3.OperationalError, StoreUnavailable)):
        database.all("SELECT shape FROM sessions")


@pytest.mark.parametrize("file", [ENGINE_FILE, INBOX_FILE])
def test_a_new_file_is_as_its_migrations_make_it(file: str, later: Patch) -> None:
    later(EXPANDS)
    made, new = Database(memory=True), Database(sqlite_schema._empty(file, store_schema.MIGRATIONS))
    sqlite_schema.migrations(file).apply(made)
    schema = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid"
    assert [" ".join(row["sql"].split()) for row in made.query(schema)] == [
        " ".join(row["sql"].split()) for row in new.query(schema)
    ]
    noted = "SELECT id, migration_set, name FROM _sqlite_migrations"
    assert list(made.query(noted)) == list(new.query(noted))


def test_programs_of_the_version_before_go_on_while_a_newer_one_expands_the_schema(
    address: PostgresAddress, later: Patch
) -> None:
    with (
        closing(InboxWriter(address, SystemClock(), patience=PATIENCE)) as inbox,
        closing(EngineStore(address)) as engine,
    ):
        inbox.append(inbox.event(None, "before", "x", None, SystemClock().now(), b"", True))
        engine.sessions.get("1")
        later(EXPANDS)
        prepare(address)
        later()
        inbox.append(inbox.event(None, "after", "x", None, SystemClock().now(), b"", True))
        assert engine.sessions.get("1") is None
        engine.database.require()
    prepare(address)  # and when one starts again
    EngineStore(address).close()


def test_programs_that_are_too_old_for_a_contracted_schema_are_refused_and_those_that_run_notice(
    address: PostgresAddress, later: Patch
) -> None:
    with (
        closing(EngineStore(address)) as engine,
        closing(log_writer(address)) as web,
        other_engines(address, lambda: True) as others_run,
    ):
        later(EXPANDS, CONTRACTS)
        prepare(address)
        later()
        for notices in (engine.database.require, web.require, others_run):
            with pytest.raises(StoreTooNew, match="was written by a newer version of this program"):
                notices()
    for opens in (EngineStore, log_writer, prepare):
        with pytest.raises(StoreTooNew):
            opens(address)
    later(EXPANDS)  # the version that stopped to use what is gone
    EngineStore(address).close()


def test_a_migration_brings_all_shards_and_their_views_up_to_date_while_the_version_before_runs(
    postgres: Postgres, tmp_path: Path, later: Patch
) -> None:
    with new_database(postgres, tmp_path, "template0") as made, ExitStack() as before:
        store = replace(made, shards=3)
        prepare(store)
        inbox = before.enter_context(closing(InboxWriter(store, SystemClock(), patience=PATIENCE)))
        engines = [before.enter_context(closing(EngineStore(shard))) for shard in shards_of(store)]
        reader = before.enter_context(closing(StoreReader(store)))
        assert reader.sessions.summaries() == []
        later(EXPANDS)
        prepare(store)
        later()
        inbox.append(inbox.event(None, "after", "x", None, SystemClock().now(), b"", True))
        assert reader.sessions.summaries() == [] and [engine.sessions.get("1") for engine in engines] == [None] * 3
        later(EXPANDS)
        with closing(engine_reader(store)) as whole:
            assert whole.all("SELECT colour FROM sessions") == [] and len(whole.all("SELECT name FROM colours")) == 3
        for shard, engine in zip(shards_of(store), engines, strict=True):
            engine.database.write(("INSERT INTO colours (name) VALUES (?)", [(str(shard),)]))
        with closing(engine_reader(store)) as whole:
            ids = [id for (id,) in whole.all("SELECT id FROM colours WHERE name <> 'red'")]
        assert len({*ids, 1}) == 4, "ids go on above those of the rows that came with the table"
        later(EXPANDS, CONTRACTS)
        prepare(store)
        with closing(engine_reader(store)) as whole, pytest.raises(StoreUnavailable, match="name"):
            whole.all("SELECT name FROM inbox.log")


def test_one_machine_migrates_and_the_others_wait(address: PostgresAddress, later: Patch) -> None:
    later(EXPANDS)
    machines = [threading.Thread(target=prepare, args=(address,)) for _ in range(4)]
    for machine in machines:
        machine.start()
    for machine in machines:
        machine.join()
    assert colours(address) == ["red"]
