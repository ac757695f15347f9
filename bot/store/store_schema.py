"""The schema of both files of a store, and how a file is made or brought up to date. docs/store.md explains each column."""

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from bot.core.values import time_text
from bot.store.files import (
    ENGINE_FILE,
    INBOX_FILE,
    PAGE_BYTES,
    VERSIONS,
    FileLock,
    StoreTooNew,
    close_writer,
    create,
    file_version,
    inbox_path,
    open_to_migrate,
    trouble_in_words,
)
from bot.store.integrity import StoresDiffer, check_both, check_pair, check_whole, is_empty

if TYPE_CHECKING:
    from sqlite_utils import Database, Migrations

INBOX_TABLES = """
    CREATE TABLE meta (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        store_id TEXT,
        checked_at TEXT,
        taken INTEGER NOT NULL DEFAULT 0,
        stale INTEGER NOT NULL DEFAULT 0,
        stale_at TEXT
    );
    INSERT INTO meta (id) VALUES (1);
    CREATE TABLE log (
        seq INTEGER PRIMARY KEY,
        delivery TEXT UNIQUE,
        event_id TEXT NOT NULL UNIQUE,
        name TEXT NOT NULL,
        contact TEXT,
        received_at TEXT NOT NULL,
        body BLOB NOT NULL,
        readable INTEGER NOT NULL,
        erased_at TEXT
    );
"""
ENGINE_TABLES = """
    CREATE TABLE meta (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        store_id TEXT,
        cursor INTEGER NOT NULL DEFAULT 0,
        last_event TEXT,
        written_at TEXT,
        set_back INTEGER NOT NULL DEFAULT 0,
        clean INTEGER NOT NULL DEFAULT 1,
        crashes INTEGER NOT NULL DEFAULT 0,
        taking TEXT,
        last_send INTEGER NOT NULL DEFAULT 0,
        last_call INTEGER NOT NULL DEFAULT 0,
        last_turn INTEGER NOT NULL DEFAULT 0
    );
    INSERT INTO meta (id) VALUES (1);
    CREATE TABLE suspects (
        event_id TEXT PRIMARY KEY,
        crashes INTEGER NOT NULL
    );
    CREATE TABLE sessions (
        contact TEXT PRIMARY KEY,
        flow TEXT,
        step TEXT,
        visit INTEGER NOT NULL,
        wake_at TEXT,
        last_inbound TEXT,
        conversation TEXT,
        opted_out INTEGER NOT NULL DEFAULT 0,
        handed_over_at TEXT,
        updated_at TEXT NOT NULL,
        state TEXT NOT NULL
    );
    CREATE INDEX sessions_by_wake_at ON sessions (wake_at) WHERE wake_at IS NOT NULL;
    CREATE INDEX sessions_by_conversation ON sessions (conversation) WHERE conversation IS NOT NULL;
    CREATE INDEX sessions_handed_over ON sessions (handed_over_at) WHERE handed_over_at IS NOT NULL;
    CREATE TABLE parked (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        contact TEXT NOT NULL,
        event TEXT NOT NULL,
        parked_at TEXT NOT NULL
    );
    CREATE INDEX parked_by_contact ON parked (contact, id);
    CREATE TABLE messages (
        id INTEGER PRIMARY KEY,
        ref TEXT NOT NULL,
        key TEXT NOT NULL,
        contact TEXT NOT NULL,
        effect TEXT NOT NULL,
        priority INTEGER NOT NULL DEFAULT 0,
        channel TEXT,
        created_at TEXT NOT NULL,
        attempts INTEGER NOT NULL,
        due_at TEXT,
        expires_at TEXT,
        unclear INTEGER NOT NULL DEFAULT 0,
        claimed_at TEXT,
        outcome TEXT,
        at TEXT,
        message_ids TEXT,
        detail TEXT NOT NULL DEFAULT ''
    );
    CREATE INDEX messages_in_outbox ON messages (id) WHERE outcome IS NULL;
    CREATE INDEX messages_replaced ON messages (contact, at) WHERE outcome = 'replaced';
    CREATE VIEW outbox AS
        SELECT id, ref, key, contact, effect, priority, channel, created_at, attempts, due_at, expires_at, unclear, claimed_at, detail
        FROM messages INDEXED BY messages_in_outbox WHERE outcome IS NULL;
    CREATE VIEW sent AS
        SELECT id, ref, key, contact, effect, priority, created_at, attempts, outcome, at, message_ids, detail
        FROM messages WHERE outcome IS NOT NULL;
    CREATE TABLE message_ids (
        message_id TEXT PRIMARY KEY,
        sent_id INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE statuses (
        id INTEGER PRIMARY KEY,
        message_id TEXT NOT NULL UNIQUE,
        contact TEXT,
        status TEXT NOT NULL CHECK (status IN ('queued', 'sent', 'failed', 'delivered', 'read')),
        at TEXT NOT NULL,
        detail TEXT NOT NULL
    );
    CREATE INDEX statuses_failed ON statuses (message_id) WHERE status = 'failed';
    CREATE TRIGGER message_forgotten AFTER DELETE ON messages WHEN old.message_ids IS NOT NULL BEGIN
        DELETE FROM statuses WHERE message_id IN (SELECT value FROM json_each(old.message_ids));
        DELETE FROM message_ids WHERE message_id IN (SELECT value FROM json_each(old.message_ids));
    END;
    CREATE TABLE aliases (
        alias TEXT PRIMARY KEY,
        contact TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE calls (
        id INTEGER PRIMARY KEY,
        ref TEXT NOT NULL,
        key TEXT NOT NULL,
        contact TEXT NOT NULL,
        effect TEXT NOT NULL,
        created_at TEXT NOT NULL,
        attempts INTEGER NOT NULL,
        due_at TEXT NOT NULL,
        detail TEXT NOT NULL DEFAULT '',
        said INTEGER NOT NULL DEFAULT 0,
        claimed_at TEXT,
        crashes INTEGER NOT NULL DEFAULT 0
    );
    CREATE TABLE events_out (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        ref TEXT NOT NULL,
        key TEXT NOT NULL,
        contact TEXT NOT NULL,
        effect TEXT NOT NULL,
        created_at TEXT NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0,
        due_at TEXT,
        detail TEXT NOT NULL DEFAULT ''
    );
    CREATE INDEX events_out_due ON events_out (due_at) WHERE due_at IS NOT NULL;
    CREATE INDEX events_out_by_contact ON events_out (contact, id);
    CREATE TABLE turns (
        id INTEGER PRIMARY KEY,
        at TEXT NOT NULL,
        contact TEXT,
        event_id TEXT NOT NULL,
        event TEXT NOT NULL,
        rule TEXT NOT NULL,
        steps TEXT NOT NULL,
        effects TEXT NOT NULL,
        notes TEXT NOT NULL,
        problems TEXT NOT NULL,
        micros INTEGER NOT NULL,
        session TEXT,
        wake_at TEXT
    );
    CREATE INDEX turns_by_contact ON turns (contact);
    CREATE TABLE dead_letters (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        what TEXT NOT NULL CHECK (what IN ('event', 'send', 'turn', 'event_out')),
        contact TEXT,
        reason TEXT NOT NULL,
        body TEXT NOT NULL,
        at TEXT NOT NULL,
        send_id INTEGER
    );
    CREATE INDEX dead_letters_by_send ON dead_letters (send_id) WHERE send_id IS NOT NULL;
    CREATE TABLE broadcasts (
        name TEXT PRIMARY KEY,
        template TEXT,
        flow TEXT CHECK ((flow IS NULL) <> (template IS NULL)),
        state TEXT NOT NULL CHECK (state IN ('scheduled', 'trying', 'running', 'paused', 'stopped', 'editing', 'finished')),
        edit INTEGER NOT NULL,
        code TEXT NOT NULL,
        recent TEXT NOT NULL,
        canary INTEGER,
        at TEXT NOT NULL DEFAULT '',
        late INTEGER NOT NULL DEFAULT 0,
        resumed_at TEXT,
        begins_at TEXT,
        ended_at TEXT,
        created_at TEXT NOT NULL
    );
    CREATE INDEX broadcasts_live ON broadcasts (name) WHERE state IN ('scheduled', 'trying', 'running');
    CREATE INDEX broadcasts_running ON broadcasts (name) WHERE state = 'running';
    CREATE INDEX broadcasts_trying ON broadcasts (name) WHERE state = 'trying';
    CREATE TABLE recipients (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        broadcast TEXT NOT NULL,
        contact TEXT NOT NULL,
        body TEXT NOT NULL,
        added_at TEXT NOT NULL,
        edit INTEGER NOT NULL,
        began TEXT NOT NULL DEFAULT '',
        send_id INTEGER UNIQUE,
        outcome TEXT,
        code TEXT NOT NULL DEFAULT '',
        retries INTEGER NOT NULL DEFAULT 0,
        again TEXT,
        due_at TEXT,
        UNIQUE (broadcast, contact)
    );
    CREATE INDEX recipients_waiting ON recipients (broadcast, due_at, retries, id) WHERE send_id IS NULL AND outcome IS NULL;
    CREATE INDEX recipients_in_outbox ON recipients (id) WHERE send_id IS NOT NULL AND outcome IS NULL;
    CREATE INDEX recipients_failed ON recipients (broadcast) WHERE outcome = 'failed';
    CREATE INDEX recipients_missed ON recipients (broadcast) WHERE outcome = 'missed';
    CREATE INDEX recipients_open ON recipients (contact) WHERE outcome IS NULL;
    CREATE TABLE usage (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at TEXT NOT NULL,
        contact TEXT NOT NULL,
        flow TEXT NOT NULL,
        model TEXT NOT NULL,
        prompt_tokens INTEGER NOT NULL,
        completion_tokens INTEGER NOT NULL,
        estimated INTEGER NOT NULL
    );
    CREATE INDEX usage_by_at ON usage (at);
    CREATE INDEX usage_by_contact ON usage (contact, at);
    CREATE TABLE results (
        day TEXT NOT NULL,
        flow TEXT NOT NULL,
        step TEXT NOT NULL,
        split TEXT NOT NULL,
        way TEXT NOT NULL CHECK (way IN ('entered', 'answered', 'timed out', 'left', 'failed')),
        outcome TEXT NOT NULL,
        count INTEGER NOT NULL,
        PRIMARY KEY (day, flow, step, split, way, outcome)
    ) WITHOUT ROWID;
    CREATE TABLE erasures (
        contact TEXT PRIMARY KEY,
        upto INTEGER NOT NULL,
        asked_at TEXT NOT NULL
    ) WITHOUT ROWID;
"""
_TAKEN_BEFORE = """
    INSERT INTO log (seq, event_id, name, received_at, body, readable, erased_at)
    VALUES (?1, ?2, '', ?3, x'', 1, ?3)
"""

