"""A database of PostgreSQL as a `bot.store.database.Database`, and the translation of the store's SQL.

The store's SQL is written once, for SQLite and PostgreSQL. `translated` changes placeholders, hints for SQLite's
planner, and the few functions that have another name.
"""

import logging
import re
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import cache
from secrets import token_hex
from socket import gethostname
from time import monotonic
from typing import Any

import psycopg
from psycopg import RawCursor
from psycopg.adapt import Buffer, Loader
from psycopg.pq.abc import PGresult
from psycopg.types.numeric import Int8Dumper
from psycopg.types.string import StrDumperUnknown

from bot.core.defects import guard
from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.store.database import (
    Database,
    Execute,
    Part,
    PendingStatement,
    PostgresAddress,
    ServingMachine,
    StoreAddress,
    role_name,
)
from bot.store.files import (
    ConnectionLost,
    ShardsDiffer,
    StoreLocked,
    StoreMissing,
    StoreOutdated,
    StoreTooNew,
    StoreUnavailable,
)
from bot.store.postgres_statements import PreparedStatements
from bot.store.store_schema import schema_version

Connection = psycopg.Connection[tuple[Any, ...]]
logging.getLogger("psycopg").setLevel(logging.CRITICAL)  # it warns of errors "ignored" before it raises them

_CONNECT_SECONDS = 5
_UNANSWERED_SECONDS = 10  # after which a peer that has vanished is noticed
_OF_EACH_SESSION = {
    "idle_in_transaction_session_timeout": "10s",  # others wait for its locks
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "1",
    "tcp_keepalives_count": "5",
    "tcp_user_timeout": "10s",  # while an answer is on its way, no keepalives are sent
    **dict.fromkeys(("statement_timeout", "lock_timeout", "idle_session_timeout"), "0"),
    "default_transaction_isolation": "read committed",
    "standard_conforming_strings": "on",
}
"""Settings of each session, whatever the role has. By the settings of TCP the server, too, notices after
`_UNANSWERED_SECONDS` that a machine has vanished.
"""
_OF_THE_LOG = dict.fromkeys(("enable_seqscan", "enable_bitmapscan", "jit"), "off")
"""Settings of a session that uses the log. Without the first two, the server plans to read and sort all of a log that
is short, and goes on with that plan while the log grows: a look for new events took 12 ms behind 50,000 others. With
them, reading a table of one row counts as so expensive that the query is compiled first (``jit``), for 100 ms.
"""
_SILENT_SECONDS = 5  # after which the machine of a session with a lock is taken to be paused
# for which a shard stays where it is after it was taken: one that cannot be worked on there moves no sooner again
_LATELY_SECONDS = 5
_APPENDED = lazy_pattern(r"\s*INSERT INTO (inbox_\d+\.)?log ")
_SHARD_LOCKS = 8  # apart: each shard has locks of its own


def in_order(shard: int | None) -> str:
    """The statement that locks a shard's log before numbers are drawn for it.

    Without the lock, numbers of a sequence become visible out of order, and the engine's cursor would miss late ones.
    """
    return f"SELECT pg_advisory_xact_lock(7031, {1 + _SHARD_LOCKS * (shard or 0)})"


VERSION = "SELECT number, oldest, shards FROM bot.version"
"""The version of a store, the earliest one whose programs can use it (`bot.store.store_schema.Migration`), and how many
shards it has.
"""

_WAKE = "SELECT pg_notify($1, '')"
_CONNECTS_AGAIN_SECONDS = 1.0  # after a listener's connection is lost


def events_channel(shard: int | None) -> str:
    """The channel on which a shard's engine hears of new events."""
    return f"bot_events_{shard or 0}"


def _alone_lock(shard: int | None) -> str:
    """The lock of the one session that writes a shard."""
    return f"7031, {3 + _SHARD_LOCKS * (shard or 0)}"


def alone(shard: int | None) -> str:
    """The statement that takes this lock, if it is free."""
    return f"SELECT pg_try_advisory_lock({_alone_lock(shard)})"


def free_locks(connection: Connection) -> None:
    """Free the locks of a session that is closed next: the server ends it only a moment after its connection."""
    if not connection.closed:
        with suppress(psycopg.Error):
            connection.execute("SELECT pg_advisory_unlock_all()")


