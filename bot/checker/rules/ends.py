"""W101, W102, W103: steps that nobody reaches, conversations without an end, apologies after a success."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, pairwise, product
from typing import Any

from bot.checker.analysis.definite_assignment import definite_assignment
from bot.checker.analysis.null_effects import VariableSet
from bot.checker.analysis.possible_values import PossibleValues
from bot.checker.analysis.reachability import Reachability
from bot.checker.findings import Finding, rule
from bot.checker.graph import Cause, Edge, Graph, StepId
from bot.checker.graph.edges import cycle_through, reachable, strongly_connected_components
from bot.core.lazy_patterns import lazy_pattern
from bot.language.expressions.abstract_texts import AbstractText
from bot.language.expressions.template_failures import TemplateFailed
from bot.language.expressions.templates import Expression
from bot.language.flow.definition import Flow, Step, uses_of_flow
from bot.language.steps.step_facts import Given, WaitsFor
from bot.language.types.sample_scopes import MOST_SCOPES, SampleScopes
from bot.language.types.variable import TypeMismatch, Variable


@rule(whole=True, W101="a step that nobody reaches", W102="a conversation that never ends")
def find_ends(graph: Graph) -> Iterator[Finding]:
    """Find steps that no conversation reaches, and steps from which no conversation can end."""
    reachability = graph.analysis(Reachability)
    yield from _unreached(graph, reachability)
    yield from _endless(graph, reachability)
    yield from _asked_for_ever(graph, reachability)


def _unreached(graph: Graph, reachability: Reachability) -> Iterator[Finding]:
    """The steps that no conversation reaches. If several lead to each other, only the first is reported."""
    unreached = [place for place in graph.steps if place not in reachability.reached]
    among = set(unreached)
    heads = [
        place for place in unreached if all(e.source == place or e.source not in among for e in graph.edges_to[place])
    ]
    reported: set[StepId] = set()
    for place in (*heads, *unreached):
        if place not in reported:
            reported.update(
                reachable([place], lambda here: (other for other in _led_to(here, graph) if other not in reported))
            )
            step = graph.steps[place]
            yield Finding.at("W101", step.mark, f'nobody reaches step "{step.name}"', _why(place, graph, reachability))


def _led_to(place: StepId, graph: Graph) -> Iterator[StepId]:
    """The steps to which a step leads, and the flows that it runs or schedules: nobody reaches them either."""
    yield from (edge.target for edge in graph.edges[place] if edge.target is not None)
    yield from (root.place for root in graph.roots_by.get(place, ()))


def _why(place: StepId, graph: Graph, reachability: Reachability) -> str:
    """The fix for a step that nobody reaches: another one for a step after a run whose flow never ends."""
    runs = [edge.source for edge in graph.edges_to[place] if not reachability.can_be_taken(edge)]
    if runs:
        flow = graph.steps[runs[0]].facts.flows_run[0].flow
        return f'let flow {flow}, which step "{runs[0][1]}" runs, end'
    return "lead to it from another step, or remove it"


def _endless(graph: Graph, reachability: Reachability) -> Iterator[Finding]:
    """The steps at which a conversation goes round in a cycle for ever: no path leads to an end."""
    stuck = {place for place in reachability.reached if not reachability.can_end(place)}
    reported: set[StepId] = set()
    for place in (place for place in graph.steps if place in stuck):
        cycle = None if place in reported else cycle_through(place, graph.edges, stuck)
        if cycle:
            reported |= _around(place, graph, stuck)
            step = graph.steps[place]
            names = " -> ".join([edge.source[1] for edge in cycle] + [cycle[-1].target[1] if cycle[-1].target else ""])
            what = f'a conversation at step "{step.name}" never ends: {names}'
            fix = "let a time-out, an answer or a word lead to `end`"
            yield Finding.at("W102", step.mark, what, fix, (*reachability.path_to(place), *cycle))


def _asked_for_ever(graph: Graph, reachability: Reachability) -> Iterator[Finding]:
    """The questions that are asked again and again while the contact is silent: no time-out leads to an end."""
    silent = {place: [edge for edge in edges if _is_silent(edge)] for place, edges in graph.edges.items()}
    reported: set[StepId] = set()
    yield from _repeated(graph, reachability, silent, reported)
    for condition, holds in _settled(graph, silent):
        taken = {
            place: [e for e in edges if _may_be_taken(graph, e, condition, holds=holds)]
            for place, edges in silent.items()
        }
        where = f", where `{condition.source}` is {'true' if holds else 'false'}"
        yield from _repeated(graph, reachability, taken, reported, condition, where)


def _repeated(
    graph: Graph,
    reachability: Reachability,
    silent: Mapping[StepId, Sequence[Edge]],
    reported: set[StepId],
    condition: Expression | None = None,
    where: str = "",
) -> Iterator[Finding]:
    """The questions from which no silent edge leads to an end, while nothing changes what a condition reads."""
    before: dict[StepId, list[StepId]] = {}
    for edge in (edge for edges in silent.values() for edge in edges if edge.target is not None):
        before.setdefault(edge.target or edge.source, []).append(edge.source)
    over = [place for place, edges in silent.items() if not edges or any(_ends_silently(e, edges) for e in edges)]
    ending = reachable(over, lambda place: before.get(place, ()))
    stuck = {place for place in reachability.reached if place not in ending and reachability.can_end(place)}
    for place in (place for place in graph.steps if place in stuck and graph.steps[place].facts.waits):
        cycle = () if place in reported else cycle_through(place, silent, stuck)
        if cycle and (condition is None or _keeps(graph, cycle, condition)):
            reported |= _around(place, graph, stuck)
            names = " -> ".join([*(edge.source[1] for edge in cycle), place[1]])
            what = f'step "{place[1]}" asks for ever while the contact is silent: {names}{where}'
            fix = "let a time-out lead to `end`, or bound it with `visits: {max: 3, else: end}`"
            yield Finding.at("W102", graph.steps[place].mark, what, fix, (*reachability.path_to(place), *cycle))


def _settled(graph: Graph, silent: Mapping[StepId, Sequence[Edge]]) -> Iterator[tuple[Expression, bool]]:
    """The conditions that only the values of their flow's own variables decide, each with a truth that it may have.

    No other condition reads these variables: it could say on the way there what they are.
    """
    values, found = graph.analysis(PossibleValues), dict[Expression, StepId]()
    onward = {place: [edge.target for edge in edges if edge.target] for place, edges in silent.items()}
    for loop in strongly_connected_components(onward):
        for place in loop if len(loop) > 1 and any(graph.steps[each].facts.waits for each in loop) else ():
            found.update((given.condition, place) for e in silent[place] for given in _given(graph.steps[place], e))
    if not found:
        return
    assigned = graph.analysis(definite_assignment)
    gives = [(each.edge.target, assigned.given(each)) for each in assigned.all_transfers() if each.edge.target]
    reading = Counter(name for condition in _all_conditions(graph) for name in condition.names)
    for condition, place in found.items():
        flow = graph.flow(place)
        own = flow.variables.keys() - flow.kept.keys() if flow.shared is None else set[str]()
        plain = condition.names and condition.names <= own and not (condition.calls or condition.definitions)
        if plain and all(reading[name] == 1 for name in condition.names):
            truths = AbstractText(condition).evaluate(values.of(flow)).truths
            given = all(_is_given_before(graph, place, assigned.nulls.of(each), gives) for each in condition.names)
            for holds in truths:
                if len(truths) == 1 or (given and _is_ever(flow, condition, holds=holds)):
                    yield condition, holds


def _is_given_before(
    graph: Graph, place: StepId, names: VariableSet, given: Iterable[tuple[StepId, VariableSet]]
) -> bool:
    """True if a path leads from where a variable gets a value to a step. ``given``: what each edge gives, and where."""
    begun = (target for target, theirs in given if theirs & names)
    return place in reachable(begun, lambda here: (edge.target for edge in graph.edges[here] if edge.target))


def _is_ever(flow: Flow, condition: Expression, *, holds: bool) -> bool:
    """True if some values that its variables take make a condition true, or false."""
    scopes, names = SampleScopes(flow.variables), sorted(condition.names)
    for values in islice(product(*(_tried(flow.variables[name], condition) for name in names)), MOST_SCOPES):
        with suppress(TemplateFailed):
            if bool(condition.evaluate(scopes.scope(dict(zip(names, values, strict=True))))) == holds:
                return True
    return False


def _tried(variable: Variable, condition: Expression) -> list[Any]:
    """Some values that a variable takes: samples, and those near the numbers in a condition."""
    found = [] if variable.checks else [*variable.samples]
    for number in () if variable.checks else map(int, re.findall(r"[0-9]{1,9}", condition.source)):
        for value in (number - 1, number, number + 1):
            with suppress(TypeMismatch):
                found.append(variable.coerce(value, None))
    return found


def _all_conditions(graph: Graph) -> set[Expression]:
    """Every expression of the bot's flows."""
    uses = (used for flow in graph.library.flows.values() for used in uses_of_flow(flow))
    return {used.text for used in uses if isinstance(used.text, Expression)}


