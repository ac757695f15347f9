"""W301, W306, W308: a text with a hole, an error or a closed exit, because a variable has no value yet."""

from collections.abc import Iterator

from bot.checker.analysis.definite_assignment import DefiniteAssignment, definite_assignment
from bot.checker.analysis.feasibility import Feasibility
from bot.checker.analysis.null_effects import AnalysedText, NullEffect, VariableSet
from bot.checker.analysis.path_states import MOST_NAMES, PathStates, route_to
from bot.checker.analysis.provenance import NullOrigin, Provenance
from bot.checker.analysis.reachability import Reachability
from bot.checker.analysis.transfer_functions import EdgeTransfer, OnRead, bits_of, notice_uses
from bot.checker.findings import Finding, rule
from bot.checker.graph import Cause, Edge, Graph, Opening, StepId
from bot.core.immutable import immutable
from bot.language.expressions.templates import Definition, Expression, is_plain
from bot.language.flow.definition import Flow, uses_of_flow
from bot.language.source.problems import Mark
from bot.language.steps.step_facts import Used
from bot.language.steps.tools import STRUCTURES

_BY_NULL = {"failed", "mismatch"}  # the failures that null may cause


@immutable
class _Fault:
    """A variable that may be null where a text is evaluated: at a step, or on an edge from it."""

    place: StepId
    transfer: EdgeTransfer | None
    text: AnalysedText
    name: VariableSet
    fails: bool


@rule(
    W301="a variable that is read before it is set", W308="a variable that another flow has, and this one was not given"
)
def find_uninitialised(graph: Graph) -> Iterator[Finding]:
    """Find each text and variable once, wherever it is inherited."""
    assigned, origins, paths = graph.analysis(definite_assignment), Provenance(graph), _Paths(graph)
    reported = set[tuple[Mark, VariableSet]]()
    for fault in _faults(graph, assigned):
        key = fault.text.used.text.mark, fault.name
        if key in reported:
            continue
        (name,) = assigned.nulls.names_in(fault.name)
        origin = origins.of(fault.place, fault.name, fault.transfer)
        route = paths.to(fault, name, origin.route)
        if route is not None:
            reported.add(key)
            origin.route = route
            yield _FaultReport(graph, fault, name, origin).finding()
    yield from _unsent(graph, assigned)


