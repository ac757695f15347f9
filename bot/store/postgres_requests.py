"""Requests of operators on one machine to the engine of another, through a table of a store in PostgreSQL."""

import json
import logging
from time import monotonic, sleep
from uuid import uuid4

import psycopg

from bot.core.engine_answers import EngineAnswer, EngineRefused, MayBeDone
from bot.core.engine_requests import A, EngineRequest, answer_as_json, as_json, read_answer, read_request
from bot.core.errors import BotError
from bot.store.database import AnswerOthers, PostgresAddress
from bot.store.files import StoreUnavailable
from bot.store.postgres_database import Connection, connect

ANSWERED_SECONDS = 8.0  # after which nobody waits for an answer: a command waits 10 s for that of its machine
_LOOK_SECONDS = 1.0  # between two looks, if a notice is missed
_ANSWERS = "bot_answers"
_ASK = "INSERT INTO requests (id, body) VALUES ($1, $2) ON CONFLICT DO NOTHING"
_IS_ANSWERED = "SELECT 1 FROM requests WHERE id = $1 AND answer IS NOT NULL"
_FORGET = "DELETE FROM requests WHERE id = $1 RETURNING answer, tries"
_FORGET_OLD = "DELETE FROM requests WHERE asked_at < now() - make_interval(secs => $1)"
_TAKE = """
    UPDATE requests SET tries = tries + 1 WHERE answer IS NULL AND asked_at > now() - make_interval(secs => $1)
    RETURNING id, body, tries
"""
_ANSWER = "UPDATE requests SET answer = $2 WHERE id = $1 AND answer IS NULL"
log = logging.getLogger("bot.store")


def requests_channel(shard: int | None) -> str:
    """The channel on which a shard's engine hears of requests."""
    return f"bot_requests_{shard or 0}"


def ask_elsewhere(address: PostgresAddress, request: EngineRequest[A]) -> A:
    """Have a request done by the engine that writes the store, wherever it runs, or by the next one if that one ends.

    Raises `EngineRefused`, and `MayBeDone` if nobody knows whether it is done.
    """
    id, until, asked, forgotten = uuid4().hex, monotonic() + ANSWERED_SECONDS, False, False
    while True:
        try:
            with connect(address, "engine") as connection:
                asked = True
                connection.execute(f"LISTEN {_ANSWERS}")
                connection.execute(_ASK, [id, json.dumps(as_json(request))])
                connection.execute(f"NOTIFY {requests_channel(address.shard)}")
                _wait_for(connection, id, until)
                forgotten = True
                answer, tries = connection.execute(_FORGET, [id]).fetchone() or (None, 1)
                break
        except (psycopg.Error, StoreUnavailable) as error:
            if not asked:
                raise EngineRefused(str(error).strip()) from error
            if forgotten or monotonic() + _LOOK_SECONDS > until:  # asked again, what is forgotten would be done again
                raise MayBeDone(f"{str(error).strip()}: nobody knows whether this is done") from error
            sleep(_LOOK_SECONDS)
    if answer is not None:
        return read_answer(request, json.loads(answer))
    failure, done = (MayBeDone, "it may be done") if tries else (EngineRefused, "nothing is done")
    engine, there = ("engine", "") if address.shard is None else (f"engine of shard {address.shard}", " there")
    raise failure(
        f"no {engine} answered within {ANSWERED_SECONDS:g} s, {done}{there}: see whether one runs on some machine"
    )


def _wait_for(connection: Connection, id: str, until: float) -> None:
    while not connection.execute(_IS_ANSWERED, [id]).fetchone() and (left := until - monotonic()) > 0:
        for notice in connection.notifies(timeout=min(left, _LOOK_SECONDS), stop_after=1):
            if notice.payload == id:
                return


def answer_requests(connection: Connection, answer: AnswerOthers) -> None:
    """Answer requests of other machines one by one, also those that an engine left unanswered when it ended.

    ``answer`` gets the request with ``asked_as``, its name in the table, and ``again``, which is true if an engine that
    has ended had begun it. An answer is committed together with its work (`bot.store.commit.ANSWER`), so that the next
    engine does nothing twice.
    """
    connection.execute(_FORGET_OLD, [2 * ANSWERED_SECONDS])
    for id, body, tries in connection.execute(_TAKE, [ANSWERED_SECONDS]).fetchall():
        found: EngineAnswer | BotError | None
        try:
            found = answer(read_request(json.loads(body), asked_as=id, again=tries > 1))
        except BotError as error:
            found = error
        except Exception:
            log.exception("a request of another machine failed")
            found = EngineRefused("the engine could not do this: the log of its machine says why")
        if found is not None:
            connection.execute(_ANSWER, [id, json.dumps(answer_as_json(found))])
            connection.execute("SELECT pg_notify($1, $2)", [_ANSWERS, id])
