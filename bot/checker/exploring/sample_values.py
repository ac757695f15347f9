"""Sample values: texts that a variable accepts, and values that fit an annotation, a variable or a JSON schema."""

import dataclasses
import enum
import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import chain, islice, zip_longest
from typing import Any

from bot.checker.pattern_texts import text_matching
from bot.core.lazy_patterns import lazy_pattern
from bot.language.steps.control_steps import MOST_ELEMENTS
from bot.language.types.date_types import DateTimeVariable, DateVariable, TimeVariable
from bot.language.types.number_types import NumberVariable
from bot.language.types.structured_types import ListVariable, ObjectVariable
from bot.language.types.text_types import ChoiceVariable, TextVariable
from bot.language.types.type_registry import TypeMismatch, Variable
from bot.language.types.yes_no_type import BooleanVariable

NAME, ADDRESS = "Ann", "https://shop.example/a"
DAYS = (1, 2, 3, 7, 30, 0, -1, -10_000)
"""Days from today. One of them fits most variables."""

CLOCKS = (time(9), time(15), time(23))


def sample_texts(variable: Variable, now: datetime, *, large: bool = False) -> Iterator[str]:
    """Texts that a contact may write for a variable: values within its bounds and at them.

    ``large``: also the longest text.
    """
    match variable:
        case NumberVariable(least=least, most=most):
            yield from _numbers(least, most)
        case ChoiceVariable(of=of):
            yield from of
        case TextVariable():
            yield from _texts(variable, large=large)
        case DateVariable(after=after, before=before):
            yield from (day.isoformat() for day in _days(now, after, before))
        case DateTimeVariable(after=after, before=before):
            days = _days(now, after, before)
            yield from (f"{day.isoformat()} {clock:%H:%M}" for day in days for clock in CLOCKS)
        case TimeVariable(least=least, most=most):
            yield from chain.from_iterable(
                map(_clock_texts, (clock for clock in (least, most, *CLOCKS) if clock is not None))
            )
        case _:
            yield from variable.example_answers


def _texts(variable: TextVariable, *, large: bool) -> Iterator[str]:
    if variable.pattern is None:
        yield from (longest(variable.most),) if large else ()
        yield variable.example or NAME[: variable.most]
    else:
        yield from text_matching(variable.pattern.pattern) if variable.example is None else (variable.example,)


def _clock_texts(clock: time) -> Iterator[str]:
    """A time of day in words that mean one time: 10:00 may be in the evening, 09:00 is not."""
    if 10 <= clock.hour <= 12:
        yield f"{clock:%I:%M %p}"
    yield f"{clock:%H:%M}"


