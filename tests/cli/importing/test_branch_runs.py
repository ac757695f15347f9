"""Runs of another system's flow: together they take each branch, one after the other."""

from collections.abc import Mapping
from typing import Any

from bot.cli.importing.branch_runs import BranchRun, branch_runs
from bot.cli.importing.conversations import SourceTurn


def question(given: Mapping[Any, Any]) -> BranchRun:
    """Asks for a size; other sizes than the first are other branches."""
    size = given.get(("size",), "small")
    run = BranchRun(given, edges=[("size", size)], turns=[SourceTurn("text", size)])
    run.others = [(("size", other), ("size",), other) for other in ("small", "large", "huge") if other != size]
    return run


def sizes(most_turns: int) -> list[str]:
    return [run.turns[0].value for run in branch_runs(question, most_turns)]


def test_each_branch_is_taken() -> None:
    assert {*sizes(100)} == {"small", "large", "huge"}


def test_a_branch_that_no_run_has_taken_comes_first() -> None:
    assert sizes(3) == ["small", "large", "huge"]


def test_the_turns_of_all_runs_together_are_bounded() -> None:
    assert len(sizes(2)) == 2


def test_without_an_end_there_are_forty_runs() -> None:
    def endless(given: Mapping[Any, Any]) -> BranchRun:
        run = BranchRun(given)
        run.others = [((len(given),), (len(given),), 1)]
        return run

    assert len([*branch_runs(endless)]) == 40
