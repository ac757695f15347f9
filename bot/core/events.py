"""Events: everything that happens to a contact. Each carries its own id and time, so a turn needs neither."""

from datetime import datetime
from typing import Any

from bot.core.immutable import immutable
from bot.core.messages import Message
from bot.core.values import Location, Media, stored

EVENTS = (
    "message.inbound",
    "message.sent",
    "message.delivered",
    "message.read",
    "message.failed",
    "contact.created",
    "contact.updated",
    "conversation.opened",
    "conversation.assigned",
    "conversation.resolved",
    "message.interactive_reply",
)
"""The gateway's names of its events (spec: Event names): for webhooks, and for flows that they start."""


MESSAGE_KINDS = ("text", "image", "audio", "video", "document", "location", "sticker")
UNHEARD_KINDS = {
    **dict.fromkeys(("reaction", "reactions"), "a reaction"),
    **dict.fromkeys(("edit", "edited", "message_edit"), "an edit of an earlier message"),
    **dict.fromkeys(("revoke", "revoked", "delete", "deleted"), "a deleted message"),
    **dict.fromkeys(("system", "notification", "protocol", "e2e_notification", "ciphertext"), "a notice of the system"),
    **dict.fromkeys(("poll", "poll_creation", "poll_update", "poll_vote"), "a poll"),
    **dict.fromkeys(("call", "call_log"), "a call"),
    **dict.fromkeys(("unsupported", "unknown"), "a message that the gateway does not support"),
}
"""The kinds of inbound messages that say nothing to a bot, each in words: no answer, no wrong answer, and no start.

The specification does not list them; gateways send them all the same.
"""


@immutable
class ContactEvent:
    """The base of all events: ``id`` is unique for ever and names the turn; ``at`` is the turn's time (aware, UTC)."""

    id: str
    contact: str
    at: datetime


@stored
@immutable
class MessageReceived(ContactEvent):
    """A contact wrote: ``message.inbound``. ``sent_at`` is the event's own timestamp: the window runs from it."""

    sent_at: datetime
    kind: str  # one of `MESSAGE_KINDS`, or what else the gateway calls it
    text: str | None = None
    media: Media | None = None
    location: Location | None = None
    channel: str | None = None
    conversation: str | None = None
    message: str | None = None
    # the ids of the messages of which this one is made: they came while a model worked, or were gathered
    together: tuple[str, ...] = ()
    files: tuple[Media, ...] = ()  # of these messages
    transcribed: bool = False  # a voice note that was: ``text`` is what was said, None where that is not known

    @property
    def is_heard(self) -> bool:
        """False for a reaction and the like, by which the contact says nothing to the bot."""
        return self.kind not in UNHEARD_KINDS


@stored
@immutable
class Tapped(ContactEvent):
    """A contact tapped a button or picked a row: ``message.interactive_reply``."""

    sent_at: datetime
    reply: str
    title: str
    message: str | None = None
    is_heard = True


FROM_CONTACT = (MessageReceived, Tapped)
"""The events by which a contact says something."""


@stored
@immutable
class TimeReached(ContactEvent):
    """The session's wake-up time has come."""


@stored
@immutable
class CallEnded(ContactEvent):
    """A handler, a model or a fetch ended. ``outcome``: ``done``, ``timeout``, ``mismatch`` or the error's name."""

    effect: str
    outcome: str
    value: Any = None
    detail: str = ""


@stored
@immutable
class CallProgressed(ContactEvent):
    """A paragraph of a model's answer is complete; more may come."""

    effect: str
    text: str


UNSENT = ("refused", "failed", "unknown")
"""The outcomes of a send after which the contact has nothing, or may have nothing."""


@stored
@immutable
class SendEnded(ContactEvent):
    """A message that somebody waits for, or that did not go as planned.

    ``outcome``: ``sent``; ``replaced`` (the window was closed, its template went instead); ``superseded`` (the window
    was closed, and a template went since the contact's newest message); ``contact_limit`` (not sent, because too much
    has been sent to the contact, and an earlier message has failed for it); ``refused`` (by the gateway, or by the
    platform after the gateway took it); ``failed`` (it was given up for another reason); ``unknown`` (nobody can tell
    whether it was sent). ``message`` is the one that was refused, or that waits until the contact writes.
    """

    effect: str
    outcome: str
    detail: str = ""
    message: Message | None = None


@stored
@immutable
class HandoffClosed(ContactEvent):
    """An agent resolved the conversation: ``conversation.resolved``. Or a person gave it back here: ``by`` whom.

    ``occurred_at`` is when, as the gateway says.
    """

    conversation: str | None = None
    by: str | None = None
    occurred_at: datetime | None = None


_BY_ID = "id:"


def by_id(id: str) -> str:
    """A contact by the gateway's own id, where an event names no number."""
    return f"{_BY_ID}{id}"


def is_by_id(contact: str) -> bool:
    """True if a contact is named `by_id`."""
    return contact.startswith(_BY_ID)


