"""What lies below: a flow that is gone over to is gone back to instead, where it is open further down.

Then it has its own variables, and what ran above it is over (docs/language/flows.md).
"""

from collections import deque
from collections.abc import Iterator, Mapping

from bot.checker.circles import components
from bot.checker.graph import Edge, Graph, Opening, Place

_CUTS_IN = "interrupt"
_ANYBODY: Place = ("", "")  # stands for the beginnings of all flows that cut in on others


class Stack:
    """The frames of a bot, on top of each other. ``returns`` are the steps that are gone back to while the conversation
    rests at a step further down, by that step.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._bits = {name: 1 << number for number, name in enumerate(graph.library.flows)}
        plans = (plan for step in graph.steps.values() for plan in step.riders.schedule)
        self._planned = {graph.opened_by(plan.target.text) for plan in plans if plan.busy == _CUTS_IN}
        self.returns: Mapping[Place, tuple[Place, ...]] = self._find_returns()
        self._below: dict[Place, int] = {}  # the flows that are open further down for certain
        self._settle()

    def goes_over(self, edge: Edge) -> bool:
        """Whether a conversation that takes the edge may stay in its frame."""
        return edge.target is not None and self._stays(edge, edge.target, self._below.get(edge.source, 0))

    def way_back(self, place: Place, target: Place) -> tuple[Edge, ...]:
        """A shortest way from what is opened on top of a step, over which its flow is gone back to, at another step."""
        waiting = deque[tuple[Place, tuple[Edge, ...]]]((begun, ()) for begun in self._begun_above(place))
        seen = {begun for begun, _ in waiting}
        while waiting:
            here, edges = waiting.popleft()
            onward = [(edge.target, (*edges, edge)) for edge in self._graph.edges[here] if edge.target is not None]
            for there, way in (*onward, *((begun, edges) for begun in self._begun_above(here))):
                if there == target and way and way[-1].source[0] != target[0]:
                    return way
                if there not in seen:
                    seen.add(there)
                    waiting.append((there, way))
        return ()

    def _begun_above(self, place: Place) -> Iterator[Place]:
        for above in self._above(place):
            yield from self._interrupters() if above == _ANYBODY else (above,)

    def _stays(self, edge: Edge, target: Place, below: int) -> bool:
        return target[0] == edge.source[0] or not self._bits[target[0]] & below

    # -- what may be gone back to ----------------------------------------------------------------------------------

    def _interrupters(self) -> Iterator[Place]:
        """Where the flows begin that cut in on others."""
        yield from self._planned
        yield from (root.place for root in self._graph.roots if root.opening is Opening.INTERRUPTION)

    def _above(self, place: Place) -> Iterator[Place]:
        """Where the frames begin that may be opened on top of a step."""
        yield from (root.place for root in self._graph.roots_by.get(place, ()) if root.opening is Opening.RUN)
        if self._graph.hears(place) and (self._planned or self._graph.flow(place).interrupted is not None):
            yield _ANYBODY

    def _find_returns(self) -> Mapping[Place, tuple[Place, ...]]:
        over = self._gone_over_to()
        found = {}
        for place in self._graph.steps:
            targets = {t for above in self._above(place) for t in over.get(above, ()) if t[0] == place[0]}
            if targets:
                found[place] = tuple(sorted(targets))
        return found

    def _gone_over_to(self) -> Mapping[Place, frozenset[Place]]:
        """By each step, the steps of other flows that are gone over to from there on, in its frame or above it."""
        graph, found = self._graph, dict[Place, frozenset[Place]]()
        onward = {
            place: [*self._above(place), *(edge.target for edge in graph.edges[place] if edge.target is not None)]
            for place in graph.steps
        }
        onward[_ANYBODY] = list(self._interrupters())
        for component in components(onward):
            edges = (edge for place in component for edge in graph.edges.get(place, ()))
            here = {
                edge.target for edge in edges if not edge.returns and edge.target and edge.target[0] != edge.source[0]
            }
            among = set(component)
            beyond = {other for place in component for other in onward[place] if other not in among}
            every = frozenset(here).union(*{found[other] for other in beyond})
            found.update(dict.fromkeys(component, every))
        return found

    # -- what is there for certain ---------------------------------------------------------------------------------

    def _settle(self) -> None:
        waiting = deque[Place]()
        for root in self._graph.roots:
            if root.opening is not Opening.RUN:
                self._meet(root.place, 0, waiting)
        while waiting:
            place = waiting.popleft()
            below = self._below[place]
            for root in self._graph.roots_by.get(place, ()):
                if root.opening is Opening.RUN:
                    self._meet(root.place, below | self._bits[place[0]], waiting)
            for target in self.returns.get(place, ()):
                self._meet(target, below, waiting)
            for edge in self._graph.edges[place]:
                if edge.target is not None and self._stays(edge, edge.target, below):
                    self._meet(edge.target, below, waiting)

    def _meet(self, place: Place, below: int, waiting: deque[Place]) -> None:
        known = self._below.get(place)
        if known is None or known & below != known:
            self._below[place] = below if known is None else known & below
            waiting.append(place)
