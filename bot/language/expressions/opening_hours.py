"""Opening hours: when an office is open, in its time zone and with its holidays; and their template functions."""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from jinja2 import pass_context
from jinja2.runtime import Context

from bot.core.immutable import immutable
from bot.language.expressions.template_failures import TemplateFailed, kind_of
from bot.language.source.problems import did_you_mean
from bot.language.source.wall_clock import on_the_clock

_AHEAD = 400  # days that are looked through for the next opening

Span = tuple[int, int]
"""From when to when, in minutes past the day's midnight. A span that goes past midnight ends beyond 24 * 60."""


@immutable
class Hours:
    """Opening hours. ``week`` has the spans of Monday to Sunday, each day's in order; ``days`` those of holidays."""

    name: str
    week: tuple[tuple[Span, ...], ...]
    days: Mapping[date, tuple[Span, ...]]
    zone: ZoneInfo

    def opens(self, moment: datetime) -> datetime | None:
        """When it opens next, in UTC: the given time if it is open then; None if it never opens again."""
        first = moment.astimezone(self.zone).date() - timedelta(days=1)  # a night may have begun on the day before
        for ahead in range(_AHEAD):
            day = first + timedelta(days=ahead)
            for start, end in self.days.get(day, self.week[day.weekday()]):
                if on_the_clock(day, end, self.zone) > moment:
                    return max(on_the_clock(day, start, self.zone), moment.astimezone(UTC))
        return None

    def closes(self, moment: datetime) -> datetime | None:
        """When it closes that is open at a moment, in UTC; None if it is closed then."""
        today = moment.astimezone(self.zone).date()
        for day in (today - timedelta(days=1), today):
            for start, end in self.days.get(day, self.week[day.weekday()]):
                if on_the_clock(day, start, self.zone) <= moment < (closes := on_the_clock(day, end, self.zone)):
                    return closes
        return None

    def is_open(self, moment: datetime) -> bool:
        """True if it is open at a moment."""
        return self.opens(moment) == moment

    def is_open_on(self, day: date) -> bool:
        """True if it opens on a day."""
        return bool(self.days.get(day, self.week[day.weekday()]))


@pass_context
def _open(context: Context, name: Any, at: Any = None) -> bool:
    """``open("office")``: whether it is open now; ``open("office", slot)``: at that time, or on that day."""
    hours = _named(context, name)
    moment = context.parent["now"] if at is None else at
    if not isinstance(moment, date):
        raise TemplateFailed(f"open() takes a day, with or without a time, not {kind_of(moment)}")
    if not isinstance(moment, datetime):
        return hours.is_open_on(moment)
    zoned = moment if moment.tzinfo is not None else moment.replace(tzinfo=context.parent["now"].tzinfo)
    return hours.is_open(zoned)


@pass_context
def _opens(context: Context, name: Any) -> datetime | None:
    """``opens("office")``: when it opens next; now if it is open; null if it never opens again."""
    now: datetime = context.parent["now"]
    found = _named(context, name).opens(now)
    return None if found is None else found.astimezone(now.tzinfo)


def _named(context: Context, name: Any) -> Hours:
    known: Mapping[str, Hours] = context.parent.get(HOURS, {})
    if not isinstance(name, str) or name not in known:
        raise TemplateFailed(f"no opening hours of this name: {no_hours(str(name), known)[1]}")
    return known[name]


def no_hours(name: str, known: Mapping[str, Hours]) -> tuple[str, str]:
    """The problem of an unknown name of opening hours, and its fix."""
    written = f"there are {', '.join(known)}" if known else "add them to bot.yml under hours"
    return f'no opening hours "{name}"', did_you_mean(name, known, written)


HOURS_FUNCTIONS: dict[str, Callable[..., Any]] = {"open": _open, "opens": _opens}


HOURS = " hours"  # the bot's opening hours, by name
