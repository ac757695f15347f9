"""The rows that the engine's file takes and gives: messages to send, calls to make, and what has become of them."""

from datetime import datetime, timedelta

from bot.core import values
from bot.core.effects import Effect, Performed, Publish, ToSend
from bot.core.immutable import immutable

REPLY, SYNC, CAMPAIGN = 0, 1, 2
"""The order in which messages go when not all can: a reply, a change of a contact at the gateway, a broadcast."""
LAST_ID = 2**63 - 1
"""The largest id of a row that SQLite can have."""
SEARCH_SECONDS = 3.0
"""A search through rows ends after so long, and can be continued."""
SEARCHED_AT_ONCE = 10_000
"""A search looks through so many rows at once. Between two queries others may read."""


@immutable
class OutboxRow:
    """A message to send, a change of the contact to report to the gateway, or a page of its contacts to ask for.

    ``id`` orders a contact's rows of one ``priority`` (`REPLY`, `SYNC` or `CAMPAIGN`). ``channel`` is the number by
    which the bot and the contact talk; None where that is not known. ``ref`` is the effect's name, which the session
    knows; ``key`` the idempotency key, the same at every try. ``attempts`` counts the tries that were made; before
    ``due_at`` there is no next one. It is tried for the time from ``created_at`` to ``expires_at``, which counts from
    its first try; after a time in which nothing could be sent, it counts anew. ``window_until`` is when the window
    closes, as far as was known when the row was claimed: a later message of the contact moves it. ``unclear``: a try
    may have been sent. ``repeated``: an earlier request with its key may have been carried out: by a run that crashed,
    by the store of which this one is a copy, or before the message was given up.
    """

    id: int
    ref: str
    key: str
    contact: str
    effect: ToSend
    priority: int
    channel: str | None
    created_at: datetime
    attempts: int
    due_at: datetime
    expires_at: datetime
    window_until: datetime | None
    unclear: bool = False
    repeated: bool = False


@immutable
class PendingSend:
    """A message to send, or an event to deliver. ``detail`` is the last try's error; every try has the same ``key``."""

    id: int
    contact: str
    effect: Effect
    created_at: datetime
    attempts: int
    due_at: datetime
    detail: str
    key: str


def pending_send(
    id: int, contact: str, effect: str, created_at: str, attempts: int, due_at: str, detail: str, key: str
) -> PendingSend:
    """A message to send, or an event to deliver, from its row."""
    return PendingSend(
        id,
        contact,
        values.loads(effect),
        datetime.fromisoformat(created_at),
        attempts,
        datetime.fromisoformat(due_at),
        detail,
        key,
    )


@immutable
class SentRow:
    """A message that the gateway took. ``message_ids`` are its names there; the rest is as in `OutboxRow`."""

    id: int
    ref: str
    key: str
    contact: str
    effect: ToSend
    priority: int
    message_ids: tuple[str, ...]


STATUSES = ("queued", "sent", "failed", "delivered", "read")
"""The statuses of a message, each further on than the one before. A message that was delivered has not failed."""


EARLY_FOR = timedelta(days=1)
"""How long the message of an early status is looked for: a shard may pause between a send and its result's commit."""


@immutable
class MessageStatus:
    """How far a message has got, and the gateway's words where it failed."""

    name: str
    detail: str = ""

    @property
    def rank(self) -> int:
        """The place of the status among `STATUSES`."""
        return STATUSES.index(self.name)


@immutable
class CallRow:
    """Something that is to be done outside, and whose end a session waits for.

    ``said`` is how many paragraphs of a model's answer have been taken already. The rest is as in
    `OutboxRow`.
    """

    id: int
    ref: str
    key: str
    contact: str
    effect: Performed
    attempts: int
    due_at: datetime
    said: int = 0


@immutable
class NewEvent:
    """An event that the engine has decided to deliver, and that has no row yet. The rest is as in `OutboxRow`."""

    ref: str
    key: str
    contact: str
    effect: Publish


@immutable(kw_only=True)
class EventRow(CallRow):
    """An event that is to be delivered. It is tried for a time after ``created_at``."""

    created_at: datetime


@immutable
class ParkedRow:
    """An event that waits for its contact's call to end, as it is written. ``kept``: see
    `bot.engine.replies.is_kept`.
    """

    id: int
    written: str
    kept: bool


@immutable
class DueRow:
    """A session whose time has come."""

    contact: str
    wake_at: datetime