def longest(most: int) -> str:
    """A text with so many characters, made of words."""
    return ("many words " * (most // 11 + 1))[: most - 1] + "x"


def _numbers(least: float | None, most: float | None) -> Iterator[str]:
    """Numbers at the bounds, near them, and beyond them."""
    low, high = (3 if least is None else least), (most if most is not None else (least or 0) + 10)
    small = (3, 1, 0) if least is None and most is None else ()
    yield from (f"{number:g}" for number in dict.fromkeys((*small, low, high, (low + high) // 2, low - 1, high + 1)))


def _days(now: datetime, after: str | None, before: str | None) -> Iterator[date]:
    bounds = [day for day in map(_read, (after, before)) if day is not None]
    near = [bound + timedelta(days=days) for bound in bounds for days in (1, -1)]
    yield from dict.fromkeys([*near, *(now.date() + timedelta(days=days) for days in DAYS)])


def _read(bound: str | None) -> date | None:
    try:
        return None if bound is None else datetime.fromisoformat(bound).date()
    except ValueError:  # today, now
        return None


Compared = Callable[[str], Iterable[Any]]
"""A function that returns the texts and numbers with which flows compare a field of this name."""


def values_for_annotation(annotation: Any, now: datetime, compared: Compared, name: str = "") -> Iterator[Any]:
    """Values of an annotation's type, as a test writes them: texts, numbers, lists and maps. ``name`` is the field
    that gets them.
    """
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        for each in arguments:
            yield from values_for_annotation(each, now, compared, name)
    elif origin is typing.Annotated:
        yield from values_for_annotation(arguments[0], now, compared, name)
    elif origin is typing.Literal:
        yield from arguments
    elif origin in (list, tuple, set, frozenset, typing.get_origin(typing.Sequence[Any])):
        yield list(islice(values_for_annotation(arguments[0] if arguments else Any, now, compared, name), 2))
        yield []
    elif isinstance(kind := origin or annotation, type) and issubclass(kind, Mapping):
        yield {}
    elif dataclasses.is_dataclass(annotation) and isinstance(annotation, type):
        yield from _records(annotation, now, compared)
    elif isinstance(annotation, type):
        yield from _plain(annotation, name, now, [*compared(name)])


def words_for(name: str) -> tuple[str, ...]:
    """Texts for a field of this name: its name, and an address, because it may need one."""
    if _LINKS.search(name):
        return (ADDRESS,)
    return name.replace("_", " ").strip().capitalize() or NAME, ADDRESS


_LINKS = lazy_pattern("url|link|href|image|photo|picture|file|map")


def _records(annotation: type, now: datetime, compared: Compared) -> Iterator[Any]:
    """A record for each value of a field. The other fields take their first value, or their next."""
    hints = typing.get_type_hints(annotation)
    names = [each.name for each in dataclasses.fields(annotation)]
    columns = [list(values_for_annotation(hints[name], now, compared, name)) or [None] for name in names]
    for row in zip_longest(*columns):
        cells = zip(names, row, columns, strict=True)
        yield {name: column[0] if value is None else value for name, value, column in cells}


def _plain(annotation: type, name: str, now: datetime, compared: Sequence[Any]) -> Iterator[Any]:
    if issubclass(annotation, enum.Enum):
        yield from (member.value for member in annotation)
    elif annotation is type(None):
        yield None
    elif annotation is bool:
        yield from (True, False)
    elif issubclass(annotation, int | float | Decimal):
        yield from (3, *(each for each in compared if isinstance(each, int | float)))
    elif issubclass(annotation, datetime):
        yield f"{now + timedelta(days=3):%Y-%m-%dT%H:%M:%S}"
    elif issubclass(annotation, date):
        yield f"{now + timedelta(days=3):%Y-%m-%d}"
    elif issubclass(annotation, time):
        yield "10:00"
    elif issubclass(annotation, bytes):
        yield "%PDF-1.4 %%EOF"
    elif issubclass(annotation, str):
        yield from (*words_for(name), *(each for each in compared if isinstance(each, str)))


def value_for_schema(schema: Mapping[str, Any], named: Mapping[str, Any], now: datetime, text: str = "x") -> Any:
    """A value that fits a JSON schema, as far as its type says: ``text`` wherever a text fits. ``named`` are the
    schemas to which it refers by name.
    """
    schema = {**schema, **named.get(str(schema.get("$ref", "")).rpartition("/")[2], {})}
    if "enum" in schema or "const" in schema:
        return schema["const"] if "const" in schema else schema["enum"][0]
    if "anyOf" in schema:
        return value_for_schema(schema["anyOf"][0], named, now, text)
    match schema.get("type"):
        case "object":
            properties = schema.get("properties", {})
            return {name: value_for_schema(properties[name], named, now, text) for name in schema.get("required", ())}
        case "string":
            forms = {
                "date": f"{now:%Y-%m-%d}",
                "date-time": now.isoformat(),
                "time": f"{now:%H:%M}",
                "duration": "PT1H",
            }
            if "pattern" in schema and not re.search(schema["pattern"], text):
                return next(iter(text_matching(schema["pattern"])), text)
            return forms.get(schema.get("format", ""), text)
    return {"integer": 1, "number": 1, "boolean": True, "array": [], "null": None}.get(str(schema.get("type")), text)


def lengthened(value: Any) -> Any:
    """The value with its lists as long as a flow may read them."""
    match value:
        case list():
            return [lengthened(item) for item in value] * (MOST_ELEMENTS // max(len(value), 1))
        case Mapping():
            return {key: lengthened(item) for key, item in value.items()}
    return value


def values_for_variable(variable: Variable | None, now: datetime, shape: Mapping[str, Any]) -> Iterator[Any]:
    """Values for a variable that a call saves to, if nothing else is known of them.

    A list or a map has this ``shape``, and the fields that the variable declares.
    """
    if isinstance(variable, ListVariable | ObjectVariable) and variable.fields:
        shape = {**shape, **{name: _value_for(field, now) for name, field in variable.fields.items()}}
    match variable:
        case ListVariable():
            yield from ([shape or ADDRESS, shape or NAME], [])
        case ObjectVariable():
            yield dict(shape)
        case NumberVariable(least=least):
            yield int(least or 3)
        case BooleanVariable():
            yield from (True, False)
        case None:
            yield None
        case _:  # there are no texts for a file or a place
            yield from islice(sample_texts(variable, now), 2)


def _value_for(field: Variable, now: datetime) -> Any:
    """A value that fits a declared field; null if none is known."""
    for value in values_for_variable(field, now, {}):
        with suppress(TypeMismatch):
            field.coerce(value, now)
            return value
    return None
