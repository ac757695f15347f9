"""How much a search tries: a test that looks by many seeds for what nobody has thought of.

`make test` tries a few, the same each time. `make search` runs the searches alone, with all of their seeds.
"""

import os

import pytest

SEARCHING = bool(os.environ.get("SEARCH"))

search = pytest.mark.search
"""A test whose size depends on `tries`. Those of hypothesis are marked by `conftest`."""


def tries(few: int, all: int) -> int:
    """How many: ``few`` in the suite, ``all`` in a search."""
    return all if SEARCHING else few
