"""A file of a store as a `bot.store.database.Database`."""

import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from bot.store.database import Execute, PendingStatement, ServingMachine, StoreAddress
from bot.store.files import FileLock, close_writer, empty_wal, open_reader, open_writer, transaction, trouble_in_words

_TOGETHER = 64  # rows of one statement
ERRORS_OF_VALUES = (
    sqlite3.IntegrityError,
    sqlite3.DataError,
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
    ValueError,  # UnicodeEncodeError, too
    OverflowError,
)


class SqliteDatabase:
    """One connection to the file at ``path``: see `bot.store.database.Database`."""

    def __init__(self, path: Path, connection: sqlite3.Connection, close: Callable[[], None]) -> None:
        self.place: StoreAddress = path
        self.path = path
        self.connection = connection
        self._close = close
        self._lock = threading.RLock()

    @classmethod
    def writer(cls, path: Path) -> Self:
        """The connection of the file's one writer. Raises `bot.store.files.StoreLocked`, and as `open_writer` does."""
        lock = FileLock(path)
        try:
            connection = open_writer(path)
        except BaseException:
            lock.release()
            raise

        def close() -> None:
            close_writer(connection)
            lock.release()

        return cls(path, connection, close)

    @classmethod
    def reader(cls, path: Path) -> Self:
        """A connection that only reads. Raises as `bot.store.files.open_reader` does."""
        connection = open_reader(path)
        return cls(path, connection, connection.close)

    def one(self, sql: str, *parameters: Any) -> Any:
        """The first row of a query; None if there is none."""
        with self._lock, trouble_in_words(self.path):
            return self.connection.execute(sql, parameters).fetchone()

    def all(self, sql: str, *parameters: Any) -> list[Any]:
        """The rows of a query."""
        with self._lock, trouble_in_words(self.path):
            return self.connection.execute(sql, parameters).fetchall()

    def records(self, sql: str, *parameters: Any) -> list[dict[str, Any]]:
        """The rows of a query, each by the names of its columns."""
        with self._lock, trouble_in_words(self.path):
            cursor = self.connection.execute(sql, parameters)
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor]

    def version(self) -> int:
        """A number that is another one after each commit of the engine's."""
        return int(self.one("PRAGMA data_version")[0])

    def write(self, *statements: tuple[str, Sequence[Any]]) -> None:
        """Execute statements, each with all of its rows, in one durable commit."""
        with self._lock, trouble_in_words(self.path), transaction(self.connection):
            for sql, rows in statements:
                self.connection.executemany(sql, rows)

    def write_each(self, writes: Sequence[PendingStatement]) -> None:
        """Execute statements in one durable commit. One with invalid values gets an ``error``; the others succeed."""
        with self._lock, trouble_in_words(self.path), transaction(self.connection):
            cursor = self.connection.cursor()
            if not _insert_together(cursor, writes):
                for write in writes:
                    _execute(cursor, write)

    @contextmanager
    def transaction(self) -> Iterator[Execute]:
        """Write everything that the block executes in one durable commit, or nothing."""
        with self._lock, trouble_in_words(self.path), transaction(self.connection):
            yield self.connection.execute

    def require(self) -> None:
        """Nothing: the lock of the file ends with this process."""

    def held_up(self, seconds: float) -> tuple[str, str] | None:
        """None: a file says nothing about who has locked it."""
        return None

    def wake(self, shards: Collection[int] = (0,)) -> None:
        """Nothing: no other machine has this file."""

    def machines(self) -> list[ServingMachine]:
        """None: no other machine has this file."""
        return []

    def wipe(self) -> None:
        """Leave no traces of deleted data in the ``-wal``: see `bot.store.files.empty_wal`."""
        empty_wal(self.connection)

    def close(self) -> None:
        """Close the connection. It may be called twice."""
        with self._lock:
            self._close()


def _execute(cursor: sqlite3.Cursor, write: PendingStatement) -> None:
    try:
        cursor.execute(write.sql, write.parameters)
    except ERRORS_OF_VALUES as error:
        write.error = error
    write.row = cursor.lastrowid
    write.rows_changed = cursor.rowcount


def _insert_together(cursor: sqlite3.Cursor, writes: Sequence[PendingStatement]) -> bool:
    """Insert new rows in one statement. Between statements a busy event loop may take the interpreter for 5 ms.

    False if there is anything else among them: then nothing is changed.
    """
    count, sql = len(writes), writes[0].sql
    if not 2 <= count <= _TOGETHER or not sql.endswith(_UNLESS_KNOWN) or any(write.sql is not sql for write in writes):
        return False
    try:
        cursor.execute(_many(sql, count), [value for write in writes for value in write.parameters])
    except ERRORS_OF_VALUES:
        return False
    if cursor.rowcount < count:  # there are duplicates, and nobody knows which they are
        cursor.execute("ROLLBACK")
        cursor.execute("BEGIN IMMEDIATE")
        return False
    assert cursor.lastrowid is not None
    for row, write in enumerate(writes, cursor.lastrowid - count + 1):
        write.row, write.rows_changed = row, 1
    return True


_UNLESS_KNOWN = " ON CONFLICT DO NOTHING"


@lru_cache
def _many(insert: str, count: int) -> str:
    """A statement that inserts one row, for several rows."""
    into, _, row = insert.removesuffix(_UNLESS_KNOWN).partition("VALUES ")
    return f"{into}VALUES {', '.join([row] * count)}{_UNLESS_KNOWN}"
