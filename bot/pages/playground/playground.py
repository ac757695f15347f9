"""The playground: a bot beside the emulators, and what a person does as its contacts, its programs and its clock."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import zip_longest
from pathlib import PurePath
from typing import Any, Self

from bot.core.clock import MovableClock
from bot.core.errors import BotError
from bot.core.filetypes import END, type_of
from bot.core.immutable import immutable
from bot.core.session import SENDING_WINDOW
from bot.core.text import head
from bot.language.source.problems import Problem
from bot.language.source.wall_clock import LONGEST, UNITS, duration_words, parse_duration
from bot.loading.program import Program
from bot.pages.playground.questions import Questions
from bot.pages.playground.service_faults import LATE, SERVICE_FAULTS, Switch
from bot.pages.shared.contact_view import Bubble
from bot.settings import ModelService
from bot.store.rows import CallRow
from bot.testing.conversations.answers_by_hand import answer_by_hand
from bot.testing.emulator import AcceptedMessage
from bot.testing.simulation.gateway_events import GATEWAY_EVENTS
from bot.testing.simulation.phone import ShownMessage
from bot.testing.simulation.simulation import FIRST_CONTACT, Simulation
from bot.testing.simulation.turn_words import line_of, value_in_words

MOST_TEXT = 4096  # characters of what a contact writes
MOST_FILE = 16 << 20  # bytes
MOST_CONTACTS = 50


class Refused(BotError):
    """What a person asked for cannot be done; its text says why."""


@immutable
class Replayed:
    """A conversation that was held again by a new ``contact``. ``difference`` is the first one in what the bot said; empty
    if there is none.
    """

    contact: str
    difference: str


@immutable
class Trouble:
    """Why the files on the disk do not run. ``why`` is said where they could not even be read."""

    problems: Sequence[Problem] = ()
    why: str = ""


class Playground:
    """A bot and its made-up contacts. Use it as a context manager.

    Methods that act may be called from any thread, and raise `BotError` with a sentence for the person. What a contact does returns
    at once; time, starts and signals return when the bot is idle.
    """

    def __init__(
        self,
        program: Program,
        clock: MovableClock,
        models: ModelService | None = None,
        secrets: Mapping[str, str] | None = None,
    ) -> None:
        self.questions = Questions(clock, self._is_awaited, self._note_change) if models is None else None
        self.simulation = Simulation(program, clock, None, models, secrets=secrets, by_hand=self.questions)
        self.simulation.emulator.behaviour.statuses = ("sent", "delivered", "read")
        self.simulation.emulator.on_sent(self._shown)
        self.trouble = Trouble()
        self._lock = threading.Lock()
        self._acting = threading.Lock()  # one start or move of the clock at a time
        self._runs = threading.Lock()  # held while the bot is stopped: what a contact does waits for it
        self._bubbles: dict[str, list[Bubble]] = {FIRST_CONTACT: []}
        self._count = 0
        self.acts: dict[str, int] = {}
        """The bubbles of what contacts have sent, by the ids of its events."""
        self._changes = 0
        self._faults: dict[str, Switch] = {}

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
        session = self.simulation.reader.session(row.contact)
        return session is not None and session.awaits(row.ref)

    def _note_change(self) -> None:
        with self._lock:
            self._changes += 1

    # What there is to see

    def version(self) -> tuple[int, int]:
        """Another value after each change of what there is to see."""
        return self.simulation.reader.commits(), self._changes

    @property
    def contacts(self) -> list[str]:
        """The numbers of all contacts, the first one first."""
        with self._lock:
            return list(self._bubbles)

    def bubbles(self, contact: str) -> list[Bubble]:
        """A contact's messages, oldest first. Raises `Refused` for an unknown contact."""
        with self._lock:
            if contact not in self._bubbles:
                raise Refused(f"there is no contact {contact}")
            return list(self._bubbles[contact])

    @property
    def faults(self) -> list[str]:
        """The names of the switches of `SERVICE_FAULTS` that are on; `late`, too."""
        with self._lock:
            return list(self._faults)

    def now(self) -> datetime:
        """The time in the playground, aware."""
        return self.simulation.clock.now()

    def _shown(self, sent: AcceptedMessage) -> None:
        self._add(sent.to, self.simulation.message(sent), sent.message_id, key=sent.key)

    def _add(
        self,
        contact: str,
        message: ShownMessage | None = None,
        id: str = "",
        *,
        text: str = "",
        kind: str = "text",
        file: str = "",
        data: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> int:
        with self._lock:
            self._count += 1
            bubble = Bubble(self._count, self.now(), message, id, text, kind, file, data or {}, key)
            self._bubbles.setdefault(contact, []).append(bubble)
            self._changes += 1
        return bubble.number

    # What the contacts do

    def add_contact(self) -> str:
        """A further contact, whom the bot does not know. Returns the number."""
        with self._lock:
            if len(self._bubbles) >= MOST_CONTACTS:
                raise Refused(f"there are {MOST_CONTACTS} contacts already: start `bot dev` again")
            number = str(max(map(int, (*self._bubbles, FIRST_CONTACT))) + 1)
            self._bubbles[number] = []
            self._changes += 1
        return number

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
        emulator, address = self.simulation.emulator, self.simulation.voice_note(head(words, MOST_TEXT))
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
        found = next((bubble for bubble in self.bubbles(contact) if bubble.number == number), None)
        message = None if found is None else found.message
        if message is None or not 0 <= choice < len(message.choices):
            raise Refused("there is no such button any more")
        title = message.choices[choice]
        id = message.ids[choice] if choice < len(message.ids) else title  # of a template whose replies have no payload
        how = {"how": "pick" if message.rows else "tap"}
        emulator = self.simulation.emulator
        self._send(contact, lambda at: emulator.tap(contact, id, at=at), text=title, kind="choice", data=how)

    def send_file(self, contact: str, name: str, content: bytes, caption: str = "") -> None:
        """A contact sends a file."""
        self._known(contact)
        found = type_of(content[:END], content[-END:])
        if found is None or len(content) > MOST_FILE:
            raise Refused(
                f"contacts cannot send {name}: this is no type of file that they can, or has more than {MOST_FILE >> 20} MB"
            )
        emulator, kind = self.simulation.emulator, found.kind
        with self._lock:
            kept = f"{len(emulator.media)}.{found.suffix}"
            emulator.media[kept] = content
        address = f"{emulator.url}/media/{int(self.now().timestamp())}/{kept}"
        self._send(
            contact,
            lambda at: emulator.receive(contact, caption or None, kind=kind, media_url=address, at=at),
            text=caption,
            kind=kind,
            file=f"{kept} {PurePath(name).name}",
        )

    def kept_media(self, address: str) -> str | None:
        """The name of a file that the emulator has, from its address."""
        emulator, name = self.simulation.emulator, address.rpartition("/")[2]
        return name if address.startswith(f"{emulator.url}/media/") and name in emulator.media else None

    def send_place(self, contact: str, latitude: float, longitude: float, name: str = "") -> None:
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
        """Show what a contact sends, and let the gateway report it: ``send`` takes when it was sent, and returns the event's id."""
        with self._runs:
            number = self._add(self._known(contact), **shown)
            self.acts[send(self.now() - (LATE if "late" in self._faults else timedelta()))] = number

    def _known(self, contact: str) -> str:
        self.bubbles(contact)
        return contact

    # What the models do

    def answer(self, contact: str, written: str) -> None:
        """Answer in place of the model that is asked: see `bot.testing.conversations.answers_by_hand`."""
        row = None if self.questions is None else self.questions.of(self._known(contact))
        if self.questions is None or row is None:
            raise Refused("no model is asked here")
        answer = answer_by_hand(written)
        self._add(contact, text=f"the model: {written.strip()}", kind="model", data={"written": written})
        self.questions.answer(row, answer)

    # What happens besides

    def start(self, contact: str, flow: str, data: Mapping[str, Any]) -> None:
        """A program starts a flow for a contact."""
        told = {"flow": flow, "data": dict(data)}
        self._besides(contact, f"start of {flow}", "start", told, lambda bot: _refuse(bot.start(flow, data, None)))

    def signal(self, contact: str, name: str, data: Mapping[str, Any]) -> None:
        """A program reports a signal for a contact."""
        told = {"name": name, "data": dict(data)}
        self._besides(contact, f"signal {name}", "signal", told, lambda bot: _refuse(bot.signal(name, data)))

    def happen(self, contact: str, event: str) -> None:
        """The gateway reports one of `GATEWAY_EVENTS`."""
        if event not in GATEWAY_EVENTS:
            raise Refused(f"the gateway has no event {event}")
        self._besides(contact, event, "event", {}, lambda bot: bot.happen(event, {}))

    def set_values(self, contact: str, flow: str, values: Mapping[str, Any]) -> None:
        """An operator sets variables of a flow that the contact is in, or those with `keep`."""
        told = ", ".join(f"{name} set to {line_of(value_in_words(value))}" for name, value in values.items())
        data = {"flow": flow, "values": dict(values)}
        self._besides(contact, told, "set", data, lambda bot: _refuse(bot.set_values(values, flow)))

    def restart(self, contact: str) -> None:
        """The bot is stopped and started again, with its store."""
        with self._runs:
            self._release()
            self._as(contact, lambda bot: bot.restart())

    def wait(self, duration: timedelta) -> None:
        """Time passes; whatever falls due in between happens at its time."""
        if not timedelta() < duration <= LONGEST:
            raise Refused(f"the time to skip is more than 0 and at most {LONGEST.days} days")
        for contact in self.contacts:
            self._add(contact, text=duration_words(duration, len(UNITS)), kind="wait")
        self._as(FIRST_CONTACT, lambda bot: bot.wait(duration))

    def wait_for_next(self) -> None:
        """Time passes until something happens by itself."""
        due = self.simulation.next_due()
        if due is None:
            raise Refused("there is no next event: no reminder, time-out, schedule or retry is waiting")
        self.wait(max(due - self.now(), timedelta()) + timedelta(seconds=1))

    def skip_past_window(self, contact: str) -> None:
        """Skip the time in which the gateway takes other messages than templates for a contact."""
        last = self.simulation.reader.last_inbound(self._known(contact))
        left = timedelta() if last is None else last + SENDING_WINDOW - self.now()
        if left <= timedelta():
            raise Refused("the 24 hours are over already: the bot may send this contact only templates")
        self.wait(left + timedelta(minutes=6))

    def switch(self, fault: str, on: bool) -> None:
        """Let something go wrong from now on, or no more: a name of `SERVICE_FAULTS`, or `late`."""
        if fault != "late" and fault not in SERVICE_FAULTS:
            raise Refused(f"there is no fault {fault}")
        with self._lock:
            if on and fault not in self._faults:
                begins = SERVICE_FAULTS[fault].begin if fault != "late" else _nothing
                self._faults[fault] = begins(self.simulation.emulator)
            elif not on and fault in self._faults:
                self._faults.pop(fault)()
            self._changes += 1

    def _besides(
        self, contact: str, text: str, kind: str, data: Mapping[str, Any], act: Callable[[Simulation], None]
    ) -> None:
        """Let something happen that is no message, and show it at the contact's phone; what is refused has not happened."""
        number = self._add(self._known(contact), text=text, kind=kind, data=data)
        try:
            self._as(contact, act)
        except BotError:
            with self._lock:
                self._bubbles[contact] = [each for each in self._bubbles[contact] if each.number != number]
            raise

    def _as(self, contact: str, act: Callable[[Simulation], None]) -> None:
        self._known(contact)
        with self._acting:
            self.simulation.become(contact)
            try:
                act(self.simulation)
            finally:
                self._changes += 1

    # Time travel

    def replay(self, contact: str, before: int | None = None) -> Replayed:
        """Hold a contact's conversation again as a new contact, with the flows of now: all of it, or what came before a bubble."""
        held = [bubble for bubble in self.bubbles(contact) if before is None or bubble.number < before]
        new = self.add_contact()
        difference = ""
        for bubble in held:
            if bubble.message is None and not difference:
                try:
                    self._again(new, bubble)
                    self._as(new, lambda bot: bot.settle())
                except Refused as error:
                    difference = f"{error}: {bubble.text}"
        said, says = _said_in(held), _said_in(self.bubbles(new))
        for number, (one, other) in enumerate(zip_longest(said, says), start=1):
            if one != other and not difference:
                words = [_NOTHING if message is None else _in_words(message) for message in (one, other)]
                difference = f"message {number} of the bot's was {words[0]}, and is now {words[1]}"
        return Replayed(new, difference)

    def _again(self, contact: str, bubble: Bubble) -> None:
        """Let happen at another contact what happened at a bubble."""
        data = bubble.data
        match bubble.kind:
            case "text":
                self.write(contact, bubble.text)
            case "choice":
                self.choose(contact, *self._newest_choice(contact, bubble.text))
            case "audio" if "words" in data:
                self.speak(contact, data["words"])
            case "location":
                self.send_place(contact, data["latitude"], data["longitude"], data.get("name", ""))
            case "wait":
                self.wait(parse_duration(bubble.text) or timedelta(seconds=1))
            case "start":
                self.start(contact, data["flow"], data["data"])
            case "signal":
                self.signal(contact, data["name"], data["data"])
            case "event":
                self.happen(contact, bubble.text)
            case "model":
                self.answer(contact, data["written"])
            case "set":
                self.set_values(contact, data["flow"], data["values"])
            case _:
                kept, _, name = bubble.file.partition(" ")
                self.send_file(contact, name, self.simulation.emulator.media[kept], bubble.text)

    def _newest_choice(self, contact: str, title: str) -> tuple[int, int]:
        for bubble in reversed(self.bubbles(contact)):
            if bubble.message is not None and title in bubble.message.choices:
                return bubble.number, bubble.message.choices.index(title)
        raise Refused("there is no such button any more")

    # What the author does

    def use(self, program: Program) -> None:
        """Use these flows and handlers from the next event on."""
        self.simulation.swap(program)
        self._set_trouble(Trouble())

    def complain(self, problems: Sequence[Problem], why: str) -> None:
        """The files on the disk do not run; the flows from before stay."""
        self._set_trouble(Trouble(tuple(problems), why))

    def _set_trouble(self, trouble: Trouble) -> None:
        with self._lock:
            self.trouble = trouble
            self._changes += 1


def _nothing(*_: Any) -> Switch:
    return lambda: None


def _refuse(why: str) -> None:
    if why:
        raise Refused(f"the bot refuses this: {why}")


_NOTHING = "not sent"


def _said_in(bubbles: Iterable[Bubble]) -> list[ShownMessage]:
    """The bot's messages, without what is different each time."""
    return [replace(bubble.message, ids=()) for bubble in bubbles if bubble.message is not None]


def _in_words(message: ShownMessage) -> str:
    parts = [message.text or message.template or message.place or (message.file.link if message.file else "")]
    return " ".join([f'"{parts[0]}"', *(f"[{title}]" for title in message.choices)])


def values_in(lines: Iterable[str]) -> dict[str, str]:
    """``name=value``, one a line. Raises `Refused` for a line without ``=``."""
    found = {}
    for line in filter(str.strip, lines):
        name, equals, value = line.partition("=")
        if not equals:
            raise Refused(f'"{line.strip()}" is no value: write name=value, one a line')
        found[name.strip()] = value.strip()
    return found
