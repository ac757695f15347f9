"""A simulation of conversations with a real bot, in one process and on a clock that can be moved.

Signed webhooks come in over HTTP, the store's two files lie in a temporary folder, and messages go out over HTTP.
Only the gateway and the models are emulated. The network is the loopback interface, and the limits are so high that
no message waits.
"""

import signal
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any, Literal, Protocol, Self, cast

from bot.core.clock import Clock, MovableClock
from bot.core.effects import AskModel
from bot.core.errors import BotError
from bot.core.session import Session
from bot.language.flow.definition import BotDefinition
from bot.language.flow.library import Library, TemplateUse, template_uses
from bot.language.steps.template_message import FIXED
from bot.loading.program import Program
from bot.runtime.batch import RequestRefused
from bot.runtime.operator_requests import Answer
from bot.runtime.performers import CallAttempt, Perform, Prompter, Say
from bot.runtime.transcriptions import Known
from bot.server.app import Bot, Engine, GatewayAccount
from bot.services.outgoing import Requester
from bot.settings import ModelService
from bot.store.rows import CallRow
from bot.store.sqlite_schema import migrate
from bot.store.store_reader import DeadLetter, StoreReader
from bot.store.trace_rows import TurnTraced
from bot.testing.emulator import AcceptedMessage, Emulator, InteractiveChoice, MessageTemplate, TemplateButton
from bot.testing.emulator.completion import CompletionService
from bot.testing.emulator.completion.completion_api import Speaker
from bot.testing.simulation.gateway_events import GATEWAY_EVENTS, NothingYet
from bot.testing.simulation.phone import ShownMessage, choice_of, message_from_request, newest_choice
from bot.testing.simulation.sample_files import SAMPLE_FILES

SETTLED_WITHIN = 30.0  # real seconds; a handler may take some time
ANSWERED_WITHIN = 600.0  # real seconds; a real model may need many rounds
MOMENT = 0.2  # real seconds: how late a Ctrl-C may be noticed
TURNS_LOOKED_AT = 100
EVERY_TURN = 1_000_000
STUB_MODEL = "acme/stand-in"
FIRST_CONTACT = "15555550100"


class Stuck(BotError):
    """The bot did not become idle in time."""


@dataclass
class _Phone:
    """What one contact has got: messages that nobody has looked at yet, all messages, and turns by their events."""

    heard: list[ShownMessage] = field(default_factory=list)
    shown: list[ShownMessage] = field(default_factory=list)
    turns: dict[str, TurnTraced] = field(default_factory=dict)


class ByHand(Protocol):
    """A person who answers for the models. Called on any thread."""

    def __call__(self, row: CallRow) -> Speaker | CallAttempt:
        """Ask the person. Returns how the emulated service answers this call, or how the call ends without a request."""
        ...

    def waits(self, row: CallRow) -> bool:
        """True if the person is being asked about this call, and nobody else is to wait for that."""
        ...


