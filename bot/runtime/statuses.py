"""What becomes of a message after the gateway took it (spec: Message status).

A status is kept under the gateway's names of the message, so it may come before the answer to the send. It only moves
a message forward; one that says nothing new is dropped.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from bot.core.effects import Send
from bot.core.events import SendEnded, StatusReported
from bot.runtime.batch import Batch
from bot.runtime.broadcasts import take_failed
from bot.runtime.sending import REFUSED
from bot.store.rows import CAMPAIGN, REPLY, SentRow, Status

FAILED = "failed"
_CODE = re.compile(r"^[0-9A-Z_]{3,64}(?=:|$)")  # of the gateway's, before its words


def take_status(batch: Batch, event: StatusReported) -> None:
    """Keep a status that is news, and let its contact's session hear of it."""
    sent = _message(batch, event.messages)
    status = Status(event.status, event.detail)
    if not _is_news(batch, sent.message_ids if sent else event.messages, status):
        return
    contact = event.contact if sent is None else sent.contact
    for name in event.messages:
        batch.commit.set_status(name, status, contact or None)
    if sent is not None and status.name == FAILED:
        _give_up(batch, sent, status)
    if contact:
        batch.take(replace(event, contact=contact))


def give_up_if_failed(batch: Batch, message_ids: Sequence[str]) -> None:
    """The gateway has just taken a message and named it: that it failed may have been heard before."""
    known = _furthest(batch, message_ids)
    if known is not None and known.name == FAILED:
        _give_up(batch, batch.commit.messages[message_ids[0]], known)


def _message(batch: Batch, names: Iterable[str]) -> SentRow | None:
    found = (batch.commit.messages.get(name) or batch.store.sent(name) for name in names)
    return next((sent for sent in found if sent is not None), None)


def _is_news(batch: Batch, names: Iterable[str], status: Status) -> bool:
    known = _furthest(batch, names)
    return known is None or known.rank < status.rank


def _furthest(batch: Batch, names: Iterable[str]) -> Status | None:
    """How far a message has got, by all of its names."""
    found = map(batch.status, names)
    return max((status for status in found if status is not None), key=lambda status: status.rank, default=None)


def _give_up(batch: Batch, sent: SentRow, status: Status) -> None:
    """The message did not arrive: who waits for it hears of it, and unless a plain text goes in its place an operator
    can send it again.
    """
    turn, effect = None, sent.effect
    if sent.priority == REPLY and isinstance(effect, Send):
        ref = sent.ref
        ended = SendEnded(f"failed:{ref}", sent.contact, batch.now, ref, "refused", status.detail, effect.message)
        turn = batch.take(ended)
    if turn is None or not turn.in_plain_text:
        code = next(iter(_CODE.findall(status.detail)), REFUSED)
        batch.commit.message_failed(sent, status.detail, code)
        if sent.priority == CAMPAIGN:
            take_failed(batch, sent, code)
