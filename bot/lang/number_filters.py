"""Filters for numbers. How a language writes them: `bot.lang.formats`."""

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

from bot.lang.failures import TemplateFailed, kind_of

MOST_DIGITS = 400  # of a decimal: more than any float has. "1e999999999" is short, and fills the memory written out
MOST_PLACES = 12  # of a number that is rounded
_LONGEST = 40  # characters


def exact(value: Any) -> Any:
    """A number with a point as a decimal, so that 0.1 is 0.1; anything else is that already."""
    return Decimal(repr(value)) if type(value) is float else value


def is_number(value: Any) -> bool:
    """Whether a value is a number, which true and false are not."""
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number by its type."""
    return isinstance(value, int) and not isinstance(value, bool)


def _absolute(value: Any) -> Any:
    """``{{ change | abs }}``: a number without its sign."""
    return abs(value)


def _round(value: Any, places: int = 0) -> Decimal:
    """``{{ total | round(2) }}``: half away from zero, at most 12 places."""
    if not isinstance(value, int | float | Decimal) or not isinstance(places, int):
        raise TemplateFailed(f"{kind_of(value)} cannot be rounded")
    return Decimal(str(value)).quantize(Decimal(1).scaleb(-max(0, min(places, MOST_PLACES))), ROUND_HALF_UP)


def _as_number(value: Any) -> Any:
    """``{{ answer.total | as_number }}``: the number that a text from elsewhere is, as programs write them."""
    if not isinstance(value, str):
        if not is_number(value):
            raise TemplateFailed(f"{kind_of(value)} is no number")
        return value
    try:
        number = Decimal(value.strip()) if len(value) <= _LONGEST else Decimal("nan")
    except InvalidOperation:
        raise TemplateFailed("this text is no number") from None
    if not number.is_finite() or abs(number.adjusted()) > _LONGEST:
        raise TemplateFailed("this text is no number")
    return number


FILTERS: dict[str, Callable[..., Any]] = {"abs": _absolute, "as_number": _as_number, "round": _round}
