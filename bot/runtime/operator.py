"""What an operator asks of a running engine. Each request is an event like any other, and leaves its trace."""

from dataclasses import replace
from typing import Any
from uuid import uuid4

from bot.core.effects import effect_ref
from bot.core.errors import BotError
from bot.core.events import ResetRequested
from bot.runtime.batch import Batch
from bot.store.rows import json_of

Request = dict[str, Any]
Answer = dict[str, Any]


class RequestRefused(BotError):
    """The request cannot be done as it was asked."""


def operate(batch: Batch, request: Request) -> Answer:
    """Do a request within a batch. Raises `RequestRefused`; nothing has been added then.

    ``{"do": "reset", "contact": ...}`` ends everything that a contact is in; ``{"do": "retry", "id": ...}``
    sends the message of a dead letter after all, behind all others of its contact; ``{"do": "status"}`` counts.
    """
    match request:
        case {"do": "reset", "contact": str(contact)}:
            return _reset(batch, contact, str(request.get("by", "operator")))
        case {"do": "retry", "id": int(id)}:
            return _retry(batch, id)
        case {"do": "status"}:
            return {"cursor": batch.commit.cursor, **batch.store.counts()}
    raise RequestRefused(f'the engine knows no request "{request.get("do")}" of this form')


def _reset(batch: Batch, contact: str, by: str) -> Answer:
    if not batch.session(contact).frames:
        raise RequestRefused(f"{contact} is in no conversation")
    batch.take(ResetRequested(_event_id(), contact, batch.now, by))
    return {"contact": contact}


def _retry(batch: Batch, id: int) -> Answer:
    dead = batch.store.dead_send(id)
    if dead is None or id in batch.commit.revived:
        raise RequestRefused(f"there is no dead letter {id} of a message (`bot queue` lists them)")
    event_id = _event_id()
    row = batch.send_row(effect_ref(event_id, 0), dead.effect, batch.session(dead.contact))
    if dead.outcome == "unknown":  # it may have been sent: under its old key the gateway will not send it twice
        row = replace(row, key=dead.key)
    batch.commit.revive(id, row)
    batch.commit.add_note(dead.contact, event_id, json_of({"do": "retry", "id": id}), "operator", f"message {row.id}")
    return {"id": row.id, "contact": dead.contact}


def _event_id() -> str:
    return f"operator:{uuid4().hex}"
