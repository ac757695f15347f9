"""What the tests of the store share."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import psycopg
import pytest

from bot.core.clock import MovableClock
from bot.store.database import Database, Execute, PostgresAddress, StoreAddress
from bot.store.files import files_folder, inbox_path
from bot.store.inbox import Appended, InboxWriter
from bot.store.kept_files import contact_path
from bot.store.opening import engine_reader
from bot.store.sqlite_database import SqliteDatabase
from tests import postgres

START = datetime(2030, 5, 6, 9, 0, tzinfo=UTC)


def contact_files(store: Path, contact: str) -> Path:
    """The folder of a contact's kept files."""
    return files_folder(store) / contact_path(contact)


def append(inbox: InboxWriter, event_id: str, delivery: str | None = None, body: bytes = b"{}") -> Appended:
    return inbox.append(inbox.event(delivery, event_id, "message.inbound", "49170", START, body, True))


class HasDatabase(Protocol):
    database: Database


def sqlite(of: HasDatabase) -> sqlite3.Connection:
    """The connection to the file of a part of a store. Where that is in PostgreSQL, the test is about something else."""
    if not isinstance(of.database, SqliteDatabase):
        pytest.skip("this is about a file of SQLite")
    return of.database.connection


@contextmanager
def beside_the_store(store: StoreAddress) -> Iterator[Execute]:
    """Change what the engine writes, as another program would."""
    if postgres.IN_USE:
        with closing(engine_reader(store)) as database, database.transaction() as execute:
            yield execute
            execute("UPDATE meta SET cursor = cursor")  # as each commit of the engine's, so that pages notice it
    else:
        with closing(sqlite3.connect(str(store))) as file, file:
            yield file.execute


@contextmanager
def log_locked(store: StoreAddress) -> Iterator[None]:
    """Let no commit of the log come to its end."""
    if isinstance(store, PostgresAddress):
        with psycopg.connect(store.url) as other:
            other.execute("LOCK TABLE inbox.log")
            yield
    else:
        with closing(sqlite3.connect(inbox_path(store), isolation_level=None)) as other_file:
            other_file.execute("BEGIN IMMEDIATE")
            yield


def holding(store: StoreAddress, text: str) -> list[str]:
    """The files of a store, or the tables of its database, in which a text stands."""
    if isinstance(store, Path):
        files = [file for file in store.parent.glob(f"{store.stem}.*") if file.is_file()]
        return [file.name for file in files if text.encode() in file.read_bytes()]
    with closing(engine_reader(store)) as database:
        tables = (
            "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema IN ('engine', 'inbox')"
        )
        row = "SELECT 1 FROM {}.{} AS row WHERE CAST(row AS TEXT) LIKE ?1 OR CAST(row AS TEXT) LIKE ?2"
        like = f"%{text}%", f"%{text.encode().hex()}%"
        return [name for schema, name in database.all(tables) if database.one(row.format(schema, name), *like)]


def clock() -> MovableClock:
    return MovableClock(START)


def files_of(path: Path) -> list[Path]:
    return sorted(path.parent.iterdir())
