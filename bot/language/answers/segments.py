"""A text cut into the pieces of an answer and harmless words, so that each of its words is accounted for."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, TypeVar

from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.language.answers.tokens import LONGEST, Tokens, split
from bot.language.answers.words import Kind, Mark, Words, words_of
from bot.language.source.languages import ENGLISH
from bot.language.source.word_matching import folded

Value = TypeVar("Value")
_MOST_TOKENS = 60
_MOST_STEPS = 3000  # of a search through a text, each a token that is looked at
_STOP = lazy_pattern(r"[!?;\n।،؟]|[.,]\s")
_CAPITALISED = lazy_pattern(r"(?:^| )(?![a-z])([^\W\d_]+)\b")  # perhaps: `_is_name` looks at the letters
_STRUCK_OUT = lazy_pattern(r"(?:^|\s)~\S(?:[^~\n]*\S)?~(?!\w)")  # as chats show it
_NO_PART = frozenset({"x"})  # 3x


@immutable
class Segment:
    """A piece of a text: from a token to the one behind it; what it is, and its value."""

    start: int
    end: int
    kind: str
    value: Any = None


@immutable
class TokenizedText:
    """A text as one language reads it. ``names`` are the words that are written like names of people or places."""

    tokens: Tokens
    marks: list[list[Mark]]
    words: Words
    names: frozenset[str]

    @property
    def length(self) -> int:
        """The number of tokens."""
        return len(self.marks)

    def ends_of(self, start: int, *kinds: Kind) -> Iterator[int]:
        """Where phrases of some kinds end that begin at a token, the longest first."""
        return (end for end, kind, _ in self.marks[start] if kind in kinds)

    def is_glued(self, start: int, end: int) -> bool:
        """True if a word has figures right before or behind it, so that both are one: A5."""
        tokens, word = self.tokens.tokens, self.tokens.tokens[start]
        before = start > 0 and tokens[start - 1].isdigit() and not self.tokens.gap(start)
        behind = end < self.length and tokens[end].isdigit() and not self.tokens.gap(end)
        return (before or behind) and word.isalpha() and word not in _NO_PART

    def is_name(self, start: int) -> bool:
        """True for a name of a person or a place behind a harmless word: not in "Domingo Pérez"."""
        if self.tokens.tokens[start] not in self.names or self.marks[start]:
            return False
        before = start - 1
        harmless = start == 0 or any(
            kind in (Kind.HARMLESS, Kind.AROUND_DATE, Kind.BETWEEN) for _, kind, _ in self.marks[before]
        )
        return harmless or bool(self.tokens.gap(start).strip()) or self.is_name(before)

    def tenses(self) -> set[str]:
        """The tenses of the words around a day: ``past``, ``future``, or ``either`` ("I booked Friday")."""
        found, index = set(), 0
        while index < self.length:
            end = next(self.ends_of(index, Kind.HARMLESS, Kind.AROUND_DATE), index + 1)
            found |= {value for last, kind, value in self.marks[index] if kind is Kind.TENSE and last == end}
            index = end
        return found

    def knows_all(self) -> bool:
        """True if each word begins or continues a phrase of the language."""
        return all(
            self.marks[index] or not token[0].isalpha() or token in self.words.phrases
            for index, token in enumerate(self.tokens.tokens)
        )


@lru_cache(maxsize=512)
def written(text: str, words: Words) -> TokenizedText | None:
    """A text as a language reads it; None for a text that is too long, or has no word."""
    if len(text) > LONGEST or _STRUCK_OUT.search(text):
        return None
    tokens = split(text, words.spelling)
    if not 0 < len(tokens.tokens) <= _MOST_TOKENS:
        return None
    marks = [words.marks(tokens.tokens, index) for index in range(len(tokens.tokens))]
    if _STOP.search(tokens.text):
        marks = [[mark for mark in found if not _is_divided(tokens, index, mark)] for index, found in enumerate(marks)]
    return TokenizedText(tokens, marks, words, _names_in(text) if words.capitals_are_names else frozenset())


def _names_in(text: str) -> frozenset[str]:
    """The words with a capital letter within a sentence, or before a comma: "Anna, on Friday with Jim"."""
    return frozenset(folded(found[1]) for found in _CAPITALISED.finditer(text) if _is_name(found, text))


def _is_name(found: re.Match[str], text: str) -> bool:
    word, before = found[1], text[found.start() - 1 : found.start()]
    if not (word[0].isupper() and word[1:].islower()):
        return False
    if not found.start(1):
        return text.startswith(",", found.end())
    return before == "," or (before.isalnum() and not before.isupper())


def _is_divided(tokens: Tokens, start: int, mark: Mark) -> bool:
    """True if a phrase has the end of a sentence in it: "No. Please" is no "no please"."""
    end, kind, _ = mark
    phrase = kind in (Kind.YES, Kind.NO, Kind.HARMLESS)
    return phrase and any(_STOP.search(tokens.gap(index)) for index in range(start + 1, end))


def in_each_language(text: str, language: str | None, read: Callable[[TokenizedText], Value | None]) -> Value | None:
    """The reading in the contact's language; in English where that has words which the other does not know."""
    own = written(text, words_of(language))
    if own is None:
        return None
    found = read(own)
    if found is not None or own.words.language == ENGLISH or own.knows_all():
        return found
    if any(kind is Kind.AGAINST for marks in own.marks for _, kind, _ in marks):
        return None
    english = written(text, words_of(ENGLISH))
    return None if english is None else read(english)


