"""Matching what people write: titles, words and numbers (LANGUAGE, Replies 5)."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

_DROPPED = dict.fromkeys(
    [
        *range(0x0300, 0x0370),  # accents of Latin, Greek and Cyrillic letters
        *range(0x0591, 0x05C8),  # Hebrew points
        *range(0x064B, 0x0660),  # Arabic vowel marks
        *range(0x1F3FB, 0x1F400),  # skin tones
        *map(ord, "'’ʼ\ufe0e\ufe0f"),  # apostrophes (don't = dont), and how an emoji is drawn
    ]
)
LONGEST = 256  # characters: no word, title or number of a choice is longer


@dataclass(frozen=True, slots=True)
class Option:
    """Something that can be chosen: its title and the words that mean it too."""

    title: str
    words: tuple[str, ...] = ()


@lru_cache(maxsize=4096)
def normalise(text: str) -> str:
    """Fold case, accents, punctuation and spaces. Letters, signs and digits of every script stay.

    A text of nothing but symbols (an emoji) stays itself, without its skin tone.
    """
    text = unicodedata.normalize("NFKD", text[: LONGEST * 4])
    text = unicodedata.normalize("NFKD", text.casefold()).translate(_DROPPED)
    folded = "".join(char if unicodedata.category(char)[0] in "LNM" else " " for char in text)
    return " ".join(unicodedata.normalize("NFC", folded).split()) or " ".join(text.split())


def match(text: str, options: Sequence[Option]) -> int | None:
    """The option that a text means: by its title as written, normalised, by its words, by its number."""
    if len(text) > LONGEST or not text.strip():
        return None
    written = text.strip()
    for index, option in enumerate(options):
        if option.title == written:
            return index
    wanted = normalise(text)
    for index, option in enumerate(options):
        if normalise(option.title) == wanted:
            return index
    for index, option in enumerate(options):
        if any(normalise(word) == wanted for word in option.words):
            return index
    return _by_number(wanted, options)


def _by_number(wanted: str, options: Sequence[Option]) -> int | None:
    """``2`` is the second option, but not where a title is itself a number."""
    if not (wanted.isdecimal() and len(wanted) <= 3):
        return None
    if any(normalise(option.title).replace(" ", "").isdecimal() for option in options):
        return None
    number = int(wanted)
    return number - 1 if 1 <= number <= len(options) else None
