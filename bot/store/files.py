"""The files of a store: their names and their locks; and the errors of a store, whichever its database is."""

import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, Protocol, TypeVar, cast

from bot.core.errors import BotError
from bot.store.database import Database, StoreAddress

_INBOX = ".inbox"


class StoreLocked(BotError):
    """Another process writes this store."""


class StoreMissing(BotError):
    """There is no store at this path."""


class StoreExists(BotError):
    """Something is already there where a new store is to be made."""


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
    """The store cannot be used now, for a reason outside of it, such as a full disk. It may work later.

    ``what`` says what is wrong, and ``advice`` what to do; the error's text has both.
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
    """The file has other content than was written to it. Only restoring a backup helps, unless the disk could not be
    read for a moment, which SQLite reports in the same words.
    """

    def __init__(self, store: StoreAddress, error: object) -> None:
        advice = "stop the bot, then restore the database from its backup"
        if isinstance(store, Path):
            what = "--new-inbox" if _INBOX in store.suffixes else "BACKUP --keep-inbox"
            advice = (
                f"stop the bot, then `bot restore {what}` (docs/going-live.md, Restore); if this is over by itself, restore "
                "nothing: the disk is failing, see the system's log"
            )
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


@contextmanager
def damage_in_words(store: StoreAddress) -> Iterator[None]:
    """Raise `StoreDamaged` if a row, or a value in it, cannot be read."""
    try:
        yield
    except _OF_ROWS as error:
        raise _damage_of(store, error) from error


_OF_ROWS = (sqlite3.OperationalError, ValueError, TypeError, KeyError, ArithmeticError, RecursionError)


def _damage_of(store: StoreAddress, error: Exception) -> StoreDamaged:
    """The damage that an error of `_OF_ROWS` shows. Raises the error if it shows none."""
    if not isinstance(error, sqlite3.OperationalError):
        return StoreDamaged(store, f"a row cannot be read: {type(error).__name__}")
    if str(error).startswith("no such table"):
        return StoreDamaged(store, error)
    raise error


class _HasDatabase(Protocol):
    database: Database


H = TypeVar("H", bound=_HasDatabase)
P = ParamSpec("P")
T = TypeVar("T")


def reads_rows(method: Callable[Concatenate[H, P], T]) -> Callable[Concatenate[H, P], T]:
    """A decorator for methods that make values from rows: if a row cannot be read, they raise `StoreDamaged`."""

    @wraps(method)
    def read(self: H, *args: P.args, **kwargs: P.kwargs) -> T:
        try:  # without `damage_in_words`: the engine reads several times in each cycle
            return method(self, *args, **kwargs)
        except _OF_ROWS as error:
            raise _damage_of(self.database.place, error) from error

    return cast(Callable[Concatenate[H, P], T], read)
