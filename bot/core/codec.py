"""JSON that keeps every value of a conversation: dates, decimals, records, messages and sessions.

A value that JSON has no form for is written as ``{"$<tag>": ...}``; a dict whose own keys begin with ``$``
is written as ``{"$dict": [[key, value], ...]}``. So what goes in is what comes out, and the text stays
readable in the database. A field that has its default is left out, so a default must never change.
"""

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from typing import Any, TypeVar

from bot.core.values import Location, Media, Record, UnstorableValue, plain

T = TypeVar("T", bound=type)

_AS_THEY_ARE = frozenset((str, int, bool, type(None)))
_DECODE: dict[str, Callable[[Any], Any]] = {
    "$datetime": datetime.fromisoformat,
    "$date": date.fromisoformat,
    "$time": time.fromisoformat,
    "$seconds": lambda seconds: timedelta(seconds=seconds),
    "$decimal": Decimal,
    "$record": lambda pair: Record(pair[0], pair[1]),
    "$tuple": tuple,
    "$dict": dict,
}


def stored(cls: T) -> T:
    """Class decorator: this dataclass can be written to and read from the store, under its name."""
    _ENCODE[cls] = _fields_of(cls)
    _DECODE[f"${cls.__name__}"] = lambda fields: cls(**fields)
    return cls


def _fields_of(cls: type) -> Callable[[Any], Any]:
    """How such a dataclass is written: those of its fields that do not have their defaults."""
    tag, fields = f"${cls.__name__}", [(f.name, _default(f)) for f in dataclasses.fields(cls) if f.init]

    def encode(value: Any) -> Any:
        found = {}
        for name, default in fields:
            item = getattr(value, name)
            if item is not default and item != default:
                found[name] = item if type(item) in _AS_THEY_ARE else _encode(item)
        return {tag: found}

    return encode


def _default(field: dataclasses.Field[Any]) -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def dumps(value: Any) -> str:
    """Write a value as one line of JSON. Raises `UnstorableValue` for a type that has no form."""
    return _write(_encode(value))


def keepable(result: Any) -> Any:
    """What Python code or another program gave, as a value that can be written. Raises `UnstorableValue`."""
    try:
        value = plain(result)
        dumps(value).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise UnstorableValue(str(error)) from error
    return value


def loads(text: str | bytes) -> Any:
    """Read back what `dumps` wrote."""
    return _read(text if isinstance(text, str) else text.decode())


def _encode(value: Any) -> Any:
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return value
    encode = _ENCODE.get(kind)
    return _encode_other(value) if encode is None else encode(value)


def _encode_list(items: Iterable[Any]) -> Any:
    return [item if type(item) in _AS_THEY_ARE else _encode(item) for item in items]


def _encode_dict(value: Mapping[str, Any]) -> Any:
    for key in value:
        if key.startswith("$"):
            return {"$dict": [[key, _encode(item)] for key, item in value.items()]}
    return {key: item if type(item) in _AS_THEY_ARE else _encode(item) for key, item in value.items()}


def _finite(number: float) -> float:
    if isfinite(number):
        return number
    raise UnstorableValue("a number without an end, or none at all, has no form in the store")


def _encode_other(value: Any) -> Any:
    """A subclass, such as Markup, is written as what it is one of."""
    for kind in (tuple, datetime, date, time, timedelta, Decimal, Record, str):
        if isinstance(value, kind):
            return _ENCODE[kind](value)
    raise UnstorableValue(f"a {type(value).__name__} has no form in the store")


def _revive(entry: dict[str, Any]) -> Any:
    if len(entry) == 1:
        (tag,) = entry
        if tag[:1] == "$" and (decode := _DECODE.get(tag)) is not None:
            return decode(entry[tag])
    return entry


_ENCODE: dict[type, Callable[[Any], Any]] = {
    str: str,
    float: _finite,
    list: _encode_list,
    dict: _encode_dict,
    tuple: lambda items: {"$tuple": _encode_list(items)},
    datetime: lambda moment: {"$datetime": moment.isoformat()},
    date: lambda day: {"$date": day.isoformat()},
    time: lambda hour: {"$time": hour.isoformat()},
    timedelta: lambda span: {"$seconds": span.total_seconds()},
    Decimal: lambda number: {"$decimal": str(number)},
    Record: lambda record: {"$record": [record.name_of_type, _encode_dict(record)]},
}

stored(Media)
stored(Location)

# json.dumps and json.loads would make these anew at each call
_write = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_read = json.JSONDecoder(object_hook=_revive).decode
