"""What the tests of the store share."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import pytest

from bot.clock import MovableClock
from bot.store.database import Database, Execute
from bot.store.files import files_folder
from bot.store.inbox import Appended, InboxWriter
from bot.store.kept_files import contact_path
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
def beside_the_store(path: Path) -> Iterator[Execute]:
    """Change what the engine writes, as another program would."""
    if postgres.IN_USE:
        with closing(SqliteDatabase.reader(path)) as database, database.transaction() as execute:
            yield execute
    else:
        with closing(sqlite3.connect(path)) as file, file:
            yield file.execute


def clock() -> MovableClock:
    return MovableClock(START)


def files_of(path: Path) -> list[Path]:
    return sorted(path.parent.iterdir())
