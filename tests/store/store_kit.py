"""What the tests of the store share."""

import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from bot.clock import MovableClock
from bot.store.database import Database
from bot.store.inbox import Appended, InboxWriter
from bot.store.sqlite_database import SqliteDatabase

START = datetime(2030, 5, 6, 9, 0, tzinfo=UTC)


def append(inbox: InboxWriter, event_id: str, delivery: str | None = None, body: bytes = b"{}") -> Appended:
    return inbox.append(delivery, event_id, "message.inbound", "49170", START, body, True)


class HasDatabase(Protocol):
    database: Database


def sqlite(of: HasDatabase) -> sqlite3.Connection:
    """The connection to the file of a part of a store."""
    assert isinstance(of.database, SqliteDatabase)
    return of.database.connection


def clock() -> MovableClock:
    return MovableClock(START)


def files_of(path: Path) -> list[Path]:
    return sorted(path.parent.iterdir())
