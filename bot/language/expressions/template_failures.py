"""Why a template fails: values that do not fit, or too much work in a turn. An error names a value's kind only."""

import re
from collections.abc import Mapping
from typing import Any

from bot.core.errors import BotError
from bot.core.values import Record
from bot.language.expressions.abstract_values import KINDS_BY_TYPE

_NAMED = {
    name: kind.value
    for types, kind in KINDS_BY_TYPE
    for cls in (types if isinstance(types, tuple) else (types,))
    for name in (cls.__name__, f"{cls.__module__}.{cls.__name__}")
}
"""The kinds by how Python's own errors name a value's class."""


class TemplateFailed(BotError):
    """A template or an expression fails with these values. The text of the error names no value."""


def kind_of(value: Any) -> str:
    """The kind of a value, in words. Errors name it instead of the value, which may be a contact's text."""
    return next((kind.value for types, kind in KINDS_BY_TYPE if isinstance(value, types)), "a value of another kind")


def kinds_in(message: str) -> list[str]:
    """The kinds of the values that a `TypeError` of Python's own is about, by its text."""
    return [_NAMED[name] for name in re.findall(r"[\w.]+", message) if name in _NAMED]


MOST = 5_000_000  # units in one turn: half a second or so
NODE = 10  # units: one name, operation or value that a loop's body is made of, at each pass
CALL = 20  # nodes that a filter or a function counts as, beside its own
WRITTEN = 20  # units: for each value that becomes a text, or part of one
CONTAINER = 10  # units for a list or a record itself, beside its elements
CHARACTERS = 10  # of a text that count as one value more
SHORT = 1000  # characters: a text up to here is paid for by its node
SIZED = frozenset({str, list, tuple, dict, Record})
"""The kinds of values that take the longer the larger they are."""
_MOST_KNOWN = 8  # that are not gone through again: a loop goes through the same few lists again and again


class Effort:
    """The work that the rest of a turn may do."""

    def __init__(self) -> None:
        self._left = MOST
        self._known: dict[int, tuple[Any, int]] = {}  # with the value itself, so that no other value gets its id

    def spend(self, units: int) -> None:
        """Do so much work. Raises `TemplateFailed` if less is left."""
        self._left -= units
        if self._left < 0:
            raise TemplateFailed("loops and filters do too much in one turn: loop over less, or compute it in Python")

    def count(self, value: Any, times: int) -> None:
        """Go through a value of a kind in `SIZED`: so many units for each value in it, whatever that is nested in."""
        _, weight = self._known.get(id(value), (None, 0))
        if weight:
            self.spend(times * weight)
            return
        before = self._left
        self._go_through(value, times)
        if len(self._known) == _MOST_KNOWN:
            self._known.clear()
        self._known[id(value)] = value, (before - self._left) // times

    def _go_through(self, value: Any, times: int) -> None:
        """Count the parts of a value; stop as soon as they are too many, for a value may repeat others."""
        if isinstance(value, str):
            self.spend(times * (1 + len(value) // CHARACTERS))
            return
        self.spend(times * (CONTAINER + len(value)))
        for item in value.values() if isinstance(value, Mapping) else value:
            if type(item) in SIZED and (type(item) is not str or len(item) > CHARACTERS):
                self._go_through(item, times)


EFFORT = " effort"  # the work that the templates of this turn may do; if it is missing, each template has its own limit
