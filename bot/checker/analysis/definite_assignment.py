"""Definite assignment: the variables that may be null at each step of a bot, on any path to it.

A worklist over the graph: the state at a step is the union over all edges that lead there, each by its transfer
function.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import reduce
from itertools import permutations
from operator import or_
from typing import NamedTuple

from bot.checker.analysis.frames import Declarations, FrameStack
from bot.checker.analysis.null_effects import AnalysedText, NullAnalysis, NullEffect, Together, VariableSet
from bot.checker.analysis.reachability import Reachability
from bot.checker.analysis.transfer_functions import (
    BroughtBack,
    EdgeTransfer,
    NullState,
    OnRead,
    TransferFunction,
    after_texts,
    bits_of,
    ignore,
    place_uses,
)
from bot.checker.graph import Cause, Edge, Graph, Opening, Root, StepId
from bot.language.types.variable import Variable

By = EdgeTransfer | Root | None
"""The cause of an arrival at a step: an edge, a root that opened the flow, or (None) a return to a flow that waited."""


class Arrival(NamedTuple):
    """An arrival at a step at which a variable is null: the step before, and the cause.

    ``null`` are the variables that were null at that step before. So a search backwards never meets the same variable
    of a step twice.
    """

    place: StepId
    by: By
    null: VariableSet


class DefiniteAssignment:
    """The variables that may be null when a conversation gets to a step: ``at`` each step.

    ``texts`` are those that are evaluated while a conversation is at a step, by the step.
    """

    def __init__(self, graph: Graph, nulls: NullAnalysis) -> None:
        self._graph = graph
        self.nulls = nulls
        self.at: dict[StepId, NullState] = {}
        self._arrivals: dict[StepId, list[tuple[VariableSet, Arrival]]] = {}
        self._ends: dict[StepId, NullState] = {}  # the state at the end of the frame, by the step before it
        self._failing: set[StepId] = set()
        self.stack = FrameStack(graph)
        self.texts = {place: self._texts_at(place) for place in graph.steps}
        self._transfers = {place: self._transfers_from(place, graph.analysis(Reachability)) for place in graph.steps}
        self._declarations = Declarations(graph, self.nulls, self._given())
        self._inputs = {id(root): self._given_to(root) for root in graph.roots}
        self._assigned = reduce(
            or_,
            (
                *(transfer.names for transfers in self._transfers.values() for transfer in transfers),
                *(inputs.names for inputs in self._inputs.values()),
            ),
            0,
        )
        self._runs_of: dict[StepId, list[StepId]] = {}  # the steps that run a flow, by the flow's first step
        self._before = defaultdict[StepId, list[StepId]](list)  # the steps before each step, in the same frame
        self._returning: dict[StepId, list[StepId]] = {}  # the steps from which a conversation returns to each step
        self._link()
        self._above = {place: above for place in graph.steps if (above := self.stack.may_change_below(place))}
        self._emptied: dict[VariableSet, tuple[StepId, By]] = {}  # kept variables, by what gives them null
        self._waiting: dict[StepId, None] = {}  # a queue that holds each step once
        self._settle()

    def arrival(self, place: StepId, name: VariableSet) -> Arrival | None:
        """The arrival by which a variable became null at a step; None where a frame begins."""
        return next((arrival for names, arrival in self._arrivals.get(place, ()) if names & name), None)

    def rested(self, place: StepId, seen: OnRead = ignore) -> NullState:
        """The state while a conversation is at a step, after the step's own texts have been evaluated."""
        state = after_texts(self.texts[place], self.at[place], seen)
        return state.empty(self._emptied_above(place)) if place in self._above and self._emptied else state

    def _emptied_above(self, place: StepId) -> VariableSet:
        """The kept variables to which flows that are open on top of a step may give null."""
        return sum(self._emptied) & self._declarations.kept(place)

    def left(self, transfer: EdgeTransfer, rested: NullState, seen: OnRead = ignore) -> NullState:
        """The state when a step is left by an edge, before the transition.

        ``rested`` is the state while it was at the step.
        """
        state = rested if transfer.done else self.at[transfer.edge.source]
        return transfer.left(state, self._brought(transfer.edge, state), seen)

    def transfers(self, place: StepId) -> Iterator[EdgeTransfer]:
        """The edges from a step. Edges of failures are included only if the step can fail."""
        return (transfer for transfer in self._transfers[place] if place in self._failing or not transfer.fails)

    def all_transfers(self) -> Iterator[EdgeTransfer]:
        """The edges from all steps that a conversation gets to."""
        return (transfer for place in self.at for transfer in self.transfers(place))

    def may_fail(self, place: StepId) -> bool:
        """True if a text or a value at a step, or on an edge from it, may fail."""
        return place in self._failing

    def transfers_in_frame(self, place: StepId) -> Iterator[EdgeTransfer]:
        """The edges that stay in a frame, or end it."""
        return (
            transfer
            for transfer in self.transfers(place)
            if transfer.edge.target is None or (self.stack.may_stay(transfer.edge) and not transfer.edge.alone)
        )

    def past(self, transfer: EdgeTransfer) -> NullState:
        """The state after an edge and its transition."""
        return transfer.past(self.left(transfer, self.rested(transfer.edge.source)))

    def given(self, transfer: EdgeTransfer) -> VariableSet:
        """The variables that may get another value on an edge."""
        runs = self._graph.steps[transfer.edge.source].facts.flows_run if transfer.edge.success else ()
        return transfer.names | self.nulls.of(*(name for run in runs for name in run.outputs))

    def ends_with(self, transfer: EdgeTransfer, name: VariableSet) -> bool:
        """True if the frame ends by an edge, other than by expiry, while a variable may be null."""
        return _ends(transfer.edge) and bool(self.past(transfer).null & name)

    def varies(self, name: str) -> bool:
        """True if something in the bot gives the variables of this name another value."""
        return bool(self.nulls.of(name) & self._assigned)

    def shares(self, root: Root, name: VariableSet) -> bool:
        """True if a flow that is opened keeps a variable, and so does the flow that opens it."""
        return root.by is not None and bool(self._shared(root, root.by) & name)

    def brought(self, transfer: EdgeTransfer) -> BroughtBack | None:
        """The variables that get an output of a flow that was run, and those of them that may be null."""
        return self._brought(transfer.edge, self.rested(transfer.edge.source))

    def inputs_of(self, root: Root) -> TransferFunction:
        """The transfer function of the inputs of a flow that is opened."""
        return self._inputs[id(root)]

    # -- preparing -------------------------------------------------------------------------------------------------

    def _texts_at(self, place: StepId) -> list[AnalysedText]:
        flow = self._graph.flow(place)
        return self.nulls.texts(place_uses(self._graph.steps[place], flow), flow)

    def _transfers_from(self, place: StepId, reachability: Reachability) -> list[EdgeTransfer]:
        step, flow = self._graph.steps[place], self._graph.flow(place)
        edges, outcomes = filter(reachability.can_be_taken, self._graph.edges[place]), step.outcomes
        return [EdgeTransfer(edge, step, flow, outcomes.get(edge.outcome), self.nulls) for edge in edges]

    def _given(self) -> dict[str, VariableSet]:
        """The variables that get a value at the steps of each flow, except those that its first step needs."""
        found = dict.fromkeys(self._graph.library.flows, 0)
        for (flow, _), transfers in self._transfers.items():
            for transfer in transfers:
                found[flow] |= transfer.names
        for begun in self._graph.library.flows.values():
            for text in self.texts[begun.name, begun.first]:
                read = text.read(self.nulls.everything)
                found[begun.name] &= ~(read.holes | read.fails)
        return found

    def _given_to(self, root: Root) -> TransferFunction:
        """The inputs of a flow that is opened. They are evaluated in the frame that opens it."""
        flow = self._graph.flow(root.place if root.by is None else root.by)
        return TransferFunction.of(((item.name, item.value) for item in root.inputs), flow, self.nulls)

    def _link(self) -> None:
        for place in self._graph.steps:
            for root in self._runs(place):
                self._runs_of.setdefault(root.place, []).append(place)
            for target in self.stack.returns.get(place, ()):
                self._before[target].append(place)
            for edge in (transfer.edge for transfer in self._transfers[place]):
                if edge.target is not None and self.stack.may_stay(edge) and not edge.alone:
                    self._before[edge.target].append(place)
                if edge.target is not None and edge.returns:
                    self._returning.setdefault(edge.target, []).append(place)

    # -- following -------------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        for root in self._graph.roots:
            if root.by is None:
                self._meet(root.place, self._opened(root, NullState()), None)
        while self._waiting:
            place = next(iter(self._waiting))
            del self._waiting[place]
            self._follow(place)

    def _follow(self, place: StepId) -> None:
        if self._emptied and self._above.get(place) is Opening.INTERRUPTION:  # its question is asked again
            for name in bits_of(self._emptied_above(place)):
                self._meet(place, self.at[place].empty(name), self._emptied[name])
        seen = self._noting(place)
        rested = self.rested(place, seen)
        for root in self._runs(place):
            opened = self._opened(root, rested)
            self._note_emptied(place, root, opened.emptied)
            self._meet(root.place, opened, (place, root))
        for root in self._graph.roots_by.get(place, ()):
            if root.opening is Opening.PROGRAM:
                self._meet(root.place, self._opened(root, rested), (place, root))
        for target in self.stack.returns.get(place, ()):
            self._meet(target, rested, (place, None))
        failing = []
        for transfer in self._transfers[place]:
            if transfer.fails:
                failing.append(transfer)
            else:
                self._take(transfer, rested, seen)
        for transfer in failing if failing and self._may_fail(place) else ():
            self._take(transfer, rested, seen)

    def _take(self, transfer: EdgeTransfer, rested: NullState, seen: OnRead) -> None:
        place = transfer.edge.source
        if transfer.is_idle:
            self._go_on(transfer.edge, rested if transfer.done else self.at[place], (place, transfer))
            return
        left = self.left(transfer, rested, seen)
        for root in self._graph.roots_by.get(place, ()) if transfer.edge.success else ():
            if root.opening is Opening.PLAN:
                self._meet(root.place, self._opened(root, left), (place, root))
        past = transfer.past(left, seen)
        if emptied := past.emptied & transfer.names:
            self._note_emptied(place, transfer, emptied)
        self._go_on(transfer.edge, past, (place, transfer))

    def _note_emptied(self, place: StepId, by: By, names: VariableSet) -> None:
        """Note the kept variables among those that get null: flows that wait below see that."""
        flow = by.place if isinstance(by, Root) else place
        fresh = [name for name in bits_of(names & self._declarations.kept(flow)) if name not in self._emptied]
        self._emptied.update(dict.fromkeys(fresh, (place, by)))
        if fresh:
            self._waiting |= dict.fromkeys(place for place in self._above if place in self.at)

    def _go_on(self, edge: Edge, past: NullState, arrival: tuple[StepId, By]) -> None:
        if edge.target is not None and self.stack.may_stay(edge):
            met = self._declarations.crossed(edge, past)
            if edge.returns:  # a variable that has a value there still has it, unless it was set to null since then
                met = NullState(met.unset & self.at.get(edge.target, NullState()).unset, met.emptied)
            self._meet(edge.target, met, arrival)
        elif _ends(edge):
            self._end(edge.source, past)

    def _meet(self, place: StepId, state: NullState, arrival: tuple[StepId, By] | None) -> None:
        """Note that a conversation may get to a step in this state, and look at the step again if that is new."""
        known = self.at.get(place)
        if known is None or not state.within(known):
            met = state if known is None else known | state
            fresh = met.null & ~(0 if known is None else known.null) & self._declarations.at(place)
            if arrival is not None and fresh:
                self._arrivals.setdefault(place, []).append((fresh, Arrival(*arrival, self.at[arrival[0]].null)))
            self.at[place] = met
            self._waiting[place] = None
            self._waiting |= dict.fromkeys(back for back in self._returning.get(place, ()) if back in self.at)

    # -- failures --------------------------------------------------------------------------------------------------

    def _noting(self, place: StepId) -> OnRead:
        """Note that a step may fail: a text with a hole may be empty, and an empty text is no message."""

        def note(text: AnalysedText, read: NullEffect) -> None:
            if read.holes | read.fails:
                self._failing.add(place)

        return note

    def _may_fail(self, place: StepId) -> bool:
        if place not in self._failing and self._is_unsure(place):
            self._failing.add(place)
        return place in self._failing

    def _is_unsure(self, place: StepId) -> bool:
        """True if a step may fail although no variable is null."""
        step = self._graph.steps[place]
        breaks = any(edge.cause is Cause.FAILED for edge in self._graph.edges[place])
        if (
            breaks
            or step.facts.fails
            or step.refusal is not None
            or not all(text.never_fails for text in self.texts[place])
        ):
            return True
        return not all(each.never_fails for each in self._transfers[place] if not (each.fails or each.is_idle))

    # -- flows that are run ----------------------------------------------------------------------------------------

    def _end(self, place: StepId, state: NullState) -> None:
        """Note the state in which the frame may end after a step, and so after all steps before it. The steps that
        run the flow are looked at again.
        """
        waiting = [place]
        while waiting:
            here = waiting.pop()
            known = self._ends.get(here)
            if known is None or not state.within(known):
                self._ends[here] = state if known is None else known | state
                waiting += self._before[here]
                self._waiting |= dict.fromkeys(run for run in self._runs_of.get(here, ()) if run in self.at)

    def _brought(self, edge: Edge, state: NullState) -> BroughtBack | None:
        """The variables that get an output of the flow that a step has run, and those of them that may be null."""
        if edge.cause is not Cause.FLOW or not edge.success:
            return None
        given = null = 0
        runs = self._graph.steps[edge.source].facts.flows_run
        for run, root in zip(runs, self._runs(edge.source), strict=True):
            ends, opened = self._ends.get(root.place, NullState()), self._opened(root, state)
            shared = self._declarations.kept(edge.source, root.place)
            given |= shared
            null |= shared & (ends.emptied | (ends.unset & opened.null) | (state.null if run.listed else 0))
            for ours, theirs in run.outputs.items():
                bit = self.nulls.of(theirs)
                given |= self.nulls.of(ours)
                if not run.listed and bit & (ends.emptied | (ends.unset & opened.null)):
                    null |= self.nulls.of(ours)
        return given, null

    def _opened(self, root: Root, state: NullState) -> NullState:
        """The state at the first step of a flow that is opened, by the state at the step that opens it."""
        fresh = self._declarations.fresh(root)
        if root.by is not None:
            fresh = fresh.known(self._shared(root, root.by) & ~state.null)
        return self._inputs[id(root)].into(fresh, state)

    def _shared(self, root: Root, by: StepId) -> VariableSet:
        """The kept variables that a flow has in common with the one that opens it; another contact has its own."""
        return 0 if root.opening is Opening.PROGRAM else self._declarations.kept(by, root.place)

    def _runs(self, place: StepId) -> list[Root]:
        return [root for root in self._graph.roots_by.get(place, ()) if root.opening is Opening.RUN]


