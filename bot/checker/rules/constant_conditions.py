"""W302, W303, W304: a choice that customers never get, by a constant condition or because no option gives it."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod

from bot.checker.analysis.possible_values import PossibleValues
from bot.checker.analysis.reachability import Reachability
from bot.checker.findings import Finding, rule
from bot.checker.graph import Graph, StepId
from bot.core.lazy_patterns import lazy_pattern
from bot.language.expressions.abstract_texts import AbstractText, failing_definition
from bot.language.expressions.abstract_values import NULL, UNKNOWN, AbstractValues
from bot.language.expressions.formats import shown
from bot.language.expressions.templates import Expression
from bot.language.flow.definition import Flow, Step
from bot.language.source.problems import Mark, did_you_mean
from bot.language.steps.step_facts import Given, only_if
from bot.language.types.text_types import ChoiceVariable
from bot.language.types.type_registry import Variable

_MOST = 256  # combinations of values of the variables of a condition
_QUOTED = lazy_pattern(r"\"([^\"]*)\"|'([^']*)'")
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
        alone = self._truths(condition, known)
        if alone == {True}:
            what = f"{it} is always true{_why(condition, known)}"
            yield "W302", mark, what, "leave the condition out, or compare something else"
        elif not alone and (cause := failing_definition(condition, known)) is not None:
            what = f'definition "{cause.name}" always fails{_why(cause.expression, known)}'
            yield "W303", cause.expression.mark, what, "compare values of one kind"
        elif not alone:
            yield "W303", mark, f"{it} always fails{_why(condition, known)}", "compare values of one kind"
        elif alone == {False}:
            yield "W303", mark, f"{it} is never true{_why(condition, known)}", _fix(condition, known)
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
