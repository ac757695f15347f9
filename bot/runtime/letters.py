"""Dead letters, as an operator deals with them: many at once, each with its line in the trace."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from bot.core.effects import Send, effect_ref
from bot.runtime.batch import Batch, RequestRefused
from bot.runtime.broadcasts import wait_again
from bot.store.broadcasts import RUNNING, TRYING
from bot.store.queues import DeadSend
from bot.store.rows import OPERATOR, REPLY, SYNC, json_of

AT_ONCE = 500
"""How many dead letters one request names at most."""

_LAST_ID = 2**63 - 1


def retry(batch: Batch, ids: list[Any], event_id: str) -> dict[str, list[Any]]:
    """Have the messages of dead letters sent after all, behind all others of their contacts.

    More than one at a time let replies go first. Answers which are ``done``, and which are ``missing``: they are no
    dead letters of messages, or not any more; which stay since their contacts have ``opted_out``; and which broadcasts
    are stopped or paused, so that their messages are ``held`` until these are resumed. Raises `RequestRefused`.
    """
    found = {id: dead for id in _read(ids) if _is_there(batch, id) and (dead := batch.store.dead_send(id)) is not None}
    opted_out = [
        id for id, dead in found.items() if isinstance(dead.effect, Send) and batch.session(dead.contact).opted_out
    ]
    for id in opted_out:
        del found[id]
    held = set()
    for ordinal, (id, dead) in enumerate(found.items()):
        batch.commit.end_letter(id)
        ref = effect_ref(event_id, ordinal)
        broadcast = wait_again(batch, dead, ref)
        if broadcast is None:
            note = _send_again(batch, dead, ref, alone=len(ids) == 1)
        else:
            note = "it waits for its broadcast's message again"
            held |= set() if broadcast.state in (TRYING, RUNNING) else {broadcast.name}
        asked = json_of({"do": "retry", "id": id, "attempts": dead.attempts})  # which count against the limits still
        batch.commit.add_note(dead.contact, event_id, asked, OPERATOR, note)
    answer = _answer([id for id in ids if id not in opted_out], found.keys())
    return answer | {"opted_out": opted_out, "held": sorted(held)}


def drop(batch: Batch, ids: list[Any], event_id: str) -> dict[str, list[int]]:
    """Forget dead letters for good. Answers which are ``done`` and ``missing``, as `retry` does. Raises `RequestRefused`."""
    found = {
        id: letter for id in _read(ids) if _is_there(batch, id) and (letter := batch.store.dead_letter(id)) is not None
    }
    for id, (what, contact) in found.items():
        dead = batch.store.dead_send(id)
        batch.commit.end_letter(id)
        asked = json_of({"do": "drop", "id": id, "attempts": dead.attempts if dead else 0})
        batch.commit.add_note(contact, event_id, asked, OPERATOR, f"a dead letter was dropped: {what}")
    return _answer(ids, found.keys())


def _send_again(batch: Batch, dead: DeadSend, ref: str, *, alone: bool) -> str:
    """Returns in words what was done."""
    new_key = dead.outcome != "unknown"  # it may have been sent: under its old key the gateway will not send it twice
    priority = REPLY if alone and isinstance(dead.effect, Send) else SYNC
    row = batch.send_row(ref, dead.effect, batch.session(dead.contact), priority)
    batch.commit.add_send(row if new_key else replace(row, key=dead.key))
    return f"message {row.id}"


def _is_there(batch: Batch, id: int) -> bool:
    return 0 < id <= _LAST_ID and id not in batch.commit.letters_ended


def _read(ids: list[Any]) -> list[int]:
    if len(ids) > AT_ONCE or not all(type(id) is int for id in ids):
        raise RequestRefused(f"dead letters are named by a list of {AT_ONCE} numbers at most")
    return ids


def _answer(ids: list[int], done: Collection[int]) -> dict[str, list[int]]:
    return {"done": list(done), "missing": [id for id in ids if id not in done]}
