"""The names that templates and expressions see: the built-in ones and the active flow's variables."""

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any

from bot.core.events import MESSAGE_KINDS, Event, MessageReceived, Tapped
from bot.core.session import Frame, Said, Session
from bot.core.values import Media, Record
from bot.language.expressions.filters import DRAW, FILE_LINKS, FORM_ADDRESS, SIGNAL_ADDRESS, SIGNALS, TITLES
from bot.language.expressions.grammar import HISTORY, WINDOW_OPEN
from bot.language.expressions.opening_hours import HOURS
from bot.language.expressions.sandbox import OWN_FUNCTIONS
from bot.language.expressions.template_failures import EFFORT, Effort
from bot.language.flow.definition import LANGUAGE, Flow
from bot.language.flow.library import Library
from bot.language.flow.own_files import FileLinks
from bot.language.source.languages import CONTACT_LANGUAGE, OWN_WORDINGS
from bot.language.source.wall_clock import in_zone, zone_of
from bot.language.steps.step_kind import ReplyId
from bot.language.types.contact_zones import TIMEZONE

_NO_VALUES: Mapping[str, Any] = {}


class NameScope:
    """The names for a turn's templates and expressions, made again only when something that they depend on has changed.

    ``now`` is the event's time in the bot's time zone, or the contact's. Values are replaced and never changed in
    place, so comparing identities is enough.
    """

    def __init__(self, library: Library, event: Event, now: datetime) -> None:
        self._library = library  # for Python and random numbers, which are the same in each language
        self._event = event
        self._now = now
        self._functions = TurnFunctions(library, event)
        self._effort = Effort()
        self._about: tuple[Any, ...] = (None,) * 6
        self._within: tuple[Any, ...] = (None,) * 4
        self._kept: tuple[Any, Any, Mapping[str, Any]] = None, None, _NO_VALUES
        self._built_in: dict[str, Any] = {}
        self._names: dict[str, Any] = {}

    def move_to(self, now: datetime) -> None:
        """Use another time zone, since the contact's has changed. ``now`` is the same moment in it."""
        self._now = now
        self._about = (None,) * 6
        self._kept = None, None, _NO_VALUES

    def of(self, session: Session, library: Library) -> Mapping[str, Any]:
        """The names as a session sees them, in the language of a library."""
        self._functions.session = session
        name, email, tags, language, history, spoken = self._about
        if not (
            library is spoken
            and session.tags is tags
            and session.language is language
            and session.name is name
            and session.email is email
            and session.history is history
        ):
            self._about = session.name, session.email, session.tags, session.language, session.history, library
            self._within = (None,) * 4
            self._built_in = self._built_in_names(session, library)
        frame = session.frames[-1] if session.frames else None
        if frame is None:
            return self._built_in
        values, flow, came_from, kept = self._within
        if not (
            frame.vars is values
            and session.kept_variables is kept
            and frame.flow is flow
            and frame.came_from is came_from
        ):
            self._within = frame.vars, frame.flow, frame.came_from, session.kept_variables
            self._names = self._names_in(frame, session.kept_variables, library)
        return self._names

    def _built_in_names(self, session: Session, library: Library) -> dict[str, Any]:
        names: dict[str, Any] = {
            "contact": _contact(session),
            "now": self._now,
            "today": self._now.date(),
            "came_from": None,
            "message": self._message(),
            WINDOW_OPEN: session.window_is_open(self._event.at),
            DRAW: self._functions.draw,
            EFFORT: self._effort,
            OWN_FUNCTIONS: self._library.own,
            HOURS: library.bot.hours,
            SIGNALS: library.bot.signals,
            SIGNAL_ADDRESS: self._functions.signal_address,
            FORM_ADDRESS: self._functions.form_address,
            FILE_LINKS: FileLinks(self._library.files, self._library.addresses, self._event.at, session.contact),
            OWN_WORDINGS: library.bot.wordings,
        }
        if self._library.keeps_history:
            names[HISTORY] = [_said(said, self._now) for said in session.history]
        if library.bot.languages:
            names[LANGUAGE] = names[CONTACT_LANGUAGE] = _language(session, library.bot.languages)
        if library.bot.contact_timezones:
            names[TIMEZONE] = str(self._now.tzinfo)
        return names

    def _names_in(self, frame: Frame, kept: Mapping[str, Any], library: Library) -> dict[str, Any]:
        flow = library.flows.get(frame.flow)
        if flow is None:  # an edit has removed it
            return {**self._built_in, "came_from": frame.came_from}
        given = {**kept, **frame.vars} if kept else frame.vars  # an edit may have made a kept variable the frame's
        values = given
        if flow.kept or given.keys() != flow.variables.keys():
            values = {name: given.get(name, variable.value) for name, variable in flow.variables.items()}
        if flow.kept:
            values.update(self._kept_values(flow, frame, kept))
        if library.bot.contact_timezones:  # the contact may have moved since the value was saved
            zone = zone_of(self._now)
            values = {
                name: in_zone(value, zone) if type(value) is datetime else value for name, value in values.items()
            }
        titles = partial(library.title_of, frame.flow)
        return {**self._built_in, "came_from": frame.came_from, TITLES: titles, **values}

    def _kept_values(self, flow: Flow, frame: Frame, kept: Mapping[str, Any]) -> Mapping[str, Any]:
        if not (self._kept[0] is flow and self._kept[1] is kept):
            self._kept = flow, kept, flow.kept_values(frame.vars, kept, self._now)
        return self._kept[2]

    def _message(self) -> Record:
        """The contact's message or tap of this turn; its values are null for other events."""
        event = self._event
        text: str | None = None
        kind: str | None = None
        file: Media | None = None
        tapped = isinstance(event, Tapped)
        match event:
            case MessageReceived(kind="text"):
                tapped = ReplyId.parse(event.text or "") is not None  # a tap may come as its id (docs/decisions.md)
                text, kind = None if tapped else event.text, event.kind
                file = event.files[0] if event.files else None
            case MessageReceived():
                text = event.text if event.transcribed else None
                kind = event.kind if event.kind in MESSAGE_KINDS else "other"
                file = event.media
            case Tapped():
                text, kind = event.title, "text"
        return Record("message", {"text": text, "kind": kind, "tapped": tapped, "file": file})


