"""Feasibility: the steps and edges that a conversation can get to, by which variables can have a value at all.

Where nothing has ever set ``count``, ``count > 3`` always fails, and no conversation gets past it. Definite assignment
says where a variable may be null; here a variable that is not in the state is null on every path.
"""

from collections.abc import Iterable

from bot.checker.analysis.definite_assignment import definite_assignment
from bot.checker.analysis.null_effects import AnalysedText, VariableSet
from bot.checker.analysis.transfer_functions import EdgeTransfer
from bot.checker.graph import Edge, Graph, Opening, Root, StepId
from bot.language.expressions.abstract_values import NULL, AbstractValues
from bot.language.flow.definition import Flow
from bot.language.steps.step_facts import Given, Null, Used


class Feasibility:
    """The steps that a conversation can get to, the edges that it can begin to take, and those that it can finish.

    ``failing`` are the steps whose own text or value always fails. More is feasible here than in truth, never less.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._assigned = graph.analysis(definite_assignment)
        self._nulls = self._assigned.nulls
        self._values: dict[str, dict[str, AbstractValues]] = {}
        self._known: dict[tuple[int, str, VariableSet], tuple[bool, frozenset[bool]]] = {}
        self._have: dict[StepId, VariableSet] = {}  # the variables that may have a value at a step
        self._waiting: dict[StepId, None] = {}  # a queue that holds each step once
        self.failing: set[StepId] = set()
        self.begun: set[Edge] = set()
        self.finished: set[Edge] = set()
        self._settle()

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
        have, flow = self._have[place], self._graph.flow(place)
        fails = any(self._fails(text, have, flow) for text in self._assigned.texts_at(place))
        (self.failing.add if fails else self.failing.discard)(place)
        for root in () if fails else self._graph.roots_by.get(place, ()):
            self._meet(root.place, self._opened(root))
        for target in self._assigned.stack.returns.get(place, ()):
            self._meet(target, have)
        for transfer in self._assigned.transfers(place):
            if fails and transfer.done:
                continue
            if self._hold(transfer.conditions, have, flow):
                self._take(transfer, have, flow)
            elif transfer.early_texts:  # which are evaluated although the edge is not taken
                self.begun.add(transfer.edge)

    def _take(self, transfer: EdgeTransfer, have: VariableSet, flow: Flow) -> None:
        edge, step = transfer.edge, self._graph.steps[transfer.edge.source]
        self.begun.add(edge)
        have |= self._assigned.given(transfer) | self._nulls.of(*step.facts.gives)
        if step.facts.gives_any or edge.success and step.facts.flows_run:
            have |= self._nulls.of(*flow.variables)
        if any(self._fails(text, have, flow) for text in transfer.texts):
            return
        self.finished.add(edge)
        if edge.target is not None:
            theirs = self._graph.flow(edge.target)
            self._meet(edge.target, have if theirs is flow else have | self._from_the_beginning(theirs))

    def _opened(self, root: Root) -> VariableSet:
        """The variables that may have a value at the first step of a flow."""
        flow = self._graph.flow(root.place)
        if root.opening in (Opening.PROGRAM, Opening.TAP) or flow.shared is not None:
            return self._nulls.of(*flow.variables)
        given = () if flow.trigger is None else flow.trigger.given
        return self._from_the_beginning(flow) | self._nulls.of(*given, *(item.name for item in root.inputs))

    def _from_the_beginning(self, flow: Flow) -> VariableSet:
        """The variables that may have a value without a step of the flow: kept ones, and those of its slots, too."""
        saved = (flow.steps[slot].options.save or "" for slot in flow.slots)
        begun = (each.name for each in flow.variables.values() if each.keep or each.value is not None)
        return self._nulls.of(*saved, *begun, *self._graph.library.bot.common)

    # -- texts and conditions ----------------------------------------------------------------------------------------

    def _fails(self, text: AnalysedText, have: VariableSet, flow: Flow) -> bool:
        """True if a text always fails in this state."""
        used = text.used
        if not used.sure or used.given or used.extra or not text.names & ~have:
            return False
        return self._evaluated(text, have, flow)[0]

    def _hold(self, given: Iterable[Given], have: VariableSet, flow: Flow) -> bool:
        """True if some values fulfil each of these conditions."""
        texts = [(self._nulls.text(Used(each.condition, sure=False), flow), each.holds) for each in given]
        return all(holds in self._evaluated(text, have, flow)[1] for text, holds in texts)

    def _evaluated(self, text: AnalysedText, have: VariableSet, flow: Flow) -> tuple[bool, frozenset[bool]]:
        """Whether a text always fails, and the truth values that it may have."""
        key = id(text), flow.name, text.names & ~have
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
            self._known[key] = not found.values or missing or refused, found.truths
        return self._known[key]

    def _values_of(self, flow: Flow) -> dict[str, AbstractValues]:
        if flow.name not in self._values:
            self._values[flow.name] = {name: each.abstract_values | {NULL} for name, each in flow.variables.items()}
        return self._values[flow.name]
