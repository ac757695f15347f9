"""Points in time that a step names: a date-time, a day or a duration, worked out or written as ``2030-12-24 18:00``."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from bot.expressions.template_failures import kind_of
from bot.expressions.templates import Template
from bot.keys.fields import Fields
from bot.lang.wall_clock import A_DAY, later, on_the_clock, read_iso, zone_of
from bot.steps.kind import StepFailed

CLOCK = frozenset({"now", "today"})
"""The names of what only time changes."""

TO_WRITE = 'write one like "2030-12-24 18:00", or "{{ }}" around what gives one'


def read_point(fields: Fields, key: str, *, days: bool = True) -> Template | None:
    """Read a point in time, which may be a template. ``days`` says whether a day without a time is one."""
    text = fields.template(key)
    if text is not None and text.constant:
        found = read_iso(text.source)
        if found is None or not (days or isinstance(found, datetime)):
            what = f'{fields.what}: {key}: "{text.source}" is not a date with a time'
            fields.problems.add("E106", fields.mark_of(key), what, TO_WRITE)
            return None
    return text


def point_of(text: Template, scope: Mapping[str, Any], now: datetime) -> datetime:
    """The date-time of a text, in UTC; one without a zone is in the bot's, which is ``now``'s.

    Raises `StepFailed` for everything else, also for a day, and `bot.expressions.templates.TemplateFailed`.
    """
    return _worked_out(text, scope, now)


def start_of(text: Template, scope: Mapping[str, Any], now: datetime) -> datetime:
    """The same, where a day is its beginning and a duration counts from now."""
    return _worked_out(text, scope, now, minutes=0, durations=True)


def duration_of(text: Template, scope: Mapping[str, Any]) -> timedelta | None:
    """The duration of a text; None where it is something else."""
    value = _value_of(text, scope)
    return value if isinstance(value, timedelta) else None


def end_of(text: Template, scope: Mapping[str, Any], now: datetime) -> datetime:
    """The same as `point_of`, where a day is its end."""
    return _worked_out(text, scope, now, minutes=A_DAY)


def in_time(now: datetime, duration: timedelta) -> datetime:
    """So much later, in UTC: whole days by the calendar of now's zone, so that 9:00 stays 9:00, the rest by the clock.

    Raises `OverflowError`.
    """
    return later(now, duration, zone_of(now)).astimezone(UTC)


def no_later(at: datetime, now: datetime, lasts: timedelta) -> datetime:
    """The end of a wait that ``lasts`` so long: where more is left of it, the clock was set back, and it begins now."""
    return at if at - now <= lasts else min(at, in_time(now, lasts))


def _worked_out(
    text: Template, scope: Mapping[str, Any], now: datetime, *, minutes: int | None = None, durations: bool = False
) -> datetime:
    """``minutes``: what a day stands for, counted from its midnight; None where it stands for nothing."""
    zone, value = zone_of(now), _value_of(text, scope)
    try:
        match value:
            case datetime():
                return (value if value.tzinfo is not None else value.replace(tzinfo=zone)).astimezone(UTC)
            case date() if minutes is not None:
                return on_the_clock(value, minutes, zone)
            case timedelta() if durations:
                return in_time(now, value)
    except OverflowError:
        raise StepFailed("mismatch", f"{text.mark}: a time that is too far away") from None
    raise StepFailed("mismatch", f"{text.mark}: {kind_of(value)} is not a date with a time")


def _value_of(text: Template, scope: Mapping[str, Any]) -> Any:
    """What a text gives; one that is written like a date or a date-time as that."""
    value = text.value(scope)
    parsed = read_iso(value) if isinstance(value, str) else None
    return value if parsed is None else parsed
