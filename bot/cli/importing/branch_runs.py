"""Runs of another system's flow that together take each of its branches."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, TypeAlias, TypeVar

from bot.cli.importing.conversations import SourceMessage, SourceTurn

MOST_RUNS = 40

Key: TypeAlias = tuple[Any, ...]
"""A choice that decides a run: ("reply", place, number) is an answer, ("action", action, slot) is a result."""
Edge: TypeAlias = tuple[Any, ...]
"""A branch of the flow: a place, and how it is left."""


@dataclass
class BranchRun:
    """A run of a flow: what happened, what was said, and which other choices there were."""

    given: Mapping[Key, Any]
    turns: list[SourceTurn] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    others: list[tuple[Edge, Key, Any]] = field(default_factory=list)  # an edge, and what would lead there
    said: list[SourceMessage] = field(default_factory=list)  # of the turn that is open
    passed: list[str] = field(default_factory=list)
    happened: tuple[str, str] = ("start", "")

    def end_turn(self, happens: tuple[str, str]) -> None:
        """Note what was said since the last thing happened, and what happens next."""
        kind, value = self.happened
        self.turns.append(SourceTurn(kind, value, tuple(self.said), tuple(self.passed)))
        self.said, self.passed, self.happened = [], [], happens


R = TypeVar("R", bound=BranchRun)


def branch_runs(run_with: Callable[[Mapping[Key, Any]], R], most_turns: float = inf) -> Iterator[R]:
    """Runs that together take each branch that can be taken: `MOST_RUNS` at most, until they have ``most_turns``.

    ``run_with`` runs the flow with these choices, and makes the usual ones elsewhere.
    """
    waiting: deque[tuple[Edge, dict[Key, Any]]] = deque([((), {})])
    seen: set[str] = set()
    covered: set[Edge] = set()
    turns = 0
    while waiting and len(seen) < MOST_RUNS and turns < most_turns:
        index = next((index for index, (edge, _) in enumerate(waiting) if edge not in covered), 0)
        given = waiting[index][1]
        del waiting[index]
        known = repr(sorted(given.items(), key=repr))
        if known in seen:
            continue
        seen.add(known)
        run = run_with(given)
        covered |= {*run.edges}
        turns += len(run.turns)
        waiting += [(edge, {**given, key: value}) for edge, key, value in run.others]
        yield run
