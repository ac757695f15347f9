"""Replies: what is put on the wire, and how it ends."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from bot.clock import Clock
from bot.emulator.completion.answers import Answer, Failure, Raw, Silence
from bot.emulator.completion.behaviour import Behaviour
from bot.emulator.completion.completion import Completion, Piece, encode

JSON = "application/json"
EVENT_STREAM = "text/event-stream"

Ending = Literal["whole", "closed", "stalled"]


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a model speaks: since some time, one piece in so many seconds of a clock."""

    clock: Clock
    seconds: float
    since: float  # by `Clock.elapsed`


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer on its way; one without a ``status`` has no head. ``length`` is its ``Content-Length``.

    After its pieces it is ``whole``, or the connection is ``closed`` or ``stalled``. ``error`` names the error.
    """

    status: int
    content_type: str = JSON
    pieces: Iterable[Piece] = ()
    length: int | None = None
    ending: Ending = "whole"
    pace: Pace | None = None
    error: str | None = None


def data(body: Any) -> Reply:
    """JSON, with 200."""
    encoded = encode(body)
    return Reply(200, JSON, [Piece(encoded)], len(encoded))


def no_answer(item: Failure | Raw | Silence, behaviour: Behaviour) -> Reply:
    """An error, any bytes, or nothing at all."""
    if isinstance(item, Silence):
        return Reply(0, ending="stalled")
    if isinstance(item, Raw):
        return Reply(item.status, item.content_type, [Piece(item.body)], len(item.body))
    body = encode(item.body(behaviour))
    return Reply(item.http, JSON, [Piece(body)], len(body), error=item.name)


def whole(answer: Answer, completion: Completion, body: Any, pace: Pace | None) -> Reply:
    """A chat's answer in one body, after the time that the model needs for it."""
    if answer.endless is not None:
        return _ended(answer, Reply(200, JSON, completion.blanks(), pace=pace))
    piece = Piece(encode(body), completion.steps)
    return _ended(answer, Reply(200, JSON, [piece], len(piece.data), pace=pace))


def streamed(answer: Answer, completion: Completion, pace: Pace | None) -> Reply:
    """A chat's answer as events."""
    return _ended(answer, Reply(200, EVENT_STREAM, completion.events(), pace=pace))


def _ended(answer: Answer, reply: Reply) -> Reply:
    """The reply as far as the answer lets it come."""
    if answer.stall_after is not None:
        return replace(reply, pieces=_first(reply.pieces, answer.stall_after), ending="stalled")
    if answer.cut_after is None:
        return reply
    pieces = _first(reply.pieces, answer.cut_after)
    if not answer.cut_cleanly:
        return replace(reply, pieces=pieces, ending="closed")
    length = None if reply.length is None else min(reply.length, answer.cut_after)
    return replace(reply, pieces=pieces, length=length)


def _first(pieces: Iterable[Piece], count: int) -> Iterator[Piece]:
    for piece in pieces:
        if len(piece.data) >= count:
            yield Piece(piece.data[:count], piece.steps)
            return
        yield piece
        count -= len(piece.data)
