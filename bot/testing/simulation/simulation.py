"""A simulation of conversations with a real bot, in one process and on a clock that can be moved.

Signed webhooks come in over HTTP, the store's two files lie in a temporary folder, and messages go out over HTTP.
Only the gateway and the models are emulated. The network is the loopback interface, and the limits are so high that
no message waits.
"""

import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any, Self

from bot.core.clock import MovableClock
from bot.core.engine_answers import FlowStarted, SignalReported
from bot.core.engine_requests import (
    AgreeToCall,
    CheckSignal,
    CheckStart,
    EngineRequest,
    RefuseCall,
    ReportSignal,
    SetValues,
    StartFlow,
)
from bot.core.errors import BotError
from bot.core.messages import MEDIA_KINDS
from bot.core.own_addresses import FileAddress
from bot.loading.program import Program
from bot.runtime.batch import RequestRefused
from bot.server.app import StandIns
from bot.services.outgoing import Requester
from bot.settings import ModelService
from bot.store.kept_files import kept_files
from bot.store.sqlite_schema import migrate
from bot.store.store_reader import StoreReader
from bot.testing.emulator import Emulator, InteractiveChoice
from bot.testing.emulator.completion import CompletionService
from bot.testing.simulation.approved_templates import approved_templates
from bot.testing.simulation.gateway_events import GATEWAY_EVENTS, NothingYet
from bot.testing.simulation.models_by_hand import ByHand, ModelsByHand
from bot.testing.simulation.phone import ShownMessage, choice_of, newest_choice
from bot.testing.simulation.phones import Phones
from bot.testing.simulation.running_bot import LIMIT, RunningBot
from bot.testing.simulation.sent_files import SentFiles, VoiceNotes
from bot.testing.simulation.store_view import StoreView

SETTLED_WITHIN = 30.0  # real seconds; a handler may take some time
ANSWERED_WITHIN = 600.0  # real seconds; a real model may need many rounds
MOMENT = 0.2  # real seconds: how late a Ctrl-C may be noticed
STUB_MODEL = "acme/stand-in"
FIRST_CONTACT = "15555550100"


class Stuck(BotError):
    """The bot did not become idle in time."""


