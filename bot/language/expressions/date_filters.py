"""Filters and functions that calculate with days and times, in the bot's time zone."""

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from jinja2 import pass_context
from jinja2.runtime import Context

from bot.language.expressions.formats import is_number, is_whole, local
from bot.language.expressions.template_failures import TemplateFailed, kind_of
from bot.language.source.wall_clock import WEEKDAYS, at_time, in_zone, months_later, read_clock, read_iso


def _day(context: Context, value: Any) -> date:
    """The day of a date, or of a time in the bot's zone."""
    if not isinstance(value, date):
        raise TemplateFailed(f"{kind_of(value)} is no date")
    here = local(context, value)
    return here.date() if isinstance(here, datetime) else here


@pass_context
def _weekday(context: Context, value: Any) -> str:
    """``{{ today | weekday }}``: monday, in every language of the contact's."""
    return WEEKDAYS[_day(context, value).weekday()]


@pass_context
def _days_until(context: Context, value: Any) -> int:
    """``{{ eta | days_until }}``: how many days from today; 0 is today, -1 was yesterday."""
    return int((_day(context, value) - context.parent["today"]).days)


@pass_context
def _age(context: Context, value: Any) -> int:
    """``{{ born | age }}``: the whole years from a day until today."""
    born, today = _day(context, value), context.parent["today"]
    return int(today.year - born.year - ((today.month, today.day) < (born.month, born.day)))


@pass_context
def _at(context: Context, value: Any, clock: Any) -> datetime:
    """``{{ eta | at("15:00") }}``: that time of that day, in the bot's time zone."""
    found = read_clock(clock) if isinstance(clock, str) else clock
    if not isinstance(found, time):
        raise TemplateFailed(f'at() takes a time of day like "15:00", not {kind_of(clock)}')
    return at_time(_day(context, value), found, context.parent["now"].tzinfo)


@pass_context
def _start_of(context: Context, value: Any, unit: str) -> date:
    """``{{ today | start_of("week") }}``: the first day (Monday) of its week, its month or its year."""
    day = _day(context, value)
    match unit:
        case "week":
            return day - timedelta(days=day.weekday())
        case "month":
            return day.replace(day=1)
        case "year":
            return day.replace(month=1, day=1)
    raise TemplateFailed('start_of() takes "week", "month" or "year"')


def _add_months(value: Any, count: Any) -> Any:
    """``{{ eta | add_months(1) }}``: the same day of a later month, or that month's last."""
    if not isinstance(value, date):
        raise TemplateFailed(f"{kind_of(value)} is no date")
    if not is_whole(count):
        raise TemplateFailed(f"add_months() takes a whole number, not {kind_of(count)}")
    return months_later(value, count)


@pass_context
def _as_date(context: Context, value: Any) -> date:
    """``{{ answer.eta | as_date }}``: the day that a text from elsewhere is, like 2030-05-12.

    A time with an offset is first converted to the bot's time zone.
    """
    return _day(context, value if isinstance(value, date) else _read(value))


@pass_context
def _as_datetime(context: Context, value: Any) -> datetime:
    """``{{ answer.starts | as_datetime }}``: the time that a text from elsewhere is, like 2030-05-12T15:00+02:00.

    Without its offset it is in the bot's time zone.
    """
    read = value if isinstance(value, datetime) else _read(value)
    found = read if isinstance(read, datetime) else datetime.combine(read, time())
    return in_zone(found, context.parent["now"].tzinfo)


@pass_context
def _utc(context: Context, value: Any) -> str:
    """``{{ starts | utc }}``: 2030-05-06T09:00:00Z, as services want a time."""
    if not isinstance(value, datetime):
        raise TemplateFailed(f"{kind_of(value)} is no time")
    return f"{local(context, value).astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _read(value: Any) -> date:
    found = read_iso(value) if isinstance(value, str) else None
    if found is None:
        raise TemplateFailed(f"{kind_of(value)} is no date, or not written like 2030-05-12")
    return found


def _duration(unit: str) -> Callable[[Any], timedelta]:
    """``hours(24)``, to be added to a time or taken from it."""

    def of(count: Any) -> timedelta:
        if not is_number(count):
            raise TemplateFailed(f"{unit}() takes a number, not {kind_of(count)}")
        return timedelta(**{unit: float(count)})

    return of


DATE_FILTERS: dict[str, Callable[..., Any]] = {
    "add_months": _add_months,
    "age": _age,
    "as_date": _as_date,
    "as_datetime": _as_datetime,
    "at": _at,
    "days_until": _days_until,
    "start_of": _start_of,
    "utc": _utc,
    "weekday": _weekday,
}
DATE_FUNCTIONS: dict[str, Callable[..., Any]] = {
    unit: _duration(unit) for unit in ("minutes", "hours", "days", "weeks")
}
