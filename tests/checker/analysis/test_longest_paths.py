"""The longest time of what depends on each other."""

from collections.abc import Mapping

import pytest

from bot.checker.analysis.longest_paths import DAY, UNBOUNDED, Constraint, LongestPaths, Node

Constraints = Mapping[Node, list[Constraint]]
HOUR = 3600.0


def hours(constraints: Constraints, **bounds: int) -> dict[Node, float]:
    """The longest time of each node, in hours."""
    limits: dict[Node, int] = dict(bounds.items())
    return {node: seconds / HOUR for node, seconds in LongestPaths(constraints, limits).seconds.items()}


def around(*names: str) -> Constraints:
    """A cycle of nodes, each an hour after the one before; the first may come about by itself."""
    constraints: dict[Node, list[Constraint]] = {
        name: [Constraint(HOUR, before)] for name, before in zip(names, (names[-1], *names), strict=False)
    }
    constraints[names[0]].append(Constraint())
    return constraints


def test_the_longest_of_several_constraints_counts() -> None:
    constraints: Constraints = {
        "a": [Constraint(HOUR)],
        "b": [Constraint(HOUR, "a"), Constraint(3 * HOUR, "a", anew=True)],
        "c": [Constraint(0, "b", "a", 2)],
    }
    assert hours(constraints) == {"a": 1, "b": 3, "c": 5}


def test_what_needs_something_impossible_is_impossible() -> None:
    assert hours(
        {
            "a": [Constraint(0, "b")],
            "b": [Constraint(0, "a")],
            "c": [Constraint(), Constraint(HOUR, inner="a", times=0)],
        }
    ) == {"c": 0}


def test_a_cycle_that_takes_no_time_is_as_long_as_what_leads_into_it() -> None:
    assert hours({"a": [Constraint(0, "b"), Constraint(HOUR)], "b": [Constraint(0, "a"), Constraint(2 * HOUR)]}) == {
        "a": 2,
        "b": 2,
    }


def test_a_cycle_that_takes_time_takes_for_ever() -> None:
    assert set(LongestPaths(around("a", "b", "c"), {}).seconds.values()) == {UNBOUNDED}


def test_of_a_cycle_the_narrowest_bound_counts() -> None:
    assert hours(around("a", "b", "c"), b=3, c=5) == {"a": 9, "b": 7, "c": 8}


def test_two_cycles_need_a_bound_each() -> None:
    constraints: Constraints = {
        **around("a", "b"),
        "c": [Constraint(HOUR, "a"), Constraint(HOUR, "d")],
        "d": [Constraint(HOUR, "c")],
    }
    assert hours(constraints, b=2)["c"] == UNBOUNDED / HOUR
    assert hours(constraints, b=2, d=2) == {"a": 4, "b": 3, "c": 9, "d": 8}


def test_bounds_do_not_hold_where_another_frame_is_opened() -> None:
    constraints: Constraints = {"a": [Constraint(HOUR, "b", opens=True), Constraint()], "b": [Constraint(HOUR, "a")]}
    assert hours(constraints, a=2)["a"] == UNBOUNDED / HOUR


def test_what_contains_itself_grows_where_it_takes_any_time() -> None:
    assert hours({"a": [Constraint(), Constraint(0, "a", "a")]}) == {"a": 0}
    assert hours({"a": [Constraint(HOUR), Constraint(0, "a", "a")]}) == {"a": UNBOUNDED / HOUR}


@pytest.mark.parametrize("names", ["ab", "abcd"])
def test_a_path_round_a_cycle_takes_a_day(names: str) -> None:
    path = LongestPaths(around(*names), {}).path(names[1])
    assert DAY <= sum(constraint.seconds for _, constraint in path) < 2 * DAY
    assert path[-1][1].onward is None