def covered(
    text: TokenizedText,
    pieces: Callable[[int], Iterator[Segment]],
    most: int,
    *,
    names: bool = False,
    whole_phrases: bool = True,
) -> Iterator[list[Segment]]:
    """The ways in which pieces and harmless words are the whole text; at most so many pieces have a value.

    ``names`` says that days or times are looked for, so that names of people and places and `around dates` are
    harmless, too; ``whole_phrases`` that no piece lies within a harmless phrase.
    """
    yield from _Search(text, pieces, most, names, whole_phrases).from_(0, [])


class _Search:
    """The search of `covered`: a class, because functions that call each other stay in memory until garbage is
    collected.
    """

    def __init__(
        self,
        text: TokenizedText,
        pieces: Callable[[int], Iterator[Segment]],
        most: int,
        names: bool,
        whole_phrases: bool,
    ) -> None:
        self._text, self._pieces, self._most = text, pieces, most
        self._names, self._whole_phrases = names, whole_phrases
        self._harmless = (Kind.HARMLESS, Kind.AROUND_DATE) if names else (Kind.HARMLESS,)
        self._steps = 0
        self._begun: dict[int, list[Segment]] = {}
        self._dead: set[tuple[int, int]] = set()  # from there, with so many pieces, nothing leads to the end

    def from_(self, start: int, found: list[Segment]) -> Iterator[list[Segment]]:
        """The ways from a place on to the end, after these pieces."""
        self._steps += 1
        if start == self._text.length:
            yield found
        elif self._steps <= _MOST_STEPS and (start, len(found)) not in self._dead:
            way = None
            for way in self._onward(start, found):
                yield way
            if way is None:
                self._dead.add((start, len(found)))

    def _onward(self, start: int, found: list[Segment]) -> Iterator[list[Segment]]:
        text = self._text
        end_against = next(text.ends_of(start, Kind.AGAINST), start)
        least = end_against + (end_against > start + 1)  # a longer phrase comes before a shorter one
        longest = next(text.ends_of(start, *self._harmless), start)  # "grazie mille" is no thousand
        if len(found) < self._most:
            if start not in self._begun:
                self._begun[start] = list(self._pieces(start))
            for piece in self._begun[start]:
                if piece.end >= least and (piece.kind != "number" or piece.end > longest or longest == start + 1):
                    yield from self.from_(piece.end, [*found, piece])
        whole = self._whole_phrases and longest > start + 1
        for end in [longest] if whole else text.ends_of(start, *self._harmless):
            if end >= least and not text.is_glued(start, end):
                yield from self.from_(end, found)
        token = text.tokens.tokens[start]
        denied = any(kind is Kind.NO for _, kind, _ in text.marks[start])
        if (_is_emoji(token) and not denied) or (self._names and text.is_name(start)):
            yield from self.from_(start + 1, found)


def _is_emoji(token: str) -> bool:
    return token[0] > "\u2000" and unicodedata.category(token[0]) == "So"


def says_nothing(text: str, language: str | None) -> bool:
    """True if a text has only words that change nothing of an answer beside them."""

    def read(text: TokenizedText) -> bool | None:
        return next((True for _ in covered(text, lambda _: iter(()), 0)), None)

    return not any(map(str.isalnum, text)) or bool(in_each_language(text, language, read))
