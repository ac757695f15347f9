"""Matching what people write: titles, words and numbers (LANGUAGE, Replies 5)."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

LONGEST = 256  # characters: no word, title or number of a choice is longer


@dataclass(frozen=True, slots=True)
class Option:
    """Something that can be chosen: its title and the words that mean it too."""

    title: str
    words: tuple[str, ...] = ()


@lru_cache(maxsize=4096)
def normalise(text: str) -> str:
    """Fold case, accents, punctuation and spaces. A text of nothing but signs (an emoji) stays itself."""
    decomposed = unicodedata.normalize("NFKD", text[: LONGEST * 4].casefold())
    kept = []
    for char in unicodedata.normalize("NFKD", decomposed.casefold()):
        category = unicodedata.category(char)
        if category[0] in "LN" or (category == "Mc") or (category == "Mn" and unicodedata.combining(char) == 0):
            kept.append(char)
        elif category[0] != "M":
            kept.append(" ")
    folded = " ".join("".join(kept).split())
    return folded or " ".join(text.split())


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
