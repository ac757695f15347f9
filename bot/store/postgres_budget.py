"""The budget of requests that the engines of all shards share: a row in PostgreSQL, and the requests of each second."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg

from bot.store.database import BudgetTurn, PostgresAddress
from bot.store.postgres_database import Connection, connect, trouble_in_words

TABLES = """
    CREATE TABLE bot.budget (state TEXT NOT NULL);
    CREATE TABLE bot.requests_made (second BIGINT PRIMARY KEY, requests BIGINT NOT NULL);
    INSERT INTO bot.budget VALUES ('{}');
"""
"""The tables that only a divided store has."""

_IN_TURN = "SELECT pg_advisory_xact_lock(7031, 5)"
"""No lock of the row: by this one it is noticed that a machine is paused which others wait for
(`bot.store.postgres_database.END_SILENT`).
"""

_STATE = "SELECT state, CAST(extract(epoch FROM clock_timestamp()) AS DOUBLE PRECISION) FROM bot.budget"
_NOTE = "UPDATE bot.budget SET state = $1"
_MADE = """
    INSERT INTO bot.requests_made AS made VALUES ($1, $2)
    ON CONFLICT (second) DO UPDATE SET requests = made.requests + excluded.requests
"""
_FORGET = "DELETE FROM bot.requests_made WHERE second < $1"
_RECENT = """
    SELECT max(second), sum(requests) FROM bot.requests_made WHERE second >= $1
    GROUP BY CASE WHEN second < $2 THEN second / 60 ELSE second END
"""
_MINUTE, _DAY = 60, 86_400
_QUICK = "SET synchronous_commit = off"
"""A crash of the database loses the permits of the last half second. Engines then begin anew, each with one request."""


class PostgresBudget:
    """See `bot.store.database.Budget`. One thread uses it; a connection that breaks is made anew by the next turn."""

    def __init__(self, address: PostgresAddress) -> None:
        self.name = "commands" if address.shard is None else str(address.shard)
        self._address = address
        self._open: Connection | None = None

    @contextmanager
    def turn(self) -> Iterator[BudgetTurn]:
        """Change the budget while no other engine does, in two exchanges with the server. Raises
        `bot.store.files.StoreUnavailable`.
        """
        with trouble_in_words(self._address):
            try:
                connection = self._connection()
                with _pipelined(connection):
                    connection.execute(_IN_TURN)
                    state, now = connection.execute(_STATE).fetchone() or ("{}", 0.0)
                    turn = BudgetTurn(now, json.loads(state), lambda: _recent(connection, now), [])
                    yield turn
                    connection.execute(_NOTE, [json.dumps(turn.state)])
                    for ago, requests in turn.made:
                        if requests:
                            connection.execute(_MADE, [int(now - ago), requests])
                            connection.execute(_FORGET, [int(now) - _DAY - _MINUTE])
            except psycopg.Error:
                self.close()
                raise

    def close(self) -> None:
        """Close the connection. It may be called twice."""
        if self._open is not None:
            with suppress(psycopg.Error):
                self._open.close()

    def _connection(self) -> Connection:
        if self._open is None or self._open.closed:
            self._open = connect(self._address, "engine", "engine")
            self._open.execute(_QUICK)
        return self._open


def _recent(connection: Connection, now: float) -> list[tuple[float, int]]:
    """When requests were made, in seconds before now, and how many: rather later than earlier."""
    rows = connection.execute(_RECENT, [int(now) - _DAY, int(now) - 2 * _MINUTE]).fetchall()
    return [(max(now - (second + 1), 0.0), requests) for second, requests in rows]


@contextmanager
def _pipelined(connection: Connection) -> Iterator[None]:
    """Execute the statements of the block in one commit, and wait for the server only at its end.
    `psycopg.Connection.transaction` waits four times.
    """
    try:
        with connection.pipeline():
            connection.execute("BEGIN")
            yield
            connection.execute("COMMIT")
    except BaseException:
        with suppress(psycopg.Error):  # a session that has ended has rolled back
            connection.rollback()
        raise
