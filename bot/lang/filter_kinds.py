"""What kinds of values filters and functions take and give, and what they make of null."""

import inspect

from bot.lang import date_filters, draws, formats, hours, list_filters, number_filters, text_filters
from bot.lang.cases import ANYTHING, LOST, Case, Cases, Kind, just, kind_of_type, some
from bot.lang.filters import FILTERS, FUNCTIONS

_DAYS = frozenset({Kind.DATE, Kind.DATETIME})
_NUMBERS = frozenset({Kind.NUMBER})
_LISTS = frozenset({Kind.LIST})
_RECORDS = frozenset({Kind.RECORD})
_TAKES: dict[str, frozenset[Kind]] = {  # a filter that does not stand here shows its value, and so takes any
    **dict.fromkeys(list_filters.FILTERS, _LISTS),
    **dict.fromkeys(draws.FILTERS, _LISTS),
    **dict.fromkeys(date_filters.FILTERS, _DAYS),
    **dict.fromkeys(("keys", "merge", "values"), _RECORDS),
    **dict.fromkeys(("first", "last"), _LISTS | {Kind.TEXT}),
    "length": _LISTS | _RECORDS | {Kind.TEXT},
    **dict.fromkeys(("as_date", "as_datetime"), _DAYS | {Kind.TEXT}),
    "date": _DAYS,
    "time": frozenset({Kind.DATETIME, Kind.TIME}),
    **dict.fromkeys(("currency", "number"), _NUMBERS),
    "abs": _NUMBERS | {Kind.BOOLEAN, Kind.DURATION},
    "round": _NUMBERS | {Kind.BOOLEAN},
    "as_number": _NUMBERS | {Kind.TEXT},
}
_FAILING = frozenset({*date_filters.FILTERS, *number_filters.FILTERS, *formats.FILTERS})  # with null
_NOTHING = frozenset({"find", "first", "last", "max", "min", "pick"})  # of an empty list, which null is
_SPARED: dict[str, range] = {  # which arguments may be null, counted from the first in the brackets
    **dict.fromkeys(("append", "default", "map", "max", "merge", "min", "number", "sort", "split", "sum", "unique",
                     "without"), range(1)),
    **dict.fromkeys(("find", "reject", "where"), range(1, 2)),
    **dict.fromkeys(hours.FUNCTIONS, range(1, 2)),
}  # fmt: skip
_ALL = frozenset(Kind)
_RETURNS = {name: kind_of_type(inspect.signature(function).return_annotation)
            for functions in (FILTERS, FUNCTIONS) for name, function in functions.items()}  # fmt: skip


def takes(name: str) -> frozenset[Kind]:
    """The kinds of values that a filter works with, null aside; of all others it fails."""
    return _TAKES.get(name, _ALL)


def takes_null(name: str, argument: int) -> bool:
    """Whether an argument of a filter or a function may be null, counted from the first in its brackets."""
    return argument in _SPARED.get(name, ())


def of_null(name: str) -> Cases:
    """What a filter makes of null; no case where it fails. A text that is empty because of it is `lost`."""
    if name in _FAILING:
        return frozenset()
    if name in text_filters.FILTERS:
        return some(Kind.LIST) if name == "split" else frozenset({Case(Kind.TEXT, "", lost=True)})
    if name in _NOTHING:
        return frozenset({LOST})
    match name:
        case "length" | "sum":
            return frozenset({just(0)})
        case "join":
            return frozenset({just("")})
    return returned(name)


def returned(name: str) -> Cases:
    """What a filter or a function gives."""
    kind = _RETURNS[name]
    return ANYTHING if kind is Kind.ANY else some(kind)
