"""Somebody who does anything at any time with a bot, by the real path (`bot.testing.simulation`)."""

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from typing import Self

from hypothesis import note

from bot.checker.exploring.proposals import accepts_text
from bot.core.clock import MovableClock
from bot.core.events import TimeReached
from bot.core.messages import MEDIA_KINDS
from bot.core.session import BUSY, Session
from bot.engine.turn_context import TurnContext
from bot.language.flow.definition import Step
from bot.language.flow.library import Library
from bot.loading.program import load_handlers
from bot.store.trace_rows import TurnTraced
from bot.testing.conversations.transcript_reader import FAULTS, LATEST
from bot.testing.emulator import InteractiveChoice
from bot.testing.simulation.simulation import Simulation
from tests.random_world import World
from tests.tried_bot import JUNK, TriedBot

NAMES = ("Ann", "Ann\nExample", "x" * 300, "{{ 7 * 7 }}", "👋🏽", " ")
TAGS = ((), ("vip",), ("vip", "x" * 300), ("handoff:support",))
DAY = timedelta(days=1)
HOURS = 14 * 24  # of which a talk begins at one: by day and by night, on any day of the week
MOST_DAYS = 60  # until all is over that anybody has begun
AT_ONCE = 6 * DAY  # the store forgets what is older
NEWEST = 80  # more turns than an act makes, or six days
FEW = 5  # mostly it makes fewer