def _given(step: Step, edge: Edge) -> tuple[Given, ...]:
    """The conditions under which an edge is taken."""
    outcome = step.outcomes.get(edge.outcome)
    return () if outcome is None else outcome.given


def _may_be_taken(graph: Graph, edge: Edge, condition: Expression, *, holds: bool) -> bool:
    """True if an edge can be taken where a condition is true, or false."""
    given = _given(graph.steps[edge.source], edge)
    return all(each.holds == holds for each in given if each.condition is condition)


def _keeps(graph: Graph, cycle: Sequence[Edge], condition: Expression) -> bool:
    """True if a condition is on a cycle, and nothing on the cycle changes what it reads."""
    assigned = graph.analysis(definite_assignment)
    names = assigned.nulls.of(*condition.names)
    transfers = {each.edge: each for edge in cycle for each in assigned.transfers(edge.source)}
    facts = [graph.steps[edge.source].facts for edge in cycle]
    changes = any(each.gives_any or condition.names.intersection(each.gives) for each in facts)
    changes = changes or any(edge not in transfers or assigned.given(transfers[edge]) & names for edge in cycle)
    read = any(g.condition is condition for edge in cycle for g in _given(graph.steps[edge.source], edge))
    return read and not changes


def _ends_silently(edge: Edge, beside: Iterable[Edge]) -> bool:
    """True if a frame ends by an edge. `back` returns to the question that the time-out has left."""
    return edge.target is None and not any(each.returns and each.outcome == edge.outcome for each in beside)


