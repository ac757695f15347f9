"""The types list and object, as handlers return them; media and location, as contacts send them."""

from collections.abc import Mapping
from dataclasses import field, replace
from datetime import datetime, tzinfo
from typing import Any, Self

from bot.core.effects import Fetch
from bot.core.filetypes import FILE_TYPES
from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.core.messages import MEDIA_BYTES, MEDIA_KINDS
from bot.core.values import MOST_LEVELS, Location, Measure, Media, Record, ValueTooLarge
from bot.language.expressions.abstract_values import NULL, AbstractValue, AbstractValues, ValueKind
from bot.language.keys import key_schemas
from bot.language.keys.declared_keys import BOOLEAN, NAME, Form, KeySet, KeySpec, integer, one_of, one_or_several
from bot.language.keys.fields import Fields, text_of
from bot.language.keys.key_schemas import pattern
from bot.language.source.problems import Problems, did_you_mean
from bot.language.source.wall_clock import in_zone
from bot.language.source.yaml_tree import Node, Scalar
from bot.language.types.variable import KEEP, Answer, InvalidAnswer, TypeMismatch, Variable, mismatch

_SIZE = lazy_pattern(r"([1-9]\d{0,5}) ?(KB|MB)")


def _size_of(node: Node, problems: Problems, what: str) -> int | None:
    """A size in kilobytes or megabytes, of 1024 each; in bytes."""
    text = text_of(node, problems, what)
    found = None if text is None else _SIZE.fullmatch(text)
    if text is not None and found is None:
        problems.add("E106", node.mark, f'{what}: "{text}" is no size', "write one like 500KB or 5MB")
    return None if found is None else int(found[1]) << (20 if found[2] == "MB" else 10)


def _read_of(node: Node, problems: Problems, what: str) -> Variable | str | None:
    """``media``, or one of the bot's own types: an object."""
    text = text_of(node, problems, what)
    own = problems.types.get(text or "")
    if text is None or text == _MEDIA or isinstance(own, ObjectVariable):
        return own or text
    objects = [name for name, each in problems.types.items() if isinstance(each, ObjectVariable)]
    fix = did_you_mean(text, (_MEDIA, *objects), f"write {' or '.join((_MEDIA, *objects))}")
    if text in problems.types:
        fix = "its type must be object, and it must stand further above" if own is None else "its type must be object"
    problems.add("E109", node.mark, f'{what}: "{text}" is not known', fix)
    return None


def _read_keep(node: Node, problems: Problems, what: str) -> bool | str | None:
    if isinstance(node, Scalar) and isinstance(node.value, str):
        return one_of(CONVERSATION).read(node, problems, what)
    return BOOLEAN.read(node, problems, what)


_MEDIA = "media"
_OF = KeySpec(
    "of",
    Form(key_schemas.either(one_of(_MEDIA).schema, NAME.schema), _read_of),
    "media: contacts send its elements, which are files; or the object of `types` that its elements are.",
)
_LEAST = KeySpec("min", integer(1), "How many files an answer has at least; 1 by default.")
_MOST = KeySpec("max", integer(1), "How many elements it may have.")
_KINDS = KeySpec("kinds", one_or_several(one_of(*MEDIA_KINDS)), "The kinds of files that it takes; all if left out.")
_LARGEST = KeySpec(
    "max",
    Form(pattern(_SIZE.pattern, "write one like 500KB or 5MB"), _size_of),
    "The size of a file that is kept, at most.",
)
_SUFFIXES = {found.suffix: found.kind for found in FILE_TYPES}
_TYPES = KeySpec(
    "types", one_or_several(one_of(*_SUFFIXES)), "The types of the files that it keeps, like pdf; all if left out."
)
CONVERSATION = "conversation"
KEEP_FILES = KeySpec(
    KEEP.name,
    Form(key_schemas.either(BOOLEAN.schema, one_of(CONVERSATION).schema), _read_keep, absent=False),
    "true: its value stays with the contact for good. conversation: its files are kept until the conversation is over.",
)


