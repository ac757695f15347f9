"""What starts a flow."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.core.events import EVENTS
from bot.lang.fields import Fields
from bot.lang.keys import ANY_TEXT, BOOLEAN, Schemas, choice, one_or_several, takes
from bot.lang.matching import MATCH_KEYS, PATTERN_KEYS, read_match, read_pattern
from bot.lang.nodes import Map, Mark
from bot.lang.problems import did_you_mean
from bot.lang.variables import Variable
from bot.lang.words import WHOLE

CONTACTS = FIRST, RETURNING = ("first", "returning")
"""Contacts who have never been in a flow, and all others."""
START_KEYS: Schemas = {
    "words": takes(one_or_several(ANY_TEXT), "Words that start it."),
    **MATCH_KEYS,
    **PATTERN_KEYS,
    "event": takes(one_or_several(choice(*EVENTS)), "Events of the gateway that start it."),
    "otherwise": takes(BOOLEAN, "Whether it starts when no other flow fits; false where nothing is said."),
    "contact": takes(choice(*CONTACTS), "Who can start it; everybody where nothing is said."),
}


@dataclass(frozen=True, slots=True)
class Start:
    """What starts a flow: any of its words, its pattern, an event of the gateway, or what starts no other flow.

    ``how`` says how its words are matched (`bot.lang.words.WAYS`). The pattern's named groups are variables of the
    flow. ``contact`` is one of `CONTACTS`: nobody else starts it.
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


def read_start(fields: Fields, variables: Mapping[str, Variable]) -> Start | None:
    """Read the `start` of a flow with these variables; something must start it."""
    inner = fields.fields("start", "start: {words: [hi, hello]}")
    if inner is None:
        return None
    start = Start(
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
