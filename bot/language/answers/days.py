"""Days as people write them: ``12.5.``, ``next Friday``, ``the 4th of July``, ``in two weeks``, ``après-demain``.

This is code of our own, because dateparser does not know which words beside a date change what it means, and accepts
"next week".
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any

from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.language.answers.numbers import number_at
from bot.language.answers.phrase_patterns import Found, Matcher
from bot.language.answers.tokens import Tokens
from bot.language.answers.words import Kind, Mark, Words
from bot.language.source.wall_clock import months_later


@immutable
class Day:
    """A day that somebody may mean, and the ``other`` day that somebody else could mean by the same words."""

    day: date
    other: date | None = None


@immutable
class _Parts:
    """The parts of a day that stand beside each other."""

    day: int | None = None
    month: int | None = None
    year: int | None = None
    weekday: int | None = None
    named: bool = False  # the day is said as one: the 4th


_YEAR_FIRST = lazy_pattern(r"([0-9]{4})\s?([-/.])\s?([0-9]{1,2})\s?\2\s?([0-9]{1,2})(?![0-9])")
_FIGURES = lazy_pattern(
    r"([0-9]{1,2})\s?([-/.])\s?([0-9]{1,2})(?:\s?\2\s?([0-9]{4}|[0-9]{2})(?![0-9]|\s?[:h][0-9])|\.(?![0-9])|(?![0-9.]*[0-9]))"
)
_SPACED = lazy_pattern(r"([0-9]{1,2}) ([0-9]{1,2}) ([0-9]{4})(?![0-9])")
_TOGETHER = lazy_pattern(r"(20[0-9]{2}|19[0-9]{2})([0-9]{2})([0-9]{2})(?![0-9])")
_CHARACTERS = lazy_pattern(r"(?:([0-9]{4})\s*[年년]\s*)?([0-9]{1,2})\s*[月월]\s*([0-9]{1,2})\s*[日号號일]?")
_CLOCK_BEHIND = lazy_pattern(r"\s?[:h]\s?[0-9]{2}")
_BREAK = lazy_pattern(r"[;!?\n]")
_MOST_PARTS = 8
_LONGEST_BETWEEN = 3  # words, as in "in the year"
_LONGEST_SPAN = 1000 * 3600  # seconds
_NEAR_YEARS = 10  # so far ahead a year of two figures is this century's
_FIRST_YEAR, _LAST_YEAR = 1900, 2199
_UNITS = ("day", "week", "month", "year")


class DayReader:
    """Reads the days in a text, seen from ``today``. ``past``: a day without its year is one that has been."""

    def __init__(self, tokens: Tokens, marks: Sequence[Sequence[Mark]], words: Words, today: date, past: bool) -> None:
        self.tokens, self.marks, self.words = tokens, marks, words
        self.today, self.past = today, past
        self._matcher = Matcher(words.dates, tokens, self._slot)
        self._found: dict[int, list[tuple[int, Day]]] = {}

    def days_at(self, start: int) -> list[tuple[int, Day]]:
        """The days that begin at a token, each with the index of the token behind it; the longest first."""
        if start not in self._found:
            self._found[start] = []  # a day is not found within itself
            self._found[start] = _longest_first(self._told(start))
            self._found[start] = _longest_first([*self._said_at(start), *self._found[start]])
        return self._found[start]

    def _said_at(self, start: int) -> Iterator[tuple[int, Day]]:
        """The days that patterns say; they may begin with a day: "Friday in two weeks"."""
        for end, name, bound in self._matcher.found_at(start):
            day = self._said(name, bound)
            if day is not None:
                yield end, day

    def spans_at(self, start: int) -> Iterator[tuple[int, timedelta]]:
        """The hours and minutes from now that begin at a token: ``in 2 hours``, ``half an hour ago``."""
        for end, name, bound in self._matcher.found_at(start):
            count, unit = bound.get("{period}", (0, ""))
            if name in ("ahead", "ago") and unit in ("hour", "minute"):
                seconds = count * bound.get("{n}", 1) * (3600 if unit == "hour" else 60)
                if 0 < seconds <= _LONGEST_SPAN:
                    yield end, timedelta(seconds=int(seconds)) * (1 if name == "ahead" else -1)

    def _told(self, start: int) -> Iterator[tuple[int, Day]]:
        yield from self._in_figures(start)
        for end, kind, value in self.marks[start]:
            if kind is Kind.DAY:
                yield from self._relative(start, end, int(value))
            if kind is Kind.WEEKDAY:
                for behind in self._behind(end):
                    yield from self._in_figures(behind, int(value) - 1)
                    said = self._said_at(behind) if behind < len(self.marks) else ()  # Monday two weeks from now
                    yield from (
                        (last, day) for last, day in said if day.day.weekday() == value - 1 and day.other is None
                    )
        yield from self._beside(start)

    def _relative(self, start: int, end: int, ahead: int) -> Iterator[tuple[int, Day]]:
        """``tomorrow``, and a weekday beside it that has to be that day's."""
        word = self.tokens.tokens[start]
        day, other = _moved(self.today, ahead, "day"), None
        if end == start + 1 and word in self.words.unsure_days:
            other = _moved(self.today, -ahead, "day")
            day, other = (other, day) if self.past else (day, other)
        if day is None:
            return
        yield end, Day(day, other)
        for behind, kind, value in self.marks[end] if end < len(self.marks) else ():
            if kind is Kind.WEEKDAY and int(value) - 1 == day.weekday():
                yield behind, Day(day)

    def _slot(self, name: str, start: int) -> Iterator[tuple[int, Any]]:
        """The values that a slot of a pattern may have from a token on, each with the index of the token behind it."""
        if name == "{n}":
            number = number_at(self.tokens, self.marks, start, self.words, True)
            if number is not None:
                yield number[0], number[2]
            for end, kind, _ in self.marks[start]:
                if kind is Kind.ONE:
                    yield end, Decimal(1)
            return
        if name == "{date}":
            yield from self.days_at(start)
            return
        if name == "{day}":
            for end, day, _ in self._day_numbers(start):
                yield end, day
            return
        wanted = {"{weekday}": Kind.WEEKDAY, "{period}": Kind.PERIOD, "{month}": Kind.MONTH}[name]
        yield from ((end, value) for end, kind, value in self.marks[start] if kind is wanted)

    def _said(self, name: str, bound: Found) -> Day | None:
        """The day that a pattern means."""
        match name:
            case "ahead" | "ago" | "after" | "before":
                count, unit = bound.get("{period}", (1, "day"))
                number = bound.get("{n}", Decimal(1))
                if unit not in _UNITS or number != int(number) or not 0 < number < 1000:
                    return None
                start = bound.get("{date}", Day(self.today))
                sign = 1 if name in ("ahead", "after") else -1
                day = _moved(start.day, sign * count * int(number), unit)
                if name in ("ahead", "ago") and unit == "day" and count * int(number) in self.words.counted_with_today:
                    return None if day is None else Day(day - timedelta(days=sign), day)
                other = None if start.other is None else _moved(start.other, sign * count * int(number), unit)
                return None if day is None else Day(day, other)
            case "day of month":
                return self._in_month(int(bound["{day}"]), None)
            case "day of this month" | "day of next month":
                first = self.today.replace(day=1)
                month = first if name == "day of this month" else months_later(first, 1)
                found = _exact(month.year, month.month, int(bound["{day}"]))
                return None if found is None else Day(found)
        return _weekday(name, int(bound["{weekday}"]) - 1, self.today, self.words.week_begins)

    # days of parts: 4 July 2030, Friday the 4th

    def _beside(self, start: int) -> Iterator[tuple[int, Day]]:
        """Days of parts that stand beside each other, and are one day together."""
        for end, parts in self._parts(start, _Parts(), 0):
            day = self._day_of(parts)
            if day is not None:
                yield end, day

    def _parts(self, start: int, known: _Parts, depth: int) -> Iterator[tuple[int, _Parts]]:
        for end, parts in self._part_at(start, known):
            if depth < _MOST_PARTS:
                for behind in self._behind(end):
                    yield from self._parts(behind, parts, depth + 1)
            yield end, parts

    def _behind(self, index: int) -> Iterator[int]:
        """Where a further part may begin: behind words that change nothing."""
        seen = {index}
        waiting = [index]
        while waiting:
            here = waiting.pop()
            if here >= len(self.tokens.tokens) or _BREAK.search(self.tokens.gap(here)):
                continue
            yield here
            token = self.tokens.tokens[here]
            ends = [end for end, kind, _ in self.marks[here] if kind is Kind.BETWEEN]
            if token == "/":
                ends.append(here + 1)
            for end in ends:
                if end not in seen:
                    seen.add(end)
                    waiting.append(end)

    def _part_at(self, start: int, known: _Parts) -> Iterator[tuple[int, _Parts]]:
        if known.month is None:
            for end, kind, value in self.marks[start]:
                if kind is Kind.MONTH:
                    yield end, _with(known, month=int(value))
        if known.weekday is None:
            for end, kind, value in self.marks[start]:
                if kind is Kind.WEEKDAY:
                    yield end, _with(known, weekday=int(value) - 1)
        if known.day is None:
            for end, day, named in self._day_numbers(start):
                yield end, _with(known, day=day, named=named)
        if known.year is None:
            for end, year in self._years(start, known):
                yield end, _with(known, year=year)

    def _day_numbers(self, start: int) -> Iterator[tuple[int, int, bool]]:
        """The days of a month that begin at a token: 4, 4th, fourth, twenty-four, twenty-fourth; and if said as one."""
        token = self.tokens.tokens[start]
        if token.isdigit():
            if (
                len(token) <= 2
                and 1 <= int(token) <= 31
                and not _CLOCK_BEHIND.match(self.tokens.text, self.tokens.ends[start])
            ):
                beside = start + 1 < len(self.tokens.tokens) and not self.tokens.gap(start + 1).strip(".- ")
                for end, kind, _ in self.marks[start + 1] if beside else ():
                    glued = " " not in self.tokens.gap(start + 1) or len(self.tokens.tokens[start + 1]) > 1
                    if kind is Kind.ENDING and glued:
                        yield end, int(token), True
                yield start + 1, int(token), False
            return
        for end, kind, value in self.marks[start]:
            if kind is Kind.ORDINAL and 1 <= value <= 31:
                yield end, int(value), _names_a_day(self.marks, start)
            if kind is Kind.NUMBER and value in (20, 30) and end < len(self.marks):
                for behind, following, unit in self.marks[end]:
                    if following is Kind.ORDINAL and unit < 10 and value + unit <= 31:
                        yield behind, int(value + unit), _names_a_day(self.marks, start)
        number = number_at(self.tokens, self.marks, start, self.words, True)
        if number is not None and number[2] == int(number[2]) and 1 <= number[2] <= 31:
            yield number[0], int(number[2]), False
        for end, kind, value in self.marks[start]:
            if kind is Kind.NUMBER and 1 <= value <= 31 and value == int(value):
                yield end, int(value), False

    def _years(self, start: int, known: _Parts) -> Iterator[tuple[int, int]]:
        token = self.tokens.tokens[start]
        if token.isdigit():
            if (len(token) == 4 and _FIRST_YEAR <= int(token) <= _LAST_YEAR) or (
                len(token) == 2
                and known.day is not None
                and known.month is not None
                and not _CLOCK_BEHIND.match(self.tokens.text, self.tokens.ends[start])
            ):
                yield start + 1, int(token)
            return
        number = number_at(self.tokens, self.marks, start, self.words, True)
        if number is None:
            return
        end, _, value = number
        if _FIRST_YEAR <= value <= _LAST_YEAR and value == int(value):
            yield end, int(value)
        elif value in (19, 20) and end < len(self.tokens.tokens):
            rest = number_at(self.tokens, self.marks, end, self.words, True)
            if rest is not None and 10 <= rest[2] < 100:  # nineteen eighty-six
                yield rest[0], int(value * 100 + rest[2])

    def _day_of(self, parts: _Parts) -> Day | None:
        """The day that parts make together; None where a weekday is not that day's."""
        weekday = parts.weekday
        if parts.month is not None and parts.day is not None:
            year = None if parts.year is None else str(parts.year)
            found = self._dated(parts.day, parts.month, year)
            if found is None or weekday not in (None, found.weekday()):
                return None
            return Day(found) if weekday is not None else self._in_century(found, year)
        if parts.month is not None or parts.year is not None:
            return None
        if parts.day is None:
            return None if weekday is None else _alone(weekday, self.today, self.past)
        return self._in_month(parts.day, weekday) if parts.named or weekday is not None else None

    def _in_month(self, number: int, weekday: int | None) -> Day | None:
        """The next day of that number in a month, or the last; None where it is not that weekday."""
        first = self.today.replace(day=1)
        step = -1 if self.past else 1
        for months in range(13):
            month = months_later(first, step * months)
            found = _exact(month.year, month.month, number)
            if found is not None and step * (found - self.today).days >= 0:
                return Day(found) if weekday in (None, found.weekday()) else None
        return None

    # days of figures alone: 12/5/2030, 2030-05-12

    def _in_figures(self, start: int, before: int | None = None) -> Iterator[tuple[int, Day]]:
        """The days that figures say. ``before`` is the weekday before them."""
        if not self.tokens.tokens[start].isdigit():
            return
        text, place = self.tokens.text, self.tokens.starts[start]
        if place and text[place - 1] in "0123456789.,:/":
            return
        for pattern in (_YEAR_FIRST, _TOGETHER, _CHARACTERS, _SPACED, _FIGURES):
            found = pattern.match(text, place)
            if found is None:
                continue
            end = self.tokens.at(found.end())
            weekday, behind = _weekday_at(self.marks, end) if before is None else (before, end)
            day = self._of_figures(pattern, found, weekday)
            if day is not None:
                yield behind, day
                if (
                    weekday is not None
                    and behind != end
                    and (alone := self._of_figures(pattern, found, None)) is not None
                ):
                    yield end, alone
            if pattern is _FIGURES and found[2] == "." and found[4] and " " in text[found.end(3) : found.start(4)]:
                shorter = _day(self._dated(int(found[1]), int(found[3]), None), before)
                if shorter is not None:
                    yield self.tokens.at(found.start(4)), shorter  # 5.6. 10 Uhr
            if day is not None:
                return

    def _of_figures(self, pattern: re.Pattern[str], found: re.Match[str], weekday: int | None) -> Day | None:
        if pattern is _YEAR_FIRST:
            return _day(_exact(int(found[1]), int(found[3]), int(found[4])), weekday)
        if pattern is _TOGETHER:
            return _day(_exact(int(found[1]), int(found[2]), int(found[3])), weekday)
        if pattern is _CHARACTERS:
            return _day(self._dated(int(found[3]), int(found[2]), found[1]), weekday)
        first, second = int(found[1]), int(found[2] if pattern is _SPACED else found[3])
        year = found[3] if pattern is _SPACED else found[4]
        day_first, month_first = self._dated(first, second, year), self._dated(second, first, year)
        dots = pattern is _FIGURES and found[2] == "."
        dashed = pattern is _FIGURES and found[2] == "-" and not self.words.dashed_days
        if dashed and year is None and weekday is None:
            return None  # 5-6 may be two days
        if weekday is not None:
            fitting = {day for day in (day_first, month_first) if day is not None and day.weekday() == weekday}
            return Day(fitting.pop()) if len(fitting) == 1 else None
        wanted, other = (month_first, day_first) if self.words.month_first and not dots else (day_first, month_first)
        if wanted is None or other is None or wanted == other:
            only = wanted or (None if dots else other)
            return None if only is None else self._in_century(only, year)
        return Day(wanted, other) if self.words.order_unsure and not dots else self._in_century(wanted, year)

    def _in_century(self, day: date, year: str | int | None) -> Day:
        """A day whose year was written with two figures may be of the last century: 12 May 99."""
        short = year is not None and len(str(year)) == 2
        far = short and not self.past and day.year > self.today.year + _NEAR_YEARS
        return Day(day, _exact(day.year - 100, day.month, day.day) if far else None)

    def _dated(self, day: int, month: int, year: str | None) -> date | None:
        if not (1 <= month <= 12 and 1 <= day <= 31):
            return None
        if year is None:
            return _nearest(month, day, self.today, self.past)
        return _exact(int(year) if len(year) == 4 else _century(int(year), self.today, self.past), month, day)


