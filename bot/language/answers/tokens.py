"""Fold a text and cut it into words, figures and signs."""

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import partial
from typing import Any

from bot.core.immutable import immutable
from bot.core.lazy_patterns import unicode_pattern
from bot.language.source.word_matching import folded

LONGEST = 400  # characters of a text in which a number, a day or a time is looked for
_WORD = r"[\p{L}\p{M}]+"
_APOSTROPHES = "'’ʼ`´"
_TOKEN = unicode_pattern(rf"[0-9]+|{_WORD}(?:[{_APOSTROPHES}]{_WORD})*|[^\s]")
_APOSTROPHE = unicode_pattern(f"[{_APOSTROPHES}]")
_ENDING = unicode_pattern(rf"(?<=[0-9])([{_APOSTROPHES}]?)({_WORD})(?![0-9])")
_HARD = frozenset("/\\@%&⁄")  # punctuation that is a word of its own
_SOFT = frozenset("−`´~¨")  # symbols that are no words
_FEWEST = 2  # letters behind a prefix


@immutable
class Spelling:
    """How a language writes words together. ``known`` are the first words of its phrases."""

    elided: frozenset[str] = frozenset()
    apostrophe_ends: bool = False
    kept_endings: frozenset[str] = frozenset()  # behind an apostrophe: they change what is said
    endings: frozenset[str] = frozenset()  # right behind figures
    prefixes: Mapping[str, str] = field(default_factory=dict)
    known: frozenset[str] = frozenset()


@immutable
class Tokens:
    """A text in small letters, and its words, figures and signs with their places in it.

    ``numbers`` remembers the numbers that were looked for, by the token and by whether a whole one was wanted.
    """

    text: str
    tokens: list[str]
    starts: list[int]
    ends: list[int]
    numbers: dict[tuple[int, bool], Any] = field(default_factory=dict)

    def gap(self, index: int) -> str:
        """The spaces and punctuation before a token."""
        return self.text[self.ends[index - 1] if index else 0 : self.starts[index]]

    def at(self, place: int) -> int:
        """The index of the first token that begins at a place of the text or behind it."""
        return next((index for index, start in enumerate(self.starts) if start >= place), len(self.starts))


def split(text: str, spelling: Spelling) -> Tokens:
    """The tokens of a text as a language writes. Punctuation is left out, except signs that change a value."""
    text = folded(text)
    if spelling.apostrophe_ends:
        text = _ENDING.sub(partial(_without_ending, spelling), text)
    tokens: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for found in _TOKEN.finditer(text):
        start, end = found.span()
        for token in _words(found.group(), spelling):
            tokens.append(token)
            starts.append(start)
            ends.append(end)
    return Tokens(text, tokens, starts, ends)


def _without_ending(spelling: Spelling, found: Any) -> str:
    """Nothing in place of an ending of figures (Turkish: 8'de, 8de)."""
    dropped = found[2] not in spelling.kept_endings if found[1] else found[2] in spelling.endings
    return "" if dropped else found.group()


def _words(written: str, spelling: Spelling) -> Iterator[str]:
    if written.isascii() and written.isalnum() and (not spelling.prefixes or written.isdigit()):
        yield written
    elif written.isascii() or not written[0].isalpha():
        if written[0].isalpha() and not written.isalnum():
            yield from _around_apostrophes(written, spelling)
        elif written[0].isalpha():
            yield from _without_prefix(written, spelling)
        elif written in _HARD or (unicodedata.category(written[0])[0] == "S" and written not in _SOFT):
            yield written
    elif _APOSTROPHE.search(written):
        yield from _around_apostrophes(written, spelling)
    elif spelling.prefixes:
        yield from _without_prefix(written, spelling)
    else:
        yield written


def _around_apostrophes(written: str, spelling: Spelling) -> Iterator[str]:
    first, *rest = _APOSTROPHE.split(written)
    if spelling.apostrophe_ends:
        yield first
    elif first in spelling.elided:
        yield first
        yield "".join(rest)
    else:
        yield "".join((first, *rest))


def _without_prefix(written: str, spelling: Spelling) -> Iterator[str]:
    """A word that is known behind prefixes (Arabic writes "and" and "the" with the next word)."""
    yield from _cut(written, spelling, 2) or (written,)


def _cut(written: str, spelling: Spelling, most: int) -> tuple[str, ...] | None:
    if written in spelling.known:
        return (written,)
    for prefix, word in spelling.prefixes.items() if most else ():
        rest = written.removeprefix(prefix)
        if rest != written and len(rest) >= _FEWEST and (found := _cut(rest, spelling, most - 1)) is not None:
            return (word, *found) if word else found
    return None