class Simulation:
    """A bot and a contact, who may `become` another one. Each method returns when the bot is idle; `heard` returns its messages.

    ``on_message`` is called with each message at once, on another thread. ``emulator`` is the gateway; ``service``
    emulates the models unless ``models`` are real ones. ``requester`` answers `http` steps; without it they send real
    requests, with ``secrets``. ``contact`` is the contact's number. ``asks_models``: the emulated service passes
    requests on to real models. ``by_hand`` answers for the models. Use it as a context manager.
    """

    def __init__(
        self,
        program: Program,
        clock: MovableClock,
        on_message: Callable[[ShownMessage], None] | None = None,
        models: ModelService | None = None,
        requester: Requester | None = None,
        secrets: Mapping[str, str] | None = None,
        contact: str | None = None,
        asks_models: bool = False,
        by_hand: ByHand | None = None,
    ) -> None:
        self.clock = clock
        self._asks_models = asks_models or models is not None
        self.contact = contact or FIRST_CONTACT
        self._on_message = on_message
        self._phones = defaultdict[str, _Phone](_Phone)  # by number: messages may go to other contacts, too
        self.emulator = Emulator(clock, per_minute=LIMIT, per_day=LIMIT, threads=4, delivery_threads=1)
        self.emulator.templates.add(*approved_templates(program.library))
        self.emulator.on_sent(self._take)
        self.emulator.behaviour.coordinates = "object"
        self.service = CompletionService(threads=2, models=None)  # steps may name any model
        self._models = models
        self._spoken: dict[str, str] = {}  # what voice notes say, by their addresses
        self.answer: Answer = {}  # what became of the last start or signal, as `bot start` and `bot signal` show it
        self.on_call: Callable[[], None] = lambda: None  # happens before one of them is transcribed
        prompter = None if by_hand is None else _ModelsByHand(by_hand, clock, self.service)
        self._outside = requester, secrets, self._said, prompter
        self._program = program

    def __enter__(self) -> Self:
        self.emulator.start()
        try:
            with ExitStack() as parts:
                models = self._models or self._stub_models(parts)
                store = Path(parts.enter_context(TemporaryDirectory(prefix="bot-"))) / "bot.db"
                migrate(store)
                running = RunningBot(self._program, store, self.clock, self.emulator, models, *self._outside)
                self._running = parts.enter_context(running)
                self._reader = parts.enter_context(closing(StoreReader(store)))
                self._parts = parts.pop_all()
        except BaseException:
            self.emulator.stop()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self.emulator.stop()  # it stops first, because the bot's web server waits a while for open connections
        self._parts.close()

    def _said(self, url: str) -> str | None:
        words = self._spoken.get(url)
        if words is not None:
            self.on_call()
        return words

    def _stub_models(self, parts: ExitStack) -> ModelService:
        parts.enter_context(self.service)
        return ModelService(self.service.url, self.service.key, (STUB_MODEL,), "authorization")

    # What the contact does

    def user(self, text: str, late: timedelta = timedelta()) -> None:
        """The contact writes. ``late`` is how long the message was on its way."""
        self.emulator.receive(self.contact, text, at=self.clock.now() - late)
        self.settle()

    def speak(self, words: str, late: timedelta = timedelta()) -> None:
        """The contact sends a voice note that says these words: they need no handler or service."""
        address = self.voice_note(words)
        self.emulator.receive(self.contact, kind="audio", media_url=address, at=self.clock.now() - late)
        self.settle()

    def voice_note(self, words: str) -> str:
        """The address of a new voice note that says these words."""
        name = f"voice-{len(self._spoken)}.ogg"
        address = f"{self.emulator.url}/media/{int(self.clock.now().timestamp())}/{name}"
        self._spoken[address], self.emulator.media[name] = words, SAMPLE_FILES["ogg"]
        return address

    def write_meanwhile(self, text: str) -> None:
        """The contact writes while a call is under way. Returns when the bot has taken that; it may still wait for the call."""
        self.emulator.receive(self.contact, text, at=self.clock.now())
        until = monotonic() + SETTLED_WITHIN
        while monotonic() < until:
            if self.emulator.wait_until(self.emulator.idle, MOMENT) and self._running.engine.has_taken_all():
                return
            sleep(MOMENT / 100)
        raise Stuck(f"the bot has not taken a message within {SETTLED_WITHIN:g} seconds")

    def model_seconds(self) -> float:
        """How long the model that is asked now has to answer."""
        effects = [effect for turn in self.trace() for effect in turn.effects]
        return max(effect.within for effect in effects if isinstance(effect, AskModel))

    def flood(self, texts: Iterable[str]) -> None:
        """The contact writes several messages at once. Returns when all are acknowledged; the bot may still be busy."""
        for text in texts:
            self.emulator.receive(self.contact, text, at=self.clock.now())
        self.emulator.wait_until(self.emulator.idle, SETTLED_WITHIN)

    def send(
        self,
        kind: str,
        caption: str | None = None,
        content: bytes | None = None,
        location: Mapping[str, Any] | None = None,
        late: timedelta = timedelta(),
    ) -> None:
        """The contact sends a file with this content (or a sample of its kind), a place or a sticker."""
        place = None if location is None else dict(location)
        at = self.clock.now() - late
        self.emulator.receive(self.contact, caption, kind=kind, content=content, location=place, at=at)
        self.settle()

    def tap(self, title: str, late: timedelta = timedelta(), of: str = "") -> None:
        """The contact taps the newest button with this title, of a message or a template. Raises `NotOnScreen`.

        ``of`` is a part of the message's text, or the template's name.
        """
        self._choose(title, late, of, picks=False)

    def pick(self, title: str, late: timedelta = timedelta(), of: str = "") -> None:
        """The contact picks the newest row with this title, of a list with ``of`` in its text. Raises `NotOnScreen`."""
        self._choose(title, late, of, picks=True)

    def tap_payload(self, title: str, payload: str, late: timedelta = timedelta()) -> None:
        """The contact taps a quick reply of a template that did not come from this bot's flows, such as a broadcast's."""
        self.emulator.show(self.contact, InteractiveChoice(payload, title, "template"))
        self._tap(payload, late)

    def _choose(self, title: str, late: timedelta, of: str, *, picks: bool) -> None:
        if of:
            self._tap(choice_of(self._phones[self.contact].shown, title, of), late)
        else:
            self._tap(newest_choice(self.emulator.shown(self.contact), title, picks=picks).id, late)

    def _tap(self, id: str, late: timedelta) -> None:
        self.emulator.tap(self.contact, id, at=self.clock.now() - late)
        self.settle()

    def wait(self, duration: timedelta) -> None:
        """Time passes. Whatever falls due in between happens at its time."""
        until = self.clock.now() + duration
        self.turns_of_all()  # before the store deletes them
        while (due := self.next_due()) is not None and due <= until:
            self.clock.move_to(due)
            self.settle()
            self.turns_of_all(newest=TURNS_LOOKED_AT)
        self.clock.move_to(until)
        self.settle()

    # What happens besides

    def happen(self, event: str, data: Mapping[str, Any]) -> None:
        """The gateway reports an event: see `bot.testing.simulation.gateway_events`, also for `NothingYet`."""
        GATEWAY_EVENTS[event].happen(self.emulator, self.contact, data)
        self.settle()

    def start(self, flow: str, data: Mapping[str, Any], busy: str | None) -> str:
        """A program starts a flow. Returns why the bot refuses that; empty if it does not."""
        return self._ask({"do": "start", "contact": self.contact, "flow": flow, "data": dict(data), "busy": busy})

    def signal(self, name: str, data: Mapping[str, Any]) -> str:
        """A program reports a signal for the contact. Returns why the bot refuses that; empty if it does not."""
        return self._ask({"do": "signal", "contact": self.contact, "name": name, "data": dict(data)}, signal=name)

    def _ask(self, request: dict[str, Any], **judged: str) -> str:
        if refusals := self._running.engine.validate(request | judged):
            return "; ".join(refusals.values())
        self.answer = self._running.engine.operate(request)
        self.settle()
        return ""

    def set_values(self, values: Mapping[str, Any], flow: str | None = None) -> str:
        """An operator sets variables of an open flow, or of the active one. Returns why the bot refuses that; empty if it does not."""
        asked = {"do": "set", "contact": self.contact, "values": dict(values), "flow": flow}
        try:
            self._running.engine.operate(asked)
        except RequestRefused as refusal:
            return str(refusal)
        self.settle()
        return ""

    def restart(self) -> None:
        """The bot is stopped and started again, with its store."""
        self._running.restart()
        self.settle()

    def repeat(self) -> None:
        """The gateway delivers its newest event once more. Raises `bot.testing.simulation.gateway_events.NothingYet`."""
        if not self.emulator.counts.get("events"):
            raise NothingYet("the gateway has reported no event yet")
        self.emulator.repeat()
        self.settle()

    # What there is to see

    @property
    def program(self) -> Program:
        """The bot's flows and Python."""
        return self._running.program

    @property
    def reader(self) -> StoreReader:
        """Reads the bot's store."""
        return self._reader

    def next_due(self) -> datetime | None:
        """When something happens by itself next: a wake-up, or the next try of a message or a call."""
        return self._running.engine.next_due()

    @property
    def library(self) -> Library:
        """The bot's flows."""
        return self.program.library

    @property
    def bot(self) -> BotDefinition:
        """The settings of ``bot.yml``."""
        return self.library.bot

    def heard(self) -> list[ShownMessage]:
        """What the bot has said since the last call."""
        phone = self._phones[self.contact]
        heard, phone.heard = phone.heard, []
        return heard

    def heard_by_others(self) -> dict[str, list[ShownMessage]]:
        """What the bot has said to other contacts since the last call, by their numbers."""
        found = {
            contact: phone.heard for contact, phone in self._phones.items() if contact != self.contact and phone.heard
        }
        for contact in found:
            self._phones[contact].heard = []
        return found

    @property
    def sent(self) -> int:
        """How many messages the bot has sent to the contact."""
        return len(self._phones[self.contact].shown)

    def session(self) -> Session:
        """The session: where the contact is, and which values are known."""
        return self._reader.session(self.contact) or Session(self.contact)

    def trace(self, limit: int = 20) -> list[TurnTraced]:
        """The contact's last turns."""
        return self._reader.trace(self.contact, limit)

    def all_turns(self) -> list[TurnTraced]:
        """All turns since the contact began."""
        return self._turns_of(self.contact, EVERY_TURN)

    def turns_of_all(self, newest: int = EVERY_TURN) -> list[TurnTraced]:
        """The same of all contacts that took part. ``newest`` is how many of each may have been added since the last call."""
        return [turn for contact in {self.contact, *self._phones} for turn in self._turns_of(contact, newest)]

    def _turns_of(self, contact: str, newest: int) -> list[TurnTraced]:
        turns = self._phones[contact].turns
        turns.update((turn.event_id, turn) for turn in self._reader.trace(contact, newest))
        return list(turns.values())

    def dead_letters(self) -> list[DeadLetter]:
        """The messages and events of this contact that the bot has given up, the oldest first."""
        return [letter for letter in reversed(self._reader.dead_letters()) if letter.contact == self.contact]

    def complaints(self) -> list[str]:
        """The recent problems of this contact, in words: those of its turns, and its dead letters."""
        found = [problem for turn in self.trace(TURNS_LOOKED_AT) for problem in turn.problems]
        reasons = [letter.reason for letter in self.dead_letters()]
        return found + [reason for reason in reasons if not any(reason in problem for problem in found)]

    # What the author does

    def become_new_contact(self) -> None:
        """Continue as a new contact."""
        self.contact = str(int(self.contact) + 1)
        self._phones.clear()

    def become(self, contact: str) -> None:
        """Continue as another contact; what this one has heard is kept."""
        self.contact = contact

    def swap(self, program: Program) -> None:
        """Use these flows and handlers from the next event on."""
        self.emulator.templates.add(*approved_templates(program.library))
        self._running.swap(program)

    def _take(self, sent: AcceptedMessage) -> None:
        message = self.message(sent)
        phone = self._phones[sent.to]
        phone.heard.append(message)
        phone.shown.append(message)
        if self._on_message is not None and sent.to == self.contact:
            self._on_message(message)

    def message(self, sent: AcceptedMessage) -> ShownMessage:
        """A message that the gateway has accepted, as the contact sees it."""
        return message_from_request(sent.type, sent.body, self._replies_of(sent) if sent.type == "template" else ())

    def _replies_of(self, sent: AcceptedMessage) -> tuple[str, ...]:
        """The titles of a template's quick reply buttons, as they are registered."""
        name, language = sent.body["template"]["name"], sent.body["template"]["language"]["code"]
        known = (found for found in self.emulator.templates if (found.name, found.language) == (name, language))
        return tuple(button.title for found in known for button in found.buttons if button.kind == "quick_reply")

    def settle(self) -> None:
        """Wait until the bot is idle and the gateway has reported the status of its messages. Raises `Stuck`."""
        within = ANSWERED_WITHIN if self._asks_models else SETTLED_WITHIN
        until = monotonic() + within
        with _interrupts_between() as look:
            while monotonic() < until:
                if self._rests():
                    return
                look()
        raise Stuck(f"the bot has not settled within {within:g} seconds: does a handler hang?")

    def _rests(self) -> bool:
        """True if gateway and bot become idle within a moment."""
        emulator, engine = self.emulator, self._running.engine
        came = emulator.wait_until(emulator.idle, MOMENT) and engine.wait_settled(MOMENT)
        return came and emulator.idle() and engine.settled()


