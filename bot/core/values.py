"""The values a variable can hold, beyond Python's own text, numbers, booleans, dates, lists and dicts."""

import dataclasses
import enum
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from bot.core.errors import BotError


class UnstorableValue(BotError):
    """A value of a type that a conversation cannot keep."""


@dataclass(frozen=True, slots=True)
class Media:
    """A file that a contact sent. ``url`` is the gateway's and expires after 24 hours (spec: payloads).

    ``file`` is its path once it has been kept, and ``type`` what it is by its content (``image/png``).
    """

    kind: str
    url: str
    caption: str | None = None
    file: str | None = None
    type: str | None = None


@dataclass(frozen=True, slots=True)
class Location:
    """A place on the map, in degrees."""

    latitude: float
    longitude: float
    name: str | None = None
    address: str | None = None


LEAST_COUNTED = 200
"""The tokens that a request takes from a budget at least: so a budget bounds how many requests there are."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens that a model's answer used up (spec: usage). ``estimated``: the service did not say, or what cannot be."""

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
    """What may still be in one value while it is gone through: a list that stands in it twice counts twice."""

    def __init__(self) -> None:
        self._left = MOST_VALUES

    def count(self, value: Any, levels: int) -> None:
        """Count what is come to at a depth of which so many ``levels`` are left. Raises `ValueTooLarge`."""
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
        "(return text, numbers, dates, lists, dicts or a dataclass of these)"
    )


def _without_nul(text: str) -> str:
    return text.replace("\0", "") if "\0" in text else text


def json_default(value: Any) -> Any:
    """What stands in JSON for a value that it has no form for."""
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
