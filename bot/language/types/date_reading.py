"""Days and times as people write them: ``12.5.``, ``12 May``, ``Friday``, ``tomorrow at 3pm``, ``in 2 hours``.

Day before month.

Texts in other languages are put into English by dateparser's word lists, and read here like English: so every language
is read as strictly (docs/architecture.md says why not by dateparser itself).
"""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from bot.language.expressions.formats import MONTHS
from bot.language.source.languages import ENGLISH, without_country
from bot.language.source.wall_clock import ISO_MOMENT, WEEKDAYS, at_time, later, months_later, read_iso, zone_of
from bot.language.source.word_matching import normalise

if TYPE_CHECKING:  # importing dateparser takes 130 ms: only texts that our own reader does not know need it
    from dateparser.conf import Settings
    from dateparser.languages.locale import Locale


_RELATIVE = {"today": 0, "tomorrow": 1, "day after tomorrow": 2, "yesterday": -1}
_FILLERS = frozenset({"on", "the", "of", "this", "next", "last", "day"})
# patterns are texts: `re` compiles each when it is first used, not when a bot starts
_DAY = r"([0-9]{1,2})(?:st|nd|rd|th)?"
_YEAR = r"[0-9]{4}|[0-9]{2}"
_COUNT = r"[0-9]{1,3}"
_IN_CHARACTERS = r"(?:(\d{4})\s*[年년]\s*)?(\d{1,2})\s*[月월]\s*(\d{1,2})\s*[日号號일]?"  # 2030年5月12日
_VAGUE = r"(in )?1 (week|month|year)( ago)?"  # in other languages that may be next week: no day
_LONGEST_DAY = 40  # characters


def read_date(text: str, today: date, language: str | None = None, *, past: bool = False) -> date | None:
    """The day that a text means in English or in a language, seen from today, or None.

    Without a year it is the next such day, today included; a weekday is the next one after today. Where the ``past``
    is meant, it is the last such day. A weekday beside a date has to be that date's.
    """
    if len(text) > _LONGEST_DAY or not any(map(str.isalnum, text)):
        return None
    text = re.sub(_IN_CHARACTERS, _day_first, text)
    reading = _Reading(today, past)
    found = reading.day(normalise(text))
    if found is not None or not any(map(str.isalpha, text)):
        return found
    for spoken in dict.fromkeys((language or ENGLISH, ENGLISH)):
        english = in_english(text, spoken)
        if english is None or (re.fullmatch(_VAGUE, english) and not any(map(str.isdecimal, text))):
            continue
        if (found := reading.day(english)) is not None:
            return found
    return None


def _day_first(found: re.Match[str]) -> str:
    return ".".join(filter(None, reversed(found.groups())))


