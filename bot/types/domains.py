"""What the values of a variable may be, by its declaration."""

from collections.abc import Iterable
from types import UnionType
from typing import Any, Union, get_args, get_origin

from bot.expressions.abstract_values import FALSE, TRUE, Cases, Kind, bounded, just, kind_of_type, some
from bot.types.address_types import EmailVariable, PhoneVariable
from bot.types.date_types import TimeVariable
from bot.types.number_types import NumberVariable
from bot.types.structured_types import ListVariable, MediaVariable
from bot.types.text_types import LONGEST, ChoiceVariable, TextVariable
from bot.types.variable import Variable

KINDS = {
    "text": Kind.TEXT,
    "integer": Kind.NUMBER,
    "number": Kind.NUMBER,
    "choice": Kind.TEXT,
    "boolean": Kind.BOOLEAN,
    "date": Kind.DATE,
    "time": Kind.TIME,
    "datetime": Kind.DATETIME,
    "email": Kind.TEXT,
    "phone": Kind.TEXT,
    "list": Kind.LIST,
    "object": Kind.RECORD,
    "media": Kind.FILE,
    "location": Kind.PLACE,
}
"""The kind of a variable's values, by its type."""
_FITTING = {
    "text": {Kind.TEXT, Kind.NUMBER, Kind.DATE, Kind.DATETIME, Kind.TIME},
    "integer": {Kind.NUMBER, Kind.TEXT},
    "number": {Kind.NUMBER, Kind.TEXT},
    "choice": {Kind.TEXT, Kind.NUMBER, Kind.BOOLEAN, Kind.DATE, Kind.DATETIME, Kind.TIME},
    "boolean": {Kind.BOOLEAN, Kind.TEXT, Kind.NUMBER},
    "date": {Kind.DATE, Kind.DATETIME, Kind.TEXT},
    "time": {Kind.TIME, Kind.TEXT},
    "datetime": {Kind.DATETIME, Kind.TEXT},
    "email": {Kind.TEXT},
    "phone": {Kind.TEXT, Kind.NUMBER},
    "list": {Kind.LIST},
    "object": {Kind.RECORD},
    "media": {Kind.FILE},
    "location": {Kind.PLACE},
}
_TAKEN: dict[Kind, set[Kind]] = {  # by an argument of Python's, as it is read: texts of numbers and days are both
    Kind.TEXT: {Kind.TEXT},
    Kind.NUMBER: {Kind.NUMBER, Kind.TEXT, Kind.BOOLEAN},
    Kind.BOOLEAN: {Kind.BOOLEAN, Kind.TEXT, Kind.NUMBER},
    Kind.DATE: {Kind.DATE, Kind.DATETIME, Kind.TEXT, Kind.NUMBER},
    Kind.DATETIME: {Kind.DATETIME, Kind.DATE, Kind.TEXT, Kind.NUMBER},
    Kind.TIME: {Kind.TIME, Kind.TEXT, Kind.NUMBER},
    Kind.DURATION: {Kind.DURATION, Kind.TEXT, Kind.NUMBER},
    Kind.LIST: {Kind.LIST},
    Kind.RECORD: {Kind.RECORD},
    Kind.FILE: {Kind.FILE, Kind.RECORD},
    Kind.PLACE: {Kind.PLACE, Kind.RECORD},
}


def kinds_of_type(annotation: Any) -> frozenset[Kind]:
    """The kinds of values that an annotation is for, a union's too."""
    if isinstance(annotation, UnionType) or get_origin(annotation) is Union:
        return frozenset(map(kind_of_type, get_args(annotation)))
    return frozenset({kind_of_type(annotation)})


def may_be_taken(kind: Kind, annotation: Any) -> bool:
    """Whether any value of a kind is taken by an argument of Python's with an annotation."""
    wanted = kinds_of_type(annotation)
    return kind in (Kind.ANY, Kind.NULL) or Kind.ANY in wanted or any(kind in _TAKEN.get(each, ()) for each in wanted)


def values_of(variable: Variable) -> Cases:
    """The values that a variable may have beside null."""
    if isinstance(variable, ChoiceVariable):
        return bounded(map(just, variable.of))
    kind = KINDS[variable.type]
    return frozenset({TRUE, FALSE}) if kind is Kind.BOOLEAN else some(kind)


def may_fit(kind: Kind, variable: Variable) -> bool:
    """Whether any value of a kind is one of a variable: null is one of each."""
    return kind in (Kind.NULL, Kind.ANY) or kind in _FITTING[variable.type]


def surely_fits(kinds: Iterable[Kind], variable: Variable) -> bool:
    """Whether every value of these kinds is one of a variable: it has no bounds, then. Null is one of each."""
    known = [kind for kind in kinds if kind is not Kind.NULL]
    return all(kind is KINDS[variable.type] for kind in known) and not _is_bounded(variable)


def _is_bounded(variable: Variable) -> bool:
    match variable:
        case TextVariable():
            return variable.pattern is not None or variable.most != LONGEST
        case NumberVariable() | TimeVariable():
            return variable.least is not None or variable.most is not None
        case ListVariable():
            return variable.most is not None
    return isinstance(variable, ChoiceVariable | EmailVariable | PhoneVariable | MediaVariable)
