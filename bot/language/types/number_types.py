"""The types number and integer."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Self

from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.language.answers.doubts import values_left_open
from bot.language.answers.readers import Reading, prepare, read_number
from bot.language.expressions.abstract_values import ValueKind
from bot.language.expressions.formats import MOST_DIGITS
from bot.language.keys.declared_keys import KeySet, KeySpec, number
from bot.language.keys.fields import Fields
from bot.language.types.variable import OutOfBounds, TypeMismatch, Variable, mismatch

MAX_INTEGER = 10**15
_MARK = lazy_pattern(
    r"(\d{1,3})\s*(?:/|out of|of|von|de|sur|su|van|из|dari)\s*(\d{1,3})(?:\s*stars?)?[.!]*", re.IGNORECASE
)


_MIN = KeySpec("min", number(), "The least that it may be; no bound if left out.")
_MAX = KeySpec("max", number(), "The most that it may be; no bound if left out.")


@immutable
class NumberVariable(Variable):
    """A number, exact: 0.1 stays 0.1.

    ``weight: {type: number, min: 0, max: 30}``
    """

    least: float | None = None
    most: float | None = None
    type = "number"
    kind = ValueKind.NUMBER
    made_of = frozenset({ValueKind.NUMBER, ValueKind.TEXT})
    keys = KeySet(_MIN, _MAX)

    @classmethod
    def read(cls, name: str, value: Any, fields: Fields) -> Self:
        """Read `min` and `max`."""
        least, most = _MIN.read(fields), _MAX.read(fields)
        if least is not None and most is not None and least > most:
            _MAX.report(fields, "E307", "max is below min", "swap them")
        return cls(name, fields.mark, value, least, most)

    @property
    def described(self) -> str:
        """``integer from 1 to 12``."""
        bounds = (("from", self.least), ("to", self.most))
        return " ".join([self.type, *(f"{word} {bound:g}" for word, bound in bounds if bound is not None)])

    @property
    def takes_every(self) -> bool:
        """True if it has no bounds."""
        return self.least is None and self.most is None

    @property
    def samples(self) -> tuple[Any, ...]:
        """The least and the greatest."""
        return () if self.least is None or self.most is None else self._ends(self.least, self.most)

    @property
    def bounded(self) -> bool:
        """Whole numbers between two bounds; others have any number of decimal places."""
        return self.whole and bool(self.samples)

    def _ends(self, least: float, most: float) -> tuple[Any, Any]:
        """The least and the greatest of its values."""
        return Decimal(str(least)), Decimal(str(most))

    def _read_text(self, text: str, now: datetime, language: str | None) -> Reading[Decimal] | None:
        return read_number(text, language, whole=self.whole)

    def _left_open(self, text: str, language: str | None) -> Sequence[Sequence[str]]:
        return values_left_open(text, language)

    def _answer_bounded(self, value: Decimal, now: datetime) -> Any:
        return self._bounded(self._typed(value))

    def prepare(self, languages: Iterable[str]) -> None:
        """The languages' words for numbers."""
        prepare(languages)

    def _from_value(self, value: Any, now: datetime | None) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
            raise mismatch(value, "a number")
        try:
            number = Decimal(str(value))
        except InvalidOperation:
            raise TypeMismatch("it is no number") from None
        if not number.is_finite() or abs(number.adjusted()) > MOST_DIGITS:
            raise TypeMismatch("it is not a number with an end, or has too many digits")
        return self._typed(number)

    def _typed(self, number: Decimal) -> Any:
        return number

    def _bounded(self, value: Any) -> Any:
        if self.least is not None and value < self.least:
            raise OutOfBounds(f"it is less than {self.least}", self.least, self.most)
        if self.most is not None and value > self.most:
            raise OutOfBounds(f"it is more than {self.most}", self.least, self.most)
        return value


@immutable
class IntegerVariable(NumberVariable):
    """A whole number. ``1.000`` is a thousand: a whole number has no three zeros behind a point."""

    type = "integer"
    whole = True

    def _ends(self, least: float, most: float) -> tuple[int, int]:
        return -int(-least // 1), int(most // 1)

    def _from_value(self, value: Any, now: datetime | None) -> Any:
        if type(value) is int and abs(value) <= MAX_INTEGER:
            return value
        return NumberVariable._from_value(self, value, now)

    def _read_text(self, text: str, now: datetime, language: str | None) -> Reading[Decimal] | None:
        """A whole number; one of the most that it may be is a mark: "4/5" and "4 out of 5" are 4, up to 5."""
        mark = _MARK.fullmatch(text.strip())
        if mark is not None and self.most == int(mark[2]):
            return Reading(Decimal(mark[1]))
        return NumberVariable._read_text(self, text, now, language)

    def _typed(self, number: Decimal) -> int:
        if abs(number) > MAX_INTEGER or number != number.to_integral_value():
            raise TypeMismatch("it is no whole number, or too large")
        return int(number)
