"""Executes statements in PostgreSQL, many in one exchange with the server."""

from collections.abc import Iterable, Sequence
from typing import Any

from psycopg import Connection, OperationalError, errors, generators
from psycopg.abc import PQGen
from psycopg.adapt import PyFormat, Transformer
from psycopg.pq import ConnStatus, ExecStatus
from psycopg.pq.abc import PGresult


class PreparedStatements:
    """The statements of one connection. The server prepares each once; its user must not let psycopg prepare any, which
    would forget them all after an error.

    `psycopg.Connection.pipeline` sends each row by itself, and wakes the server for it: a commit of 16 events costs
    2.6 times as much CPU here, and a fifth more there.
    """

    def __init__(self, connection: Connection[Any]) -> None:
        self._connection = connection
        self._adapted = Transformer(connection)
        self._names: dict[tuple[str, tuple[int, ...]], bytes] = {}  # by the statement and the types of its parameters

    def execute(self, statements: Iterable[tuple[str, Sequence[Any]]]) -> list[PGresult]:
        """Execute statements with their parameters, as one transaction. Returns the result of each.

        Raises what `psycopg.Cursor.execute` would, and has then changed nothing, unless the connection is lost: then
        nobody knows.
        """
        new = dict[tuple[str, tuple[int, ...]], bytes]()
        calls = []
        for sql, parameters in statements:  # all are adapted before any is sent: that may fail
            values = self._adapted.dump_sequence(parameters, [PyFormat.AUTO] * len(parameters))
            key = sql, self._adapted.types or ()
            name = self._names.get(key) or new.get(key)
            is_new = name is None
            if name is None:
                name = new[key] = b"bot_%d" % (len(self._names) + len(new))
            calls.append((is_new, name, key, values, self._adapted.formats))
        server = self._connection.pgconn
        try:
            server.enter_pipeline_mode()
            for is_new, name, (sql, types), values, formats in calls:
                if is_new:
                    server.send_prepare(name, sql.encode(), types)
                server.send_query_prepared(name, values or None, formats if values else None)
            server.pipeline_sync()
            results = self._connection.wait(self._results())
            server.exit_pipeline_mode()
        except BaseException:
            if server.status != ConnStatus.BAD:
                self._connection.close()  # in the middle of an exchange, nothing else can be asked
            raise
        answers, found = iter(results), []
        for is_new, name, key, *_ in calls:
            if is_new and next(answers).status == ExecStatus.COMMAND_OK:
                self._names[key] = name  # also before a statement that fails: it stays prepared
            found.append(next(answers))
        if (failed := _failed(results)) is not None:
            raise errors.error_from_result(failed)
        return found

    def rows(self, result: PGresult) -> list[Any]:
        """The rows of a result, as Python values."""
        self._adapted.set_pgresult(result)
        return self._adapted.load_rows(0, result.ntuples, tuple)

    def _results(self) -> PQGen[list[PGresult]]:
        """Send what is to be sent, and read all results of the transaction, which ends with one more."""
        server = self._connection.pgconn
        yield from generators.send(server)
        results = list[PGresult]()
        while not (results and results[-1].status == ExecStatus.PIPELINE_SYNC):
            results += yield from generators.fetch_many(server)
            if server.status == ConnStatus.BAD:
                failed = _failed(results)
                raise OperationalError("the connection is lost") if failed is None else errors.error_from_result(failed)
        return results


def _failed(results: Sequence[PGresult]) -> PGresult | None:
    """The first result that is an error."""
    return next((result for result in results if result.status == ExecStatus.FATAL_ERROR), None)
