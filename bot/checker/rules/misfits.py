"""W305, W307, W309 and W311: a customer meets an error because a value never fits its variable or argument; or a value
or a definition is never read, or a variable never gets one.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from bot.checker.analysis.definite_assignment import definite_assignment
from bot.checker.analysis.null_effects import NullAnalysis
from bot.checker.analysis.service_data import ServiceData
from bot.checker.analysis.transfer_functions import place_uses
from bot.checker.findings import Finding, rule
from bot.checker.graph import Graph, Opening, StepId
from bot.checker.graph.edges import reachable
from bot.core.lazy_patterns import lazy_pattern
from bot.language.expressions.abstract_evaluation import has_field
from bot.language.expressions.abstract_texts import failing_definition
from bot.language.expressions.abstract_values import ValueKind, kinds_of_type, may_be_taken
from bot.language.expressions.templates import Template
from bot.language.flow.definition import Flow, Step, keepers, uses_of_all, uses_of_flow
from bot.language.keys.text_shapes import JINJA
from bot.language.source.problems import Mark, nearest
from bot.language.steps.step_facts import Null, Saved, SentFile, Used
from bot.language.steps.step_options import uses_on_leaving
from bot.language.steps.transition import Assignment
from bot.language.types.structured_types import ObjectVariable, holding
from bot.language.types.type_registry import Variable

_WORD = lazy_pattern(r"[^\W\d_]{2}")
_WITHOUT_WORDS = frozenset({"integer", "number", "date", "time"})
"""The types whose values never contain two letters in a row."""
Found = tuple[Mark, str, str]
"""The mark of a value that never fits, the fault, and the fix."""


@rule(W305="a value that never fits")
def find_misfits(graph: Graph) -> Iterator[Finding]:
    """Find each such value once, wherever it is inherited."""
    misfits, reported = _Misfits(graph), set[tuple[Mark, str]]()
    for place, step in graph.steps.items():
        for mark, what, fix in misfits.at(place, step):
            if (mark, what) not in reported:
                reported.add((mark, what))
                yield Finding.at("W305", mark, f'step "{place[1]}": {what}', fix)


class _Misfits:
    """Compares values with the variables and arguments that get them."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._nulls = graph.analysis(NullAnalysis)
        self._services = graph.analysis(ServiceData)

    def at(self, place: StepId, step: Step) -> Iterator[Found]:
        """The values that never fit at a step."""
        flow = self._graph.flow(place)
        transitions = [edge.transition for edge in self._graph.edges[place] if edge.transition and edge.transition.acts]
        for item in (*step.options.set, *(item for transition in transitions for item in transition.set)):
            yield from self._assigned(item, flow, flow)
        for root in self._graph.roots_by.get(place, ()):
            for item in root.inputs:
                yield from self._assigned(item, flow, self._graph.flow(root.place))
        yield from self._saved(step, flow)
        yield from self._brought(step, flow)
        yield from self._arguments(step, flow)
        yield from self._addresses(step, flow)
        passed = (Used(text, step.facts.names_in_errors) for transition in transitions for text in transition.uses())
        for used in (*place_uses(step, flow), *map(Used, uses_on_leaving(step.options)), *passed):
            yield from self._hopeless(used, flow)
            yield from self._undeclared(used, step, flow)
            yield from _misspelt(used, flow)

    def _assigned(self, item: Assignment, flow: Flow, theirs: Flow) -> Iterator[Found]:
        variable = theirs.variables.get(item.name)
        if variable is not None and isinstance(item.value, Template):
            yield from self._given(item.value, flow, variable)
        elif variable is not None and isinstance(item.value, list | dict) and variable.kind is not _kind(item.value):
            yield _misfit(item.mark, _kind(item.value), variable)

    def _saved(self, step: Step, flow: Flow) -> Iterator[Found]:
        variable = flow.saved_by(step)
        for outcome in step.outcomes.values() if variable is not None else ():
            assert variable is not None
            if isinstance(outcome.saves, Saved) and isinstance(outcome.saves.value, Template):
                yield from self._given(outcome.saves.value, flow, variable)
            kinds = kinds_of_type(outcome.annotation) - {ValueKind.NULL}
            if kinds and not any(variable.may_be_made_of(kind) for kind in kinds):
                yield _misfit(step.options.save_mark, min(kinds, key=lambda kind: kind.value), variable)

    def _brought(self, step: Step, flow: Flow) -> Iterator[Found]:
        for run in step.facts.flows_run:
            for ours, theirs in run.outputs.items() if not run.listed else ():
                variable, brought = flow.variables[ours], self._graph.library.flows[run.flow].variables[theirs]
                if not variable.may_be_made_of(brought.kind):
                    yield _misfit(step.options.save_mark, brought.kind, variable)

    def _given(self, value: Template, flow: Flow, variable: Variable) -> Iterator[Found]:
        """A computed value. A literal was checked against its variable when the bot was loaded."""
        if value.constant:
            return
        kinds = self._nulls.text(Used(value, null=Null.TAKEN), flow).kinds - {ValueKind.NULL}
        if kinds and not any(variable.may_be_made_of(kind) for kind in kinds):
            yield _misfit(value.mark, min(kinds, key=lambda kind: kind.value), variable)
        elif not value.single and variable.type in _WITHOUT_WORDS and _WORD.search(JINJA.sub("", value.source)):
            yield _misfit(value.mark, ValueKind.TEXT, variable)

    def _arguments(self, step: Step, flow: Flow) -> Iterator[Found]:
        for used in step.facts.uses:
            if used.annotation is Any or (isinstance(used.text, Template) and used.text.constant):
                continue
            kinds = self._nulls.text(used, flow).kinds - {ValueKind.NULL}
            if kinds and not any(may_be_taken(kind, used.annotation) for kind in kinds):
                wanted = " or ".join(sorted(kind.value for kind in kinds_of_type(used.annotation) - {ValueKind.NULL}))
                is_ = min(kinds, key=lambda kind: kind.value).value
                fix = (
                    "give it what it takes" if wanted != ValueKind.TEXT.value else 'make it a text, as in {{ 3 ~ "" }}'
                )
                yield used.text.mark, f"{is_} never fits the argument, which takes {wanted}", fix

    def _addresses(self, step: Step, flow: Flow) -> Iterator[Found]:
        for sent in step.facts.sends:
            if not isinstance(sent, SentFile) or sent.own or sent.link.constant:
                continue
            if self._nulls.text(Used(sent.link, null=Null.TAKEN), flow).kinds - {ValueKind.NULL} == {ValueKind.FILE}:
                fix = f'for a file that a handler has made write {sent.kind}: {{file: "{sent.link.source}"}}'
                yield sent.link.mark, "a file is no address", fix

    def _hopeless(self, used: Used, flow: Flow) -> Iterator[Found]:
        """A text that always fails, whatever its variables are. Another rule reports such conditions."""
        if not isinstance(used.text, Template) or used.text.constant:
            return
        if self._nulls.text(used, flow).never_fails:
            return
        values = {name: holding(flow.variables[name]) for name in used.text.names if name in flow.variables}
        if not self._nulls.reads(used.text).evaluate(values).values:
            cause = failing_definition(used.text, values)
            failing = used.text if cause is None else cause.expression
            known = (name for name in sorted(failing.names - used.extra) if name in flow.variables)
            kinds = ", ".join(f'"{name}" is {flow.variables[name].kind.value}' for name in known)
            what = "this text" if cause is None else f'definition "{cause.name}"'
            what += " always fails" + (f": {kinds}" if kinds else "")
            paths = (path for path in sorted(failing.paths) if path[0] in flow.variables)
            no_fields = (fix for path in paths for fix in _no_field(flow.variables[path[0]], path))
            yield (
                failing.mark,
                what,
                next(no_fields, "join texts with ~, and calculate with numbers, days and durations"),
            )

    def _undeclared(self, used: Used, step: Step, flow: Flow) -> Iterator[Found]:
        """A text or condition that always fails, because a day or a time of a service's data is only a text."""
        if not self._services.are_read_in(used, step):
            return
        known = self._services.known_in(used, step, flow)
        read, of_usual = self._nulls.reads(used.text), self._nulls.kinds_of(used.text.names, flow)
        if read.evaluate(known).values or not read.evaluate(of_usual).values:
            return
        read_names = (".".join(path) for path in sorted(used.text.paths) if len(path) > 1 and path[0] in known)
        name = next(read_names, None)
        what = "a field of a service's data" if name is None else f'"{name}"'
        field = "starts" if name is None else name.rpartition(".")[2]
        yield (
            used.text.mark,
            f"{what} is a text: a service sends no days and times",
            f"declare it, and where the data are saved: fields: {{{field}: datetime}}",
        )


