"""A bot as a graph."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from bot.checker.graph.edges import Edge, Place
from bot.checker.graph.leading import Leading, opened_by
from bot.checker.graph.roots import Opening, Root, roots_of
from bot.flow.definition import Flow, Step
from bot.flow.library import Library

Fact = TypeVar("Fact")


@dataclass(frozen=True)
class Graph:
    """All steps, edges and roots of a bot."""

    library: Library
    steps: Mapping[Place, Step] = field(init=False)
    _facts: dict[Any, Any] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        found = {(flow.name, step.name): step for flow in self.library.flows.values() for step in flow.steps.values()}
        object.__setattr__(self, "steps", found)

    @cached_property
    def edges(self) -> Mapping[Place, tuple[Edge, ...]]:
        """What leads on from each step."""
        return Leading(self.library, self.steps).edges()

    @cached_property
    def edges_to(self) -> Mapping[Place, tuple[Edge, ...]]:
        """What leads to each step, from others and from itself."""
        found: dict[Place, list[Edge]] = {place: [] for place in self.steps}
        for edges in self.edges.values():
            for edge in edges:
                if edge.target is not None:
                    found[edge.target].append(edge)
        return {place: tuple(edges) for place, edges in found.items()}

    @cached_property
    def roots(self) -> tuple[Root, ...]:
        """Where frames begin."""
        return roots_of(self.library, self.steps, (edge for edges in self.edges.values() for edge in edges))

    @cached_property
    def roots_by(self) -> Mapping[Place, tuple[Root, ...]]:
        """The roots that a step opens, by the step."""
        found: dict[Place, list[Root]] = {}
        for root in self.roots:
            if root.by is not None:
                found.setdefault(root.by, []).append(root)
        return {place: tuple(roots) for place, roots in found.items()}

    @cached_property
    def crossed(self) -> Mapping[str, frozenset[str]]:
        """The flows that each flow goes over to."""
        found: dict[str, set[str]] = {name: set() for name in self.library.flows}
        for (flow, _), edges in self.edges.items():
            found[flow].update(edge.target[0] for edge in edges if edge.target is not None and edge.target[0] != flow)
        return {name: frozenset(others) for name, others in found.items()}

    @cached_property
    def below(self) -> Mapping[str, frozenset[str]]:
        """The flows that are open below each flow, wherever it is: whoever runs it, where nothing else leads to it."""
        runners: dict[str, set[str] | None] = {name: set() for name in self.library.flows}
        for root in self.roots:
            found = runners[root.place[0]]
            if root.opening is not Opening.RUN or root.by is None:
                runners[root.place[0]] = None
            elif found is not None:
                found.add(root.by[0])
        runners.update((name, None) for others in self.crossed.values() for name in others)
        below: dict[str, frozenset[str]] = {name: frozenset() for name in runners}
        while True:  # as deep as they run each other
            known = {name: below[name] | {name} for name in runners}
            deeper = {
                n: frozenset.intersection(*(known[r] for r in by)) if by else below[n] for n, by in runners.items()
            }
            if deeper == below:
                return below
            below = deeper

    def fact(self, make: Callable[["Graph"], Fact]) -> Fact:
        """What follows from the graph, worked out once for all rules that look at it: `graph.fact(Passing)`."""
        if make not in self._facts:
            self._facts[make] = make(self)
        found: Fact = self._facts[make]
        return found

    def flow(self, place: Place) -> Flow:
        """The flow of a step."""
        return self.library.flows[place[0]]

    def opened_by(self, target: str) -> Place:
        """The step at which ``flow``, ``/flow`` or ``/flow/step`` begins."""
        return opened_by(self.library, target)

    def hears(self, place: Place) -> bool:
        """Whether words and starts are heard while a conversation rests there."""
        return self.steps[place].kind.hears