ERRORS_OF_VALUES = (
    psycopg.DataError,
    psycopg.IntegrityError,
    psycopg.errors.ProgramLimitExceeded,  # a text that is too long for an index
    UnicodeEncodeError,
)
"""All other errors are of the server or of its set-up: they end when an operator has done something."""
_ERRORS_OF_A_WRITE = (*ERRORS_OF_VALUES, psycopg.ProgrammingError)  # a value of a type that has no form there


_LOCKED = """
    FROM pg_stat_activity JOIN pg_locks USING (pid)
    WHERE datname = current_database() AND locktype = 'advisory' AND classid = 7031 AND granted
"""
_SESSION = "bot-flows"
_SERVER_NAME = token_hex(
    2
)  # drawn before a server forks: names its processes, also where another machine has the same name
_SESSIONS = f"""
    SELECT application_name, address, heard, backend_start > now() - make_interval(secs => {_LATELY_SECONDS}) FROM (
        SELECT *, bool_or(heard) OVER (PARTITION BY split_part(application_name, ' ', 3)) AS server_is_heard FROM (
            SELECT application_name, coalesce(host(client_addr), 'local') AS address, backend_start,
                CASE WHEN wait_event_type = 'Client' THEN state_change ELSE now() END
                    >= now() - make_interval(secs => {_SILENT_SECONDS}) AS heard
            FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE '{_SESSION} % %'
        ) AS sessions
    ) AS of_servers WHERE server_is_heard
"""
"""The sessions of servers that are not silent (each server asks the database something every second), each with: was it
heard itself, and did it begin only seconds ago.
"""


def engine_runs(shard: int | None) -> str:
    """The query that returns True if an engine holds a shard's lock. Its parameter is a role, which the asking session
    gets.
    """
    return rf"""
        SELECT EXISTS (SELECT 1 {_LOCKED} AND objid = {3 + _SHARD_LOCKS * (shard or 0)}),
            set_config('application_name', regexp_replace(current_setting('application_name'), ' \S+', ' ' || ?), false)
    """


END_SILENT = f"""
    SELECT pg_terminate_backend(pid) {_LOCKED} AND pid <> pg_backend_pid() AND application_name ~ '^{_SESSION} (engine|web)[. ]'
    AND wait_event_type = 'Client' AND state_change < now() - make_interval(secs => {_SILENT_SECONDS})
"""
"""End the session of a machine that is paused and holds a lock for which others wait. Its state says nothing: it is
``active`` also where half a commit has come. Engines ask this again and again (`PostgresDatabase.require`); a web
server could not take over. A copy of the store may be silent.
"""


_HOLDER = """
    WITH RECURSIVE holders (pid) AS (
        SELECT unnest(pg_blocking_pids(CAST($1 AS INTEGER))) UNION SELECT unnest(pg_blocking_pids(pid)) FROM holders
    )
    SELECT pid, application_name, usename, coalesce(host(client_addr), 'on the machine of the database'), xact_start
    FROM holders LEFT JOIN pg_stat_activity USING (pid) WHERE cardinality(pg_blocking_pids(pid)) = 0 ORDER BY xact_start LIMIT 1
"""
"""The session that holds up another one, and waits for no lock itself; 0: a prepared transaction."""


class _Text(StrDumperUnknown):
    """Writes texts. PostgreSQL has no NUL in them: it is written as in JSON."""

    def dump(self, obj: str) -> Buffer | None:
        return super().dump(obj.replace("\0", "\\u0000") if "\0" in obj else obj)


class _WholeNumber(Loader):
    """Reads sums, which PostgreSQL gives as decimals."""

    def load(self, data: Buffer) -> int:
        return int(bytes(data))


