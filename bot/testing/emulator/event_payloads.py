"""The contacts of the emulated account, and the payloads of its events (spec: "Contact", "Events")."""

from base64 import b64decode
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from bot.testing.emulator.gateway_behaviour import Behaviour
from bot.testing.emulator.interactive import InteractiveChoice
from bot.testing.emulator.request_rules import encode

GATEWAY_WINDOW = timedelta(hours=24)
"""The time after a contact's newest message in which the gateway accepts messages that are no templates."""
_SHOWN_KEPT = 100


@dataclass(eq=False, slots=True)
class Contact:
    """One contact. ``newest_inbound`` is the time of its newest message or tap, which opens the window."""

    id: int
    phone: str
    created_at: datetime
    updated_at: datetime
    name: str
    email: str | None = None
    tags: tuple[str, ...] = ()
    custom_fields: dict[str, Any] = field(default_factory=dict)
    newest_inbound: datetime | None = None
    conversation_open: bool = False
    shown: OrderedDict[tuple[str, str], InteractiveChoice] = field(default_factory=OrderedDict)

    @property
    def conversation_id(self) -> str:
        """The id of the contact's conversation."""
        return f"conv_{self.id}"

    def window_open(self, now: datetime) -> bool:
        """True if a message that is no template may be sent."""
        return self.newest_inbound is not None and now - self.newest_inbound <= GATEWAY_WINDOW

    def heard(self, at: datetime) -> None:
        """Note that the contact wrote or tapped."""
        self.newest_inbound = at if self.newest_inbound is None else max(at, self.newest_inbound)

    def show(self, choices: Iterable[InteractiveChoice]) -> None:
        """Note what the contact can tap now. Older things stay, but the oldest are forgotten."""
        for choice in choices:
            key = (choice.kind, choice.id)
            self.shown.pop(key, None)
            self.shown[key] = choice
        while len(self.shown) > _SHOWN_KEPT:
            self.shown.popitem(last=False)

    def find(self, reply_id: str | None, title: str | None, kind: str | None) -> InteractiveChoice | None:
        """The newest thing shown with this id, title and kind, as far as they are given."""
        for choice in reversed(self.shown.values()):
            if all(
                wanted is None or wanted == given
                for wanted, given in ((reply_id, choice.id), (title, choice.title), (kind, choice.kind))
            ):
                return choice
        return None

    def record(self) -> dict[str, Any]:
        """The contact as lists show it."""
        return {
            "id": self.id,
            "phone": self.phone,
            "name": self.name,
            "email": self.email,
            "tags": list(self.tags),
            "custom_fields": self.custom_fields,
            "created_at": self.created_at.isoformat(),
            "updated_at": self.updated_at.isoformat(),
        }


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
INBOUND_KINDS = ("text", "image", "audio", "video", "document", "location", "sticker")
NOTICE_KINDS = ("reaction", "edited", "revoked", "system", "poll", "unsupported")
"""Types that the specification does not list, and gateways send. They open no window."""
WITH_MEDIA = ("image", "audio", "video", "document")
SAMPLES = {
    "image": b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="),
    "audio": b"OggS\x00\x02" + bytes(22),
    "video": b"\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom",
    "document": b"%PDF-1.4\n%%EOF\n",
}
"""The files that a contact sends if no other is given: the beginnings of such files."""
CHANNEL = "chat"
_SAMPLE_NAMES = {
    "message.inbound": "message.received",
    "message.sent": "message.status",
    "message.delivered": "message.status",
    "message.read": "message.status",
    "message.failed": "message.status",
    "message.interactive_reply": "interactive_response",
}


@dataclass(frozen=True, slots=True)
class Event:
    """An event that is delivered: ``name`` as in the event list, ``sent_name`` as it is sent."""

    id: str
    name: str
    sent_name: str
    contact: str | None
    timestamp: int
    body: bytes


def envelope(event_id: str, name: str, contact: str | None, at: datetime, data: Any, behaviour: Behaviour) -> Event:
    """Wrap a payload in the event envelope."""
    sent_name = _SAMPLE_NAMES.get(name, name) if behaviour.sample_code_names else name
    timestamp = int(at.timestamp())
    content = {"id": event_id, "event": sent_name, "timestamp": timestamp, "organization_id": 1, "data": data}
    return Event(event_id, name, sent_name, contact, timestamp, encode(content))