class _Reading:
    """Reading English words, normalised, seen from a day."""

    def __init__(self, today: date, past: bool) -> None:
        self._today = today
        self._past = past

    def day(self, text: str) -> date | None:
        """The day that they mean, or None."""
        words = text.split()
        try:
            return self._relative(words) or self._named(words)
        except (OverflowError, ValueError):
            return None  # beyond the calendar

    def _relative(self, words: list[str]) -> date | None:
        """``tomorrow``, ``in 3 days``, ``2 weeks ago``."""
        days = _RELATIVE.get(" ".join(word for word in words if word != "the"))
        if days is not None:
            return self._today + timedelta(days=days)
        match ["1" if word in ("a", "an") else word for word in words if word not in ("in", "ago")]:
            case [count, unit] if len(words) == 3 and re.fullmatch(_COUNT, count):
                return self._moved(int(count) * (-1 if "ago" in words else 1), unit.removesuffix("s"))
        return None

    def _moved(self, count: int, unit: str) -> date | None:
        match unit:
            case "day" | "week":
                return self._today + timedelta(days=count * (7 if unit == "week" else 1))
            case "month" | "year":
                return months_later(self._today, count * (12 if unit == "year" else 1))
        return None

    def _named(self, words: list[str]) -> date | None:
        past = self._past or "last" in words
        words = [word for word in words if word not in _FILLERS]
        weekday = next((index for word in words if (index := _index(word, WEEKDAYS)) is not None), None)
        if weekday is None:
            return self._written(words)
        rest = [word for word in words if _index(word, WEEKDAYS) is None]
        if not rest:
            ahead = (weekday - self._today.weekday()) % 7
            return self._today + timedelta(days=(ahead or 7) if not past else ahead - 7)
        found = self._written(rest)
        return found if found is not None and found.weekday() == weekday else None

    def _written(self, words: list[str]) -> date | None:
        """``12 5 2030``, ``2030 5 12``, ``12 may 2030``, ``may 12 2030``; the year may be missing after the others."""
        match words:
            case [year, month, day] if re.fullmatch(r"[0-9]{4}", year):
                return self._dated(day, month, year)
            case [first, second, *years] if len(years) <= 1:
                month_first = _index(first, MONTHS) is not None
                day, month = (second, first) if month_first else (first, second)
                return self._dated(day, month, years[0] if years else None)
        return None

    def _dated(self, day: str, month: str, year: str | None) -> date | None:
        named = _index(month, MONTHS)
        number = re.fullmatch(_DAY, day)
        if number is None or (named is None and not re.fullmatch(r"[0-9]{1,2}", month)):
            return None
        in_month = int(month) if named is None else named + 1
        if year is None:
            return self._nearest(in_month, int(number[1]))
        return _exact(self._century(year), in_month, int(number[1])) if re.fullmatch(_YEAR, year) else None

    def _century(self, year: str) -> int:
        if len(year) == 4:
            return int(year)
        found = 2000 + int(year)
        return found - 100 if self._past and found > self._today.year else found

    def _nearest(self, month: int, day: int) -> date | None:
        """The next such day, or the last: a 29 February may be eight years away."""
        step, today = (-1 if self._past else 1), self._today
        candidates = (_exact(today.year + step * years, month, day) for years in range(9))
        return next((found for found in candidates if found and step * (found - today).days >= 0), None)


