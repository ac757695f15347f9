"""A contact that talks to a bot by the real path, all in one process and on one clock that is moved.

Signed webhooks over HTTP in, the store's two files in a folder that is thrown away, messages over HTTP out: only the
gateway and the models are emulated, the network is the loopback interface, and the limits so high that nobody waits.
"""

from collections.abc import Callable
from contextlib import ExitStack, closing
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, Self
from zoneinfo import ZoneInfo

from bot.app import Bot, Engine
from bot.clock import MovableClock
from bot.core.errors import BotError
from bot.core.session import Session
from bot.emulator import Choice, Emulator, Sent
from bot.emulator.completion import CompletionService, Model
from bot.program import Program
from bot.settings import ModelService
from bot.simulation.approved import approved_templates
from bot.simulation.bubble import Bubble, bubble_of
from bot.store.migrations import migrate
from bot.store.reader import DeadLetter, StoreReader
from bot.store.trace import TurnTraced

SETTLED_WITHIN = 30.0  # real seconds; a handler may take its time
LIMIT = 1_000_000
TURNS_LOOKED_AT = 100
STAND_IN = "acme/stand-in"
FIRST_CONTACT = 15555550100
TAPPED: tuple[Literal["button", "template"], ...] = ("button", "template")


class Stuck(BotError):
    """The bot did not come to rest."""


class NotOnScreen(BotError):
    """The contact was never shown what it is to tap."""


class Simulation:
    """A bot and one contact. Each verb returns when the bot has come to rest; `heard` is what it said.

    ``on_bubble`` is called with each message at once, on another thread. ``emulator`` is the gateway, ``service``
    stands in for the models unless ``models`` are real ones. Use it as a context manager.
    """

    def __init__(
        self,
        program: Program,
        clock: MovableClock,
        on_bubble: Callable[[Bubble], None] | None = None,
        models: ModelService | None = None,
    ) -> None:
        self.clock = clock
        self.contact = str(FIRST_CONTACT)
        self._on_bubble = on_bubble
        self._heard: list[Bubble] = []
        self.emulator = Emulator(clock, per_minute=LIMIT, per_day=LIMIT, threads=4, delivery_threads=1)
        self.emulator.templates.add(*approved_templates(program.library))
        self.emulator.on_sent(self._take)
        self.service = CompletionService(threads=2, models=[Model(STAND_IN)])
        self._models = models
        self._program = program

    def __enter__(self) -> Self:
        self.emulator.start()
        try:
            with ExitStack() as parts:
                if self._models is None:
                    parts.enter_context(self.service)
                    self._models = ModelService(self.service.url, self.service.key, (STAND_IN,), "authorization")
                self._start_bot(parts)
                self._parts = parts.pop_all()
        except BaseException:
            self.emulator.stop()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self.emulator.stop()  # first: the bot's web server waits a while for connections that are kept open
        self._parts.close()

    def _start_bot(self, parts: ExitStack) -> None:
        store = Path(parts.enter_context(TemporaryDirectory(prefix="bot-"))) / "bot.db"
        migrate(store)
        self._engine = Engine(
            self._program,
            store,
            self.clock,
            gateway_url=self.emulator.url,
            gateway_key=self.emulator.api_key,
            per_minute=LIMIT,
            per_day=LIMIT,
            models=self._models,
        )
        bot = Bot(self._engine, store, self.clock, self.emulator.secret)
        bot.start()
        parts.callback(bot.stop)
        self._reader = parts.enter_context(closing(StoreReader(store)))
        self.emulator.subscribe(bot.url)

    # What the contact does

    def user(self, text: str) -> None:
        """The contact writes."""
        self.emulator.receive(self.contact, text)
        self.settle()

    def tap(self, title: str) -> None:
        """The contact taps a button, of a message or a template: the newest of this title. Raises `NotOnScreen`."""
        self._choose(title, TAPPED, "button")

    def pick(self, title: str) -> None:
        """The contact picks a row of a list: the newest of this title. Raises `NotOnScreen`."""
        self._choose(title, ("list",), "row")

    def _choose(self, title: str, kinds: tuple[str, ...], what: str) -> None:
        on_screen = [choice for choice in self.emulator.shown(self.contact) if choice.kind in kinds]
        chosen = [choice for choice in on_screen if choice.title == title]
        if not chosen:
            raise NotOnScreen(f'there is no {what} "{title}"{_instead(on_screen)}')
        self.emulator.tap(self.contact, chosen[-1].id)
        self.settle()

    def wait(self, duration: timedelta) -> None:
        """Time passes, from one thing that falls due to the next."""
        until = self.clock.now() + duration
        while (due := self._engine.next_due()) is not None and due <= until:
            self.clock.move_to(due)
            self.settle()
        self.clock.move_to(until)
        self.settle()

    # What there is to see

    @property
    def timezone(self) -> ZoneInfo:
        """The bot's time zone."""
        return self._program.library.bot.timezone

    def heard(self) -> list[Bubble]:
        """What the bot has said since this was asked last."""
        heard, self._heard = self._heard, []
        return heard

    def session(self) -> Session:
        """Where the contact is, and what the conversation knows."""
        return self._reader.session(self.contact) or Session(self.contact)

    def trace(self, limit: int = 20) -> list[TurnTraced]:
        """The contact's last turns."""
        return self._reader.trace(self.contact, limit)

    def dead_letters(self) -> list[DeadLetter]:
        """What the bot has given up on with this contact, the oldest first."""
        return [letter for letter in reversed(self._reader.dead_letters()) if letter.contact == self.contact]

    def complaints(self) -> list[str]:
        """What went wrong with this contact of late, in words: what its turns noted, and what was given up."""
        notes = [note for turn in self.trace(TURNS_LOOKED_AT) for note in turn.notes]
        reasons = [letter.reason for letter in self.dead_letters()]
        return notes + [reason for reason in reasons if not any(reason in note for note in notes)]

    # What the author does

    def restart(self) -> None:
        """Begin anew as somebody whom the bot has never met."""
        self.contact = str(int(self.contact) + 1)
        self._heard = []

    def swap(self, program: Program) -> None:
        """Take the next event with these flows and handlers."""
        self._program = program
        self.emulator.templates.add(*approved_templates(program.library))
        self._engine.swap(program)

    def _take(self, sent: Sent) -> None:
        if sent.to != self.contact:
            return
        bubble = bubble_of(sent.type, sent.body, self._replies_of(sent) if sent.type == "template" else ())
        self._heard.append(bubble)
        if self._on_bubble is not None:
            self._on_bubble(bubble)

    def _replies_of(self, sent: Sent) -> tuple[str, ...]:
        """The titles of a template's quick reply buttons: only its registration knows them."""
        name, language = sent.body["template"]["name"], sent.body["template"]["language"]["code"]
        known = (found for found in self.emulator.templates if (found.name, found.language) == (name, language))
        return tuple(button.title for found in known for button in found.buttons if button.kind == "quick_reply")

    def settle(self) -> None:
        """Wait until the bot has come to rest. Raises `Stuck`."""
        delivered = self.emulator.wait_until(self.emulator.idle, SETTLED_WITHIN)
        if not delivered or not self._engine.wait_settled(SETTLED_WITHIN):
            raise Stuck(f"the bot has not come to rest within {SETTLED_WITHIN:g} seconds: does a handler hang?")


def _instead(on_screen: list[Choice]) -> str:
    newest = list(dict.fromkeys(choice.title for choice in reversed(on_screen)))[:10]
    return f", but there is {', '.join(reversed(newest))}" if newest else ", and nothing else to choose from either"
