"""The inbox: a log of every event that was acknowledged. The web process appends, the engine reads on."""

import sqlite3
import threading
from datetime import datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import Any

from bot.clock import Clock
from bot.core.errors import BotError
from bot.store.files import (
    FileLock,
    close_writer,
    inbox_path,
    open_reader,
    open_writer,
    transaction,
    trouble_in_words,
)
from bot.store.rows import Appended, LogRow, time_of

DUPLICATES_REMEMBERED = timedelta(days=7)
_QUEUE = 1000
_PRUNED_AT_ONCE = 500

_APPEND = """
    INSERT INTO log (delivery, event_id, name, contact, received_at, body, readable)
    VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
"""
_PRUNE = """
    DELETE FROM log WHERE seq IN (
        SELECT seq FROM (SELECT seq, received_at FROM log ORDER BY seq LIMIT ?) WHERE seq < ? AND received_at < ?
    )
"""
_CHECK = "UPDATE meta SET checked_at = ?"
_AFTER = """
    SELECT seq, event_id, name, contact, received_at, body, readable FROM log WHERE seq > ? ORDER BY seq LIMIT ?
"""
_HAS = "SELECT 1 FROM log WHERE event_id = ?"
_HAS_AFTER = "SELECT EXISTS (SELECT 1 FROM log WHERE seq > ?)"
_LAST_SEQ = "SELECT seq FROM sqlite_sequence WHERE name = 'log'"


class InboxBusy(BotError):
    """The inbox could not commit in time. The event may yet be kept: the sender tries again, which is no harm."""


class InboxRefused(BotError):
    """SQLite cannot keep this value. Other events are not concerned."""


class _Write:
    """One statement that waits for the group commit, and then what came of it."""

    __slots__ = ("error", "parameters", "row", "rows_changed", "sql")

    def __init__(self, sql: str, parameters: tuple[Any, ...]) -> None:
        self.sql = sql
        self.parameters = parameters
        self.row: int | None = None
        self.rows_changed = 0
        self.error: Exception | None = None

    def execute(self, cursor: sqlite3.Cursor) -> None:
        """Execute it, and keep to itself an error that is its own."""
        try:
            cursor.execute(self.sql, self.parameters)
        except (sqlite3.IntegrityError, sqlite3.DataError, sqlite3.InterfaceError, sqlite3.ProgrammingError) as error:
            self.error = error
        except (ValueError, OverflowError) as error:  # UnicodeEncodeError is a ValueError
            self.error = error
        self.row = cursor.lastrowid
        self.rows_changed = cursor.rowcount


class _Group:
    """The writes of one commit, and their callers' common signal."""

    def __init__(self) -> None:
        self.writes: list[_Write] = []
        self.since = monotonic()  # of the first write
        self.done = threading.Event()
        self.error: Exception | None = None


