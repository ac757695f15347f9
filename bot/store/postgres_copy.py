"""Both schemas of a store in PostgreSQL as one `bot.store.database.WholeStore`, for copies in one transaction."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from time import monotonic, sleep
from typing import Any

import psycopg

from bot.store.database import Part, PostgresAddress, Table
from bot.store.files import StoreExists, StoreLocked, StoreTooNew
from bot.store.postgres_database import (
    ERRORS_OF_VALUES,
    VERSION,
    Connection,
    alone,
    connect,
    free_locks,
    in_order,
    require_tables,
    translated,
    trouble_in_words,
)
from bot.store.postgres_schema import ALONE_TO_MIGRATE, make_tables, shared_ids
from bot.store.store_schema import schema_version

_LEAVES_SECONDS = 2.0  # in which a session has ended whose program has
_MAY_BE_SILENT = "SET LOCAL idle_in_transaction_session_timeout = 0"  # while the other store is asked
_OTHERS = """
    SELECT coalesce(host(client_addr), 'this machine') FROM pg_stat_activity
    WHERE datname = current_database() AND application_name LIKE 'bot%' AND pid <> pg_backend_pid()
"""
_TAKEN = "SELECT nspname FROM pg_namespace WHERE nspname IN ('bot', 'engine', 'inbox') ORDER BY nspname"


class WholeDatabase:
    """See `bot.store.database.WholeStore`."""

    def __init__(self, address: PostgresAddress, connection: Connection) -> None:
        self._address = address
        self._connection = connection

    def schemas(self, part: Part) -> Sequence[str]:
        """The schemas with the tables of a part: one for each shard."""
        return [shard.schema(part) for shard in self._address.divided()]

    def ask(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Execute a statement. Returns the rows that it finds."""
        try:
            with trouble_in_words(self._address):
                cursor = self._connection.execute(translated(sql), parameters)
                return cursor.fetchall() if cursor.description else []
        except ERRORS_OF_VALUES as error:
            raise ValueError(str(error).partition("\n")[0]) from error

    def last_ids(self, table: Table) -> Sequence[int]:
        """The last id that was given in a table. A log has one for each shard."""
        last = "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {}"
        return [int(self.ask(last.format(sequence))[0][0]) for sequence in self._sequences(table)]

    def go_on_after(self, table: Table, id: int) -> None:
        """Give ids above this one in a table."""
        for sequence in self._sequences(table) if id else ():
            self.ask("SELECT setval(CAST(? AS regclass), ?)", [sequence, id])

    def _sequences(self, table: Table) -> list[str]:
        part, _, name = table.name.partition(".")
        schemas = self.schemas("engine" if part == "engine" else "inbox")
        if len(schemas) > 1 and part == "engine" and name != "meta":
            return [shared_ids(name)]
        return [
            str(self.ask("SELECT pg_get_serial_sequence(?, ?)", [f"{schema}.{name}", table.key[0]])[0][0])
            for schema in schemas
        ]


@contextmanager
def stopped_database(address: PostgresAddress) -> Iterator[WholeDatabase]:
    """A store that no program uses, with as many shards as it has. Raises `bot.store.files.StoreLocked`,
    `StoreMissing`, `StoreOutdated`, `StoreTooNew` and `StoreUnavailable`.
    """
    with trouble_in_words(address), connect(address, "engine") as connection, ExitStack() as at_end:
        at_end.callback(free_locks, connection)
        address = replace(address, shards=require_tables(address, connection))
        (number, *_) = connection.execute(VERSION).fetchone() or (0, 0, 1)
        if number > schema_version():
            raise StoreTooNew(str(address))
        until = monotonic() + _LEAVES_SECONDS
        while (others := connection.execute(_OTHERS).fetchall()) and monotonic() < until:
            sleep(0.05)
        taken = [connection.execute(alone(shard)).fetchone() == (True,) for shard in range(address.shards)]
        if others or not all(taken):
            where = f" ({', '.join(sorted({host for (host,) in others}))})" if others else ""
            raise StoreLocked(f"{address} is in use{where}: stop the bot on each machine first")
        with connection.transaction():
            connection.execute(_MAY_BE_SILENT)
            for shard in range(address.shards):
                connection.execute(in_order(shard))  # an event that comes after all is not acknowledged
            yield WholeDatabase(address, connection)


@contextmanager
def new_store_in_database(address: PostgresAddress) -> Iterator[WholeDatabase]:
    """A store without rows, which is there when the block has ended; or nothing is. Raises
    `bot.store.files.StoreExists` and `StoreUnavailable`.
    """
    with trouble_in_words(address), _committed(address) as connection:
        connection.execute(_MAY_BE_SILENT)
        connection.execute(ALONE_TO_MIGRATE)
        if taken := connection.execute(_TAKEN).fetchall():
            names = ", ".join(name for (name,) in taken)
            raise StoreExists(f"{address} holds a store already (schema {names}): name an empty database")
        make_tables(address, connection)
        yield WholeDatabase(address, connection)


@contextmanager
def _committed(address: PostgresAddress) -> Iterator[Connection]:
    """A connection in a transaction that makes a store. If it breaks at the commit, a new one looks for the store."""
    is_complete = False
    try:
        with connect(address, "engine") as connection, connection.transaction():
            yield connection
            is_complete = True
    except psycopg.OperationalError:
        if not is_complete:
            raise
        with connect(address, "engine") as again:
            again.execute(ALONE_TO_MIGRATE)  # until the other session has ended
            if not again.execute(_TAKEN).fetchall():
                raise
