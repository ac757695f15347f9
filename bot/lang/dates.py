"""Dates as people write them in an answer: ``2030-05-12``, ``12.5.``, ``12 May``, ``May 12th``, ``Friday``, ``tomorrow``."""

import re
from datetime import date, timedelta

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_ISO = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_NUMBERS = re.compile(r"(\d{1,2})[./](\d{1,2})(?:[./](\d{4})?)?")
_DAY_MONTH = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?(?: of)? ([a-z]{3,9})\.?,?(?: (\d{4}))?")
_MONTH_DAY = re.compile(r"([a-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?,?(?: (\d{4}))?")


def read_date(text: str, today: date) -> date | None:
    """The day that a text means, seen from today; the next such day where it leaves the year out."""
    words = " ".join(text.casefold().split()).removeprefix("on ").removeprefix("next ").removesuffix("!").rstrip(",")
    relative = {"today": 0, "tomorrow": 1, "the day after tomorrow": 2, "yesterday": -1}
    if words in relative:
        return today + timedelta(days=relative[words])
    for index, name in enumerate(_DAYS):
        if words in (name, name[:3]):
            return today + timedelta(days=(index - today.weekday()) % 7 or 7)
    if found := _ISO.fullmatch(words):
        return _day(int(found[1]), int(found[2]), int(found[3]))
    if found := _NUMBERS.fullmatch(words):
        return _dated(found[3], int(found[2]), int(found[1]), today)
    if (found := _DAY_MONTH.fullmatch(words)) and (month := _month(found[2])):
        return _dated(found[3], month, int(found[1]), today)
    if (found := _MONTH_DAY.fullmatch(words)) and (month := _month(found[1])):
        return _dated(found[3], month, int(found[2]), today)
    return None


def _month(name: str) -> int | None:
    full = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
            "november", "december")  # fmt: skip
    return next(
        (i + 1 for i, m in enumerate(full) if name in (m, m[:3]) or (m == "september" and name == "sept")), None
    )


def _dated(year: str | None, month: int, day: int, today: date) -> date | None:
    if year is not None:
        return _day(int(year), month, day)
    for candidate in range(today.year, today.year + 9):  # a 29 February may be eight years away
        found = _day(candidate, month, day)
        if found is not None and found >= today:
            return found
    return None


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
