"""The variables that hold the data of services as they came: JSON, in which days and times are texts."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from bot.checker.analysis.null_effects import NullAnalysis
from bot.checker.graph import Graph
from bot.language.expressions.abstract_values import (
    ANYTHING,
    JSON,
    NULL,
    AbstractValue,
    AbstractValues,
    ValueKind,
    elements_of,
)
from bot.language.expressions.templates import Expression, Template
from bot.language.flow.definition import Flow, Step, transitions_of_bot, transitions_of_flow
from bot.language.steps.ask_step import AskStep
from bot.language.steps.choices import MadeChoices
from bot.language.steps.control_steps import ELEMENT
from bot.language.steps.http_step import ANSWER, HttpStep
from bot.language.steps.step_facts import Used
from bot.language.types.structured_types import ListVariable, ObjectVariable
from bot.language.types.type_registry import Variable

_Later = Callable[[], AbstractValues]


class ServiceData:
    """Finds them by their names in the whole bot: each value that something gives them is JSON of a service."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._nulls = graph.analysis(NullAnalysis)
        self._known: dict[str, Mapping[str, AbstractValues]] = {}
        given = list(self._given())
        self._names = self._structures() & {name for name, _ in given}
        while others := {name for name, values in given if name in self._names and not _is_json(values())}:
            self._names = self._names - others

    def _structures(self) -> set[str]:
        """The lists and objects of all flows that begin empty, and that no step may change unseen."""
        steps = self._graph.steps.values()
        if any(step.facts.gives_any for step in steps):
            return set()
        variables = [each for flow in self._graph.library.flows.values() for each in flow.variables.values()]
        others = {each.name for each in variables if not isinstance(each, ListVariable | ObjectVariable) or each.value}
        return {each.name for each in variables} - others

    def kinds_of(self, flow: Flow) -> Mapping[str, AbstractValues]:
        """The values of a flow's variables: of these it is known what they hold."""
        kinds = self._nulls.kinds_of(flow.variables, flow)
        return {name: _holding(flow.variables[name]) if name in self._names else kinds[name] for name in kinds}

    def are_read_in(self, used: Used, step: Step) -> bool:
        """True if a text of a step may read them."""
        if not self._names.isdisjoint(used.text.names):
            return True
        return used.extra == ELEMENT and _made(step) is not None and "it" in used.text.names

    def known_in(self, used: Used, step: Step, flow: Flow) -> Mapping[str, AbstractValues]:
        """The values that a text of a step reads; ``it`` is an element of the list that a question offers."""
        if flow.name not in self._known:
            self._known[flow.name] = self.kinds_of(flow)
        kinds = self._known[flow.name]
        made = _made(step)
        if made is None or used.extra != ELEMENT:
            return kinds
        return {**kinds, "it": elements_of(self._value(made.source, kinds))}

    def _given(self) -> Iterator[tuple[str, _Later]]:
        """The name of each variable that gets a value, with a function that evaluates the value."""
        for flow in self._graph.library.flows.values():
            for step in flow.steps.values():
                yield from self._given_by(step, flow)
            for transition in transitions_of_flow(flow):
                yield from ((item.name, self._later(item.value, flow)) for item in transition.set)
        for transition in transitions_of_bot(self._graph.library.bot):
            yield from ((item.name, lambda: ANYTHING) for item in transition.set)
        for root in self._graph.roots:
            for item in root.inputs:
                yield item.name, lambda: ANYTHING

    def _given_by(self, step: Step, flow: Flow) -> Iterator[tuple[str, _Later]]:
        yield from ((item.name, self._later(item.value, flow)) for item in step.options.set)
        if isinstance(step.kind, HttpStep):
            for name, part in step.kind.outputs.items():
                yield name, (lambda: JSON) if part is None else self._later(part, flow)
            return
        for name in step.facts.gives:
            yield name, lambda: ANYTHING
        if step.options.save is not None:
            made = _made(step)
            chosen = None if made is None or made.value is not None else self._element(made, flow)
            yield step.options.save, chosen or (lambda: ANYTHING)

    def _element(self, made: MadeChoices, flow: Flow) -> _Later:
        return lambda: elements_of(self._value(made.source, self.kinds_of(flow)))

    def _later(self, value: Any, flow: Flow) -> _Later:
        return lambda: self._value(value, {**self.kinds_of(flow), ANSWER: JSON})

    def _value(self, value: Any, kinds: Mapping[str, AbstractValues]) -> AbstractValues:
        if isinstance(value, Template | Expression):
            return self._nulls.reads(value).evaluate(kinds).values
        return frozenset({NULL}) if value in (None, [], {}) else ANYTHING


def _made(step: Step) -> MadeChoices | None:
    """The choices that a question makes of a list, unless several of them are one answer."""
    choices = step.kind.choices if isinstance(step.kind, AskStep) else None
    return None if choices is None or choices.many is not None else choices.made


def _holding(variable: Variable) -> AbstractValues:
    """A list or an object that a service gave: its declared fields have values of their types, all else is JSON."""
    fields = variable.fields if isinstance(variable, ListVariable | ObjectVariable) else {}
    declared = ((name, ANYTHING if field.type == "object" else field.abstract_values) for name, field in fields.items())
    return frozenset({AbstractValue(variable.kind, holds=tuple(declared), json=True)})


def _is_json(values: AbstractValues) -> bool:
    """True if every value is one that a service gave, with no field of another type."""
    plain = (ValueKind.NULL, ValueKind.TEXT, ValueKind.NUMBER, ValueKind.BOOLEAN)
    return all(value.holds == () or value.kind in plain for value in values)