def _misspelt(used: Used, flow: Flow) -> Iterator[Found]:
    """Fields that an object does not declare, and that are written like one that it does."""
    for path in sorted(used.text.paths) if isinstance(used.text, Template) else ():
        variable = flow.variables.get(path[0])
        for number, name in enumerate(path[1:], 1):
            if not isinstance(variable, ObjectVariable) or not variable.fields:
                break
            if name not in variable.fields and (meant := nearest(name, variable.fields)) is not None:
                what = f'object "{".".join(path[:number])}" has no declared field "{name}"'
                yield used.text.mark, what, f'did you mean "{meant}"? Otherwise declare it, too'
            variable = variable.fields.get(name)


def _no_field(variable: Variable, path: Sequence[str]) -> Iterator[str]:
    """The fix for the first part of a path that no value there can have."""
    for number, name in enumerate(path[1:], 1):
        if not has_field(variable.kind, name):
            yield f"leave out .{name}: {'.'.join(path[:number])} has no such field"
        if not isinstance(variable, ObjectVariable) or name not in variable.fields:
            return
        variable = variable.fields[name]


def _kind(value: Any) -> ValueKind:
    return ValueKind.LIST if isinstance(value, list) else ValueKind.RECORD


def _misfit(mark: Mark, kind: ValueKind, variable: Variable) -> Found:
    what = f'{kind.value} never fits "{variable.name}", which is of type {variable.type}'
    return mark, what, "give it a value of its type, or declare another one"