def _exact(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _index(word: str, names: tuple[str, ...]) -> int | None:
    """The index of the name that a word is, in full or by its first letters, three at least."""
    if len(word) < 3:
        return None
    return next((index for index, name in enumerate(names) if name.casefold().startswith(word)), None)


_LONGEST_MOMENT = 60  # characters
_MOST_CLOCKS = 3  # times of day in one text, each of which is tried: reading the day beside it takes milliseconds
_MORNING = r"am|a\.m\.|in the morning|pagi|de la mañana|da manhã|du matin|di mattina|morgens|утра"
_AFTERNOON = (
    r"pm|p\.m\.|in the afternoon|in the evening|sore|de la tarde|da tarde|de l'après-midi|du soir|di sera"
    "|nachmittags|abends|вечера"
)
_HOURS = "uhr|h|o'?clock|ч|時|时|点|點|시"
_BEFORE = "at|a las|a la|às|as|à|alle|pukul|jam|um|gegen|om|kl|saat|в|の"
_CLOCK = (
    rf"(?i)(?:\b(?P<before>{_BEFORE})\s+)?(?<![a-z0-9.,:/-])(?P<hour>[01]?\d|2[0-3])"
    rf"(?:(?P<sign>[:.h時时点點시])\s?(?P<minute>[0-5]\d)(?![\d.,/-])[分]?)?"
    rf"(?:\s?(?P<hours>{_HOURS})(?!\w))?(?:\s?(?:(?P<morning>{_MORNING})|(?P<afternoon>{_AFTERNOON}))(?!\w))?"
    r"(?![\d:])"
)
_NOON = r"(?i)(?:\bat\s+)?\b(?P<noon>noon|midday|midnight)\b"
_IN_HOURS = r"in ([0-9]{1,3}) (hour|minute)s?"


def read_time(text: str, language: str | None = None) -> time | None:
    """The time of day that a text is, or None. A bare number is refused: 3 could be night or afternoon."""
    if len(text) > _LONGEST_MOMENT:
        return None
    return next((clock for found, clock in _clocks(text, language, dots=True) if not _words_around(text, found)), None)


def read_moment(text: str, now: datetime, language: str | None = None, *, past: bool = False) -> datetime | None:
    """The day and time that a text means, seen from ``now`` and in its zone, or None. Without a day it is the next such
    time; where the ``past`` is meant, the last.
    """
    try:
        return None if len(text) > _LONGEST_MOMENT else _moment(text, now, language, past)
    except OverflowError:
        return None  # beyond the calendar


def _moment(text: str, now: datetime, language: str | None, past: bool) -> datetime | None:
    if isinstance(written := read_iso(text, ISO_MOMENT), datetime):
        here = written if written.tzinfo is not None else written.replace(tzinfo=now.tzinfo)
        return here.astimezone(UTC).astimezone(now.tzinfo)  # by way of UTC: a time that the clocks skip is later then
    if (found := _in_hours(normalise(text), now)) is not None:
        return found
    clocks = ((dots, _clocks(text, language, dots=dots)) for dots in (False, True))
    found_in = ((dots, *clock) for dots, found in clocks for clock in islice(found, _MOST_CLOCKS))
    for dots, match, clock in found_in:
        around = _words_around(text, match)
        day = read_date(around, now.date(), language, past=past) if around else None
        if day is not None:
            return at_time(day, clock, zone_of(now))
        if not around and not dots:
            return _nearest(clock, now, past)
    return _in_foreign_hours(text, now, language)


def _clocks(text: str, language: str | None, *, dots: bool) -> Iterator[tuple[re.Match[str], time]]:
    """The times of day in a text. ``dots`` says that 15.30 is one by itself; else something has to say so."""
    for found in (*re.finditer(_NOON, text), *re.finditer(_CLOCK, text)):
        clock = _named(found) if found.re.pattern == _NOON else _counted(found, language, dots)
        if clock is not None:
            yield found, clock


def _named(found: re.Match[str]) -> time:
    return time(0) if found["noon"].lower() == "midnight" else time(12)


def _counted(found: re.Match[str], language: str | None, dots: bool) -> time | None:
    hour, minute = int(found["hour"]), int(found["minute"] or 0)
    half = _half(found, hour, language)
    marked = found["hours"] or half is not None or (found["before"] and hour > 12)
    if not marked and (found["sign"] is None or (found["sign"] == "." and not (dots or found["before"]))):
        return None
    return time(hour if half is None else hour % 12 + half, minute)


def _half(found: re.Match[str], hour: int, language: str | None) -> int | None:
    """0 for the first half of the day, 12 for the second; None where nothing tells, or the hour does."""
    morning, afternoon = found["morning"], found["afternoon"]
    german = (language or "").startswith("de") and morning == "am"  # 12:30 am Freitag
    return None if hour > 12 or german or not (morning or afternoon) else 12 if afternoon else 0


def _words_around(text: str, found: re.Match[str]) -> str:
    """The words of a text beside a time of day."""
    return normalise(rest) and rest if (rest := f"{text[: found.start()]} {text[found.end() :]}".strip(" ,.!?")) else ""


def _nearest(clock: time, now: datetime, past: bool) -> datetime:
    today = at_time(now.date(), clock, zone_of(now))
    if past:
        return today if today <= now else at_time(now.date() - timedelta(days=1), clock, zone_of(now))
    return today if today > now else at_time(now.date() + timedelta(days=1), clock, zone_of(now))


def _in_hours(words: str, now: datetime) -> datetime | None:
    """``in 2 hours``, ``in 30 minutes``."""
    found = re.fullmatch(_IN_HOURS, words)
    return None if found is None else later(now, timedelta(**{f"{found[2]}s": int(found[1])}), zone_of(now))


def _in_foreign_hours(text: str, now: datetime, language: str | None) -> datetime | None:
    """``dans 2 heures``."""
    if not any(map(str.isalpha, text)):
        return None
    spoken = (in_english(text, known) for known in dict.fromkeys((language or ENGLISH, ENGLISH)))
    return next((found for words in spoken if words and (found := _in_hours(words, now)) is not None), None)


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
"""Words that dateparser does not know, as they are in its translation, normalised; the longer ones first."""


def prepare(languages: Iterable[str]) -> None:
    """Load the data of these languages and of English, so that no contact waits for it."""
    for language in (*languages, ENGLISH):
        in_english("1", language)


@lru_cache(maxsize=1024)  # the readers of several questions look at the same words
def in_english(text: str, language: str) -> str | None:
    """A day or a time in English, as far as its words are known: ``in 1 day``, ``12 may``.

    None for an unknown language.
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
