"""Types number and integer; how people write numbers: ``1,200``, ``3,5``, ``5 kg``, ``€20``, ``twenty-five``."""

import re
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Self

from bot.core.immutable import immutable
from bot.language.expressions.abstract_values import ValueKind
from bot.language.expressions.formats import MOST_DIGITS, decimal_sign
from bot.language.keys.declared_keys import KeySet, KeySpec, number
from bot.language.keys.fields import Fields
from bot.language.source.word_matching import normalise
from bot.language.types.variable import TypeMismatch, Variable, fitting, mismatch

MAX_INTEGER = 10**15
_THOUSANDS = re.compile(r"(?<![\d.,])([1-9]\d{0,2})[.,](\d{3})(?![\d.,])")


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

    def _from_text(self, text: str, now: datetime, language: str | None) -> Any:
        return self._typed(fitting(read_number(text, language), "it is no number"))

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
            raise TypeMismatch(f"it is less than {self.least}")
        if self.most is not None and value > self.most:
            raise TypeMismatch(f"it is more than {self.most}")
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

    def _from_text(self, text: str, now: datetime, language: str | None) -> Any:
        return NumberVariable._from_text(self, _THOUSANDS.sub(r"\1\2", text), now, language)

    def _typed(self, number: Decimal) -> int:
        if abs(number) > MAX_INTEGER or number != number.to_integral_value():
            raise TypeMismatch("it is no whole number, or too large")
        return int(number)


_LONGEST_NUMBER = 60  # characters
_LONGEST_SINGLE = 15  # digits without signs
_SPACES = re.compile(r"[\s'’_]")
_BY_COMMAS = re.compile(r"[1-9]\d{0,2}(,\d{3})+(\.\d{1,9})?")  # 1,000 and 1,234.5
_BY_POINTS = re.compile(r"[1-9]\d{0,2}(\.\d{3})+,\d{1,9}|[1-9]\d{0,2}(\.\d{3}){2,}")  # 1.234,5 and 1.000.000
_SINGLE = re.compile(r"\d{1,15}([.,]\d{1,9})?|[.,]\d{1,9}")  # 3, 3.5, 3,5 and .5
_EITHER = re.compile(r"[1-9]\d{0,2}[.,]\d{3}")  # 1,000 and 1.000: a thousand or one, by the language
_BESIDE = re.compile(  # at most one sign before the number, and one sign or word behind it
    r"(?:[$€£¥₹₽₩₺]|rp\.?)?\s*(?P<number>[+\-\u2212]?[\d.,'’_\s]*\d)\s*(?:[%$€£¥₹₽₩₺]|[^\W\d_]{1,20}\.?)?",
    re.IGNORECASE,
)
_UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_NAMED = {**{word: n for n, word in enumerate(_UNITS)}, **{word: 10 * n for n, word in enumerate(_TENS, 2)}}
_TIMES = {"dozen": 12, "hundred": 100}
_LARGE = {"thousand": 1000, "million": 1_000_000}
_KNOWN = frozenset({*_NAMED, *_TIMES, *_LARGE})
_FILLERS = frozenset({"a", "an", "and"})


def read_number(text: str, language: str | None = None) -> Decimal | None:
    """The number that somebody wrote, or None.

    A comma before three digits divides thousands (``1,000``), any other is a decimal comma (``3,5``); a single point
    is a decimal point. In a language with a decimal comma ``1.000`` is a thousand and ``1,000`` is one. Spaces and
    apostrophes between digits divide thousands. A sign or a word may stand beside the number: ``5 kg``, ``20%``.
    """
    if text.isdecimal() and text.isascii() and len(text) <= _LONGEST_SINGLE:
        return Decimal(text)
    if len(text) > _LONGEST_NUMBER:
        return None
    found = _BESIDE.fullmatch(text)
    return _in_words(text) if found is None else _in_digits(found["number"], language)


def _in_digits(text: str, language: str | None) -> Decimal | None:
    text = _SPACES.sub("", text).replace("\u2212", "-")
    sign, digits = ("-", text[1:]) if text[:1] == "-" else ("", text.removeprefix("+"))
    if _EITHER.fullmatch(digits) and language is not None and decimal_sign(language) == ",":
        return Decimal(sign + digits.replace(".", "").replace(",", "."))
    if _BY_COMMAS.fullmatch(digits):
        return Decimal(sign + digits.replace(",", ""))
    if _BY_POINTS.fullmatch(digits):
        return Decimal(sign + digits.replace(".", "").replace(",", "."))
    return Decimal(sign + digits.replace(",", ".")) if _SINGLE.fullmatch(digits) else None


def _in_words(text: str) -> Decimal | None:
    """English words, and perhaps one behind them: ``three``, ``twenty-five people``, ``two hundred and ten``."""
    words = [word for word in normalise(text).split() if word not in _FILLERS]
    if words and words[-1] not in _KNOWN:
        words.pop()
    return _counted(words)


def _counted(words: list[str]) -> Decimal | None:
    total, part, known = 0, 0, bool(words)
    for word in words:
        if word in _NAMED and _goes_on(part, _NAMED[word]):
            part += _NAMED[word]
        elif word in _TIMES:
            part = max(part, 1) * _TIMES[word]
        elif word in _LARGE:
            total, part = total + max(part, 1) * _LARGE[word], 0
        else:
            known = False
    return Decimal(total + part) if known else None


def _goes_on(part: int, number: int) -> bool:
    """True if a number may follow: after nothing, after hundreds, or a single one after a ten."""
    return part % 100 == 0 or (part % 10 == 0 and part % 100 >= 20 and 0 < number < 10)