@immutable
class ListVariable(Variable):
    """A list. Where ``fields`` are declared, its elements are records with these fields.

    ``basket: {type: list, max: 20, fields: {price: number}}``. A list of files is a `FilesVariable`.
    """

    most: int | None = None
    fields: Mapping[str, Variable] = field(default_factory=dict, kw_only=True)
    type = "list"
    kind = ValueKind.LIST
    made_of = frozenset({ValueKind.LIST})
    keep_key = KEEP_FILES
    keys = KeySet(_OF, _LEAST, _MOST, _KINDS, _TYPES)
    answered = False

    @classmethod
    def read(cls, name: str, value: Any, fields: Fields) -> Variable:  # type: ignore[override]
        """Read `max`; with `of: media` the settings of its files."""
        most, of = _MOST.read(fields), _OF.read(fields)
        if of == _MEDIA:
            return FilesVariable.read(name, value, fields)
        for key in (_LEAST, _KINDS, _TYPES):
            if key.written(fields):
                key.report(fields, "E307", f"{key.name} where contacts send no files", "add of: media, or leave it out")
        if KEEP_FILES.read(fields) == CONVERSATION:
            fix = "add of: media, or leave it out: other values are those of the conversation without it"
            KEEP_FILES.report(fields, "E307", f"keep: {CONVERSATION} where contacts send no files", fix)
        return cls(name, fields.mark, value, most, fields=of.fields if isinstance(of, ObjectVariable) else {})

    @property
    def described(self) -> Any:
        """A list of one record: each field in words."""
        return [_described(self.fields)] if self.fields else self.type

    @property
    def takes_every(self) -> bool:
        """True if it may have any number of elements."""
        return self.most is None and not self.fields

    def _from_value(self, value: Any, now: datetime | None) -> list[Any]:
        if not isinstance(value, list | tuple):
            raise mismatch(value, "a list")
        elements = list(_zoned(value, now))
        if not self.fields:
            return elements
        return [_with_fields(item, self.fields, now, f"element {number}: ") for number, item in enumerate(elements, 1)]

    def _bounded(self, value: list[Any]) -> list[Any]:
        if self.most is not None and len(value) > self.most:
            raise TypeMismatch(f"it has {len(value)} elements, {self.most} are allowed")
        return value


@immutable
class ObjectVariable(Variable):
    """A record or a map. Its ``fields`` have types, as far as they are declared.

    ``order: {type: object, fields: {placed: datetime}}``
    """

    fields: Mapping[str, Variable] = field(default_factory=dict, kw_only=True)
    type = "object"
    kind = ValueKind.RECORD
    made_of = frozenset({ValueKind.RECORD})
    answered = False

    @property
    def described(self) -> Any:
        """A record: each field in words."""
        return _described(self.fields) if self.fields else self.type

    @property
    def takes_every(self) -> bool:
        """True if it may have any fields."""
        return not self.fields

    def _from_value(self, value: Any, now: datetime | None) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            raise mismatch(value, "an object")
        return _with_fields(_zoned(value, now), self.fields, now)


def _described(fields: Mapping[str, Variable]) -> dict[str, Any]:
    return {name: variable.described for name, variable in fields.items()}


def holding(variable: Variable) -> AbstractValues:
    """The values of a variable, with those of its declared fields, each of which may be null."""
    fields = variable.fields if isinstance(variable, ListVariable | ObjectVariable) else {}
    declared = tuple((name, holding(field) | {NULL}) for name, field in fields.items())
    return frozenset({AbstractValue(variable.kind, holds=declared)}) if declared else variable.abstract_values


