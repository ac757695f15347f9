"""Moves: everything that can happen to a conversation. Each is a value, a line of a test, and a sentence for people.

An `InputMove` is what a contact, time, a program or the gateway does. An `EffectResult` is what a handler, a service
or a model returns to the bot.
"""

from collections.abc import Mapping
from dataclasses import field
from datetime import timedelta
from typing import Any

from bot.checker.exploring.message_view import approximate_duration, quoted, short
from bot.core.immutable import immutable
from bot.lang.wall_clock import UNITS, duration_words

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

    @property
    def sentence(self) -> str:
        """A sentence for people."""
        if self.fails is not None:
            return f"{self.name} fails: {self.fails}"
        return f"{self.name} returns {short(self.value)}"


@immutable
class HttpResult:
    """A service answers a request: a status with JSON or a text, or it fails."""

    request: str
    status: int = 200
    json: Any = None
    text: str | None = None
    fails: str | None = None

    @property
    def line(self) -> YamlLine:
        """The line of a test."""
        if self.fails is not None:
            return {"http": {self.request: {"fails": self.fails}}}
        content = {} if self.json is None else {"json": self.json}
        content |= {} if self.text is None else {"text": self.text}
        return {"http": {self.request: {"status": self.status, **content} if content else self.status}}

    @property
    def sentence(self) -> str:
        """A sentence for people."""
        if self.fails is not None:
            return f"{self.request} fails: {self.fails}"
        said = self.json if self.text is None else self.text
        return f"{self.request} answers {self.status}" + ("" if said is None else f": {short(said)}")


@immutable
class ModelResult:
    """A model says something, calls tools by their names, or fails."""

    text: str = ""
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    fails: str | None = None

    @property
    def line(self) -> YamlLine:
        """The line of a test."""
        if self.fails is not None:
            return {"model": {"fails": self.fails}}
        says = {"says": self.text} if self.text else {}
        calls = {"calls": [{name: dict(arguments)} for name, arguments in self.calls]} if self.calls else {}
        return {"model": {**says, **calls}}

    @property
    def sentence(self) -> str:
        """A sentence for people."""
        if self.fails is not None:
            return f"the model fails: {self.fails}"
        return f"the model says {short(self.text)}" if self.text else f"the model calls {self.calls[0][0]}"


@immutable
class FileResult:
    """The file that the contact sent is kept."""

    sentence: str = "the file is kept"


EffectResult = HandlerResult | HttpResult | ModelResult | FileResult


@immutable
class WriteMove:
    """The contact writes, or says it in a voice note that is transcribed."""

    text: str
    voice: bool = False

    @property
    def line(self) -> YamlLine:
        """The line of a test."""
        return {"user": {"voice": self.text} if self.voice else self.text}

    @property
    def sentence(self) -> str:
        """A sentence for people."""
        return f"you say in a voice note {quoted(self.text)}" if self.voice else f"you write {quoted(self.text)}"


@immutable
class TapMove:
    """The contact taps a button, or picks a row of a list."""

    reply: str
    title: str
    picks: bool = False

    @property
    def line(self) -> YamlLine:
        """The line of a test."""
        return {"pick" if self.picks else "tap": self.title}

    @property
    def sentence(self) -> str:
        """A sentence for people."""
        return f"you {'pick' if self.picks else 'tap'} [{self.title}]"


@immutable
class SendMove:
    """The contact sends a file, a sticker or a place."""

    kind: str

    @property
    def line(self) -> YamlLine:
        """The line of a test."""
        return {"send": {"location": dict(PLACE)} if self.kind == "location" else self.kind}

    @property
    def sentence(self) -> str:
        """A sentence for people."""
        what = "a place" if self.kind == "location" else f"{'an' if self.kind[0] in 'aeiou' else 'a'} {self.kind}"
        return f"you send {what}"


PLACE: Mapping[str, float] = {"latitude": 38.7, "longitude": -9.1}
"""The place that is sent, in degrees."""


@immutable
class WaitMove:
    """Time passes, and nothing else happens."""

    duration: timedelta

    @property
    def line(self) -> YamlLine:
        """The line of a test."""
        return {"wait": duration_words(self.duration, len(UNITS))}

    @property
    def sentence(self) -> str:
        """A sentence for people."""
        return f"you wait {approximate_duration(self.duration)}"


@immutable
class EventMove:
    """The gateway reports an event, by its name."""

    event: str

    @property
    def line(self) -> YamlLine:
        """The line of a test."""
        return {"event": self.event}

    @property
    def sentence(self) -> str:
        """A sentence for people."""
        return _EVENT_SENTENCES.get(self.event, f"the gateway reports {self.event}")


_EVENT_SENTENCES = {
    "conversation.resolved": "a person gives the conversation back to the bot",
    "conversation.assigned": "a person takes the conversation over",
}


@immutable
class StartMove:
    """A program starts a flow, with values for its variables."""

    flow: str
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def line(self) -> YamlLine:
        """The line of a test."""
        return {"start": {"flow": self.flow, "data": dict(self.data)} if self.data else self.flow}

    @property
    def sentence(self) -> str:
        """A sentence for people."""
        return f"a program starts the flow {self.flow}"


@immutable
class SignalMove:
    """A program reports a signal, with its data."""

    name: str
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def line(self) -> YamlLine:
        """The line of a test."""
        return {"signal": {"name": self.name, "data": dict(self.data)} if self.data else self.name}

    @property
    def sentence(self) -> str:
        """A sentence for people."""
        return f"a program reports {self.name}"


@immutable
class RefusalMove:
    """The gateway will refuse the next message."""

    @property
    def line(self) -> YamlLine:
        """The line of a test."""
        return {"fault": "send_failed"}

    @property
    def sentence(self) -> str:
        """A sentence for people."""
        return "the gateway will refuse the next message"


InputMove = WriteMove | TapMove | SendMove | WaitMove | EventMove | StartMove | SignalMove | RefusalMove
Move = InputMove | EffectResult
