"""What each event's ``data`` means, shown in the specification or not (spec: Payloads).

Payloads that it does not show are read tolerantly: from every place where what is needed may stand.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.core.errors import BotError
from bot.core.events import (
    ContactChanged,
    ConversationAssigned,
    ConversationOpened,
    Event,
    HandoffClosed,
    MessageReceived,
    StatusReported,
    Tapped,
)
from bot.core.messages import MEDIA_KINDS
from bot.core.text import clean, digits, line
from bot.core.values import Location, Media
from bot.gateway.account import person, read_contact, read_tags
from bot.gateway.answers import words_of
from bot.gateway.refusals import BY_CODE

INBOUND = "message.inbound"
TAP = "message.interactive_reply"
STATUS = "message.status"
STATUSES = {f"message.{status}": status for status in ("queued", "sent", "delivered", "read", "failed")}
ALIASES = {"message.received": INBOUND, "interactive_response": TAP}
"""Names of the specification's sample code. Its ``message.status`` is named by its ``data.status``."""

_NAME = 100  # characters of a name that are kept
_ID = 256
_LINK = 8000  # a signed address is long
_WORDS = 500
_MESSAGES = 10  # ids of one status
_MESSAGE_IDS = ("message_id", "messageId", "chat_message_id", "chatMessageId", "id")


class UnreadableEvent(BotError):
    """A signed event of a known name whose data make no sense: it is kept for the operator."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """An event on its way to its meaning. ``contact`` is whom it is about, where it says; ``at`` is when it came."""

    id: str
    name: str
    data: Mapping[str, Any]
    contact: str | None
    at: datetime
    sent_at: datetime

    @property
    def conversation(self) -> str | None:
        """The gateway's id of the conversation."""
        return _optional_name(self.data.get("conversation_id"))


def _inbound(delivery: Delivery) -> MessageReceived:
    data, contact = delivery.data, delivery.contact
    if contact is None:
        raise UnreadableEvent("`data.from` is no phone number")
    body = _text(data.get("body"))
    kind = _short(data.get("type")) or "text"
    location = _location(data) if kind == "location" else None
    is_text = kind == "text" or (kind == "location" and location is None)
    return MessageReceived(
        id=delivery.id,
        contact=contact,
        at=delivery.at,
        sent_at=delivery.sent_at,
        kind=kind,
        text=body if is_text else None,
        media=_media(kind, data, body),
        location=location,
        channel=digits(data.get("to")) or _optional_name(data.get("to")),
        conversation=delivery.conversation,
        message=_optional_name(data.get("message_id")),
    )


def _tap(delivery: Delivery) -> Tapped:
    contact = delivery.contact
    interactive = child(delivery.data, "interactive")
    choice = child(interactive, "button") or child(interactive, "list_reply") or child(interactive, "button_reply")
    reply, title = _text(choice.get("id")) or "", _text(choice.get("title")) or ""
    if contact is None:
        raise UnreadableEvent("`data.from` is no phone number")
    if not (reply or title):
        raise UnreadableEvent("`data.interactive` holds neither the id nor the title of what was tapped")
    message = _optional_name(delivery.data.get("message_id"))
    return Tapped(delivery.id, contact, delivery.at, delivery.sent_at, reply, title, message)


def _status(delivery: Delivery) -> StatusReported:
    """The specification does not show this payload, only that statuses are matched by the ids of a send's result."""
    messages = tuple(dict.fromkeys(_message_ids(delivery.data)))[:_MESSAGES]
    if not messages and delivery.contact is None:
        raise UnreadableEvent("`data` names neither a message nor a contact")
    detail = _reason(delivery.data) if delivery.name == "message.failed" else ""
    status = STATUSES[delivery.name]
    return StatusReported(delivery.id, delivery.contact or "", delivery.at, status, messages, detail)


def _message_ids(data: Mapping[str, Any]) -> Iterator[str]:
    listed = data.get("messages")
    for fields in (data, child(data, "message"), *(listed if isinstance(listed, list) else ())):
        for name in _MESSAGE_IDS if isinstance(fields, dict) else ():
            found = _optional_name(fields.get(name), _ID)
            if found is not None:
                yield found


