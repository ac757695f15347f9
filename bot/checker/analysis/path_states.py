"""Path sensitivity: the combinations of values with which conversations reach a step.

Definite assignment merges all paths to a step: where one path sets both `deliver` and `street`, it knows only that
`street` may be null. Here each path keeps what its conditions say, so ``{% if deliver %}{{ street }}`` has no hole.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bot.checker.analysis.definite_assignment import DefiniteAssignment
from bot.checker.analysis.feasibility import Feasibility
from bot.checker.analysis.kept_flags import KeptFlag, kept_flags
from bot.checker.analysis.null_effects import AnalysedText, VariableSet
from bot.checker.analysis.reachability import Reachability, edges_of
from bot.checker.analysis.transfer_functions import EdgeTransfer, WrittenValue
from bot.checker.graph import AFTER_RUN, Edge, Graph, Opening, Root, StepId
from bot.checker.graph.edges import reachable
from bot.core.immutable import immutable
from bot.language.expressions.abstract_values import (
    ANYTHING,
    FALSE,
    LOST,
    NULL,
    TRUE,
    UNKNOWN,
    AbstractValue,
    AbstractValues,
    ValueKind,
    bounded,
    just,
    some,
    truths,
)
from bot.language.expressions.templates import Expression, Template
from bot.language.flow.definition import Flow
from bot.language.steps.step_facts import Given, Saved, SavedResult
from bot.language.types.variable import Variable

MOST_STATES = 4_000
"""The most states that are followed for one variable. With more of them, all paths count as possible."""
MOST_NAMES = 10
_NULL: AbstractValues = frozenset({NULL})
_LOST: AbstractValues = frozenset({LOST})
_MAY_BE_FALSE = frozenset({ValueKind.NUMBER, ValueKind.LIST})

State = tuple[AbstractValues | None, ...]
"""The possible values of each followed variable; None: no flow of the frame has declared it yet."""


@immutable(eq=False)
class PathState:
    """A state at a step, and how a conversation gets there: from another state, by an edge or into a new frame."""

    place: StepId
    state: State
    before: "PathState | None" = None
    edge: Edge | None = None


class PathStates:
    """The states at all steps from which a flow can be reached, and at its own, for some variables."""

    def __init__(self, graph: Graph, assigned: DefiniteAssignment, flow: str, names: Iterable[str]) -> None:
        self._graph, self._assigned, self._nulls = graph, assigned, assigned.nulls
        self._feasible = graph.analysis(Feasibility)
        self.names = tuple(names)
        self._flags = [flag for flag in graph.analysis(kept_flags) if {flag.flag, flag.has} <= {*self.names}]
        self._places = _leading_to(graph, assigned, flow)
        self._found: dict[StepId, list[PathState]] = defaultdict(list)
        self._waiting: deque[PathState] = deque()
        self.complete = self._follow()

    def reaches(
        self, text: AnalysedText, name: str, place: StepId, transfer: EdgeTransfer | None, *, fails: bool
    ) -> PathState | None:
        """The first state in which a variable is null where a text is evaluated, and leaves a hole or lets it fail
        (``fails``: also this counts).
        """
        for here, begun in self._states_at(place):
            state: State | None = begun
            if transfer is not None:
                left = None if text in transfer.early_texts else self.left(transfer, begun)
                state = begun if text in transfer.early_texts else left and left[text in transfer.late_texts]
            state = self.filtered(state, text.used.given, place)
            known = {} if state is None else self.evaluated(text.used.text, state, place)
            if NULL not in known.get(name, ()):
                continue
            # a text that fails because of another variable is that one's fault
            rest = {each: ANYTHING for each, values in known.items() if values == _NULL and each != name}
            known = {**known, name: _LOST}
            if rest and not text.evaluated(known).values:
                known |= rest
            if text.shows_null(known, fails=fails):
                return here
        return None

    def _states_at(self, place: StepId) -> Iterator[tuple[PathState, State]]:
        """The states with which conversations reach a step, and those into which others change them meanwhile."""
        for here in self._found[place]:
            yield here, here.state
            yield from ((here, rested) for rested in self._rested(here) if rested != here.state)

    def may_be_false(self, place: StepId, name: str) -> bool:
        """True if a variable may be null or empty at a step."""
        states = (dict(zip(self.names, here.state, strict=True))[name] for here in self._found[place])
        return any(values is None or False in truths(values) for values in states)

    def allow(self, route: Iterable[Edge]) -> bool:
        """True if nothing that conditions say on the way excludes a route."""
        here, states = None, list[State]()
        transfers = self._assigned.transfers
        for edge in route:
            if edge.source != here:  # in another frame
                states = [each.state for each in self._found.get(edge.source, ())]
            transfer = next((each for each in transfers(edge.source) if each.edge is edge), None)
            if transfer is None or edge.source not in self._places:
                here = None
                continue
            lefts = [left for state in states if (left := self.left(transfer, state)) is not None]
            if states and not lefts:
                return False
            here, states = edge.target, [self._crossed(edge, self.past(transfer, after)) for _, after in lefts]
        return True

    def known(self, state: State, flow: Flow) -> dict[str, AbstractValues]:
        """The possible values of the followed variables that a flow declares."""
        found = zip(self.names, state, strict=True)
        return {
            name: _both(flow.variables[name], null=True) if each is None else each
            for name, each in found
            if name in flow.variables
        }

    def evaluated(self, text: Template | Expression, state: State, place: StepId) -> dict[str, AbstractValues]:
        """The possible values of all names of a text."""
        flow, null, has = self._graph.flow(place), self._assigned.at[place].null, self._feasible.has(place)
        kinds = self._nulls.kinds_of(text.names, flow).items()
        usual = {name: _where_null(each, self._nulls.of(name), null, has) for name, each in kinds}
        known = {name: each for name, each in self.known(state, flow).items() if name in usual}
        return {**usual, **known, **self._nulls.signals.known_in(text)}

    def filtered(self, state: State | None, given: Iterable[Given], place: StepId) -> State | None:
        """The state where these conditions hold; None where they cannot."""
        for each in given:
            if state is None:
                return None
            state = self._where(state, each.condition, place, lambda found: each.holds in found.truths)  # noqa: B023
        return state

    def left(self, transfer: EdgeTransfer, state: State) -> tuple[State, State] | None:
        """The states before and after a step that is left by an edge saves its values; None if it cannot be left so."""
        place = transfer.edge.source
        if transfer.done:
            for text in self._assigned.texts[place]:
                state = self._passed(state, text, place) or state
        before = self.filtered(state, transfer.conditions, place)
        if before is None:
            return None
        step, flow = self._graph.steps[place], self._graph.flow(place)
        after = self._with(before, {name: _both(flow.variables[name]) for name in step.facts.gives}, also=True)
        if step.facts.gives_any:
            after = self._with(after, {name: _both(each, null=True) for name, each in flow.variables.items()})
        outcome = step.outcomes.get(transfer.edge.outcome)
        if outcome is not None and transfer.edge.success:
            after = self._with(after, {name: _both(flow.variables[name]) for name in outcome.known})
            if step.options.save is not None:
                after = self._saved(after, step.options.save, outcome.saves, place)
            after = self._brought(after, transfer, place)
            after = self._set(after, [(each.name, each.value) for each in step.options.assigned(flow.variables)], place)
        return before, after

    def past(self, transfer: EdgeTransfer, left: State) -> State:
        """The state after the transition of an edge."""
        place, transition = transfer.edge.source, transfer.edge.transition
        if transition is None:
            return left
        given = transition.assigned(self._graph.flow(place).variables)
        return self._set(left, [(each.name, each.value) for each in given], place)

    # -- following -------------------------------------------------------------------------------------------------

    def _follow(self) -> bool:
        for root in self._graph.roots:
            if root.by is None and root.place in self._places:
                self._meet(PathState(root.place, self._opened(root, None)))
        while self._waiting:
            here = self._waiting.popleft()
            for following in self._onward(here):
                self._meet(following)
            if sum(map(len, self._found.values())) > MOST_STATES:
                return False
        return True

    def _meet(self, new: PathState) -> None:
        known = self._found[new.place]
        for state in _divided(new.state, self._flags, self.names, self._graph.flow(new.place)):
            if not any(within(state, each.state) for each in known):
                known.append(replace(new, state=state))
                self._waiting.append(known[-1])

    def _onward(self, here: PathState) -> Iterator[PathState]:
        place = here.place
        for rested in self._rested(here):
            for root in self._graph.roots_by.get(place, ()):
                if root.place in self._places:
                    yield PathState(root.place, self._opened(root, rested), here)
            for target in self._assigned.stack.returns.get(place, ()):
                if target in self._places:
                    yield PathState(target, rested, here)
            for transfer in self._assigned.transfers(place):
                edge = transfer.edge
                stays = edge in self._feasible.finished and self._assigned.stack.may_stay(edge)
                if stays and edge.target is not None and edge.target in self._places:
                    left = self.left(transfer, rested if transfer.done else here.state)
                    if left is not None:
                        yield PathState(edge.target, self._crossed(edge, self.past(transfer, left[1])), here, edge)

    def _rested(self, here: PathState) -> list[State]:
        """The states while a conversation is at a step. Others may change what is kept meanwhile."""
        facts = self._graph.steps[here.place].facts
        flow = self._graph.flow(here.place)
        if facts.waits_for is None:
            return [here.state]
        null = self._assigned.rested(here.place).null
        kept = {name: _both(each, null=bool(null & self._nulls.of(name))) for name, each in flow.kept.items()}
        return _divided(self._with(here.state, kept), self._flags, self.names, flow)

    def _opened(self, root: Root, outer: State | None) -> State:
        """The state at the first step of a flow that is opened."""
        flow = self._graph.library.flows[root.place[0]]
        null = self._assigned.at[root.place].null
        anything = root.opening is Opening.PROGRAM
        pattern = flow.trigger.pattern.groupindex if flow.trigger is not None and flow.trigger.pattern else ()
        given = {
            *pattern,
            *(flow.steps[slot].options.save for slot in flow.slots),
            *(each.name for each in root.inputs),
        }
        inputs = {each.name: each.value for each in root.inputs}
        found: list[AbstractValues | None] = []
        for name in self.names:
            variable = flow.variables.get(name)
            if variable is None:
                found.append(None)
                continue
            may_be_null = bool(null & self._nulls.of(name))
            if name in inputs and root.by is not None and outer is not None and root.opening is Opening.RUN:
                found.append(self._value(inputs[name], variable, outer, root.by))
            elif anything or name in given or variable.keep:
                found.append(_both(variable, null=may_be_null))
            else:
                found.append(_initial(variable))
        return tuple(found)

    def _crossed(self, edge: Edge, state: State) -> State:
        """The state after a transition to a step, perhaps of another flow."""
        if edge.target is None or edge.source[0] == edge.target[0]:
            return state
        ours, theirs = self._graph.flow(edge.source), self._graph.flow(edge.target)
        null = self._assigned.at[edge.target].null
        found: list[AbstractValues | None] = []
        for name, each in zip(self.names, state, strict=True):
            variable, before = theirs.variables.get(name), ours.variables.get(name)
            if variable is None:
                found.append(each if before is None or not before.keep else None)
            elif each is None and not variable.keep:
                found.append(_initial(variable))
            elif variable.keep or not _is_taken_along(self._graph, variable, before):
                found.append(_both(variable, null=bool(null & self._nulls.of(name))))
            else:  # a variable without a value gets the first value that this flow declares
                begun = variable.value is not None and NULL in (each or ())
                found.append(_initial(variable) | (each or frozenset()) if begun else each)
        return tuple(found)

    # -- values ----------------------------------------------------------------------------------------------------

    def _with(self, state: State, given: Mapping[str, AbstractValues], *, also: bool = False) -> State:
        """The state with other values; ``also``: they may be the same as before, too."""
        if not any(name in given for name in self.names):
            return state
        return tuple(
            each if name not in given else given[name] | (each or frozenset()) if also else given[name]
            for name, each in zip(self.names, state, strict=True)
        )

    def _set(self, state: State, given: list[WrittenValue], place: StepId) -> State:
        variables = self._graph.flow(place).variables
        return self._with(
            state,
            {
                name: self._value(value, variables[name], state, place)
                for name, value in given
                if name in self.names and name in variables
            },
        )

    def _saved(self, state: State, name: str, saves: SavedResult | Saved, place: StepId) -> State:
        variable = self._graph.flow(place).variables.get(name)
        if variable is None or saves is SavedResult.NOTHING:
            return state
        if isinstance(saves, Saved):
            return self._set(state, [(name, saves.value)], place)
        null = {SavedResult.VALUE: _both(variable), SavedResult.NULL: _NULL}
        return self._with(state, {name: null.get(saves, _both(variable, null=True))})

    def _brought(self, state: State, transfer: EdgeTransfer, place: StepId) -> State:
        """The state with the outputs of a flow that was run."""
        brought = self._assigned.brought(transfer)
        if brought is None:
            return state
        flow, (given, null) = self._graph.flow(place), brought
        named = {name: self._nulls.of(name) for name in self.names if name in flow.variables}
        return self._with(
            state,
            {name: _both(flow.variables[name], null=bool(null & bit)) for name, bit in named.items() if given & bit},
        )

    def _value(self, value: Any, variable: Variable, state: State, place: StepId) -> AbstractValues:
        """The possible values of a variable that was set to this value in this state."""
        if not isinstance(value, Template):
            exact = _exactly(value)
            return frozenset({exact}) if exact.kind in (variable.kind, ValueKind.NULL) else _both(variable)
        if value.constant:
            return frozenset({just(value.source)}) if variable.kind is ValueKind.TEXT else _both(variable)
        found = self._nulls.reads(value).evaluate(self.evaluated(value, state, place)).values
        if found and all(each.kind in (variable.kind, ValueKind.NULL) for each in found):
            return frozenset(replace(each, lost=False) for each in found)
        return _both(variable, null=any(each.kind in (ValueKind.NULL, ValueKind.ANY) for each in found))

    def _passed(self, state: State, text: AnalysedText, place: StepId) -> State | None:
        """The state after a text was evaluated: values with which it always fails are left out."""
        if text.constant or not text.used.sure or text.used.given or text.used.extra:
            return state
        return self._where(state, text.used.text, place, lambda found: bool(found.values))

    def _where(
        self, state: State, text: Template | Expression, place: StepId, holds: Callable[[Any], bool]
    ) -> State | None:
        """The state without values with which a text does not do this; None if it never does."""
        if not text.names.intersection(self.names):
            return state
        reads, known = self._nulls.reads(text), self.evaluated(text, state, place)
        if not reads.evaluate(known).values:  # it fails for certain: what follows counts as if there were values
            flow = self._graph.flow(place)
            filled = {name: _both(flow.variables[name]) for name, values in known.items() if values == _NULL}
            state = self._with(state, filled)
            known = self.evaluated(text, state, place)
        if not holds(reads.evaluate(known)):
            return None
        found = list(state)
        for number, name in enumerate(self.names):
            values = known.get(name)
            if values is not None and name in text.names:
                parts = [part for value in values for part in _parts(value)]
                fitting = frozenset(p for p in parts if holds(reads.evaluate({**known, name: frozenset({p})})))
                if not fitting:
                    return None
                found[number] = known[name] = values if len(fitting) == len(parts) else fitting
        return tuple(found)


def _is_taken_along(graph: Graph, variable: Variable, before: Variable | None) -> bool:
    """True if a variable keeps the value that it had before. It may lie idle in a flow that does not declare it."""
    if before is not None:
        return before.type == variable.type and not before.keep
    declared = (flow.variables.get(variable.name, variable) for flow in graph.library.flows.values())
    return all(each.type == variable.type and not each.keep for each in declared)


def _divided(state: State, flags: Iterable[KeptFlag], names: Sequence[str], flow: Flow) -> list[State]:
    """The state in parts: in each part, every kept flag says whether the variable that it vouches for is set."""
    found = [state]
    for flag in flags:
        if flag.flag in flow.kept and flag.has in flow.kept:
            one, other = names.index(flag.flag), names.index(flag.has)
            found = [each for before in found for each in _divided_by(before, flag, one, other)]
    return found


def _divided_by(state: State, flag: KeptFlag, one: int, other: int) -> Iterator[State]:
    """The states without the flag's value, and with it: then the other variable is not null."""
    values, has = state[one], state[other]
    told = frozenset(value for value in values or () if value.value == flag.value and value.kind is not ValueKind.NULL)
    if not told or has is None or NULL not in has or any(value.value is UNKNOWN for value in values or ()):
        yield state
        return
    if rest := (values or frozenset()) - told:
        yield tuple(rest if number == one else each for number, each in enumerate(state))
    if full := has - {NULL, LOST}:
        yield tuple(told if number == one else full if number == other else each for number, each in enumerate(state))


