"""Bars of charts, which ``templates/charts.html`` draws: counts on top of each other, beside those of other bars."""

from collections.abc import Iterable, Mapping, Sequence

from bot.core.immutable import immutable


@immutable
class BarPart:
    """A piece of a bar: what it counts, and in parts of 100 where it begins and how long it is."""

    what: str
    count: int
    start: float
    length: float


def bar(counts: Mapping[str, int], parts: Sequence[str], most: int, whole: str = "") -> list[BarPart]:
    """The bar of some counts beside others, of which the longest counts ``most``: ``parts`` behind each other, over ``whole``.

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
    """What the longest of some bars counts. Its parts can be more than its whole, where that began on an earlier day."""
    return max((max(each.get(whole, 0), sum(each.get(part, 0) for part in parts)) for each in counts), default=0)