@contextmanager
def _interrupts_between() -> Iterator[Callable[[], None]]:
    """Note a Ctrl-C, and raise it when ``look`` is called, or at the end.

    In the middle of a wait it could leave a lock of the bot's held for ever, and the bot would never stop.
    """
    came: list[int] = []

    def look() -> None:
        if came:
            raise KeyboardInterrupt

    raises = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not raises or threading.current_thread() is not threading.main_thread():
        yield look
        return
    signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield look
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    look()


class _ModelsByHand:
    """Asks a person, and then lets the emulated service answer what they say. Time stands still while they are asked."""

    def __init__(self, by_hand: ByHand, clock: MovableClock, service: CompletionService) -> None:
        self.waits = by_hand.waits
        self._by_hand = by_hand
        self._clock = clock
        self._service = service
        self._one = threading.Lock()  # at a time: the request that comes is then this call's

    def before(self, perform: Perform) -> Perform:
        """What asks the person, and then makes the call."""

        def performed(row: CallRow, say: Say) -> CallAttempt:
            with self._clock.held():
                answer = self._by_hand(row)
            if isinstance(answer, CallAttempt):
                return answer
            with self._one:
                self._service.answer_with(answer)
                return perform(row, say)

        return performed


LIMIT = 1_000_000  # requests: no message waits for the gateway's limits