class TurnFunctions:
    """The functions among the names of a turn.

    They do not hold the names: a cycle of references would keep the turn in memory until garbage is collected.
    """

    def __init__(self, library: Library, event: Event) -> None:
        self._library = library
        self._event = event
        self._draws = 0
        self.session: Session

    def signal_address(self, name: str) -> str | None:
        """The address for signals to the active run; None outside of flows and without a public address."""
        session = self.session
        if not session.frames:
            return None
        return self._library.addresses.signal(name, session.contact, session.frames[-1].first_visit, session.visit)

    def form_address(self, step: str, visit: int) -> str | None:
        """The address of the form of a step of the active flow, for a visit; None where nobody could open it."""
        session, flow = self.session, self.session.frames[-1]
        return self._library.addresses.form(f"{flow.flow}.{step}", session.contact, flow.first_visit, visit)

    def draw(self) -> float:
        """The turn's next random number."""
        self._draws += 1
        return self._library.draw(f"{self._event.id}/{self._draws}")


def _contact(session: Session) -> Record:
    fields = {"id": session.contact, "name": session.name, "email": session.email, "tags": list(session.tags)}
    return Record("contact", fields)


def _said(said: Said, now: datetime) -> Record:
    fields = {"role": said.role, "text": said.text, "at": said.at.astimezone(now.tzinfo)}
    return Record("message", fields)


def _language(session: Session, languages: tuple[str, ...]) -> str:
    """The contact's language, if the bot still speaks it; else the language of the flows."""
    return session.language if session.language in languages else languages[0]
