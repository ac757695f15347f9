"""Abstract values: what a value may be, as far as it is known before a conversation.

A set contains all possibilities. The empty set is a value that never exists, because its evaluation always fails.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import is_dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from bot.core.immutable import immutable
from bot.core.values import Location, Media, Record

MOST = 64  # possibilities of one value: with more of them it may be anything


class ValueKind(Enum):
    """The kinds of values, named as people read them."""

    NULL = "null"
    BOOLEAN = "true or false"
    NUMBER = "a number"
    TEXT = "a text"
    DATE = "a date"
    DATETIME = "a date with a time"
    TIME = "a time of day"
    DURATION = "a duration"
    LIST = "a list"
    RECORD = "a record"
    FILE = "a file"
    PLACE = "a place"
    GONE = "nothing"  # a missing value, such as a field that a record does not have
    ANY = "anything"  # null included

    __hash__ = object.__hash__  # an enum's own is written in Python


class _Unknown(Enum):
    UNKNOWN = "unknown"


UNKNOWN = _Unknown.UNKNOWN
# true in a condition, whatever their value
_TRUE = frozenset({ValueKind.DATE, ValueKind.DATETIME, ValueKind.TIME, ValueKind.FILE, ValueKind.PLACE})


@immutable
class AbstractValue:
    """One thing that a value may be. ``value`` is exactly what it is, where that is known.

    ``full``: it is true in a condition; ``empty``: it is false in one. ``lost``: it is what it is because the variable
    in question is null. ``whole``: it is a whole number. ``holds``: it is a record, or a list of records, where these
    fields have types; None: nothing is known of its fields. ``json``: all other fields are JSON of a service.
    """

    kind: ValueKind
    value: Hashable = UNKNOWN
    full: bool = False
    empty: bool = False
    lost: bool = False
    whole: bool = False
    holds: "tuple[tuple[str, AbstractValues], ...] | None" = None
    json: bool = False


AbstractValues = frozenset[AbstractValue]
"""All that a value may be."""

ANYTHING: AbstractValues = frozenset({AbstractValue(ValueKind.ANY)})
GONE: AbstractValues = frozenset({AbstractValue(ValueKind.GONE)})
TRUE, FALSE = AbstractValue(ValueKind.BOOLEAN, True), AbstractValue(ValueKind.BOOLEAN, False)
NULL = AbstractValue(ValueKind.NULL, None)
LOST = AbstractValue(ValueKind.NULL, None, lost=True)
KINDS_BY_TYPE: tuple[tuple[type | tuple[type, ...], ValueKind], ...] = (
    (type(None), ValueKind.NULL),
    (bool, ValueKind.BOOLEAN),
    (str, ValueKind.TEXT),
    ((int, float, Decimal), ValueKind.NUMBER),
    (datetime, ValueKind.DATETIME),
    (date, ValueKind.DATE),
    (time, ValueKind.TIME),
    (timedelta, ValueKind.DURATION),
    ((list, tuple), ValueKind.LIST),
    ((dict, Record, Mapping), ValueKind.RECORD),
    ((Media, bytes), ValueKind.FILE),
    (Location, ValueKind.PLACE),
)
# by an argument of Python's, as it is read: texts of numbers and days are both
_TAKEN: dict[ValueKind, set[ValueKind]] = {
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


JSON: AbstractValues = frozenset({
    NULL, *(AbstractValue(kind) for kind in (ValueKind.BOOLEAN, ValueKind.NUMBER, ValueKind.TEXT)),
    *(AbstractValue(kind, holds=(), json=True) for kind in (ValueKind.LIST, ValueKind.RECORD)),
})  # fmt: skip
"""Any value of JSON, in which days and times are texts."""


def inside(record: AbstractValue, name: str) -> AbstractValues:
    """The values of a field."""
    return dict(record.holds or ()).get(name, JSON if record.json else ANYTHING)


def elements_of(values: AbstractValues) -> AbstractValues:
    """The values of the elements of a list."""
    lists = [value for value in values if value.kind is not ValueKind.NULL]
    if any(value.kind is not ValueKind.LIST or value.holds is None for value in lists):
        return ANYTHING
    return frozenset(each for value in lists for each in _element_of(value))


def _element_of(value: AbstractValue) -> AbstractValues:
    return frozenset({AbstractValue(ValueKind.RECORD, holds=value.holds, json=value.json)}) if value.holds else JSON


def some(kind: ValueKind, *, full: bool = False, whole: bool = False) -> AbstractValues:
    """Any value of a kind; ``full``: any that is true in a condition; ``whole``: any whole number."""
    return frozenset({AbstractValue(kind, full=full, whole=whole)})


def just(value: Any) -> AbstractValue:
    """Exactly one value; of lists, records and the like only the kind is known."""
    kind = next((kind for types, kind in KINDS_BY_TYPE if isinstance(value, types)), ValueKind.ANY)
    if kind in (ValueKind.NULL, ValueKind.BOOLEAN, ValueKind.NUMBER, ValueKind.TEXT):
        whole = kind is ValueKind.NUMBER and isinstance(value, int)
        return AbstractValue(kind, Decimal(repr(value)) if isinstance(value, float) else value, whole=whole)
    return AbstractValue(kind, full=bool(value))


def kind_of_type(annotation: Any) -> ValueKind:
    """The kind of value for an annotation; `ValueKind.ANY` if the annotation leaves it open."""
    origin = getattr(annotation, "__origin__", annotation)
    if not isinstance(origin, type):
        return ValueKind.ANY
    if is_dataclass(origin) and origin not in (Media, Location):
        return ValueKind.RECORD
    return next((kind for types, kind in KINDS_BY_TYPE if issubclass(origin, types)), ValueKind.ANY)


def kinds_of_type(annotation: Any) -> frozenset[ValueKind]:
    """The kinds of values that an annotation is for, a union's too."""
    if get_origin(annotation) is Annotated:
        return kinds_of_type(annotation.__origin__)
    if isinstance(annotation, UnionType) or get_origin(annotation) is Union:
        return frozenset(map(kind_of_type, get_args(annotation)))
    return frozenset({kind_of_type(annotation)})