class RunningBot:
    """A started bot behind an emulated gateway. Use it as a context manager."""

    def __init__(
        self,
        program: Program,
        store: Path,
        clock: Clock,
        emulator: Emulator,
        models: ModelService,
        requester: Requester | None,
        secrets: Mapping[str, str] | None,
        spoken: Known = lambda url: None,
        prompter: Prompter | None = None,
    ) -> None:
        self.program = program
        self._store = store
        self._clock = clock
        self._emulator = emulator
        self._models = models
        self._requester = requester
        self._secrets = secrets
        self._spoken = spoken
        self._prompter = prompter

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop()

    def restart(self) -> None:
        """Stop the bot and start it again, with its store."""
        self._stop()
        self._start()

    def swap(self, program: Program) -> None:
        """Use these flows and handlers from the next event on."""
        self.program = program
        self.engine.swap(program)

    def _start(self) -> None:
        self.engine = Engine(
            self.program,
            self._store,
            self._clock,
            GatewayAccount(self._emulator.url, self._emulator.api_key, per_minute=LIMIT, per_day=LIMIT),
            models=self._models,
            requester=self._requester,
            secrets=self._secrets,
            spoken=self._spoken,
            prompter=self._prompter,
            delivers_events=False,
            gathering=0.0,  # there is one contact, so no other events come together with its own
        )
        self._bot = Bot(self.engine, self._store, self._clock, self._emulator.secret)
        self._bot.start()
        self._webhook = self._emulator.subscribe(self._bot.url)

    def _stop(self) -> None:
        self._emulator.unsubscribe(self._webhook)
        self._bot.stop()


