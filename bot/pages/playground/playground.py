"""The playground: a bot beside the emulators, and what a person does as its contacts, its programs and its clock."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import PurePath
from typing import Any, Self

from bot.core.clock import MovableClock
from bot.core.errors import BotError
from bot.core.filetypes import END, type_of
from bot.core.immutable import immutable
from bot.core.session import SENDING_WINDOW
from bot.core.text import head
from bot.core.values import value_of_text
from bot.language.source.problems import Problem
from bot.language.source.wall_clock import LONGEST, UNITS, duration_words
from bot.loading.program import Program
from bot.pages.playground.chats import Chats
from bot.pages.playground.questions import Questions
from bot.pages.playground.refused import Refused
from bot.pages.playground.service_faults import FaultSwitches
from bot.settings import ModelService
from bot.store.rows import CallRow
from bot.testing.conversations.answers_by_hand import answer_by_hand
from bot.testing.emulator import AcceptedMessage
from bot.testing.simulation.gateway_events import GATEWAY_EVENTS
from bot.testing.simulation.simulation import FIRST_CONTACT, Simulation
from bot.testing.simulation.turn_words import line_of, value_in_words

MOST_TEXT = 4096  # characters of what a contact writes
MOST_FILE = 16 << 20  # bytes


@immutable
class Trouble:
    """The reason why the files on the disk do not run: problems, or ``why`` they could not even be read."""

    problems: Sequence[Problem] = ()
    why: str = ""


class Playground:
    """A bot and its made-up contacts. Use it as a context manager.

    Methods that act may be called from any thread, and raise `BotError` with a sentence for the person. Those of a
    contact return at once; those that skip time, start a flow or send a signal return when the bot is idle.
    """

    def __init__(
        self,
        program: Program,
        clock: MovableClock,
        secrets: Mapping[str, str],
        models: ModelService | None = None,
    ) -> None:
        self.questions = Questions(clock, self._is_awaited, self._note_change) if models is None else None
        self.simulation = Simulation(program, clock, None, models, secrets=secrets, by_hand=self.questions)
        self.simulation.emulator.behaviour.statuses = ("sent", "delivered", "read")
        self.simulation.emulator.on_sent(self._shown)
        self.chats = Chats(clock, self._note_change)
        self.faults = FaultSwitches(self.simulation.emulator, self._note_change)
        self.trouble = Trouble()
        self._lock = threading.Lock()
        self._acting = threading.Lock()  # one start or move of the clock at a time
        self._runs = threading.Lock()  # held while the bot is stopped: what a contact does waits for it
        self._changes = 0

    def __enter__(self) -> Self:
        self.simulation.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._release()
        self.simulation.__exit__(*exc)

    def _release(self) -> None:
        if self.questions is not None:
            self.questions.release()

    def _is_awaited(self, row: CallRow) -> bool:
        session = self.simulation.stored.reader.sessions.get(row.contact)
        return session is not None and session.awaits(row.ref)

    def _note_change(self) -> None:
        with self._lock:
            self._changes += 1

    # The page

    def version(self) -> tuple[int, int]:
        """A value that differs after each change of what the page shows."""
        return self.simulation.stored.reader.commits(), self._changes

    def _shown(self, sent: AcceptedMessage) -> None:
        self.chats.add(sent.to, self.simulation.phones.shown(sent), sent.message_id, key=sent.key)

    # The contacts

    def write(self, contact: str, text: str) -> None:
        """A contact writes."""
        if not text.strip():
            raise Refused("the message is empty")
        if len(text) > MOST_TEXT:
            raise Refused(f"a message has at most {MOST_TEXT} characters")
        self._send(contact, lambda at: self.simulation.emulator.receive(contact, text, at=at), text=text)

    def speak(self, contact: str, words: str) -> None:
        """A contact sends a voice note that says this."""
        if not words.strip():
            raise Refused("the voice note says nothing")
        emulator, address = self.simulation.emulator, self.simulation.voice_notes.record(head(words, MOST_TEXT))
        self._send(
            contact,
            lambda at: emulator.receive(contact, kind="audio", media_url=address, at=at),
            text=words,
            kind="audio",
            file=f"{PurePath(address).name} voice.ogg",
            data={"words": words},
        )

    def choose(self, contact: str, number: int, choice: int) -> None:
        """A contact taps a button, or picks a row: the choice of a bubble, counted from 0, also of an old one."""
        found = next((bubble for bubble in self.chats.bubbles(contact) if bubble.number == number), None)
        message = None if found is None else found.message
        if message is None or not 0 <= choice < len(message.choices):
            raise Refused("there is no such button any more")
        title = message.choices[choice]
        id = message.ids[choice] if choice < len(message.ids) else title  # of a template whose replies have no payload
        how = {"how": "pick" if message.rows else "tap"}
        emulator = self.simulation.emulator
        self._send(contact, lambda at: emulator.tap(contact, id, at=at), text=title, kind="choice", data=how)

    def send_file(self, contact: str, name: str, content: bytes, caption: str) -> None:
        """A contact sends a file."""
        self.chats.require(contact)
        found = type_of(content[:END], content[-END:])
        if found is None or len(content) > MOST_FILE:
            raise Refused(
                f"contacts cannot send {name}: its type is not supported, or it has more than {MOST_FILE >> 20} MB"
            )
        emulator, kind = self.simulation.emulator, found.kind
        with self._lock:
            kept = f"{len(emulator.media)}.{found.suffix}"
            emulator.media[kept] = content
        address = f"{emulator.url}/media/{int(self.simulation.clock.now().timestamp())}/{kept}"
        self._send(
            contact,
            lambda at: emulator.receive(contact, caption or None, kind=kind, media_url=address, at=at),
            text=caption,
            kind=kind,
            file=f"{kept} {PurePath(name).name}",
        )

    def send_place(self, contact: str, latitude: float, longitude: float, name: str) -> None:
        """A contact sends a place. Degrees, as on maps."""
        if not (-90 <= latitude <= 90 and -180 <= longitude <= 180):
            raise Refused("a latitude lies between -90 and 90, a longitude between -180 and 180")
        place: dict[str, Any] = {"latitude": latitude, "longitude": longitude} | ({"name": name} if name else {})
        self._send(
            contact,
            lambda at: self.simulation.emulator.receive(contact, kind="location", location=place, at=at),
            text=name or f"{latitude}, {longitude}",
            kind="location",
            data=place,
        )

    def _send(self, contact: str, send: Callable[[datetime], str], **shown: Any) -> None:
        """Show a message of a contact's, and let the gateway report it: ``send`` takes its time, and returns the
        event's id.
        """
        with self._runs:
            number = self.chats.add(self.chats.require(contact), **shown)
            self.chats.acts[send(self.simulation.stamp(self.faults.delay))] = number

    # The models

    def answer(self, contact: str, written: str) -> None:
        """Answer in place of the model that is asked: see `bot.testing.conversations.answers_by_hand`."""
        row = None if self.questions is None else self.questions.of(self.chats.require(contact))
        if self.questions is None or row is None:
            raise Refused("no model is asked here")
        answer = answer_by_hand(written)
        self.chats.add(contact, text=f"the model: {written.strip()}", kind="model", data={"written": written})
        self.questions.answer(row, answer)

    # Programs, the gateway, the bot and the clock

    def start(self, contact: str, flow: str, data: Mapping[str, Any]) -> None:
        """A program starts a flow for a contact."""
        told = {"flow": flow, "data": dict(data)}
        self._besides(
            contact, f"start of {flow}", "start", told, lambda bot: _refuse(bot.operator.start(flow, data, None))
        )

    def signal(self, contact: str, name: str, data: Mapping[str, Any]) -> None:
        """A program reports a signal for a contact."""
        told = {"name": name, "data": dict(data)}
        self._besides(contact, f"signal {name}", "signal", told, lambda bot: _refuse(bot.operator.signal(name, data)))

    def happen(self, contact: str, event: str) -> None:
        """The gateway reports one of `GATEWAY_EVENTS`."""
        if event not in GATEWAY_EVENTS:
            raise Refused(f"the gateway has no event {event}")
        self._besides(contact, event, "event", {}, lambda bot: bot.gateway.happen(event, {}))

    def set_values(self, contact: str, flow: str, values: Mapping[str, Any]) -> None:
        """An operator sets variables of a flow that the contact is in, or those with `keep`."""
        told = ", ".join(f"{name} set to {line_of(value_in_words(value))}" for name, value in values.items())
        data = {"flow": flow, "values": dict(values)}
        self._besides(contact, told, "set", data, lambda bot: _refuse(bot.operator.set_values(values, flow)))

    def decide(self, contact: str, agreed: bool, note: str) -> None:
        """A colleague decides on what the bot asks the team."""
        told = f"a colleague {'agrees' if agreed else 'refuses'}{f': {note}' if note else ''}"
        data = {"agreed": agreed, "note": note}
        self._besides(contact, told, "colleague", data, lambda bot: _refuse(bot.operator.decide(agreed, note)))

    def restart(self, contact: str) -> None:
        """Stop the bot and start it again, with its store."""
        with self._runs:
            self._release()
            self.act_as(contact, lambda bot: bot.restart())

    def wait(self, duration: timedelta) -> None:
        """Skip a time. Whatever falls due in it happens at its time."""
        if not timedelta() < duration <= LONGEST:
            raise Refused(f"the time to skip is more than 0 and at most {LONGEST.days} days")
        for contact in self.chats.contacts:
            self.chats.add(contact, text=duration_words(duration, len(UNITS)), kind="wait")
        self.act_as(FIRST_CONTACT, lambda bot: bot.wait(duration))

    def wait_for_next(self) -> None:
        """Skip to the next event that happens by itself."""
        due = self.simulation.running.engine.next_due()
        if due is None:
            raise Refused("there is no next event: no reminder, time-out, schedule or retry is waiting")
        left = max(due - self.simulation.clock.now(), timedelta())
        self.wait(timedelta(seconds=int(left.total_seconds()) + 1))

    def skip_past_window(self, contact: str) -> None:
        """Skip the time in which the gateway takes other messages than templates for a contact."""
        last = self.simulation.stored.reader.sessions.last_inbound(self.chats.require(contact))
        left = timedelta() if last is None else last + SENDING_WINDOW - self.simulation.clock.now()
        if left <= timedelta():
            raise Refused("the window is closed already: the bot may send this contact only templates")
        self.wait(left + timedelta(minutes=6))

    def _besides(
        self, contact: str, text: str, kind: str, data: Mapping[str, Any], act: Callable[[Simulation], None]
    ) -> None:
        """Do something that is no message, and show it at the contact's phone; taken back if the bot refuses it."""
        number = self.chats.add(self.chats.require(contact), text=text, kind=kind, data=data)
        try:
            self.act_as(contact, act)
        except BotError:
            self.chats.remove(contact, number)
            raise

    def act_as(self, contact: str, act: Callable[[Simulation], None]) -> None:
        """Do something in the simulation as a contact; only one such act runs at a time."""
        self.chats.require(contact)
        with self._acting:
            self.simulation.become(contact)
            try:
                act(self.simulation)
            finally:
                self._note_change()

    # The bot's files

    def use(self, program: Program) -> None:
        """Use these flows and handlers from the next event on."""
        self.simulation.swap(program)
        self._set_trouble(Trouble())

    def complain(self, problems: Sequence[Problem], why: str) -> None:
        """Show why the files on the disk do not run. The flows from before stay."""
        self._set_trouble(Trouble(tuple(problems), why))

    def _set_trouble(self, trouble: Trouble) -> None:
        with self._lock:
            self.trouble = trouble
            self._changes += 1


def _refuse(why: str) -> None:
    if why:
        raise Refused(f"the bot refuses this: {why}")


def values_in(lines: Iterable[str]) -> dict[str, Any]:
    """The values of lines like ``name=value``. Raises `Refused` for a line without ``=``, and for broken JSON."""
    found: dict[str, Any] = {}
    for line in filter(str.strip, lines):
        name, equals, value = line.partition("=")
        if not equals:
            raise Refused(f'"{line.strip()}" is no value: write name=value, each on its own line')
        try:
            found[name.strip()] = value_of_text(value.strip())
        except ValueError:
            raise Refused(f'{name.strip()} is not JSON: write it like ["one", 2] or {{"id": 7}}') from None
    return found
