"""What the texts of a turn see: the built-in names, and the active flow's variables."""

from collections.abc import Mapping
from datetime import datetime
from operator import is_
from typing import Any

from bot.core.events import Event, MessageReceived, Tapped
from bot.core.session import Frame, Session
from bot.core.values import Record
from bot.flow.definition import LANGUAGE
from bot.flow.library import Library
from bot.lang import hidden
from bot.lang.effort import Effort


class Scope:
    """The names of one turn, made anew where something of them has changed.

    ``now`` is the event's time in the bot's zone. Values are replaced and never changed, so that it is enough to look
    whether they are the same.
    """

    def __init__(self, library: Library, event: Event, now: datetime) -> None:
        self._library = library  # with its own Python and chance, whatever language is spoken
        self._event = event
        self._now = now
        self._draws = 0
        self._effort = Effort()
        self._about: tuple[Any, ...] = ()
        self._within: tuple[Any, ...] | None = None
        self._built_in: dict[str, Any] = {}
        self._names: dict[str, Any] = {}

    def of(self, session: Session, library: Library) -> Mapping[str, Any]:
        """The names as a session sees them, in the language of a library."""
        frame = session.frame
        about = (session.name, session.email, session.tags, session.language, library)
        within = () if frame is None else (frame.flow, frame.vars, frame.came_from)
        if not _are(about, self._about):
            self._about, self._within = about, None
            self._built_in = self._made(session, library)
        if self._within is None or not _are(within, self._within):
            self._within = within
            self._names = self._built_in if frame is None else self._inside(frame, library)
        return self._names

    def _made(self, session: Session, library: Library) -> dict[str, Any]:
        names: dict[str, Any] = {
            "contact": _contact(session),
            "now": self._now,
            "today": self._now.date(),
            "came_from": None,
            "message": self._message(),
            hidden.DRAW: self._draw,
            hidden.EFFORT: self._effort,
            hidden.OWN: self._library.own,
            hidden.HOURS: library.bot.hours,
            hidden.WORDINGS: library.bot.wordings,
        }
        if library.bot.languages:
            names[LANGUAGE] = names[hidden.LANGUAGE] = _language(session, library.bot.languages)
        return names

    def _inside(self, frame: Frame, library: Library) -> dict[str, Any]:
        flow, given = library.flows.get(frame.flow), frame.vars  # an edit may have removed the flow
        variables = {} if flow is None else flow.variables
        values = {name: given.get(name, variable.value) for name, variable in variables.items()}
        return {**self._built_in, "came_from": frame.came_from, **values}

    def _message(self) -> str | None:
        """What the contact wrote or tapped in this turn; null where it was anything else that happened."""
        match self._event:
            case MessageReceived(kind="text", text=text):
                return text
            case Tapped(title=title):
                return title
        return None

    def _draw(self) -> float:
        """The turn's next random number."""
        self._draws += 1
        return self._library.draw(f"{self._event.id}/{self._draws}")


def _contact(session: Session) -> Record:
    fields = {"id": session.contact, "name": session.name, "email": session.email, "tags": list(session.tags)}
    return Record("contact", fields)


def _language(session: Session, languages: tuple[str, ...]) -> str:
    """The contact's, where the bot speaks it still; else the one that the flows are written in."""
    return session.language if session.language in languages else languages[0]


def _are(these: tuple[Any, ...], those: tuple[Any, ...]) -> bool:
    """Whether they are the very same values, in order."""
    return len(these) == len(those) and all(map(is_, these, those))
