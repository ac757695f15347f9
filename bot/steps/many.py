"""Several answers to one question: how many, and reading them out of one text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bot.lang.templates import Template
from bot.lang.words import ANYWHERE, CLOSE, LONGEST, WHOLE, Option, match, normalise

MOST_WORDS = 50  # of a text that names several answers
MARK = "✓ "  # before the title of what is chosen
_AND = frozenset(
    map(normalise, ("and", "dan", "y", "e", "et", "und", "en", "ve", "и", "و", "और", "og", "och", "i", "a"))
)
"""The word before the last of several answers, in the languages of `bot.lang.wordings` and a few more."""
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
    words between them.
    """
    words = _words_of(text, options)
    longest = max(len(normalise(word).split()) for option in options for word in (option.title, *option.words))
    found: list[list[int] | None] = [[]]  # what each end of the text names, the shortest first
    for start in range(len(words) - 1, -1, -1):
        found.append(_beginning(words[start : start + longest], found, options, how))
    return list(dict.fromkeys(found[-1] or ()))


def _beginning(
    words: Sequence[str], ends: Sequence[list[int] | None], options: Sequence[Option], how: str
) -> list[int] | None:
    """The option that the words begin with, and what the end after it names; None where that makes no sense."""
    for length in range(len(words), 0, -1):
        end = ends[-length]
        index = None if end is None else match(" ".join(words[:length]), options, CLOSE if how == CLOSE else WHOLE)
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