def _with_fields(
    value: Any, declared: Mapping[str, Variable], now: datetime | None, where: str = ""
) -> Mapping[str, Any]:
    """A record whose declared fields have values of their types; one that is missing gets its first value, or null.

    Raises `TypeMismatch`.
    """
    if not isinstance(value, Mapping):
        raise TypeMismatch(f"{where}{mismatch(value, 'an object')}")
    found = dict(value)
    for name, variable in declared.items():
        try:
            found[name] = variable.coerce(value.get(name, variable.value), now)
        except TypeMismatch as error:
            raise TypeMismatch(f'{where}field "{name}": {error}') from error
    return Record(value.name_of_type, found) if isinstance(value, Record) else found


def _zoned(value: Any, now: datetime | None) -> Any:
    """A value in which every time is in the bot's zone.

    Raises `TypeMismatch` where it is larger or deeper than a conversation keeps values.
    """
    try:
        return _in_zone(value, None if now is None else now.tzinfo, MOST_LEVELS, Measure())
    except ValueTooLarge as error:
        raise TypeMismatch(str(error)) from error


def _in_zone(value: Any, zone: tzinfo | None, levels: int, measure: Measure) -> Any:
    measure.count(value, levels)
    match value:
        case datetime() if zone is not None:
            return in_zone(value, zone)
        case Record():
            fields = {key: _in_zone(item, zone, levels - 1, measure) for key, item in value.items()}
            return Record(value.name_of_type, fields)
        case Mapping():
            return {key: _in_zone(item, zone, levels - 1, measure) for key, item in value.items()}
        case list() | tuple():
            return [_in_zone(item, zone, levels - 1, measure) for item in value]
    return value


@immutable
class FileVariable(Variable):
    """A variable that can be a file of a contact.

    With ``keep`` or ``for_conversation``, an answer is fetched and kept before the question is left. The files of
    ``keep`` stay with the contact, the others as long as a conversation or a draft of the contact has them.

    ``types`` are the suffixes of the types that are kept, such as ``pdf``; all where there are none.
    """

    kinds: tuple[str, ...] = MEDIA_KINDS
    most: int | None = None  # bytes
    types: tuple[str, ...] = ()
    for_conversation: bool = field(default=False, kw_only=True)
    written = False
    keep_key = KEEP_FILES

    @classmethod
    def read_files(cls, name: str, value: Any, fields: Fields, kinds: tuple[str, ...], **more: Any) -> Self:
        """Read `keep`, and what belongs to it: `max` and `types`."""
        sized = _LARGEST in cls.keys
        keep, most, types = KEEP_FILES.read(fields), _LARGEST.read(fields) if sized else None, _TYPES.read(fields) or ()
        for key, unknown in ((_LARGEST, "size"), (_TYPES, "content")):
            if key in cls.keys and key.written(fields) and not keep:
                what = f"{key.name} where the file is not kept: its {unknown} is not known"
                key.report(fields, "E307", what, "add keep: true, or leave it out")
        for suffix in types:
            if _SUFFIXES[suffix] not in kinds:
                what = f"types: {suffix} is a file of the kind {_SUFFIXES[suffix]}, which it does not take"
                _TYPES.report(fields, "E307", what, "leave it out, or take that kind of file")
        return cls(name, fields.mark, value, kinds, most, types, **more)

    def kept_as(self, keep: bool | str) -> Self:
        """The variable with this value of its `keep`."""
        return replace(super().kept_as(keep), for_conversation=keep == CONVERSATION)

    @property
    def keeps_files(self) -> bool:
        """True if its files are fetched and kept."""
        return self.keep or self.for_conversation

    def bytes_allowed(self, kind: str) -> int:
        """The largest size of a file of a kind that is kept: `max`, and never more than the gateway's own limit."""
        most = MEDIA_BYTES[kind]
        return most if self.most is None else min(self.most, most)

    def fetch(self, file: Media) -> Fetch:
        """The effect that keeps a file."""
        return Fetch(file, self.bytes_allowed(file.kind), self.types)

    def file_in(self, value: Any) -> Media | None:
        """The file of a value, if it has one."""
        return value if isinstance(value, Media) else None

    def of_file(self, media: Media) -> Any:
        """The value for a file."""
        return media


