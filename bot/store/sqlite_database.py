"""A file of a store as a `bot.store.database.Database`, and how each side opens it.

Each file has one writer. It holds the file's lock for life, writes and checkpoints. All others open the file
read-only.
"""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from bot.core.errors import BotError
from bot.core.lazy_patterns import lazy_pattern
from bot.store.database import Database, Execute, PendingStatement, StoreAddress
from bot.store.files import (
    FileLock,
    RestoreUnfinished,
    StoreDamaged,
    StoreMissing,
    StoreOutdated,
    StoreTooNew,
    StoreUnavailable,
    restoring_folder,
)
from bot.store.store_schema import schema_version

ENGINE_FILE, INBOX_FILE = "bot-engine", "bot-inbox"
"""The migration sets (of sqlite-utils) of the two files. A file's own table of migrations says which file it is."""

_BUSY_SECONDS = 5.0
_EMPTYING_MILLISECONDS = 500
WAL_BYTES_KEPT = 64 << 20
"""The size up to which a file's ``-wal`` may stay. Only a reader that keeps an old state open lets it grow further."""

PAGE_BYTES = 2048
"""The page of a new file. A commit of one event writes some ten pages, of each of which it changes a row."""
_CHECKPOINT_PAGES = 8000
"""So many pages go into the ``-wal`` before they are moved into the file, each once, however often it was written."""

_GROWN_BYTES = 4 * WAL_BYTES_KEPT
_BESIDE = ("-wal", "-shm")
_AWAY = "put the same file back; if it is gone, stop the bot and restore a backup (docs/going-live.md, Restore)"
_AWAY_BESIDE = "stop the bot and start it again: nothing is lost, and until then nothing more is written"
_READ_MARKS = range(123, 128)  # the bytes of a -shm that SQLite locks for those who read (WAL_READ_LOCK)

_IN_USE = "another program holds it: end that one"
_NO_RIGHT = "give the bot's user the right to write it and its folder"
_ADVICE = {
    sqlite3.SQLITE_BUSY: _IN_USE,
    sqlite3.SQLITE_LOCKED: _IN_USE,
    sqlite3.SQLITE_NOMEM: "this machine has no memory left: give it more, or end something else",
    sqlite3.SQLITE_READONLY: _NO_RIGHT,
    sqlite3.SQLITE_CANTOPEN: _NO_RIGHT,
    sqlite3.SQLITE_IOERR: "make room on its disk; if there is room, the disk is failing: see the system's log",
    sqlite3.SQLITE_FULL: "make room on its disk",
}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
# errors without a code of their own:
_DAMAGE = lazy_pattern("Could not decode to UTF-8|no such column|.* has no column ")
_TOGETHER = 64  # rows of one statement
ERRORS_OF_VALUES = (
    sqlite3.IntegrityError,
    sqlite3.DataError,
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
    ValueError,  # UnicodeEncodeError, too
    OverflowError,
)


