"""The values that a conversation can keep, and their JSON.

A value that JSON has no form for is written as ``{"$<tag>": ...}``; a dict whose own keys begin with ``$``
is written as ``{"$dict": [[key, value], ...]}``. So what goes in is what comes out, and the text stays
readable in the database. A field that has its default is left out, so a default must never change.
"""

import dataclasses
import enum
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from math import isfinite
from typing import Any, TypeVar, cast, get_origin

import orjson

from bot.core.errors import BotError
from bot.core.immutable import immutable


class UnstorableValue(BotError):
    """A value of a type that a conversation cannot keep."""


@immutable
class Media:
    """A file that a contact sent. ``url`` is the gateway's and expires after 24 hours (spec: payloads). A file that a
    handler has made has none.

    ``file`` is its path once it has been kept. ``type`` (``image/png``) is found by its content then, and before by the
    ending of its address, if that is known.
    """

    kind: str
    url: str
    caption: str | None = None
    file: str | None = None
    type: str | None = None

    @property
    def made(self) -> bool:
        """True for a file that a handler has made."""
        return not self.url and self.file is not None


@immutable
class Location:
    """A place on the map, in degrees."""

    latitude: float
    longitude: float
    name: str | None = None
    address: str | None = None


def with_media(value: Any, change: Callable[[Media], Media]) -> Any:
    """A value with the changed files that a contact sent, however deep they are in it."""
    match value:
        case Media():
            return change(value)
        case Record():
            return Record(value.name_of_type, with_media(dict(value), change))
        case dict():
            return {key: with_media(each, change) for key, each in value.items()}
        case list() | tuple():
            return type(value)(with_media(each, change) for each in value)
    return value


def files_in(value: Any) -> list[Media]:
    """The files in a value, however deep they are in it."""
    found: list[Media] = []

    def note(file: Media) -> Media:
        found.append(file)
        return file

    with_media(value, note)
    return found


LEAST_COUNTED = 200
"""The fewest tokens that a request takes from a budget: so a budget also bounds the number of requests."""


@immutable
class Usage:
    """The tokens of a model's answer (spec: usage); ``estimated`` if the service has not said a possible number."""

    model: str
    prompt_tokens: int
    completion_tokens: int
    estimated: bool = False

    @property
    def counted(self) -> int:
        """The tokens that it takes from a budget."""
        return max(self.prompt_tokens + self.completion_tokens, LEAST_COUNTED)


class Record(Mapping[str, Any]):
    """A read-only record: what a handler's dataclass becomes. Fields are read as ``order.state``."""

    __slots__ = ("_fields", "_name")

    def __init__(self, name: str, fields: Mapping[str, Any]) -> None:
        self._name = name
        self._fields = dict(fields)

    @property
    def name_of_type(self) -> str:
        """The name of the dataclass that this record came from."""
        return self._name

    def __getitem__(self, key: str) -> Any:
        return self._fields[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Record):
            return self._name == other._name and self._fields == other._fields
        return isinstance(other, Mapping) and self._fields == dict(other)

    def __hash__(self) -> int:
        return hash((self._name, tuple(self._fields)))

    def __repr__(self) -> str:
        return f"{self._name}({', '.join(f'{k}={v!r}' for k, v in self._fields.items())})"


MOST_LEVELS = 50
MOST_VALUES = 50_000  # in one list or record, whatever it is nested in
CHARACTERS = 100  # of a text that count as one value more
_SINGLE = (int, float, Decimal, datetime, date, time, Media, Location)


class ValueTooLarge(BotError):
    """A value that is larger or deeper than what a conversation keeps."""

    def __init__(self) -> None:
        super().__init__(f"it has more than {MOST_VALUES} values or as much text, or more than {MOST_LEVELS} levels")


class Measure:
    """Counts the parts of one value, up to `MOST_VALUES`. A list that it contains twice counts twice."""

    def __init__(self) -> None:
        self._left = MOST_VALUES

    def count(self, value: Any, levels: int) -> None:
        """Count a value at a depth of which so many ``levels`` are left. Raises `ValueTooLarge`."""
        texts = (value,) if isinstance(value, str) else value if isinstance(value, Mapping) else ()
        self._left -= 1 + sum(map(len, map(str, texts))) // CHARACTERS
        if self._left < 0 or levels < 0:
            raise ValueTooLarge


def plain(value: Any) -> Any:
    """Turn what Python code returned into values a conversation can keep.

    A dataclass becomes a `Record`, an enum its value, a tuple or set a list; texts lose their NULs, which neither the
    gateway nor every program that reads the store can take. Raises `UnstorableValue` for anything else, and for what
    is larger than `MOST_VALUES` or deeper than `MOST_LEVELS`.
    """
    try:
        return _plain(value, MOST_LEVELS, Measure())
    except ValueTooLarge as error:
        raise UnstorableValue(str(error)) from error


