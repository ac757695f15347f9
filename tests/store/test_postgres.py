"""What the store asks in the words of PostgreSQL: every query is understood there, and both kinds of stores have the same tables."""

import importlib
import pkgutil
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

import bot.store
from bot.store.database import PostgresAddress
from bot.store.files import StoreLocked, StoreMissing, inbox_path
from bot.store.opening import DriverMissing, engine_reader, engine_writer, log_writer
from bot.store.postgres_database import connect, translated
from bot.store.postgres_schema import migrate
from bot.store.store_schema import migrate as migrate_files
from tests.postgres import Postgres, new_database, postgres_server

OF_FILES = {"fact_index", "files", "integrity", "store_backup", "store_schema"}
OF_THE_LOG = {"inbox"}
A_QUERY = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE)\b")
A_PATTERN = re.compile(r"\{\w*\}")


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def address(postgres: Postgres, tmp_path: Path) -> Iterator[PostgresAddress]:
    with new_database(postgres, tmp_path) as made:
        yield made


def queries() -> Iterator[tuple[str, str]]:
    """Each query that a module of the store has as a constant, with the name of the module."""
    for found in pkgutil.iter_modules(bot.store.__path__):
        if found.name not in OF_FILES and not found.name.startswith(("sqlite", "postgres")):
            for value in vars(importlib.import_module(f"bot.store.{found.name}")).values():
                values = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else [value]
                for sql in values:
                    if isinstance(sql, str) and A_QUERY.match(sql) and not A_PATTERN.search(sql):
                        yield found.name, sql


def test_postgresql_understands_every_query(address: PostgresAddress) -> None:
    asked = [*queries()]
    assert len(asked) > 150
    for schema in ("engine", "inbox"):
        with connect(address, schema) as connection:
            connection.prepare_threshold = None
            for module, sql in asked:
                if (module in OF_THE_LOG) == (schema == "inbox") and "pg_" not in sql:
                    connection.execute(f"PREPARE asked AS {translated(sql)}")
                    connection.execute("DEALLOCATE asked")


def test_both_kinds_of_stores_have_the_same_columns(address: PostgresAddress, tmp_path: Path) -> None:
    migrate_files(tmp_path / "bot.db")
    for schema, file in (("engine", tmp_path / "bot.db"), ("inbox", inbox_path(tmp_path / "bot.db"))):
        with closing(sqlite3.connect(file)) as connection:
            tables = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')").fetchall()
            names = [name for (name,) in tables if "sqlite" not in name]
            files = {name: [column[1] for column in connection.execute(f"PRAGMA table_info({name})")] for name in names}
        with connect(address, schema) as other:
            found = other.execute(
                "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = $1 ORDER BY ordinal_position",
                [schema],
            ).fetchall()
        assert files == {name: [column for table, column in found if table == name] for name in files}


def test_one_engine_at_a_time_writes_and_any_number_of_web_processes(address: PostgresAddress) -> None:
    with closing(engine_writer(address)), closing(log_writer(address)), closing(log_writer(address)):
        with pytest.raises(StoreLocked, match="one at a time writes a store"):
            engine_writer(address)
    engine_writer(address).close()


def test_a_database_without_tables_is_no_store_yet(postgres: Postgres, tmp_path: Path) -> None:
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE empty")
    empty = PostgresAddress(postgres.url("empty"), tmp_path / "bot", tmp_path)
    with pytest.raises(StoreMissing, match="`bot serve` makes one"):
        engine_reader(empty)
    for _ in range(2):  # the second machine finds what the first has made
        migrate(empty)
    engine_reader(empty).close()


def test_times_sort_as_they_read_and_texts_with_a_nul_are_kept(address: PostgresAddress) -> None:
    with closing(engine_writer(address)) as database:
        database.write(("INSERT INTO aliases (alias, contact) VALUES (?, ?)", [("b", "a\0b"), ("B", "2"), ("a", "3")]))
        rows = database.all("SELECT alias, contact FROM aliases ORDER BY alias")
    assert rows == [("B", "2"), ("a", "3"), ("b", "a\\u0000b")]


def test_without_its_driver_it_says_what_to_install(address: PostgresAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.store.opening.find_spec", lambda name: None)
    with pytest.raises(DriverMissing, match=r"pip install 'bot-flows\[postgres\]'"):
        engine_reader(address)