class SqliteDatabase(Database):
    """One connection to the file at ``path``: see `bot.store.database.Database`."""

    def __init__(self, path: Path, connection: sqlite3.Connection, close: Callable[[], None]) -> None:
        self.place: StoreAddress = path
        self.path = path
        self.connection = connection
        self._close = close
        self._lock = threading.RLock()
        self._written: dict[Path, tuple[int, int] | None] = {}  # the writer's files, as they were when it opened them

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

        database = cls(path, connection, close)
        database._written = {file: _identity(file) for file in (path, *(_beside(path, end) for end in _BESIDE))}
        return database

    @classmethod
    def reader(cls, path: Path) -> Self:
        """A connection that only reads. Raises as `open_reader` does."""
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
        """A number that changes with each commit of the engine."""
        return int(self.one("PRAGMA data_version")[0])

    def write(self, *statements: tuple[str, Sequence[Any]]) -> None:
        """Execute statements, each with all of its rows, in one durable commit."""
        with self._lock, trouble_in_words(self.path), self._write():
            for sql, rows in statements:
                self.connection.executemany(sql, rows)

    def write_each(self, writes: Sequence[PendingStatement]) -> None:
        """Execute statements in one durable commit. A statement with invalid values gets an ``error``."""
        with self._lock, trouble_in_words(self.path), self._write():
            cursor = self.connection.cursor()
            if len(writes) == 1 or not _insert_together(cursor, writes):
                for write in writes:
                    _execute(cursor, write)

    @contextmanager
    def transaction(self) -> Iterator[Execute]:
        """Write everything that the block executes in one durable commit, or nothing."""
        with self._lock, trouble_in_words(self.path), self._write():
            yield self.connection.execute

    def grows(self) -> tuple[str, str] | None:
        """The ``-wal`` that grows behind a long reader, and advice; None if none does: see `grown_wal`."""
        return grown_wal(self.path)

    @contextmanager
    def _write(self) -> Iterator[None]:
        """Write everything in the block in one commit. Raises `StoreUnavailable` if one of the files is not at its path
        any more: what was written to it then would be lost with this process.
        """
        for file, identity in self._written.items():
            if identity is not None and _identity(file) != identity:
                if file != self.path:
                    self.connection.execute("PRAGMA wal_checkpoint(PASSIVE)")  # what it has is safe in the file itself
                raise StoreUnavailable(
                    f"{file} was deleted or replaced while the bot runs", _AWAY if file == self.path else _AWAY_BESIDE
                )
        with transaction(self.connection):
            yield

    def wipe(self) -> None:
        """Leave no traces of deleted data in the ``-wal``: see `empty_wal`."""
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
    if count > _TOGETHER or not sql.endswith(_UNLESS_KNOWN) or any(write.sql is not sql for write in writes):
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
    """The statement that inserts so many rows, from the statement that inserts one row."""
    into, _, row = insert.removesuffix(_UNLESS_KNOWN).partition("VALUES ")
    return f"{into}VALUES {', '.join([row] * count)}{_UNLESS_KNOWN}"


def _beside(path: Path, end: str) -> Path:
    return path.with_name(path.name + end)


def _identity(file: Path) -> tuple[int, int] | None:
    """The file that is at a path; None if there is none."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def grown_wal(path: Path) -> tuple[str, str] | None:
    """The ``-wal`` of a file if it grows behind a long reader, with the processes that read, and advice; else None."""
    try:
        size = _beside(path, "-wal").stat().st_size
    except OSError:
        return None
    if size <= _GROWN_BYTES:
        return None
    named = ", ".join(_named(pid) for pid in _readers(path)) or "another program"
    what = f"{path}-wal has {size >> 20:,} MB and grows, because {named} has been reading {path.name} for long"
    return what, "end that program, or its transaction: then the space is used again"


def _readers(path: Path) -> list[int]:
    """The other processes that are in the middle of reading a file, as far as the system tells."""
    try:
        inode = _beside(path, "-shm").stat().st_ino
        locks = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    except OSError:  # not on Linux
        return []
    found = {
        int(lock[4])
        for lock in locks
        if len(lock) == 8 and lock[1] == "POSIX" and lock[3] == "READ" and lock[5].endswith(f":{inode}")
        if int(lock[6]) in _READ_MARKS
    }
    return sorted(pid for pid in found if pid > 0 and pid != os.getpid())


def _named(pid: int) -> str:
    try:
        return f"the process {pid} ({Path(f'/proc/{pid}/comm').read_text().strip()})"
    except OSError:  # it has ended, or is hidden
        return f"the process {pid}"


# -- connections to a file ----------------------------------------------------------------------------


def create(path: Path) -> None:
    """Create the file, readable for its owner only. SQLite gives ``-wal`` and ``-shm`` the same mode. Raises
    `StoreUnavailable`.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        try:
            path.chmod(0o600)  # not by opening it: closing a second descriptor would release SQLite's own locks
        except PermissionError as error:
            raise StoreUnavailable(f"{path} belongs to another user", _NO_RIGHT) from error


def open_writer(path: Path) -> sqlite3.Connection:
    """The writer's connection: durable commits, explicit transactions.

    Raises `StoreMissing`, `StoreOutdated` and `StoreTooNew`.
    """
    connection = open_to_migrate(path)
    _check_version(connection, path)
    return connection


