"""The rows that the store takes and gives, and how values are written in them.

A time is text in UTC with microseconds, so that it sorts as it reads. A value is JSON by `bot.core.codec`.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.core import codec
from bot.core.effects import Call, Send
from bot.core.events import Event
from bot.core.messages import Message, Template

WINDOW = timedelta(hours=24) - timedelta(minutes=5)
"""How long after a contact's newest message free messages are sent (decisions: "Window")."""


def text_of(value: str) -> str:
    r"""The text with what UTF-8 cannot carry (half a surrogate pair) as ``\udxxx``, which in JSON means the same."""
    return value.encode("utf-8", "backslashreplace").decode()


def optional_text_of(value: str | None) -> str | None:
    """A text, or nothing, as the store keeps it."""
    return None if value is None else text_of(value)


def json_of(value: Any) -> str:
    """A value as the store keeps it. Raises `bot.core.values.UnstorableValue`."""
    return text_of(codec.dumps(value))


def time_of(time: datetime) -> str:
    """A time as the store keeps it."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")


def optional_time_of(time: datetime | None) -> str | None:
    """A time, or nothing, as the store keeps it."""
    return None if time is None else time_of(time)


def read_time(text: str | None) -> datetime | None:
    """Read back what `optional_time_of` wrote."""
    return None if text is None else datetime.fromisoformat(text)


@dataclass(frozen=True, slots=True)
class LogRow:
    """One event as it was acknowledged. ``event_id`` and ``name`` are the envelope's; ``body`` is what came, raw."""

    seq: int
    event_id: str
    name: str
    contact: str | None
    received_at: datetime
    body: bytes
    readable: bool


@dataclass(frozen=True, slots=True)
class Appended:
    """An event is durable. ``seq`` is its place in the log; None when the log had it already."""

    seq: int | None

    @property
    def duplicate(self) -> bool:
        """True when the log had this event already, by its own id or the delivery's."""
        return self.seq is None


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """A message that is to be sent.

    ``id`` orders a contact's messages. ``ref`` is the effect's name, which the session knows; ``key`` the
    idempotency key, the same at every try. ``attempts`` counts the tries that were made; before ``due_at``
    there is no next one, after ``expires_at`` none at all. ``window_until`` is when the window shuts, as far
    as was known when the row was claimed: a later message of the contact moves it.
    """

    id: int
    ref: str
    key: str
    contact: str
    message: Message
    instead: Template | None
    report: bool
    created_at: datetime
    attempts: int
    due_at: datetime
    expires_at: datetime
    window_until: datetime | None

    @property
    def effect(self) -> Send:
        """The effect that the row carries out."""
        return Send(self.message, self.instead, self.report)


@dataclass(frozen=True, slots=True)
class CallRow:
    """A handler that is to be called: ``within`` seconds, up to ``tries`` times. The rest is as in `OutboxRow`."""

    id: int
    ref: str
    key: str
    contact: str
    handler: str
    arguments: dict[str, Any]
    within: float
    tries: int
    attempts: int
    due_at: datetime

    @property
    def effect(self) -> Call:
        """The effect that the row carries out."""
        return Call(self.handler, self.arguments, self.within, self.tries)


@dataclass(frozen=True, slots=True)
class ParkedRow:
    """An event that waits for its contact's call to end."""

    id: int
    event: Event


@dataclass(frozen=True, slots=True)
class DueRow:
    """A session whose time has come. ``visit`` is its active step's."""

    contact: str
    visit: int
    wake_at: datetime
