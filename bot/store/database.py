"""The interface of a store's databases: queries and durable commits, in the SQL that all kinds of database take."""

import re
import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field, replace
from pathlib import Path
from typing import Any, Literal, Protocol

from bot.core.engine_answers import EngineAnswer
from bot.core.engine_requests import AnyRequest
from bot.core.immutable import immutable, mutable
from bot.core.text import in_one_form

Part = Literal["engine", "inbox"]
"""The two parts of a store: what its engine writes, and the log."""

REQUEST_BYTES = 32 << 20
"""The largest request to an engine, which is the files of a bot that is published."""

Execute = Callable[..., Any]
"""Executes a statement (its SQL, then its parameters as a tuple) within a transaction, and returns a cursor."""


@immutable
class PostgresAddress:
    """Where a store in PostgreSQL is: a connection string of libpq, ``postgresql://user:password@host/database``.

    ``beside`` is a path in the bot's folder, beside which this machine has its lock and its socket. ``files`` is where
    the files are that contacts sent and flows keep, which all machines share: a folder, or ``s3://bucket/prefix``.

    ``shards`` says into how many shards the store is divided, and ``shard`` which of them this is; None: the whole
    store, in which one reads all shards at once, and writes none.
    """

    url: str = field(repr=False)
    beside: Path
    files: Path | str
    shards: int = 1
    shard: int | None = None

    def schema(self, part: Part) -> str:
        """The schema with the tables of a part, or with views of those of all shards."""
        return part if self.shard is None else f"{part}_{self.shard}"

    def divided(self) -> tuple["PostgresAddress", ...]:
        """The shards of the whole store, by number. A shard, or a store that is not divided, gives only itself."""
        if self.shards == 1 or self.shard is not None:
            return (self,)
        named = self.beside.name
        return tuple(
            replace(self, shard=number, beside=self.beside.with_name(f"{named}-{number}"))
            for number in range(self.shards)
        )

    def whole(self) -> "PostgresAddress":
        """The whole store of a shard; a store that is not divided is whole."""
        if self.shard is None:
            return self
        return replace(self, shard=None, beside=self.beside.with_name(self.beside.name.removesuffix(f"-{self.shard}")))

    @property
    def password(self) -> str | None:
        """The password in the address, as it is written there."""
        found = re.search(r"://[^:/@]*:([^@]*)@|[?&]password=([^&]*)", self.url)
        return None if found is None else found[1] or found[2]

    def __str__(self) -> str:
        """The address without the password."""
        database = re.sub(r"(://[^:/@]*):[^@]*@", r"\1@", self.url).partition("?")[0]
        return database if self.shard is None else f"{database} (shard {self.shard})"


StoreAddress = Path | PostgresAddress
"""Where a store is: the path of the engine's file of SQLite, or the address of a database of PostgreSQL. A shard of a
store has an address of its own, too, by which an engine uses it as if it were a store.
"""


def shards_of(store: StoreAddress) -> tuple[StoreAddress, ...]:
    """The shards of any store: see `PostgresAddress.divided`. Files are not divided."""
    return (store,) if isinstance(store, Path) else store.divided()


def whole_of(store: StoreAddress) -> StoreAddress:
    """The whole of any store: see `PostgresAddress.whole`."""
    return store if isinstance(store, Path) else store.whole()


def role_name(role: str, store: StoreAddress) -> str:
    """The name of a process or session with this role for a store, or for a shard: ``engine``, or ``engine.2``."""
    return role if isinstance(store, Path) or store.shard is None else f"{role}.{store.shard}"


def log_schema(store: StoreAddress) -> str:
    """The prefix of the log's tables in a statement for one of several shards."""
    return _before_names(store, "inbox")


def engine_schema(store: StoreAddress) -> str:
    """The prefix of the engine's tables in the same way."""
    return _before_names(store, "engine")


def _before_names(store: StoreAddress, part: Part) -> str:
    return "" if isinstance(store, Path) or store.shard is None else f"{store.schema(part)}."


def shard_number(contact: str | None, shards: int) -> int:
    """The number of the shard that has a contact, of so many. It never changes, and is the same for both forms of a
    number. Shard 0 has what has no contact.
    """
    return zlib.crc32(in_one_form(contact).encode("utf-8", "surrogatepass")) % shards if contact else 0


def shard_of(store: StoreAddress, contact: str | None) -> StoreAddress:
    """The shard of a whole store that has a contact."""
    shards = shards_of(store)
    return shards[shard_number(contact, len(shards))]


@immutable
class ServingMachine:
    """A machine that serves a bot. Its engine ``works``, or ``waits`` to take over; or it has none, and only accepts
    events.

    If the store is divided, the machine has an engine for each shard: ``shards`` are those on which one works,
    ``waits_for`` those for which one waits, and ``lately`` those of ``shards`` that it took only seconds ago.
    ``is_this``: this process belongs to the machine's server.
    """

    name: str
    engine: Literal["works", "waits", "none"]
    shards: tuple[int, ...] = ()
    waits_for: tuple[int, ...] = ()
    lately: tuple[int, ...] = ()
    is_this: bool = False

    @property
    def on_shards(self) -> str:
        """The shards that it works on, to follow "works": " on shards 0 and 2"; empty if the store is not divided."""
        *more, last = map(str, self.shards or ("",))
        return f" on shard{'s' if more else ''} {', '.join(more)}{' and ' if more else ''}{last}" if last else ""

    def __str__(self) -> str:
        return f"{self.name} {'accepts events' if self.engine == 'none' else self.engine}{self.on_shards}"


