"""The gateway's events about a contact, except messages. A test or a program can let them happen."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from bot.core.errors import BotError
from bot.core.immutable import immutable
from bot.language.keys.declared_keys import STRING, STRINGS, KeySet, KeySpec

if TYPE_CHECKING:  # it serves HTTP, and a check that only reads tests does not need that
    from bot.testing.emulator import Emulator

Data = Mapping[str, Any]


class NothingYet(BotError):
    """There is no message or event yet to which this event could belong."""


@immutable
class GatewayEvent:
    """An event of the gateway: the keys with which a test describes it, and the function that makes it happen."""

    keys: KeySet
    happen: Callable[["Emulator", str, Data], object]


def _edited(new: bool, emulator: "Emulator", contact: str, data: Data) -> None:
    emulator.edit(contact, **data, new=new)


def _status(
    status: Literal["sent", "delivered", "read", "failed"], emulator: "Emulator", contact: str, _: Data
) -> None:
    """Change the status of the newest message."""
    sent = [message for message in emulator.sent if message.to == contact]
    if not sent:
        raise NothingYet(f"no message has been sent yet that could become {status}")
    emulator.status(sent[-1].message_id, status)


_OF_CONTACT = KeySet(
    KeySpec("name", STRING, "The contact's name."),
    KeySpec("email", STRING, "The contact's address for mail."),
    KeySpec("tags", STRINGS, "The contact's tags."),
)


def _sent(emulator: "Emulator", contact: str, data: Data) -> None:
    """The newest message was sent; with details, an agent has sent one."""
    if data:
        emulator.answer(contact, **data)
    else:
        _status("sent", emulator, contact, data)


_ANSWER = KeySet(
    KeySpec("agent", STRING, "The person who answers without taking the conversation."),
    KeySpec("text", STRING, "The text of the answer."),
)
_ASSIGNED = KeySet(KeySpec("agent", STRING, "The person who takes the conversation."))
_NOTHING = KeySet()

GATEWAY_EVENTS: dict[str, GatewayEvent] = {
    "contact.created": GatewayEvent(_OF_CONTACT, partial(_edited, True)),
    "contact.updated": GatewayEvent(_OF_CONTACT, partial(_edited, False)),
    "conversation.opened": GatewayEvent(_NOTHING, lambda emulator, contact, _: emulator.open(contact)),
    "conversation.assigned": GatewayEvent(_ASSIGNED, lambda emulator, contact, data: emulator.assign(contact, **data)),
    "conversation.resolved": GatewayEvent(_NOTHING, lambda emulator, contact, _: emulator.resolve(contact)),
    "message.sent": GatewayEvent(_ANSWER, _sent),
    "message.delivered": GatewayEvent(_NOTHING, partial(_status, "delivered")),
    "message.read": GatewayEvent(_NOTHING, partial(_status, "read")),
    "message.failed": GatewayEvent(_NOTHING, partial(_status, "failed")),
}
"""The gateway's events by name, except the contact's own messages and taps."""
