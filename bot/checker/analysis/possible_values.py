"""Possible values: the values that the variables of a bot can have, by all that gives them one."""

from collections.abc import Iterator, Mapping
from typing import Any

from bot.checker.graph import Graph, Opening
from bot.language.expressions.abstract_values import NULL, AbstractValue, AbstractValues, bounded, just
from bot.language.flow.definition import Flow, Step
from bot.language.steps.step_facts import Outcome, Saved, SavedResult
from bot.language.steps.transition import evaluate, templates_in
from bot.language.types.type_registry import TypeMismatch, Variable

_ANY = object()  # a value that is not known beforehand
_TYPED = object()  # a text of the contact's where options are offered, too
_OPEN = (_ANY, _TYPED)
_COMPARED = (str, int, type(None))  # of these, equal values of one type are the same value


class PossibleValues:
    """The possible values of all variables by name: flows pass them on under their names.

    Null is always one of them.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._common = {name: variable.abstract_values for name, variable in graph.library.bot.common.items()}
        self._chosen: set[str] = set()  # the variables that options give a value
        self._given: dict[str, list[Any]] = {}
        repeated: set[tuple[str, type, Any]] = set()
        for name, value in self._given_values():
            written = (name, type(value), value) if isinstance(value, _COMPARED) or value in _OPEN else None
            if written is None or written not in repeated:
                self._given.setdefault(name, []).append(value)
            if written is not None:
                repeated.add(written)
        self._of: dict[str, Mapping[str, AbstractValues]] = {}

    def of(self, flow: Flow) -> Mapping[str, AbstractValues]:
        """The possible values of a flow's variables. The contact's language is not one of them; it is never null."""
        if flow.name not in self._of:
            own = {name: self._values(variable) for name, variable in flow.variables.items()}
            self._of[flow.name] = {**own, **self._common}
        return self._of[flow.name]

    def _values(self, variable: Variable) -> AbstractValues:
        given = self._given.get(variable.name, [])
        if not given or variable.keep or any(value in _OPEN for value in given):
            return variable.abstract_values | {NULL}
        flows = self._graph.library.flows.values()
        declared = [flow.variables[variable.name].value for flow in flows if variable.name in flow.variables]
        return bounded(_as_value(variable, value) for value in (*declared, *given, None))

    def offered(self, name: str) -> list[Any] | None:
        """The values that options and steps give to a variable; None if it has no options, or may get other values."""
        given = self._given.get(name, [])
        if name not in self._chosen or any(value is _ANY for value in given):
            return None
        return [value for value in given if value is not _TYPED]

    def _given_values(self) -> Iterator[tuple[str, Any]]:
        """Each name that gets a value, and this value."""
        for root in self._graph.roots:
            yield from ((item.name, _literal(item.value)) for item in root.inputs)
            flow = self._graph.flow(root.place)
            if root.opening is Opening.PROGRAM:
                yield from ((name, _ANY) for name in flow.variables)
            elif flow.trigger is not None:
                yield from ((name, _ANY) for name in flow.trigger.given)
        for place, step in self._graph.steps.items():
            flow = self._graph.flow(place)
            yield from self._of_step(step, flow)
            transitions = {id(edge.transition): edge.transition for edge in self._graph.edges[place]}
            for transition in transitions.values():
                if transition is not None:
                    yield from ((item.name, _literal(item.value)) for item in transition.assigned(flow.variables))

    def _of_step(self, step: Step, flow: Flow) -> Iterator[tuple[str, Any]]:
        yield from ((item.name, _literal(item.value)) for item in step.options.assigned(flow.variables))
        yield from ((name, _ANY) for name in step.facts.gives)
        yield from ((name, _ANY) for name in (flow.variables if step.facts.gives_any else ()))
        chosen = bool(step.facts.saved_values)
        if chosen and step.options.save is not None:
            self._chosen.add(step.options.save)
        for outcome in step.outcomes.values():
            yield from ((name, _ANY) for name in outcome.known)
            if step.options.save is not None and outcome.success:
                yield from ((step.options.save, _literal(value)) for value in _saved(outcome, chosen=chosen))


def _saved(outcome: Outcome, *, chosen: bool) -> list[Any]:
    """The value of `save`, as `bot.language.steps.transition.value_of` read it.

    ``chosen``: there are options for it.
    """
    if isinstance(outcome.saves, Saved):
        return [outcome.saves.value]
    if outcome.saves is SavedResult.VALUE:
        return [_TYPED if chosen else _ANY]
    return [_ANY] if outcome.saves is SavedResult.PERHAPS else []


def _literal(value: Any) -> Any:
    """A value that is written as it is; any other value is not known beforehand."""
    if value in _OPEN:
        return value
    return evaluate(value, {}) if all(text.constant for text in templates_in(value)) else _ANY


def _as_value(variable: Variable, value: Any) -> AbstractValue:
    """A value as its variable takes it; null for one that does not fit."""
    try:
        return just(variable.coerce(value, None))
    except TypeMismatch:
        return NULL
