"""W302 and W303: conditions that are always true, or never: what leads on from there is not meant to be so."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod

from bot.checker.analysis.reachability import Reachability
from bot.checker.data.values import Values
from bot.checker.findings import Finding
from bot.checker.graph import Graph, Place
from bot.flow.definition import Flow, Step
from bot.lang.cases import NULL, UNKNOWN, Cases
from bot.lang.problems import did_you_mean
from bot.lang.reads import Reads
from bot.lang.shown import shown
from bot.lang.templates import Expression
from bot.steps.declared import Given, only_if

_MOST = 256  # ways in which the variables of a condition may be, all together
_QUOTED = re.compile(r"\"([^\"]*)\"|'([^']*)'")
Known = Mapping[str, Cases]


def find_constants(graph: Graph) -> Iterator[Finding]:
    """Each condition once, wherever it is inherited."""
    judge, passing = _Judge(graph), graph.fact(Reachability)
    told: set[Expression] = set()
    for place in (place for place in graph.steps if place in passing.reached):
        for given in _conditions(graph.steps[place], graph.flow(place)):
            condition = given[-1].condition
            if condition not in told:
                told.add(condition)
                where = f'step "{place[1]}": `{condition.source}`'
                for code, what, fix in judge.findings(place, given):
                    yield Finding.at(code, condition.mark, f"{where} {what}", fix, passing.way_to(place))


def _conditions(step: Step, flow: Flow) -> Iterator[tuple[Given, ...]]:
    """Each condition of a step, behind what has come about where it is its turn."""
    for outcome in step.outcomes.values():
        if outcome.given and outcome.given[-1].holds:
            yield outcome.given
    for words in (flow.words, step.options.words):
        for word in words.values():
            if word.condition is not None:
                yield only_if(word.condition)


class _Judge:
    """Works conditions out with all values that their variables may have."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._values = graph.fact(Values)
        self._reads: dict[Expression, Reads] = {}

    def findings(self, place: Place, given: Sequence[Given]) -> Iterator[tuple[str, str, str]]:
        """The code, what is wrong with a condition, the last of these, and what to do."""
        *before, condition = (each.condition for each in given)
        known = self._values.of(self._graph.flow(place))
        alone, why = self._truths(condition, known), _why(condition, known)
        if alone == {True}:
            yield "W302", f"is always true{why}", "leave the condition out, or compare something else"
        elif not alone:
            yield "W303", f"always fails{why}", "compare values of one kind"
        elif alone == {False}:
            yield "W303", f"is never true{why}", _fix(condition, known)
        elif before and self._are_taken(before, condition, known):
            what = "is never come to: the conditions before it take all for which it is true"
            yield "W303", what, "put it before them, or leave it out"

    def _are_taken(self, before: Sequence[Expression], condition: Expression, known: Known) -> bool:
        """Whether some condition before this one is true wherever this one is."""
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
            self._reads[condition] = Reads(condition)
        return self._reads[condition].reading(known).truths


def _is_finite(name: str, known: Known) -> bool:
    return name in known and all(case.value is not UNKNOWN for case in known[name])


def _why(condition: Expression, known: Known) -> str:
    """What the variables of a condition are."""
    named = [(name, known[name] - {NULL}) for name in sorted(condition.names & known.keys())]
    told = [f'"{name}" is {_in_words(cases)}' for name, cases in named]
    return f": {', '.join(told)}" if told else ""


def _in_words(cases: Cases) -> str:
    """The values, or what kind of value it is."""
    values = sorted({shown(case.value) for case in cases if case.value is not UNKNOWN})
    kinds = sorted({case.kind.value for case in cases if case.value is UNKNOWN})
    *first, last = [*values, *kinds] or ["null"]
    return f"{', '.join(first)} or {last}" if first else last


def _fix(condition: Expression, known: Known) -> str:
    """A value near one that is written in the condition, and none of those that there are."""
    values = {
        case.value for name in condition.names & known.keys() for case in known[name] if isinstance(case.value, str)
    }
    written = ("".join(found) for found in _QUOTED.findall(condition.source))
    near = (did_you_mean(text, values, "") for text in written if text not in values)
    return next(filter(None, near), "compare it with something that it can be, or leave it out")
