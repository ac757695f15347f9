"""What templates may use: the filters, the functions, the tests, and how a value reads as text."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from jinja2 import Undefined, pass_context
from jinja2.runtime import Context

from bot.core.values import Location, Media
from bot.lang import draws, durations
from bot.lang.failures import TemplateFailed, kind_of

MAX_TEXT = 64 * 1024  # characters of one rendered text, and of every text on the way there
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


def shown(value: Any) -> str:
    """A value as a contact reads it: null is nothing, numbers are at their shortest, lists have commas."""
    match value:
        case str():
            return str(value)
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float() | Decimal():
            return _shortest(value)
        case datetime():
            return f"{value:%Y-%m-%d %H:%M}"
        case time():
            return f"{value:%H:%M}"
        case timedelta():
            return durations.words(value)
        case list() | tuple():
            return ", ".join(shown(item) for item in value)
        case Mapping():
            return ", ".join(f"{key}: {shown(item)}" for key, item in value.items())
        case Media(url=url):
            return url
        case Location(latitude=latitude, longitude=longitude):
            return f"{latitude}, {longitude}"
    return str(value)


def _shortest(number: float | Decimal) -> str:
    exact = number if isinstance(number, Decimal) else Decimal(repr(number))
    if not exact.is_finite() or abs(exact.adjusted()) > 30:
        return str(number)
    text = f"{exact:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


@pass_context
def _date(context: Context, value: Any) -> str:
    """``{{ day | date }}``: 12 May 2030, in the bot's time zone."""
    if not isinstance(value, date):
        raise TemplateFailed(f"{kind_of(value)} is no date")
    local = _local(context, value)
    return f"{local.day} {MONTHS[local.month - 1]} {local.year}"


@pass_context
def _time(context: Context, value: Any) -> str:
    """``{{ starts | time }}``: 09:00, in the bot's time zone."""
    if not isinstance(value, datetime | time):
        raise TemplateFailed(f"{kind_of(value)} has no time of day")
    return f"{_local(context, value):%H:%M}"


def _local(context: Context, value: Any) -> Any:
    """A time with a zone as the bot's clock shows it; anything else is that already."""
    now = context.parent.get("now")
    if isinstance(value, datetime) and value.tzinfo is not None and isinstance(now, datetime):
        return value.astimezone(now.tzinfo)
    return value


def _default(value: Any, instead: Any = "") -> Any:
    """``{{ name | default('there') }}``: instead of null, of an empty text and of what is not there."""
    return instead if value is None or isinstance(value, Undefined) or value == "" else value


def _length(value: Any) -> int:
    """``{{ items | length }}``: how many there are, or how many characters; null has none."""
    return len(_several(value))


def _first(value: Any) -> Any:
    """``{{ items | first }}``: null where there is none."""
    return next(iter(_several(value)), None)


def _last(value: Any) -> Any:
    """``{{ items | last }}``: null where there is none."""
    items = _several(value)
    return items[-1] if items else None


def _join(value: Any, separator: str = ", ") -> str:
    """``{{ names | join(' and ') }}``: a list as one text."""
    parts = [shown(item) for item in _several(value)]
    if sum(map(len, parts)) + len(separator) * len(parts) > MAX_TEXT:
        raise TemplateFailed(f"a text longer than {MAX_TEXT} characters")
    return separator.join(parts)


def _several(value: Any) -> Sequence[Any]:
    if value is None:
        return ()
    if isinstance(value, list | tuple | str):
        return value
    raise TemplateFailed(f"{kind_of(value)} is no list")


def _round(value: Any, places: int = 0) -> Decimal:
    """``{{ total | round(2) }}``: half away from zero, at most 12 places."""
    if not isinstance(value, int | float | Decimal) or not isinstance(places, int):
        raise TemplateFailed(f"{kind_of(value)} cannot be rounded")
    return Decimal(str(value)).quantize(Decimal(1).scaleb(-max(0, min(places, 12))), ROUND_HALF_UP)


def _truncate(value: Any, most: int = 100) -> str:
    """``{{ note | truncate(20) }}``: at most so many characters, the last of them an ellipsis."""
    text = shown(value)
    return text if len(text) <= most else text[: max(0, most - 1)].rstrip() + "…"


def _absolute(value: Any) -> Any:
    """``{{ change | abs }}``: a number without its sign."""
    return abs(value)


def _on_text(change: Callable[[str], str]) -> Callable[[Any], str]:
    return lambda value: change(shown(value))


FILTERS: dict[str, Callable[..., Any]] = {
    **draws.FILTERS,
    "abs": _absolute,
    "capitalize": _on_text(str.capitalize),
    "date": _date,
    "default": _default,
    "first": _first,
    "join": _join,
    "last": _last,
    "length": _length,
    "lower": _on_text(str.lower),
    "round": _round,
    "time": _time,
    "title": _on_text(str.title),
    "trim": _on_text(str.strip),
    "truncate": _truncate,
    "upper": _on_text(str.upper),
}


def _duration(unit: str) -> Callable[[Any], timedelta]:
    """``hours(24)``, to be added to a time or taken from it."""

    def of(count: Any) -> timedelta:
        if isinstance(count, bool) or not isinstance(count, int | float | Decimal):
            raise TemplateFailed(f"{unit}() takes a number, not {kind_of(count)}")
        return timedelta(**{unit: float(count)})

    return of


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **draws.FUNCTIONS,
    **{unit: _duration(unit) for unit in ("minutes", "hours", "days", "weeks")},
}
TESTS = ("defined", "undefined", "none")
