"""JSON that keeps every value of a conversation: dates, decimals, records, messages and sessions.

A value that JSON has no form for is written as ``{"$<tag>": ...}``; a dict whose own keys begin with ``$``
is written as ``{"$dict": [[key, value], ...]}``. So what goes in is what comes out, and the text stays
readable in the database. A field that has its default is left out, so a default must never change.
"""

import dataclasses
import json
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from typing import Any, TypeVar

from bot.core.values import Location, Media, Record, UnstorableValue, plain

T = TypeVar("T", bound=type)

_FIELDS: dict[type, tuple[str, tuple[tuple[str, Any], ...]]] = {}
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
    _FIELDS[cls] = (f"${cls.__name__}", tuple((f.name, _default(f)) for f in dataclasses.fields(cls) if f.init))
    _DECODE[f"${cls.__name__}"] = lambda fields: cls(**fields)
    return cls


def _default(field: dataclasses.Field[Any]) -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


stored(Media)
stored(Location)


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
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is float:
        return _finite(value)
    if kind is list:
        return [_encode(item) for item in value]
    if kind is dict:
        if any(key.startswith("$") for key in value):
            return {"$dict": [[key, _encode(item)] for key, item in value.items()]}
        return {key: _encode(item) for key, item in value.items()}
    if (known := _FIELDS.get(kind)) is not None:
        tag, fields = known
        return {tag: {name: _encode(item) for name, default in fields if (item := getattr(value, name)) != default}}
    return _encode_other(value)


def _finite(number: float) -> float:
    if isfinite(number):
        return number
    raise UnstorableValue("a number without an end, or none at all, has no form in the store")


def _encode_other(value: Any) -> Any:
    match value:
        case tuple():
            return {"$tuple": [_encode(item) for item in value]}
        case datetime():
            return {"$datetime": value.isoformat()}
        case date():
            return {"$date": value.isoformat()}
        case time():
            return {"$time": value.isoformat()}
        case timedelta():
            return {"$seconds": value.total_seconds()}
        case Decimal():
            return {"$decimal": str(value)}
        case Record():
            return {"$record": [value.name_of_type, _encode(dict(value))]}
        case str():
            return str(value)  # a subclass, such as Markup
    raise UnstorableValue(f"a {type(value).__name__} has no form in the store")


def _revive(entry: dict[str, Any]) -> Any:
    if len(entry) == 1:
        (tag,) = entry
        if tag[:1] == "$" and (decode := _DECODE.get(tag)) is not None:
            return decode(entry[tag])
    return entry


# json.dumps and json.loads would make these anew at each call
_write = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_read = json.JSONDecoder(object_hook=_revive).decode