def _names_a_day(marks: Sequence[Sequence[Mark]], start: int) -> bool:
    """True for "the first", but not for "I need to ask my wife first"."""
    before = range(max(start - _LONGEST_BETWEEN, 0), start)
    return any(kind is Kind.BETWEEN and end == start for at in before for end, kind, _ in marks[at])


def _weekday_at(marks: Sequence[Sequence[Mark]], start: int) -> tuple[int | None, int]:
    """The weekday that begins at a token, right behind a day of figures, and the index of the token behind it."""
    for end, kind, value in marks[start] if start < len(marks) else ():
        if kind is Kind.WEEKDAY:
            return int(value) - 1, end
    return None, start


def _longest_first(days: Iterable[tuple[int, Day]]) -> list[tuple[int, Day]]:
    """The days by where they end; of two that end at one place the first."""
    found: dict[int, Day] = {}
    for end, day in days:
        found.setdefault(end, day)
    return sorted(found.items(), key=lambda item: -item[0])


def _with(parts: _Parts, **more: int | bool) -> _Parts:
    known = {name: getattr(parts, name) for name in ("day", "month", "year", "weekday", "named")}
    return _Parts(**known | more)


def _weekday(name: str, weekday: int, today: date, week_begins: int) -> Day | None:
    """The weekday that a pattern means, seen from today."""
    ahead, behind = (weekday - today.weekday()) % 7, (today.weekday() - weekday) % 7 or 7
    monday = today - timedelta(days=today.weekday())
    other = -7 if weekday + 1 >= week_begins > 1 else 0  # a week may begin before Monday
    days: dict[str, Day | None] = {
        "coming weekday": Day(today + timedelta(days=ahead or 7), None if ahead else today),
        "next weekday": _either(today, ahead or 7, 7 if 0 < ahead < 7 - today.weekday() else 0),
        "past weekday": Day(today - timedelta(days=behind)),
        "last weekday": _either(today, -behind, -7 if behind <= today.weekday() else 0),
        "weekday next week": _either(monday, weekday + 7, other),
        "weekday this week": _either(monday, weekday, other),
        "weekday last week": _either(monday, weekday - 7, other),
    }
    return days.get(name)


