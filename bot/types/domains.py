"""What the values of a variable may be, by its declaration."""

from collections.abc import Iterable
from types import UnionType
from typing import Any, Union, get_args, get_origin

from bot.expressions.abstract_values import FALSE, TRUE, AbstractValues, ValueKind, bounded, just, kind_of_type, some
from bot.types.address_types import EmailVariable, PhoneVariable
from bot.types.date_types import TimeVariable
from bot.types.number_types import NumberVariable
from bot.types.structured_types import ListVariable, MediaVariable
from bot.types.text_types import LONGEST, ChoiceVariable, TextVariable
from bot.types.variable import Variable

KINDS = {
    "text": ValueKind.TEXT,
    "integer": ValueKind.NUMBER,
    "number": ValueKind.NUMBER,
    "choice": ValueKind.TEXT,
    "boolean": ValueKind.BOOLEAN,
    "date": ValueKind.DATE,
    "time": ValueKind.TIME,
    "datetime": ValueKind.DATETIME,
    "email": ValueKind.TEXT,
    "phone": ValueKind.TEXT,
    "list": ValueKind.LIST,
    "object": ValueKind.RECORD,
    "media": ValueKind.FILE,
    "location": ValueKind.PLACE,
}
"""The kind of a variable's values, by its type."""
_FITTING = {
    "text": {ValueKind.TEXT, ValueKind.NUMBER, ValueKind.DATE, ValueKind.DATETIME, ValueKind.TIME},
    "integer": {ValueKind.NUMBER, ValueKind.TEXT},
    "number": {ValueKind.NUMBER, ValueKind.TEXT},
    "choice": {ValueKind.TEXT, ValueKind.NUMBER, ValueKind.BOOLEAN, ValueKind.DATE, ValueKind.DATETIME, ValueKind.TIME},
    "boolean": {ValueKind.BOOLEAN, ValueKind.TEXT, ValueKind.NUMBER},
    "date": {ValueKind.DATE, ValueKind.DATETIME, ValueKind.TEXT},
    "time": {ValueKind.TIME, ValueKind.TEXT},
    "datetime": {ValueKind.DATETIME, ValueKind.TEXT},
    "email": {ValueKind.TEXT},
    "phone": {ValueKind.TEXT, ValueKind.NUMBER},
    "list": {ValueKind.LIST},
    "object": {ValueKind.RECORD},
    "media": {ValueKind.FILE},
    "location": {ValueKind.PLACE},
}
_TAKEN: dict[
    ValueKind, set[ValueKind]
] = {  # by an argument of Python's, as it is read: texts of numbers and days are both
    ValueKind.TEXT: {ValueKind.TEXT},
    ValueKind.NUMBER: {ValueKind.NUMBER, ValueKind.TEXT, ValueKind.BOOLEAN},
    ValueKind.BOOLEAN: {ValueKind.BOOLEAN, ValueKind.TEXT, ValueKind.NUMBER},
    ValueKind.DATE: {ValueKind.DATE, ValueKind.DATETIME, ValueKind.TEXT, ValueKind.NUMBER},
    ValueKind.DATETIME: {ValueKind.DATETIME, ValueKind.DATE, ValueKind.TEXT, ValueKind.NUMBER},
    ValueKind.TIME: {ValueKind.TIME, ValueKind.TEXT, ValueKind.NUMBER},
    ValueKind.DURATION: {ValueKind.DURATION, ValueKind.TEXT, ValueKind.NUMBER},
    ValueKind.LIST: {ValueKind.LIST},
    ValueKind.RECORD: {ValueKind.RECORD},
    ValueKind.FILE: {ValueKind.FILE, ValueKind.RECORD},
    ValueKind.PLACE: {ValueKind.PLACE, ValueKind.RECORD},
}


def kinds_of_type(annotation: Any) -> frozenset[ValueKind]:
    """The kinds of values that an annotation is for, a union's too."""
    if isinstance(annotation, UnionType) or get_origin(annotation) is Union:
        return frozenset(map(kind_of_type, get_args(annotation)))
    return frozenset({kind_of_type(annotation)})


def may_be_taken(kind: ValueKind, annotation: Any) -> bool:
    """Whether any value of a kind is taken by an argument of Python's with an annotation."""
    wanted = kinds_of_type(annotation)
    return (
        kind in (ValueKind.ANY, ValueKind.NULL)
        or ValueKind.ANY in wanted
        or any(kind in _TAKEN.get(each, ()) for each in wanted)
    )


def values_of(variable: Variable) -> AbstractValues:
    """The values that a variable may have beside null."""
    if isinstance(variable, ChoiceVariable):
        return bounded(map(just, variable.of))
    kind = KINDS[variable.type]
    return frozenset({TRUE, FALSE}) if kind is ValueKind.BOOLEAN else some(kind)


def may_fit(kind: ValueKind, variable: Variable) -> bool:
    """Whether any value of a kind is one of a variable: null is one of each."""
    return kind in (ValueKind.NULL, ValueKind.ANY) or kind in _FITTING[variable.type]


def surely_fits(kinds: Iterable[ValueKind], variable: Variable) -> bool:
    """Whether every value of these kinds is one of a variable: it has no bounds, then. Null is one of each."""
    known = [kind for kind in kinds if kind is not ValueKind.NULL]
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