@immutable
class MediaVariable(FileVariable):
    """A file that the contact sent.

    ``photo: {type: media, kinds: image, keep: true, max: 5MB}``
    """

    type = "media"
    kind = ValueKind.FILE
    made_of = frozenset({ValueKind.FILE})
    keys = KeySet(_KINDS, _LARGEST, _TYPES)

    @classmethod
    def read(cls, name: str, value: Any, fields: Fields) -> Self:
        """Read `kinds`, `keep`, `max` and `types`."""
        return cls.read_files(name, value, fields, _KINDS.read(fields) or MEDIA_KINDS)

    def _taken(self, answer: Answer, now: datetime, language: str | None) -> Media:
        """The file. Raises `InvalidAnswer` for anything else, and for files of other kinds."""
        if answer.media is None or answer.media.kind not in self.kinds:
            raise InvalidAnswer(f"a file is expected: {', '.join(self.kinds)}")
        return answer.media

    def _from_value(self, value: Any, now: datetime | None) -> Media:
        if not isinstance(value, Media):
            raise mismatch(value, "a file")
        if value.kind not in self.kinds:
            raise TypeMismatch(f"it is none of {', '.join(self.kinds)}")
        return value


MOST_FILES = 100  # that one answer can have


@immutable
class FilesVariable(FileVariable):
    """Several files that the contact sent: an album, or one after the other.

    ``photos: {type: list, of: media, kinds: image, min: 2, max: 10, keep: true}``
    """

    least: int = 1
    most_files: int = MOST_FILES
    type = "list"
    kind = ValueKind.LIST
    made_of = frozenset({ValueKind.LIST})
    keys = ListVariable.keys

    @classmethod
    def read(cls, name: str, value: Any, fields: Fields) -> Self:
        """Read `kinds`, `min`, `max`, `keep` and `types`."""
        least, most = _LEAST.read(fields) or 1, _MOST.read(fields) or MOST_FILES
        if most > MOST_FILES:
            _MOST.report(
                fields, "E307", f"max: an answer has {MOST_FILES} files at most", f"write {MOST_FILES} or less"
            )
        elif least > most:
            what = f"min: {least} files at least, and {most} at most"
            _LEAST.report(fields, "E307", what, f"write a `min` of {most} or less")
        return cls.read_files(name, value, fields, _KINDS.read(fields) or MEDIA_KINDS, least=least, most_files=most)

    def _taken(self, answer: Answer, now: datetime, language: str | None) -> list[Media]:
        """The files of these kinds. Raises `InvalidAnswer` where there is none."""
        files = [file for file in answer.all_files if file.kind in self.kinds]
        if not files:
            raise InvalidAnswer(f"files are expected: {', '.join(self.kinds)}")
        return files

    def _from_value(self, value: Any, now: datetime | None) -> list[Media]:
        if not isinstance(value, list | tuple):
            raise mismatch(value, "a list of files")
        for each in value:
            if not isinstance(each, Media):
                raise mismatch(each, "a file")
            if each.kind not in self.kinds:
                raise TypeMismatch(f"a file of it is none of {', '.join(self.kinds)}")
        return list(value)

    def _bounded(self, value: list[Media]) -> list[Media]:
        if len(value) > self.most_files:
            raise TypeMismatch(f"it has {len(value)} files, {self.most_files} are allowed")
        return value


_TEXT, _LOCATION = "text", "location"
_ACCEPTS = KeySpec(
    "accepts",
    one_or_several(one_of(_TEXT, *MEDIA_KINDS, _LOCATION)),
    "The kinds of answers that it takes: text, kinds of files, location; all of them if left out.",
)


