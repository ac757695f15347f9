"""Times as flow files and programs write them, and calculating with them by the clock and calendar of a time zone.

Weekdays and times of day (``mon-fri``, ``9:00``), durations (``2h30m``), ISO 8601, repeated times (``mon-fri at
9:00``).
"""

import calendar
import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import TypeVar

from bot.core.lazy_patterns import lazy_pattern

Day = TypeVar("Day", bound=date)

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_TIME = lazy_pattern(r"([01]?[0-9]|2[0-4]):([0-5][0-9])")
A_DAY = 24 * 60  # minutes


def days_in(text: str) -> frozenset[int] | None:
    """The weekdays that ``mon``, ``mon-fri``, ``fri-mon`` or ``mon, wed`` names, Monday being 0; None for none."""
    found: set[int] = set()
    for part in text.lower().split(","):
        first, *last = [_day(name.strip()) for name in part.split("-", 1)]
        end = last[0] if last else first
        if first is None or end is None:
            return None
        found.update((first + more) % 7 for more in range((end - first) % 7 + 1))
    return frozenset(found)


def minutes_in(text: str) -> int | None:
    """The minutes from midnight to ``9:00`` or ``24:00``; None if it is no time of day."""
    found = _TIME.fullmatch(text.strip())
    minutes = None if found is None else int(found[1]) * 60 + int(found[2])
    return minutes if minutes is not None and minutes <= A_DAY else None


def zone_of(moment: datetime) -> tzinfo:
    """The time zone of a moment that has one."""
    assert moment.tzinfo is not None
    return moment.tzinfo


def in_zone(moment: datetime, zone: tzinfo) -> datetime:
    """The same moment by the clocks of a zone; a time without an offset is one of that zone."""
    try:
        return moment.replace(tzinfo=zone) if moment.tzinfo is None else moment.astimezone(zone)
    except OverflowError:  # on the first day of all, or the last one
        return moment


def on_the_clock(day: date, minutes: int, zone: tzinfo) -> datetime:
    """The moment, in UTC, at which the clocks of a zone show so many minutes past a day's midnight.

    A time that is skipped when summer begins is as much later (2:30 is 3:30 then); of one that comes twice when it
    ends, it is the first.
    """
    shown = datetime.combine(day, time()) + timedelta(minutes=minutes)
    return shown.replace(tzinfo=zone).astimezone(UTC)


def at_time(day: date, clock: time, zone: tzinfo) -> datetime:
    """The moment of a time of day on a day, to the minute; in the zone."""
    return on_the_clock(day, clock.hour * 60 + clock.minute, zone).astimezone(zone)


def later(moment: datetime, by: timedelta, zone: tzinfo) -> datetime:
    """A moment plus a duration: whole days by the calendar of a time zone, the rest by the clock."""
    sign = 1 if by >= timedelta(0) else -1
    days, rest = divmod(abs(by), timedelta(days=1))
    day = moment.astimezone(zone) + sign * timedelta(days=days) if days else moment  # else the second 2:30 is the first
    return (day.astimezone(UTC) + sign * rest).astimezone(zone)


def months_later(day: Day, months: int) -> Day:
    """The same day, so many months later, or that month's last day. Raises `ValueError` beyond the calendar."""
    years, month = divmod(day.month - 1 + months, 12)
    year = day.year + years
    last = calendar.monthrange(year, month + 1)[1]
    return day.replace(year=year, month=month + 1, day=min(day.day, last))


def _day(name: str) -> int | None:
    return next((index for index, day in enumerate(WEEKDAYS) if name in (day, day[:3])), None)


UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
LONGEST = timedelta(days=366)
_PART = r"(\d{1,9})\s*([smhdw])"
_WHOLE = lazy_pattern(rf"\s*(?:{_PART}\s*)+", re.IGNORECASE)


def parse_duration(text: str) -> timedelta | None:
    """The duration that a text is; None for zero, for more than 366 days, and for any other text."""
    if len(text) > 100 or not _WHOLE.fullmatch(text):
        return None
    seconds = sum(int(number) * UNITS[unit.lower()] for number, unit in re.findall(_PART, text, re.IGNORECASE))
    return timedelta(seconds=seconds) if 0 < seconds <= LONGEST.total_seconds() else None


_WORDS = lazy_pattern(r"(\d)\s*(seconds?|minutes?|mins?|hours?|days?|weeks?)\b(?:\s*(?:,|and)\s*)?", re.IGNORECASE)


