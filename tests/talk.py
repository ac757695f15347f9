"""A conversation with the pure engine: no store, no network, a clock that the test moves."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from bot.core.effects import AskModel, Call, Effect, Fetch, HttpRequest, Send, Transcribe
from bot.core.events import (
    CallEnded,
    CallProgressed,
    ColleagueDecided,
    Event,
    HandoffClosed,
    MessageReceived,
    ResetRequested,
    SendEnded,
    SignalReceived,
    StartRequested,
    Tapped,
    TimeReached,
    ValuesSet,
)
from bot.core.messages import Buttons, Choice, LinkButton, ListMessage, Message, TemplateMessage, TextMessage
from bot.core.session import Session, effect_ref
from bot.core.turn import Turn
from bot.core.values import Media, dumps, loads
from bot.engine.advance import advance
from bot.engine.replies import merged
from bot.language.flow.documents import Source
from bot.language.flow.library import Library, load
from bot.language.python.gathered import extensions_in
from bot.language.source.wall_clock import parse_duration

CONTACT = "6281234567890"
START = datetime(2030, 5, 6, 10, 0, tzinfo=UTC)
BOT = "name: Test\ndefaults: {timeout: {after: 20h, then: end}}\n"


def sources_of(flows: str, bot: str = BOT) -> list[Source]:
    return [Source("bot.yml", bot.encode()), Source("flows/test.yml", flows.encode())]


def library_of(
    flows: str,
    bot: str = BOT,
    handlers: Mapping[str, Callable[..., Any]] | None = None,
    documents: Mapping[str, str | bytes] | None = None,
) -> Library:
    return _library_of(flows, bot, tuple((handlers or {}).items()), tuple((documents or {}).items()))


@cache
def _library_of(
    flows: str,
    bot: str,
    handlers: tuple[tuple[str, Callable[..., Any]], ...],
    documents: tuple[tuple[str, str | bytes], ...],
) -> Library:
    """The library of these texts, read once: it is immutable, and many tests share a flow."""
    texts = [Source(path, text.encode() if isinstance(text, str) else text) for path, text in documents]
    loaded = load(sources_of(flows, bot), extensions_in([dict(handlers)]), texts)
    assert loaded.library is not None, "\n".join(map(str, loaded.problems))
    return loaded.library


def problems_of(
    flows: str,
    bot: str = BOT,
    handlers: Mapping[str, Callable[..., Any]] | None = None,
    documents: Mapping[str, bytes] | None = None,
) -> list[str]:
    texts = [Source(path, text) for path, text in (documents or {}).items()]
    return [str(problem) for problem in load(sources_of(flows, bot), extensions_in([handlers or {}]), texts).problems]


class Talk:
    """One contact's conversation with a bot. Each verb returns what the bot sent, shortened by `said`."""

    checks = True  # that each turn is pure, at twice the cost

    def __init__(
        self,
        flows: str | Library,
        bot: str = BOT,
        handlers: Mapping[str, Callable[..., Any]] | None = None,
        name: str | None = None,
        documents: Mapping[str, str | bytes] | None = None,
    ) -> None:
        self.library = flows if isinstance(flows, Library) else library_of(flows, bot, handlers, documents)
        self.session = Session(CONTACT, name=name)
        self.now = START
        self.turn: Turn | None = None
        self.event: Any = None  # the last one that was taken
        self.sent: list[Message] = []
        self.shown: list[Choice] = []
        self.calls: list[tuple[str, Any]] = []
        self.asked: list[tuple[str, AskModel]] = []  # of the model
        self.effects: list[Effect] = []  # of the last turn
        self.parked: list[Any] = []  # messages that wait until the model has answered
        self._events = 0

    def user(self, text: str) -> list[Any]:
        return self.take(MessageReceived(self.next_id(), CONTACT, self.now, self.now, "text", text))

    def photo(self, url: str = "https://files.example/1.jpg") -> list[Any]:
        media = Media("image", url)
        return self.take(MessageReceived(self.next_id(), CONTACT, self.now, self.now, "image", media=media))

    def voice(self, url: str = "https://files.example/1.ogg") -> list[Any]:
        media = Media("audio", url)
        return self.take(MessageReceived(self.next_id(), CONTACT, self.now, self.now, "audio", media=media))

    def tap(self, title: str) -> list[Any]:
        (choice,) = (choice for choice in self.shown if choice.title == title)
        return self.tap_id(choice.id, title)

    def tap_id(self, reply: str, title: str = "") -> list[Any]:
        return self.take(Tapped(self.next_id(), CONTACT, self.now, self.now, reply, title))

    def wait(self, duration: str) -> list[Any]:
        """Let time pass, waking the session whenever it asked for it."""
        passed = parse_duration(duration)
        assert passed is not None
        until = self.now + passed
        said: list[Any] = []
        while self.turn is not None and self.turn.wake_at is not None and self.turn.wake_at <= until:
            self.now = max(self.now, self.turn.wake_at)
            said += self.take(TimeReached(self.next_id(), CONTACT, self.now))
        self.now = until
        return said

    def returns(self, value: Any = None) -> list[Any]:
        ref, _ = self.calls[-1]
        return self.take(CallEnded(f"call:{ref}", CONTACT, self.now, ref, "done", value))

    def fails(self, outcome: str, detail: str = "it went wrong") -> list[Any]:
        ref, _ = self.calls[-1]
        return self.take(CallEnded(f"call:{ref}", CONTACT, self.now, ref, outcome, detail=detail))

    def model(
        self, text: str = "", *calls: tuple[str, dict[str, Any]], finish: str = "stop", nth: int = -1
    ) -> list[Any]:
        """The model's answer, whole, to the newest question to it."""
        made = [{"id": f"c{n}", "name": name, "arguments": json.dumps(given)} for n, (name, given) in enumerate(calls)]
        return self.model_ends("done", {"text": text, "calls": made, "finish": finish, "said": 0, "model": "m"}, nth)

    def model_ends(self, outcome: str, value: Any = None, nth: int = -1) -> list[Any]:
        ref, _ = self.asked[nth]
        return self.take(CallEnded(f"call:{ref}", CONTACT, self.now, ref, outcome, value))

    def paragraph(self, text: str, nth: int = -1) -> list[Any]:
        """A paragraph of the model's answer, before its end."""
        ref, _ = self.asked[nth]
        self._events += 1
        return self.take(CallProgressed(f"call:{ref}:{self._events}", CONTACT, self.now, ref, text))

    @property
    def prompt(self) -> list[dict[str, Any]]:
        """The messages of the newest question to the model."""
        return list(self.asked[-1][1].messages)

    def send_ended(self, outcome: str) -> list[Any]:
        """The end of the last message sent."""
        return self.take(SendEnded(f"sent:{self.last_ref}", CONTACT, self.now, self.last_ref, outcome))

    def closed(self) -> list[Any]:
        return self.take(HandoffClosed(self.next_id(), CONTACT, self.now))

    def signal(self, name: str, /, first_visit: int | None = None, **data: Any) -> list[Any]:
        """A program reports a signal."""
        return self.take(SignalReceived(self.next_id(), CONTACT, self.now, name, data, "test", first_visit))

    def start(self, flow: str, busy: str | None = None, **data: Any) -> list[Any]:
        """A program starts a flow."""
        return self.take(StartRequested(self.next_id(), CONTACT, self.now, flow, data, busy, "api"))

    def set(self, flow: str | None = None, **values: Any) -> list[Any]:
        """An operator sets variables."""
        return self.take(ValuesSet(self.next_id(), CONTACT, self.now, values, flow, "test"))

    def decides(self, *, agreed: bool, note: str = "", question: str | None = None) -> list[Any]:
        """A colleague decides on the open question, or on the one of this id."""
        if question is None:
            assert self.session.team_question is not None
            question = self.session.team_question.id
        return self.take(ColleagueDecided(self.next_id(), CONTACT, self.now, question, agreed, note, "anna"))

    def reset(self) -> list[Any]:
        return self.take(ResetRequested(self.next_id(), CONTACT, self.now))

    def take(self, event: Event) -> list[Any]:
        turn = self._checked(event) if self.checks else advance(self.library, self.session, event)
        self.turn, self.session, self.event = turn, loads(dumps(turn.session)), event
        self.effects = list(turn.effects)
        sends = [effect.message for effect in turn.effects if isinstance(effect, Send)]
        for ordinal, effect in enumerate(turn.effects):
            if isinstance(effect, AskModel):
                self.asked.append((effect_ref(event.id, ordinal), effect))
            elif isinstance(effect, Call | Fetch | HttpRequest | Transcribe):
                self.calls.append((effect_ref(event.id, ordinal), effect))
            elif isinstance(effect, Send):
                self.last_ref = effect_ref(event.id, ordinal)
        self.sent += sends
        for message in sends:
            self.shown += choices_of(message)
        return [*(said(message) for message in sends), *self._parked_after(turn)]

    def _parked_after(self, turn: Turn) -> list[Any]:
        """The replies to messages that waited until the model had answered."""
        if turn.parks_message is not None:
            self.parked.append(turn.parks_message)
        if turn.drops_parked:
            self.parked.clear()
        if self.session.keeps_parked or not self.parked:
            return []
        waiting, self.parked = self.parked, []
        taken = [merged(waiting)] if self.session.has_parked_messages else waiting
        return [each for event in taken for each in self.take(event)]

    def _checked(self, event: Event) -> Turn:
        """A turn that changed nothing it was given, and that comes out the same a second time."""
        before = dumps(self.session)
        turn = advance(self.library, self.session, event)
        assert dumps(self.session) == before, "the engine changed the session that it was given"
        again = advance(self.library, loads(before), loads(dumps(event)))
        assert dumps([again.session, list(again.effects)]) == dumps([turn.session, list(turn.effects)])
        return turn

    def edit(self, flows: str, bot: str = BOT) -> None:
        self.library = library_of(flows, bot)

    def pass_time(self, by: timedelta) -> None:
        self.now += by

    def next_id(self) -> str:
        self._events += 1
        return f"e{self._events}"

    @property
    def at(self) -> str | None:
        frame = self.session.frame
        return None if frame is None else f"{frame.flow}/{frame.step}"

    @property
    def vars(self) -> dict[str, Any]:
        frame = self.session.frame
        return {} if frame is None else self.library.values_of(frame, self.session)


def choices_of(message: Message) -> list[Choice]:
    match message:
        case Buttons(buttons=buttons):
            return list(buttons)
        case ListMessage(sections=sections):
            return [row for section in sections for row in section.rows]
    return []


def said(message: Message) -> Any:
    """A message in short: its text, then what there is to choose from."""
    match message:
        case TextMessage(body):
            return body
        case Buttons(body, buttons):
            return [body, *(button.title for button in buttons)]
        case ListMessage(body=body):
            return [body, *(row.title for row in choices_of(message))]
        case LinkButton(body, title, url):
            return [body, title, url]
        case TemplateMessage(name=name, body=body):
            return [name, *(parameter.get("text", parameter["type"]) for parameter in body)]
    return message
