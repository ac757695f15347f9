"""Sentences with several answers: whether the other words of a sentence make something else of an answer."""

from collections.abc import Iterator, Sequence

from bot.language.answers.tokens import split
from bot.language.answers.words import Kind, Words, words_of
from bot.language.source.languages import ENGLISH

_ENDS_CLAUSE = (",", ".", ";", ":", "!", "?", "،", "؛", "؟", "।")
_VALUES = frozenset({
    Kind.NUMBER, Kind.MULTIPLE, Kind.FRACTION, Kind.ADDED, Kind.BEFORE_NUMBER, Kind.ORDINAL, Kind.MONTH, Kind.WEEKDAY, Kind.DAY, Kind.TIME,
})  # fmt: skip
_BESIDE = frozenset({Kind.PERIOD, Kind.POINT, Kind.MINUS, Kind.UNIT})


def undisturbed(words: Sequence[str], spans: Sequence[tuple[int, int]], language: str | None) -> list[bool]:
    """For each answer, a span of the words of a sentence, whether no other words of its clause speak against it.

    A denial, an alternative or a comparison does ("2 or 3", "not 5"), and so does a further number or day ("12 may" for
    a number).
    """
    used = {place for first, end in spans for place in range(first, end)}
    disturbing = [None if place in used else _of_word(word, language) for place, word in enumerate(words)]
    clauses = _clauses(words)
    return [not _is_disturbed(first, end, disturbing, clauses) for first, end in spans]


def _clauses(words: Sequence[str]) -> list[int]:
    """The number of the clause that each word is in."""
    found, number = [], 0
    for word in words:
        found.append(number)
        number += word.endswith(_ENDS_CLAUSE)
    return found


def _is_disturbed(first: int, end: int, kinds: Sequence[frozenset[Kind] | None], clauses: Sequence[int]) -> bool:
    for place, found in enumerate(kinds):
        if found is None or clauses[place] != clauses[first]:
            continue
        beside = place in (first - 1, end)
        if Kind.AGAINST in found or found & _VALUES or (beside and found & _BESIDE):
            return True
    return False


def _of_word(word: str, language: str | None) -> frozenset[Kind]:
    """The kinds of what a word says, in the language or, where that does not know it, in English."""
    own = words_of(language)
    found = frozenset(_kinds(word, own))
    if found or own.language == ENGLISH:
        return found
    return frozenset(_kinds(word, words_of(ENGLISH)))


def _kinds(word: str, words: Words) -> Iterator[Kind]:
    tokens = split(word, words.spelling).tokens
    for index, token in enumerate(tokens):
        if token[0].isdigit():
            yield Kind.NUMBER
        marks = words.marks(tokens, index)
        yield from (kind for _, kind, _ in marks)
        if (token in words.dates.words or token in words.clock.words) and not any(
            kind is Kind.HARMLESS for _, kind, _ in marks
        ):
            yield Kind.PERIOD  # "next" before Friday
