"""Emoji that stand for a thing: "2 ☕ please" orders coffee. The words are data (`bot.language.answers.phrases`)."""

from functools import cache
from unicodedata import category

from bot.core.lazy_patterns import lazy_pattern
from bot.language.answers.phrases import all_phrases, phrases
from bot.language.answers.titles import has_word
from bot.language.answers.words import Kind
from bot.language.source.languages import ENGLISH, without_country
from bot.language.source.word_matching import normalise

THINGS = ("coffee", "tea", "cake", "beer", "wine", "pizza", "bread", "flowers", "taxi", "dentist")
"""The things that are known by their emoji."""
_SYMBOL = "So"  # Unicode's category
_TIMES = lazy_pattern(r"x?\d+x?")  # x3


def spelt_out(text: str, language: str | None) -> tuple[str, ...]:
    """The words for a message of nothing but the emoji of one thing, perhaps beside a number or a "please", in English
    and in the language; empty for any other message. ``spelt_out("2 ☕☕", "de")  -> ("coffee", "kaffee")``
    """
    symbols = {char for char in text if category(char) == _SYMBOL}
    shown = {_things().get(symbol, "") for symbol in symbols if not _is_polite(symbol)}
    beside = normalise("".join(" " if char in symbols else char for char in text)).split() if symbols else []
    if len(shown) != 1 or not all(_changes_nothing(word, language) for word in beside):
        return ()
    words = phrases("emoji", shown.pop()) if "" not in shown else {}
    spoken = dict.fromkeys((ENGLISH, without_country(language or ENGLISH)))
    return tuple(word for each in spoken for word in words.get(each, ()) if word not in _things())


@cache
def _things() -> dict[str, str]:
    """The thing of each emoji."""
    known = ((phrase, thing) for thing in THINGS for phrase in all_phrases("emoji", thing))
    return {phrase: thing for phrase, thing in known if category(phrase[0]) == _SYMBOL}


def _changes_nothing(word: str, language: str | None) -> bool:
    return _is_polite(word) or _TIMES.fullmatch(word) is not None or has_word(word, (Kind.NUMBER,), language)


def _is_polite(word: str) -> bool:
    return any(word in phrase.split() for phrase in all_phrases("please"))