@immutable
class AnswerVariable(FileVariable):
    """A text, a file or a place, as the contact sent it: a record with ``kind``, ``text``, ``file`` and ``location``.

    ``report: {type: answer, accepts: [text, image, location], keep: true}``
    """

    accepts: tuple[str, ...] = ()
    type = "answer"
    kind = ValueKind.RECORD
    made_of = frozenset({ValueKind.RECORD, ValueKind.TEXT, ValueKind.FILE, ValueKind.PLACE})
    keys = KeySet(_ACCEPTS, _LARGEST, _TYPES)

    @classmethod
    def read(cls, name: str, value: Any, fields: Fields) -> Self:
        """Read `accepts`, `keep`, `max` and `types`."""
        accepts = _ACCEPTS.read(fields) or (_TEXT, *MEDIA_KINDS, _LOCATION)
        kinds = tuple(kind for kind in accepts if kind in MEDIA_KINDS)
        if not kinds and KEEP_FILES.read(fields):
            KEEP_FILES.report(
                fields, "E307", "keep where no file is an answer", "leave it out, or accept a kind of file"
            )
        return cls.read_files(name, value, fields, kinds, accepts=accepts)

    @property
    def takes_any_words(self) -> bool:
        """True if it accepts texts, and has no check."""
        return _TEXT in self.accepts and not self.checks

    def file_in(self, value: Any) -> Media | None:
        """The file of a value, if it has one."""
        file = value["file"]
        return file if isinstance(file, Media) else None

    def of_file(self, media: Media) -> Record:
        """The value for a file; its text is the caption."""
        return _sent(media.kind, media.caption, file=media)

    def _taken(self, answer: Answer, now: datetime, language: str | None) -> Record:
        """The record of what was sent. Raises `InvalidAnswer` for a message that it does not accept."""
        if answer.location is not None and _LOCATION in self.accepts:
            return _sent(_LOCATION, None, location=answer.location)
        if answer.media is not None and answer.media.kind in self.kinds:
            return self.of_file(answer.media)
        if answer.text and answer.text.strip() and _TEXT in self.accepts:
            return _sent(_TEXT, answer.text.strip())
        raise InvalidAnswer(f"one of these is expected: {', '.join(self.accepts)}")

    def _from_value(self, value: Any, now: datetime | None) -> Record:
        if isinstance(value, Record) and value.name_of_type == self.type:
            return value
        if isinstance(value, Media):
            return self.of_file(value)
        if isinstance(value, Location):
            return _sent(_LOCATION, None, location=value)
        if isinstance(value, str):
            return _sent(_TEXT, value)
        raise mismatch(value, "a text, a file or a place")


def _sent(kind: str, text: str | None, *, file: Media | None = None, location: Location | None = None) -> Record:
    return Record(AnswerVariable.type, {"kind": kind, "text": text, "file": file, "location": location})


@immutable
class LocationVariable(Variable):
    """A place on the map that the contact sent.

    ``spot: location``
    """

    type = "location"
    kind = ValueKind.PLACE
    made_of = frozenset({ValueKind.PLACE, ValueKind.RECORD})
    written = False
    takes_every = True

    def _taken(self, answer: Answer, now: datetime, language: str | None) -> Location:
        if answer.location is None:
            raise InvalidAnswer("a place on the map is expected")
        return answer.location

    def _from_value(self, value: Any, now: datetime | None) -> Location:
        if isinstance(value, Mapping) and value.keys() <= _PLACE:
            value = _place_of(value)
        if not isinstance(value, Location):
            raise mismatch(value, "a place on the map")
        return value


_PLACE = {"latitude", "longitude", "name", "address"}


def _place_of(record: Mapping[str, Any]) -> Location | None:
    """A place as JSON has it; None if it is invalid."""
    try:
        latitude, longitude = float(record["latitude"]), float(record["longitude"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    if not (abs(latitude) <= 90 and abs(longitude) <= 180):
        return None
    named = {key: record[key] for key in ("name", "address") if isinstance(record.get(key), str)}
    return Location(latitude, longitude, **named)
