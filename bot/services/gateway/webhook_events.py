"""The gateway's webhook: whether a delivery is genuine, and the event that it contains (spec: Events, Payloads).

Pure: time and secrets are arguments. Nothing in a body, however strange, makes any of this raise.
"""

import hashlib
import hmac
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from bot.core.errors import BotError
from bot.core.events import (
    MESSAGE_KINDS,
    UNHEARD_KINDS,
    WRITTEN_HERE,
    ContactChanged,
    ConversationAssigned,
    ConversationOpened,
    Event,
    HandoffClosed,
    MessageReceived,
    ReportedMessage,
    StatusReported,
    Tapped,
    by_id,
)
from bot.core.filetypes import FILE_TYPES
from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.core.messages import MEDIA_KINDS, suffix_of
from bot.core.text import clean, digits, json_object, line, sender_id
from bot.core.values import Location, Media
from bot.services.gateway.gateway_account import person, read_email, read_tags
from bot.services.gateway.gateway_answers import BY_CODE, words_of

INBOUND = "message.inbound"
TAP = "message.interactive_reply"
STATUS = "message.status"
SENT = "message.sent"
STATUSES = {f"message.{status}": status for status in ("queued", "sent", "delivered", "read", "failed")}
ALIASES = {"message.received": INBOUND, "interactive_response": TAP}
"""Names of the specification's sample code. Its ``message.status`` is named by its ``data.status``."""

_CLOCKS_DIFFER = timedelta(days=2)  # at most; else a stamp is a mistake
_NAME = 100  # characters of a name that are kept
_ID = 256
_LINK = 8000  # a signed address is long
_WORDS = 500
_MESSAGES = 10  # ids of one status
_MESSAGE_IDS = ("message_id", "messageId", "chat_message_id", "chatMessageId", "id")


class UnreadableEvent(BotError):
    """A signed event of a known name whose data make no sense."""


class UnknownSender(UnreadableEvent):
    """A message whose sender is no phone number."""

    def __init__(self) -> None:
        super().__init__("`data.from` is no phone number")


@immutable
class WebhookDelivery:
    """An event on its way to its meaning. ``contact`` is whom it is about, where it says; ``at`` is when it came.

    ``occurred_at`` is when it happened, by the gateway's clock, where that is believable; ``sent_at`` is no later than
    ``at``.
    """

    id: str
    name: str
    data: Mapping[str, Any]
    contact: str | None
    at: datetime
    sent_at: datetime
    occurred_at: datetime | None

    @property
    def conversation(self) -> str | None:
        """The gateway's id of the conversation."""
        return _optional_name(self.data.get("conversation_id"))


def _inbound(delivery: WebhookDelivery) -> MessageReceived:
    data, contact = delivery.data, delivery.contact
    if contact is None:
        raise UnknownSender()
    body = _text(data.get("body"))
    kind = _kind(data, body)
    location = _location(data) if kind == "location" else None
    is_text = kind == "text" or (kind == "location" and location is None)
    return MessageReceived(
        id=delivery.id,
        contact=contact,
        at=delivery.at,
        sent_at=delivery.sent_at,
        kind=kind,
        text=body if is_text else None,
        media=_media(kind, data, body) if kind in MEDIA_KINDS else None,
        location=location,
        channel=digits(data.get("to")) or _optional_name(data.get("to")),
        conversation=delivery.conversation,
        message=_optional_name(data.get("message_id")),
    )


def _kind(data: Mapping[str, Any], body: str | None) -> str:
    """The kind of an inbound message. A message of an unknown kind that has words is a text."""
    kind = _short(data.get("type")) or "text"
    if kind in MESSAGE_KINDS:
        return kind
    if kind.lower() in UNHEARD_KINDS:
        return kind.lower()
    return "text" if body and body.strip() else kind


def _tap(delivery: WebhookDelivery) -> Tapped:
    contact = delivery.contact
    reply, title = _choice(delivery.data)
    if contact is None:
        raise UnknownSender()
    if not (reply or title):
        raise UnreadableEvent("`data.interactive` holds neither the id nor the title of what was tapped")
    message = _optional_name(delivery.data.get("message_id"))
    return Tapped(delivery.id, contact, delivery.at, delivery.sent_at, reply, title, message)


def _choice(data: Mapping[str, Any]) -> tuple[str, str]:
    """The id and the title of what was tapped."""
    interactive = child(data, "interactive")
    choice = child(interactive, "button") or child(interactive, "list_reply") or child(interactive, "button_reply")
    return _text(choice.get("id")) or "", _text(choice.get("title")) or ""