def _is_silent(edge: Edge) -> bool:
    """True if an edge is taken without the contact, a person or a signal, and not because a text fails."""
    waits = edge.cause in (Cause.REPLY, Cause.PERSON, Cause.SIGNAL, Cause.REMINDER)
    return not waits and not edge.fails


def _around(place: StepId, graph: Graph, stuck: set[StepId]) -> set[StepId]:
    """The other such steps of the same cycle: one report is enough for all."""

    def near(here: StepId) -> Iterator[StepId]:
        others = [e.target for e in graph.edges[here]] + [e.source for e in graph.edges_to[here]]
        return (other for other in others if other in stuck)

    return set(reachable([place], near))


@rule(whole=True, W103="a step for failures that a success runs into")
def find_successes_in_failures(graph: Graph) -> Iterator[Finding]:
    """Find steps to which only failures lead, except that the step before has no `then` and so goes on to it."""
    reached = graph.analysis(Reachability).reached
    for place, before in _fallen_into(graph):
        failing = [edge for edge in graph.edges_to[place] if edge.source != before and _is_failure(edge, graph)]
        if before in reached and any(edge.source in reached for edge in failing):
            normal = _without_failures(graph, place)
            if before in normal and place not in normal:
                yield _run_into(graph, place, before, next(edge for edge in failing if edge.source in reached))


def _fallen_into(graph: Graph) -> Iterator[tuple[StepId, StepId]]:
    """The steps that tell something and lead no further, each with the step before it, if that can only go on to it."""
    for flow in graph.library.flows.values():
        order = {(flow.name, name): number for number, name in enumerate(flow.steps)}
        for before, name in pairwise(flow.steps):
            facts, place = flow.steps[name].facts, order[flow.name, name]
            waits_for = facts.waits_for
            tells = facts.most_messages > 0 if waits_for is None else waits_for.what is WaitsFor.PERSON
            onward = [edge for edge in graph.edges[flow.name, before] if edge.success]
            falls = all(_falls(graph, edge) and edge.target == (flow.name, name) for edge in onward)
            leads_on = any(edge.target and order.get(edge.target, 0) > place for edge in graph.edges[flow.name, name])
            if tells and onward and falls and not leads_on:
                yield (flow.name, name), (flow.name, before)


def _falls(graph: Graph, edge: Edge) -> bool:
    """True if no target is written for an edge."""
    return edge.target_text is None and graph.steps[edge.source].options.then is None


def _is_failure(edge: Edge, graph: Graph) -> bool:
    """True if an edge is taken because something went wrong.

    `else` counts only if it leads to a step that apologises.
    """
    if edge.outcome == "else" and edge.target is not None:
        step = graph.steps[edge.target]
        texts = (sent.text.source for sent in step.facts.texts)
        return any(_APOLOGY.search(text) for text in (step.name.replace("_", " "), *texts))
    return edge.outcome.startswith("errors.") or edge.outcome.endswith(".else")


_APOLOGY = lazy_pattern(
    r"\b(sorry|wrong|unfortunately|fail(ed|ure)?|error|cannot|could not|sold out|too late)\b|(ca|could)n['’]t\b", re.I
)


def _without_failures(graph: Graph, place: StepId) -> dict[StepId, None]:
    """The steps that a conversation reaches if nothing fails, and the step before ``place`` ends it."""

    def onward(here: StepId) -> Iterator[StepId]:
        yield from (root.place for root in graph.roots_by.get(here, ()))
        for edge in graph.edges[here]:
            falls = edge.target == place and edge.success and _falls(graph, edge)
            if edge.target is not None and not falls and not _is_failure(edge, graph):
                yield edge.target

    return reachable([root.place for root in graph.roots if root.by is None], onward)


def _run_into(graph: Graph, place: StepId, before: StepId, failing: Edge) -> Finding:
    step = graph.steps[before]
    what = f'step "{step.name}" goes on to "{place[1]}", which is otherwise for failures only, such as'
    what += f' `{failing.outcome}` of step "{failing.source[1]}"'
    fix = f'write "then: end" at step "{step.name}"; if it is meant, write "then: {place[1]}"'
    return Finding.at("W103", step.mark, what, fix)
