"""How much the templates of one turn may do. It is counted and not timed, so that a turn comes out the same each time.

What stands outside of loops is bounded by its own length; what loops repeat, and what single filters take long for, is
counted here. A unit is about a tenth of a microsecond.
"""

from collections.abc import Mapping
from typing import Any

from bot.core.values import Record
from bot.lang.failures import TemplateFailed

MOST = 5_000_000  # units in one turn: half a second or so
NODE = 10  # units: one name, operation or value that a loop's body is made of, at each pass
CALL = 20  # nodes that a filter or a function counts as, beside its own
WRITTEN = 20  # units: for each value in what becomes a text, or another one
CONTAINER = 10  # values that a list or a record counts as, beside what is in it
CHARACTERS = 10  # of a text that count as one value more
SHORT = 1000  # characters: a text up to here is paid for by its node
SIZED = frozenset({str, list, tuple, dict, Record})
"""The kinds of values that take the longer the larger they are."""
_MOST_KNOWN = 8  # that are not gone through again: a loop comes to the same few lists all the time


class Effort:
    """What may still be done in one turn."""

    def __init__(self) -> None:
        self._left = MOST
        self._known: dict[int, tuple[Any, int]] = {}  # with the value itself, so that no other takes its id

    def spend(self, units: int) -> None:
        """Do so much of it. Raises `TemplateFailed` where that is more than is left."""
        self._left -= units
        if self._left < 0:
            raise TemplateFailed("loops and filters do too much in one turn: go over less, or work it out in Python")

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
        """Spend on the way: what holds a list many times is never gone through to its end."""
        if isinstance(value, str):
            self.spend(times * (1 + len(value) // CHARACTERS))
            return
        self.spend(times * (CONTAINER + len(value)))
        for item in value.values() if isinstance(value, Mapping) else value:
            if type(item) in SIZED and (type(item) is not str or len(item) > CHARACTERS):
                self._go_through(item, times)
