"""Days as people write them: ``2030-05-12``, ``12.5.``, ``12 May``, ``Friday``, ``tomorrow``. Day before month."""

import re
from datetime import date, timedelta

from bot.lang.filters import MONTHS
from bot.lang.words import normalise

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_RELATIVE = {"today": 0, "tomorrow": 1, "day after tomorrow": 2}
_FILLERS = frozenset({"on", "the", "of", "this", "next"})
_DAY = re.compile(r"([0-9]{1,2})(?:st|nd|rd|th)?")
_YEAR = re.compile(r"[0-9]{4}|[0-9]{2}")
_LONGEST = 40  # characters


def read_date(text: str, today: date) -> date | None:
    """The day that a text means, seen from today, or None.

    Without a year it is the next such day, today included; a weekday is the next one after today. A weekday
    beside a date has to be that date's.
    """
    if len(text) > _LONGEST:
        return None
    words = [word for word in normalise(text).split() if word not in _FILLERS]
    if (days := _RELATIVE.get(" ".join(words))) is not None:
        return today + timedelta(days=days)
    weekday = next((index for word in words if (index := _named(word, _WEEKDAYS)) is not None), None)
    if weekday is None:
        return _written(words, today)
    rest = [word for word in words if _named(word, _WEEKDAYS) is None]
    if not rest:
        return today + timedelta(days=(weekday - today.weekday()) % 7 or 7)
    found = _written(rest, today)
    return found if found is not None and found.weekday() == weekday else None


def _written(words: list[str], today: date) -> date | None:
    """``12 5 2030``, ``2030 5 12``, ``12 may 2030``, ``may 12 2030``; the year may be missing after the others."""
    match words:
        case [year, month, day] if re.fullmatch(r"[0-9]{4}", year):
            return _dated(day, month, year, today)
        case [first, second, *years] if len(years) <= 1:
            month_first = _named(first, MONTHS) is not None
            day, month = (second, first) if month_first else (first, second)
            return _dated(day, month, years[0] if years else None, today)
    return None


def _dated(day: str, month: str, year: str | None, today: date) -> date | None:
    named = _named(month, MONTHS)
    number = _DAY.fullmatch(day)
    if number is None or (named is None and not re.fullmatch(r"[0-9]{1,2}", month)):
        return None
    in_month = int(month) if named is None else named + 1
    if year is not None:
        if not _YEAR.fullmatch(year):
            return None
        return _exact(int(year) + (2000 if len(year) == 2 else 0), in_month, int(number[1]))
    candidates = (_exact(today.year + ahead, in_month, int(number[1])) for ahead in range(9))  # until a 29 February
    return next((found for found in candidates if found is not None and found >= today), None)


def _exact(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _named(word: str, names: tuple[str, ...]) -> int | None:
    """The index of the name that a word is, in full or by its first letters, three at least."""
    if len(word) < 3:
        return None
    return next((index for index, name in enumerate(names) if name.casefold().startswith(word)), None)
