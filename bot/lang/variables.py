"""Variables: their types, what an answer must be to become their value, and what a program's value must be."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, ClassVar, Self

import regex

from bot.core.errors import BotError
from bot.core.messages import MEDIA_KINDS
from bot.core.values import Location, Media, Record
from bot.lang import durations
from bot.lang.dates import read_date
from bot.lang.fields import Fields
from bot.lang.problems import Problems, did_you_mean
from bot.lang.source import Map, Mark, Node, Scalar
from bot.lang.words import normalise

MOST_TEXT = 4096
PATTERN_SECONDS = 0.05  # a pattern that takes longer on one answer does not match it
_EMAIL = regex.compile(
    r"[^\s@\"<>(),;:\\]{1,64}@(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.)+[\p{L}\p{N}]{2,63}"
)
_NUMBER = regex.compile(r"[-+]?\d{1,15}(?:[.,]\d{1,9})?")
_GROUPED = regex.compile(r"[-+]?\d{1,3}(?:[, ]\d{3})+(?:\.\d{1,9})?")
_YES = frozenset({"yes", "y", "true", "1", "yes please", "ok", "okay", "sure"})
_NO = frozenset({"no", "n", "false", "0", "no thanks", "nope"})


class Unfit(BotError):
    """A contact's answer is no value of the variable."""


class Mismatch(BotError):
    """A value that a flow or a handler gives does not fit the variable."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a contact sent in answer to a question."""

    text: str | None = None
    media: Media | None = None
    location: Location | None = None


@dataclass(frozen=True, slots=True)
class Variable:
    """A declared variable. The kinds of variables are its subclasses, in `TYPES`."""

    name: str
    mark: Mark
    value: Any = None
    type: ClassVar[str] = ""

    @classmethod
    def read(cls, name: str, value: Any, fields: Fields) -> Self:
        """Read the settings that this type has of its own."""
        return cls(name, fields.mark, value)

    def accept(self, answer: Answer, now: datetime) -> Any:
        """The value that a contact's answer stands for. Raises `Unfit`."""
        if answer.text is None or not answer.text.strip():
            raise Unfit("a text is expected")
        try:
            return self._bounded(self._from_text(answer.text.strip(), now), now)
        except Mismatch as mismatch:
            raise Unfit(str(mismatch)) from mismatch

    def coerce(self, value: Any, now: datetime | None) -> Any:
        """A program's value as one of this variable's; null stays null. Raises `Mismatch`."""
        return None if value is None else self._bounded(self._from_value(value, now), now)

    def _from_text(self, text: str, now: datetime) -> Any:
        raise Unfit(f"{self.type} cannot be written")

    def _from_value(self, value: Any, now: datetime | None) -> Any:
        raise Mismatch(f"it is no {self.type}")

    def _bounded(self, value: Any, now: datetime | None) -> Any:
        return value


@dataclass(frozen=True, slots=True)
class TextVariable(Variable):
    """Any text, or one that matches a pattern in full."""

    pattern: Any = None
    most: int = MOST_TEXT
    example: str | None = None
    type: ClassVar[str] = "text"

    @classmethod
    def read(cls, name: str, value: Any, fields: Fields) -> Self:
        """Read `pattern`, `max` and `example`."""
        written = fields.string("pattern")
        pattern = None
        if written is not None:
            try:
                pattern = regex.compile(written)
            except regex.error as error:
                fields.problems.add(
                    "E305", fields.mark_of("pattern"), f"{fields.what}: {error.msg}", "mend the regular expression"
                )
        most = fields.integer("max", 1, MOST_TEXT) or MOST_TEXT
        variable = cls(name, fields.mark, value, pattern, most, fields.string("example"))
        if pattern is not None and variable.example is not None and not variable._matches(variable.example):
            fields.problems.add(
                "E303", fields.mark_of("example"), f'{fields.what}: "{variable.example}" does not match the pattern'
            )
        return variable

    def _matches(self, text: str) -> bool:
        try:
            return self.pattern is None or self.pattern.fullmatch(text, timeout=PATTERN_SECONDS) is not None
        except TimeoutError:
            return False

    def _from_text(self, text: str, now: datetime) -> str:
        return text

    def _from_value(self, value: Any, now: datetime | None) -> str:
        if isinstance(value, str):
            return value
        if isinstance(value, int | float | Decimal | date | time):
            return str(value)
        raise Mismatch(f"a {_kind(value)} is no text")

    def _bounded(self, value: str, now: datetime | None) -> str:
        if len(value) > self.most:
            raise Mismatch(f"it is longer than {self.most} characters")
        if not self._matches(value):
            raise Mismatch("it does not match the pattern")
        return value


