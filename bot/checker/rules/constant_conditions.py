"""W302, W303, W304: a choice that customers never get, by a constant condition or because no option gives it."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

from bot.checker.analysis.reachability import Reachability
from bot.checker.findings import Finding, rule
from bot.checker.graph import Graph, Opening, StepId
from bot.language.expressions.abstract_texts import AbstractText, failing_definition
from bot.language.expressions.abstract_values import NULL, UNKNOWN, AbstractValue, AbstractValues, bounded, just
from bot.language.expressions.formats import shown
from bot.language.expressions.templates import Expression
from bot.language.flow.definition import Flow, Step
from bot.language.source.problems import Mark, did_you_mean
from bot.language.steps.step_facts import Given, Outcome, Saved, SavedResult, only_if
from bot.language.steps.transition import evaluate, templates_in
from bot.language.types.text_types import ChoiceVariable
from bot.language.types.type_registry import TypeMismatch, Variable

_MOST = 256  # combinations of values of the variables of a condition
_QUOTED = re.compile(r"\"([^\"]*)\"|'([^']*)'")
Known = Mapping[str, AbstractValues]


@rule(whole=True, W302="a condition that is always true", W303="a condition that is never true")
def find_constants(graph: Graph) -> Iterator[Finding]:
    """Find each such condition once, wherever it is inherited."""
    judge, reachability = _ConditionValues(graph), graph.analysis(Reachability)
    reported: set[Expression] = set()
    for place in (place for place in graph.steps if place in reachability.reached):
        for given in _conditions(graph.steps[place], graph.flow(place)):
            condition = given[-1].condition
            if condition not in reported:
                reported.add(condition)
                for code, mark, what, fix in judge.findings(place, given):
                    yield Finding.at(code, mark, f'step "{place[1]}": {what}', fix, reachability.path_to(place))


def _conditions(step: Step, flow: Flow) -> Iterator[tuple[Given, ...]]:
    """Each condition of a step, after the conditions that hold where it is evaluated."""
    for outcome in step.outcomes.values():
        if outcome.given and outcome.given[-1].holds:
            yield outcome.given
    for words in (flow.words, step.options.words):
        for word in words.values():
            if word.condition is not None:
                yield only_if(word.condition)


class _ConditionValues:
    """Evaluates conditions with all values that their variables may have."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._values = graph.analysis(PossibleValues)
        self._reads: dict[Expression, AbstractText] = {}

    def findings(self, place: StepId, given: Sequence[Given]) -> Iterator[tuple[str, Mark, str, str]]:
        """The code, the mark, the fault and the fix for the last of these conditions."""
        *before, condition = (each.condition for each in given)
        known, mark, it = self._values.of(self._graph.flow(place)), condition.mark, f"`{condition.source}`"
        alone, why = self._truths(condition, known), _why(condition, known)
        if alone == {True}:
            yield "W302", mark, f"{it} is always true{why}", "leave the condition out, or compare something else"
        elif not alone and (cause := failing_definition(condition, known)) is not None:
            what = f'definition "{cause.name}" always fails{_why(cause.expression, known)}'
            yield "W303", cause.expression.mark, what, "compare values of one kind"
        elif not alone:
            yield "W303", mark, f"{it} always fails{why}", "compare values of one kind"
        elif alone == {False}:
            yield "W303", mark, f"{it} is never true{why}", _fix(condition, known)
        elif before and self._are_taken(before, condition, known):
            what = f"{it} is never reached: wherever it is true, a condition before it is true as well"
            yield "W303", mark, what, "put it before them, or leave it out"

    def _are_taken(self, before: Sequence[Expression], condition: Expression, known: Known) -> bool:
        """True if some earlier condition is true whenever this one is."""
        if condition.names & known.keys() and any(each.source == condition.source for each in before):
            return True
        names = sorted(
            name for name in condition.names.union(*(each.names for each in before)) if _is_finite(name, known)
        )
        if prod(len(known[name]) for name in names) > _MOST:
            return False
        for cases in product(*(known[name] for name in names)):
            one = {**known, **{name: frozenset({case}) for name, case in zip(names, cases, strict=True)}}
            if True in self._truths(condition, one) and all(False in self._truths(each, one) for each in before):
                return False
        return True

    def _truths(self, condition: Expression, known: Known) -> frozenset[bool]:
        if condition not in self._reads:
            self._reads[condition] = AbstractText(condition)
        return self._reads[condition].evaluate(known).truths


def _is_finite(name: str, known: Known) -> bool:
    return name in known and all(case.value is not UNKNOWN for case in known[name])


def _why(condition: Expression, known: Known) -> str:
    """The possible values of the variables in a condition, in words."""
    named = [(name, known[name] - {NULL}) for name in sorted(condition.names & known.keys())]
    reported = [f'"{name}" is {_in_words(cases)}' for name, cases in named]
    return f": {', '.join(reported)}" if reported else ""


