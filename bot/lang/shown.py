"""How a value reads as text."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, time, timedelta
from decimal import Decimal
from typing import Any, NoReturn

from bot.core.values import Location, Media, Record
from bot.lang import durations
from bot.lang.failures import TemplateFailed

MAX_TEXT = 64 * 1024  # characters of one rendered text, and of every text on the way there
_SEVERAL = frozenset({list, tuple, dict, Record})


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
        case list() | tuple() | dict() | Record():
            return "".join(_pieces(value))
        case Media(url=url):
            return url
        case Location(latitude=latitude, longitude=longitude):
            return f"{latitude}, {longitude}"
    return str(value)


def written(value: Any) -> str:
    """The same within a template. Raises `TemplateFailed` for what has more than `MAX_TEXT` characters."""
    kind = type(value)
    if kind is str or kind is int:
        return str(value)
    return bounded(_pieces(value)) if kind in _SEVERAL else shown(value)


def bounded(pieces: Iterable[str]) -> str:
    """A text of its pieces. Raises `TemplateFailed` as soon as they have more than `MAX_TEXT` characters."""
    texts, size = [], 0
    for piece in pieces:
        size += len(piece)
        if size > MAX_TEXT:
            too_long()
        texts.append(piece)
    return "".join(texts)


def too_long() -> NoReturn:
    """Raise `TemplateFailed`."""
    raise TemplateFailed(f"a text longer than {MAX_TEXT} characters")


def _pieces(several: Sequence[Any] | Mapping[str, Any]) -> Iterator[str]:
    """The text of a list or a record, piece by piece: what holds a list many times is too long before it is whole."""
    comma = ""
    for name in several:
        item, named = (several[name], f"{comma}{name}: ") if isinstance(several, Mapping) else (name, comma)
        if type(item) in _SEVERAL:
            yield named
            yield from _pieces(item)
        else:
            yield named + shown(item)
        comma = ", "


def _shortest(number: float | Decimal) -> str:
    exact = number if isinstance(number, Decimal) else Decimal(repr(number))
    if not exact.is_finite() or abs(exact.adjusted()) > 30:
        return str(number)
    text = f"{exact:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
