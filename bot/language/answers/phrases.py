"""Phrases of people in every trade, from `phrases/*.yml`: a file for each language. All bots hear all of them."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from bot.language.answers.words import listed, read_words
from bot.language.source.word_matching import normalise

LANGUAGES = ("en", "id", "es", "pt", "fr", "de", "it", "nl", "tr", "ru", "ar", "hi")


@cache
def phrases(key: str, meaning: str | None = None) -> Mapping[str, tuple[str, ...]]:
    """The normalised phrases at a key of the files, or at a meaning below it, by their language.

    ``phrases("topics", "price")["de"]  -> ("was kostet", ...)``
    """
    return {language: tuple(map(normalise, listed(_at(language, key, meaning)))) for language in LANGUAGES}


@cache
def all_phrases(key: str, meaning: str | None = None) -> frozenset[str]:
    """The `phrases` of all languages together."""
    return frozenset(phrase for spoken in phrases(key, meaning).values() for phrase in spoken)


def consists_of(words: Sequence[str], is_piece: Callable[[str], bool]) -> bool:
    """True if words are nothing but pieces, each a word or a phrase; in one pass."""
    reached = {0}
    for first in range(len(words)):
        if first in reached:
            reached |= {end for end in range(first + 1, len(words) + 1) if is_piece(" ".join(words[first:end]))}
    return len(words) in reached


@cache
def phrase_pattern(key: str, meaning: str | None = None, language: str | None = None) -> re.Pattern[str]:
    """The pattern of any phrase at a place in the files, of a language or of all, as whole words of a normalised text.
    There, a star stands for any ending.
    """
    spoken = LANGUAGES if language is None else (language,)
    written = (phrase for each in spoken for phrase in listed(_at(each, key, meaning)))
    patterns = {re.escape(normalise(phrase.rstrip("*"))) + r"\S*" * phrase.endswith("*") for phrase in written}
    return re.compile(rf"(?<!\S)(?:{'|'.join(sorted(patterns, key=len, reverse=True))})(?!\S)")


@cache
def _file(language: str) -> Mapping[str, Any]:
    return read_words(f"phrases/{language}.yml")


def _at(language: str, key: str, meaning: str | None) -> str:
    found = _file(language).get(key, "")
    return str(found if meaning is None else found.get(meaning, ""))
