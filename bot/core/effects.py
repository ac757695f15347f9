"""Effects: everything a turn decides to have done. They are rows of the outbox until somebody does them."""

from dataclasses import dataclass
from typing import Any

from bot.core.codec import stored
from bot.core.messages import Message, Template


@stored
@dataclass(frozen=True, slots=True)
class Send:
    """Send a message to the contact.

    ``instead`` is the template that goes when the window is shut at the time of sending. ``report`` asks
    for a `SendEnded` event in any case; without it one comes only when the message did not go as planned.
    """

    message: Message
    instead: Template | None = None
    report: bool = False


@stored
@dataclass(frozen=True, slots=True)
class Call:
    """Call a Python handler. ``within`` is in seconds; ``tries`` is how often an undeclared error is retried."""

    handler: str
    arguments: dict[str, Any]
    within: float = 10.0
    tries: int = 1


Effect = Send | Call


def effect_ref(event_id: str, ordinal: int) -> str:
    """The name of a turn's n-th effect: stable over a repeat of the turn, known to the session."""
    return f"{event_id}#{ordinal}"