def _plain(value: Any, levels: int, measure: Measure) -> Any:
    measure.count(value, levels)
    if isinstance(value, enum.Enum):
        return _plain(value.value, levels, measure)
    if isinstance(value, str):
        return _without_nul(value)
    if value is None or isinstance(value, _SINGLE):
        return value
    if isinstance(value, Record):
        return Record(value.name_of_type, {key: _plain(item, levels - 1, measure) for key, item in value.items()})
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: _plain(getattr(value, f.name), levels - 1, measure) for f in dataclasses.fields(value)}
        return Record(type(value).__name__, fields)
    if isinstance(value, Mapping):
        return {_without_nul(str(key)): _plain(item, levels - 1, measure) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, levels - 1, measure) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(_plain(item, levels - 1, measure) for item in value)
    raise UnstorableValue(
        f"a {type(value).__name__} cannot be kept in a conversation "
        "(return text, numbers, dates, lists, dicts or a dataclass of these; or, alone, the bytes of a file)"
    )


def _without_nul(text: str) -> str:
    return text.replace("\0", "") if "\0" in text else text


def json_default(value: Any) -> Any:
    """The JSON form of a value that JSON does not have."""
    match value:
        case Mapping():
            return dict(value)
        case datetime() | date() | time():
            return value.isoformat()
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case timedelta():
            return value.total_seconds()
        case Media():
            return {"kind": value.kind, "url": value.url, "caption": value.caption}
        case Location():
            return asdict(value)
    return str(value)


def readable_json(value: Any) -> str:
    """A value for a program or a person to read. Values that JSON has no form for are texts, as in ISO 8601."""
    return storable(json.dumps(value, default=_readable, ensure_ascii=False, indent=2))


def value_of_text(text: str) -> Any:
    """The value that a person writes on a line: a list or a map as JSON, else the text itself. Raises `ValueError`."""
    if not begins_json(text):
        return text
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError(str(error)) from None


def begins_json(text: str) -> bool:
    """True if a text begins like a list or a map in JSON, and not like an expression in braces."""
    return text.startswith(("[", "{")) and not text.startswith("{{")


def _readable(value: Any) -> Any:
    match value:
        case date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case Decimal():
            return str(value)
        case bytes():
            return value.decode("utf-8", "replace")
        case Mapping():
            return dict(value)
    named = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return {"type": type(value).__name__, **named}


T = TypeVar("T", bound=type)

_AS_THEY_ARE = frozenset((str, int, bool, type(None)))
_DATETIME = (
    '{"$datetime": item if item.tzinfo is utc else item.isoformat()} if type(item) is datetime else encode_any(item)'
)
_WRITTEN: dict[Any, str] = {
    **dict.fromkeys((str, int, bool, str | None, int | None, bool | None), "item"),
    **dict.fromkeys((datetime, datetime | None), _DATETIME),
    tuple: '{"$tuple": encode_list(item)} if type(item) is tuple else encode_any(item)',
    dict: "encode_dict(item) if type(item) is dict else encode_any(item)",
    None: "item if type(item) in as_they_are else encode_any(item)",  # any other
}
"""The function that writes a field of a dataclass, by its declared type: without asking each value for its own."""
_ROUNDED = 2.0**63
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

    def encode_first(value: Any) -> Any:
        encode = _ENCODE[cls] = _encoder_of(cls)  # not before one is written: a start would take 10 ms longer
        return encode(value)

    _ENCODE[cls] = encode_first
    _DECODE[f"${cls.__name__}"] = lambda fields: cls(**fields)
    return cls


def _encoder_of(cls: type) -> Callable[[Any], Any]:
    """The function that writes such a dataclass: its fields that do not have their defaults.

    The function is generated, as `dataclasses` does it with ``__init__``: going over the fields takes three times as
    long.
    """
    lines, known = (
        ["def encode(value):", " found = {}"],
        {"as_they_are": _AS_THEY_ARE, "datetime": datetime, "utc": UTC},
    )
    known |= {"encode_any": _encode, "encode_list": _encode_list, "encode_dict": _encode_dict}
    for number, each in enumerate(each for each in dataclasses.fields(cls) if each.init):
        default = known[f"default_{number}"] = _default(each)
        differs = "item is not None" if default is None else f"item != default_{number}" if default else "item"
        written = _WRITTEN.get(each.type) or _WRITTEN.get(get_origin(each.type)) or _WRITTEN[None]
        lines.append(f" item = value.{each.name}")
        lines.append(f" {'' if default is dataclasses.MISSING else f'if {differs}: '}found[{each.name!r}] = {written}")
    lines.append(f" return {{{'$' + cls.__name__!r}: found}}")
    exec("\n".join(lines), known)
    return cast(Callable[[Any], Any], known["encode"])


def _default(field: dataclasses.Field[Any]) -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def dumps(value: Any) -> str:
    """Write a value as one line of JSON. Raises `UnstorableValue` for a type that has no form."""
    encoded = _encode(value)
    try:
        return orjson.dumps(encoded).decode()
    except TypeError:  # a number of more than 64 bits, half a surrogate pair, more than 250 levels
        return _write_any(encoded)


