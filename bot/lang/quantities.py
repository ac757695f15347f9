"""Variables that count: numbers and whole numbers."""

import re
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any, ClassVar, Self

from bot.lang.fields import Fields
from bot.lang.keys import NUMBER, Schemas, takes
from bot.lang.number_filters import MOST_DIGITS
from bot.lang.numerals import read_number
from bot.lang.variable import Mismatch, Unfit, Variable, mismatch

MAX_INTEGER = 10**15
_THOUSANDS = re.compile(r"(?<![\d.,])([1-9]\d{0,2})[.,](\d{3})(?![\d.,])")


@dataclass(frozen=True, slots=True)
class NumberVariable(Variable):
    """A number, exact: 0.1 stays 0.1."""

    least: float | None = None
    most: float | None = None
    type: ClassVar[str] = "number"
    keys: ClassVar[Schemas] = {
        "min": takes(NUMBER, "The least that it may be; no bound where nothing is said."),
        "max": takes(NUMBER, "The most that it may be; no bound where nothing is said."),
    }

    @classmethod
    def read(cls, name: str, value: Any, fields: Fields) -> Self:
        """Read `min` and `max`."""
        least, most = fields.number("min"), fields.number("max")
        if least is not None and most is not None and least > most:
            fields.problems.add("E307", fields.mark_of("max"), f"{fields.what}: max is below min", "swap them")
        return cls(name, fields.mark, value, least, most)

    def _from_text(self, text: str, now: datetime, language: str | None) -> Any:
        number = read_number(text, language)
        if number is None:
            raise Unfit("it is no number")
        return self._typed(number)

    def _from_value(self, value: Any, now: datetime | None) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
            raise mismatch(value, "a number")
        try:
            number = Decimal(str(value))
        except InvalidOperation:
            raise Mismatch("it is no number") from None
        if not number.is_finite() or abs(number.adjusted()) > MOST_DIGITS:
            raise Mismatch("it is not a number with an end, or has too many digits")
        return self._typed(number)

    def _typed(self, number: Decimal) -> Any:
        return number

    def _bounded(self, value: Any) -> Any:
        if self.least is not None and value < self.least:
            raise Mismatch(f"it is less than {self.least}")
        if self.most is not None and value > self.most:
            raise Mismatch(f"it is more than {self.most}")
        return value


@dataclass(frozen=True, slots=True)
class IntegerVariable(NumberVariable):
    """A whole number. ``1.000`` is a thousand: nobody writes three zeros after a whole number's point."""

    type: ClassVar[str] = "integer"

    def _from_text(self, text: str, now: datetime, language: str | None) -> Any:
        return NumberVariable._from_text(self, _THOUSANDS.sub(r"\1\2", text), now, language)

    def _typed(self, number: Decimal) -> int:
        if abs(number) > MAX_INTEGER or number != number.to_integral_value():
            raise Mismatch("it is no whole number, or too large")
        return int(number)