def spoken_duration(text: str) -> timedelta | None:
    """The duration that a person writes: ``3 hours``, ``1 day and 2 hours``, ``tomorrow``; else `parse_duration`."""
    if text.strip().lower() == "tomorrow":
        return timedelta(days=1)
    return parse_duration(_WORDS.sub(lambda found: f"{found[1]}{found[2][0]} ", text[:100]))


def duration_words(duration: timedelta, units: int = 2) -> str:
    """A duration in its largest units, so many at most: ``2h 30m``."""
    left = int(duration.total_seconds())
    parts = []
    for unit in ("d", "h", "m", "s"):
        count, left = divmod(left, UNITS[unit])
        if count:
            parts.append(f"{count}{unit}")
    return " ".join(parts[:units]) or "0s"


ISO_DAY = lazy_pattern(r"\d{4}-\d\d-\d\d")
ISO_MOMENT = lazy_pattern(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?")
_SHORT_HOUR = lazy_pattern(r"(?<=[T ])\d(?=:)")  # which people write, and ISO does not


def read_iso(text: str, form: re.Pattern[str] | None = None) -> date | None:
    """The day or the date-time that a text is; None for any other text.

    ``form`` is `ISO_DAY` or `ISO_MOMENT` where it has to be written out like that, and not in another way that ISO has.
    """
    if form is not None and form.fullmatch(text) is None:
        return None
    text = _SHORT_HOUR.sub(r"0\g<0>", text.strip())
    for read in (date.fromisoformat, datetime.fromisoformat):
        try:
            return read(text)
        except ValueError:
            continue
    return None


def read_clock(text: str) -> time | None:
    """A time of day as programs and flows write it: ``9:00``, ``15:30``, ``15:30:10``; an offset needs a day, too."""
    try:
        found = time.fromisoformat(text.zfill(5)) if ":" in text else None
    except ValueError:
        return None
    return found if found is not None and found.tzinfo is None else None


_FIELD = lazy_pattern(r"(?:[0-9*,/#l-]|[a-z]{3})+")  # none of croniter's random or hashed fields
_LONGEST = 100  # characters
_AN_HOUR = timedelta(hours=1)
_LEAP_YEAR = datetime(2028, 1, 1)


def read_every(text: str) -> str | None:
    """Five fields of cron for ``day at 9:00``, ``mon-fri at 9:00`` or ``0 9 1 * *``; None if that never comes."""
    words = text.lower().split()
    every = _at_a_time(" ".join(words)) or " ".join(words)
    fields = every.split()
    if len(text) > _LONGEST or len(fields) != 5 or not all(map(_FIELD.fullmatch, fields)):
        return None
    from croniter import CroniterError, croniter  # 90 ms, only for bots that have such a time

    try:
        croniter(every, _LEAP_YEAR).get_next(datetime)
    except (CroniterError, ValueError):
        return None
    return every


def next_after(every: str, moment: datetime) -> datetime:
    """The first such time after a moment, by the clocks of the moment's zone; in UTC.

    A time that they show twice comes once, unless it comes every hour or oftener: then it comes both times.
    """
    from croniter import croniter

    zone, after, shown = zone_of(moment), moment.astimezone(UTC), moment.replace(tzinfo=None)
    times = croniter(every, shown - _AN_HOUR if _are_changed(moment) else shown)
    again: list[datetime] = []  # hours that the clocks show twice
    while True:
        found: datetime = times.get_next(datetime)
        at = on_the_clock(found.date(), found.hour * 60 + found.minute, zone)
        if at > after:
            return min([at, *again])
        second = found.replace(tzinfo=zone, fold=1).astimezone(UTC)
        if second > after and not again and any(croniter.match(every, found + by) for by in (-_AN_HOUR, _AN_HOUR)):
            again.append(second)


def _are_changed(moment: datetime) -> bool:
    """True if the clocks are set back or forward within the hour, or have just been."""
    before, in_an_hour = ((moment.astimezone(UTC) + by).astimezone(zone_of(moment)) for by in (-_AN_HOUR, _AN_HOUR))
    return before.utcoffset() != in_an_hour.utcoffset()


def _at_a_time(text: str) -> str | None:
    """``mon-fri at 9:00`` as fields of cron, where Sunday is 0."""
    days, _, clock = text.partition(" at ")
    named, minutes = frozenset(range(7)) if days == "day" else days_in(days), minutes_in(clock)
    if named is None or minutes is None or minutes == A_DAY:
        return None
    hour, minute = divmod(minutes, 60)
    return f"{minute} {hour} * * {'*' if len(named) == 7 else ','.join(str((day + 1) % 7) for day in sorted(named))}"