class InboxWriter:
    """The inbox's only writer: a thread that commits what came in during the commit before.

    ``path`` is the store's (``bot.db``); ``patience`` is how many seconds a caller waits for its commit.
    Raises `bot.store.files.StoreLocked` and `bot.store.files.StoreMissing`.
    """

    def __init__(self, path: Path, clock: Clock, *, patience: float = 2.0) -> None:
        self._path = inbox_path(path)
        self._clock = clock
        self._patience = patience
        self._lock = FileLock(self._path)
        try:
            self._connection = open_writer(self._path)
        except BaseException:
            self._lock.release()
            raise
        self._changed = threading.Condition()
        self._gathering = _Group()
        self._committing_since: float | None = None
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="inbox", daemon=True)
        self._thread.start()

    def append(
        self,
        delivery: str | None,
        event_id: str,
        name: str,
        contact: str | None,
        received_at: datetime,
        body: bytes,
        readable: bool,
    ) -> Appended:
        """Keep an event; when this returns, it is durable.

        Raises `InboxBusy` when it did not become durable in time (at once where waiting is hopeless), and
        `InboxRefused` when a value cannot be kept at all.
        """
        write = self._commit(_APPEND, (delivery, event_id, name, contact, time_of(received_at), body, readable))
        return Appended(write.row if write.rows_changed else None)

    def check(self) -> None:
        """Commit something, to know that it can be done. Raises `InboxBusy`."""
        self._commit(_CHECK, (time_of(self._clock.now()),))

    def prune(self, below_seq: int, older_than: timedelta = DUPLICATES_REMEMBERED) -> int:
        """Delete what the engine has read (``below_seq``: its cursor) and no duplicate can come of any more.

        It goes in small pieces, between which events are appended. Returns the number of deleted rows.
        Raises `InboxBusy`.
        """
        before = time_of(self._clock.now() - older_than)
        deleted = 0
        while True:
            piece = self._commit(_PRUNE, (_PRUNED_AT_ONCE, below_seq, before)).rows_changed
            deleted += piece
            if piece < _PRUNED_AT_ONCE:
                return deleted

    def close(self) -> None:
        """Commit what was accepted, refuse what comes later, and give the file back. Twice is once."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()
        close_writer(self._connection)
        self._lock.release()

    def _commit(self, sql: str, parameters: tuple[Any, ...]) -> _Write:
        write = _Write(sql, parameters)
        with self._changed:
            self._refuse_if_hopeless()
            group = self._gathering
            if not group.writes:
                group.since = monotonic()
            group.writes.append(write)
            self._changed.notify()
        if not group.done.wait(self._patience):
            raise InboxBusy(f"{self._path} did not commit within {self._patience:g} s")
        if group.error is not None:
            raise InboxBusy(f"{self._path} cannot be written now: {group.error}") from group.error
        if write.error is not None:
            raise InboxRefused(f"the event cannot be kept: {type(write.error).__name__}") from write.error
        return write

    def _refuse_if_hopeless(self) -> None:
        since = self._committing_since
        if self._closing:
            raise InboxBusy(f"{self._path} is being closed")
        if since is not None and monotonic() - since >= self._patience:
            raise InboxBusy(f"{self._path} has not finished a commit for {self._patience:g} s")
        if len(self._gathering.writes) >= _QUEUE:
            raise InboxBusy(f"{self._path} has {_QUEUE} events waiting for their commit")

    def _run(self) -> None:
        cursor = self._connection.cursor()
        while (group := self._next_group()) is not None:
            try:
                with transaction(self._connection):
                    for write in group.writes:
                        write.execute(cursor)
            except (sqlite3.Error, MemoryError) as error:
                group.error = error
            with self._changed:
                self._committing_since = None
            group.done.set()

    def _next_group(self) -> _Group | None:
        with self._changed:
            self._changed.wait_for(lambda: self._gathering.writes or self._closing)
            if not self._gathering.writes:
                return None
            group, self._gathering = self._gathering, _Group()
            self._committing_since = group.since
            return group


class InboxReader:
    """Reads the log of a store, from any thread, while its writer goes on or when there is none.

    Raises `bot.store.files.StoreMissing`; its methods raise `bot.store.files.StoreUnavailable`.
    """

    def __init__(self, path: Path) -> None:
        self._path = inbox_path(path)
        self._connection = open_reader(self._path)
        self._lock = threading.Lock()

    def after(self, seq: int, limit: int) -> list[LogRow]:
        """The next events after a place in the log, in order."""
        with self._lock, trouble_in_words(self._path):
            rows = self._connection.execute(_AFTER, (seq, limit)).fetchall()
        return [
            LogRow(seq, event_id, name, contact, datetime.fromisoformat(received_at), body, bool(readable))
            for seq, event_id, name, contact, received_at, body, readable in rows
        ]

    def has(self, event_id: str) -> bool:
        """Whether an event is remembered: one that comes again is a repetition."""
        with self._lock, trouble_in_words(self._path):
            return self._connection.execute(_HAS, (event_id,)).fetchone() is not None

    def has_after(self, seq: int) -> bool:
        """True when there are events after a place in the log."""
        with self._lock, trouble_in_words(self._path):
            return bool(self._connection.execute(_HAS_AFTER, (seq,)).fetchone()[0])

    def last_seq(self) -> int:
        """The last place that was given out, or skipped for a duplicate; pruning does not lower it."""
        with self._lock, trouble_in_words(self._path):
            row = self._connection.execute(_LAST_SEQ).fetchone()
        return 0 if row is None else int(row[0])

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()
