"""The rows that the store takes and gives, and how values are written in them.

A time is text in UTC with microseconds, so that it sorts as it reads. A value is JSON by `bot.core.values`.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from bot.core import values
from bot.core.effects import Performed, PutContact, Send
from bot.core.errors import BotError
from bot.core.events import MessageReceived, Tapped
from bot.core.session import Session

GATEWAY_COMMAND = "command"
"""The rule of a trace line about a request that a command made to the gateway."""

OPERATOR = "operator"
"""The rule of a trace's line about what an operator did."""

PLAIN = "plain"
"""The outcome of a message that was refused, and in whose place a plain text goes."""

REPLY, SYNC, CAMPAIGN = 0, 1, 2
"""The order in which messages go when not all can: a reply, a change of a contact at the gateway, a broadcast."""


def storable(value: str) -> str:
    r"""The text with what UTF-8 cannot carry (half a surrogate pair) as ``\udxxx``, which in JSON means the same."""
    return value.encode("utf-8", "backslashreplace").decode()


def optional_storable(value: str | None) -> str | None:
    """A text, or nothing, as the store keeps it."""
    return None if value is None else storable(value)


def json_text(value: Any) -> str:
    """A value as the store keeps it. Raises `bot.core.values.UnstorableValue`."""
    return storable(values.dumps(value))


def time_text(time: datetime) -> str:
    """A time as the store keeps it."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")


def optional_time_text(time: datetime | None) -> str | None:
    """A time, or nothing, as the store keeps it."""
    return None if time is None else time_text(time)


def read_time(text: str | None) -> datetime | None:
    """Read back what `optional_time_text` wrote."""
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
    """A message that is to be sent, or a change of the contact that the gateway is to get.

    ``id`` orders a contact's rows of one ``priority`` (`REPLY`, `SYNC` or `CAMPAIGN`). ``channel`` is the number
    by which the bot and the contact talk; None where that is not known. ``ref`` is the effect's name, which the session knows; ``key`` the
    idempotency key, the same at every try. ``attempts`` counts the tries that were made; before ``due_at``
    there is no next one. It is tried for as long as there is between ``created_at`` and ``expires_at``, from the first
    try on, or since nothing at all could be sent. ``window_until`` is when the window shuts, as far
    as was known when the row was claimed: a later message of the contact moves it.
    """

    id: int
    ref: str
    key: str
    contact: str
    effect: Send | PutContact
    priority: int
    channel: str | None
    created_at: datetime
    attempts: int
    due_at: datetime
    expires_at: datetime
    window_until: datetime | None


@dataclass(frozen=True, slots=True)
class SentRow:
    """A message that the gateway took. ``message_ids`` are its names there; the rest is as in `OutboxRow`."""

    id: int
    ref: str
    key: str
    contact: str
    effect: Send | PutContact
    priority: int
    message_ids: tuple[str, ...]


STATUSES = ("queued", "sent", "failed", "delivered", "read")
"""What a message can be, each further on than the one before. One that was delivered has not failed."""


@dataclass(frozen=True, slots=True)
class MessageStatus:
    """How far a message has got, and the gateway's words where it failed."""

    name: str
    detail: str = ""

    @property
    def rank(self) -> int:
        """How far that is."""
        return STATUSES.index(self.name)


@dataclass(frozen=True, slots=True)
class CallRow:
    """Something that is to be done outside, and whose end a session waits for.

    ``said`` is how many paragraphs of a model's answer have been taken already, ``crashes`` at how many crashes of the
    engine it was being done, alone. The rest is as in `OutboxRow`.
    """

    id: int
    ref: str
    key: str
    contact: str
    effect: Performed
    attempts: int
    due_at: datetime
    said: int = 0
    crashes: int = 0


@dataclass(frozen=True, slots=True)
class ParkedRow:
    """An event that waits for its contact's call to end."""

    id: int
    event: MessageReceived | Tapped


@dataclass(frozen=True, slots=True)
class DueRow:
    """A session whose time has come. ``visit`` is its active step's."""

    contact: str
    visit: int
    wake_at: datetime


class UnreadableSession(BotError):
    """A session in the store that this version cannot read. ``state`` is its text."""

    def __init__(self, state: str) -> None:
        super().__init__("the session cannot be read by this version; the conversation starts anew")
        self.state = state


def read_session(state: str) -> Session:
    """A session from its text. Raises `UnreadableSession`."""
    try:
        session = values.loads(state)
    except (ValueError, TypeError, KeyError, ArithmeticError):
        raise UnreadableSession(state) from None
    if not isinstance(session, Session):
        raise UnreadableSession(state)
    return session
