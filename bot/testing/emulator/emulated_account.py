"""The emulated account: its channels, contacts, accepted messages and events, guarded by one lock."""

import secrets
import threading
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.core.clock import Clock
from bot.testing.emulator import request_rules
from bot.testing.emulator.emulated_templates import Templates
from bot.testing.emulator.event_payloads import (
    EVENTS,
    INBOUND_KINDS,
    NOTICE_KINDS,
    WITH_MEDIA,
    Contact,
    Inbound,
    Payloads,
    envelope,
)
from bot.testing.emulator.gateway_behaviour import Behaviour
from bot.testing.emulator.injected_faults import Request
from bot.testing.emulator.interactive import InteractiveChoice
from bot.testing.emulator.request_rules import refuse
from bot.testing.emulator.webhooks import Webhooks


class NotShown(Exception):
    """A tap on something that the contact was never shown."""


@dataclass(frozen=True, slots=True)
class AcceptedMessage:
    """A message that the gateway accepted. ``body`` is the whole request's; ``at`` is aware, UTC."""

    to: str
    type: str
    body: dict[str, Any]
    key: str | None
    at: datetime
    message_id: str
    endpoint: str
    chat_message_id: str
    channel_id: str


class EmulatedAccount:
    """Contacts, messages and events of one account. ``channels`` maps channel ids to their numbers; those in
    ``inactive`` exist and are switched off.

    ``files`` are the known media addresses: a size in bytes, or None for one that cannot be reached.
    """

    def __init__(
        self,
        clock: Clock,
        behaviour: Behaviour,
        webhooks: Webhooks,
        *,
        lock: threading.RLock,
        changed: threading.Condition,
        channels: Mapping[str, str],
        keep: int | None,
    ) -> None:
        self.clock = clock
        self.behaviour = behaviour
        self.webhooks = webhooks
        self.lock = lock
        self.channels = dict(channels)
        self.inactive: set[str] = set()
        self.contacts: dict[str, Contact] = {}  # by number
        self.templates = Templates()
        self.files: dict[str, int | None] = {}
        self.sent: deque[AcceptedMessage] = deque(maxlen=keep)
        self.without_status: set[str] = set()  # messages without status events so far
        self.counts: Counter[str] = Counter()
        self.payloads = Payloads(behaviour)
        self._changed = changed
        self._run = secrets.token_hex(4)
        self._serial = 0

    # The API

    def channel(self, channel_id: Any) -> str:
        """The channel of a send. Raises `Refusal`."""
        if channel_id is None:
            active = [channel for channel in self.channels if channel not in self.inactive]
            if len(self.channels) > 1:
                request_rules.missing("channel_id")
            if active:
                return active[0]
        elif isinstance(channel_id, str) and channel_id in self.channels and channel_id not in self.inactive:
            return channel_id
        refuse("WHATSAPP_CHANNEL_NOT_FOUND", "the channel is unknown or inactive", field="channel_id")

    def check_window(self, phone: str) -> None:
        """Refuse a message that is no template if the contact's window is closed."""
        if self.behaviour.window == "open":
            return
        contact = self.find(phone)
        if contact is None or not contact.window_open(self.clock.now()):
            hint = "24 hours from the contact's last message"
            refuse("WHATSAPP_TEMPLATE_REQUIRED", "the conversation window is closed", field="type", hint=hint)

    def accept(
        self, request: Request, phone: str, kind: str, channel_id: str, shown: list[InteractiveChoice]
    ) -> AcceptedMessage:
        """Accept a message that has passed every check."""
        now = self.clock.now()
        with self.lock:
            message_id = self._id("msg")
            chat_id = f"chat.{message_id}"
            sent = AcceptedMessage(
                phone, kind, request.body, request.key, now, message_id, request.endpoint, chat_id, channel_id
            )
            self.sent.append(sent)
            if self.behaviour.statuses:
                self.without_status.add(message_id)
            self.counts["accepted"] += 1
            self.counts[f"accepted {kind}"] += 1
            if shown:
                self.known(phone).show(shown)
            self._changed.notify_all()
            return sent

    def emit_statuses(self, sent: AcceptedMessage) -> None:
        """Emit the status events of a message, as far as they are switched on; none the second time."""
        with self.lock:
            if sent.message_id in self.without_status:
                for status in self.behaviour.statuses:
                    self.emit_status(sent, status)
                self.without_status.discard(sent.message_id)
                self._changed.notify_all()

    def emit_status(self, sent: AcceptedMessage, status: str) -> str:
        """Emit the event of a message's status. Returns its id."""
        carried = sent.message_id if self.behaviour.status_id == "messageId" else sent.chat_message_id
        now = self.clock.now()
        return self.emit(f"message.{status}", self.payloads.status(sent.to, carried, status, now), sent.to, now)

    def upsert(self, phone: str, name: str | None, email: str | None, tags: tuple[str, ...] | None) -> Contact:
        """Create or update a contact by its number. Values that are None do not change."""
        with self.lock:
            now = self.clock.now()
            known = self.find(phone)
            contact = known or self._new_contact(phone, now, name)
            contact.name, contact.updated_at = name or contact.name, now
            contact.email = email if email is not None else contact.email
            if tags is not None:
                merged = self.behaviour.contact_tags == "merge"
                contact.tags = tuple(dict.fromkeys((*contact.tags, *tags) if merged else tags))
            if self.behaviour.companion_events:
                self.emit_contact(contact, new=known is None)
            self._changed.notify_all()
            return contact

    def emit_contact(self, contact: Contact, *, new: bool) -> str:
        """Emit the event of a contact that was created or changed. Returns its id."""
        if new:
            return self.emit("contact.created", self.payloads.created(contact), contact.phone)
        return self.emit("contact.updated", self.payloads.updated(contact), contact.phone)

    def find(self, phone: str) -> Contact | None:
        """The contact of a number (with or without ``+``) or of its alias."""
        phone = phone.removeprefix("+")
        for number, alias in self.behaviour.aliases.items():
            if alias == phone:
                return self.contacts.get(number)
        return self.contacts.get(phone)

    def known(self, phone: str) -> Contact:
        """The contact of a number; it is created if necessary."""
        return self.find(phone) or self._new_contact(phone.removeprefix("+"), self.clock.now())

    # Contacts and agents

    def receive(
        self, phone: str, what: Inbound, at: datetime | None, channel_id: str | None, event_id: str | None
    ) -> str:
        """A contact writes."""
        if what.kind not in (*INBOUND_KINDS, *NOTICE_KINDS):
            raise ValueError(f"{what.kind!r} must be one of {', '.join((*INBOUND_KINDS, *NOTICE_KINDS))}")
        if (what.media_url is not None) != (what.kind in WITH_MEDIA):
            raise ValueError(f"a media_url belongs to {', '.join(WITH_MEDIA)}, and to nothing else")
        if what.location is not None and what.kind != "location":
            raise ValueError("a location belongs to the kind location, and to nothing else")
        with self.lock:
            contact, at = self._heard(phone, at, opens=what.kind not in NOTICE_KINDS)
            to = self.channels[channel_id or next(iter(self.channels))]
            data = self.payloads.inbound(contact, self._id("in"), to, at, what)
            return self.emit("message.inbound", data, contact.phone, at, event_id)

    def tap(self, phone: str, reply_id: str | None, title: str | None, kind: str | None, at: datetime | None) -> str:
        """A contact taps something that it was shown. Raises `NotShown` for anything else."""
        with self.lock:
            known = self.find(phone)
            choice = known.find(reply_id, title, kind) if known is not None else None
            if choice is None:
                raise NotShown("this contact was never sent such a button, row or quick reply")
            way = self.behaviour.template_tap
            if choice.kind == "template" and way != "interactive_reply":
                text = choice.title if way == "title" else choice.id
                return self.receive(phone, Inbound(body=text), at, None, None)
            contact, at = self._heard(phone, at)
            data = self.payloads.reply(contact, self._id("in"), at, choice)
            return self.emit("message.interactive_reply", data, contact.phone, at)

    def emit(
        self,
        name: str,
        data: Any,
        contact: str | None = None,
        at: datetime | None = None,
        event_id: str | None = None,
    ) -> str:
        """Deliver an event with any payload. Returns its id."""
        if name not in EVENTS:
            raise ValueError(f"{name!r} must be one of {', '.join(EVENTS)}")
        with self.lock:
            event_id = event_id or self._id("evt")
            at = at or self.clock.now()
            self.webhooks.deliver(envelope(event_id, name, contact, at, data, self.behaviour))
            return event_id

    def _heard(self, phone: str, at: datetime | None, *, opens: bool = True) -> tuple[Contact, datetime]:
        """The contact who sent something, and when. ``opens``: this opens the window and a conversation."""
        at = at or self.clock.now()
        contact = self.find(phone)
        if contact is None:
            contact = self._new_contact(phone.removeprefix("+"), at)
            if self.behaviour.companion_events:
                self.emit("contact.created", self.payloads.created(contact), contact.phone, at)
        if not opens:
            return contact, at
        contact.heard(at)
        if not contact.conversation_open and self.behaviour.companion_events:
            self.emit("conversation.opened", self.payloads.opened(contact, at), contact.phone, at)
        contact.conversation_open = True
        return contact, at

    def _new_contact(self, phone: str, now: datetime, name: str | None = None) -> Contact:
        contact = self.contacts[phone] = Contact(len(self.contacts) + 1, phone, now, now, name or phone)
        return contact

    def _id(self, kind: str) -> str:
        self._serial += 1
        return f"{kind}_{self._run}_{self._serial}"
