"""Days as other languages say them, put into English: dateparser knows their words, `bot.lang.dates` what they mean.

So every language is read as strictly as English is.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from bot.lang.languages import ENGLISH, without_country
from bot.lang.words import normalise

if TYPE_CHECKING:  # dateparser takes 130 ms to import: only what our own reader does not know waits for it
    from dateparser.conf import Settings
    from dateparser.languages.locale import Locale

_LEFT_OVER: dict[str, dict[str, str]] = {
    "ar": {"بعد غد": "in 2 day", "بعد": "in"},
    "de": {"am": "", "den": "", "dem": "", "nachsten": "next", "nachster": "next", "kommenden": "next"},
    "es": {"pasado in 1 day": "in 2 day", "el": "", "proximo": "next", "que viene": "next"},
    "fr": {"aujourdhui": "today", "prochain": "next"},
    "id": {"lusa": "in 2 day", "sunday depan": "next week", "depan": "next", "lagi": "in", "dua": "2", "at": ""},
    "it": {"dopodomani": "in 2 day", "il": "", "prossimo": "next", "fra": "in", "tre": "3"},
    "nl": {"op": "", "volgende": "next"},
    "pt": {"depois in 1 day": "in 2 day", "no": "", "na": "", "proximo": "next", "proxima": "next", "daqui a": "in"},
    "ru": {"го": "", "следующую": "next", "следующии": "next"},
    "tr": {"obur day": "in 2 day", "gelecek": "next"},
}
"""What dateparser does not know: words as they stand in its translation, normalised; the longer ones first."""


def prepare(languages: Iterable[str]) -> None:
    """Load what these languages and English need, so that no contact waits for it."""
    for language in (*languages, ENGLISH):
        in_english("1", language)


def in_english(text: str, language: str) -> str | None:
    """A day or a time in English, as far as its words are known: ``in 1 day``, ``12 may``. None for a language that
    nobody knows.
    """
    locale = _locale(without_country(language))
    if locale is None:
        return None
    english = normalise(locale.translate(text.lower(), keep_formatting=False, settings=_settings()))
    for words, meaning in _LEFT_OVER.get(without_country(language), {}).items():
        english = re.sub(rf"\b{words}\b", meaning, english)
    return english


@lru_cache(maxsize=64)
def _locale(language: str) -> "Locale | None":
    from dateparser.languages.loader import default_loader

    try:
        return next(iter(default_loader.get_locales(languages=[language])), None)
    except ValueError:
        return None


@lru_cache(maxsize=1)
def _settings() -> "Settings":
    from dateparser.conf import settings

    return settings