class _Paths:
    """The paths on which a variable is null where a text is evaluated, with all that conditions say on the way."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._assigned = graph.analysis(definite_assignment)
        self._states: dict[tuple[str, str], PathStates | None] = {}

    def to(self, fault: _Fault, name: str, route: tuple[Edge, ...]) -> tuple[Edge, ...] | None:
        """A path without a value, if possible the known ``route``; None if conditions exclude all paths."""
        flow = self._graph.flow(fault.place)
        if (flow.name, name) not in self._states:
            self._states[flow.name, name] = self._followed(flow, name)
        states = self._states[flow.name, name]
        if states is None:
            return route
        found = states.reaches(fault.text, name, fault.place, fault.transfer, fails=fault.fails)
        if found is None or states.allow(route):
            return None if found is None else route
        last = () if fault.transfer is None else (fault.transfer.edge,)
        return (*route_to(self._graph, found), *last)

    def _followed(self, flow: Flow, name: str) -> PathStates | None:
        """The states in which conversations get to a flow's steps; None if they are too many, or nothing depends on
        other variables.
        """
        for names in dict.fromkeys((self._compared(flow, name, near=False), self._compared(flow, name, near=True))):
            states = PathStates(self._graph, self._assigned, flow.name, (name, *names))
            if states.complete:
                return states
        return None

    def _compared(self, flow: Flow, name: str, *, near: bool) -> tuple[str, ...]:
        """The variables in conditions of a flow; ``near``: only in texts that read this variable, too."""
        found = list[str]()
        for used in uses_of_flow(flow):
            text = used.text
            beside = isinstance(text, Expression) or not (text.constant or is_plain(text))
            if beside and (name in text.names or not near):
                found += sorted(text.names & flow.variables.keys() - {name})
            if not near or name in text.names:
                found += sorted(one for given in used.given for one in given.condition.names if one in flow.variables)
        varied = dict.fromkeys(each for each in found if each != name and self._assigned.varies(each))
        return tuple(varied)[:MOST_NAMES]


def _unsent(graph: Graph, assigned: DefiniteAssignment) -> Iterator[Finding]:
    """The data that a signal may come without, where its transition or a condition reads them."""
    reported, reachability = set[tuple[Mark, str]](), graph.analysis(Reachability)
    for place in (place for place in assigned.at if graph.steps[place].signals):
        named = (graph.steps[place].options.defaults.errors or {}).keys() & _BY_NULL
        for transfer in (each for each in assigned.transfers(place) if each.edge.cause is Cause.SIGNAL):
            asked = [Used(given.condition, sure=False) for given in transfer.conditions if given.holds]
            conditions = assigned.nulls.texts(asked, graph.flow(place))
            read = [(text, signal) for text in conditions for signal in text.nulls_of_signals(fails=True)]
            read += [(t, signal) for t in transfer.late_texts for signal in t.nulls_of_signals(fails=not named)]
            for text, (signal, field, fails) in read:
                written, name = text.used.text, f"event.{field}"
                if (written.mark, field) not in reported:
                    reported.add((written.mark, field))
                    why = f'signal "{signal}" may come without it'
                    what = f'step "{place[1]}": "{name}" may be null, and {_harm(fails=fails)}: {why}'
                    otherwise = (
                        f'test it first, as in "{name} and ..."'
                        if isinstance(written, Expression)
                        else f"write {{{{ {name} | default('...') }}}}"
                    )
                    fix = f"declare it in bot.yml with `needed: true`, or {otherwise}"
                    yield Finding.at("W301", written.mark, what, fix, (*reachability.path_to(place), transfer.edge))


def _harm(*, fails: bool) -> str:
    return "this fails then" if fails else "the text has a gap then"


def _faults(graph: Graph, assigned: DefiniteAssignment) -> Iterator[_Fault]:
    feasible = graph.analysis(Feasibility)
    for place in (place for place in graph.steps if place in assigned.at and feasible.reaches(place)):
        found: list[_Fault] = []
        step = graph.steps[place]
        named = (step.options.defaults.errors or {}).keys() & _BY_NULL
        seen = _into(found, place, None, expected=bool(named))
        rested = assigned.rested(place, seen)
        for used in notice_uses(step):
            text = assigned.nulls.text(used, graph.flow(place))
            seen(text, text.read(rested.null))
        begun = (each for each in assigned.transfers(place) if each.edge in feasible.begun)
        for transfer in (each for each in begun if not each.is_idle):
            seen = _into(found, place, transfer, expected=bool(named))
            transfer.past(assigned.left(transfer, rested, seen), seen)
        yield from found


def _into(found: list[_Fault], place: StepId, transfer: EdgeTransfer | None, *, expected: bool) -> OnRead:
    """A function that collects faults.

    ``expected``: the step has a transition for such failures, so they are no faults.
    """

    def note(text: AnalysedText, read: NullEffect) -> None:
        names = read.holes if expected else read.holes | read.fails
        found.extend(_Fault(place, transfer, text, name, bool(name & read.fails)) for name in bits_of(names))

    return note


@immutable
class _FaultReport:
    """A fault and the text of its finding."""

    graph: Graph
    fault: _Fault
    name: str
    origin: NullOrigin

    def finding(self) -> Finding:
        """The fault as a finding: W308 if the opening flow has such a variable and does not pass it on."""
        opened, place = self.origin.opened, self.fault.place
        by = None if opened is None else opened.by
        shared = by is not None and self.name in self.graph.flow(by).variables and not self._is_the_contacts
        harm = _harm(fails=self.fault.fails)
        by_name = self._read_by
        read = "" if by_name is None else f', which the definition "{by_name.name}" reads at {by_name.expression.mark}'
        why = self._not_given(by) if shared else self.origin.why(place)
        what = f'step "{place[1]}": "{self.name}" may be null{read}, and {harm}: {why}'
        fix = self._fix if by is None or not shared else self._giving(by)
        mark = self.fault.text.used.text.mark
        return Finding.at("W308" if shared else "W301", mark, what, fix, self.origin.route)

    @property
    def _is_the_contacts(self) -> bool:
        """True if another contact has a value of their own in the opened flow."""
        opened = self.origin.opened
        if opened is None or opened.opening is not Opening.PROGRAM:
            return False
        return self.name in self.graph.flow(opened.place).kept

    def _giving(self, by: StepId) -> str:
        """The fix by which the flow gets the value of the flow that opened it."""
        passed = f'pass it on, with: {{{self.name}: "{{{{ {self.name} }}}}"}}'
        if self.graph.flow(by).variables[self.name].value is None:
            return passed
        return f"give it the same `value` here as in flow {by[0]}; or, if that can change, {passed}"

    def _not_given(self, by: StepId | None) -> str:
        """The reason why a flow has no value for a variable that the flow below it has."""
        assert by is not None and self.origin.opened is not None
        return (
            f'flow {self.origin.opened.place[0]} has variables of its own, and step "{by[1]}" does not pass this one on'
        )

    @property
    def _read_by(self) -> Definition | None:
        """The definition in the text that reads the variable, itself and not through another one."""
        reading = [each for each in self.fault.text.used.text.definitions if self.name in each.expression.names]
        return next((each for each in reading if not {*reading}.intersection(each.expression.definitions)), None)

    @property
    def _fix(self) -> str:
        if self._read_by is not None:
            return f"give it a value before, or write ({self.name} | default(...)) in the definition"
        if isinstance(self.fault.text.used.text, Expression):
            return f'give it a value before, or test it first, as in "{self.name} and ..."'
        if self.fault.fails:
            return f"give it a value before, or lead elsewhere if it is null, with `if: not {self.name}`"
        return f"give it a value before, or write {{{{ {self.name} | default('...') }}}}"


@rule(W306="an exit that may stay closed")
def find_closed_exits(graph: Graph) -> Iterator[Finding]:
    """Find exits that need a list, a record, a file or a place that may be null. No model can note such a value."""
    needs = [(place, need) for place, step in graph.steps.items() for need in step.facts.needs]
    needed = [
        (place, need) for place, need in needs if isinstance(graph.flow(place).variables[need.variable], STRUCTURES)
    ]
    if not needed:
        return
    assigned, origins = graph.analysis(definite_assignment), Provenance(graph)
    for place, need in needed:
        name = assigned.nulls.of(need.variable)
        if place in assigned.at and assigned.at[place].null & name:
            origin = origins.of(place, name)
            type_ = graph.flow(place).variables[need.variable].type
            what = f'step "{place[1]}": exit "{need.exit}" needs "{need.variable}", which may be null, and no model'
            what += f" can note a value of type {type_}: {origin.why(place)}"
            yield Finding.at("W306", need.mark, what, "give it a value before, or remove it from `needs`", origin.route)
