"""The files of a store: their names, their locks, and how each side opens them.

Each file has one writer. It holds the file's lock for life, writes and checkpoints. All others open the file
read-only.
"""

import fcntl
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, Protocol, TypeVar, cast

from bot.core.errors import BotError
from bot.store.database import Database, StoreAddress
from bot.store.store_schema import schema_version

ENGINE_FILE, INBOX_FILE = "bot-engine", "bot-inbox"
"""The migration sets (of sqlite-utils) of the two files. A file's own table of migrations says which file it is."""

_INBOX = ".inbox"
_BUSY_SECONDS = 5.0
_EMPTYING_MILLISECONDS = 500
WAL_BYTES_KEPT = 64 << 20
"""The size up to which a file's ``-wal`` may stay. Only a reader that keeps an old state open lets it grow further."""

PAGE_BYTES = 2048
"""The page of a new file. A commit of one event writes some ten pages, of each of which it changes a row."""
_CHECKPOINT_PAGES = 2000

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
_DAMAGE = re.compile("Could not decode to UTF-8|no such column|.* has no column ")  # errors without a code of their own


class StoreLocked(BotError):
    """Another process writes this store."""


class StoreMissing(BotError):
    """There is no store at this path."""


class StoreExists(BotError):
    """There is something already where a new store is to be made."""


class StoreOutdated(BotError):
    """An older version wrote the store, and it has not been brought up to date yet."""


class ShardsDiffer(BotError):
    """The store has another number of shards than its address says."""


class StoreTooNew(BotError):
    """A newer version of this program wrote the store."""

    def __init__(self, store: object) -> None:
        super().__init__(f"{store} was written by a newer version of this program: install that one")


class RestoreUnfinished(BotError):
    """A restore was interrupted between two of the store's files."""


class StoreUnavailable(BotError):
    """The file cannot be read or written now, for a reason outside of it, such as a full disk. It may work later.

    ``what`` is wrong, and ``advice`` says what to do; the error's text has both.
    """

    def __init__(self, what: str, advice: str) -> None:
        super().__init__(f"{what}: {advice}")
        self.what = what
        self.advice = advice


class ConnectionLost(BotError):
    """The one connection that writes is gone, and with it the right to write."""

    def __init__(self, store: object) -> None:
        super().__init__(f"the connection to {store} is lost: the engine begins anew")


class StoreDamaged(StoreUnavailable):
    """The file has other content than was written to it. Only restoring a backup helps."""

    def __init__(self, store: StoreAddress, error: object) -> None:
        advice = "stop the bot, then restore the database from its backup"
        if isinstance(store, Path):
            what = "--new-inbox" if _INBOX in store.suffixes else "BACKUP --keep-inbox"
            advice = f"stop the bot, then `bot restore {what}` (docs/going-live.md, Restore)"
        super().__init__(f"{store} is damaged ({error})", advice)


def inbox_path(store: Path) -> Path:
    """The inbox's file, beside the engine's: ``bot.db`` has ``bot.inbox.db``."""
    return store.with_name(f"{store.stem}{_INBOX}{store.suffix}")


def beside(store: StoreAddress) -> Path:
    """The path beside which this machine has what is its own: locks, and the socket that a server listens at."""
    return store if isinstance(store, Path) else store.beside


def files_folder(store: Path) -> Path:
    """The folder of the files that contacts sent and flows keep: ``bot.db`` has ``bot.files``."""
    return store.with_name(f"{store.stem}.files")


def restoring_folder(store: Path) -> Path:
    """The folder of new files while a restore puts them in the store's place: ``bot.db`` has ``bot.restoring``."""
    return store.with_name(f"{store.stem.removesuffix(_INBOX)}.restoring")


class FileLock:
    """The exclusive right to write a file, held until `release` or the end of the process.

    It is a lock on a file of its own (``bot.db.lock``), because SQLite locks the database file itself. Raises
    `StoreLocked` if another process holds it.
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
        """Release the lock."""
        self._file.close()

    def fileno(self) -> int:
        """The lock's descriptor. A child process that inherits it also holds the lock, for as long as it lives."""
        return self._file.fileno()


def server_lock(store: StoreAddress) -> FileLock:
    """The lock of the one process of this machine that acts for a store: a server for life, a command for as long as it
    works. Raises `StoreLocked`.
    """
    return FileLock(beside(store).with_name(beside(store).name + ".serve"))


def children_lock(store: StoreAddress) -> FileLock:
    """The lock of the processes of a store: a server's, and each child's, which may outlive a killed server. Raises
    `StoreLocked`.
    """
    return FileLock(beside(store).with_name(beside(store).name + ".children"))


def flush(path: Path) -> None:
    """Write a file, or a folder's list of names, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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


@contextmanager
def damage_in_words(store: StoreAddress) -> Iterator[None]:
    """Raise `StoreDamaged` if a row, or a value in it, cannot be read."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if not str(error).startswith("no such table"):
            raise
        raise StoreDamaged(store, error) from error
    except (ValueError, TypeError, KeyError, ArithmeticError, RecursionError) as error:
        raise StoreDamaged(store, f"a row cannot be read: {type(error).__name__}") from error


class _HasDatabase(Protocol):
    database: Database


H = TypeVar("H", bound=_HasDatabase)
P = ParamSpec("P")
T = TypeVar("T")


def reads_rows(method: Callable[Concatenate[H, P], T]) -> Callable[Concatenate[H, P], T]:
    """A decorator for methods that make values from rows: if a row cannot be read, they raise `StoreDamaged`."""

    @wraps(method)
    def read(self: H, *args: P.args, **kwargs: P.kwargs) -> T:
        with damage_in_words(self.database.place):
            return method(self, *args, **kwargs)

    return cast(Callable[Concatenate[H, P], T], read)