def route_to(graph: Graph, last: PathState) -> tuple[Edge, ...]:
    """The edges by which a conversation gets to a state, through the flows that are run on the way."""
    reachability, found, here = graph.analysis(Reachability), list[Edge](), last
    while here.before is not None:
        if here.edge is not None:
            found.append(here.edge)
            if here.edge.cause in AFTER_RUN:
                found += reversed(edges_of(reachability.path_within(here.edge)))
        here = here.before
    return tuple(reversed(found))


def _leading_to(graph: Graph, assigned: DefiniteAssignment, flow: str) -> frozenset[StepId]:
    """The steps from which a conversation can get to a step of a flow, in its frame or in one above."""
    before: dict[StepId, list[StepId]] = defaultdict(list)
    for place in assigned.at:
        for edge in graph.edges[place]:
            if edge.target is not None:
                before[edge.target].append(place)
        for target in (*(root.place for root in graph.roots_by.get(place, ())), *assigned.stack.returns.get(place, ())):
            before[target].append(place)
    own = [place for place in assigned.at if place[0] == flow]
    return frozenset(place for place in reachable(own, lambda place: before[place]) if place in assigned.at)


def _both(variable: Variable, *, null: bool = False) -> AbstractValues:
    """All values of a variable."""
    if variable.kind is ValueKind.BOOLEAN:
        found: AbstractValues = frozenset({TRUE, FALSE})
    elif variable.values is not None:
        found = bounded(map(just, variable.values))
    else:
        found = some(variable.kind, full=variable.kind not in _MAY_BE_FALSE, whole=variable.whole)
    return found | _NULL if null else found


def _where_null(kinds: AbstractValues, name: VariableSet, null: VariableSet, has: VariableSet) -> AbstractValues:
    """The values of a variable, by whether it may be null, and may have a value."""
    if not name & null:
        return kinds
    return ANYTHING if name & has else _NULL


def _initial(variable: Variable) -> AbstractValues:
    return frozenset({_exactly(variable.value)})


def _exactly(value: Any) -> AbstractValue:
    found = just(value)
    return replace(found, empty=not value) if found.kind in (ValueKind.LIST, ValueKind.RECORD) else found


def _parts(value: AbstractValue) -> Iterable[AbstractValue]:
    """A value split in two: the values that are true in a condition, and those that are false."""
    if value.value is not UNKNOWN or value.full or value.empty or value.kind is ValueKind.ANY:
        return (value,)
    return (replace(value, full=True), replace(value, empty=True))


def within(state: State, other: State) -> bool:
    """True if a state has no other values than another one."""
    return all(
        one == two or (one is not None and two is not None and one <= two)
        for one, two in zip(state, other, strict=True)
    )