def _alone(weekday: int, today: date, past: bool) -> Day:
    """The next weekday of that name, or the last. On a Monday, Monday may be today."""
    ahead = (weekday - today.weekday()) % 7
    day = today + timedelta(days=ahead - 7 if past else ahead or 7)
    return Day(day, None if ahead else today)


def _century(year: int, today: date, past: bool) -> int:
    """The year that two figures mean."""
    found = 2000 + year
    return found - 100 if past and found > today.year else found


def _nearest(month: int, day: int, today: date, past: bool) -> date | None:
    """The next such day, or the last: a 29 February may be eight years away."""
    step = -1 if past else 1
    candidates = (_exact(today.year + step * years, month, day) for years in range(9))
    return next((found for found in candidates if found and step * (found - today).days >= 0), None)


def _either(today: date, days: int, more: int) -> Day:
    """The day so many days away, or as many more."""
    day = today + timedelta(days=days)
    return Day(day, day + timedelta(days=more) if more else None)


def _day(found: date | None, weekday: int | None) -> Day | None:
    return None if found is None or weekday not in (None, found.weekday()) else Day(found)


def _moved(day: date, count: int, unit: str) -> date | None:
    try:
        if unit in ("day", "week"):
            return day + timedelta(days=count * (7 if unit == "week" else 1))
        return months_later(day, count * (12 if unit == "year" else 1))
    except (OverflowError, ValueError):
        return None  # beyond the calendar


@lru_cache(maxsize=512)
def _exact(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
