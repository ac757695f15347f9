"""Makes both files of a store, and brings them up to date."""

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from bot.core.values import time_text
from bot.store import store_schema
from bot.store.database import Table
from bot.store.files import FileLock, StoreTooNew, inbox_path
from bot.store.integrity import StoresDiffer, check_both, check_pair, check_whole, is_empty
from bot.store.sqlite_database import (
    ENGINE_FILE,
    INBOX_FILE,
    PAGE_BYTES,
    close_writer,
    create,
    file_version,
    open_to_migrate,
    trouble_in_words,
)

if TYPE_CHECKING:
    from sqlite_utils import Database, Migrations

_TAKEN_BEFORE = """
    INSERT INTO log (seq, event_id, name, received_at, body, readable, erased_at)
    VALUES (?1, ?2, '', ?3, x'', 1, ?3)
"""

_NOTES_OF_MIGRATIONS = """
    CREATE TABLE "_sqlite_migrations" (
        "id" INTEGER PRIMARY KEY,
        "migration_set" TEXT,
        "name" TEXT,
        "applied_at" TEXT
    );
    CREATE UNIQUE INDEX "idx__sqlite_migrations_migration_set_name" ON "_sqlite_migrations" ("migration_set", "name");
"""
"""The table in which sqlite-utils notes applied migrations. New files do without its import, which takes 60 ms."""


def migrations(file: str) -> "Migrations":
    """The migrations of a file."""
    from sqlite_utils import Migrations

    found = Migrations(file)
    for name, sql in _statements(file):
        found(name=name)(lambda db, sql=sql: _execute(db, sql))
    return found


def _statements(file: str) -> Iterator[tuple[str, str]]:
    """The name of each migration, and what it executes in a file."""
    for number, each in enumerate(store_schema.MIGRATIONS, 1):
        yield f"{number} {each.about}", each.engine if file == ENGINE_FILE else each.inbox


def _execute(db: "Database | sqlite3.Connection", script: str) -> None:
    """Execute statements, each of which ends with its line. `executescript` would commit earlier statements."""
    statement = ""
    for line in script.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            db.execute(statement)
            statement = ""


def migrate(store: Path) -> None:
    """Make both files, or bring them up to date, before a process opens them to write.

    Files that are damaged or do not belong together are refused before anything is written. Raises `StoreLocked`
    while a server runs, `StoreTooNew`, `StoresDiffer`, `StoreUnavailable`.
    """
    log = inbox_path(store)
    with ExitStack() as held:
        for file in (store, log):
            held.callback(FileLock(file).release)
        check_both(store)
        are_new = is_empty(store) and is_empty(log)
        with _migrated(store, ENGINE_FILE) as engine_db, _migrated(log, INBOX_FILE) as inbox_db:
            # the inbox last: after a crash in between, the inbox is still empty
            row = engine_db.execute("SELECT store_id FROM meta").fetchone()
            store_id = (row and row[0]) or uuid4().hex
            for db in (engine_db, inbox_db):
                db.execute("UPDATE meta SET store_id = ? WHERE store_id IS NULL", [store_id])
            engine_db.execute(
                "UPDATE meta SET signal_key = ? WHERE signal_key IS NULL", [store_schema.new_signal_key()]
            )
        if not are_new:
            check_pair(store)


def make_inbox(store: Path, now: datetime) -> None:
    """Make a new inbox for an engine's file whose own is lost. It continues at the engine's cursor. Raises
    `StoreUnavailable`.
    """
    with _migrated(store, ENGINE_FILE) as engine_db, _migrated(inbox_path(store), INBOX_FILE) as inbox_db:
        ours, cursor, event = engine_db.execute("SELECT store_id, cursor, last_event FROM meta").fetchone()
        inbox_db.execute("UPDATE meta SET store_id = ?", [ours])
        if cursor:
            inbox_db.execute(_TAKEN_BEFORE, [cursor, event or "unknown", time_text(now)])


@contextmanager
def _migrated(path: Path, file: str) -> Iterator[sqlite3.Connection]:
    if not is_empty(path):
        check_whole(path)
    with trouble_in_words(path):
        create(path)
        connection = open_to_migrate(path)
        try:
            _bring_up_to_date(path, connection, file)
            yield connection
        finally:
            close_writer(connection)


def _bring_up_to_date(path: Path, connection: sqlite3.Connection, file: str) -> None:
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
        _empty(file, store_schema.MIGRATIONS).backup(connection)
    name, version = file_version(connection)
    if name != file:
        raise StoresDiffer(
            f"{path} is another file than it should be, it has no tables of the {file.removeprefix('bot-')}: "
            "name another with BOT_STORE, or `bot restore BACKUP`"
        )
    if version > store_schema.schema_version():
        raise StoreTooNew(path)
    if version < store_schema.schema_version():
        from sqlite_utils import Database

        migrations(file).apply(Database(connection, execute_plugins=False))


def tables() -> list[Table]:
    """The tables of a store."""
    found = []
    for part, file in (("inbox", INBOX_FILE), ("engine", ENGINE_FILE)):
        connection = _empty(file, store_schema.MIGRATIONS)
        ours = "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%sqlite\\_%' ESCAPE '\\'"
        for name, sql in connection.execute(ours).fetchall():
            columns = connection.execute(f"PRAGMA table_info({name})").fetchall()
            key = sorted((place, column, kind) for _, column, kind, _, _, place in columns if place)
            found.append(
                Table(
                    f"{part}.{name}",
                    tuple(column[1] for column in columns),
                    tuple(column for _, column, _ in key),
                    [kind for *_, kind in key] == ["INTEGER"],
                    "AUTOINCREMENT" in sql,
                )
            )
    return found


@cache
def _empty(file: str, _migrations: tuple[store_schema.Migration, ...]) -> sqlite3.Connection:
    """A file without rows, in memory, for the many stores of `bot test`: copying it is faster than making another."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")  # as `open_to_migrate` has it: only so can it be copied
    _execute(connection, _NOTES_OF_MIGRATIONS)
    for name, sql in _statements(file):
        _execute(connection, sql)
        noted = [file, name, str(datetime.now(UTC))]
        connection.execute("INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES (?, ?, ?)", noted)
    return connection
