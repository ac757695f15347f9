"""Reachability: which flows can end, and which steps a conversation can reach, through the flows that steps run."""

from collections import deque
from collections.abc import Iterator

from bot.checker.graph import AFTER_RUN, Cause, Edge, Graph, Opening, StepId
from bot.checker.graph.edges import reachable

LinkedPath = tuple["LinkedPath | None", Edge | None, "LinkedPath | None"]
"""A path as a linked list: the path before, the last edge, and the path through the flow that this edge ran. Without
an edge it is one path after another.
"""


def edges_of(path: LinkedPath | None) -> tuple[Edge, ...]:
    """The edges of a path, from its beginning."""
    found: list[Edge] = []
    stack = [path]
    while stack:
        here = stack.pop()
        if here is not None:
            before, edge, inner = here
            if edge is not None:
                found.append(edge)
            stack += [before, inner]  # from the end: the inner path comes before its edge
    return tuple(reversed(found))


def path_from(edge: Edge, inner: LinkedPath | None, onward: LinkedPath | None) -> LinkedPath:
    """The path that begins with an edge and continues with ``onward``."""
    first = None, edge, inner
    return first if onward is None else (first, None, onward)


class Reachability:
    """The steps that a conversation can reach, and the steps from which it can end.

    ``ending`` are the steps from which a frame can end, by how it ends. Edges that return to an earlier step reach
    nothing new. Edges on which a text fails do not count.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._below = graph.below
        self._runs_of: dict[StepId, list[StepId]] = {}
        for root in graph.roots:
            if root.opening is Opening.RUN and root.by is not None:
                self._runs_of.setdefault(root.place, []).append(root.by)
        self.ending: dict[Cause, dict[StepId, LinkedPath]] = {cause: {} for cause in AFTER_RUN}
        self._find_ends()
        self._leaving = self._find_leaving()
        self.reached: dict[StepId, LinkedPath | None] = self._spread()

    def path_to(self, place: StepId | None) -> tuple[Edge, ...]:
        """A shortest path from a root to a step; empty if the step is not reached."""
        return edges_of(None if place is None else self.reached.get(place))

    def can_end(self, place: StepId) -> bool:
        """True if the frame can end from this step, alone or together with the flows below it."""
        return place in self._leaving or any(place in found for found in self.ending.values())

    def can_be_taken(self, edge: Edge) -> bool:
        """True if an edge can be taken. An edge after a `run` cannot be taken if the flow never ends in this way."""
        return edge.cause not in AFTER_RUN or self.path_within(edge) is not None

    def path_within(self, edge: Edge) -> LinkedPath | None:
        """A path through the flow that a step runs, to the kind of end that the edge follows."""
        runs = self._graph.steps[edge.source].facts.flows_run
        found = (self.ending[edge.cause].get(self._graph.opened_by(run.flow)) for run in runs)
        return next((path for path in found if path is not None), None)

    # -- ends, backwards -------------------------------------------------------------------------------------------

    def _find_ends(self) -> None:
        waiting: deque[tuple[StepId, Cause]] = deque()
        for place, edges in self._graph.edges.items():
            for edge in edges:
                if edge.target is None and not edge.ends_all:
                    self._note(place, _how(edge), edge, None, waiting)
        while waiting:
            place, cause = waiting.popleft()
            for edge in self._graph.edges_to[place]:
                self._note(edge.source, cause, edge, self.ending[cause][place], waiting)
            for run in self._runs_of.get(place, ()):
                self._after_run(run, cause, waiting)

    def _after_run(self, run: StepId, cause: Cause, waiting: deque[tuple[StepId, Cause]]) -> None:
        """The flow that a step runs can end: note that the frame can end by the edges after it."""
        for edge in self._graph.edges[run]:
            if edge.cause is cause and not edge.ends_all:
                hows = [_how(edge)] if edge.target is None else [c for c in AFTER_RUN if edge.target in self.ending[c]]
                for how in hows:
                    onward = None if edge.target is None else self.ending[how][edge.target]
                    self._note(run, how, edge, onward, waiting)

    def _note(
        self, place: StepId, cause: Cause, edge: Edge, onward: LinkedPath | None, waiting: deque[tuple[StepId, Cause]]
    ) -> None:
        if place not in self.ending[cause] and self._leads_on(edge) and not self._goes_below(edge):
            inner = self.path_within(edge) if edge.cause in AFTER_RUN else None
            self.ending[cause][place] = path_from(edge, inner, onward)
            waiting.append((place, cause))

    def _leads_on(self, edge: Edge) -> bool:
        return not edge.fails and not edge.returns and self.can_be_taken(edge)

    def _goes_below(self, edge: Edge) -> bool:
        """True if an edge returns to a flow that is open further down, or ends all flows below.

        The frame is over then, and its end reaches no step.
        """
        return edge.target is not None and (edge.alone or edge.target[0] in self._below[edge.source[0]])

    def _find_leaving(self) -> set[StepId]:
        """The steps from which a frame can end together with the flows below it."""
        edges = [edge for several in self._graph.edges.values() for edge in several if self._leads_on(edge)]
        before: dict[StepId, list[StepId]] = {opened: list(runs) for opened, runs in self._runs_of.items()}
        found = {edge.source for edge in edges if edge.ends_all}
        for edge in edges:
            if edge.target is not None:
                before.setdefault(edge.target, []).append(edge.source)
                if self._goes_below(edge) and any(edge.target in ending for ending in self.ending.values()):
                    found.add(edge.source)
        return set(reachable(found, lambda place: before.get(place, ())))

    # -- reached steps, forwards -----------------------------------------------------------------------------------

    def _spread(self) -> dict[StepId, LinkedPath | None]:
        roots = (root for root in self._graph.roots if root.by is None and root.opening is not Opening.TAP)
        found: dict[StepId, LinkedPath | None] = {root.place: None for root in roots}
        waiting = deque(found)
        while waiting:
            place = waiting.popleft()
            onward = [(root.place, found[place]) for root in self._graph.roots_by.get(place, ())]
            for target, path in (*onward, *self._onward(place, found[place])):
                if target not in found:
                    found[target] = path
                    waiting.append(target)
        return found

    def _onward(self, place: StepId, path: LinkedPath | None) -> Iterator[tuple[StepId, LinkedPath]]:
        for edge in self._graph.edges[place]:
            if edge.target is not None and not edge.returns and self.can_be_taken(edge):
                yield edge.target, (path, edge, self.path_within(edge) if edge.cause in AFTER_RUN else None)


def _how(edge: Edge) -> Cause:
    return Cause.EXPIRED if edge.expires else Cause.FAILED if edge.breaks else Cause.FLOW
