"""A test or an evaluation as a value: its time, its stubs and its lines."""

import re
from collections.abc import Collection, Mapping
from dataclasses import field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from bot.checker.exploring.moves import ModelResult
from bot.core.immutable import immutable
from bot.language.flow.definition import Flow
from bot.language.python.decorators import HandlerSpec
from bot.language.source.problems import Mark
from bot.language.source.yaml_tree import Node
from bot.testing.conversations.pass_rates import Tries

# Stubs


@immutable
class HttpStub:
    """The answer of a service: a status with JSON or a text, or a failure."""

    status: int = 200
    body: bytes = b""
    type: str = "text/plain"
    headers: Mapping[str, str] = field(default_factory=dict)
    fails: str | None = None


@immutable
class HandlerStub:
    """The value that a handler's stub returns, or the error that it fails with, and its text."""

    value: Any = None
    fails: str | None = None
    detail: str = "as the test says"


@immutable
class StubAnswers:
    """The answers of a stub: the ``first`` are given one after another, once each, and ``then`` always the same one, if
    there is one.
    """

    first: tuple[Any, ...] = ()
    then: Any | None = None

    @property
    def each(self) -> tuple[Any, ...]:
        """All answers."""
        return self.first if self.then is None else (*self.first, self.then)


@immutable
class StubDefinitions:
    """All stubs of a test: by handler, by request, and by a part of the question to a model.

    ``random`` are the numbers that are drawn; None: real random numbers.
    """

    handlers: Mapping[str, StubAnswers] = field(default_factory=dict)
    http: Mapping[str, StubAnswers] = field(default_factory=dict)
    models: Mapping[str, StubAnswers] = field(default_factory=dict)
    random: StubAnswers | None = None


# Acts


@immutable
class MarkedLine:
    """A line of a conversation, at its place in the file."""

    mark: Mark


@immutable
class UserLine(MarkedLine):
    """The contact writes, or says so in a ``voice`` note. ``late`` is how long the message was on its way."""

    text: str
    late: timedelta = timedelta()
    voice: bool = False


@immutable
class PersonaLine(MarkedLine):
    """A model plays the contact, until the contact has reached the goal or gives up.

    ``persona`` is how they are, ``knows`` what they can tell, ``turns`` how many messages they write at most. ``late``
    is how long each was on its way.
    """

    goal: str
    persona: str
    knows: Mapping[str, str]
    turns: int
    late: timedelta = timedelta()


@immutable
class TapLine(MarkedLine):
    """The contact taps a button: of the newest message, of one with ``of`` in its text, or with a ``payload`` of a
    broadcast's.
    """

    title: str
    of: str = ""
    payload: str = ""
    late: timedelta = timedelta()


@immutable
class PickLine(MarkedLine):
    """The contact picks a row of a list: of the newest one, or of one with ``of`` in its text."""

    title: str
    of: str = ""
    late: timedelta = timedelta()


@immutable
class SendLine(MarkedLine):
    """The contact sends a file, a place, a sticker, a reaction or the like. ``content`` None: a sample of the kind."""

    kind: str
    caption: str | None = None
    content: bytes | None = None
    location: Mapping[str, Any] | None = None
    late: timedelta = timedelta()


@immutable
class WaitLine(MarkedLine):
    """Time passes."""

    duration: timedelta


@immutable
class EventLine(MarkedLine):
    """The gateway reports an event, by its name."""

    event: str
    data: Mapping[str, Any] = field(default_factory=dict)


@immutable
class StartLine(MarkedLine):
    """A program starts a flow."""

    flow: str
    data: Mapping[str, Any] = field(default_factory=dict)
    busy: str | None = None


@immutable
class SignalLine(MarkedLine):
    """A program reports a signal."""

    name: str
    data: Mapping[str, Any] = field(default_factory=dict)


@immutable
class SetLine(MarkedLine):
    """An operator sets variables of a flow that the contact is in; without a name, of the active flow."""

    values: Mapping[str, Any]
    flow: str | None = None


@immutable
class ColleagueLine(MarkedLine):
    """A colleague decides on what the bot asks the team, with a note."""

    agrees: bool
    note: str = ""


@immutable
class RestartLine(MarkedLine):
    """The bot is stopped and started again."""


@immutable
class AgainLine(MarkedLine):
    """The gateway delivers its newest event once more."""


Act = (
    UserLine
    | TapLine
    | PickLine
    | SendLine
    | WaitLine
    | EventLine
    | StartLine
    | SignalLine
    | SetLine
    | ColleagueLine
    | RestartLine
    | AgainLine
)
"""One thing that happens; the bot may answer it."""
InputLine = Act | PersonaLine
"""A line on which something happens."""


# Faults, answers, expectations


@immutable
class FaultLine(MarkedLine):
    """The gateway does something wrong, so many times."""

    kind: str
    times: int = 1


@immutable
class AsLine(MarkedLine):
    """The lines behind it are about another contact."""

    contact: str


@immutable
class ModelLine(MarkedLine):
    """The model's answer when it is asked next."""

    answer: ModelResult


@immutable
class MeanwhileLine(MarkedLine):
    """The contact writes while the bot waits for the next call of a handler, a service or a model."""

    text: str


@immutable
class HttpLine(MarkedLine):
    """The answer of a service to the next request of this form."""

    request: str
    answer: HttpStub


@immutable
class BotLine(MarkedLine):
    """The bot says something: ``parts`` by key, as far as they are written.

    ``alone``: the message has this text and nothing else.
    """

    parts: Mapping[str, str | tuple[str, ...]]
    alone: bool = False


@immutable
class SilenceLine(MarkedLine):
    """The bot says nothing."""


@immutable
class ExpectLine(MarkedLine):
    """Where the contact is, and what the conversation knows, as far as it is written."""

    wanted: Mapping[str, Node]


TranscriptLine = (
    InputLine | AsLine | FaultLine | ModelLine | HttpLine | MeanwhileLine | BotLine | SilenceLine | ExpectLine
)


@immutable
class Transcript:
    """One test.

    ``now`` is when it begins, on the clock of the bot's time zone where it has none of its own; ``contact`` is the
    contact's number.

    With ``tries`` it is an evaluation: a model answers.
    """

    name: str
    mark: Mark
    now: datetime
    conversation: tuple[TranscriptLine, ...]
    stub_definitions: StubDefinitions = field(default_factory=StubDefinitions)
    contact: str | None = None
    tries: Tries | None = None


@immutable
class KnownNames:
    """The bot of a test. ``complete`` is False where it could not be loaded: then no name can be called wrong.

    ``evaluates``: a model answers, not the test.
    """

    flows: Mapping[str, Flow] = field(default_factory=dict)
    handlers: Mapping[str, HandlerSpec] = field(default_factory=dict)
    languages: tuple[str, ...] = ()
    signals: Collection[str] = ()
    folder: Path = Path()
    events: Collection[str] = ()  # that are delivered
    complete: bool = True
    evaluates: bool = False


def is_meant(written: str, request: str) -> bool:
    """True if a written form fits a request. ``*`` fits anything; a form without a query fits any query."""
    if "?" not in written:
        request = request.partition("?")[0]
    return re.fullmatch(re.escape(written).replace(r"\*", ".*"), request) is not None
