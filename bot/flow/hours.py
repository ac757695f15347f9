"""The opening hours of ``bot.yml``."""

import re
from datetime import date
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from bot.lang.fields import Fields
from bot.lang.hours import Hours, Span
from bot.lang.keys import ANY_TEXT, EMPTY, either, list_of, map_of, one_or_several, takes
from bot.lang.nodes import List, Map, Mark, Node, Scalar, one_or_more
from bot.lang.problems import Problems
from bot.lang.scalars import name_of
from bot.lang.wall_clock import A_DAY, WEEKDAYS, days_in, minutes_in

_OWN_KEYS = ("zone", "holidays")
_DAYS_OFF = either(ANY_TEXT, list_of(ANY_TEXT), map_of(either(one_or_several(ANY_TEXT), EMPTY)))
HOURS = map_of(
    map_of(
        takes(one_or_several(ANY_TEXT), "From when to when, like 9:00-18:00; or several of such."),
        {
            "zone": takes(ANY_TEXT, "Whose clock they go by; the bot's where nothing is said."),
            "holidays": takes(
                _DAYS_OFF, "Days like 2030-12-25 on which it is shut, with their names or with other times."
            ),
        },
    )
)
_STARTS_WITH_A_TIME = re.compile(r"\s*\d")


def read_hours(fields: Fields, zone: ZoneInfo) -> dict[str, Hours]:
    """Read `hours`: days and times by name. ``zone`` is the bot's."""
    inner = fields.fields("hours")
    if inner is None:
        return {}
    names = [key.text for key, _ in inner.entries() if name_of(key, fields.problems, "hours") is not None]
    found = ((name, inner.fields(name)) for name in names)
    return {name: _read_one(name, of, zone) for name, of in found if of is not None}


def read_zone(fields: Fields, key: str, default: ZoneInfo) -> ZoneInfo:
    """Read a time zone."""
    name = fields.string(key)
    try:
        return default if name is None else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        fields.problems.add("E109", fields.mark_of(key), f'no time zone "{name}"', "write one like Asia/Jakarta or UTC")
        return default


def _read_one(name: str, fields: Fields, zone: ZoneInfo) -> Hours:
    fields.what = f'hours "{name}"'
    zone = read_zone(fields, "zone", zone)
    holidays = _read_holidays(fields)
    week: dict[int, tuple[Span, ...]] = {}
    days = [(key, node) for key, node in fields.entries() if key.text not in _OWN_KEYS]
    for key, node in days:
        _add_days(key, _spans_of(node, fields), week, fields)
    if not any(one_or_more(node) for _, node in days) and not any(holidays.values()):
        fields.problems.add("E105", fields.mark, f"{fields.what}: it never opens", 'add mon-fri: "9:00-18:00"')
    return Hours(name, tuple(week.get(day, ()) for day in range(7)), holidays, zone)


def _add_days(key: Scalar, spans: tuple[Span, ...], week: dict[int, tuple[Span, ...]], fields: Fields) -> None:
    days = days_in(key.text)
    if days is None:
        what = f'{fields.what}: "{key.text}" is no day'
        fields.problems.add(
            "E104", key.mark, what, f"write days like mon, mon-fri or sat, sun; or {', '.join(_OWN_KEYS)}"
        )
        return
    for day in sorted(days & week.keys()):
        fields.problems.add("E121", key.mark, f"{fields.what}: {WEEKDAYS[day]} stands twice", "keep one of them")
    week.update(dict.fromkeys(days, spans))


def _read_holidays(fields: Fields) -> dict[date, tuple[Span, ...]]:
    """A list of days, or a map of days and their names, or the times at which it is open then all the same."""
    match fields.raw("holidays"):
        case List(items=items):
            entries: list[tuple[Node, Node | None]] = [(item, None) for item in items]
        case Map(entries=found):
            entries = list(found)
        case None:
            return {}
        case other:
            entries = [(other, None)]
    days = ((_day_of(key, fields.problems), node) for key, node in entries)
    return {day: () if _is_name(node) else _spans_of(node, fields) for day, node in days if day is not None}


def _is_name(node: Node | None) -> bool:
    return node is None or (isinstance(node, Scalar) and not _STARTS_WITH_A_TIME.match(node.text))


def _day_of(node: Node, problems: Problems) -> date | None:
    text = node.text if isinstance(node, Scalar) else ""
    try:
        return date.fromisoformat(text)
    except ValueError:
        problems.add("E106", node.mark, f'holidays: "{text}" is no day', "write days like 2030-12-25")
        return None


def _spans_of(node: Node | None, fields: Fields) -> tuple[Span, ...]:
    """``9:00-18:00``, or a list of such."""
    spans = [_span_of(item.text if isinstance(item, Scalar) else "", item.mark, fields) for item in one_or_more(node)]
    return tuple(sorted(span for span in spans if span is not None))


def _span_of(text: str, mark: Mark, fields: Fields) -> Span | None:
    """From when to when; what ends before it begins ends on the next day."""
    opens, _, closes = text.replace("–", "-").partition("-")
    start, end = minutes_in(opens), minutes_in(closes)
    if start is None or end is None or start in (end, A_DAY):
        what = f'{fields.what}: "{text}" is not from when to when'
        fields.problems.add("E106", mark, what, 'write "9:00-18:00", "22:00-2:00", or a list of such')
        return None
    return start, end if end > start else end + A_DAY