class PostgresDatabase(Database):
    """One connection to ``schema`` (``engine`` or ``inbox``) of a database: see `bot.store.database.Database`.

    A connection that breaks is made anew by the next call. Not so the one that is ``alone``, of which there is one at a
    time (else `bot.store.files.StoreLocked`): while it was away, another may have written. It raises `ConnectionLost`,
    and its process has to begin anew.

    Raises `bot.store.files.StoreMissing`, `StoreOutdated` and `StoreTooNew`; `StoreUnavailable` to a writer that a
    pooler gives no session of its own.
    """

    def __init__(
        self,
        address: PostgresAddress,
        part: Part,
        *,
        role: str = "reader",
        alone: bool = False,
    ) -> None:
        self.place: StoreAddress = address
        self._address = address
        self._part = part
        self._role = "engine" if alone else role
        self._alone = alone
        self._lock = threading.RLock()
        self._open: Connection | None = None
        self._calls_since: float | None = None
        with self._lock, self._trouble_in_words():
            connection = self._connection()
            if role == "web":
                with connect(address, part) as other:
                    if _is_pooled(connection, other):
                        connection.close()
                        raise _pooled(address)

    def one(self, sql: str, *parameters: Any) -> Any:
        """The first row of a query; None if there is none."""
        with self._lock, self._trouble_in_words():
            rows = self._asked(sql, parameters)
            return rows[0] if rows else None

    def all(self, sql: str, *parameters: Any) -> list[Any]:
        """The rows of a query."""
        with self._lock, self._trouble_in_words():
            return self._asked(sql, parameters)

    def records(self, sql: str, *parameters: Any) -> list[dict[str, Any]]:
        """The rows of a query, each by the names of its columns."""
        with self._lock, self._trouble_in_words():
            # not prepared: a column may be added meanwhile, and a prepared `SELECT *` fails then
            cursor = self._connection().execute(translated(sql), parameters)
            names = [column.name for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor]

    def version(self) -> int:
        """A number that changes with each commit of the engine."""
        metas = (
            f"SELECT CAST(CAST(xmin AS TEXT) AS BIGINT) AS at FROM {shard.schema('engine')}.meta"
            for shard in self._address.divided()
        )
        return int(self.one(f"SELECT sum(at) FROM ({' UNION ALL '.join(metas)}) AS metas")[0])

    def write(self, *statements: tuple[str, Sequence[Any]]) -> None:
        """Execute statements, each with all of its rows, in one durable commit and one exchange with the server."""
        with self._lock, self._trouble_in_words():
            self._connection()
            self._statements.execute((translated(sql), row) for sql, rows in statements for row in rows)

    def write_each(self, writes: Sequence[PendingStatement]) -> None:
        """Execute statements in one durable commit. A statement with invalid values gets an ``error``."""
        with self._lock, self._trouble_in_words():
            connection = self._connection()
            # always in the same order, which prevents deadlocks
            locks = [in_order(shard) for shard in sorted({write.shard for write in writes})]
            statements = [(translated(write.sql), write.parameters) for write in writes]
            try:
                results = self._statements.execute([*((lock, ()) for lock in locks), *statements])
                done = [*zip(writes, results[len(locks) :], strict=True)]
            except _ERRORS_OF_A_WRITE:  # of one of them, and nobody knows which
                with connection.transaction():
                    for lock in locks:
                        connection.execute(lock)
                    done = [(write, result) for write in writes if (result := _executed(connection, write))]
            for write, result in done:
                write.rows_changed = result.command_tuples or 0
                rows = self._statements.rows(result)
                write.row = rows[0][0] if rows else None

    @contextmanager
    def transaction(self) -> Iterator[Execute]:
        """Write everything that the block executes in one durable commit, or nothing."""

        def execute(sql: str, parameters: Sequence[Any] = ()) -> psycopg.Cursor[Any]:
            return connection.execute(translated(sql), parameters)

        with self._lock, self._trouble_in_words():
            connection = self._connection()
            with connection.transaction():
                yield execute

    def require(self) -> None:
        """Raise `ConnectionLost` if this is the connection that is alone, and it is gone; `StoreTooNew` if a newer
        program has brought the store to a version that this one cannot use. An engine ends sessions that hold up
        others.
        """
        with self._lock, suppress(StoreUnavailable), self._trouble_in_words():
            require_version(self._address, self._connection())
            if self._role in ("engine", "standby"):
                self._asked(END_SILENT)

    def held_up(self, seconds: float) -> tuple[str, str] | None:
        """The session with a lock for which this connection has waited so long, and advice; None if there is none."""
        since, waiting = self._calls_since, self._open
        if since is None or waiting is None or monotonic() - since < seconds:
            return None
        try:
            with connect(self._address, self._part) as other:
                found = other.execute(_HOLDER, [waiting.info.backend_pid]).fetchone()
        except (psycopg.Error, StoreUnavailable):
            return None
        return None if found is None else _holder_in_words(*found)

    def wake(self, shards: Collection[int]) -> None:
        """Wake the engines of shards, on any machine. Never within a commit: commits with notices are made in turn."""
        with self._lock, suppress(StoreUnavailable), self._trouble_in_words():
            self._connection()
            self._statements.execute((_WAKE, (events_channel(shard),)) for shard in sorted(shards))

    def machines(self) -> list[ServingMachine]:
        """The machines that serve the bot, by their sessions' names (`connect`). Machines of one name are shown with
        addresses.
        """
        servers: dict[str, tuple[str, str, list[tuple[str, str, bool]]]] = {}
        for name, address, heard, lately in self.all(_SESSIONS):
            _, role, server, machine = name.split(" ", 3)
            role, _, shard = role.partition(".")
            if role in ("engine", "web") or (role == "standby" and heard):
                servers.setdefault(server, (machine, address, []))[2].append((role, shard, lately))
        named = Counter(machine for machine, _, _ in servers.values())
        return [
            _serving(machine if named[machine] == 1 else f"{machine} ({address})", sessions, server == _SERVER_NAME)
            for machine, address, server, sessions in sorted(
                (machine, address, server, sessions) for server, (machine, address, sessions) in servers.items()
            )
        ]

    def wipe(self) -> None:
        """Do nothing: what PostgreSQL keeps of deleted rows is its operator's matter."""

    def close(self) -> None:
        """Close the connection. It may be called twice."""
        with self._lock:
            if self._open is not None:
                if self._alone:
                    free_locks(self._open)
                self._open.close()

    def _connection(self) -> Connection:
        if self._open is None or self._open.closed:
            if self._alone and self._open is not None:
                raise ConnectionLost(self._address)
            connection = connect(self._address, self._part, self._role)
            if self._alone:
                self._be_alone(connection)
            try:
                require_version(self._address, connection)
            except BaseException:
                connection.close()
                raise
            connection.prepare_threshold = None
            self._statements = PreparedStatements(connection)
            self._open = connection
        return self._open

    def _asked(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        self._connection()
        [result] = self._statements.execute([(translated(sql), parameters)])
        return self._statements.rows(result)

    def _be_alone(self, connection: Connection) -> None:
        take = alone(self._address.shard)
        if connection.execute(take).fetchone() != (True,):
            connection.close()
            raise StoreLocked(
                f"{self.place} is in use by another engine or command, and one at a time writes a store: try again in a moment"
            )
        with connect(self._address, self._part) as other:
            if other.execute(take).fetchone() == (True,):
                connection.close()
                raise _pooled(self._address)

    @contextmanager
    def _trouble_in_words(self) -> Iterator[None]:
        outer = self._calls_since
        self._calls_since = monotonic() if outer is None else outer
        try:
            with trouble_in_words(self._address):
                yield
        except StoreUnavailable as error:
            if self._open is not None and self._open.broken:
                with suppress(psycopg.Error):
                    self._open.close()
                if self._alone:
                    raise ConnectionLost(self._address) from error
            raise
        finally:
            self._calls_since = outer


def _holder_in_words(
    pid: int, name: str | None, user: str | None, host: str | None, since: datetime | None
) -> tuple[str, str]:
    if pid == 0:
        return (
            "a prepared transaction holds a lock",
            "see pg_prepared_xacts, and COMMIT PREPARED or ROLLBACK PREPARED it",
        )
    begun = "" if since is None else f", in a transaction since {since:%Y-%m-%d %H:%M:%S %z}"
    what = f"the session {pid} ({name or 'without an application_name'}, user {user}, {host}) holds a lock{begun}"
    return what, f"end that transaction, or the session: SELECT pg_terminate_backend({pid})"


def _serving(name: str, sessions: Sequence[tuple[str, str, bool]], is_this: bool) -> ServingMachine:
    """A machine by what its sessions are for: the role, the shard's number, and whether it began only lately."""
    of_role: dict[str, set[int]] = defaultdict(set)
    long: set[int] = set()
    for role, shard, lately in sessions:
        of_role[role].update([int(shard)] if shard else [])
        if role == "engine" and shard and not lately:
            long.add(int(shard))
    return ServingMachine(
        name,
        "works" if "engine" in of_role else "waits" if "standby" in of_role else "none",
        tuple(sorted(of_role["engine"])),
        tuple(sorted(of_role["standby"])),
        tuple(sorted(of_role["engine"] - long)),
        is_this,
    )


@contextmanager
def trouble_in_words(address: PostgresAddress) -> Iterator[None]:
    """Raise `bot.store.files.StoreUnavailable` for an error of the server. Errors of values do not change."""
    try:
        yield
    except ERRORS_OF_VALUES:
        raise
    except psycopg.Error as error:
        raise _unavailable(address, error) from error


_NO_POOLER = "set the pooler before it (PgBouncer, for example) to session mode, or leave it out (BOT_STORE)"
_ADVICE: dict[type[Exception], str] = {
    psycopg.errors.DuplicatePreparedStatement: _NO_POOLER,  # the statement is another session's
    psycopg.errors.InvalidSqlStatementName: _NO_POOLER,  # ... or this session has not prepared it
    psycopg.errors.DiskFull: "make room on the disk of PostgreSQL",
    psycopg.errors.InsufficientPrivilege: "give its user this right, or let it own the tables",
    psycopg.errors.ReadOnlySqlTransaction: "set default_transaction_read_only = off, or let BOT_STORE lead to the primary",
}


def _unavailable(address: PostgresAddress, error: Exception) -> StoreUnavailable:
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    advice = _ADVICE.get(
        type(error), "see whether PostgreSQL runs, takes more connections, and lets this machine in (BOT_STORE)"
    )
    return StoreUnavailable(f"{address} cannot be used now ({reason})", advice)


def connect(address: PostgresAddress, part: Part, role: str = "reader") -> Connection:
    """A connection to the tables of a part of a store, or of a shard. Its session's name says what it is for
    (``engine.2``: for the shard 2), of which server, and on which machine.

    Raises `bot.store.files.StoreUnavailable`.
    """
    with trouble_in_words(address):  # of the address, too
        connection = psycopg.connect(
            address.url,
            autocommit=True,
            cursor_factory=RawCursor,
            connect_timeout=_CONNECT_SECONDS,
            keepalives_idle=_UNANSWERED_SECONDS,
            keepalives_interval=1,
            tcp_user_timeout=1000 * _UNANSWERED_SECONDS,
            application_name=f"{_SESSION} {role_name(role, address)} {_SERVER_NAME} {gethostname()}",
            client_encoding="UTF8",
        )
        connection.prepare_threshold = 1
        connection.adapters.register_dumper(str, _Text)
        connection.adapters.register_dumper(int, Int8Dumper)
        connection.adapters.register_loader("numeric", _WholeNumber)
        settings = {"search_path": f"{address.schema(part)}, bot, pg_catalog", **_OF_EACH_SESSION}
        if part == "inbox":
            settings |= _OF_THE_LOG
        calls = ", ".join(f"set_config('{name}', '{value}', false)" for name, value in settings.items())
        connection.execute(f"SELECT {calls}")
    return connection


def require_version(address: PostgresAddress, connection: Connection) -> None:
    """Raise `bot.store.files.StoreMissing`, `StoreOutdated`, `StoreTooNew` or `ShardsDiffer` unless this program can
    use the tables.
    """
    require_shards(address, require_tables(address, connection))


def require_tables(address: PostgresAddress, connection: Connection) -> int:
    """The number of shards that a store has. Raises as `require_version`, whatever the address says of them."""
    try:
        number, oldest, shards = connection.execute(VERSION).fetchone() or (0, 0, 1)
    except psycopg.errors.UndefinedTable:
        raise StoreMissing(f"there is no store in {address} yet: `bot serve` makes one") from None
    if oldest > schema_version():
        raise StoreTooNew(str(address))
    if number < schema_version():
        raise StoreOutdated(f"{address} is of an older version: start the server once, it brings it up to date")
    return int(shards)


def require_shards(address: PostgresAddress, shards: int) -> None:
    """Raise `bot.store.files.ShardsDiffer` unless a store has as many shards as its address says."""
    if shards != address.shards:
        raise ShardsDiffer(
            f"{address.whole()} has {shards} shard{'s' if shards > 1 else ''}, and BOT_SHARDS says {address.shards}: set BOT_SHARDS={shards}, on each machine "
            f"(`bot store copy` makes a store with another number)"
        )


class NoticeListener:
    """Calls ``act``, on a thread of its own, after each notice of a channel, and whenever it may have missed one."""

    def __init__(self, address: PostgresAddress, channel: str, act: Callable[[Connection], None]) -> None:
        self._address = address
        self._channel = channel
        self._act = act
        self._ended = threading.Event()
        threading.Thread(target=guard(self._run), name=f"listener {channel}", daemon=True).start()

    def close(self) -> None:
        """Stop calling."""
        self._ended.set()

    def _run(self) -> None:
        while not self._ended.is_set():
            with suppress(psycopg.Error, StoreUnavailable), connect(self._address, "engine") as connection:
                connection.execute(f"LISTEN {self._channel}")
                self._act(connection)
                while not self._ended.is_set():
                    notices = connection.notifies(timeout=_CONNECTS_AGAIN_SECONDS, stop_after=1)
                    if [*notices]:  # to the end: until then they lock the connection
                        self._act(connection)
            self._ended.wait(_CONNECTS_AGAIN_SECONDS)


def _is_pooled(one: Connection, other: Connection) -> bool:
    """True if a pooler gives the transactions of two connections no sessions of their own."""
    pids = [each.execute("SELECT pg_backend_pid()", prepare=False).fetchone() for each in (one, other, one)]
    return len({*pids}) != 2


def _pooled(address: PostgresAddress) -> StoreUnavailable:
    what = f"{address} gives several connections one session, so none has locks, settings or statements of its own"
    return StoreUnavailable(what, _NO_POOLER)


_SERVER = """
    SELECT CAST(current_setting('server_version_num') AS BIGINT), current_setting('server_version'),
        current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit'),
        current_setting('synchronous_standby_names') = '' AND EXISTS (SELECT 1 FROM pg_stat_replication),
        current_setting('transaction_read_only') = 'on', now()
"""


@immutable
class DatabaseServer:
    """A server of PostgreSQL as `bot doctor` checks it. ``unsafe`` are the settings that are off, though without them a
    crash loses commits. ``is_pooled``: a pooler in transaction mode is in front of the server, so that each transaction
    may run in another session.
    """

    number: int
    version: str
    unsafe: tuple[str, ...]
    has_late_standby: bool
    is_read_only: bool
    is_pooled: bool
    now: datetime


def database_server(address: PostgresAddress) -> DatabaseServer:
    """The state and the settings of a server. Raises `bot.store.files.StoreUnavailable`."""
    with trouble_in_words(address), connect(address, "engine") as one, connect(address, "engine") as other:
        number, version, *settings, late, read_only, now = one.execute(_SERVER, prepare=False).fetchone() or ()
        is_pooled = _is_pooled(one, other)
    named = zip(("fsync", "full_page_writes", "synchronous_commit"), settings, strict=True)
    unsafe = tuple(name for name, value in named if value == "off")
    return DatabaseServer(number, version, unsafe, late, read_only, is_pooled, now)


def _executed(connection: Connection, write: PendingStatement) -> PGresult | None:
    try:
        with connection.transaction():
            return connection.execute(translated(write.sql), write.parameters).pgresult
    except _ERRORS_OF_A_WRITE as error:
        if isinstance(error, psycopg.ProgrammingError) and error.sqlstate is not None:
            raise  # the server's: a right or a table is missing
        write.error = error
        return None


_PLACEHOLDER = lazy_pattern(r"\?(\d*)")
_OTHERWISE = (
    (lazy_pattern(r" INDEXED BY \w+"), ""),  # a hint for SQLite's planner
    (lazy_pattern(r"\binstr\("), "strpos("),
    (lazy_pattern(r"(\w+) ->> '\$\.\"(\$\w+)\"\.(\w+)'"), r"as_json(\1) -> '\2' ->> '\3'"),
    (lazy_pattern(r"(\w+) ->> '"), r"as_json(\1) ->> '"),
    (lazy_pattern(r"CAST\(body AS TEXT\)"), "text_of(body)"),  # bytes in the log, a text elsewhere
    (lazy_pattern(r"GLOB '\*\[\^0-9]' \|\| (\S+) \|\| '\[\^0-9]\*'"), r"~ ('[^0-9]' || \1 || '[^0-9]')"),
)


@cache
def translated(sql: str) -> str:
    """SQL of the store's as PostgreSQL takes it."""
    for pattern, replacement in _OTHERWISE:
        sql = pattern.sub(replacement, sql)
    number = 0

    def placeholder(found: re.Match[str]) -> str:
        nonlocal number
        number += 1
        return f"${found[1] or number}"

    sql = _PLACEHOLDER.sub(placeholder, sql)
    return f"{sql} RETURNING seq" if _APPENDED.match(sql) else sql
