"""Which flow a message or another event starts."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

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
from bot.flow.starts import FIRST, RETURNING, Start
from bot.lang.matching import named_parts
from bot.lang.words import ANYWHERE, CLOSE, match_wider, normalise


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
class Started:
    """A flow that a text starts, and what the text gives to its variables, as it was written."""

    flow: str
    given: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Starts:
    """The flows that one sort of contact can start: by normalised word, by pattern, by a wider match, by event."""

    words: Mapping[str, str]
    patterns: tuple[tuple[Any, str], ...]
    wider: Mapping[str, tuple[tuple[str, str], ...]]  # phrases, each with its flow, by how they are matched
    events: Mapping[str, str]
    otherwise: str | None  # the flow for every other message

    @classmethod
    def of(cls, flows: Mapping[str, Start], contact: str) -> Self:
        """Index what starts flows, by their names. What starts for such contacts alone comes first; else their order decides."""
        starts = [(name, start) for name, start in flows.items() if contact in start.contacts]
        starts.sort(key=lambda found: found[1].contact is None)
        phrases = [(word, name, start.how) for name, start in starts for word, _ in start.words]
        return cls(
            _first_of((normalise(word), name) for word, name, _ in phrases),
            tuple((start.pattern, name) for name, start in starts if start.pattern is not None),
            {how: tuple((word, name) for word, name, its in phrases if its == how) for how in (ANYWHERE, CLOSE)},
            _first_of((event, name) for name, start in starts for event in start.events),
            next((name for name, start in starts if start.otherwise), None),
        )

    def by_texts(self, texts: Iterable[str]) -> Started | None:
        """What the first of these texts starts that starts anything."""
        return next((found for text in texts for found in self._by_text(text)), None)

    def _by_text(self, text: str) -> Iterator[Started]:
        """By a whole word, else by a pattern, else by a word that it has in it, else by one that it comes close to."""
        whole = self.words.get(normalise(text))
        if whole is not None:
            yield Started(whole)
        for pattern, flow in self.patterns:
            given = named_parts(pattern, text.strip())
            if given is not None:
                yield Started(flow, given)
        for how, phrases in self.wider.items():
            found = match_wider(text, [phrase for phrase, _ in phrases], how)
            if found is not None:
                yield Started(phrases[found][1])

    def by_event(self, event: Event) -> str | None:
        """The flow that such an event starts."""
        return self.events.get(name_of_event(event)) if self.events else None


@dataclass(frozen=True, slots=True)
class Triggers:
    """The starts of all flows, for contacts who have never been in a flow and for those who have."""

    first: Starts
    returning: Starts

    @classmethod
    def of(cls, flows: Mapping[str, Start]) -> Self:
        """Index what starts flows, by their names. Collisions have been reported by the checks."""
        return cls(Starts.of(flows, FIRST), Starts.of(flows, RETURNING))


def _first_of(found: Iterable[tuple[str, str]]) -> dict[str, str]:
    """What stands under each key first."""
    firsts: dict[str, str] = {}
    for key, name in found:
        firsts.setdefault(key, name)
    return firsts
