"""Ways of saying a day or a time, as a language's file lists them, found among the tokens of a text."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from bot.language.answers.tokens import Tokens
from bot.language.answers.words import Pattern

Found = Mapping[str, Any]
"""The values of the slots of a pattern."""
Slot = Callable[[str, int], Iterable[tuple[int, Any]]]


class Matcher:
    """Finds patterns in a text. ``slot`` yields what a slot may be from a token on, and where that ends."""

    def __init__(self, patterns: Sequence[Pattern], tokens: Tokens, slot: Slot) -> None:
        self._literal, self._open = _by_first(tuple(patterns))
        self._tokens = tokens
        self._slot = slot

    def found_at(self, start: int) -> Iterator[tuple[int, str, Found]]:
        """The patterns that begin at a token: where each ends, its name, and its slots."""
        first = self._tokens.tokens[start]
        for pattern in self._literal.get(first, ()):
            yield from self._rest(pattern, 1, start + 1, {})
        for slot, patterns in self._open.items():
            for end, value in list(self._slot(slot, start)):
                for pattern in patterns:
                    yield from self._rest(pattern, 1, end, {slot: value})

    def _rest(
        self, pattern: Pattern, index: int, start: int, bound: dict[str, Any]
    ) -> Iterator[tuple[int, str, Found]]:
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
        for end, value in self._slot(element, start):
            yield from self._rest(pattern, index + 1, end, {**bound, element: value})


@lru_cache(maxsize=64)
def _by_first(patterns: tuple[Pattern, ...]) -> tuple[dict[str, list[Pattern]], dict[str, list[Pattern]]]:
    """The patterns by the word, and by the slot, that they begin with."""
    literal: dict[str, list[Pattern]] = {}
    slots: dict[str, list[Pattern]] = {}
    for pattern in patterns:
        first = pattern.elements[0]
        (slots if first[0] == "{" else literal).setdefault(first, []).append(pattern)
    return literal, slots
