"""Opens a store, whichever it is: two files of SQLite, or a database of PostgreSQL."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from bot.core.engine_requests import A, EngineRequest
from bot.core.errors import BotError
from bot.store.database import AnswerOthers, Budget, Database, Part, PostgresAddress, StoreAddress, role_name
from bot.store.files import StoreMissing, StoreUnavailable, inbox_path
from bot.store.sqlite_database import SqliteDatabase


def engine_writer(store: StoreAddress) -> Database:
    """The connection of the one engine that writes a store. Raises `bot.store.files.StoreLocked` and
    `bot.store.files.StoreMissing`.
    """
    return SqliteDatabase.writer(store) if isinstance(store, Path) else _postgres(store, "engine", alone=True)


def engine_reader(store: StoreAddress) -> Database:
    """A connection that reads what the engine writes. Raises `bot.store.files.StoreMissing`."""
    return SqliteDatabase.reader(store) if isinstance(store, Path) else _postgres(store, "engine")


def log_writer(store: StoreAddress) -> Database:
    """A connection that writes the log: the only one to a file. Raises `bot.store.files.StoreLocked` and
    `bot.store.files.StoreMissing`.
    """
    return (
        SqliteDatabase.writer(inbox_path(store)) if isinstance(store, Path) else _postgres(store, "inbox", role="web")
    )


def log_reader(store: StoreAddress) -> Database:
    """A connection that reads the log. Raises `bot.store.files.StoreMissing`."""
    return SqliteDatabase.reader(inbox_path(store)) if isinstance(store, Path) else _postgres(store, "inbox")


def signal_key(store: StoreAddress) -> str:
    """The store's key for `bot.core.own_addresses.OwnAddresses`. Raises `bot.store.files.StoreMissing`."""
    with closing(engine_reader(store)) as database:
        return str(database.one("SELECT signal_key FROM meta")[0])


def shared_budget(store: StoreAddress) -> Budget | None:
    """The budget of requests that a shard shares with the others; None for a store that is not divided."""
    if isinstance(store, Path) or store.shards == 1:
        return None
    from bot.store.postgres_budget import PostgresBudget

    return PostgresBudget(store)


class DriverMissing(BotError):
    """The library for the database, or for the store of kept files, is not installed."""


def require_driver() -> None:
    """Raise `DriverMissing` unless PostgreSQL's driver is there."""
    if find_spec("psycopg") is None:
        raise DriverMissing(
            "the store is a database of PostgreSQL, and its driver is not installed: pip install 'bot-flows[postgres]'"
        )


def _postgres(address: PostgresAddress, part: Part, *, role: str = "reader", alone: bool = False) -> Database:
    require_driver()
    from bot.store.postgres_database import PostgresDatabase  # psycopg is there only where it was asked for

    return PostgresDatabase(address, part, role=role, alone=alone)


def is_shared(store: StoreAddress) -> bool:
    """True if several machines may serve a store. One engine writes it; the engines of the other machines wait for
    their turn.
    """
    return not isinstance(store, Path)


@contextmanager
def serves_others(store: StoreAddress, wake: Callable[[], None], answer: AnswerOthers) -> Iterator[None]:
    """Be the engine for other machines, too: ``wake`` is called when they have new events, ``answer`` for what is asked
    there (None: the next engine answers).
    """
    if isinstance(store, Path):
        yield
        return
    from bot.store.postgres_database import NoticeListener, events_channel
    from bot.store.postgres_requests import answer_requests, requests_channel

    requests = NoticeListener(store, requests_channel(store.shard), partial(answer_requests, answer=answer))
    with closing(NoticeListener(store, events_channel(store.shard), lambda _: wake())), closing(requests):
        yield


@contextmanager
def other_engines(store: StoreAddress, able: Callable[[], bool]) -> Iterator[Callable[[], bool]]:
    """A function that returns True if the engine of another machine runs, or if nobody knows, since the database cannot
    be reached. It ends sessions that hold up others and are silent for too long, and raises
    `bot.store.files.StoreTooNew`. The caller is listed as an engine that waits while ``able()`` is true. A store in
    files has no other machine.
    """
    if isinstance(store, Path):
        yield lambda: False
        return
    from bot.store.postgres_database import engine_runs

    def run() -> bool:
        try:
            database.require()
            return bool(database.one(runs, role_name("standby" if able() else "unable", store))[0])
        except StoreUnavailable:
            return True

    runs = engine_runs(store.shard)
    with closing(_postgres(store, "engine", role="standby")) as database:
        yield run


def works_elsewhere(store: StoreAddress) -> bool:
    """True if an engine works on a store that several machines share, or on a shard. Raises
    `bot.store.files.StoreUnavailable`.
    """
    if isinstance(store, Path):
        return False
    from bot.store.postgres_database import engine_runs

    # by its lock: the session of an engine, or of a command, that has ended stays for a moment
    with suppress(StoreMissing), closing(_postgres(store, "engine")) as database:
        return bool(database.one(engine_runs(store.shard), role_name("reader", store))[0])
    return False


def ask_elsewhere(store: StoreAddress, request: EngineRequest[A]) -> A:
    """Have a request answered by the engine of another machine. Raises `bot.core.engine_answers.EngineRefused`."""
    assert not isinstance(store, Path)  # a file has no other machine
    from bot.store import postgres_requests

    return postgres_requests.ask_elsewhere(store, request)
