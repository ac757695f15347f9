"""Moves: the things that can happen to a conversation.

Each is a value, a line of a test, and a sentence for people.

An `InputMove` is an act of a contact, a program or the gateway, or time that passes. An `EffectResult` is the result
that a handler, a service or a model returns to the bot.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field
from datetime import timedelta
from typing import Any, TypeVar

from bot.checker.exploring.message_view import approximate_duration, quoted, short
from bot.core.immutable import immutable
from bot.language.source.wall_clock import UNITS, duration_words

T = TypeVar("T")
YamlLine = Mapping[str, Any]


@immutable
class HandlerResult:
    """A handler, or a verb of the bot's own, returns a value, or it ends with an error by its name.

    ``value`` is as a test writes it: text, numbers, lists, maps.
    """

    name: str
    value: Any = None
    fails: str | None = None

    @property
    def result(self) -> YamlLine:
        """Its result as a test writes it under `handlers`."""
        return {"returns": self.value} if self.fails is None else {"fails": self.fails}


@immutable
class HttpResult:
    """A service answers a request: a status with JSON or a text, or it fails."""

    request: str
    status: int = 200
    json: Any = None
    text: str | None = None
    fails: str | None = None


@immutable
class ModelResult:
    """The answer of a model: a text, calls of its tools, or a failure.

    ``calls`` are names of handlers, ``remember`` or ``leave``, each with its arguments. ``after`` is how long it
    thinks.
    """

    text: str = ""
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    fails: str | None = None
    after: timedelta = timedelta()


@immutable
class FileResult:
    """The file that the contact sent is kept."""


EffectResult = HandlerResult | HttpResult | ModelResult | FileResult


@immutable
class WriteMove:
    """The contact writes, or says it in a voice note that is transcribed."""

    text: str
    voice: bool = False


@immutable
class TapMove:
    """The contact taps a button, or picks a row of a list."""

    reply: str
    title: str
    picks: bool = False


@immutable
class SendMove:
    """The contact sends a file, a sticker or a place."""

    kind: str


PLACE: Mapping[str, float] = {"latitude": 38.7, "longitude": -9.1}
"""The place that is sent, in degrees."""


@immutable
class WaitMove:
    """Time passes, and nothing else happens."""

    duration: timedelta


@immutable
class EventMove:
    """The gateway reports an event, by its name."""

    event: str


@immutable
class StartMove:
    """A program starts a flow, with values for its variables."""

    flow: str
    data: Mapping[str, Any] = field(default_factory=dict)


@immutable
class SignalMove:
    """A program reports a signal, with its data."""

    name: str
    data: Mapping[str, Any] = field(default_factory=dict)


@immutable
class RefusalMove:
    """The gateway will refuse the next message."""


InputMove = WriteMove | TapMove | SendMove | WaitMove | EventMove | StartMove | SignalMove | RefusalMove
Move = InputMove | EffectResult


def once(values: Iterable[T]) -> list[T]:
    """Each value once: of values with the same representation, only the first."""
    found: dict[str, T] = {}
    for value in values:
        found.setdefault(repr(value), value)
    return list(found.values())


def move_line(move: Move) -> YamlLine:
    """The line of a test; empty for a handler's result (`HandlerResult.result` has it) and for a kept file."""
    match move:
        case WriteMove(text, voice):
            return {"user": {"voice": text} if voice else text}
        case TapMove(title=title, picks=picks):
            return {"pick" if picks else "tap": title}
        case SendMove(kind):
            return {"send": {"location": dict(PLACE)} if kind == "location" else kind}
        case WaitMove(duration):
            return {"wait": duration_words(duration, len(UNITS))}
        case EventMove(event):
            return {"event": event}
        case StartMove(flow, data):
            return {"start": {"flow": flow, "data": dict(data)} if data else flow}
        case SignalMove(name, data):
            return {"signal": {"name": name, "data": dict(data)} if data else name}
        case RefusalMove():
            return {"fault": "send_failed"}
        case HttpResult(request, fails=str(failure)):
            return {"http": {request: {"fails": failure}}}
        case HttpResult(request, status, json, text):
            content = {key: value for key, value in (("json", json), ("text", text)) if value is not None}
            return {"http": {request: {"status": status, **content} if content else status}}
        case ModelResult(fails=str(failure)):
            return {"model": {"fails": failure}}
        case ModelResult(text, calls):
            called = {"calls": [{name: dict(arguments)} for name, arguments in calls]} if calls else {}
            return {"model": {**({"says": text} if text else {}), **called}}
    return {}


_EVENT_SENTENCES = {
    "conversation.resolved": "a person gives the conversation back to the bot",
    "conversation.assigned": "a person takes the conversation over",
}


def move_sentence(move: Move) -> str:
    """A sentence for people: ``you write "hello"``."""
    match move:
        case WriteMove(text, voice):
            return f"you say in a voice note {quoted(text)}" if voice else f"you write {quoted(text)}"
        case TapMove(title=title, picks=picks):
            return f"you {'pick' if picks else 'tap'} [{title}]"
        case SendMove("location"):
            return "you send a place"
        case SendMove(kind):
            return f"you send {'an' if kind[0] in 'aeiou' else 'a'} {kind}"
        case WaitMove(duration):
            return f"you wait {approximate_duration(duration)}"
        case EventMove(event):
            return _EVENT_SENTENCES.get(event, f"the gateway reports {event}")
        case StartMove(flow):
            return f"a program starts the flow {flow}"
        case SignalMove(name):
            return f"a program reports {name}"
        case RefusalMove():
            return "the gateway will refuse the next message"
        case HandlerResult(name, fails=str(failure)) | HttpResult(name, fails=str(failure)):
            return f"{name} fails: {failure}"
        case HandlerResult(name, value):
            return f"{name} returns {short(value)}"
        case HttpResult(request, status, json, text):
            said = json if text is None else text
            return f"{request} answers {status}" + ("" if said is None else f": {short(said)}")
        case ModelResult(fails=str(failure)):
            return f"the model fails: {failure}"
        case ModelResult(text, calls):
            return f"the model says {short(text)}" if text else f"the model calls {calls[0][0]}"
        case FileResult():
            return "the file is kept"
