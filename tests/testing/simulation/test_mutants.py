"""The simulation finds bugs: each of those that are put in on purpose shows in one of its first seeds."""

import pytest

from tests.searches import SEARCHING, search, tries
from tests.testing.simulation.__main__ import found_in
from tests.testing.simulation.mutants import MUTANTS, connection_made_anew
from tests.testing.simulation.plan import Plan, drawn

SEEDS = 300


@search
@pytest.mark.parametrize("name", [*MUTANTS][: tries(1, len(MUTANTS))])
def test_it_is_found(name: str) -> None:
    mutant, promise = MUTANTS[name]
    with mutant():
        assert any(promise in found_in(drawn(seed)) for seed in range(SEEDS))


@search
@pytest.mark.skipif(not SEARCHING, reason="it takes seconds")
def test_a_connection_that_is_made_anew_is_found() -> None:
    plans = [plan for plan in map(drawn, range(100, 400)) if ("engine", "failing") in _disks(plan)]
    with connection_made_anew():
        assert any(found_in(plan, "postgres") for plan in plans)


def _disks(plan: Plan) -> set[tuple[str, str]]:
    return {(step.given["file"], step.given["trouble"]) for step in plan.steps if step.kind == "disk"}
