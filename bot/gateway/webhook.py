"""The gateway's webhook: is a delivery genuine, which event is it, and what does it mean (spec: Events).

Pure: time and secrets are arguments. Nothing in a body, however strange, makes any of this raise.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any

from bot.core.errors import BotError
from bot.core.events import Event, HandoffClosed, MessageReceived, Tapped
from bot.core.messages import MEDIA_KINDS
from bot.core.values import Location, Media
from bot.gateway.text import clean

INBOUND = "message.inbound"
TAP = "message.interactive_reply"
RESOLVED = "conversation.resolved"
ALIASES = {"message.received": INBOUND, "interactive_response": TAP}
"""Names of the specification's sample code. Its ``message.status`` is no event for a session, as no status is."""
_NAME = 100  # characters of an id or a name that are kept
_LINK = 2000
_TIMESTAMP = re.compile(r"[0-9]{1,12}")
_PHONE = re.compile(r"\+?([0-9]{1,15})")
_SEPARATORS = str.maketrans("", "", " -().\u00a0")


class UnreadableEvent(BotError):
    """A signed event of a known name whose data make no sense: it is kept for the operator."""


class Verdict(Enum):
    """What a delivery's signature and timestamp say."""

    GENUINE = "genuine"
    STALE = "stale"
    """Rightly signed, but the timestamp is too far off: a replay, or a retry that was not stamped anew."""
    FORGED = "forged"
    MALFORMED = "malformed"
    """The signature or the timestamp is missing, or the timestamp is no number."""


def verify(
    secrets: Iterable[str],
    timestamp: str | None,
    signature: str | None,
    raw: bytes,
    now: datetime,
    tolerance: timedelta,
) -> Verdict:
    """Judge a delivery by its two headers. Any of the secrets will do, so that one can replace another."""
    if not timestamp or not signature or _TIMESTAMP.fullmatch(timestamp) is None:
        return Verdict.MALFORMED
    given = signature.strip().removeprefix("sha256=").lower().encode("utf-8", "replace")
    signed = timestamp.encode() + b"." + raw
    matches = [
        hmac.compare_digest(hmac.digest(secret.encode(), signed, "sha256").hex().encode(), given)
        for secret in secrets
        if secret
    ]
    if not any(matches):
        return Verdict.FORGED
    age = abs(now.timestamp() - int(timestamp))
    return Verdict.GENUINE if age <= tolerance.total_seconds() else Verdict.STALE


@dataclass(frozen=True, slots=True)
class Envelope:
    """What is known of a delivery before its meaning: its unique id, its event's name, and whom it concerns.

    A body without a usable id has one made of its hash. ``readable`` is False for what is no event at all.
    """

    id: str
    event: str
    contact: str | None
    readable: bool


def envelope(raw: bytes) -> Envelope:
    """Read just enough of a body to file it."""
    body = _object(raw)
    data = _child(body, "data")
    event = _name(body.get("event"))
    contact = _phone(data.get("from")) or _phone(_child(data, "contact").get("phone"))
    return Envelope(_event_id(body, raw), ALIASES.get(event, event), contact, readable=bool(event))


def read(body: bytes, received_at: datetime) -> Event | None:
    """The event of a stored body; None for one that means nothing to a session.

    ``received_at`` is when the delivery came: a timestamp later than that does not count as later. Raises
    `UnreadableEvent` for one that would mean something and does not say to whom, or what.
    """
    fields = _object(body)
    name = _name(fields.get("event"))
    meaning = _MEANINGS.get(ALIASES.get(name, name))
    if meaning is None:
        return None
    data = _child(fields, "data")
    stamps = (data.get("timestamp"), fields.get("timestamp"))
    return meaning(_Delivery(_event_id(fields, body), data, received_at, _sent_at(stamps, received_at)))


@dataclass(frozen=True, slots=True)
class _Delivery:
    id: str
    data: Mapping[str, Any]
    at: datetime
    sent_at: datetime


