"""Several answers to one question: how many, and reading them out of one text."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

from bot.expressions.templates import Template
from bot.lang.word_matching import ANYWHERE, CLOSE, LONGEST, WHOLE, Option, are_numbered, by_number, closest, normalise

MOST_WORDS = 50  # of a text that names several answers
MOST_COMPARED = 20_000  # pieces of a text with phrases; where there are more, none is close to any (0.1 s at most)
MARK = "✓ "  # before the title of what is chosen
_AND = frozenset(
    map(normalise, ("and", "dan", "y", "e", "et", "und", "en", "ve", "и", "و", "और", "og", "och", "i", "a"))
)
"""The word before the last of several answers, in the languages of `bot.lang.languages` and a few more."""
_NUMBERS = re.compile(r"[\d\s,;.&+/–-]+")
_SPAN = re.compile(r"(\d{1,2})\s*[–-]\s*(\d{1,2})")


@dataclass(frozen=True, slots=True)
class Many:
    """A question may have from ``least`` to ``most`` answers. ``done`` is the title of the button that ends it."""

    least: int = 1
    most: int | None = None
    done: Template | None = None

    def allows(self, count: int) -> bool:
        """Whether so many answers are enough and not too many."""
        return self.least <= count and (self.most is None or count <= self.most)


def named(text: str, options: Sequence[Option], how: str) -> list[int]:
    """The options that a text names, each once and in its order, as in "1, 3 and 4"; none where it says something else.

    Longer titles come first, so that "Salt, pepper" may be one of them. With ``how`` anywhere, there may be other
    words between them; close, each may have slips, but in a text that is too long for so many options.
    """
    words, phrases = _words_of(text, options), _phrases(options)
    longest = max(len(phrase.split()) for phrase in phrases)
    if how == CLOSE and len(words) * longest * len(phrases) > MOST_COMPARED:
        how = WHOLE
    numbered = len(options) if are_numbered(options) else 0
    found: list[list[int] | None] = [[]]  # what each end of the text names, the shortest first
    for start in range(len(words) - 1, -1, -1):
        found.append(_beginning(words[start : start + longest], found, partial(_meant, phrases, numbered, how), how))
    return list(dict.fromkeys(found[-1] or ()))


def _phrases(options: Sequence[Option]) -> dict[str, int]:
    """The titles and the words of options, normalised, and which each of them means: a title before a word."""
    phrases: dict[str, int] = {}
    for index, option in enumerate(options):
        phrases.setdefault(normalise(option.title), index)
    for index, option in enumerate(options):
        for word in option.words:
            phrases.setdefault(normalise(word), index)
    return phrases


def _meant(phrases: Mapping[str, int], numbered: int, how: str, text: str) -> int | None:
    """The option that a piece of the text means. The text and the phrases are normalised: there may be thousands."""
    index = phrases.get(text)
    index = by_number(text, numbered) if index is None else index
    if index is not None or how != CLOSE:
        return index
    place = closest(text, phrases)
    return None if place is None else next(islice(phrases.values(), place, None))


def _beginning(
    words: Sequence[str], ends: Sequence[list[int] | None], meant: Callable[[str], int | None], how: str
) -> list[int] | None:
    """The option that the words begin with, and what the end after it names; None where that makes no sense."""
    for length in range(len(words), 0, -1):
        end = ends[-length]
        index = None if end is None else meant(" ".join(words[:length]))
        if end is not None and index is not None:
            return [index, *end]
    return ends[-1] if words[0] in _AND or how == ANYWHERE else None


def _words_of(text: str, options: Sequence[Option]) -> list[str]:
    """The words of a text. Where it is nothing but numbers, and no title is that, ``1-3`` is 1, 2 and 3."""
    if len(text) > LONGEST:
        return []
    titles = [option.title for option in options]
    if _NUMBERS.fullmatch(text) is None or any(map(_NUMBERS.fullmatch, titles)):
        words = normalise(text).split()
        return words if len(words) <= MOST_WORDS else []
    return list(dict.fromkeys(normalise(_SPAN.sub(_spelt_out, text)).split()))


def _spelt_out(span: re.Match[str]) -> str:
    return " ".join(map(str, range(int(span[1]), int(span[2]) + 1))) or span[0]
