"""The types email and phone."""

import re
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from typing import Any, Self

from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern, unicode_pattern
from bot.language.answers.readers import Reading
from bot.language.answers.segments import says_nothing
from bot.language.expressions.abstract_values import ValueKind
from bot.language.keys.declared_keys import Form, KeySet, KeySpec
from bot.language.keys.fields import Fields, text_of
from bot.language.keys.key_schemas import pattern
from bot.language.source.problems import Problems
from bot.language.source.text_patterns import matches
from bot.language.source.yaml_tree import Node
from bot.language.types.variable import TypeMismatch, Variable, mismatch

_LABEL = r"[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?"
_EMAIL = unicode_pattern(rf"[^\s@\"<>(),;:\\.]+(?:\.[^\s@\"<>(),;:\\.]+)*@(?:{_LABEL}\.)+[\p{{L}}\p{{N}}]{{2,63}}")
_PHONE = lazy_pattern(r"(?:\+|00)?([1-9][0-9]{6,14})")
_NATIONAL = lazy_pattern(r"[0-9]{3,17}")
_SIGNS = lazy_pattern(r"\(0\)|[\s().\-‐‑‒–—−/]")
_LONGEST_PHONE = 40  # characters
_A_NUMBER = lazy_pattern(r"\+?(?:\(\+?\d{1,4}\)|\d)(?:[\s().\-‐‑‒–—−/]{0,3}\d){2,}")
_DOT_WORDS = r"\s+(?:dot|punto|ponto|point|punkt|punt|titik|nokta|точка)\s+"
_DOT = lazy_pattern(_DOT_WORDS, re.IGNORECASE)
_SPOKEN = lazy_pattern(
    r"(?<![\w.+-])([\w.+-]+)\s+(?:at|@|arroba|arobase|ät|chiocciola|apenstaartje)\s+"
    rf"([\w-]+(?:(?:\.|{_DOT_WORDS})[\w-]+)*{_DOT_WORDS}[a-z]{{2,}})",
    re.IGNORECASE,
)
"""An address as it is spoken: ``ann at gmail dot com``."""
_AN_ADDRESS = lazy_pattern(r"(?<![^\s@<>(),;:\"])[^\s@<>(),;:\"]+@[^\s@<>(),;:\"]*[^\s@<>(),;:\".!?]")


@immutable
class EmailVariable(Variable):
    """An email address; its domain in small letters.

    ``email: email``
    """

    type = "email"
    kind = ValueKind.TEXT
    made_of = frozenset({ValueKind.TEXT})
    example_answers = ("ann@shop.example",)

    def _read_text(self, text: str, now: datetime, language: str | None) -> Reading[str] | None:
        spoken = _SPOKEN.search(text)
        if spoken is not None and not says_nothing(spoken[1], language):  # "meet me at noon dot com" names nobody
            address = f"{spoken[1]}@{_DOT.sub('.', spoken[2])}"
            text = f"{text[: spoken.start()]}{address}{text[spoken.end() :]}"
        found = _AN_ADDRESS.search(text)
        if found is None or found.group() == text:
            return Reading(self._from_value(text, now))
        around = f"{text[: found.start()]} {text[found.end() :]}"
        return Reading(self._from_value(found.group(), now)) if says_nothing(around, language) else None

    def _from_value(self, value: Any, now: datetime | None) -> str:
        if not isinstance(value, str):
            raise mismatch(value, "an email address")
        name, _, domain = value.strip().rpartition("@")
        address = f"{name}@{domain.lower()}"
        if len(address) > 254 or len(name) > 64 or not matches(_EMAIL, address):
            raise TypeMismatch("it is no email address")
        return address


def _country_of(node: Node, problems: Problems, what: str) -> str | None:
    country = text_of(node, problems, what)
    if country is None:
        return None
    from phonenumbers import SUPPORTED_REGIONS  # 70 ms, which bots without national numbers need not spend

    if country in SUPPORTED_REGIONS:
        return country
    meant = {"UK": "GB"}.get(country.upper(), country.upper())
    fix = f'did you mean "{meant}"?' if meant in SUPPORTED_REGIONS else _TWO_LETTERS
    problems.add("E109", node.mark, f'{what}: "{country}" is not known', fix)
    return None


_TWO_LETTERS = "write its two letters, like ID or DE"
_COUNTRY = KeySpec("country", Form(pattern("[A-Z]{2}", _TWO_LETTERS), _country_of), "Whose national numbers are taken.")


@immutable
class PhoneVariable(Variable):
    """A phone number, kept as digits with the country code, as the gateway writes it.

    A contact may write a national number where the ``country`` is given, as two capital letters.

        phone: {type: phone, country: ID}
    """

    country: str | None = None
    type = "phone"
    kind = ValueKind.TEXT
    made_of = frozenset({ValueKind.TEXT, ValueKind.NUMBER})
    example_answers = ("+6281234567890",)
    keys = KeySet(_COUNTRY)
    samples = ("628123456789012",)  # with its country code a number has 15 digits at most (ITU-T E.164)

    @classmethod
    def read(cls, name: str, value: Any, fields: Fields) -> Self:
        """Read `country`."""
        return cls(name, fields.mark, value, _COUNTRY.read(fields))

    def prepare(self, languages: Iterable[str]) -> None:
        """The numbers of the country."""
        if self.country is not None:
            _national("0", self.country)

    def _read_text(self, text: str, now: datetime, language: str | None) -> Reading[str] | None:
        found = _A_NUMBER.search(text)
        if found is None or not says_nothing(f"{text[: found.start()]} {text[found.end() :]}", language):
            return None
        number = _digits(found.group())
        if self.country is not None and _NATIONAL.fullmatch(number) and not number.startswith("00"):
            national = _national(number, self.country)
            if national is None:
                raise TypeMismatch(f"it is no phone number of {self.country}, and has no country code")
            return Reading(national)
        return Reading(self._from_value(number, now))

    def _from_value(self, value: Any, now: datetime | None) -> str:
        text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        if not isinstance(text, str):
            raise mismatch(value, "a phone number")
        found = _PHONE.fullmatch(_digits(text))
        if found is None:
            raise TypeMismatch("it is no phone number with its country code")
        return found[1]


def _digits(text: str) -> str:
    """A number without the signs that people put into it, and with the digits of every script as 0 to 9."""
    if len(text) > _LONGEST_PHONE:
        return ""
    written = "".join(str(unicodedata.decimal(sign)) if sign.isdecimal() else sign for sign in text)
    return _SIGNS.sub("", written)


def _national(number: str, country: str) -> str | None:
    """The digits, with country code, of a number that people in a country write without ``+``; None if it is invalid.

    The first reading that is valid counts: a number of the country with its code before it, as people dial it, or
    another country's.
    """
    import phonenumbers  # loaded by `_country_of`

    parsed = []
    for written, region in ((number, country), (f"+{number}", None)):
        with suppress(phonenumbers.NumberParseException):
            parsed.append(phonenumbers.parse(written, region))
    home = phonenumbers.country_code_for_region(country)
    coded = [found for found in parsed[-1:] if found.country_code == home]
    fitting = (found for found in (*coded, *parsed) if phonenumbers.is_valid_number(found))
    return next((f"{found.country_code}{phonenumbers.national_significant_number(found)}" for found in fitting), None)