@dataclass(frozen=True, slots=True)
class Inbound:
    """A message of a contact. ``location`` has ``latitude`` and ``longitude``, perhaps ``name`` and ``address``."""

    kind: str = "text"
    body: str | None = None
    media_url: str | None = None
    location: dict[str, Any] | None = None


class Payloads:
    """The ``data`` of each event."""

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour

    def number(self, phone: str) -> str:
        """A number as events have it."""
        phone = self._behaviour.aliases.get(phone, phone)
        return f"+{phone}" if self._behaviour.plus_in_events else phone

    def inbound(self, contact: Contact, message_id: str, to: str, at: datetime, what: Inbound) -> dict[str, Any]:
        """``message.inbound``."""
        data: dict[str, Any] = {
            "message_id": message_id,
            "from": self.number(contact.phone),
            "to": f"+{to}" if self._behaviour.plus_in_events else to,
            "type": what.kind,
            "body": what.body,
            "media_url": what.media_url,
            "timestamp": int(at.timestamp()),
            "conversation_id": contact.conversation_id,
        }
        if what.location is not None:
            match self._behaviour.coordinates:
                case "object":
                    data["location"] = what.location
                case "flat":
                    data.update(what.location)
                case "body":
                    data["body"] = f"{what.location['latitude']},{what.location['longitude']}"
        return data

    def reply(self, contact: Contact, message_id: str, at: datetime, choice: InteractiveChoice) -> dict[str, Any]:
        """``message.interactive_reply``."""
        picked = {"id": choice.id, "title": choice.title}
        interactive = (
            {"type": "list", "list_reply": picked} if choice.kind == "list" else {"type": "button", "button": picked}
        )
        return {
            "message_id": message_id,
            "from": self.number(contact.phone),
            "timestamp": int(at.timestamp()),
            "interactive": interactive,
        }

    def status(self, to: str, message_id: str, status: str, at: datetime) -> dict[str, Any]:
        """The status events; their payload is not shown in the specification."""
        data: dict[str, Any] = {"status": status, "timestamp": int(at.timestamp())}
        match self._behaviour.status_payload:
            case "flat":
                data |= {"message_id": message_id, "to": self.number(to)}
            case "nested":
                data |= {"message": {"id": message_id}, "contact": {"phone": self.number(to)}}
            case "bare":
                data["message_id"] = message_id
        if status == "failed":
            data["error"] = {"code": "WHATSAPP_SEND_FAILED", "message": "The message was not delivered"}
        return data

    def answered(self, contact: Contact, message_id: str, text: str, agent: str, at: datetime) -> dict[str, Any]:
        """``message.sent`` for a message of an agent's; its payload is not shown in the specification."""
        status = self.status(contact.phone, message_id, "sent", at)
        return {**status, "type": "text", "body": text, "agent": {"name": agent}}

    def created(self, contact: Contact) -> dict[str, Any]:
        """``contact.created``."""
        record = contact.record()
        del record["updated_at"]
        return {"contact_id": record.pop("id"), **record}

    def updated(self, contact: Contact) -> dict[str, Any]:
        """``contact.updated``; its payload is not shown in the specification."""
        record = contact.record()
        return {"contact_id": record.pop("id"), **record}

    def opened(self, contact: Contact, at: datetime) -> dict[str, Any]:
        """``conversation.opened``."""
        return {
            **self._conversation(contact),
            "channel": CHANNEL,
            "status": "open",
            "created_at": at.isoformat(),
        }

    def assigned(self, contact: Contact, at: datetime, agent: str) -> dict[str, Any]:
        """``conversation.assigned``."""
        who = {"id": 1, "name": agent, "email": "agent@example.com"}
        return {**self._conversation(contact), "agent": who, "assigned_at": at.isoformat()}

    def resolved(self, contact: Contact, at: datetime) -> dict[str, Any]:
        """``conversation.resolved``; its payload is not shown in the specification."""
        if not self._behaviour.resolved_names_contact:
            return {"conversation_id": contact.conversation_id}
        return {**self._conversation(contact), "resolved_at": at.isoformat()}

    def _conversation(self, contact: Contact) -> dict[str, Any]:
        who = {"id": contact.id, "phone": self.number(contact.phone), "name": contact.name}
        return {"conversation_id": contact.conversation_id, "contact": who}
