"""Events: everything that happens to a contact. Each carries its own id and time, so a turn needs neither.

``id`` is unique for ever and names the turn; ``at`` is the turn's time (aware, UTC).
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.core.codec import stored
from bot.core.values import Location, Media


@stored
@dataclass(frozen=True, slots=True)
class MessageReceived:
    """A contact wrote: ``message.inbound``. ``sent_at`` is the event's own timestamp: the window runs from it."""

    id: str
    contact: str
    at: datetime
    sent_at: datetime
    kind: str  # text, image, audio, video, document, location, sticker
    text: str | None = None
    media: Media | None = None
    location: Location | None = None
    channel: str | None = None
    conversation: str | None = None
    message: str | None = None


@stored
@dataclass(frozen=True, slots=True)
class Tapped:
    """A contact tapped a button or picked a row: ``message.interactive_reply``."""

    id: str
    contact: str
    at: datetime
    sent_at: datetime
    reply: str
    title: str
    message: str | None = None


@stored
@dataclass(frozen=True, slots=True)
class TimeReached:
    """The session's wake-up time has come."""

    id: str
    contact: str
    at: datetime


@stored
@dataclass(frozen=True, slots=True)
class CallEnded:
    """A handler ended. ``outcome``: ``done``, ``timeout``, ``mismatch`` or the name of the error it raised."""

    id: str
    contact: str
    at: datetime
    effect: str
    outcome: str
    value: Any = None
    detail: str = ""


@stored
@dataclass(frozen=True, slots=True)
class SendEnded:
    """A message that somebody waits for, or that did not go as planned.

    ``outcome``: ``sent``; ``replaced`` (the window was shut, its template went instead); ``covered`` (the
    window was shut, and a template went since the contact's newest message); ``failed``;
    ``unknown`` (nobody can tell whether it was sent).
    """

    id: str
    contact: str
    at: datetime
    effect: str
    outcome: str
    detail: str = ""


@stored
@dataclass(frozen=True, slots=True)
class HandoffClosed:
    """An agent resolved the conversation: ``conversation.resolved``."""

    id: str
    contact: str
    at: datetime
    conversation: str | None = None


@stored
@dataclass(frozen=True, slots=True)
class ResetRequested:
    """An operator ends everything this contact is in."""

    id: str
    contact: str
    at: datetime
    by: str = "operator"


Event = MessageReceived | Tapped | TimeReached | CallEnded | SendEnded | HandoffClosed | ResetRequested
