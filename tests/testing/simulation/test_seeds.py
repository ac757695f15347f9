"""Seeds of the deterministic simulation: no promise is broken, whatever goes wrong."""

import pytest

from tests.searches import search, tries
from tests.testing.simulation.__main__ import STORES, found_in, only, shrunk
from tests.testing.simulation.mutants import window_not_checked
from tests.testing.simulation.plan import drawn
from tests.testing.simulation.world import played

SEEDS = tries(10, 500)
AT_ONCE = tries(5, 10)


@search
@pytest.mark.parametrize("first", range(0, SEEDS, AT_ONCE))
def test_no_seed_breaks_a_promise(first: int) -> None:
    for seed in range(first, first + AT_ONCE):
        assert not found_in(drawn(seed)), f"python -m tests.testing.simulation --seed {seed} --shrink"


@search
def test_no_seed_breaks_a_promise_in_a_database() -> None:
    for seed in range(tries(1, 60)):
        assert not found_in(drawn(seed), "postgres"), (
            f"python -m tests.testing.simulation --seed {seed} --store postgres --shrink"
        )


@search
@pytest.mark.parametrize("store", [*STORES][: tries(1, 2)])
def test_a_seed_has_the_same_history_each_time(store: str) -> None:
    histories = []
    for _ in range(2):
        with played(drawn(7), STORES[store]) as world:
            histories.append(world.machine.history)
    assert len(histories[0]) > 20
    assert histories[0] == histories[1]


def test_what_fails_shrinks_to_what_matters() -> None:
    with window_not_checked():
        plan = next(plan for plan in map(drawn, range(100)) if "window_kept" in found_in(plan))
        kept = shrunk(plan, range(len(plan.steps)))
        assert "window_kept" in found_in(only(plan, kept))
    assert len(kept) < len(plan.steps) / 2


def test_only_some_steps_of_a_plan_happen_when_they_would_have() -> None:
    plan = drawn(0)
    last = len(plan.steps) - 1
    assert only(plan, [last]).steps[0].after == sum(step.after for step in plan.steps)