def _inbound(delivery: _Delivery) -> MessageReceived:
    data = delivery.data
    contact = _phone(data.get("from"))
    if contact is None:
        raise UnreadableEvent("`data.from` is no phone number")
    body = _text(data.get("body"))
    kind = _name(data.get("type")) or "text"
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
        channel=_phone(data.get("to")) or _optional_name(data.get("to")),
        conversation=_optional_name(data.get("conversation_id")),
        message=_optional_name(data.get("message_id")),
    )


def _tap(delivery: _Delivery) -> Tapped:
    contact = _phone(delivery.data.get("from"))
    interactive = _child(delivery.data, "interactive")
    choice = _child(interactive, "button") or _child(interactive, "list_reply") or _child(interactive, "button_reply")
    reply, title = _text(choice.get("id")) or "", _text(choice.get("title")) or ""
    if contact is None:
        raise UnreadableEvent("`data.from` is no phone number")
    if not (reply or title):
        raise UnreadableEvent("`data.interactive` holds neither the id nor the title of what was tapped")
    message = _optional_name(delivery.data.get("message_id"))
    return Tapped(delivery.id, contact, delivery.at, delivery.sent_at, reply, title, message)


def _resolved(delivery: _Delivery) -> HandoffClosed:
    """The specification does not show this payload: the contact is ``""`` where only the conversation is named."""
    data = delivery.data
    contact = _phone(_child(data, "contact").get("phone")) or _phone(data.get("from")) or ""
    conversation = _optional_name(data.get("conversation_id"))
    if not contact and conversation is None:
        raise UnreadableEvent("`data` names neither a contact nor a conversation")
    return HandoffClosed(delivery.id, contact, delivery.at, conversation)


_MEANINGS: Mapping[str, Callable[[_Delivery], Event]] = {INBOUND: _inbound, TAP: _tap, RESOLVED: _resolved}


def _object(raw: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(raw.decode())
    except (ValueError, RecursionError):  # no JSON, no UTF-8, a number of 5,000 digits, 100,000 brackets
        return {}
    return value if isinstance(value, dict) else {}


def _child(fields: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = fields.get(name)
    return value if isinstance(value, dict) else {}


def _event_id(fields: Mapping[str, Any], raw: bytes) -> str:
    value = fields.get("id")
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if 0 < len(text) <= _NAME and text.isprintable():
        return text
    return f"sha256:{hashlib.sha256(raw).hexdigest()}"


def _name(value: Any) -> str:
    return clean(value, _NAME) if isinstance(value, str) else ""


def _optional_name(value: Any) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    return _name(value) or None


def _text(value: Any) -> str | None:
    return clean(value) if isinstance(value, str) else None


def _phone(value: Any) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    found = _PHONE.fullmatch(value.translate(_SEPARATORS)) if isinstance(value, str) else None
    return found[1] if found else None


def _media(kind: str, data: Mapping[str, Any], caption: str | None) -> Media | None:
    link = data.get("media_url")
    if kind not in MEDIA_KINDS or not isinstance(link, str) or not 0 < len(link) <= _LINK:
        return None
    return Media(kind, clean(link), caption)


def _location(data: Mapping[str, Any]) -> Location | None:
    """The specification's payload has no coordinates; where they are sent, they stand in one of these two places."""
    place = _child(data, "location") or data
    latitude, longitude = _degrees(place.get("latitude"), 90), _degrees(place.get("longitude"), 180)
    if latitude is None or longitude is None:
        return None
    return Location(latitude, longitude, _text(place.get("name")), _text(place.get("address")))


def _degrees(value: Any, limit: int) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not -limit <= value <= limit:
        return None
    return float(value)


def _sent_at(stamps: Iterable[Any], received_at: datetime) -> datetime:
    """The first stamp that is a time. One from the future would keep the window open for longer than it is."""
    for stamp in stamps:
        if isinstance(stamp, int | float) and not isinstance(stamp, bool) and stamp > 0:
            return received_at if stamp >= received_at.timestamp() else datetime.fromtimestamp(stamp, UTC)
    return received_at