def _status(delivery: WebhookDelivery) -> StatusReported:
    """The specification does not show this payload, only that statuses are matched by the ids of a send's result."""
    messages = tuple(dict.fromkeys(_message_ids(delivery.data)))[:_MESSAGES]
    if delivery.name not in STATUSES:
        raise UnreadableEvent("`data.status` is no status of the specification")
    if not messages and delivery.contact is None:
        raise UnreadableEvent("`data` names neither a message nor a contact")
    detail = _reason(delivery.data) if delivery.name == "message.failed" else ""
    status = STATUSES[delivery.name]
    sent = _sent(delivery) if delivery.name == SENT else None
    return StatusReported(delivery.id, delivery.contact or "", delivery.at, status, messages, detail, sent)


def _sent(delivery: WebhookDelivery) -> ReportedMessage:
    """The message that was sent, in each place where a gateway may say something of it."""
    data = delivery.data
    places = data, child(data, "message")
    kinds = (_short(place.get("type")).lower() for place in places)
    texts = (_text(place.get(name)) or _text(child(place, name).get("body")) for place in places for name in _TEXTS)
    agents = (_name_of_person(place.get(name)) for place in places for name in _AGENTS)
    return ReportedMessage(
        next(filter(None, kinds), None) or ("template" if any("template" in place for place in places) else None),
        next(filter(None, texts), None),
        next(filter(None, agents), None),
        delivery.conversation,
        delivery.occurred_at,
    )


_TEXTS = ("body", "text", "content")
_AGENTS = ("agent", "sent_by", "user", "sender", "author")


def _name_of_person(value: Any) -> str | None:
    """A person's name or address for mail, from an object or a text. A number is an account's or a channel's."""
    fields = value if isinstance(value, dict) else {"name": value}
    name = line(fields.get("name"), _NAME) or line(fields.get("email"), _NAME)
    return None if name is None or not any(map(str.isalpha, name)) else name


def _message_ids(data: Mapping[str, Any]) -> Iterator[str]:
    listed = data.get("messages")
    for fields in (data, child(data, "message"), *(listed if isinstance(listed, list) else ())):
        for name in _MESSAGE_IDS if isinstance(fields, dict) else ():
            found = _optional_name(fields.get(name), _ID)
            if found is not None:
                yield found


def _reason(data: Mapping[str, Any]) -> str:
    """The reason why a message failed, in the gateway's words, and what to do if its code is known."""
    listed = data.get("errors")
    first = listed[0] if isinstance(listed, list) and listed else None
    code, message = words_of(data.get("error") or first or data.get("reason"))
    known = BY_CODE.get(code)
    advice = f" ({known.advice})" if known is not None else ""
    return (line(": ".join(part for part in (code, message) if part), _WORDS) or "the gateway gave no reason") + advice


def _changed(delivery: WebhookDelivery) -> ContactChanged:
    if delivery.contact is None:
        raise UnreadableEvent("`data.phone` is no phone number")
    fields, id = _contact_fields(delivery.data), _contact_id(delivery.data)
    name, email = person(fields.get("name"), delivery.contact), read_email(fields.get("email"))
    tags = read_tags(fields.get("tags"))
    what = delivery.name, name, email, tags, "name" in fields and tags is not None, id and by_id(id)
    return ContactChanged(delivery.id, delivery.contact, delivery.at, *what)


def _contact_fields(data: Mapping[str, Any]) -> Mapping[str, Any]:
    return child(data, "contact") or data


def _contact_id(data: Mapping[str, Any]) -> str | None:
    fields = _contact_fields(data)
    return _optional_name(fields.get("contact_id")) or (None if fields is data else _optional_name(fields.get("id")))


def _opened(delivery: WebhookDelivery) -> ConversationOpened:
    _name_somebody(delivery)
    return ConversationOpened(
        delivery.id, delivery.contact or "", delivery.at, delivery.conversation, _contact_name(delivery)
    )


def _assigned(delivery: WebhookDelivery) -> ConversationAssigned:
    _name_somebody(delivery)
    agent = child(delivery.data, "agent")
    who = line(agent.get("name"), _NAME) or line(agent.get("email"), _NAME) or _optional_name(agent.get("id"))
    return ConversationAssigned(
        delivery.id,
        delivery.contact or "",
        delivery.at,
        delivery.conversation,
        _contact_name(delivery),
        who,
        delivery.occurred_at,
    )


