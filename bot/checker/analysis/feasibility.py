"""Feasibility: the steps and edges that a conversation can get to, by which variables can have a value at all.

Where nothing has ever set ``count``, ``count > 3`` always fails, and no conversation gets past it. Definite assignment
says where a variable may be null; here a variable that is not in the state is null on every path.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from bot.checker.analysis.definite_assignment import definite_assignment
from bot.checker.analysis.null_effects import AnalysedText, VariableSet
from bot.checker.analysis.transfer_functions import EdgeTransfer
from bot.checker.graph import Cause, Edge, Graph, Opening, Root, StepId
from bot.language.expressions.abstract_values import NULL, AbstractValues
from bot.language.expressions.templates import Template, is_plain
from bot.language.flow.definition import Flow
from bot.language.steps.step_facts import Given, Null, Used
from bot.language.types.variable import Variable

_BY_TEXT = ("failed", "mismatch", "else")


class Feasibility:
    """The steps that a conversation can get to, the edges that it can begin to take, and those that it can finish.

    ``failing`` are the steps whose own text or value always fails. More is feasible here than in truth, never less.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._assigned = graph.analysis(definite_assignment)
        self._nulls = self._assigned.nulls
        self._values: dict[str, dict[str, AbstractValues]] = {}
        self._known: dict[tuple[object, ...], tuple[bool, frozenset[bool], bool]] = {}
        self._begun_with: dict[str, VariableSet] = {}
        self._have: dict[StepId, VariableSet] = {}  # the variables that may have a value at a step
        self._waiting: dict[StepId, None] = {}  # a queue that holds each step once
        self._may_fail: dict[StepId, bool] = {}  # when it is entered, or left at once
        self.failing: set[StepId] = set()
        self.begun: set[Edge] = set()
        self.finished: set[Edge] = set()
        self._settle()

    def has(self, place: StepId) -> VariableSet:
        """The variables that may have a value at a step."""
        return self._have.get(place, 0)

    def reaches(self, place: StepId) -> bool:
        """True if a conversation can get to a step."""
        return place in self._have

    def _settle(self) -> None:
        for root in self._graph.roots:
            if root.by is None:
                self._meet(root.place, self._opened(root))
        while self._waiting:
            place = next(iter(self._waiting))
            del self._waiting[place]
            self._follow(place)

    def _meet(self, place: StepId, have: VariableSet) -> None:
        known = self._have.get(place)
        if known is None or have & ~known:
            self._have[place] = have | (known or 0)
            self._waiting[place] = None

    def _follow(self, place: StepId) -> None:
        have, flow, facts = self._have[place], self._graph.flow(place), self._graph.steps[place].facts
        gives = self._nulls.of(*(flow.variables if facts.gives_any else facts.gives))
        fails = any(self._fails(text, have, flow) for text in self._assigned.texts[place])
        (self.failing.add if fails else self.failing.discard)(place)
        for root in () if fails else self._graph.roots_by.get(place, ()):
            self._meet(root.place, self._opened(root, have, flow))
        for target in self._assigned.stack.returns.get(place, ()):
            self._meet(target, have)
        for transfer in self._assigned.transfers(place):
            if (transfer.done and fails) or (transfer.fails and not self._may_fail_by(transfer.edge, fails=fails)):
                continue
            if not transfer.conditions or self._hold(transfer.conditions, have, flow):
                self._take(transfer, have | gives, flow)
            elif transfer.early_texts:  # which are evaluated although the edge is not taken
                self.begun.add(transfer.edge)

    def _may_fail_by(self, edge: Edge, *, fails: bool) -> bool:
        """True if a step may fail by an edge. ``fails``: its own text always fails, so it does not get to its work.

        A text fails by the names of `_BY_TEXT` alone.
        """
        if not edge.fails:
            return not fails or edge.cause is Cause.TURN
        if edge.outcome.removeprefix("errors.") not in _BY_TEXT:
            return False
        if edge.cause is Cause.TURN and edge.source not in self._may_fail:
            self._may_fail[edge.source] = self._can_fail(edge.source)
        return edge.cause is not Cause.TURN or self._may_fail[edge.source]

    def _can_fail(self, place: StepId) -> bool:
        """True if a text or a value may fail when a step is entered, or left at once.

        Definite assignment has reached the step: other steps have no transfers of failures.
        """
        null, flow = self._assigned.at[place].null, self._graph.flow(place)
        at_once = [each for each in self._assigned.transfers(place) if each.edge.cause is Cause.TURN]
        texts = (
            *self._assigned.texts[place],
            *(text for each in at_once for text in (*each.texts, *each.early_texts)),
        )
        if any(not text.never_fails or text.read(null).fails or _may_be_empty(text) for text in texts):
            return True
        given = [(each, root) for root in self._graph.roots_by.get(place, ()) for each in root.inputs]
        return not all(each.never_fails for each in at_once) or not all(
            self._surely_fits(each.value, flow, self._graph.flow(root.place).variables.get(each.name))
            for each, root in given
        )

    def _surely_fits(self, value: Any, flow: Flow, variable: Variable | None) -> bool:
        """True if a value that a flow gets fits its variable: by its kind, or because it comes from a like variable."""
        if variable is None or not isinstance(value, Template) or value.constant:
            return True
        ours = flow.variables.get(value.source.strip("{ }"))
        alike = ours is not None and replace(ours, mark=variable.mark, value=variable.value) == variable
        return alike or variable.surely_takes(self._nulls.text(Used(value, null=Null.TAKEN), flow).values)

    def _take(self, transfer: EdgeTransfer, have: VariableSet, flow: Flow) -> None:
        edge = transfer.edge
        self.begun.add(edge)
        if not transfer.is_idle:
            have |= transfer.may_give(lambda text: self._is_null(text, have, flow))
            runs = self._graph.steps[edge.source].facts.flows_run if edge.success else ()
            have |= self._nulls.of(*(name for run in runs for name in run.outputs))
            if any(self._fails(text, have, flow) for text in transfer.texts):
                return
        self.finished.add(edge)
        if edge.target is not None:
            theirs = self._graph.flow(edge.target)
            self._meet(edge.target, have if theirs is flow else have | self._from_the_beginning(theirs))

    def _opened(self, root: Root, have: VariableSet = 0, by: Flow | None = None) -> VariableSet:
        """The variables that may have a value at the first step of a flow, which another one, ``by``, may open."""
        flow = self._graph.flow(root.place)
        if root.opening in (Opening.PROGRAM, Opening.TAP) or flow.shared is not None:
            return self._nulls.of(*flow.variables)
        given = () if flow.trigger is None else flow.trigger.given
        inputs = self._assigned.inputs_of(root)
        passed = inputs.names if by is None else inputs.may_give(lambda text: self._is_null(text, have, by))
        return self._from_the_beginning(flow) | self._nulls.of(*given) | passed

    def _from_the_beginning(self, flow: Flow) -> VariableSet:
        """The variables that may have a value without a step of the flow: kept ones, and those of its slots, too."""
        if flow.name not in self._begun_with:
            saved = (flow.steps[slot].options.save or "" for slot in flow.slots)
            begun = (each.name for each in flow.variables.values() if each.keep or each.value is not None)
            self._begun_with[flow.name] = self._nulls.of(*saved, *begun, *self._graph.library.bot.common)
        return self._begun_with[flow.name]

    # -- texts and conditions ----------------------------------------------------------------------------------------

    def _fails(self, text: AnalysedText, have: VariableSet, flow: Flow) -> bool:
        """True if a text always fails in this state."""
        used = text.used
        if not text.names & ~have or not used.sure or used.given or used.extra:
            return False
        return self._evaluated(text, have, flow)[0]

    def _is_null(self, text: AnalysedText, have: VariableSet, flow: Flow) -> bool:
        """True if a value is null, if it is anything."""
        return bool(text.names & ~have) and self._evaluated(text, have, flow)[2]

    def _hold(self, given: Iterable[Given], have: VariableSet, flow: Flow) -> bool:
        """True if some values fulfil each of these conditions."""
        texts = [(self._nulls.text(Used(each.condition, sure=False), flow), each.holds) for each in given]
        return all(holds in self._evaluated(text, have, flow)[1] for text, holds in texts)

    def _evaluated(self, text: AnalysedText, have: VariableSet, flow: Flow) -> tuple[bool, frozenset[bool], bool]:
        """The evaluation of a text: if it always fails, the truth values that it may have, and if it is always null."""
        key = text.abstract, text.used.null, text.used.extra, flow.name, text.names & ~have
        if key not in self._known:
            null = frozenset({NULL})
            usual = self._values_of(flow)
            names = (name for name in text.used.text.names if name in usual)
            found = text.evaluated({
                **{name: usual[name] if self._nulls.of(name) & have else null for name in names},
                **self._nulls.signals.known_in(text.used.text),
            })  # fmt: skip
            missing = text.used.null is Null.NEEDED and found.blank
            refused = text.used.null is Null.REFUSED and found.only_nothing
            fails = not found.values or missing or refused
            self._known[key] = fails, found.truths, found.only_nothing
        return self._known[key]

    def _values_of(self, flow: Flow) -> dict[str, AbstractValues]:
        if flow.name not in self._values:
            self._values[flow.name] = {name: each.abstract_values | {NULL} for name, each in flow.variables.items()}
        return self._values[flow.name]


def _may_be_empty(text: AnalysedText) -> bool:
    """True if a text that must not be empty may be so although none of its variables is null."""
    written = text.used.text
    return text.used.null is Null.NEEDED and isinstance(written, Template) and not (text.constant or is_plain(written))
