"""Times that come again and again: ``mon-fri at 9:00``, or the five fields of cron."""

import re
from datetime import UTC, datetime, timedelta

from bot.lang.wall_clock import days_in, minutes_in, on_the_clock, zone_of

_FIELD = re.compile(r"(?:[0-9*,/#l-]|[a-z]{3})+")  # none of croniter's random or hashed fields
_LONGEST = 100  # characters
_AN_HOUR = timedelta(hours=1)
_LEAP_YEAR = datetime(2028, 1, 1)


def read_every(text: str) -> str | None:
    """Five fields of cron for ``day at 9:00``, ``mon-fri at 9:00`` or ``0 9 1 * *``; None for what never comes."""
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
    again: list[datetime] = []  # what the clocks have shown, and show once more
    while True:
        found: datetime = times.get_next(datetime)
        at = on_the_clock(found.date(), found.hour * 60 + found.minute, zone)
        if at > after:
            return min([at, *again])
        second = found.replace(tzinfo=zone, fold=1).astimezone(UTC)
        if second > after and not again and any(croniter.match(every, found + by) for by in (-_AN_HOUR, _AN_HOUR)):
            again.append(second)


def _are_changed(moment: datetime) -> bool:
    """Whether the clocks are set back or forward within the hour, or have just been."""
    before, in_an_hour = ((moment.astimezone(UTC) + by).astimezone(zone_of(moment)) for by in (-_AN_HOUR, _AN_HOUR))
    return before.utcoffset() != in_an_hour.utcoffset()


def _at_a_time(text: str) -> str | None:
    """``mon-fri at 9:00`` as fields of cron, where Sunday is 0."""
    days, _, clock = text.partition(" at ")
    named, minutes = frozenset(range(7)) if days == "day" else days_in(days), minutes_in(clock)
    if named is None or minutes is None or minutes == 24 * 60:
        return None
    hour, minute = divmod(minutes, 60)
    return f"{minute} {hour} * * {'*' if len(named) == 7 else ','.join(str((day + 1) % 7) for day in sorted(named))}"
