"""The phones of a simulation's contacts: the messages that the bot has sent to them."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from bot.testing.emulator import AcceptedMessage, Emulator
from bot.testing.simulation.phone import MadeText, ShownMessage, message_from_request


@dataclass
class _Phone:
    """The messages that nobody has looked at yet, and all messages."""

    heard: list[ShownMessage] = field(default_factory=list)
    shown: list[ShownMessage] = field(default_factory=list)


class Phones:
    """The phones by their contacts' numbers. ``contact`` returns the number of the simulation's contact, ``made`` the
    text of a file that is made.

    ``on_message`` is called with each message to that contact at once, on another thread.
    """

    def __init__(
        self,
        emulator: Emulator,
        contact: Callable[[], str],
        made: MadeText,
        on_message: Callable[[ShownMessage], None] | None,
    ) -> None:
        self._emulator = emulator
        self._contact = contact
        self._made = made
        self._on_message = on_message
        self._phones = defaultdict[str, _Phone](_Phone)
        emulator.on_sent(self._take)

    @property
    def contacts(self) -> list[str]:
        """The contacts who have a phone here."""
        return list(self._phones)

    @property
    def received(self) -> int:
        """The number of messages that the contact has received."""
        return len(self.messages())

    def messages(self) -> list[ShownMessage]:
        """All messages that the contact has received."""
        return self._phones[self._contact()].shown

    def heard(self) -> list[ShownMessage]:
        """The messages that the contact has received since the last call."""
        phone = self._phones[self._contact()]
        heard, phone.heard = phone.heard, []
        return heard

    def heard_by_others(self) -> dict[str, list[ShownMessage]]:
        """The messages that other contacts have received since the last call, by their numbers."""
        mine = self._contact()
        found = {contact: phone.heard for contact, phone in self._phones.items() if contact != mine and phone.heard}
        for contact in found:
            self._phones[contact].heard = []
        return found

    def clear(self) -> None:
        """Forget all phones."""
        self._phones.clear()

    def shown(self, sent: AcceptedMessage) -> ShownMessage:
        """A message that the gateway has accepted, as the contact sees it."""
        replies = self._replies_of(sent) if sent.type == "template" else ()
        return message_from_request(sent.type, sent.body, replies, self._made)

    def _take(self, sent: AcceptedMessage) -> None:
        message = self.shown(sent)
        phone = self._phones[sent.to]
        phone.heard.append(message)
        phone.shown.append(message)
        if self._on_message is not None and sent.to == self._contact():
            self._on_message(message)

    def _replies_of(self, sent: AcceptedMessage) -> tuple[str, ...]:
        """The titles of a template's quick reply buttons, as they are registered."""
        name, language = sent.body["template"]["name"], sent.body["template"]["language"]["code"]
        known = (found for found in self._emulator.templates if (found.name, found.language) == (name, language))
        return tuple(button.title for found in known for button in found.buttons if button.kind == "quick_reply")