@dataclass(frozen=True, slots=True)
class NumberVariable(Variable):
    """A number, exact: 0.1 stays 0.1."""

    least: float | None = None
    most: float | None = None
    type: ClassVar[str] = "number"

    @classmethod
    def read(cls, name: str, value: Any, fields: Fields) -> Self:
        """Read `min` and `max`."""
        return cls(name, fields.mark, value, fields.number("min"), fields.number("max"))

    def _from_text(self, text: str, now: datetime) -> Any:
        if _GROUPED.fullmatch(text):
            return self._number(text.replace(",", "").replace(" ", ""))
        if not _NUMBER.fullmatch(text):
            raise Unfit("it is no number")
        return self._number(text.replace(",", "."))

    def _from_value(self, value: Any, now: datetime | None) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
            raise Mismatch(f"a {_kind(value)} is no number")
        return self._number(str(value))

    def _number(self, text: str) -> Any:
        try:
            number = Decimal(text)
        except InvalidOperation:
            raise Mismatch("it is no number") from None
        if not number.is_finite():
            raise Mismatch("it is no number")
        return number

    def _bounded(self, value: Any, now: datetime | None) -> Any:
        if self.least is not None and value < self.least:
            raise Mismatch(f"it is less than {self.least}")
        if self.most is not None and value > self.most:
            raise Mismatch(f"it is more than {self.most}")
        return value


@dataclass(frozen=True, slots=True)
class IntegerVariable(NumberVariable):
    """A whole number."""

    type: ClassVar[str] = "integer"

    def _number(self, text: str) -> int:
        number = NumberVariable._number(self, text)
        if number != number.to_integral_value() or abs(number) > 10**15:
            raise Mismatch("it is no whole number")
        return int(number)


@dataclass(frozen=True, slots=True)
class ChoiceVariable(Variable):
    """One of a few texts."""

    of: tuple[str, ...] = ()
    type: ClassVar[str] = "choice"

    @classmethod
    def read(cls, name: str, value: Any, fields: Fields) -> Self:
        """Read `of`."""
        fields.require("of")
        return cls(name, fields.mark, value, fields.strings("of"))

    def _from_text(self, text: str, now: datetime) -> str:
        wanted = normalise(text)
        for choice in self.of:
            if normalise(choice) == wanted:
                return choice
        raise Unfit(f"it is none of {', '.join(self.of)}")

    def _from_value(self, value: Any, now: datetime | None) -> str:
        if value in self.of:
            return str(value)
        raise Mismatch(f"it is none of {', '.join(self.of)}")


@dataclass(frozen=True, slots=True)
class BooleanVariable(Variable):
    """Yes or no."""

    type: ClassVar[str] = "boolean"

    def _from_text(self, text: str, now: datetime) -> bool:
        word = normalise(text)
        if word in _YES or word in _NO:
            return word in _YES
        raise Unfit("it is neither yes nor no")

    def _from_value(self, value: Any, now: datetime | None) -> bool:
        if isinstance(value, bool):
            return value
        raise Mismatch(f"a {_kind(value)} is neither true nor false")


@dataclass(frozen=True, slots=True)
class DateVariable(Variable):
    """A day. ``after`` and ``before`` exclude the day that they name; ``within`` counts from today."""

    after: str | None = None
    before: str | None = None
    within: timedelta | None = None
    type: ClassVar[str] = "date"

    @classmethod
    def read(cls, name: str, value: Any, fields: Fields) -> Self:
        """Read `after`, `before` and `within`."""
        bounds = {key: fields.string(key) for key in ("after", "before")}
        for key, bound in bounds.items():
            if bound is not None and bound != "today" and not _is_iso(bound):
                fields.problems.add(
                    "E106",
                    fields.mark_of(key),
                    f'{fields.what}: {key}: "{bound}" is no day',
                    "write today or 2030-12-31",
                )
                bounds[key] = None
        if isinstance(value, str) and _is_iso(value):
            value = date.fromisoformat(value)
        return cls(name, fields.mark, value, bounds["after"], bounds["before"], fields.duration("within"))

    def _from_text(self, text: str, now: datetime) -> date:
        found = read_date(text, now.date())
        if found is None:
            raise Unfit("it is no day")
        return found

    def _from_value(self, value: Any, now: datetime | None) -> date:
        if isinstance(value, datetime):
            return value.date()
        if isinstance(value, date):
            return value
        if isinstance(value, str) and _is_iso(value):
            return date.fromisoformat(value)
        raise Mismatch(f"a {_kind(value)} is no day")

    def accept(self, answer: Answer, now: datetime) -> Any:
        """The day that an answer means, within the bounds. Raises `Unfit`."""
        found = Variable.accept(self, answer, now)
        today = now.date()
        if self.after is not None and found <= self._bound(self.after, today):
            raise Unfit("it is too early")
        if self.before is not None and found >= self._bound(self.before, today):
            raise Unfit("it is too late")
        if self.within is not None and not today <= found <= today + self.within:
            raise Unfit(f"it is not within {durations.words(self.within)}")
        return found

    def _bound(self, bound: str, today: date) -> date:
        return today if bound == "today" else date.fromisoformat(bound)


@dataclass(frozen=True, slots=True)
class EmailVariable(Variable):
    """An email address; its domain in small letters."""

    type: ClassVar[str] = "email"

    def _from_text(self, text: str, now: datetime) -> str:
        return self._from_value(text, now)

    def _from_value(self, value: Any, now: datetime | None) -> str:
        if not isinstance(value, str) or len(value) > 254 or not _EMAIL.fullmatch(value.strip()):
            raise Mismatch("it is no email address")
        name, _, domain = value.strip().rpartition("@")
        return f"{name}@{domain.lower()}"


