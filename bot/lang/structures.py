"""Variables that hold more than one value, as a handler returns them, and files that a contact sent."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Self

from bot.core.messages import MEDIA_KINDS
from bot.core.values import Media, Record
from bot.lang.fields import Fields
from bot.lang.problems import did_you_mean
from bot.lang.variable import Answer, Mismatch, Unfit, Variable, mismatch


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
    """A file that the contact sent."""

    kinds: tuple[str, ...] = MEDIA_KINDS
    type: ClassVar[str] = "media"

    @classmethod
    def read(cls, name: str, value: Any, fields: Fields) -> Self:
        """Read `kinds`."""
        kinds = fields.strings("kinds") or MEDIA_KINDS
        for kind in kinds:
            if kind not in MEDIA_KINDS:
                fix = did_you_mean(kind, MEDIA_KINDS, f"write one of {', '.join(MEDIA_KINDS)}")
                what = f'{fields.what}: kinds: "{kind}" is not known'
                fields.problems.add("E109", fields.mark_of("kinds"), what, fix)
        return cls(name, fields.mark, value, kinds)

    def accept(self, answer: Answer, now: datetime) -> Any:
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
