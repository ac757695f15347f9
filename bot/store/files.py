"""The files of a store: their names, their locks, and how each side opens them (DESIGN 2).

One writer a file: it holds the file's lock for life, writes and checkpoints. Everybody else opens read-only.
"""

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bot.core.errors import BotError

_BUSY_SECONDS = 5.0
_CLOSING_MILLISECONDS = 500
WAL_BYTES_KEPT = 64 << 20
"""How large a file's ``-wal`` may stay; only a reader that holds on to an old state lets it grow beyond."""

_TROUBLE = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
}


class StoreLocked(BotError):
    """Another process writes this store."""


class StoreMissing(BotError):
    """There is no store at this path."""


class StoreUnavailable(BotError):
    """The file cannot be read or written now, for a reason outside of it: a full disk, say. It may pass."""


def inbox_path(store: Path) -> Path:
    """The inbox's file, beside the engine's: ``bot.db`` has ``bot.inbox.db``."""
    return store.with_name(f"{store.stem}.inbox{store.suffix}")


class FileLock:
    """The exclusive right to write a file, held until `release` or the end of the process.

    It is a lock on a file of its own (``bot.db.lock``), because SQLite uses the locks of the database file.
    Raises `StoreLocked` when somebody else holds it.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.fdopen(os.open(f"{path.resolve()}.lock", os.O_RDWR | os.O_CREAT, 0o600))
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise StoreLocked(
                f"{path} is in use by another process: one bot runs on one store "
                "(stop the other one, or give this one a store of its own with BOT_STORE)"
            ) from None

    def release(self) -> None:
        """Give the right back."""
        self._file.close()


def create(path: Path) -> None:
    """Make the file, or make it private. SQLite gives ``-wal`` and ``-shm`` the same mode."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        path.chmod(0o600)  # never by opening it: closing a second descriptor would drop SQLite's own locks


def open_writer(path: Path) -> sqlite3.Connection:
    """The writer's connection: durable commits, explicit transactions. Raises `StoreMissing`."""
    connection = _open(path, "rw")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA journal_size_limit = {WAL_BYTES_KEPT}")
    return connection


def open_reader(path: Path) -> sqlite3.Connection:
    """A connection that never writes or checkpoints. Keep its reads short. Raises `StoreMissing`."""
    connection = _open(path, "ro")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    return connection


def _open(path: Path, mode: str) -> sqlite3.Connection:
    if not path.exists():
        raise StoreMissing(f"there is no store at {path} yet: `bot serve` makes one")
    return sqlite3.connect(
        f"{path.resolve().as_uri()}?mode={mode}",
        uri=True,
        isolation_level=None,
        timeout=_BUSY_SECONDS,
        check_same_thread=False,
    )


def close_writer(connection: sqlite3.Connection) -> None:
    """Close the writer's connection, and leave all in the file itself, so that a plain copy is whole.

    A reader that is in the middle of something, or a full disk, keeps it in the ``-wal`` beside it: nothing is lost.
    """
    with suppress(sqlite3.DatabaseError):
        connection.execute(f"PRAGMA busy_timeout = {_CLOSING_MILLISECONDS}")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of the block's writes in one commit, or none of them."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite has rolled back by itself after some errors
            connection.execute("ROLLBACK")
        raise


@contextmanager
def trouble_in_words(path: Path) -> Iterator[None]:
    """Raise `StoreUnavailable` for what is wrong around the file; an error of ours stays what it is."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _TROUBLE:
            raise
        raise StoreUnavailable(f"{path} cannot be used now: {error}") from error
