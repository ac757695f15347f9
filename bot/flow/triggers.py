"""Which flow a message or another event starts."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from bot.core.events import (
    EVENTS,
    ContactChanged,
    ConversationAssigned,
    ConversationOpened,
    Event,
    HandoffClosed,
    MessageReceived,
    StatusReported,
    Tapped,
)
from bot.keys.fields import Fields
from bot.keys.key_schemas import ANY_TEXT, BOOLEAN, Schemas, choice, one_or_several, takes
from bot.keys.patterns import MATCH_KEYS, PATTERN_KEYS, named_parts, read_match, read_pattern
from bot.lang.nodes import Map, Mark
from bot.lang.problems import did_you_mean
from bot.lang.word_matching import ANYWHERE, CLOSE, WHOLE, match_wider, normalise
from bot.types.type_registry import Variable

CONTACTS = FIRST, RETURNING = ("first", "returning")
"""Contacts who have never been in a flow, and all others."""
TRIGGER_KEYS: Schemas = {
    "words": takes(one_or_several(ANY_TEXT), "Words that start it."),
    **MATCH_KEYS,
    **PATTERN_KEYS,
    "event": takes(one_or_several(choice(*EVENTS)), "Events of the gateway that start it."),
    "otherwise": takes(BOOLEAN, "Whether it starts when no other flow fits; false where nothing is said."),
    "contact": takes(choice(*CONTACTS), "Who can start it; everybody where nothing is said."),
}


@dataclass(frozen=True, slots=True)
class Trigger:
    """What starts a flow: any of its words, its pattern, an event of the gateway, or what starts no other flow.

    ``how`` says how its words are matched (`bot.lang.word_matching.WAYS`). The pattern's named groups are variables of the
    flow. ``contact`` is one of `CONTACTS_TRACED`: nobody else starts it.
    """

    mark: Mark
    words: tuple[tuple[str, Mark], ...] = ()
    how: str = WHOLE
    pattern: Any = None
    events: tuple[str, ...] = ()
    otherwise: bool = False
    contact: str | None = None

    @property
    def contacts(self) -> tuple[str, ...]:
        """The sorts of contacts who can start it."""
        return CONTACTS if self.contact is None else (self.contact,)


def read_trigger(fields: Fields, variables: Mapping[str, Variable]) -> Trigger | None:
    """Read the `start` of a flow with these variables; something must start it."""
    inner = fields.fields("start", "start: {words: [hi, hello]}")
    if inner is None:
        return None
    start = Trigger(
        inner.mark,
        _read_words(inner),
        read_match(inner),
        read_pattern(inner),
        _read_events(inner),
        inner.boolean("otherwise"),
        inner.choice("contact", CONTACTS),
    )
    if isinstance(fields.raw("start"), Map) and not (
        inner.has("words") or inner.has("pattern") or inner.has("event") or start.otherwise
    ):
        fix = "add words, a pattern, an event or otherwise: true"
        fields.problems.add("E105", inner.mark, f"{inner.what}: there is nothing that starts the flow", fix)
    if inner.has("match") and not inner.has("words"):
        fields.problems.add("E105", inner.mark_of("match"), f'{inner.what}: "match" is for words', "add the words")
    for name in () if start.pattern is None else start.pattern.groupindex.keys() - variables.keys():
        fix = did_you_mean(name, variables, f"declare it under vars: {name}: {{type: text}}")
        fields.problems.add("E301", inner.mark_of("pattern"), f'{inner.what}: no variable "{name}"', fix)
    inner.close()
    return start


def _read_words(fields: Fields) -> tuple[tuple[str, Mark], ...]:
    marks = (item.mark for item in fields.one_or_more("words"))
    return tuple(zip(fields.strings("words"), marks, strict=False))


def _read_events(fields: Fields) -> tuple[str, ...]:
    events = fields.strings("event")
    for event in events:
        if event not in EVENTS:
            fix = did_you_mean(event, EVENTS, f"write one of {', '.join(EVENTS)}")
            fields.problems.add("E109", fields.mark_of("event"), f'{fields.what}: no event "{event}"', fix)
    return events


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
class TriggerMatch:
    """A flow that a text starts, and what the text gives to its variables, as it was written."""

    flow: str
    given: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TriggerIndex:
    """The flows that one sort of contact can start: by normalised word, by pattern, by a wider match, by event."""

    words: Mapping[str, str]
    patterns: tuple[tuple[Any, str], ...]
    wider: Mapping[str, tuple[tuple[str, str], ...]]  # phrases, each with its flow, by how they are matched
    events: Mapping[str, str]
    otherwise: str | None  # the flow for every other message

    @classmethod
    def of(cls, flows: Mapping[str, Trigger], contact: str) -> Self:
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

    def by_texts(self, texts: Iterable[str]) -> TriggerMatch | None:
        """What the first of these texts starts that starts anything."""
        return next((found for text in texts for found in self._by_text(text)), None)

    def _by_text(self, text: str) -> Iterator[TriggerMatch]:
        """By a whole word, else by a pattern, else by a word that it has in it, else by one that it comes close to."""
        whole = self.words.get(normalise(text))
        if whole is not None:
            yield TriggerMatch(whole)
        for pattern, flow in self.patterns:
            given = named_parts(pattern, text.strip())
            if given is not None:
                yield TriggerMatch(flow, given)
        for how, phrases in self.wider.items():
            found = match_wider(text, [phrase for phrase, _ in phrases], how)
            if found is not None:
                yield TriggerMatch(phrases[found][1])

    def by_event(self, event: Event) -> str | None:
        """The flow that such an event starts."""
        return self.events.get(name_of_event(event)) if self.events else None


@dataclass(frozen=True, slots=True)
class Triggers:
    """The starts of all flows, for contacts who have never been in a flow and for those who have."""

    first: TriggerIndex
    returning: TriggerIndex

    @classmethod
    def of(cls, flows: Mapping[str, Trigger]) -> Self:
        """Index what starts flows, by their names. Collisions have been reported by the checks."""
        return cls(TriggerIndex.of(flows, FIRST), TriggerIndex.of(flows, RETURNING))


def _first_of(found: Iterable[tuple[str, str]]) -> dict[str, str]:
    """What stands under each key first."""
    firsts: dict[str, str] = {}
    for key, name in found:
        firsts.setdefault(key, name)
    return firsts