def open_to_migrate(path: Path) -> sqlite3.Connection:
    """The writer's connection to a file of any version. Raises `StoreMissing` and `StoreUnavailable`."""
    with trouble_in_words(path):
        connection = _open(path, "rw")
        connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")  # of a new file
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")  # erased data must not stay in the file's free pages
        connection.execute(f"PRAGMA journal_size_limit = {WAL_BYTES_KEPT}")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        connection.execute("PRAGMA temp_store = MEMORY")  # else each insert of several rows makes a file, elsewhere
        return connection


def open_reader(path: Path) -> sqlite3.Connection:
    """A connection that never writes or checkpoints. Keep its reads short.

    Raises `StoreMissing`, `StoreOutdated`, `StoreTooNew` and `StoreUnavailable`.
    """
    connection = open_to_copy(path)
    _check_version(connection, path)
    return connection


def open_to_copy(path: Path) -> sqlite3.Connection:
    """A connection that reads a file of any version. Raises `StoreMissing`."""
    connection = _open(path, "ro")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    return connection


def _check_version(connection: sqlite3.Connection, path: Path) -> None:
    try:
        with trouble_in_words(path):
            name, version = file_version(connection)
        if name not in (ENGINE_FILE, INBOX_FILE):
            raise StoreMissing(f"{path} is no store of this program: name another with BOT_STORE")
        if version > schema_version():
            raise StoreTooNew(path)
        if version < schema_version():
            raise StoreOutdated(f"{path} is of an older version: start the server once, it brings it up to date")
    except BotError:
        connection.close()
        raise


def file_version(connection: sqlite3.Connection) -> tuple[str, int]:
    """Which of the two files it is (`ENGINE_FILE`, `INBOX_FILE`, or ""), and how many migrations it has had."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = '_sqlite_migrations'").fetchone() is None:
        return "", 0
    names = [name for (name,) in connection.execute("SELECT migration_set FROM _sqlite_migrations")]
    return (names[0], len(names)) if names else ("", 0)


def _open(path: Path, mode: str) -> sqlite3.Connection:
    if restoring_folder(path).exists():
        raise RestoreUnfinished(
            f"a restore of {path} was cut short: `bot restore` finishes it, and so does `bot serve`"
        )
    if not path.exists():
        raise StoreMissing(f"there is no store at {path} yet: `bot serve` makes one")
    if path.is_dir():
        raise StoreMissing(f"{path} is a folder: name a file with BOT_STORE")
    return sqlite3.connect(
        f"{path.resolve().as_uri()}?mode={mode}",
        uri=True,
        isolation_level=None,
        timeout=_BUSY_SECONDS,
        check_same_thread=False,
    )


def close_writer(connection: sqlite3.Connection) -> None:
    """Close the writer's connection, and move everything into the file itself, so that a plain copy is complete (see
    `empty_wal`).
    """
    empty_wal(connection)
    connection.close()


def empty_wal(connection: sqlite3.Connection) -> None:
    """Move everything from the ``-wal`` into the file itself; deleted data is then in neither.

    A reader in the middle of a transaction, or a full disk, may prevent it for now. Nothing is lost by that.
    """
    with suppress(sqlite3.DatabaseError):
        connection.execute(f"PRAGMA busy_timeout = {_EMPTYING_MILLISECONDS}")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute(f"PRAGMA busy_timeout = {round(1000 * _BUSY_SECONDS)}")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Write everything in the block in one commit, or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite itself has rolled back after some errors
            connection.execute("ROLLBACK")
        raise


@contextmanager
def trouble_in_words(path: Path) -> Iterator[None]:
    """Raise `StoreUnavailable` for an error of the file or its disk. Other errors do not change."""
    try:
        yield
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        trouble = trouble_of(path, error)
        if trouble is None:
            raise
        raise trouble from error


def trouble_of(path: Path, error: Exception) -> StoreUnavailable | None:
    """The error of the file or its disk as `StoreUnavailable`; None for any other error."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _DAMAGED or _DAMAGE.match(str(error)) or isinstance(error, UnicodeDecodeError):
        return StoreDamaged(path, error)
    advice = _ADVICE.get(code)
    return None if advice is None else StoreUnavailable(f"{path} cannot be used now ({error})", advice)