AnswerOthers = Callable[[AnyRequest], EngineAnswer | None]
"""Answers what an operator asks on another machine; None where that is for the next engine."""


@mutable
class PendingStatement:
    """A statement that is committed together with others, and then its result."""

    sql: str
    parameters: tuple[Any, ...]
    erases: bool = False  # what it deletes must leave no traces
    shard: int = 0  # the number of the shard whose log it is for
    # the result
    row: int | None = None  # the id of the last new row
    rows_changed: int = 0
    error: Exception | None = None  # of its own values
    group: Any = None  # of statements with which the writer commits it


@immutable
class Table:
    """A table of a store, such as ``engine.messages``. ``key`` are the columns of its primary key, ``has_ids``: it is
    one number.

    ``counts``: an id is never given again, even if it was the last and its row is deleted.
    """

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    has_ids: bool
    counts: bool


class WholeStore(Protocol):
    """One connection to both parts of a store that is used by nobody else, for `bot.store.store_copy`. The tables are
    views of all shards.

    Every method raises `bot.store.files.StoreUnavailable`; `ask` raises `ValueError` for values that the database
    cannot keep.
    """

    def schemas(self, part: Part) -> Sequence[str]:
        """The schemas with the tables of a part: one for each shard."""

    def ask(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Execute a statement. Returns the rows that it finds."""

    def last_ids(self, table: Table) -> Sequence[int]:
        """The last id that was given in a table, as far as the database notes that beside its rows; else 0. A log has
        one for each shard.
        """

    def go_on_after(self, table: Table, id: int) -> None:
        """Give ids above this one in a table."""


class Database(Protocol):
    """One connection to a database of a store, for any threads. ``place`` is where it is: a file, or an address.

    Every method raises `bot.store.files.StoreUnavailable` if the database cannot be used now, and has then changed
    nothing. The bodies here are for a database that no other machine uses.
    """

    place: StoreAddress

    def one(self, sql: str, *parameters: Any) -> Any:
        """The first row of a query; None if there is none."""

    def all(self, sql: str, *parameters: Any) -> list[Any]:
        """The rows of a query."""

    def records(self, sql: str, *parameters: Any) -> list[dict[str, Any]]:
        """The rows of a query, each by the names of its columns."""

    def version(self) -> int:
        """A number that changes with each commit of the engine."""

    def write(self, *statements: tuple[str, Sequence[Any]]) -> None:
        """Execute statements, each with all of its rows, in one durable commit."""

    def write_each(self, writes: Sequence[PendingStatement]) -> None:
        """Execute statements in one durable commit. A statement with invalid values gets an ``error``."""

    def transaction(self) -> AbstractContextManager[Execute]:
        """Write everything that the block executes in one durable commit, or nothing."""

    def require(self) -> None:
        """Raise a `bot.core.errors.BotError` if another may write now in the place of this connection, or a newer
        program has changed the tables so that this one cannot go on.
        """
        return

    def held_up(self, seconds: float) -> tuple[str, str] | None:
        """The session with a lock for which this connection has waited so long, and advice; None if there is none. It
        may be asked while a call waits.
        """
        return None

    def grows(self) -> tuple[str, str] | None:
        """The file that grows because somebody reads for long, and advice; None if none does."""
        return None

    def wake(self, shards: Collection[int]) -> None:
        """Wake the engines of shards, on any machine: there are new events in their logs
        (`bot.store.opening.serves_others`).
        """
        return

    def machines(self) -> list[ServingMachine]:
        """The machines that serve the bot; none for a file, which has only this one."""
        return []

    def wipe(self) -> None:
        """Leave no traces of deleted data, as far as that is in the bot's hands."""

    def close(self) -> None:
        """Close the connection. It may be called twice."""


class Queries:
    """The queries about one subject of a database."""

    def __init__(self, database: Database) -> None:
        self.database = database


Row = tuple[Any, ...]
Rows = Mapping[str, list[Row]]
"""Rows by the statement that writes them."""


class CommitRows(defaultdict[str, list[Row]]):
    """The rows that all parts of a commit share, by statement, in the order in which they were added. ``at`` is the
    time of the commit, as it is stored.
    """

    at: str


@mutable
class BudgetTurn:
    """A moment in which one engine alone changes the budget. ``now`` is the database's time in seconds, ``state`` what
    the engines have noted, which is kept as the block leaves it. ``recent`` returns how many seconds before now
    requests were made, one day at most, and how many; those that ``made`` names in the same way are added.
    """

    now: float
    state: dict[str, Any]
    recent: Callable[[], list[tuple[float, int]]]
    made: list[tuple[float, int]]


class Budget(Protocol):
    """The request budget that the engines of all shards share. ``name`` is this engine's name in it."""

    name: str

    def turn(self) -> AbstractContextManager[BudgetTurn]:
        """Change the budget while no other engine does. After `bot.store.files.StoreUnavailable` it may be changed, or
        not.
        """

    def close(self) -> None:
        """Close the connection. It may be called twice."""
