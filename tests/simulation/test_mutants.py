"""The simulation finds bugs: each of those that are put in on purpose shows in one of its first seeds."""

import pytest

from tests.searches import search, tries
from tests.simulation.__main__ import found_in
from tests.simulation.mutants import MUTANTS
from tests.simulation.plan import drawn

SEEDS = 150


@search
@pytest.mark.parametrize("name", [*MUTANTS][: tries(1, len(MUTANTS))])
def test_it_is_found(name: str) -> None:
    mutant, promise = MUTANTS[name]
    with mutant():
        assert any(promise in found_in(drawn(seed)) for seed in range(SEEDS))
