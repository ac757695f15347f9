"""Variables that are written: texts, choices, yes or no, email addresses and phone numbers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, ClassVar, Self

import regex

from bot.lang.fields import Fields
from bot.lang.variable import Mismatch, Unfit, Variable, mismatch
from bot.lang.words import normalise

MAX_TEXT = 4096
MAX_PATTERN = 500  # characters
MAX_REPEATS = 100_000  # a pattern's counts multiplied: what it may cost to compile
PATTERN_SECONDS = 0.05  # a pattern that takes longer on one answer does not match it
_COUNT = regex.compile(r"([0-9]{1,9})\}")
_LABEL = r"[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?"
_EMAIL = regex.compile(rf"[^\s@\"<>(),;:\\.]+(?:\.[^\s@\"<>(),;:\\.]+)*@(?:{_LABEL}\.)+[\p{{L}}\p{{N}}]{{2,63}}")
_PHONE = regex.compile(r"(?:\+|00)?([1-9][0-9]{6,14})")
_PHONE_SIGNS = regex.compile(r"\(0\)|[\s().\-/]")
_YES = frozenset({"yes", "y", "true", "1", "yes please", "ok", "okay", "sure"})
_NO = frozenset({"no", "n", "false", "0", "no thanks", "nope"})


@dataclass(frozen=True, slots=True)
class TextVariable(Variable):
    """Any text, or one that matches a pattern in full."""

    pattern: Any = None
    most: int = MAX_TEXT
    example: str | None = None
    type: ClassVar[str] = "text"

    @classmethod
    def read(cls, name: str, value: Any, fields: Fields) -> Self:
        """Read `pattern`, `max` and `example`."""
        pattern, most, example = _read_pattern(fields), fields.integer("max", 1, MAX_TEXT), fields.string("example")
        variable = cls(name, fields.mark, value, pattern, most or MAX_TEXT, example)
        if example is not None:
            try:
                variable._bounded(example)
            except Mismatch as error:
                what = f'{fields.what}: the example "{example}" does not fit: {error}'
                fields.problems.add("E303", fields.mark_of("example"), what, "change one of them")
        return variable

    def _from_text(self, text: str, now: datetime) -> str:
        return text

    def _from_value(self, value: Any, now: datetime | None) -> str:
        if isinstance(value, str):
            return value
        if isinstance(value, int | float | Decimal | date | time) and not isinstance(value, bool):
            return str(value)
        raise mismatch(value, "a text")

    def _bounded(self, value: str) -> str:
        if len(value) > self.most:
            raise Mismatch(f"it is longer than {self.most} characters")
        if self.pattern is not None and not _matches(self.pattern, value):
            raise Mismatch("it does not match the pattern")
        return value


def _read_pattern(fields: Fields) -> Any:
    written = fields.string("pattern")
    if written is None:
        return None
    try:
        if len(written) > MAX_PATTERN:
            raise regex.error(f"it has {len(written)} characters, {MAX_PATTERN} are allowed")
        if math.prod(int(count) or 1 for count in _COUNT.findall(written)) > MAX_REPEATS:
            raise regex.error("it repeats too much")
        return regex.compile(written)
    except (regex.error, RecursionError, OverflowError) as error:
        what = f"{fields.what}: this pattern cannot be read: {getattr(error, 'msg', 'it is too deep')}"
        fields.problems.add("E305", fields.mark_of("pattern"), what, "write a regular expression, in single quotes")
        return None


def _matches(pattern: Any, text: str) -> bool:
    try:
        return pattern.fullmatch(text, timeout=PATTERN_SECONDS) is not None
    except TimeoutError:
        return False


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
        return self._one([choice for choice in self.of if normalise(choice) == wanted])

    def _from_value(self, value: Any, now: datetime | None) -> str:
        return self._one([choice for choice in self.of if choice == str(value)])

    def _one(self, found: Sequence[str]) -> str:
        if not found:
            raise Mismatch(f"it is none of {', '.join(self.of)}")
        return found[0]


def yes_or_no(text: str) -> bool | None:
    """What a text says; None where it is neither."""
    word = normalise(text)
    return word in _YES if word in _YES or word in _NO else None


@dataclass(frozen=True, slots=True)
class BooleanVariable(Variable):
    """Yes or no."""

    type: ClassVar[str] = "boolean"

    def _from_text(self, text: str, now: datetime) -> bool:
        said = yes_or_no(text)
        if said is None:
            raise Unfit("it is neither yes nor no")
        return said

    def _from_value(self, value: Any, now: datetime | None) -> bool:
        if value in (True, "true"):
            return True
        if value in (False, "false"):
            return False
        raise mismatch(value, "true or false")


@dataclass(frozen=True, slots=True)
class EmailVariable(Variable):
    """An email address; its domain in small letters."""

    type: ClassVar[str] = "email"

    def _from_text(self, text: str, now: datetime) -> str:
        return self._from_value(text, now)

    def _from_value(self, value: Any, now: datetime | None) -> str:
        if not isinstance(value, str):
            raise mismatch(value, "an email address")
        name, _, domain = value.strip().rpartition("@")
        address = f"{name}@{domain.lower()}"
        if len(address) > 254 or len(name) > 64 or not _matches(_EMAIL, address):
            raise Mismatch("it is no email address")
        return address


@dataclass(frozen=True, slots=True)
class PhoneVariable(Variable):
    """A phone number with its country code, kept as digits (spec: Phone number format). A local one does not fit."""

    type: ClassVar[str] = "phone"

    def _from_text(self, text: str, now: datetime) -> str:
        return self._from_value(text, now)

    def _from_value(self, value: Any, now: datetime | None) -> str:
        text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        if not isinstance(text, str):
            raise mismatch(value, "a phone number")
        found = _PHONE.fullmatch(_PHONE_SIGNS.sub("", text)) if len(text) <= 40 else None
        if found is None:
            raise Mismatch("it is no phone number with its country code")
        return str(found[1])
