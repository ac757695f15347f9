"""Provenance: why a variable may be null at a step, and the path on which it stays so."""

from collections import deque
from collections.abc import Iterator

from bot.checker.analysis.definite_assignment import definite_assignment
from bot.checker.analysis.null_effects import VariableSet
from bot.checker.analysis.reachability import Reachability, edges_of
from bot.checker.analysis.transfer_functions import EdgeTransfer, bits_of
from bot.checker.graph import AFTER_RUN, Edge, Graph, Root, StepId
from bot.core.immutable import mutable
from bot.language.steps.step_facts import FlowRun

BroughtValue = tuple[FlowRun, str]
"""A flow that was run, and its variable that was brought back as an output."""


@mutable
class NullOrigin:
    """The source of a null value, as far as it is known.

    ``route`` are the edges from the beginning of a conversation. ``opened`` is the root of the frame, if the variable
    had no value from its beginning; ``edge`` is the edge that gave it null, and ``brought`` the output that did.
    ``over`` is the step at which the conversation returned to an open flow, which has its own variables.
    """

    route: tuple[Edge, ...] = ()
    opened: Root | None = None
    edge: Edge | None = None
    brought: BroughtValue | None = None
    over: StepId | None = None

    def why(self, place: StepId) -> str:
        """The reason why a variable has no value at a step, in words."""
        if self.brought is not None:
            run, theirs = self.brought
            return f'flow {run.flow} may end without "{theirs}"'
        if self.edge is not None:
            flow, step = self.edge.source
            of = "" if flow == place[0] else f" of flow {flow}"
            return f'step "{step}"{of} may leave it so, by `{self.edge.outcome}`'
        if self.over is not None:
            flow, step = self.over
            return f"where flow {flow} is open already, /{flow}/{step} leads back to it, and to its own variables"
        flow, step = self.route[0].source if self.route else place
        return f"nothing has given it a value on the way from /{flow}/{step}"


class Provenance:
    """Follows null values backwards from where they are read."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._reachability = graph.analysis(Reachability)
        self._assigned = graph.analysis(definite_assignment)

    def of(self, place: StepId, name: VariableSet, transfer: EdgeTransfer | None = None) -> NullOrigin:
        """The origin of a null value at a step, or on an edge from it."""
        origin, backwards = NullOrigin(), list[Edge]()
        if transfer is not None:
            name = self._before(transfer, self._assigned.at[place].null, name, origin, backwards)
        while name and (arrival := self._assigned.arrival(place, name)) is not None:
            target, (place, by, null) = place, arrival
            if isinstance(by, EdgeTransfer):
                name = self._before(by, null, name, origin, backwards)
            elif by is not None:
                name = self._handed(by, null, name, origin)
            else:
                origin.over = origin.over or target
                backwards += reversed(self._assigned.stack.path_back(place, target))
        origin.route = (*self._reachability.path_to(place), *reversed(backwards))
        return origin

    def _before(
        self, transfer: EdgeTransfer, null: VariableSet, name: VariableSet, origin: NullOrigin, backwards: list[Edge]
    ) -> VariableSet:
        """The variables from which this one has its null value after an edge; empty if the edge gave it null."""
        brought = self._brought(transfer, name)
        backwards.append(transfer.edge)
        if transfer.edge.cause in AFTER_RUN:
            backwards += reversed(self._through(transfer.edge, brought))
        copied = next(bits_of(transfer.copied(name, null)), 0)
        if copied:
            return copied
        if brought is None and not transfer.names & name:
            return name & null
        origin.edge, origin.brought = transfer.edge, brought
        return 0

    def _handed(self, root: Root, null: VariableSet, name: VariableSet, origin: NullOrigin) -> VariableSet:
        """The variables of the opening frame that gave this one its null value; empty if it got no input."""
        functions = self._assigned.inputs_of(root)
        if root.by is not None and not functions.names & name and self._assigned.shares(root, name):
            return name & null  # both flows keep it: it is null there, too
        if not functions.names & name:
            origin.opened = root
        return next(bits_of(functions.copied(name, null)), 0)

    def _brought(self, transfer: EdgeTransfer, name: VariableSet) -> BroughtValue | None:
        """The output of a flow that was run before an edge, if the variable gets it."""
        if transfer.edge.cause not in AFTER_RUN or not transfer.edge.success:
            return None
        runs = self._graph.steps[transfer.edge.source].facts.flows_run
        given = ((run, ours, theirs) for run in runs for ours, theirs in self._brought_by(run, transfer.edge.source))
        return next(((run, theirs) for run, ours, theirs in given if self._assigned.nulls.of(ours) == name), None)

    def _brought_by(self, run: FlowRun, place: StepId) -> Iterator[tuple[str, str]]:
        """Our variables with theirs: outputs, and variables that both flows keep."""
        yield from run.outputs.items()
        ours, theirs = self._graph.flow(place).kept, self._graph.flow(self._graph.opened_by(run.flow)).kept
        yield from ((name, name) for name in ours if name in theirs)

    def _through(self, edge: Edge, brought: BroughtValue | None) -> tuple[Edge, ...]:
        """A path through the flow that was run before an edge, to an end at which the output is null."""
        for run in self._graph.steps[edge.source].facts.flows_run:
            first = self._graph.opened_by(run.flow)
            if brought is not None and (found := self._to_end_with(first, self._assigned.nulls.of(brought[1]))):
                return found
            return edges_of(self._reachability.ending[edge.cause].get(first))
        return ()

    def _to_end_with(self, first: StepId, name: VariableSet) -> tuple[Edge, ...]:
        """A path from the beginning of a frame to an end at which a variable may be null."""
        entered_by: dict[StepId, EdgeTransfer | None] = {first: None}
        waiting = deque([first])
        while waiting:
            place = waiting.popleft()
            for transfer in self._assigned.transfers_in_frame(place):
                if transfer.edge.target is not None and transfer.edge.target not in entered_by:
                    entered_by[transfer.edge.target] = transfer
                    waiting.append(transfer.edge.target)
                elif self._assigned.ends_with(transfer, name):
                    return self._back_to(transfer, name, entered_by)
        return ()

    def _back_to(
        self, transfer: EdgeTransfer, name: VariableSet, entered_by: dict[StepId, EdgeTransfer | None]
    ) -> tuple[Edge, ...]:
        """The edges up to an edge along which the variable is null, as far as they can be followed."""
        backwards: list[Edge] = []
        place = transfer.edge.source
        name = self._before(transfer, self._assigned.at[place].null, name, NullOrigin(), backwards)
        while (shortest := entered_by[place]) is not None:
            _, by, null = self._assigned.arrival(place, name) or (place, None, 0)
            if not isinstance(by, EdgeTransfer) or by.edge.source not in entered_by:
                by, name = shortest, 0
            name = self._before(by, null, name, NullOrigin(), backwards)
            place = by.edge.source
        return tuple(reversed(backwards))