URL = "https://template.example/{{1}}"
Media = Literal["", "image", "video", "document", "location"]


def approved_templates(library: Library) -> list[MessageTemplate]:
    """One template for each name and language, with the most parameters that any flow fills in.

    A step that fills in fewer than another is refused by the gateway, as by the real one.
    """
    uses: dict[tuple[str, str], list[TemplateUse]] = {}
    for use in template_uses(library):
        uses.setdefault((use.notice.name, use.notice.language), []).append(use)
    return [_template(name, language, found) for (name, language), found in uses.items()]


def _template(name: str, language: str, uses: Iterable[TemplateUse]) -> MessageTemplate:
    notices = [use.notice for use in uses]
    header = next((notice.header.kind for notice in notices if notice.header is not None), "")
    replies = max((use.replies for use in uses), key=len)
    urls = max((notice.url_places(len(replies)) for notice in notices), key=len)
    body = max(len(notice.body) for notice in notices)
    return MessageTemplate(
        name,
        language,
        body=" ".join(f"{{{{{number}}}}}" for number in range(1, body + 1)),
        header={"text": "{{1}}", FIXED: "Header"}.get(header, ""),
        header_media=cast(Media, header if header not in ("text", FIXED) else ""),
        buttons=tuple(_buttons(replies, urls)),
    )


def _buttons(replies: Sequence[str], urls: Collection[int]) -> Iterator[TemplateButton]:
    """The quick replies in order, with the links at their places between them."""
    titles = iter(replies)
    for place in range(len(replies) + len(urls)):
        yield (
            TemplateButton("url", f"Link {place}", URL)
            if place in urls
            else TemplateButton("quick_reply", next(titles))
        )
