"""Days as people write them: ``2030-05-12``, ``12.5.``, ``12 May``, ``Friday``, ``tomorrow``. Day before month."""

import re
from datetime import date, timedelta

from bot.lang.foreign_dates import in_english
from bot.lang.formats import MONTHS
from bot.lang.languages import ENGLISH
from bot.lang.wall_clock import WEEKDAYS, months_later
from bot.lang.words import normalise

_RELATIVE = {"today": 0, "tomorrow": 1, "day after tomorrow": 2, "yesterday": -1}
_FILLERS = frozenset({"on", "the", "of", "this", "next", "last", "day"})
_DAY = re.compile(r"([0-9]{1,2})(?:st|nd|rd|th)?")
_YEAR = re.compile(r"[0-9]{4}|[0-9]{2}")
_COUNT = re.compile(r"[0-9]{1,3}")
_IN_CHARACTERS = re.compile(r"(?:(\d{4})\s*[年년]\s*)?(\d{1,2})\s*[月월]\s*(\d{1,2})\s*[日号號일]?")  # 2030年5月12日
_VAGUE = re.compile(r"(in )?1 (week|month|year)( ago)?")  # in other languages that may be next week: no day
_LONGEST = 40  # characters


def read_date(text: str, today: date, language: str | None = None, *, past: bool = False) -> date | None:
    """The day that a text means in English or in a language, seen from today, or None.

    Without a year it is the next such day, today included; a weekday is the next one after today. Where the ``past``
    is meant, it is the last such day. A weekday beside a date has to be that date's.
    """
    if len(text) > _LONGEST or not any(map(str.isalnum, text)):
        return None
    text = _IN_CHARACTERS.sub(_day_first, text)
    reading = _Reading(today, past)
    found = reading.day(normalise(text))
    if found is not None or not any(map(str.isalpha, text)):
        return found
    for spoken in dict.fromkeys((language or ENGLISH, ENGLISH)):
        english = in_english(text, spoken)
        if english is None or (_VAGUE.fullmatch(english) and not any(map(str.isdecimal, text))):
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
            case [count, unit] if len(words) == 3 and _COUNT.fullmatch(count):
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
        number = _DAY.fullmatch(day)
        if number is None or (named is None and not re.fullmatch(r"[0-9]{1,2}", month)):
            return None
        in_month = int(month) if named is None else named + 1
        if year is None:
            return self._nearest(in_month, int(number[1]))
        return _exact(self._century(year), in_month, int(number[1])) if _YEAR.fullmatch(year) else None

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
