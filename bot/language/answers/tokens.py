"""Fold a text and cut it into words, figures and signs."""

import unicodedata
from collections.abc import Mapping
from dataclasses import field
from functools import partial
from typing import Any

from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern, unicode_pattern
from bot.language.source.word_matching import folded

LONGEST = 400  # characters of a text in which a number, a day or a time is looked for
_APOSTROPHES = "'’ʼ`´"
_APOSTROPHE = lazy_pattern(f"[{_APOSTROPHES}]")
_ENDING = unicode_pattern(rf"(?<=[0-9])([{_APOSTROPHES}]?)([\p{{L}}\p{{M}}]+)(?![0-9])")
_TOKEN = lazy_pattern("0+|a+(?:'a+)*|[^ ]")
"""A token of a text whose characters stand as their shapes (`_Shapes`)."""
_HARD = frozenset("/\\@%&⁄")  # punctuation that is a word of its own
_SOFT = frozenset("−`´~¨")  # symbols that are no words
_FEWEST = 2  # letters behind a prefix


class _Shapes(dict[int, int]):
    """The shapes of characters by their codes: ``0`` of figures, ``a`` of letters and marks, ``'`` of apostrophes, a
    space of spaces, ``.`` of others. The library `regex` knows them too, but takes 10 ms to be imported.
    """

    def __missing__(self, code: int) -> int:
        char = chr(code)
        if char in _APOSTROPHES:
            shape = "'"
        elif char.isascii() and char.isdigit():
            shape = "0"
        elif char.isspace() and char not in "\x1c\x1d\x1e\x1f":
            shape = " "
        else:
            shape = "a" if unicodedata.category(char)[0] in "LM" else "."
        if code <= 0xFFFF:  # a bounded number is kept, whatever people write
            self[code] = ord(shape)
        return ord(shape)


_SHAPES = _Shapes()


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
    if text.isascii() and text.isalpha() and not spelling.prefixes:  # most phrases are a plain word
        return Tokens(text, [text], [0], [len(text)])
    if spelling.apostrophe_ends:
        text = _ENDING.sub(partial(_without_ending, spelling), text)
    tokens: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for found in _TOKEN.finditer(text.translate(_SHAPES)):
        start, end = found.span()
        for token in _words(text[start:end], spelling):
            tokens.append(token)
            starts.append(start)
            ends.append(end)
    return Tokens(text, tokens, starts, ends)


def _without_ending(spelling: Spelling, found: Any) -> str:
    """Nothing in place of an ending of figures (Turkish: 8'de, 8de)."""
    dropped = found[2] not in spelling.kept_endings if found[1] else found[2] in spelling.endings
    return "" if dropped else found.group()


def _words(written: str, spelling: Spelling) -> tuple[str, ...]:
    if written.isascii() and written.isalnum() and (not spelling.prefixes or written.isdigit()):
        return (written,)
    if written.isascii() or not written[0].isalpha():
        if written[0].isalpha() and not written.isalnum():
            return _around_apostrophes(written, spelling)
        if written[0].isalpha():
            return _without_prefix(written, spelling)
        sign = unicodedata.category(written[0])[0] == "S" and written not in _SOFT
        return (written,) if sign or written in _HARD else ()
    if _APOSTROPHE.search(written):
        return _around_apostrophes(written, spelling)
    return _without_prefix(written, spelling) if spelling.prefixes else (written,)


def _around_apostrophes(written: str, spelling: Spelling) -> tuple[str, ...]:
    first, *rest = _APOSTROPHE.split(written)
    if spelling.apostrophe_ends:
        return (first,)
    if first in spelling.elided:
        return first, "".join(rest)
    return ("".join((first, *rest)),)


def _without_prefix(written: str, spelling: Spelling) -> tuple[str, ...]:
    """A word that is known behind prefixes (Arabic writes "and" and "the" with the next word)."""
    return _cut(written, spelling, 2) or (written,)


def _cut(written: str, spelling: Spelling, most: int) -> tuple[str, ...] | None:
    if written in spelling.known:
        return (written,)
    for prefix, word in spelling.prefixes.items() if most else ():
        rest = written.removeprefix(prefix)
        if rest != written and len(rest) >= _FEWEST and (found := _cut(rest, spelling, most - 1)) is not None:
            return (word, *found) if word else found
    return None
