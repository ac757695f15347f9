"""Ways of saying a day or a time, as a language's file lists them, found among the tokens of a text."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from bot.language.answers.tokens import Tokens
from bot.language.answers.words import Pattern, Patterns

Found = Mapping[str, Any]
"""The values of the slots of a pattern."""
Slot = Callable[[str, int], Iterable[tuple[int, Any]]]


class Matcher:
    """Finds patterns in a text. ``slot`` yields the values of a slot from a token on, and where each ends."""

    def __init__(self, patterns: Patterns, tokens: Tokens, slot: Slot) -> None:
        self._patterns = patterns
        self._tokens = tokens
        self._slot = slot
        self._values: dict[tuple[str, int], list[tuple[int, Any]]] = {}
        self._by_slot: dict[str, list[Pattern]] = {}  # of those whose words the text has
        self._words = frozenset(tokens.tokens)
        for word in dict.fromkeys(("", *tokens.tokens)):
            for pattern in patterns.by_slot.get(word, ()):
                if pattern.words <= self._words:
                    self._by_slot.setdefault(pattern.elements[0], []).append(pattern)
        for found in self._by_slot.values():
            found.sort(key=lambda pattern: -len(pattern.elements))

    def found_at(self, start: int) -> Iterator[tuple[int, str, Found]]:
        """The patterns that begin at a token: where each ends, its name, and its slots."""
        tokens = self._tokens.tokens
        for pattern in self._patterns.by_word.get(tokens[start], ()):
            if pattern.words <= self._words:
                yield from self._rest(pattern, 1, start + 1, {})
        for slot, patterns in self._by_slot.items():
            for end, value in self._values_of(slot, start):
                for pattern in patterns:
                    yield from self._rest(pattern, 1, end, {slot: value})

    def _values_of(self, slot: str, start: int) -> list[tuple[int, Any]]:
        """The values of a slot from a token on: those of days change while a day is looked for, others never."""
        if slot == "{date}":
            return list(self._slot(slot, start))
        found = self._values.get((slot, start))
        if found is None:
            found = self._values[slot, start] = list(self._slot(slot, start))
        return found

    def _rest(
        self, pattern: Pattern, index: int, start: int, bound: dict[str, Any]
    ) -> Iterator[tuple[int, str, Found]]:
        """The ends of a pattern of which the first elements are found."""
        if index == len(pattern.elements):
            yield start, pattern.name, bound
            return
        if start >= len(self._tokens.tokens):
            return
        element = pattern.elements[index]
        if element[0] != "{":
            if element == self._tokens.tokens[start]:
                yield from self._rest(pattern, index + 1, start + 1, bound)
            return
        for end, value in self._values_of(element, start):
            yield from self._rest(pattern, index + 1, end, {**bound, element: value})
