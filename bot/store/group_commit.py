"""The inbox's group commit: what came in while one commit was made goes into the next, and one fsync serves many."""

import sqlite3
import threading
from pathlib import Path
from time import monotonic
from typing import Any

from bot.core.errors import BotError
from bot.store.files import FileLock, close_writer, empty_wal, open_writer, transaction, trouble_of

_QUEUE = 1000
_SLOW = "the disk is too slow, or another program holds the file: see what else writes on this machine"


class InboxBusy(BotError):
    """The inbox could not commit in time. The event may yet be kept: the sender tries again, which is no harm.

    ``advice`` is for the operator.
    """

    def __init__(self, what: str, advice: str = _SLOW) -> None:
        super().__init__(what)
        self.advice = advice


class InboxRefused(BotError):
    """SQLite cannot keep this value. Other events are not concerned."""


class Write:
    """One statement that waits for the group commit, and then what came of it."""

    __slots__ = ("erases", "error", "parameters", "row", "rows_changed", "sql")

    def __init__(self, sql: str, parameters: tuple[Any, ...], erases: bool) -> None:
        self.sql = sql
        self.parameters = parameters
        self.erases = erases
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
        self.writes: list[Write] = []
        self.since = monotonic()  # of the first write
        self.done = threading.Event()
        self.error: Exception | None = None


class GroupWriter:
    """The only writer of a file: a thread that commits what any other threads want written.

    ``patience`` is how many seconds a caller waits for its commit. Raises `bot.store.files.StoreLocked` and
    `bot.store.files.StoreMissing`.
    """

    def __init__(self, path: Path, patience: float) -> None:
        self._path = path
        self._patience = patience
        self._lock = FileLock(path)
        try:
            self._connection = open_writer(path)
        except BaseException:
            self._lock.release()
            raise
        self._changed = threading.Condition()
        self._gathering = _Group()
        self._committing_since: float | None = None
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="inbox", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Commit what was accepted, refuse what comes later, and give the file back. Twice is once."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()
        close_writer(self._connection)
        self._lock.release()

    def commit(self, sql: str, parameters: tuple[Any, ...], *, erases: bool = False) -> Write:
        """Execute a statement and return when it is durable. Raises `InboxBusy` and `InboxRefused`."""
        write = Write(sql, parameters, erases)
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
            trouble = trouble_of(self._path, group.error)
            words = (str(group.error), _SLOW) if trouble is None else (trouble.what, trouble.advice)
            raise InboxBusy(*words) from group.error
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
            if any(write.erases for write in group.writes):
                empty_wal(self._connection)

    def _next_group(self) -> _Group | None:
        with self._changed:
            self._changed.wait_for(lambda: self._gathering.writes or self._closing)
            if not self._gathering.writes:
                return None
            group, self._gathering = self._gathering, _Group()
            self._committing_since = group.since
            return group