class Simulation:
    """A bot and its contact, who acts by the methods here. Each returns when the bot is idle.

    Use it as a context manager.

    `phones` has the messages that came, `stored` what the store says about the contact. `gateway` reports other events,
    `operator` starts flows and sends signals. `emulator` is the gateway, `service` emulates the models unless
    ``models`` are real ones, and `running` is the bot itself. The contact may `become` another one.

    ``on_message`` is called with each message at once, on another thread. ``requester`` answers `http` steps; without
    it they send real requests, with ``secrets``. ``contact`` is the contact's number. ``asks_models``: the emulated
    service passes requests on to real models. ``by_hand`` answers for the models.
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
        self.emulator = Emulator(clock, per_minute=LIMIT, per_day=LIMIT, threads=4, delivery_threads=1)
        self.emulator.templates.add(*approved_templates(program.library))
        self.phones = Phones(self.emulator, lambda: self.contact, self._made_text, on_message)
        self.voice_notes = VoiceNotes(self.emulator, clock)
        self.emulator.behaviour.coordinates = "object"
        self.service = CompletionService(threads=2, models=None)  # steps may name any model
        self._models = models
        self.gateway = GatewayReports(self)
        self.operator = Operator(self)
        prompter = None if by_hand is None else ModelsByHand(by_hand, clock, self.service)
        self._files = SentFiles(self.emulator)
        self._outside = requester, secrets, StandIns(self.voice_notes.transcribe, prompter, self._files.located)
        self._program = program

    def __enter__(self) -> Self:
        self.emulator.start()
        try:
            with ExitStack() as parts:
                models = self._models or self._stub_models(parts)
                store = Path(parts.enter_context(TemporaryDirectory(prefix="bot-"))) / "bot.db"
                migrate(store)
                running = RunningBot(self._program, store, self.clock, self.emulator, models, *self._outside)
                self.running = parts.enter_context(running)
                reader = parts.enter_context(closing(StoreReader(store)))
                self.stored = StoreView(reader, kept_files(store), lambda: self.contact, self.phones)
                self._parts = parts.pop_all()
        except BaseException:
            self.emulator.stop()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self.emulator.stop()  # it stops first, because the bot's web server waits a while for open connections
        self._parts.close()

    def _stub_models(self, parts: ExitStack) -> ModelService:
        parts.enter_context(self.service)
        return ModelService(self.service.url, self.service.key, (STUB_MODEL,), "authorization")

    def _made_text(self, file: FileAddress, link: str) -> str:
        """The text of a file that is made, from the message that has it."""
        message = self.stored.reader.messages.with_file(file.made_for, link, file.at)
        return "" if message is None else message.content or ""

    # The contact

    def stamp(self, late: timedelta = timedelta()) -> datetime:
        """The time of a message that a contact writes now, in the whole seconds of the gateway's events.

        It is rounded up, so that no message seems to be older than the question that it answers.
        """
        at = self.clock.now() - late
        return at.replace(microsecond=0) + timedelta(seconds=1) if at.microsecond else at

    def user(self, text: str, late: timedelta = timedelta()) -> None:
        """Write a text. ``late`` is how long the message was on its way."""
        self.emulator.receive(self.contact, text, at=self.stamp(late))
        self.settle()

    def speak(self, words: str, late: timedelta = timedelta()) -> None:
        """Send a voice note that says these words. No handler or service is needed to transcribe it."""
        address = self.voice_notes.record(words)
        self.emulator.receive(self.contact, kind="audio", media_url=address, at=self.stamp(late))
        self.settle()

    def write_meanwhile(self, text: str) -> None:
        """Write while a call is under way. Returns when the bot has taken the text; it may still wait for the call."""
        self.emulator.receive(self.contact, text, at=self.stamp())
        self._wait_until(
            lambda: self.emulator.wait_until(self.emulator.idle, MOMENT) and self.running.engine.has_taken_all()
        )

    def _wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait while a call is under way. Raises `Stuck`."""
        until = monotonic() + SETTLED_WITHIN
        while not condition():
            if monotonic() >= until:
                raise Stuck(f"the bot has not taken what happens during a call within {SETTLED_WITHIN:g} seconds")
            sleep(MOMENT / 100)

    def flood(self, texts: Iterable[str]) -> None:
        """Write several messages at once. Returns when all are acknowledged; the bot may still be busy."""
        for text in texts:
            self.emulator.receive(self.contact, text, at=self.stamp())
        self.emulator.wait_until(self.emulator.idle, SETTLED_WITHIN)

    def send(
        self,
        kind: str,
        caption: str | None = None,
        content: bytes | None = None,
        location: Mapping[str, Any] | None = None,
        late: timedelta = timedelta(),
    ) -> None:
        """Send a file with this content (or a sample of its kind), a place, a sticker, or a reaction and the like."""
        place = None if location is None else dict(location)
        at = self.stamp(late)
        media_url = self._files.add(kind, content, at) if kind in MEDIA_KINDS else None
        self.emulator.receive(self.contact, caption, kind=kind, media_url=media_url, location=place, at=at)
        self.settle()

    def tap(self, title: str, late: timedelta = timedelta(), of: str = "") -> None:
        """Tap the newest button with this title, of a message or a template. Raises `NotOnScreen`.

        ``of`` is a part of the message's text, or the template's name.
        """
        self._choose(title, late, of, picks=False)

    def pick(self, title: str, late: timedelta = timedelta(), of: str = "") -> None:
        """Pick the newest row with this title, of a list with ``of`` in its text. Raises `NotOnScreen`."""
        self._choose(title, late, of, picks=True)

    def tap_payload(self, title: str, payload: str, late: timedelta = timedelta()) -> None:
        """Tap a quick reply of a template that this bot's flows did not send, such as a broadcast's."""
        self.emulator.show(self.contact, InteractiveChoice(payload, title, "template"))
        self._tap(payload, late)

    def _choose(self, title: str, late: timedelta, of: str, *, picks: bool) -> None:
        if of:
            self._tap(choice_of(self.phones.messages(), title, of), late)
        else:
            self._tap(newest_choice(self.emulator.shown(self.contact), title, picks=picks).id, late)

    def _tap(self, id: str, late: timedelta) -> None:
        self.emulator.tap(self.contact, id, at=self.stamp(late))
        self.settle()

    # The bot and the clock

    def wait(self, duration: timedelta) -> None:
        """Skip a time. Whatever falls due in it happens at its time."""
        until = self.clock.now() + duration
        self.stored.turns_of_all()  # before the store deletes them
        while (due := self.running.engine.next_due()) is not None and due <= until:
            self.clock.move_to(due)
            self.settle()
            self.stored.turns_of_all()
        self.clock.move_to(until)
        self.settle()

    def wait_meanwhile(self, duration: timedelta | None = None) -> None:
        """Skip a time while a model is asked; None: as much as it has to answer.

        Whatever falls due in it happens first.
        """
        seconds = self.stored.model_seconds() if duration is None else duration.total_seconds()
        engine, until = self.running.engine, self.clock.now() + timedelta(seconds=seconds)
        while (due := engine.next_due()) is not None and due < until:
            self.clock.move_to(due)
            self._wait_until(partial(self._is_next_after, due))
        self.clock.move_to(until)

    def _is_next_after(self, time: datetime) -> bool:
        """True if nothing is due that was due then."""
        due = self.running.engine.next_due()
        return due is None or due > time

    def restart(self) -> None:
        """Stop the bot and start it again, with its store."""
        self.running.restart()
        self.settle()

    def become_new_contact(self) -> None:
        """Continue as a new contact."""
        self.contact = str(int(self.contact) + 1)
        self.phones.clear()
        self.stored.forget_turns()

    def become(self, contact: str) -> None:
        """Continue as another contact. The messages of this one are kept."""
        self.contact = contact

    def swap(self, program: Program) -> None:
        """Use these flows and handlers from the next event on."""
        self.emulator.templates.add(*approved_templates(program.library))
        self.running.swap(program)

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
        emulator, engine = self.emulator, self.running.engine
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


