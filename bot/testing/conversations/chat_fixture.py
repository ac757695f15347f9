"""The pytest fixture's conversation with a bot: the lines of a YAML test as methods."""

import json as json_format
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from bot.checker.exploring.moves import ModelResult
from bot.core.errors import BotError
from bot.core.filetypes import FILE_TYPES
from bot.core.messages import MEDIA_KINDS
from bot.core.session import Session
from bot.language.expressions.formats import shown
from bot.language.keys.declared_keys import STRINGS
from bot.language.source.problems import Mark, did_you_mean
from bot.language.source.wall_clock import parse_duration, read_iso
from bot.language.source.yaml_tree import List, Map, Node, Scalar
from bot.loading.folder import Folder
from bot.loading.program import Program
from bot.testing.conversations.expectation_reader import EXPECTED, MESSAGE, message_parts
from bot.testing.conversations.player import Player
from bot.testing.conversations.transcript import (
    AgainLine,
    AsLine,
    BotLine,
    ColleagueLine,
    EventLine,
    ExpectLine,
    FaultLine,
    HandlerStub,
    HttpLine,
    HttpStub,
    InputLine,
    MeanwhileLine,
    ModelLine,
    PickLine,
    RestartLine,
    SendLine,
    SetLine,
    SignalLine,
    SilenceLine,
    StartLine,
    StubAnswers,
    StubDefinitions,
    TapLine,
    TranscriptLine,
    UserLine,
    WaitLine,
)
from bot.testing.conversations.transcript_reader import NOW
from bot.testing.conversations.transcript_run import explained, failure_of, isolated_simulation
from bot.testing.emulator.event_payloads import NOTICE_KINDS
from bot.testing.simulation.sample_files import SAMPLE_FILES

_KINDS = (*MEDIA_KINDS, "location", "sticker", *NOTICE_KINDS)
HERE = Mark("", 0, 0)  # pytest shows the line


class TooLate(BotError):
    """A stub is set after the conversation has begun."""