def may_be_taken(kind: ValueKind, annotation: Any) -> bool:
    """True if a Python argument with this annotation may take a value of this kind."""
    wanted = kinds_of_type(annotation)
    unknown = kind in (ValueKind.ANY, ValueKind.NULL) or ValueKind.ANY in wanted
    return unknown or any(kind in _TAKEN.get(each, ()) for each in wanted)


def bounded(values: Iterable[AbstractValue]) -> AbstractValues:
    """The values, or anything where they are too many to go through."""
    found = frozenset(values)
    return found if len(found) <= MOST else ANYTHING


def truths(values: AbstractValues) -> frozenset[bool]:
    """The truth values that it may have in a condition; none for a missing value, which fails."""
    return frozenset(truth for value in values for truth in _truths(value))


def _truths(case: AbstractValue) -> tuple[bool, ...]:
    if case.kind is ValueKind.GONE:
        return ()
    if case.value is not UNKNOWN:
        return (bool(case.value),)
    if case.empty:
        return (False,)
    return (True,) if case.full or case.kind in _TRUE else (True, False)


def that_are(truth: bool, values: AbstractValues) -> AbstractValues:
    """The values that may be true, or false, in a condition; those that may be both are so from here on."""
    return frozenset(
        replace(value, full=truth, empty=not truth) if value.value is UNKNOWN else value
        for value in values
        if truth in _truths(value)
    )


def yes_or_no(found: Iterable[bool]) -> AbstractValues:
    """Truth values as abstract values."""
    return frozenset(TRUE if truth else FALSE for truth in found)


def equal(left: AbstractValue, right: AbstractValue) -> tuple[bool, ...]:
    """The possible results of comparing two values for equality: ``(True, False)`` if both are possible."""
    if ValueKind.ANY in (left.kind, right.kind):
        return (True, False)
    if UNKNOWN not in (left.value, right.value):
        return (left.value == right.value,)
    return (True, False) if _are_alike(left, right) else (False,)


def ordered(left: AbstractValue, right: AbstractValue, compare: Callable[[Any, Any], bool]) -> tuple[bool, ...]:
    """The possible results of comparing two values by their order; none if they have no order."""
    if ValueKind.ANY in (left.kind, right.kind):
        return (True, False)
    if not _are_alike(left, right) or left.kind is ValueKind.NULL:
        return ()
    return (True, False) if UNKNOWN in (left.value, right.value) else (compare(left.value, right.value),)


def _are_alike(left: AbstractValue, right: AbstractValue) -> bool:
    """True if two values are of one kind: a comparison takes true and false as numbers."""
    return left.kind is right.kind or {left.kind, right.kind} <= {ValueKind.BOOLEAN, ValueKind.NUMBER}