def definite_assignment(graph: Graph) -> DefiniteAssignment:
    """The analysis of a graph. It is made a second time if there are kept values that are always set together."""
    found = DefiniteAssignment(graph, graph.analysis(NullAnalysis))
    together = set_together(graph, found)
    return DefiniteAssignment(graph, NullAnalysis(graph, together)) if together else found


def _ends(edge: Edge) -> bool:
    """True if a frame ends by an edge, and the step that ran its flow continues."""
    return edge.target is None and not (edge.ends_all or edge.expires or edge.breaks)


def set_together(graph: Graph, assigned: "DefiniteAssignment") -> Together:
    """For each kept variable, those that are null wherever it is: any edge that sets one of them sets it, too.

    ``assigned`` is the analysis without this knowledge: it overestimates nulls, so every pair found is right.
    """
    nulls = assigned.nulls
    candidates = nulls.of(*(name for name, variable in only_on_edges(graph).items() if variable.value is None))
    if candidates.bit_count() < 2:
        return {}
    given = [
        (transfer, names) for transfer in assigned.all_transfers() if (names := assigned.given(transfer) & candidates)
    ]
    pairs = {pair for _, names in given for pair in permutations(bits_of(names), 2)}
    for transfer, names in given if pairs else ():
        null = assigned.past(transfer).null
        # kept by a flow that comes later, where it fits
        brought = names & ~nulls.of(*graph.flow(transfer.edge.source).kept)
        pairs = {
            (one, other)
            for one, other in pairs
            if not brought & (one | other) and (not (names & (one | other) and other & null) or one & transfer.empties)
        }
    together: dict[VariableSet, VariableSet] = {}
    for one, other in pairs:
        together[other] = together.get(other, 0) | one
    return together


def only_on_edges(graph: Graph) -> dict[str, Variable]:
    """The kept variables, alike in all flows, that get values on edges only: no message, no program and no model gives
    one of them alone.
    """
    flows = graph.library.flows.values()
    variables = [variable for flow in flows for variable in flow.variables.values()]
    found = {variable.name: variable for variable in variables if variable.keep}
    alone = {
        each.name for each in variables if each.name in found and each != replace(found[each.name], mark=each.mark)
    }
    for flow in flows:
        alone.update(_given_alone(graph, flow.name))
    by_program = {root.place[0] for root in graph.roots if root.opening is Opening.PROGRAM}
    alone.update(name for flow in by_program for name in graph.library.flows[flow].variables)
    alone.update(item.name for root in graph.roots for item in root.inputs)
    return {name: variable for name, variable in found.items() if name not in alone}


def _given_alone(graph: Graph, name: str) -> Iterator[str]:
    flow = graph.library.flows[name]
    if flow.trigger is not None:
        yield from flow.trigger.given
    yield from (save for slot in flow.slots if (save := flow.steps[slot].options.save) is not None)
    for step in flow.steps.values():
        yield from step.facts.gives
        if step.facts.gives_any:
            yield from flow.variables
