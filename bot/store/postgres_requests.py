"""What operators ask on one machine and the engine of another answers: by a table of a store in PostgreSQL."""

import json
import logging
import threading
from contextlib import suppress
from time import monotonic
from typing import Any

import psycopg

from bot.core.errors import BotError
from bot.store.database import Answer, PostgresAddress
from bot.store.files import StoreUnavailable
from bot.store.postgres_database import Connection, connect

ANSWERED_SECONDS = 8.0  # after which nobody waits for an answer: a command waits 10 s for that of its machine
_LOOK_SECONDS = 1.0  # between two looks, if a notice is missed
_CHANNEL = "bot_requests"
_ASK = "INSERT INTO requests (body) VALUES ($1) RETURNING id"
_FORGET = "DELETE FROM requests WHERE id = $1 RETURNING answer"
_FORGET_OLD = "DELETE FROM requests WHERE asked_at < now() - make_interval(secs => $1)"
_TAKE = "UPDATE requests SET taken = true WHERE NOT taken RETURNING id, body"
_ANSWER = "UPDATE requests SET answer = $2 WHERE id = $1"
log = logging.getLogger("bot.store")


def ask_elsewhere(address: PostgresAddress, request: dict[str, Any]) -> dict[str, Any]:
    """Have a request answered by the engine that writes the store, wherever it runs; ``error`` in the answer says why not."""
    try:
        with connect(address, "engine") as connection:
            connection.execute(f"LISTEN {_CHANNEL}")
            (id,) = connection.execute(_ASK, [json.dumps(request)]).fetchone() or (0,)
            connection.execute(f"NOTIFY {_CHANNEL}")
            try:
                _wait_for(connection, id)
            finally:
                (answer,) = connection.execute(_FORGET, [id]).fetchone() or (None,)
    except (psycopg.Error, StoreUnavailable) as error:
        return {"error": str(error).strip()}
    if answer is None:
        return {"error": f"no engine answered within {ANSWERED_SECONDS:g} s: see whether one runs on some machine"}
    found: dict[str, Any] = json.loads(answer)
    return found


def _wait_for(connection: Connection, id: int) -> None:
    until = monotonic() + ANSWERED_SECONDS
    while (left := until - monotonic()) > 0:
        for notice in connection.notifies(timeout=min(left, _LOOK_SECONDS), stop_after=1):
            if notice.payload == str(id):
                return
        if connection.execute("SELECT 1 FROM requests WHERE id = $1 AND answer IS NOT NULL", [id]).fetchone():
            return


class RequestServer:
    """Answers, on a thread of its own, what is asked on other machines, one request after the other."""

    def __init__(self, address: PostgresAddress, answer: Answer) -> None:
        self._address = address
        self._answer = answer
        self._ended = threading.Event()
        threading.Thread(target=self._run, name="requests", daemon=True).start()

    def close(self) -> None:
        """Answer no more."""
        self._ended.set()

    def _run(self) -> None:
        while not self._ended.is_set():
            with suppress(psycopg.Error, StoreUnavailable), connect(self._address, "engine") as connection:
                connection.execute(f"LISTEN {_CHANNEL}")
                while not self._ended.is_set():
                    self._answer_all(connection)
                    for _ in connection.notifies(timeout=_LOOK_SECONDS, stop_after=1):
                        pass
            self._ended.wait(_LOOK_SECONDS)

    def _answer_all(self, connection: Connection) -> None:
        connection.execute(_FORGET_OLD, [2 * ANSWERED_SECONDS])
        for id, body in connection.execute(_TAKE).fetchall():
            try:
                answer = self._answer(json.loads(body))
            except BotError as error:
                answer = {"error": str(error)}
            except Exception:
                log.exception("a request of another machine failed")
                answer = {"error": "the engine could not do this: the log of its machine says why"}
            connection.execute(_ANSWER, [id, json.dumps(answer)])
            connection.execute("SELECT pg_notify($1, $2)", [_CHANNEL, str(id)])
