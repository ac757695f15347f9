"""Frames: which flows are open below a step, and which variables of a frame have a value.

A transition to a flow that is open further down returns to it: that flow still has its own variables, and the flows
above it end (docs/language/flows.md).
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping

from bot.checker.analysis.null_effects import NullAnalysis, VariableSet
from bot.checker.analysis.transfer_functions import NullState, bits_of
from bot.checker.graph import Edge, Graph, Opening, Root, StepId
from bot.checker.graph.edges import strongly_connected_components
from bot.core.session import CUTS_IN
from bot.language.flow.definition import Flow, certain_data
from bot.language.keys.patterns import certain_groups
from bot.language.types.text_types import LONGEST, TextVariable
from bot.language.types.variable import Variable

_ANYBODY: StepId = ("", "")  # stands for the first steps of all flows that interrupt others


class FrameStack:
    """The frames that may lie on top of each other. ``returns`` are, for each step at which a conversation may wait
    further down, the steps to which a flow above it returns.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._bits = {name: 1 << number for number, name in enumerate(graph.library.flows)}
        plans = (plan for step in graph.steps.values() for plan in step.options.schedule)
        self._planned = {
            graph.opened_by(plan.target.text)
            for plan in plans
            if graph.library.busy_policy(plan.target.text, plan.busy) in CUTS_IN
        }
        # the first steps of the frames that may be opened on top of each step
        self._above = {place: tuple(self._opened_above(place)) for place in graph.steps}
        self.returns: Mapping[StepId, tuple[StepId, ...]] = self._find_returns()
        self._below: dict[StepId, int] = {}  # the flows that are certainly open further down
        self._settle()

    def may_stay(self, edge: Edge) -> bool:
        """True if a conversation that takes the edge may stay in its frame."""
        return edge.target is not None and self._stays(edge, edge.target, self._below.get(edge.source, 0))

    def may_change_below(self, place: StepId) -> Opening | None:
        """The opening of flows on top of a step that may change kept variables: an interruption, else a run."""
        above = self._above[place]
        return Opening.INTERRUPTION if _ANYBODY in above else Opening.RUN if above else None

    def path_back(self, place: StepId, target: StepId) -> tuple[Edge, ...]:
        """A shortest path from a flow that is opened on top of a step back to the step's flow, at another step."""
        waiting = deque[tuple[StepId, tuple[Edge, ...]]]((begun, ()) for begun in self._begun_above(place))
        seen = {begun for begun, _ in waiting}
        while waiting:
            here, edges = waiting.popleft()
            onward = [(edge.target, (*edges, edge)) for edge in self._graph.edges[here] if edge.target is not None]
            for there, path in (*onward, *((begun, edges) for begun in self._begun_above(here))):
                if there == target and path and path[-1].source[0] != target[0]:
                    return path
                if there not in seen:
                    seen.add(there)
                    waiting.append((there, path))
        return ()

    def _begun_above(self, place: StepId) -> Iterator[StepId]:
        for above in self._above[place]:
            yield from self._interrupters() if above == _ANYBODY else (above,)

    def _stays(self, edge: Edge, target: StepId, below: int) -> bool:
        return target[0] == edge.source[0] or not self._bits[target[0]] & below

    # -- returns to flows below ------------------------------------------------------------------------------------

    def _interrupters(self) -> Iterator[StepId]:
        """The steps at which conversations begin, or go on, that interrupt others."""
        yield from self._planned
        yield from self._graph.interrupters

    def _opened_above(self, place: StepId) -> Iterator[StepId]:
        yield from (root.place for root in self._graph.roots_by.get(place, ()) if root.opening is Opening.RUN)
        goes_on = self._graph.flow(place).interrupted not in (None, "drop")
        interrupted = goes_on and self._graph.may_be_interrupted(place)
        open_above = self._planned or interrupted
        if self._graph.takes_words(place) and (open_above or self._graph.steps[place].stays_valid):
            yield _ANYBODY

    def _find_returns(self) -> Mapping[StepId, tuple[StepId, ...]]:
        entered = _Entered(edge for edges in self._graph.edges.values() for edge in edges)
        over, found = self._switched_to(entered), {}
        for place in self._graph.steps:
            every = 0
            for above in self._above[place]:
                every |= over.get(above, 0)
            if targets := entered.within(every, place[0]):
                found[place] = targets
        return found

    def _switched_to(self, entered: "_Entered") -> Mapping[StepId, int]:
        """For each step, the steps of other flows to which transitions lead after it, in its frame or above."""
        graph, found = self._graph, dict[StepId, int]()
        onward = {
            place: [*self._above[place], *(edge.target for edge in graph.edges[place] if edge.target is not None)]
            for place in graph.steps
        }
        onward[_ANYBODY] = list(self._interrupters())
        for component in strongly_connected_components(onward):
            every = 0
            for place in component:
                for edge in graph.edges.get(place, ()):
                    every |= entered.by(edge)
                for other in onward[place]:
                    every |= found.get(other, 0)
            found.update(dict.fromkeys(component, every))
        return found

    # -- flows that are surely open --------------------------------------------------------------------------------

    def _settle(self) -> None:
        waiting = deque[StepId]()
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
                if edge.target is not None and not edge.goes_back and self._stays(edge, edge.target, below):
                    self._meet(edge.target, 0 if edge.alone or edge.returns else below, waiting)

    def _meet(self, place: StepId, below: int, waiting: deque[StepId]) -> None:
        known = self._below.get(place)
        if known is None or known & below != known:
            self._below[place] = below if known is None else known & below
            waiting.append(place)