class Chat:
    """A contact's conversation with a bot. It begins with the first thing that happens.

    Each method that lets something happen or expects something raises `AssertionError` if the conversation differs,
    also if the bot says something that is not expected. ``late`` and ``wait`` take durations like ``2h``, or a
    `timedelta`.
    """

    def __init__(
        self,
        program: Program,
        folder: Folder,
        *,
        now: datetime | str | None = None,
        random: float | Iterable[float] | None = None,
        contact: str | None = None,
    ) -> None:
        self._program = program
        self._folder = folder
        self._now = _moment(now) if isinstance(now, str) else now or NOW
        drawn = _in_turn(random) if isinstance(random, Iterable) else StubAnswers(then=random)
        self._stubs = StubDefinitions(random=None if random is None else drawn)
        self._contact = contact
        self._scripted: list[TranscriptLine] = []
        self._running = ExitStack()
        self._player: Player | None = None

    # Stubs

    def handler(self, name: str, *results: Any, fails: str | None = None) -> None:
        """Make a handler return this, or fail. Several results are returned one after another; ``...`` behind them
        means that the last one is returned from then on.

        Raises `TooLate`, and `LookupError` if there is no such handler.
        """
        calls = self._program.extensions.calls
        if name not in calls:
            raise LookupError(f'no handler "{name}" ({did_you_mean(name, calls, "declare it in handlers.py")})')
        if self._player is not None:
            raise TooLate(f'"{name}" needs its stub before anything happens: call chat.handler first')
        made = tuple(result if result is ... else HandlerStub(result) for result in results)
        alone = HandlerStub(fails=fails) if not made else made[0] if len(made) == 1 else None
        answers = _in_turn(made) if alone is None else StubAnswers(then=alone)
        handlers = {**self._stubs.handlers, name: answers}
        self._stubs = replace(self._stubs, handlers=handlers)

    def http(
        self, request: str, *, status: int = 200, json: Any = None, text: str = "", fails: str | None = None
    ) -> None:
        """Answer the next request of this form, such as ``GET https://api.example/orders/*``."""
        body, kind = (text, "text/plain") if json is None else (json_format.dumps(json), "application/json")
        self._scripted.append(HttpLine(HERE, request, HttpStub(status, body.encode(), kind, fails=fails)))

    def model(
        self,
        says: str = "",
        *,
        json: Any = None,
        calls: Mapping[str, Mapping[str, Any]] | None = None,
        fails: str | None = None,
        after: str | timedelta = "",
    ) -> None:
        """Set the model's next answer: a text, or a value that it writes as JSON. ``after`` is how long it thinks."""
        says = says if json is None else json_format.dumps(json, ensure_ascii=False)
        self._scripted.append(ModelLine(HERE, ModelResult(says, tuple((calls or {}).items()), fails, _duration(after))))

    def meanwhile(self, text: str) -> None:
        """Make the contact write this during the next call."""
        self._scripted.append(MeanwhileLine(HERE, text))

    # Acts

    def user(self, text: str, late: str | timedelta = "") -> None:
        """The contact writes."""
        self._take(UserLine(HERE, text, _duration(late)))

    def tap(self, title: str, late: str | timedelta = "", *, of: str = "", payload: str = "") -> None:
        """The contact taps the newest button of this title, or that of a message with ``of`` in its text.

        ``payload``: the button is of a template that no flow has sent.
        """
        self._take(TapLine(HERE, title, of, payload, _duration(late)))

    def pick(self, title: str, late: str | timedelta = "", *, of: str = "") -> None:
        """The contact picks the newest row of this title, or that of a message with ``of`` in its text."""
        self._take(PickLine(HERE, title, of, _duration(late)))

    def send(
        self,
        kind: str,
        file: str | None = None,
        *,
        caption: str | None = None,
        type: str | None = None,
        **location: Any,
    ) -> None:
        """The contact sends a file of the bot's folder, a sample of the kind or of a type like ``docx``, a place, a
        sticker, or a reaction and the like.
        """
        if kind not in _KINDS:
            fix = did_you_mean(kind, _KINDS, f"write one of {', '.join(_KINDS)}")
            raise ValueError(f'send: no kind "{kind}" ({fix})')
        sample = None if type is None else _sample(kind, type)
        content = sample if file is None else Path(self._folder.path, file).read_bytes()
        self._take(SendLine(HERE, kind, caption, content, location or None))

    def wait(self, duration: str | timedelta) -> None:
        """Time passes."""
        self._take(WaitLine(HERE, _duration(duration)))

    def event(self, event: str, **data: Any) -> None:
        """The gateway reports an event, such as ``conversation.resolved``."""
        self._take(EventLine(HERE, event, data))

    def start(self, flow: str, data: Mapping[str, Any] | None = None, busy: str | None = None) -> None:
        """A program starts a flow."""
        self._take(StartLine(HERE, flow, data or {}, busy))

    def signal(self, name: str, **data: Any) -> None:
        """A program reports a signal, with its data."""
        self._take(SignalLine(HERE, name, data))

    def set(self, flow: str | None = None, /, **values: Any) -> None:
        """An operator sets variables of the active flow, or of the open ``flow``."""
        self._take(SetLine(HERE, values, flow))

    def colleague(self, *, agrees: bool, note: str = "") -> None:
        """A colleague decides on what the bot asks the team."""
        self._take(ColleagueLine(HERE, agrees, note))

    def become(self, contact: str) -> None:
        """Continue with another contact."""
        self._take(AsLine(HERE, contact))

    def restart(self) -> None:
        """The bot is stopped and started again."""
        self._take(RestartLine(HERE))

    def again(self) -> None:
        """The gateway delivers its newest event once more."""
        self._take(AgainLine(HERE))

    def fault(self, kind: str, times: int = 1) -> None:
        """The gateway makes this fault, so many times."""
        self._take(FaultLine(HERE, kind, times))

    # Expectations

    def says(self, text: str | None = None, **parts: str | Iterable[str] | Mapping[str, str]) -> None:
        """The bot says exactly this. ``parts``, such as ``contains`` and ``buttons``, are parts of the message."""
        if strange := parts.keys() - {*MESSAGE.names}:
            raise TypeError(f"a message has no {', '.join(sorted(strange))}")
        lists = {key.name for key in MESSAGE if key.form is STRINGS}
        wanted = {
            key: _several(part) if key in lists else part if isinstance(part, Mapping) else str(part)
            for key, part in parts.items()
        }
        if text is not None:
            wanted["says"] = text
        self._take(BotLine(HERE, message_parts(wanted), alone=not parts))

    def silence(self) -> None:
        """The bot says nothing."""
        self._take(SilenceLine(HERE))

    def expect(self, **wanted: Any) -> None:
        """Check where the contact is, what is known and what was done: the keys of `expect` in a test.

        ``refused=""`` is `expect: refused`.
        """
        if strange := wanted.keys() - {*EXPECTED.names}:
            raise TypeError(f"expect: no key {', '.join(sorted(strange))}")
        self._take(ExpectLine(HERE, {key: _node(value) for key, value in wanted.items()}))

    @property
    def session(self) -> Session:
        """The session: where the contact is, and which values are known."""
        self._begun()
        return self._simulation.stored.session()

    def finish(self) -> None:
        """End the conversation: every message must have been expected, and every stub used."""
        __tracebackhide__ = True
        if self._player is not None:
            self._checked(self._player, self._player.finish)

    def close(self) -> None:
        """Stop the bot and delete its store."""
        self._running.close()

    def _take(self, line: TranscriptLine) -> None:
        """Play a line. Stubs that were set before it answer during it."""
        __tracebackhide__ = True
        player, scripted = self._begun(), list(self._scripted)
        if isinstance(line, InputLine):
            self._scripted.clear()
        self._checked(player, lambda: player.take(line, scripted))

    def _begun(self) -> Player:
        if self._player is None:
            beginning = isolated_simulation(self._program, self._folder, self._now, self._stubs, self._contact)
            self._simulation, self._player = self._running.enter_context(beginning)
        return self._player

    def _checked(self, player: Player, play: Callable[[], None]) -> None:
        __tracebackhide__ = True
        try:
            play()
        except BotError as error:
            failure = failure_of(error, HERE, self._simulation, player)
            raise AssertionError("\n".join((failure.what, "", *explained(failure)))) from None