def keepable(result: Any) -> Any:
    """Convert a value of Python code or another program to one that can be stored. Raises `UnstorableValue`."""
    try:
        value = plain(result)
        dumps(value).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise UnstorableValue(str(error)) from error
    return value


def loads(text: str | bytes) -> Any:
    """Read back what `dumps` wrote."""
    try:
        return _revive(orjson.loads(text))
    except (orjson.JSONDecodeError, _MayBeRounded):  # half a surrogate pair, more than 1,000 levels; or no JSON at all
        return _read_any(text if isinstance(text, str) else text.decode())


class _MayBeRounded(Exception):
    """A number that orjson has read as a float, and that may have been a whole number of more than 64 bits."""


def storable(value: str) -> str:
    r"""The text with what UTF-8 cannot carry (half a surrogate pair) as ``\udxxx``, which in JSON means the same."""
    return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()


def optional_storable(value: str | None) -> str | None:
    """A text, or nothing, as the store keeps it."""
    return value if value is None or value.isascii() else storable(value)


def json_text(value: Any) -> str:
    """A value as the store keeps it. Raises `UnstorableValue`."""
    return plain_json_text(_encode(value))


def plain_json_text(value: Any) -> str:
    """Plain JSON as the store keeps it: texts, numbers, lists, and dicts without keys that begin with ``$``."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # as in `dumps`
        return storable(_write_any(value))


@lru_cache(maxsize=64)  # a commit writes the same few again and again
def time_text(moment: datetime) -> str:
    """A time as the store keeps it: in UTC with microseconds, so that it sorts as it reads."""
    if moment.microsecond and moment.tzinfo is UTC:
        return orjson.dumps(moment).decode()[1:-1]  # the same in a fifth of the time
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def optional_time_text(moment: datetime | None) -> str | None:
    """A time, or nothing, as the store keeps it."""
    return None if moment is None else time_text(moment)


def read_time(text: str | None) -> datetime | None:
    """Read back what `optional_time_text` wrote."""
    return None if text is None else datetime.fromisoformat(text)


def _encode(value: Any) -> Any:
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return value
    encode = _ENCODE.get(kind)
    return _encode_other(value) if encode is None else encode(value)


def _encode_list(items: Sequence[Any]) -> Any:
    for item in items:
        if type(item) not in _AS_THEY_ARE:
            return [item if type(item) in _AS_THEY_ARE else _encode(item) for item in items]
    return items


def _encode_dict(value: dict[str, Any]) -> Any:
    for key, item in value.items():
        if type(item) not in _AS_THEY_ARE or "$" in key:
            break
    else:
        return value
    encoded = {}
    for key, item in value.items():
        if key[:1] == "$":
            return {"$dict": [[key, _encode(item)] for key, item in value.items()]}
        encoded[key] = item if type(item) in _AS_THEY_ARE else _encode(item)
    return encoded


def _finite(number: float) -> float:
    if isfinite(number):
        return number
    raise UnstorableValue("a number without an end, or none at all, has no form in the store")


def _encode_other(value: Any) -> Any:
    """Encode a value of a subclass, such as Markup, as its base class is encoded."""
    for kind in (tuple, datetime, date, time, timedelta, Decimal, Record, str):
        if isinstance(value, kind):
            return _ENCODE[kind](value)
    raise UnstorableValue(f"a {type(value).__name__} has no form in the store")


def _revive(value: Any) -> Any:
    """The value for what stands in JSON. Lists and dicts are filled in place."""
    kind = type(value)
    if kind is dict:
        if len(value) == 1:
            (tag,) = value
            decode = _DECODE.get(tag)
            if decode is not None:  # as in `_revive_entry`, without a second look at the item
                item = value[tag]
                return decode(item if type(item) in _AS_THEY_ARE else _revive(item))
        for name, item in value.items():
            if type(item) not in _AS_THEY_ARE:
                value[name] = _revive(item)
        return value
    if kind is list:
        for place, item in enumerate(value):
            if type(item) not in _AS_THEY_ARE:
                value[place] = _revive(item)
    elif kind is float and abs(value) >= _ROUNDED:
        raise _MayBeRounded
    return value


def _revive_entry(entry: dict[str, Any]) -> Any:
    """The value for an object whose items are values already."""
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
    datetime: lambda moment: {"$datetime": moment if moment.tzinfo is UTC else moment.isoformat()},
    date: lambda day: {"$date": day.isoformat()},
    time: lambda hour: {"$time": hour.isoformat()},
    timedelta: lambda span: {"$seconds": span.total_seconds()},
    Decimal: lambda number: {"$decimal": str(number)},
    Record: lambda record: {"$record": [record.name_of_type, _encode_dict(dict(record))]},
}

stored(Media)
stored(Location)

# json.dumps and json.loads would make these anew at each call
_write_any = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=datetime.isoformat
).encode
_read_any = json.JSONDecoder(object_hook=_revive_entry).decode