@rule(whole=True, W307="a value that goes into a flow which never reads it")
def find_unused(graph: Graph) -> Iterator[Finding]:
    """Find inputs of flows that no flow reads, in a bot without hooks: hooks get all variables."""
    if graph.library.hooks:
        return
    read = {flow.name: set(_read_in(flow)) for flow in graph.library.flows.values()}
    for run in (run for step in graph.steps.values() for run in step.facts.flows_run):
        read[run.flow].update(run.outputs.values())
    for place, root in ((place, root) for place, roots in graph.roots_by.items() for root in roots):
        flows = reachable([root.place[0]], graph.crossed.__getitem__) if root.inputs else ()
        for item in root.inputs:
            if not any(item.name in read[name] for name in flows):
                what = f'step "{place[1]}": flow {root.place[0]} never reads "{item.name}"'
                yield Finding.at("W307", item.mark, what, "leave it out, or let a step of that flow read it")


def _read_in(flow: Flow) -> Iterator[str]:
    """The variables that texts and expressions read, and those that models see."""
    for used in uses_of_flow(flow):
        yield from used.text.names
    for step in flow.steps.values():
        yield from (need.variable for need in step.facts.needs)
        yield from step.facts.gives if step.facts.asks_models else ()


@rule(whole=True, W309="a definition that nothing uses")
def find_unused_definitions(graph: Graph) -> Iterator[Finding]:
    """Find definitions that no text and no expression uses, in any language, also not through another definition."""
    library = graph.library
    defined = (library.bot.definitions, *(flow.definitions for flow in library.flows.values()))
    unused = {each.expression.mark: each.name for definitions in defined for each in definitions.values()}
    for spoken in (library, *library.translations.values()) if unused else ():
        for used in uses_of_all(spoken.bot, spoken.flows):
            for definition in used.text.definitions:
                unused.pop(definition.expression.mark, None)
    for mark, name in unused.items():
        yield Finding.at("W309", mark, f'definition "{name}": nothing uses it', "use it, or remove it")


@rule(whole=True, W311="a variable that another flow keeps, and this one does not")
def find_unkept(graph: Graph) -> Iterator[Finding]:
    """Find variables that are always null, where another flow keeps one of this name with the contact."""
    flows = graph.library.flows
    kept = keepers(flows)
    for flow in (flow for flow in flows.values() if flow.shared is None):
        empty = [each for each in flow.variables.values() if each.name in kept and _begins_empty(each)]
        if not empty:
            continue
        read, given = {*_read_in(flow)}, {*_given_to(graph, flow)}
        for variable in (each for each in empty if each.name in read - given):
            keeper = kept[variable.name]
            what = f'variable "{variable.name}" of flow {flow.name} is always null: nothing gives it a value, and only with'
            what += f" `keep: true` it is the one that flow {keeper} keeps"
            yield Finding.at("W311", variable.mark, what, f"add keep: true, as in flow {keeper}, or give it a value")


def _begins_empty(variable: Variable) -> bool:
    return not (variable.keep or variable.required) and variable.value is None


def _given_to(graph: Graph, flow: Flow) -> Iterator[str]:
    """The variables of a flow that may get a value: by its steps, its start, a program, or a flow that leads to it."""
    assigned = graph.analysis(definite_assignment)
    for place, step in ((place, step) for place, step in graph.steps.items() if place[0] == flow.name):
        yield from step.facts.gives
        yield from flow.variables if step.facts.gives_any else ()
        yield from (name for run in step.facts.flows_run for name in run.outputs)
        for transfer in assigned.transfers(place):
            yield from assigned.nulls.names_in(transfer.names)
    for edges in graph.edges.values():
        for edge in edges:
            if edge.target is not None and edge.target[0] == flow.name != edge.source[0]:
                yield from graph.flow(edge.source).variables
    for root in (root for root in graph.roots if root.place[0] == flow.name):
        yield from (item.name for item in root.inputs)
        yield from flow.variables if root.opening is Opening.PROGRAM and root.by is None else ()
    yield from () if flow.trigger is None else flow.trigger.given
