"""The contacts of the playground, and the messages on the phone of each."""

import threading
from collections.abc import Callable, Mapping
from typing import Any

from bot.core.clock import MovableClock
from bot.pages.playground.refused import Refused
from bot.pages.shared.contact_view import Bubble
from bot.testing.simulation.phone import ShownMessage
from bot.testing.simulation.simulation import FIRST_CONTACT

MOST_CONTACTS = 50
NAMES = ("Ana", "Ben", "Chloe", "Dewi", "Emre", "Fatima", "Giulia", "Hugo", "Ines", "Jonas", "Kiran", "Lena")
"""The names under which the page lists the first contacts. The bot knows their numbers alone."""


class Chats:
    """The chats of all contacts. Safe to use from many threads.

    ``changed`` is called after each change. ``acts``: the numbers of the contacts' own bubbles, by the ids of the
    gateway's events.
    """

    def __init__(self, clock: MovableClock, changed: Callable[[], None]) -> None:
        self.acts: dict[str, int] = {}
        self._clock = clock
        self._changed = changed
        self._lock = threading.Lock()
        self._bubbles: dict[str, list[Bubble]] = {FIRST_CONTACT: []}
        self._count = 0

    @property
    def contacts(self) -> list[str]:
        """The numbers of all contacts, the first one first."""
        with self._lock:
            return list(self._bubbles)

    def add_contact(self) -> str:
        """Add a contact whom the bot does not know. Returns the number."""
        with self._lock:
            if len(self._bubbles) >= MOST_CONTACTS:
                raise Refused(f"there are {MOST_CONTACTS} contacts already: start `bot dev` again")
            number = str(max(map(int, (*self._bubbles, FIRST_CONTACT))) + 1)
            self._bubbles[number] = []
        self._changed()
        return number

    @property
    def names(self) -> dict[str, str]:
        """The name under which the page lists each contact, by number."""
        return {number: NAMES[n] if n < len(NAMES) else f"Contact {n + 1}" for n, number in enumerate(self.contacts)}

    def require(self, contact: str) -> str:
        """Return the contact. Raises `Refused` for an unknown one."""
        if contact not in self.contacts:
            raise Refused(f"there is no contact {contact}")
        return contact

    def bubbles(self, contact: str) -> list[Bubble]:
        """A contact's messages, oldest first. Raises `Refused` for an unknown contact."""
        self.require(contact)
        with self._lock:
            return list(self._bubbles[contact])

    def add(
        self,
        contact: str,
        message: ShownMessage | None = None,
        id: str = "",
        *,
        text: str = "",
        kind: str = "text",
        file: str = "",
        data: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> int:
        """Add a bubble to a contact's chat. Returns its number."""
        with self._lock:
            self._count += 1
            bubble = Bubble(self._count, self._clock.now(), message, id, text, kind, file, data or {}, key)
            self._bubbles.setdefault(contact, []).append(bubble)
        self._changed()
        return bubble.number

    def remove(self, contact: str, number: int) -> None:
        """Take a bubble back: it did not happen."""
        with self._lock:
            self._bubbles[contact] = [each for each in self._bubbles[contact] if each.number != number]
        self._changed()