class Contact:
    """One contact of a bot with a store and a world of its own. Use it as a context manager.

    ``turns`` are all that the store has traced, though it forgets them; ``message_failed`` tells that the gateway has
    said so of a message.
    """

    def __init__(self, tried: TriedBot, seed: int) -> None:
        self.turns: list[TurnTraced] = []
        self.message_failed = False
        self.world = World(tried.transcripts, seed)
        self.library = _by_chance(tried.program.library, self.world)
        self._tried = tried
        self._seen: set[str] = set()
        self._said: list[str] = []  # the titles of the newest choices
        began = datetime(2030, 5, 1, tzinfo=self.library.bot.timezone) + timedelta(hours=seed % HOURS)
        program = replace(tried.program, library=self.library, extensions=load_handlers(tried.folder)[0])
        self._clock = MovableClock(began)
        self.simulation = Simulation(program, self._clock, requester=self.world.request)
        self.simulation.service.answer_with(self.world.speak)
        self._running = ExitStack()

    def __enter__(self) -> Self:
        self._running.enter_context(self.simulation)
        return self

    def __exit__(self, *exc: object) -> None:
        self._running.close()

    @property
    def session(self) -> Session:
        """Where the contact is."""
        return self.simulation.stored.session()

    def act(self, kind: str, seed: int) -> None:
        """Do something; the seed says what exactly. While a person has the conversation, it is often given back. If a
        colleague is asked, they often decide.
        """
        dice = Random(seed)
        if self._is_with_person and dice.random() < 0.3:
            self._resolved(dice)
        if self.session.team_question is not None and dice.random() < 0.3:
            self.simulation.operator.decide(dice.random() < 0.5, dice.choice(NAMES)[:300])
        ACTS[kind](self, dice)
        self.look()

    @property
    def _step(self) -> Step | None:
        frame = self.session.frame
        return None if frame is None else self.library.flows[frame.flow].steps[frame.step]

    @property
    def _is_with_person(self) -> bool:
        return self.session.agent is not None or (self._step is not None and self._step.facts.ignores_messages)

    @property
    def _waits_for_person(self) -> bool:
        """True if only a person can continue the conversation."""
        timeout = None if self._step is None else self._step.options.defaults.timeout
        return self.session.agent is not None or (self._is_with_person and timeout is None)

    def look(self) -> None:
        """Take in what has come of it."""
        new = self._new(FEW)
        if len(new) == FEW:
            new = self._new(NEWEST)
        assert len(new) < NEWEST, "turns without end"
        self.turns += new
        self._seen |= {turn.event_id for turn in new}
        for message in self.simulation.phones.heard():
            note(f"    bot: {message.text[:60]!r} {list(message.choices) or ''}{message.template or ''}")
            self._said = list(message.choices) or self._said

    def _new(self, limit: int) -> list[TurnTraced]:
        return [turn for turn in self.simulation.stored.trace(limit) if turn.event_id not in self._seen]

    def wait(self, duration: timedelta) -> None:
        """Let time pass, and take in on the way what would be forgotten."""
        while duration > timedelta():
            self.simulation.wait(min(duration, AT_ONCE))
            self.look()
            duration -= AT_ONCE

    def leave(self) -> None:
        """Fall silent until everything has come to its end. Only what waits for a person is closed by one."""
        self.simulation.emulator.faults.clear()
        for _ in range(MOST_DAYS):
            session = self.session
            if not (session.frames or session.agent or any(plan.every is None for plan in session.plans)):
                return
            self.wait(DAY)
            if self._waits_for_person:
                self.simulation.gateway.happen("conversation.resolved", {})
                self.look()
        self.wait(timedelta(hours=1))  # for what a schedule has begun at this very moment

    # The acts of a contact

    def _text(self, dice: Random) -> None:
        self._write(dice.choice(self._tried.texts), dice)

    def _junk(self, dice: Random) -> None:
        self._write(dice.choice(JUNK), dice)

    def _title(self, dice: Random) -> None:
        self._write(dice.choice(self._said or self._tried.texts), dice)

    def _word(self, dice: Random) -> None:
        """A word that is heard wherever the contact is, or right here."""
        words = {**self.library.bot.words}
        frame, step = self.session.frame, self._step
        if frame is not None and step is not None:
            words |= {**self.library.flows[frame.flow].words, **step.options.words}
        self._write(dice.choice(list(words) or self._tried.texts), dice)

    def _answer(self, dice: Random) -> None:
        """A text that the waiting step takes, where there is one among all; an image where it collects files."""
        step = self._step
        if step is not None and step.facts.gathers_files:
            note("answer: image")
            self.simulation.send("image", None, None, None, _late(dice))
            return
        texts = dice.sample(self._tried.texts, len(self._tried.texts))
        work = TurnContext(self.library, self.session, TimeReached("", self.simulation.contact, self._clock.now()))
        self._write(next((text for text in texts if accepts_text(work, text)), texts[0]), dice)

    def _write(self, text: str, dice: Random) -> None:
        note(f"user: {text[:60]!r}")
        self.simulation.user(text, _late(dice))

    def _tap(self, dice: Random) -> None:
        shown = [choice for choice in self._shown() if choice.title in self._said]
        self._tap_on({choice.title: choice for choice in shown}.values(), dice)

    def _tap_old(self, dice: Random) -> None:
        self._tap_on(self._shown(), dice)

    def _tap_on(self, choices: Iterable[InteractiveChoice], dice: Random) -> None:
        listed = list(choices)
        if not listed:
            self._answer(dice)
            return
        choice = dice.choice(listed)
        note(f"tap: {choice.title!r} {choice.id}")
        simulation = self.simulation
        simulation.emulator.tap(simulation.contact, choice.id, at=self._clock.now() - _late(dice))
        simulation.settle()

    def _shown(self) -> list[InteractiveChoice]:
        return self.simulation.emulator.shown(self.simulation.contact)

    def _send(self, dice: Random) -> None:
        kind = dice.choice([*MEDIA_KINDS, "sticker", "location", "location"])
        place = {"latitude": dice.uniform(-90, 90), "longitude": dice.choice([0, 7.5, -180]), "name": "Here"}
        note(f"send: {kind}")
        caption = dice.choice([None, "Here it is", *JUNK]) if kind in MEDIA_KINDS else None
        self.simulation.send(kind, caption, None, place if kind == "location" else None, _late(dice))

    # Other events

    def _minutes(self, dice: Random) -> None:
        self._wait(dice, timedelta(minutes=1), timedelta(hours=3))

    def _days(self, dice: Random) -> None:
        self._wait(dice, timedelta(hours=3), timedelta(days=3))

    def _weeks(self, dice: Random) -> None:
        self._wait(dice, timedelta(days=3), timedelta(days=40))

    def _wait(self, dice: Random, least: timedelta, most: timedelta) -> None:
        duration = timedelta(seconds=dice.randint(int(least.total_seconds()), int(most.total_seconds())))
        note(f"wait: {duration}")
        self.wait(duration)

    def _restart(self, dice: Random) -> None:
        note("restart")
        self.simulation.restart()

    def _again(self, dice: Random) -> None:
        if self.simulation.emulator.counts.get("events"):
            note("again")
            self.simulation.gateway.repeat()

    def _assigned(self, dice: Random) -> None:
        note("conversation.assigned")
        self.simulation.gateway.happen("conversation.assigned", {"agent": dice.choice(NAMES)})

    def _resolved(self, dice: Random) -> None:
        note("conversation.resolved")
        self.simulation.gateway.happen("conversation.resolved", {})

    def _event(self, dice: Random) -> None:
        events = ["contact.created", "contact.updated", "conversation.opened"]
        if self.simulation.phones.received:
            events += ["message.delivered", "message.read", "message.failed"]
        event = dice.choice(events)
        data = {"name": dice.choice(NAMES), "tags": dice.choice(TAGS)} if event.startswith("contact") else {}
        self.message_failed |= event == "message.failed"
        note(f"{event} {data}")
        self.simulation.gateway.happen(event, data)

    def _start(self, dice: Random) -> None:
        """A program starts a flow, as one of the bot's tests says; nonsense in its data is refused."""
        if not self._tried.starts:
            self._text(dice)
            return
        start, busy = dice.choice(self._tried.starts), dice.choice(BUSY)
        data = dice.choice([start.data, start.data, dict.fromkeys(start.data, "x" * 2000), {"nothing_like": 1}])
        note(f"start: {start.flow} {data} {busy}")
        self.simulation.operator.start(start.flow, data, busy)

    def _fault(self, dice: Random) -> None:
        kind, count = dice.choice(FAULTS), dice.choice([1, 1, 2, 4])
        note(f"fault: {kind} {count}")
        self.simulation.emulator.faults.add(kind, count=count, seconds=dice.choice([1, 90]))


ACTS: dict[str, Callable[[Contact, Random], None]] = {
    "answer": Contact._answer,
    "tap": Contact._tap,
    "title": Contact._title,
    "word": Contact._word,
    "text": Contact._text,
    "junk": Contact._junk,
    "old tap": Contact._tap_old,
    "send": Contact._send,
    "minutes": Contact._minutes,
    "days": Contact._days,
    "weeks": Contact._weeks,
    "restart": Contact._restart,
    "again": Contact._again,
    "assigned": Contact._assigned,
    "resolved": Contact._resolved,
    "event": Contact._event,
    "start": Contact._start,
    "fault": Contact._fault,
}


def _by_chance(library: Library, world: World) -> Library:
    translations = {name: replace(other, draw=world.draw) for name, other in library.translations.items()}
    return replace(library, draw=world.draw, translations=translations)


def _late(dice: Random) -> timedelta:
    """Most messages come at once."""
    return dice.choice([timedelta()] * 8 + [timedelta(minutes=1), LATEST])
