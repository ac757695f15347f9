"""The gateway's webhook: is a delivery genuine, which event is it, and what does it mean (spec: Events).

Pure: time and secrets are arguments. Nothing in a body, however strange, makes any of this raise.
"""

import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any

from bot.core.events import STARTS, Event
from bot.core.text import json_object
from bot.gateway.payloads import MEANINGS, Delivery, child, contact_of, name_of

_EVENT_ID = 100  # characters; a longer one is none
_TIMESTAMP = re.compile(r"[0-9]{1,12}")


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
    data = child(body, "data")
    event = name_of(body, data)
    return Envelope(_event_id(body, raw), event, contact_of(event, data), readable=bool(event))


def read(body: bytes, received_at: datetime) -> Event | None:
    """The event of a stored body; None for one that means nothing to a session.

    ``received_at`` is when the delivery came: a timestamp later than that does not count as later. Raises
    `UnreadableEvent` for one that would mean something and does not say to whom, or what.
    """
    fields = _object(body)
    data = child(fields, "data")
    name = name_of(fields, data)
    meaning = MEANINGS.get(name)
    if meaning is None:
        return None
    stamps = (data.get("timestamp"), fields.get("timestamp"))
    sent_at = _sent_at(stamps, received_at)
    return meaning(Delivery(_event_id(fields, body), name, data, contact_of(name, data), received_at, sent_at))


def _object(raw: bytes) -> Mapping[str, Any]:
    """The body's object. It is UTF-8 without a byte order mark, or none at all."""
    try:
        return json_object(raw.decode())
    except UnicodeDecodeError:
        return {}


def _event_id(fields: Mapping[str, Any], raw: bytes) -> str:
    value = fields.get("id")
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if 0 < len(text) <= _EVENT_ID and text.isprintable() and not text.startswith(STARTS):
        return text
    return f"sha256:{hashlib.sha256(raw).hexdigest()}"


def _sent_at(stamps: Iterable[Any], received_at: datetime) -> datetime:
    """The first stamp that is a time. One from the future would keep the window open for longer than it is."""
    for stamp in stamps:
        if isinstance(stamp, int | float) and not isinstance(stamp, bool) and stamp > 0:
            return received_at if stamp >= received_at.timestamp() else datetime.fromtimestamp(stamp, UTC)
    return received_at
