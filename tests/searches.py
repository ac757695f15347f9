"""How much a search tries: a test of many seeds, or of a whole space, for faults that nobody has thought of.

`make test` tries a few, the same each time. `make search` runs the searches alone, with everything.
"""

import os
from collections.abc import Callable, Iterable
from typing import TypeVar

import pytest

SEARCHING = bool(os.environ.get("SEARCH"))
Value = TypeVar("Value")
Test = TypeVar("Test", bound=Callable[..., None])

search = pytest.mark.search
"""A test whose size depends on `tries` or `some`. Those of hypothesis are marked by `conftest`."""


def tries(few: int, all: int) -> int:
    """How many: ``few`` in the suite, ``all`` in a search."""
    return all if SEARCHING else few


def some(few: int, space: Iterable[Value]) -> list[Value]:
    """``few`` values of a space in the suite, spread over it; all of them in a search."""
    every = list(space)
    return every if SEARCHING else [every[place * len(every) // few] for place in range(min(few, len(every)))]


def over(few: int, name: str, space: Iterable[object]) -> Callable[[Test], Test]:
    """A search with `some` of the space as its parameters: ``@over(4, "bot", BOTS)``."""
    tried = some(few, space)
    ids = [str(getattr(value, "name", value))[:40] for value in tried]
    parameters = pytest.mark.parametrize(name, tried, ids=ids)
    return lambda test: search(parameters(test))