def _resolved(delivery: WebhookDelivery) -> HandoffClosed:
    _name_somebody(delivery)
    who, occurred_at = delivery.contact or "", delivery.occurred_at
    return HandoffClosed(delivery.id, who, delivery.at, delivery.conversation, occurred_at=occurred_at)


def _name_somebody(delivery: WebhookDelivery) -> None:
    """The contact of an event is ``""`` where only the conversation is named: one of the two it has to name."""
    if delivery.contact is None and delivery.conversation is None:
        raise UnreadableEvent("`data` names neither a contact nor a conversation")


def _contact_name(delivery: WebhookDelivery) -> str | None:
    return person(child(delivery.data, "contact").get("name"), delivery.contact or "")


MEANINGS: Mapping[str, Callable[[WebhookDelivery], Event]] = {
    INBOUND: _inbound,
    TAP: _tap,
    **dict.fromkeys((*STATUSES, STATUS), _status),
    "contact.created": _changed,
    "contact.updated": _changed,
    "conversation.opened": _opened,
    "conversation.assigned": _assigned,
    "conversation.resolved": _resolved,
}


def event_name(fields: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """The event's name as the event list has it."""
    name = _short(fields.get("event"))
    if name == STATUS:
        named = f"message.{_short(data.get('status')).lower()}"
        return named if named in STATUSES else STATUS
    return ALIASES.get(name, name)


def contact_of(event: str, data: Mapping[str, Any], ids: bool) -> str | None:
    """The contact that an event is about. A status is about the receiver of the message: its ``from`` is the channel.

    ``ids``: a sender who is no phone number is a contact, too, by the id as it came (`BOT_ANSWER_IDS`).
    """
    named = data.get("to" if event in STATUSES else "from")
    contact = (
        digits(named)
        or (sender_id(named) if ids and event in (INBOUND, TAP) else None)
        or digits(child(data, "contact").get("phone"))
    )
    contact = contact or (None if event in STATUSES else digits(data.get("phone")))
    id = _contact_id(data) if contact is None and MEANINGS.get(event) is _changed else None
    return contact if id is None else by_id(id)


def child(fields: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The object in a field; an empty one for anything else."""
    value = fields.get(name)
    return value if isinstance(value, dict) else {}


def _optional_name(value: Any, limit: int = _NAME) -> str | None:
    if isinstance(value, str):
        return clean(value, limit) or None
    return clean(str(value), limit) if isinstance(value, int) and not isinstance(value, bool) else None


def _short(value: Any) -> str:
    return clean(value, _NAME) if isinstance(value, str) else ""


def _text(value: Any) -> str | None:
    return clean(value) if isinstance(value, str) else None


def _media(kind: str, data: Mapping[str, Any], caption: str | None) -> Media | None:
    link = data.get("media_url")
    if not isinstance(link, str) or not 0 < len(link) <= _LINK:
        return None
    suffix = suffix_of(link)
    named = (found.name for found in FILE_TYPES if found.kind == kind and found.suffix == _SAME.get(suffix, suffix))
    return Media(kind, clean(link), caption, type=next(named, None))


_SAME = {"jpeg": "jpg"}  # endings of one type


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


_EVENT_ID = 100  # characters; a longer text is no id
_TIMESTAMP = lazy_pattern(r"[0-9]{1,12}")


class Verdict(Enum):
    """The result of checking a delivery's signature and timestamp."""

    GENUINE = "genuine"
    STALE = "stale"
    """Rightly signed, but the timestamp is too far off: a replay, or a retry that was not stamped anew."""
    FORGED = "forged"
    MALFORMED = "malformed"
    """The signature or the timestamp is missing, or the timestamp is no number."""


def verify(
    secrets: Collection[str],
    timestamp: str | None,
    signature: str | None,
    raw: bytes,
    now: datetime,
    tolerance: timedelta,
) -> Verdict:
    """Judge a delivery by its two headers. Any of the secrets will do, so that one can replace another.

    White space around the timestamp says nothing. It may be signed with it or without it: servers on the way take it
    out.
    """
    stamp = (timestamp or "").strip()
    if not signature or _TIMESTAMP.fullmatch(stamp) is None:
        return Verdict.MALFORMED
    given = signature.strip().removeprefix("sha256=").strip().lower().encode("utf-8", "replace")
    for form in dict.fromkeys((stamp, timestamp or "", f"{stamp} ")):
        content = b"%b.%b" % (form.encode("utf-8", "replace"), raw)
        for secret in secrets:
            if secret and hmac.compare_digest(_digest(secret, content).encode(), given):  # mostly the first one
                age = abs(now.timestamp() - int(stamp))
                return Verdict.GENUINE if age <= tolerance.total_seconds() else Verdict.STALE
    return Verdict.FORGED


def sign(secret: str, timestamp: str, raw: bytes) -> str:
    """The signature header of a body at that time, as `verify` takes it."""
    return f"sha256={_digest(secret, timestamp.encode() + b'.' + raw)}"


def _digest(secret: str, content: bytes) -> str:
    digest = _keyed(secret).copy()  # keying takes longer than hashing
    digest.update(content)
    return digest.hexdigest()


@lru_cache(8)
def _keyed(secret: str) -> hmac.HMAC:
    return hmac.new(secret.encode(), digestmod="sha256")


class Envelope(NamedTuple):
    """The parts of a delivery that are read before its meaning: its unique id, its event's name, and the contact that
    it concerns.

    A body without a usable id gets one made of its hash. ``readable`` is False if the body is no event. ``message`` is
    the same for all events of one message; None for an event of no message.
    """

    id: str
    event: str
    contact: str | None
    readable: bool
    message: str | None


def envelope(raw: bytes, ids: bool = False) -> Envelope:
    """Read just enough of a body to file it. ``ids`` is as in `contact_of`."""
    body = _object(raw)
    data = child(body, "data")
    event = event_name(body, data)
    contact = contact_of(event, data, ids)
    return Envelope(_event_id(body, raw), event, contact, bool(event), _message_key(event, contact, data))


def _message_key(event: str, contact: str | None, data: Mapping[str, Any]) -> str | None:
    """The key that all events of one message share: an id counts for a contact and a channel. A tap names no channel,
    and its id might be that of the message that was tapped, so its choice and its time have to be the same, too
    (decisions: "Webhook").
    """
    message = _optional_name(data.get("message_id"), _ID)
    if message is None or event not in (INBOUND, TAP):
        return None
    whose = contact or _optional_name(data.get("from")), digits(data.get("to")) or _optional_name(data.get("to"))
    said = _short(data.get("type")), _text(data.get("body"))
    what = (*_choice(data), _optional_name(data.get("timestamp"))) if event == TAP else said
    return hashlib.sha256(repr((event, message, *whose, *what)).encode()).hexdigest()


def read(body: bytes, received_at: datetime, ids: bool = False) -> Event | None:
    """Read the event of a stored body; None if it means nothing to a session.

    ``received_at`` is when the delivery came: a timestamp later than that does not count as later. ``ids`` is as in
    `contact_of`. Raises `UnreadableEvent` if it would mean something, and does not say to which contact, or what.
    """
    fields = _object(body)
    data = child(fields, "data")
    name = event_name(fields, data)
    meaning = MEANINGS.get(name)
    if meaning is None:
        return None
    occurred_at = _occurred_at((data.get("timestamp"), fields.get("timestamp")), received_at)
    sent_at = received_at if occurred_at is None else min(occurred_at, received_at)
    id, contact = _event_id(fields, body), contact_of(name, data, ids)
    return meaning(WebhookDelivery(id, name, data, contact, received_at, sent_at, occurred_at))


def _object(raw: bytes) -> Mapping[str, Any]:
    """The body's object. It is UTF-8 without a byte order mark, or none at all."""
    try:
        value = orjson.loads(raw)
    except ValueError:  # it takes no halves of surrogate pairs, and no NaN
        try:
            return json_object(raw.decode())
        except UnicodeDecodeError:
            return {}
    return value if isinstance(value, dict) else {}


def _event_id(fields: Mapping[str, Any], raw: bytes) -> str:
    value = fields.get("id")
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if 0 < len(text) <= _EVENT_ID and text.isprintable() and not text.startswith(WRITTEN_HERE):
        return text
    return f"sha256:{hashlib.sha256(raw).hexdigest()}"


def _occurred_at(stamps: Iterable[Any], received_at: datetime) -> datetime | None:
    """The first stamp that is a time. None: there is none, or it is further in the future than clocks differ."""
    for stamp in stamps:
        if isinstance(stamp, int | float) and not isinstance(stamp, bool) and stamp > 0:
            believable = stamp < received_at.timestamp() + _CLOCKS_DIFFER.total_seconds()
            return datetime.fromtimestamp(stamp, UTC) if believable else None
    return None
