"""Sentences with several answers: whether the other words of a sentence make something else of an answer."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from bot.language.answers.titles import speaks_against
from bot.language.answers.tokens import split
from bot.language.answers.words import PIECES, Kind, Words, words_of
from bot.language.source.languages import ENGLISH
from bot.language.source.word_matching import contains, is_spaced, normalise

_ENDS_CLAUSE = (",", ".", ";", ":", "!", "?", "،", "؛", "؟", "।")
_VALUES = frozenset({
    Kind.NUMBER, Kind.MULTIPLE, Kind.FRACTION, Kind.ADDED, Kind.BEFORE_NUMBER, Kind.ORDINAL, Kind.MONTH, Kind.WEEKDAY, Kind.DAY, Kind.TIME,
})  # fmt: skip
_PASSED = frozenset({Kind.HARMLESS, Kind.AGAINST, Kind.BETWEEN, Kind.AROUND_TITLE, Kind.BEFORE_TIME})
_BESIDE = frozenset({Kind.PERIOD, Kind.POINT, Kind.MINUS})


def undisturbed(words: Sequence[str], spans: Sequence[tuple[int, int]], language: str | None) -> list[bool]:
    """For each answer, a span of the words of a sentence, whether no other word of its clause speaks against it.

    A denial, an alternative or a comparison speaks against the answer right before it, and against the next answer if
    only harmless words stand between both: "2 or 3", "not on Friday", but not "no milk for 2". So does a further number
    or day: "12 may" for a number.
    """
    owner = {place: index for index, (first, end) in enumerate(spans) for place in range(first, end)}
    clauses = _clauses(words)
    kinds = [frozenset() if place in owner else _of_word(word, language) for place, word in enumerate(words)]
    disturbed: set[int] = set()
    for place, found in enumerate(kinds):
        if place not in owner and (Kind.AGAINST in found or found & _VALUES or found & _BESIDE):
            before = owner.get(place - 1) if place and clauses[place - 1] == clauses[place] else None
            behind = _next(place, kinds, owner, clauses, beside=not (Kind.AGAINST in found or found & _VALUES))
            disturbed |= {index for index in (before, behind) if index is not None}
        if Kind.AGAINST in found and place and Kind.PERIOD in kinds[place - 1] and _ends(place, clauses):
            disturbed |= {owner[last] for last in range(place) if last in owner}  # "Friday, so the day before"
    return [index not in disturbed for index in range(len(spans))]


def is_meant(words: Sequence[str], span: tuple[int, int], language: str | None) -> bool:
    """True if nothing before a title in its clause, nor the word right behind it, speaks against it."""
    first, end = span
    clauses, title = _clauses(words), " ".join(words[first:end])
    behind = _of_word(words[end], language) if end < len(words) and clauses[end] == clauses[end - 1] else frozenset()
    return Kind.AGAINST not in behind and not speaks_against(" ".join(words[:end]), title, language)


def is_denied(words: Sequence[str], phrase: str, language: str | None) -> bool:
    """True if the word before a phrase, apart from harmless ones, speaks against it: "I don't want to order"."""
    span = place_of(phrase, words)
    if span is None:
        return False
    clauses = _clauses(words)
    for place in range(span[0] - 1, -1, -1):
        kinds = _of_word(words[place], language) if clauses[place] == clauses[span[0]] else frozenset()
        if Kind.AGAINST in kinds or not kinds & _PASSED:
            return Kind.AGAINST in kinds
    return False


def place_of(phrase: str, words: Sequence[str]) -> tuple[int, int] | None:
    """The first place of a normalised phrase among the words of a sentence."""
    count = range(1, len(words) + 1)
    end = next((end for end in count if contains(normalise(" ".join(words[:end])), phrase)), None)
    if end is None:
        return None
    return max(first for first in range(end) if contains(normalise(" ".join(words[first:end])), phrase)), end


@lru_cache(maxsize=4096)
def may_be_value(word: str, language: str | None) -> bool:
    """True if a word may be in a number, a day or a time, in the language or in English: no other word makes one."""
    return any(_is_of(word, words, _of_values(words.language)) for words in _both(language))


@lru_cache(maxsize=4096)
def may_be_edge(word: str, language: str | None) -> bool:
    """True if a number, a day or a time may begin or end with a word: "in two weeks"."""
    return may_be_value(word, language) or any(
        _is_of(word, words, words.dates.words | words.clock.words) for words in _both(language)
    )


def _both(language: str | None) -> tuple[Words, ...]:
    own = words_of(language)
    return (own,) if own.language == ENGLISH else (own, words_of(ENGLISH))


def _is_of(word: str, words: Words, known: frozenset[str]) -> bool:
    tokens = split(word, words.spelling).tokens
    joined = words.joined and any(token.startswith(tuple(_pieces(words.language))) for token in tokens)
    return joined or any(token in known or not token.isalpha() or not is_spaced(token) for token in tokens)


_OF_VALUES = frozenset({
    Kind.NUMBER, Kind.COUNT, Kind.MULTIPLE, Kind.FRACTION, Kind.ADDED, Kind.TEEN, Kind.ORDINAL, Kind.MONTH, Kind.WEEKDAY, Kind.DAY,
    Kind.DAY_PART, Kind.PERIOD, Kind.PART, Kind.TIME, Kind.TIME_OF_12, Kind.HOUR, Kind.NOW,
})  # fmt: skip


@lru_cache(maxsize=64)
def _of_values(language: str) -> frozenset[str]:
    """The words of all numbers, days and times; of a phrase those that are not harmless alone: "day after tomorrow"."""
    phrases = [phrase for found in words_of(language).phrases.values() for phrase in found]
    harmless = {tokens[0] for tokens, kind, _ in phrases if kind is Kind.HARMLESS and len(tokens) == 1}
    valued = [{*tokens} for tokens, kind, _ in phrases if kind in _OF_VALUES]
    return frozenset(token for tokens in valued for token in (tokens - harmless or tokens))


@lru_cache(maxsize=64)
def _pieces(language: str) -> frozenset[str]:
    """The words that begin numbers which are written together."""
    phrases = (phrase for found in words_of(language).phrases.values() for phrase in found)
    return frozenset(tokens[0] for tokens, kind, _ in phrases if kind in PIECES)


def _next(
    place: int, kinds: Sequence[frozenset[Kind]], owner: Mapping[int, int], clauses: Sequence[int], *, beside: bool
) -> int | None:
    """The next answer of the clause behind a word: right behind it, or else after harmless words."""
    for at in range(place + 1, len(kinds)):
        if clauses[at] != clauses[place]:
            return None
        if at in owner:
            return owner[at]
        if beside or not kinds[at] & _PASSED:
            return None
    return None


def _ends(place: int, clauses: Sequence[int]) -> bool:
    """True for the last word of a clause."""
    return clauses[place : place + 2] != [clauses[place]] * 2


def _clauses(words: Sequence[str]) -> list[int]:
    """The number of the clause that each word is in."""
    found, number = [], 0
    for word in words:
        found.append(number)
        number += word.endswith(_ENDS_CLAUSE)
    return found


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