def _reason(data: Mapping[str, Any]) -> str:
    """Why a message failed, in the gateway's words, and what to do where its code is known."""
    listed = data.get("errors")
    first = listed[0] if isinstance(listed, list) and listed else None
    code, message = words_of(data.get("error") or first or data.get("reason"))
    known = BY_CODE.get(code)
    advice = f" ({known.advice})" if known is not None else ""
    return (line(": ".join(part for part in (code, message) if part), _WORDS) or "the gateway gave no reason") + advice


def _changed(delivery: Delivery) -> ContactChanged:
    if delivery.contact is None:
        raise UnreadableEvent("`data.phone` is no phone number")
    fields = child(delivery.data, "contact") or delivery.data
    contact = read_contact({**fields, "phone": delivery.contact})
    assert contact is not None
    tags = read_tags(fields.get("tags"))
    return ContactChanged(delivery.id, contact.phone, delivery.at, delivery.name, contact.name, contact.email, tags)


def _opened(delivery: Delivery) -> ConversationOpened:
    _name_somebody(delivery)
    return ConversationOpened(
        delivery.id, delivery.contact or "", delivery.at, delivery.conversation, _contact_name(delivery)
    )


def _assigned(delivery: Delivery) -> ConversationAssigned:
    _name_somebody(delivery)
    agent = child(delivery.data, "agent")
    who = line(agent.get("name"), _NAME) or line(agent.get("email"), _NAME) or _optional_name(agent.get("id"))
    return ConversationAssigned(
        delivery.id, delivery.contact or "", delivery.at, delivery.conversation, _contact_name(delivery), who
    )


def _resolved(delivery: Delivery) -> HandoffClosed:
    _name_somebody(delivery)
    return HandoffClosed(delivery.id, delivery.contact or "", delivery.at, delivery.conversation)


def _name_somebody(delivery: Delivery) -> None:
    """The contact of an event is ``""`` where only the conversation is named: one of the two it has to name."""
    if delivery.contact is None and delivery.conversation is None:
        raise UnreadableEvent("`data` names neither a contact nor a conversation")


def _contact_name(delivery: Delivery) -> str | None:
    return person(child(delivery.data, "contact").get("name"), delivery.contact or "")


MEANINGS: Mapping[str, Callable[[Delivery], Event]] = {
    INBOUND: _inbound,
    TAP: _tap,
    **dict.fromkeys(STATUSES, _status),
    "contact.created": _changed,
    "contact.updated": _changed,
    "conversation.opened": _opened,
    "conversation.assigned": _assigned,
    "conversation.resolved": _resolved,
}


def name_of(fields: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """The event's name as the event list has it."""
    name = _short(fields.get("event"))
    if name == STATUS:
        named = f"message.{_short(data.get('status')).lower()}"
        return named if named in STATUSES else STATUS
    return ALIASES.get(name, name)


def contact_of(event: str, data: Mapping[str, Any]) -> str | None:
    """Whom an event is about. A status is about the one that was written to: ``from`` is then the channel."""
    contact = digits(child(data, "contact").get("phone"))
    if event in STATUSES:
        return digits(data.get("to")) or contact
    return digits(data.get("from")) or contact or digits(data.get("phone"))


def child(fields: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The object in a field; an empty one for anything else."""
    value = fields.get(name)
    return value if isinstance(value, dict) else {}


def _short(value: Any) -> str:
    return clean(value, _NAME) if isinstance(value, str) else ""


def _optional_name(value: Any, limit: int = _NAME) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    return (clean(value, limit) if isinstance(value, str) else None) or None


def _text(value: Any) -> str | None:
    return clean(value) if isinstance(value, str) else None


def _media(kind: str, data: Mapping[str, Any], caption: str | None) -> Media | None:
    link = data.get("media_url")
    if kind not in MEDIA_KINDS or not isinstance(link, str) or not 0 < len(link) <= _LINK:
        return None
    return Media(kind, clean(link), caption)


def _location(data: Mapping[str, Any]) -> Location | None:
    """The specification's payload has no coordinates; where they are sent, they stand in one of these two places."""
    place = child(data, "location") or data
    latitude, longitude = _degrees(place.get("latitude"), 90), _degrees(place.get("longitude"), 180)
    if latitude is None or longitude is None:
        return None
    return Location(latitude, longitude, _text(place.get("name")), _text(place.get("address")))


def _degrees(value: Any, limit: int) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not -limit <= value <= limit:
        return None
    return float(value)
