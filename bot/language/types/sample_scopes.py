"""Trials of texts: scopes with values that the variables may have, the longest first."""

import json
from collections.abc import Collection, Iterator, Mapping
from datetime import date, datetime
from itertools import islice, product
from typing import Any

from bot.core.messages import clip
from bot.core.values import Record
from bot.language.expressions.filters import DRAW
from bot.language.expressions.formats import as_spoken, written
from bot.language.expressions.grammar import WINDOW_OPEN
from bot.language.expressions.template_failures import TemplateFailed
from bot.language.source.languages import CONTACT_LANGUAGE
from bot.language.types.text_types import FILLER
from bot.language.types.variable import Variable

MOST_SCOPES = 64
_EACH = 12  # values of one variable
_DAY = datetime(2030, 9, 25, 10, 55, 55)  # of the longest names
_SHOWN = 30  # characters of a value in a finding

Values = Mapping[str, Any]
"""The values of the variables of a text, by name."""


class SampleScopes:
    """Picks the values with which the texts of a flow are tried out."""

    def __init__(self, variables: Mapping[str, Variable], language: str | None = None) -> None:
        self._variables = variables
        self._language = language
        self._known: dict[str, list[Any]] = {}

    def finite(self, names: Collection[str]) -> bool:
        """True if all values of these names are known, and are few enough to be tried."""
        found = [self._variables[name].values if name in self._variables else None for name in names]
        count = 1
        for values in found:
            count *= MOST_SCOPES if values is None else len(values) + 1
        return count <= MOST_SCOPES and None not in found

    def of(self, names: Collection[str]) -> Iterator[Values]:
        """Values of these names, as far as they are variables of the flow."""
        known = sorted(name for name in names if name in self._variables)
        every = product(*map(self._tried, known))
        return (dict(zip(known, values, strict=True)) for values in islice(every, MOST_SCOPES))

    def emptied(self, names: Collection[str]) -> Iterator[Values]:
        """Values of these names where one of them, or every list, is null as far as it may be."""
        first = {name: self._tried(name)[0] for name in sorted(names) if name in self._variables}
        empty = [name for name in first if self._tried(name)[-1] is None]
        lists = [name for name in empty if self._variables[name].type == "list"]
        yield from ({**first, **dict.fromkeys(each)} for each in (*([name] for name in empty), lists))

    def longest(self, names: Collection[str]) -> int:
        """The characters of the longest value that is tried for one of these names."""
        first = (self._tried(name)[0] for name in names if name in self._variables)
        return max(map(self._length, first), default=0)

    def scope(self, values: Values) -> dict[str, Any]:
        """The names for a text besides these values: a contact without a name or email."""
        contact = Record("contact", {"id": "6281234567890", "name": None, "email": None, "tags": []})
        message = Record("message", {"text": None, "kind": None, "tapped": False, "file": None})
        seen = {
            "contact": contact,
            "now": _DAY,
            "today": _DAY.date(),
            "came_from": None,
            "message": message,
            WINDOW_OPEN: True,
        }
        return {**seen, CONTACT_LANGUAGE: self._language, DRAW: float, **values}

    def _tried(self, name: str) -> list[Any]:
        """Some values of a variable, the longest first; null where it may begin with it."""
        if name not in self._known:
            self._known[name] = self._values_of(self._variables[name])
        return self._known[name]

    def _values_of(self, variable: Variable) -> list[Any]:
        found = sorted(variable.samples, key=self._length, reverse=True)
        fit = [value for value in found if self._passes(variable, value)][:_EACH]
        return [*fit, None] if variable.value is None or not fit else fit

    def _length(self, value: Any) -> int:
        """The length of the value as a text; a day is written out in the language."""
        return len(as_spoken(value, {CONTACT_LANGUAGE: self._language}) if isinstance(value, date) else written(value))

    def _passes(self, variable: Variable, value: Any) -> bool:
        try:
            return all(check.condition.evaluate({**self.scope({}), "it": value}) for check in variable.checks)
        except TemplateFailed:
            return False


def in_words(values: Values, *, nulls: bool = False) -> str:
    """Values in words, to put behind a finding: `` with size = "L"``; null only with ``nulls``."""
    found = [f"{name} = {_told(value)}" for name, value in values.items() if nulls or value is not None]
    return f" with {', '.join(found)}" if found else ""


def _told(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, dict) or value == []:
        return clip(json.dumps(value, ensure_ascii=False, default=str), _SHOWN)
    text = written(value)
    return f"a text of {len(text)}" if text == FILLER * len(text) else f'"{clip(text, _SHOWN)}"'