def _in_words(cases: AbstractValues) -> str:
    """The values, or their kind."""
    values = sorted({shown(case.value) for case in cases if case.value is not UNKNOWN})
    kinds = sorted({case.kind.value for case in cases if case.value is UNKNOWN})
    *first, last = [*values, *kinds] or ["null"]
    return f"{', '.join(first)} or {last}" if first else last


def _fix(condition: Expression, known: Known) -> str:
    """Suggest a possible value that is spelled like the one in the condition."""
    values = {
        case.value for name in condition.names & known.keys() for case in known[name] if isinstance(case.value, str)
    }
    written = ("".join(found) for found in _QUOTED.findall(condition.explained))
    near = (did_you_mean(text, values, "") for text in written if text not in values)
    return next(filter(None, near), "compare it with something that it can be, or leave it out")


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
        declared = [flow.variables[variable.name].value for flow in self._flows() if variable.name in flow.variables]
        return bounded(_as_value(variable, value) for value in (*declared, *given, None))

    def offered(self, name: str) -> list[Any] | None:
        """The values that options and steps give to a variable; None if it has no options, or may get other values."""
        given = self._given.get(name, [])
        if name not in self._chosen or any(value is _ANY for value in given):
            return None
        return [value for value in given if value is not _TYPED]

    def _flows(self) -> Iterator[Flow]:
        return iter(self._graph.library.flows.values())

    def _given_values(self) -> Iterator[tuple[str, Any]]:
        """Each name that gets a value, and this value."""
        for root in self._graph.roots:
            yield from _written((item.name, item.value) for item in root.inputs)
            flow = self._graph.flow(root.place)
            if root.opening is Opening.PROGRAM:
                yield from ((name, _ANY) for name in flow.variables)
            elif flow.trigger is not None:
                yield from ((name, _ANY) for name in flow.trigger.given)
        for place, step in self._graph.steps.items():
            flow = self._graph.flow(place)
            yield from self._of_step(step, flow)
            for edge in self._graph.edges[place]:
                if edge.transition is not None and edge.transition.acts:
                    yield from _written((item.name, item.value) for item in edge.transition.assigned(flow.variables))

    def _of_step(self, step: Step, flow: Flow) -> Iterator[tuple[str, Any]]:
        yield from _written((item.name, item.value) for item in step.options.assigned(flow.variables))
        yield from ((name, _ANY) for name in step.facts.gives)
        yield from ((name, _ANY) for name in (flow.variables if step.facts.gives_any else ()))
        chosen = bool(step.facts.saved_values)
        if chosen and step.options.save is not None:
            self._chosen.add(step.options.save)
        for outcome in step.outcomes.values():
            yield from ((name, _ANY) for name in outcome.known)
            if step.options.save is not None and outcome.success:
                yield from _written((step.options.save, value) for value in _saved(outcome, chosen=chosen))


def _saved(outcome: Outcome, *, chosen: bool) -> list[Any]:
    """The value of `save`, as `bot.language.steps.transition.value_of` read it.

    ``chosen``: there are options for it.
    """
    if isinstance(outcome.saves, Saved):
        return [outcome.saves.value]
    if outcome.saves is SavedResult.VALUE:
        return [_TYPED if chosen else _ANY]
    return [_ANY] if outcome.saves is SavedResult.PERHAPS else []


def _written(given: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """The values that are written as they are."""
    for name, value in given:
        if value not in _OPEN:
            value = evaluate(value, {}) if all(text.constant for text in templates_in(value)) else _ANY
        yield name, value


def _as_value(variable: Variable, value: Any) -> AbstractValue:
    """A value as its variable takes it; null for one that does not fit."""
    try:
        return just(variable.coerce(value, None))
    except TypeMismatch:
        return NULL


@rule(whole=True, W304="a choice that no option gives")
def find_unoffered(graph: Graph) -> Iterator[Finding]:
    """Find variables with choices of which questions offer only some, and that get no value elsewhere."""
    values = graph.analysis(PossibleValues)
    for flow in graph.library.flows.values():
        for variable in flow.variables.values():
            left = list(_unoffered(variable, values))
            if left:
                quoted = ", ".join(f'"{choice}"' for choice in left)
                what = f'no option gives {quoted} of the variable "{variable.name}", nor does any step'
                yield Finding.at("W304", variable.mark, what, "offer it, or remove it from `of`")


def _unoffered(variable: Variable, values: PossibleValues) -> Iterator[str]:
    offered = values.offered(variable.name)
    if isinstance(variable, ChoiceVariable) and offered is not None and not variable.keep:
        known = {str(value) for value in (*offered, variable.value)}
        yield from (choice for choice in variable.of if choice not in known)