@dataclass(frozen=True, slots=True)
class PhoneVariable(Variable):
    """A phone number with its country code, kept as digits (spec: Phone number format)."""

    type: ClassVar[str] = "phone"

    def _from_text(self, text: str, now: datetime) -> str:
        return self._from_value(text, now)

    def _from_value(self, value: Any, now: datetime | None) -> str:
        text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        if not isinstance(text, str) or len(text) > 40:
            raise Mismatch("it is no phone number")
        digits = regex.sub(r"[\s().\-/]", "", text.strip())
        digits = digits.removeprefix("+") if digits.startswith("+") else digits.removeprefix("00")
        if not regex.fullmatch(r"[1-9][0-9]{6,14}", digits):
            raise Mismatch("it is no phone number with its country code")
        return str(digits)


@dataclass(frozen=True, slots=True)
class ListVariable(Variable):
    """A list, as a handler returns it."""

    most: int | None = None
    type: ClassVar[str] = "list"

    @classmethod
    def read(cls, name: str, value: Any, fields: Fields) -> Self:
        """Read `max`."""
        return cls(name, fields.mark, value, fields.integer("max", 1))

    def _from_value(self, value: Any, now: datetime | None) -> list[Any]:
        if isinstance(value, list | tuple):
            return list(value)
        raise Mismatch(f"a {_kind(value)} is no list")

    def _bounded(self, value: list[Any], now: datetime | None) -> list[Any]:
        if self.most is not None and len(value) > self.most:
            raise Mismatch(f"it has {len(value)} elements, {self.most} are allowed")
        return value


@dataclass(frozen=True, slots=True)
class ObjectVariable(Variable):
    """A record or a map, as a handler returns it."""

    type: ClassVar[str] = "object"

    def _from_value(self, value: Any, now: datetime | None) -> Mapping[str, Any]:
        if isinstance(value, Mapping):
            return value if isinstance(value, Record) else dict(value)
        raise Mismatch(f"a {_kind(value)} is no object")


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
                fields.problems.add(
                    "E109", fields.mark_of("kinds"), f'{fields.what}: kinds: "{kind}" is not known', fix
                )
        return cls(name, fields.mark, value, kinds)

    def accept(self, answer: Answer, now: datetime) -> Any:
        """The file. Raises `Unfit` for anything else, and for files of other kinds."""
        if answer.media is None or answer.media.kind not in self.kinds:
            raise Unfit(f"a file is expected: {', '.join(self.kinds)}")
        return answer.media

    def _from_value(self, value: Any, now: datetime | None) -> Media:
        if isinstance(value, Media):
            return value
        raise Mismatch(f"a {_kind(value)} is no file")


TYPES: dict[str, type[Variable]] = {
    variable.type: variable
    for variable in (
        TextVariable, IntegerVariable, NumberVariable, ChoiceVariable, BooleanVariable, DateVariable,
        EmailVariable, PhoneVariable, ListVariable, ObjectVariable, MediaVariable,
    )
}  # fmt: skip
LATER = {"keep": "variables that outlive a conversation", "check": "checks of answers", "country": "national numbers"}


def read_variable(name: str, node: Node, problems: Problems) -> Variable:
    """Read a declaration: ``{type: text, ...}``, or the type alone."""
    what = f'variable "{name}"'
    if isinstance(node, Scalar) and node.value is not None:
        node = Map(node.mark, ((Scalar(node.mark, "type", "type"), node),))
    fields = Fields(node, problems, what)
    kind = fields.string("type") if fields.require("type") else None
    declared = TYPES.get(kind or "")
    if declared is None:
        if kind is not None:
            fix = did_you_mean(kind, TYPES, f"write one of {', '.join(TYPES)}")
            problems.add("E304", fields.mark_of("type"), f'{what}: no type "{kind}"', fix)
        return TextVariable(name, node.mark)
    fields.boolean("optional")  # says that null is fine: every variable may be null
    initial = fields.raw("value")
    variable = declared.read(name, None if initial is None else _plain(initial), fields)
    fields.close(LATER)
    return _with_value(variable, initial, problems)


def _with_value(variable: Variable, initial: Node | None, problems: Problems) -> Variable:
    """The variable with its first value in the right type."""
    if initial is None:
        return variable
    try:
        return replace(variable, value=variable.coerce(variable.value, None))
    except Mismatch as mismatch:
        problems.add("E303", initial.mark, f'variable "{variable.name}": its value does not fit: {mismatch}')
        return variable


def _plain(node: Node) -> Any:
    match node:
        case Scalar():
            return node.value
        case Map(entries=entries):
            return {key.text: _plain(value) for key, value in entries}
        case _:
            return [_plain(item) for item in node.items]


def _is_iso(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _kind(value: Any) -> str:
    names = {str: "text", int: "number", float: "number", Decimal: "number", bool: "truth value", dict: "map"}
    return names.get(type(value), type(value).__name__.lower())
