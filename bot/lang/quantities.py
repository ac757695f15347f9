"""Variables that count: numbers, whole numbers and dates."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, ClassVar, Self

from bot.lang import durations
from bot.lang.dates import read_date
from bot.lang.fields import Fields
from bot.lang.variable import Answer, Mismatch, Unfit, Variable, mismatch

MAX_INTEGER = 10**15
_SPACES = re.compile(r"[\s'’_]")
_BY_COMMAS = re.compile(r"[1-9]\d{0,2}(,\d{3})+(\.\d{1,9})?")  # 1,000 and 1,234.5
_BY_POINTS = re.compile(r"[1-9]\d{0,2}(\.\d{3})+,\d{1,9}|[1-9]\d{0,2}(\.\d{3}){2,}")  # 1.234,5 and 1.000.000
_SINGLE = re.compile(r"\d{1,15}([.,]\d{1,9})?|[.,]\d{1,9}")  # 3, 3.5, 3,5 and .5
_THOUSANDS = re.compile(r"[1-9]\d{0,2}\.\d{3}")


def read_number(text: str) -> Decimal | None:
    """The number that somebody wrote, or None.

    A comma before three digits divides thousands (``1,000``), any other is a decimal comma (``3,5``); a single
    point is a decimal point. Spaces and apostrophes between digits divide thousands.
    """
    text = _SPACES.sub("", text).replace("\u2212", "-")
    sign, digits = ("-", text[1:]) if text[:1] == "-" else ("", text.removeprefix("+"))
    if _BY_COMMAS.fullmatch(digits):
        return Decimal(sign + digits.replace(",", ""))
    if _BY_POINTS.fullmatch(digits):
        return Decimal(sign + digits.replace(".", "").replace(",", "."))
    return Decimal(sign + digits.replace(",", ".")) if _SINGLE.fullmatch(digits) else None


@dataclass(frozen=True, slots=True)
class NumberVariable(Variable):
    """A number, exact: 0.1 stays 0.1."""

    least: float | None = None
    most: float | None = None
    type: ClassVar[str] = "number"

    @classmethod
    def read(cls, name: str, value: Any, fields: Fields) -> Self:
        """Read `min` and `max`."""
        least, most = fields.number("min"), fields.number("max")
        if least is not None and most is not None and least > most:
            fields.problems.add("E307", fields.mark_of("max"), f"{fields.what}: max is below min", "swap them")
        return cls(name, fields.mark, value, least, most)

    def _from_text(self, text: str, now: datetime) -> Any:
        number = read_number(text)
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
        if not number.is_finite():
            raise Mismatch("it is not a number with an end")
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

    def _from_text(self, text: str, now: datetime) -> Any:
        bare = text.lstrip("+-")
        return NumberVariable._from_text(self, text.replace(".", "") if _THOUSANDS.fullmatch(bare) else text, now)

    def _typed(self, number: Decimal) -> int:
        if abs(number) > MAX_INTEGER or number != number.to_integral_value():
            raise Mismatch("it is no whole number, or too large")
        return int(number)


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
        after, before = _read_bound(fields, "after"), _read_bound(fields, "before")
        within = fields.duration("within")
        if after is not None and before is not None and (after == before or (after > before and after != "today")):
            what = f"{fields.what}: no day is after {after} and before {before}"
            fields.problems.add("E307", fields.mark_of("before"), what, "swap them")
        return cls(name, fields.mark, value, after, before, within)

    def accept(self, answer: Answer, now: datetime, scope: Mapping[str, Any] | None = None) -> Any:
        """The day that an answer means, within the bounds. Raises `Unfit`."""
        found = Variable.accept(self, answer, now, scope)
        today = now.date()
        if self.after is not None and found <= _day(self.after, today):
            raise Unfit("it is too early")
        if self.before is not None and found >= _day(self.before, today):
            raise Unfit("it is too late")
        if self.within is not None and not today <= found <= today + self.within:
            raise Unfit(f"it is not within {durations.words(self.within)}")
        return found

    def _from_text(self, text: str, now: datetime) -> date:
        found = read_date(text, now.date())
        if found is None:
            raise Unfit("it is no day")
        return found

    def _from_value(self, value: Any, now: datetime | None) -> date:
        if isinstance(value, datetime):
            here = value.astimezone(now.tzinfo) if value.tzinfo is not None and now is not None else value
            return here.date()
        if isinstance(value, date):
            return value
        if isinstance(value, str) and (day := _iso(value)) is not None:
            return day
        raise mismatch(value, "a date like 2030-12-31")


def _read_bound(fields: Fields, key: str) -> str | None:
    written = fields.string(key)
    if written is None or written == "today" or _iso(written) is not None:
        return written
    what = f'{fields.what}: {key}: "{written}" is no day'
    fields.problems.add("E106", fields.mark_of(key), what, "write today, or a date like 2030-12-31")
    return None


def _day(bound: str, today: date) -> date:
    return today if bound == "today" else date.fromisoformat(bound)


def _iso(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if len(text) == 10 else None
    except ValueError:
        return None