LISTED = "contact.listed"
"""The name of the event that says what the gateway's list of contacts has of a contact, which may be nothing."""


@stored
@immutable
class ContactChanged(ContactEvent):
    """The gateway made or changed the contact (``contact.created``, ``contact.updated``), or its list was read
    (`LISTED`).

    A field is None if the event does not have it, or the contact has no such value. ``described``: the event has the
    tags, and the name or that the contact has no name. ``alias`` is the contact by the gateway's own id (`by_id`),
    under which a later event may name it.
    """

    event: str
    name: str | None = None
    email: str | None = None
    tags: tuple[str, ...] | None = None
    described: bool = False
    alias: str | None = None


@stored
@immutable
class ConversationOpened(ContactEvent):
    """A conversation was opened by the contact: ``conversation.opened``."""

    conversation: str | None = None
    name: str | None = None


@stored
@immutable
class ConversationAssigned(ContactEvent):
    """An agent has taken the conversation, at the gateway (``conversation.assigned``) or here. The bot is silent until
    it is resolved. ``occurred_at`` is when, as the gateway says.

    ``answered``: the agent has only answered at the gateway, with this ``text`` if it says so. The bot is silent for a
    time.
    """

    conversation: str | None = None
    name: str | None = None
    agent: str | None = None
    occurred_at: datetime | None = None
    answered: bool = False
    text: str | None = None


@stored
@immutable
class ReportedMessage:
    """A message as ``message.sent`` describes it, as far as it does: it may be an agent's."""

    kind: str | None = None
    text: str | None = None
    agent: str | None = None
    conversation: str | None = None
    occurred_at: datetime | None = None


@stored
@immutable
class StatusReported(ContactEvent):
    """The status of a message: ``message.sent``, ``.delivered``, ``.read``, ``.failed``.

    ``messages`` are the names that the gateway gave; ``contact`` is ``""`` where only the message is named. ``sent`` is
    the message, for ``message.sent``.
    """

    status: str
    messages: tuple[str, ...]
    detail: str = ""
    sent: ReportedMessage | None = None


STARTS, SIGNALS, MOVED = WRITTEN_HERE = "start:", "signal:", "moved:"
"""The prefixes of ids of events that the bot itself writes to the inbox: requests of programs, and events that another
shard has forwarded. No id of the gateway's begins with them.
"""


@stored
@immutable
class StartRequested(ContactEvent):
    """A program, or an operator, starts a flow for the contact, with values for its variables.

    ``busy`` says what becomes of it while the contact is in a flow (`bot.core.session.BUSY`); None: as the flow says.
    ``broadcast`` is the name of the broadcast that does so.
    """

    flow: str
    data: dict[str, Any]
    busy: str | None = None
    by: str = "operator"
    broadcast: str | None = None


@stored
@immutable
class SignalReceived(ContactEvent):
    """Something has happened outside of the conversation, with its data: ``name`` is one of the bot's signals.

    ``first_visit``: only the run of a flow hears it that began with this visit.
    """

    name: str
    data: dict[str, Any]
    by: str = "operator"
    first_visit: int | None = None


@stored
@immutable
class SharedRunRequested(ContactEvent):
    """A step runs a flow at a shared record: ``contact`` is the record (`bot.core.session.record_id`).

    ``asker`` is the contact whose step waits for the end of this ``effect``.
    """

    flow: str
    data: dict[str, Any]
    asker: str = ""
    effect: str = ""


@stored
@immutable
class ValuesSet(ContactEvent):
    """An operator sets variables of a ``flow`` that is open (None: the active one), or those with `keep`."""

    values: dict[str, Any]
    flow: str | None = None
    by: str = "operator"


@stored
@immutable
class ColleagueDecided(ContactEvent):
    """A person of the team has ``agreed`` to what a step has asked it, or refused it, with a ``note``.

    ``question`` is its id. ``agreed`` None: nobody has decided in time.
    """

    question: str
    agreed: bool | None
    note: str = ""
    by: str = "operator"


@stored
@immutable
class ResetRequested(ContactEvent):
    """An operator ends everything this contact is in."""

    by: str = "operator"


Event = (
    MessageReceived
    | Tapped
    | TimeReached
    | CallEnded
    | CallProgressed
    | SendEnded
    | ContactChanged
    | ConversationOpened
    | ConversationAssigned
    | HandoffClosed
    | StatusReported
    | StartRequested
    | SignalReceived
    | SharedRunRequested
    | ValuesSet
    | ColleagueDecided
    | ResetRequested
)


@stored
@immutable
class Forwarded:
    """An event in the log of a shard that another shard has found to be this one's. Its contact is ``""`` where only
    the message or the conversation is named.

    ``hops`` and ``caused`` count the starts and signals that led to it, and those that followed the first event of all.
    """

    event: Event
    hops: int = 0
    caused: int = 0


@stored
@immutable
class AliasLearned:
    """In the log of the alias's shard: the gateway calls a contact of another shard by this number, too."""

    alias: str
    contact: str