_TABLES = {INBOX_FILE: INBOX_TABLES, ENGINE_FILE: ENGINE_TABLES}
_MIGRATED_ONCE = """
    CREATE TABLE "_sqlite_migrations" (
        "id" INTEGER PRIMARY KEY,
        "migration_set" TEXT,
        "name" TEXT,
        "applied_at" TEXT
    );
    CREATE UNIQUE INDEX "idx__sqlite_migrations_migration_set_name" ON "_sqlite_migrations" ("migration_set", "name");
"""
"""How sqlite-utils notes that a migration was applied: a new file is made without it, because its import takes 60 ms."""


@cache
def migrations(file: str) -> "Migrations":
    """The migrations of a file. A change of the schema is one more, counted in `bot.store.files.VERSIONS`."""
    from sqlite_utils import Migrations

    schema = Migrations(file)
    schema(name="1 schema")(lambda db: _execute(db, _TABLES[file]))
    return schema


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
        with _migrated(store, ENGINE_FILE) as engine_db, _migrated(log, INBOX_FILE) as inbox_db:
            # the inbox last: after a crash in between, the inbox is still empty
            row = engine_db.execute("SELECT store_id FROM meta").fetchone()
            store_id = (row and row[0]) or uuid4().hex
            for db in (engine_db, inbox_db):
                db.execute("UPDATE meta SET store_id = ? WHERE store_id IS NULL", [store_id])
        check_pair(store)


def make_inbox(store: Path, now: datetime) -> None:
    """Make a new inbox for an engine's file whose own is lost. It continues at the engine's cursor. Raises `StoreUnavailable`."""
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
        _empty(file).backup(connection)
    name, version = file_version(connection)
    if name != file:
        raise StoresDiffer(
            f"{path} is another file than it should be, it has no tables of the {file.removeprefix('bot-')}: "
            "name another with BOT_STORE, or `bot restore BACKUP`"
        )
    if version > VERSIONS[file]:
        raise StoreTooNew(path)
    if version < VERSIONS[file]:
        from sqlite_utils import Database

        migrations(file).apply(Database(connection, execute_plugins=False))


@cache
def _empty(file: str) -> sqlite3.Connection:
    """A file of the first version without rows, in memory. Copying it is faster than making it, and `bot test` makes a store for each test."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")  # as `open_to_migrate` has it: only so can it be copied
    _execute(connection, _MIGRATED_ONCE + _TABLES[file])
    noted = [file, "1 schema", str(datetime.now(UTC))]
    connection.execute("INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES (?, ?, ?)", noted)
    return connection
