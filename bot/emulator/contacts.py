"""The contacts of the account: their window, and what each was shown (spec: "Contact", "Conversation window rule")."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from bot.emulator.interactive import Choice

WINDOW = timedelta(hours=24)
_SHOWN_KEPT = 100


@dataclass(eq=False, slots=True)
class Contact:
    """One contact; ``newest_inbound`` is the time of the newest message or tap, which opens the window."""

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
    shown: OrderedDict[tuple[str, str], Choice] = field(default_factory=OrderedDict)

    @property
    def conversation_id(self) -> str:
        """The id of the contact's conversation."""
        return f"conv_{self.id}"

    def window_open(self, now: datetime) -> bool:
        """Whether a message that is no template may be sent."""
        return self.newest_inbound is not None and now - self.newest_inbound <= WINDOW

    def heard(self, at: datetime) -> None:
        """Note that the contact wrote or tapped."""
        self.newest_inbound = at if self.newest_inbound is None else max(at, self.newest_inbound)

    def show(self, choices: Iterable[Choice]) -> None:
        """Note what the contact can tap from now on; older things stay tappable, the oldest are forgotten."""
        for choice in choices:
            key = (choice.kind, choice.id)
            self.shown.pop(key, None)
            self.shown[key] = choice
        while len(self.shown) > _SHOWN_KEPT:
            self.shown.popitem(last=False)

    def find(self, reply_id: str | None, title: str | None, kind: str | None) -> Choice | None:
        """The newest thing shown that fits what is given of id, title and kind."""
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


class Contacts:
    """All contacts, by number. Not safe for threads by itself: the account's lock is held."""

    def __init__(self) -> None:
        self._by_phone: dict[str, Contact] = {}

    def __iter__(self) -> Iterator[Contact]:
        return iter(self._by_phone.values())

    def get(self, phone: str) -> Contact | None:
        """The contact of a number, if there is one."""
        return self._by_phone.get(phone)

    def create(self, phone: str, now: datetime, name: str | None = None) -> Contact:
        """A new contact."""
        contact = Contact(len(self._by_phone) + 1, phone, now, now, name or phone)
        self._by_phone[phone] = contact
        return contact