COLLEAGUE = "colleague"
"""The person who decides in a simulation."""


class GatewayReports:
    """The events that the gateway reports, besides what contacts send."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    def happen(self, event: str, data: Mapping[str, Any]) -> None:
        """Report an event about the contact: see `bot.testing.simulation.gateway_events`, also for `NothingYet`."""
        GATEWAY_EVENTS[event].happen(self._simulation.emulator, self._simulation.contact, data)
        self._simulation.settle()

    def repeat(self) -> None:
        """Deliver the newest event once more. Raises `bot.testing.simulation.gateway_events.NothingYet`."""
        emulator = self._simulation.emulator
        if not emulator.counts.get("events"):
            raise NothingYet("the gateway has reported no event yet")
        emulator.repeat()
        self._simulation.settle()


class Operator:
    """The requests of programs and operators to the bot.

    `answer` is the bot's answer to the last start or signal, as `bot start` and `bot signal` show it.
    """

    def __init__(self, simulation: Simulation) -> None:
        self.answer: FlowStarted | SignalReported | None = None
        self._simulation = simulation

    def start(self, flow: str, data: Mapping[str, Any], busy: str | None) -> str:
        """Start a flow. Returns why the bot refuses that; empty if it does not."""
        contact, engine = self._simulation.contact, self._simulation.running.engine
        refusals = engine.check_start(CheckStart(contact, flow, dict(data)))
        return self._ask(StartFlow(contact, flow, dict(data), busy), refusals)

    def signal(self, name: str, data: Mapping[str, Any]) -> str:
        """Report a signal for the contact. Returns why the bot refuses that; empty if it does not."""
        contact, engine = self._simulation.contact, self._simulation.running.engine
        refusals = engine.check_signal(CheckSignal(contact, name, dict(data)))
        return self._ask(ReportSignal(contact, name, dict(data)), refusals)

    def _ask(self, request: EngineRequest[FlowStarted | SignalReported], refusals: Mapping[str, str]) -> str:
        if refusals:
            return "; ".join(refusals.values())
        self.answer = self._simulation.running.engine.operate(request)
        self._simulation.settle()
        return ""

    def decide(self, agreed: bool, note: str = "") -> str:
        """Decide as a colleague on what the bot asks. Returns why the bot refuses that; empty if it does not."""
        asked = self._simulation.stored.session().team_question
        if asked is None:
            return "no colleague is asked anything"
        kind = AgreeToCall if agreed else RefuseCall
        return self._operate(kind(self._simulation.contact, asked.id, note, by=COLLEAGUE))

    def set_values(self, values: Mapping[str, Any], flow: str | None) -> str:
        """Set variables of an open flow, or of the active one.

        Returns why the bot refuses that; empty if it does not.
        """
        return self._operate(SetValues(self._simulation.contact, dict(values), flow))

    def _operate(self, request: EngineRequest[Any]) -> str:
        try:
            self._simulation.running.engine.operate(request)
        except RequestRefused as refusal:
            return str(refusal)
        self._simulation.settle()
        return ""