class _Entered:
    """Sets of steps to which transitions from other flows lead, as bits of a number."""

    def __init__(self, edges: Iterable[Edge]) -> None:
        self._places = sorted({edge.target for edge in edges if edge.target is not None and _switches_flow(edge)})
        self._bits = {place: 1 << number for number, place in enumerate(self._places)}
        self._of_flow: dict[str, int] = {}
        for place, bit in self._bits.items():
            self._of_flow[place[0]] = self._of_flow.get(place[0], 0) | bit
        self._known: dict[int, tuple[StepId, ...]] = {}

    def by(self, edge: Edge) -> int:
        """The step of another flow to which an edge leads, as a set; empty if it stays in its flow."""
        return self._bits[edge.target] if edge.target is not None and _switches_flow(edge) else 0

    def within(self, bits: int, flow: str) -> tuple[StepId, ...]:
        """The members of a set that are steps of a flow, in order."""
        bits &= self._of_flow.get(flow, 0)
        if bits not in self._known:
            self._known[bits] = tuple(self._places[bit.bit_length() - 1] for bit in bits_of(bits))
        return self._known[bits]


def _switches_flow(edge: Edge) -> bool:
    return edge.target is not None and edge.target[0] != edge.source[0] and not edge.returns


class Declarations:
    """The declared variables of all flows.

    ``given`` are the variables that each flow itself gives a value before it needs them.
    """

    def __init__(self, graph: Graph, nulls: NullAnalysis, given: Mapping[str, VariableSet]) -> None:
        self._graph = graph
        self._nulls = nulls
        self._given = given
        flows = graph.library.flows.values()
        self._own = {flow.name: nulls.of(*flow.variables) for flow in flows}
        self._initial = {
            flow.name: nulls.of(*(each.name for each in flow.variables.values() if each.value is not None))
            for flow in flows
        }
        self._needed = {flow.name: nulls.of(*flow.required) for flow in flows}
        self._kept = {flow.name: nulls.of(*flow.kept) for flow in flows}
        self._not_kept = nulls.of(*(name for flow in flows for name in flow.variables.keys() - flow.kept.keys()))
        self._before = self._spread(self._own)
        self._bare = self._spread({name: own & ~self._initial[name] for name, own in self._own.items()})
        self._misfits: dict[tuple[str, str], VariableSet] = {}

    def at(self, place: StepId) -> VariableSet:
        """The variables that a frame may have at a step: those of the step's flow, and of flows that the frame has
        been in before.
        """
        return self._before[place[0]]

    def fresh(self, root: Root) -> NullState:
        """The variables that may be null when a frame begins, inputs aside. A program that starts a flow is expected
        to give it every variable that nothing in the flow sets, or that its first step cannot do without. A signal
        surely gives what it needs itself.
        """
        flow = self._graph.library.flows[root.place[0]]
        known = self._initial[flow.name]
        match root.opening:
            case Opening.PROGRAM if root.signal is not None:
                known |= self._nulls.of(*certain_data(self._graph.library.bot, root.signal))
            case Opening.PROGRAM if root.by is None:
                known |= ~self._given[flow.name] | self._needed[flow.name]
            case Opening.RUN | Opening.PLAN | Opening.PROGRAM:
                known |= self._needed[flow.name]
            case Opening.WORDS | Opening.INTERRUPTION:
                known |= self._nulls.of(*_by_pattern(flow))
        return NullState(self._nulls.everything & ~known)

    def kept(self, *places: StepId) -> VariableSet:
        """The variables that the flows of all these steps keep (`keep`): they are the same in each."""
        found = self._nulls.everything
        for flow, _ in places:
            found &= self._kept[flow]
        return found

    def crossed(self, edge: Edge, state: NullState) -> NullState:
        """The state after a transition to another flow in the same frame.

        Variables without a value get the first value that this flow declares, and so do variables whose value does not
        fit its declaration.
        """
        here, there = edge.source[0], edge.source[0] if edge.target is None else edge.target[0]
        if here == there:
            return state
        if (here, there) not in self._misfits:
            self._misfits[here, there] = self._find_misfits(here, there)
        begun = self._initial[there] & ~self._bare[here]
        return NullState(state.unset & ~begun | self._misfits[here, there], state.emptied)

    def _spread(self, own: Mapping[str, VariableSet]) -> dict[str, VariableSet]:
        """For each flow, its own variables together with those of the flows from which transitions lead to it."""
        found = dict(own)
        waiting = list(found)
        while waiting:
            name = waiting.pop()
            for other in self._graph.crossed[name]:
                if found[name] | found[other] != found[other]:
                    found[other] |= found[name]
                    waiting.append(other)
        return found

    def _find_misfits(self, here: str, there: str) -> VariableSet:
        ours, theirs = (self._graph.library.flows[name].variables for name in (here, there))
        both = (name for name in theirs.keys() & ours.keys() if theirs[name].value is None)
        left = self._kept[here] & ~self._own[there] & self._not_kept  # no frame has it, so no transition brings it
        return left | self._nulls.of(*(name for name in both if not _carries(ours[name], theirs[name])))


def _carries(ours: Variable, theirs: Variable) -> bool:
    """True if every value of one variable is a value of another: same type, or a text that takes it."""
    if theirs.type == "text":
        return theirs.may_be_made_of(ours.kind)
    return (ours.type, theirs.type) == ("integer", "number") or ours.type == theirs.type


def _by_pattern(flow: Flow) -> list[str]:
    """The variables to which every starting message gives a value; empty if words start the flow, too."""
    start = flow.trigger
    if start is None or start.words or start.topics or start.otherwise or start.intent is not None:
        return []
    by_payload = None if start.payload is None else {*start.payload.names}  # one that does not fit starts nothing
    if start.pattern is None:
        return sorted(by_payload or ())
    by_text = {name for name in certain_groups(start.pattern) if _takes_all(flow.variables[name])}
    return sorted(by_text if by_payload is None else by_text & by_payload)


def _takes_all(variable: Variable) -> bool:
    plain = isinstance(variable, TextVariable) and variable.pattern is None and variable.most == LONGEST
    return plain and not variable.checks
