"""What the variables of a bot may be: all values that anything gives them, where those are written out."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bot.checker.graph import Graph, Opening
from bot.flow.definition import Flow, Step
from bot.lang.cases import NULL, Case, Cases, bounded, just
from bot.lang.domains import values_of
from bot.lang.variables import Mismatch, Variable
from bot.steps.declared import Outcome, Result, Saved
from bot.steps.transition import evaluate, templates_in

_ANY = object()  # a value that nobody knows beforehand
_TYPED = object()  # what a contact writes where there are options, too
_OPEN = (_ANY, _TYPED)


class Values:
    """The values of all variables by name: flows hand them on under their names. Null is always one of them."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._common = {name: values_of(variable) for name, variable in graph.library.bot.common.items()}
        self._given: dict[str, list[Any]] = {}
        for name, value in self._gifts():
            self._given.setdefault(name, []).append(value)
        self._of: dict[str, Mapping[str, Cases]] = {}

    def of(self, flow: Flow) -> Mapping[str, Cases]:
        """What may be in a flow's variables. The contact's language is none of them, and never null."""
        if flow.name not in self._of:
            own = {name: self._values(variable) for name, variable in flow.variables.items()}
            self._of[flow.name] = {**own, **self._common}
        return self._of[flow.name]

    def _values(self, variable: Variable) -> Cases:
        given = self._given.get(variable.name, [])
        if not given or variable.keep or any(value in _OPEN for value in given):
            return values_of(variable) | {NULL}
        declared = [flow.variables[variable.name].value for flow in self._flows() if variable.name in flow.variables]
        return bounded(_as_value(variable, value) for value in (*declared, *given, None))

    def offered(self, name: str) -> list[Any] | None:
        """What options and steps give a variable; None where it has no options, or may get something else."""
        given = self._given.get(name, [])
        if _TYPED not in given or any(value is _ANY for value in given):
            return None
        return [value for value in given if value is not _TYPED]

    def _flows(self) -> Iterator[Flow]:
        return iter(self._graph.library.flows.values())

    def _gifts(self) -> Iterator[tuple[str, Any]]:
        """Every name that something is given to, and what that is."""
        for root in self._graph.roots:
            yield from _written((item.name, item.value) for item in root.inputs)
            flow = self._graph.flow(root.place)
            if root.opening is Opening.PROGRAM:
                yield from ((name, _ANY) for name in flow.variables)
            elif flow.start is not None and flow.start.pattern is not None:
                yield from ((name, _ANY) for name in flow.start.pattern.groupindex)
        for place, step in self._graph.steps.items():
            yield from self._of_step(step, self._graph.flow(place))
            for edge in self._graph.edges[place]:
                if edge.transition is not None:
                    yield from _written((item.name, item.value) for item in edge.transition.set)

    def _of_step(self, step: Step, flow: Flow) -> Iterator[tuple[str, Any]]:
        yield from _written((item.name, item.value) for item in step.options.set)
        yield from ((name, _ANY) for name in step.kind.gives)
        yield from ((name, _ANY) for name in (flow.variables if step.kind.gives_any else ()))
        chosen = any(True for _ in step.kind.saved_values())
        for outcome in step.outcomes.values():
            yield from ((name, _ANY) for name in outcome.known)
            if step.options.save is not None and outcome.success:
                yield from _written((step.options.save, value) for value in _saved(outcome, chosen=chosen))


def _saved(outcome: Outcome, *, chosen: bool) -> list[Any]:
    """What `save` gets, as `bot.steps.transition.value_of` read it. ``chosen``: there are options for it."""
    if isinstance(outcome.saves, Saved):
        return [outcome.saves.value]
    if outcome.saves is Result.VALUE:
        return [_TYPED if chosen else _ANY]
    return [_ANY] if outcome.saves is Result.PERHAPS else []


def _written(given: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Values as far as they are written out."""
    for name, value in given:
        if value not in _OPEN:
            value = evaluate(value, {}) if all(text.constant for text in templates_in(value)) else _ANY
        yield name, value


def _as_value(variable: Variable, value: Any) -> Case:
    """A value as it is one of a variable; what does not fit never comes to be one."""
    try:
        return just(variable.coerce(value, None))
    except Mismatch:
        return NULL
