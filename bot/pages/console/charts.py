"""Bars of charts, which ``templates/charts.html`` draws: counts on top of each other, beside those of other bars."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta

from flask import request

from bot.core.immutable import immutable

SPANS = 7, 30, 90, 365
"""The numbers of days that a chart can be chosen for."""


def chosen_days(now: datetime) -> list[date]:
    """The days (UTC) that the request asks for, up to today."""
    days = request.args.get("days", 30, int)
    return [now.astimezone(UTC).date() - timedelta(days=ago) for ago in reversed(range(days if days in SPANS else 30))]


@immutable
class BarPart:
    """A piece of a bar: what it counts, and in parts of 100 where it begins and how long it is."""

    what: str
    count: int
    start: float
    length: float


@immutable
class DayBar:
    """The bar of a day, and all that it counts."""

    day: date
    counts: Mapping[str, int]
    bar: Sequence[BarPart]


def bars_by_day(
    counts: Mapping[str, Mapping[str, int]], days: Sequence[date], parts: Sequence[str], whole: str = ""
) -> list[DayBar]:
    """A bar for each of the days, also those of which nothing is counted. ``counts`` are by the ISO form of the day."""
    found = [counts.get(day.isoformat(), {}) for day in days]
    most = longest(found, parts, whole)
    return [DayBar(day, each, bar(each, parts, most, whole)) for day, each in zip(days, found, strict=True)]


def bar(counts: Mapping[str, int], parts: Sequence[str], most: int, whole: str = "") -> list[BarPart]:
    """The bar of some counts beside others, of which the longest counts ``most``: ``parts`` behind each other, over
    ``whole``.

    >>> bar({"entered": 4, "answered": 2}, ["answered", "left"], 8, "entered")
    [BarPart(what='entered', count=4, start=0, length=50.0), BarPart(what='answered', count=2, start=0, length=25.0)]
    """
    start: float = 0
    found = []
    for what in (whole, *parts):
        if count := counts.get(what, 0):
            found.append(BarPart(what, count, start, 100 * count / most))
            start += 0 if what == whole else found[-1].length
    return found


def longest(counts: Iterable[Mapping[str, int]], parts: Sequence[str], whole: str = "") -> int:
    """The count of the longest bar. Its parts can be more than its whole if that began on an earlier day."""
    return max((max(each.get(whole, 0), sum(each.get(part, 0) for part in parts)) for each in counts), default=0)