def _sample(kind: str, type: str) -> bytes:
    suffixes = [each.suffix for each in FILE_TYPES if each.kind == kind]
    if type not in suffixes:
        fix = f"write one of {', '.join(suffixes)}" if suffixes else "leave out the type"
        raise ValueError(f'send: "{type}" is no type of a sample of kind {kind} ({fix})')
    return SAMPLE_FILES[type]


def _duration(given: str | timedelta) -> timedelta:
    """Raises `ValueError`."""
    text = str(given)
    duration = given if isinstance(given, timedelta) else parse_duration(text) if text else timedelta()
    if duration is None or duration < timedelta():
        raise ValueError(f"{text!r} is no duration: write one like 90s, 10m or 2h30m")
    return duration


def _moment(written: str) -> datetime:
    found = read_iso(written)
    if not isinstance(found, datetime):
        raise ValueError(f'now: "{written}" is no time, write one like 2030-05-06T10:00')
    return found


def _in_turn(answers: Iterable[Any]) -> StubAnswers:
    """The answers of a stub, each once; if ``...`` is behind the last one, that is the answer from then on."""
    given = tuple(answers)
    return StubAnswers(given[:-2], given[-2]) if given[1:] and given[-1] is ... else StubAnswers(given)


def _several(part: str | Iterable[str] | Mapping[str, str]) -> tuple[str, ...]:
    return (part,) if isinstance(part, str) else tuple(part)


def _node(value: Any) -> Node:
    """A value as a node of a file."""
    match value:
        case Mapping():
            entries = ((Scalar(HERE, str(key), str(key)), _node(item)) for key, item in value.items())
            return Map(HERE, tuple(entries))
        case list() | tuple():
            return List(HERE, tuple(map(_node, value)))
    return Scalar(HERE, value, shown(value))
