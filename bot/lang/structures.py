"""Variables that hold more than one value, as a handler returns them, and files that a contact sent."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Self

from bot.core.messages import MEDIA_BYTES, MEDIA_KINDS
from bot.core.values import Media, Record
from bot.lang.fields import Fields
from bot.lang.problems import did_you_mean
from bot.lang.variable import Answer, Mismatch, Unfit, Variable, mismatch

_SIZE = re.compile(r"([1-9]\d{0,5}) ?(KB|MB)")


@dataclass(frozen=True, slots=True)
class ListVariable(Variable):
    """A list."""

    most: int | None = None
    type: ClassVar[str] = "list"

    @classmethod
    def read(cls, name: str, value: Any, fields: Fields) -> Self:
        """Read `max`."""
        return cls(name, fields.mark, value, fields.integer("max", 1))

    def _from_value(self, value: Any, now: datetime | None) -> list[Any]:
        if not isinstance(value, list | tuple):
            raise mismatch(value, "a list")
        return [_zoned(item, now) for item in value]

    def _bounded(self, value: list[Any]) -> list[Any]:
        if self.most is not None and len(value) > self.most:
            raise Mismatch(f"it has {len(value)} elements, {self.most} are allowed")
        return value


@dataclass(frozen=True, slots=True)
class ObjectVariable(Variable):
    """A record or a map."""

    type: ClassVar[str] = "object"

    def _from_value(self, value: Any, now: datetime | None) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            raise mismatch(value, "an object")
        zoned: Mapping[str, Any] = _zoned(value, now)
        return zoned


def _zoned(value: Any, now: datetime | None) -> Any:
    """A value in which every time without a zone is in the bot's, so that it can be compared with others."""
    match value:
        case datetime(tzinfo=None) if now is not None:
            return value.replace(tzinfo=now.tzinfo)
        case Record():
            return Record(value.name_of_type, {key: _zoned(item, now) for key, item in value.items()})
        case Mapping():
            return {key: _zoned(item, now) for key, item in value.items()}
        case list() | tuple():
            return [_zoned(item, now) for item in value]
    return value


@dataclass(frozen=True, slots=True)
class MediaVariable(Variable):
    """A file that the contact sent. With ``keep``, an answer is fetched and kept before the question is left."""

    kinds: tuple[str, ...] = MEDIA_KINDS
    most: int | None = None  # bytes
    type: ClassVar[str] = "media"

    @classmethod
    def read(cls, name: str, value: Any, fields: Fields) -> Self:
        """Read `kinds`, `keep` and `max`."""
        kinds = fields.strings("kinds") or MEDIA_KINDS
        for kind in kinds:
            if kind not in MEDIA_KINDS:
                fix = did_you_mean(kind, MEDIA_KINDS, f"write one of {', '.join(MEDIA_KINDS)}")
                what = f'{fields.what}: kinds: "{kind}" is not known'
                fields.problems.add("E109", fields.mark_of("kinds"), what, fix)
        keep, most = fields.boolean("keep"), _read_size(fields, "max")
        if most is not None and not keep:
            what = f"{fields.what}: max where the file is not kept: its size is not known"
            fields.problems.add("E307", fields.mark_of("max"), what, "add keep: true, or leave it out")
        return cls(name, fields.mark, value, kinds, most, keep=keep)

    def bytes_allowed(self, kind: str) -> int:
        """How large a file of a kind may be to be kept: `max`, and never more than the gateway's own limit."""
        most = MEDIA_BYTES[kind]
        return most if self.most is None else min(self.most, most)

    def accept(self, answer: Answer, now: datetime, scope: Mapping[str, Any] | None = None) -> Any:
        """The file. Raises `Unfit` for anything else, and for files of other kinds."""
        if answer.media is None or answer.media.kind not in self.kinds:
            raise Unfit(f"a file is expected: {', '.join(self.kinds)}")
        return answer.media

    def _from_value(self, value: Any, now: datetime | None) -> Media:
        if not isinstance(value, Media):
            raise mismatch(value, "a file")
        if value.kind not in self.kinds:
            raise Mismatch(f"it is none of {', '.join(self.kinds)}")
        return value


def _read_size(fields: Fields, key: str) -> int | None:
    """A size in kilobytes or megabytes, of 1024 each; in bytes."""
    text = fields.string(key)
    if text is None:
        return None
    found = _SIZE.fullmatch(text)
    if found is None:
        what = f'{fields.what}: {key}: "{text}" is no size'
        fields.problems.add("E106", fields.mark_of(key), what, "write one like 500KB or 5MB")
        return None
    return int(found[1]) << (20 if found[2] == "MB" else 10)
