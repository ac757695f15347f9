"""Counters: loops of time-outs and waits that a variable ends, such as ``{if: asked > 2, then: end}``.

The steps are unfolded by the values of the variable. If no path without a word of the contact then leads in a circle,
a step is entered once at most with each of its values.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from bot.checker.analysis.definite_assignment import definite_assignment
from bot.checker.analysis.path_states import PathState, PathStates, State, within
from bot.checker.graph import Cause, Edge, Graph, StepId
from bot.checker.graph.edges import strongly_connected_components
from bot.language.expressions.abstract_values import UNKNOWN, AbstractValues, ValueKind, just
from bot.language.expressions.template_failures import TemplateFailed
from bot.language.expressions.templates import Template
from bot.language.types.variable import TypeMismatch, Variable

_MOST_COUNTED = 32  # the largest number that is followed


def counted_visits(graph: Graph) -> Mapping[StepId, int]:
    """The most visits in one silence of the steps that wait in loops which a counter ends."""
    found: dict[StepId, int] = {}
    silent = {place: [edge for edge in graph.edges[place] if _is_silent(edge)] for place in graph.steps}
    onward: dict[StepId, list[StepId]] = {
        place: [root.place for root in graph.roots_by.get(place, ())] for place in graph.steps
    }
    for place, edges in silent.items():
        onward[place] += [edge.target for edge in edges if edge.target is not None]
    for component in strongly_connected_components(onward):
        loop = set(component)
        inside = [edge for place in component for edge in silent[place] if edge.target in loop]
        for name in dict.fromkeys(name for edge in inside for name in _counted(graph, edge)):
            states = _CountedStates(graph, graph.analysis(definite_assignment), component[0][0], [name])
            visits = _visits(states, loop) if states.complete else {}
            found |= {place: most for place, most in visits.items() if graph.steps[place].facts.waits_for is not None}
    return found


def _is_silent(edge: Edge) -> bool:
    """True if it leads to a step, without a word of the contact."""
    keeps_waiting = not edge.enters or (edge.cause is Cause.REMINDER and edge.again)
    return edge.target is not None and edge.cause is not Cause.REPLY and not keeps_waiting


def _counted(graph: Graph, edge: Edge) -> Iterator[str]:
    """The numbers that are calculated when an edge is taken."""
    variables = graph.flow(edge.source).variables  # without the contact's language, which a step can set as well
    assigned = (item.name for item in graph.assigned_on(edge))
    return (name for name in assigned if name in variables and variables[name].kind is ValueKind.NUMBER)


class _CountedStates(PathStates):
    """The states in which a small whole number is counted: ``{{ asked + 1 }}`` of 2 is 3."""

    def at(self, place: StepId) -> Sequence[PathState]:
        """The states with which conversations reach a step."""
        return self._found.get(place, ())

    def onward(self, here: PathState) -> Iterator[tuple[Edge | None, PathState]]:
        """The found states that follow a state, each with the edge that leads there; None: the frame is another one."""
        for new in self._onward(here):
            yield new.edge, next(each for each in self._found[new.place] if within(new.state, each.state))

    def _value(self, value: Any, variable: Variable, state: State, place: StepId) -> AbstractValues:
        number = _number(state[0])
        if isinstance(value, Template) and value.single and value.names == {*self.names} and number is not None:
            with suppress(TemplateFailed, TypeMismatch):
                found = variable.coerce(value.value({self.names[0]: number}), None)
                if found == int(found) and abs(found) <= _MOST_COUNTED:
                    return frozenset({just(int(found))})
        return super()._value(value, variable, state, place)


def _number(values: AbstractValues | None) -> Any:
    """The whole number that these values are; None if they may be anything else."""
    known = [each.value for each in values or () if each.kind is ValueKind.NUMBER and each.value is not UNKNOWN]
    return known[0] if known and len(known) == len(values or ()) == 1 else None


def _visits(states: _CountedStates, loop: Collection[StepId]) -> Mapping[StepId, int]:
    """The most visits of each step of a loop: the number of its states, if none of them is on a circle."""
    onward = {
        state: [
            after for edge, after in states.onward(state) if (edge is None or _is_silent(edge)) and after.place in loop
        ]
        for place in loop
        for state in states.at(place)
    }
    parts = strongly_connected_components(onward)
    circling = {state.place for part in parts for state in part if len(part) > 1 or state in onward[state]}
    return {place: len(states.at(place)) for place in loop if states.at(place) and place not in circling}
