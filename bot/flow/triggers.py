"""Which flow a message or another event starts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bot.core.events import (
    ContactChanged,
    ConversationAssigned,
    ConversationOpened,
    Event,
    HandoffClosed,
    MessageReceived,
    StatusReported,
    Tapped,
)
from bot.flow.definition import Flow
from bot.lang.words import normalise


def name_of_event(event: Event) -> str:
    """The gateway's name of an event; empty for what is not the gateway's."""
    match event:
        case MessageReceived():
            return "message.inbound"
        case Tapped():
            return "message.interactive_reply"
        case StatusReported(status=status):
            return f"message.{status}"
        case ContactChanged(event=name):
            return name
        case ConversationOpened():
            return "conversation.opened"
        case ConversationAssigned():
            return "conversation.assigned"
        case HandoffClosed():
            return "conversation.resolved"
    return ""


@dataclass(frozen=True, slots=True)
class Triggers:
    """The starts of all flows, by normalised word and by event; and the flow for every other message."""

    words: Mapping[str, str]
    events: Mapping[str, str]
    otherwise: str | None

    @classmethod
    def of(cls, flows: Iterable[Flow]) -> "Triggers":
        """Index the flows' starts. Collisions have been reported by the checks."""
        words: dict[str, str] = {}
        events: dict[str, str] = {}
        otherwise: str | None = None
        for flow in flows:
            if flow.start is None:
                continue
            for word, _ in flow.start.words:
                words.setdefault(normalise(word), flow.name)
            for event in flow.start.events:
                events.setdefault(event, flow.name)
            if flow.start.otherwise and otherwise is None:
                otherwise = flow.name
        return cls(words, events, otherwise)

    def by_word(self, text: str | None) -> str | None:
        """The flow that this text starts."""
        return None if text is None else self.words.get(normalise(text))

    def by_event(self, event: Event) -> str | None:
        """The flow that such an event starts."""
        return self.events.get(name_of_event(event)) if self.events else None
