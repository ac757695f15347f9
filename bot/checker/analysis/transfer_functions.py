"""Transfer functions: how a step and each edge from it change which variables may be null.

After a text that fails with null, its variables are not null. An assigned value makes its variable known, or null.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from bot.checker.analysis.null_effects import AnalysedText, NullAnalysis, NullEffect, ProvingCondition, VariableSet
from bot.checker.graph import Edge
from bot.core.immutable import immutable
from bot.language.expressions.templates import Template
from bot.language.flow.definition import Flow, Step
from bot.language.steps.step_facts import IT, Given, Null, Outcome, SavedResult, Used, only_if
from bot.language.steps.step_options import StepOptions
from bot.language.steps.transition import Assignment, Transition, templates_in

WrittenValue = tuple[str, Any]
"""A variable's name, and the value that is written for it, as `bot.language.steps.transition.value_of` read it."""


@immutable
class NullState:
    """The variables of a frame that may be null: ``unset`` ones have no value yet, ``emptied`` ones were set to null.

    Variables that the frame has not declared yet are unset.
    """

    unset: VariableSet = 0
    emptied: VariableSet = 0

    @property
    def null(self) -> VariableSet:
        """All that may be null."""
        return self.unset | self.emptied

    def __or__(self, other: "NullState") -> "NullState":
        return NullState(self.unset | other.unset, self.emptied | other.emptied)

    def within(self, other: "NullState") -> bool:
        """True if each variable that is unset or emptied here is so in the other state."""
        return not (self.unset & ~other.unset or self.emptied & ~other.emptied)

    def known(self, names: VariableSet) -> "NullState":
        """The same state, where these variables have a value."""
        return NullState(self.unset & ~names, self.emptied & ~names) if names & self.null else self

    def empty(self, names: VariableSet) -> "NullState":
        """The same state, where these variables may have been set to null."""
        return NullState(self.unset & ~names, self.emptied | names) if names else self


OnRead = Callable[[AnalysedText, NullEffect], None]
"""A function that is called with each text that is evaluated, and the effect of null in it."""


def ignore(text: AnalysedText, read: NullEffect) -> None:
    """Do nothing, for callers who do not need these calls."""


def after_texts(texts: Sequence[AnalysedText], state: NullState, seen: OnRead) -> NullState:
    """The state after some texts are evaluated, in any order. A conversation continues only if no text has failed, so
    variables with which one surely fails are not null.
    """
    if not texts:
        return state
    stops = 0
    for text in texts:
        read = text.read(state.null)
        seen(text, read)
        stops |= read.stops
    return state.known(stops)


def bits_of(names: VariableSet) -> Iterator[VariableSet]:
    """Each member of a set, alone."""
    while names:
        yield names & -names
        names &= names - 1


class TransferFunction:
    """Values that are assigned at the same time. Each is evaluated with the variables as they were before."""

    def __init__(self, *functions: "AssignedValue") -> None:
        self._assigned_values = functions
        self.names: VariableSet = 0
        for assigned in functions:
            self.names |= assigned.bit
        self.texts = [text for assigned in functions for text in assigned.texts if not text.constant]

    @classmethod
    def of(
        cls, given: Iterable[WrittenValue], flow: Flow, nulls: NullAnalysis, extra: frozenset[str] = frozenset()
    ) -> "TransferFunction":
        """The transfer function of these assignments in a flow. The values may use the names in ``extra`` beside the
        flow's variables.
        """
        functions = [AssignedValue(name, value, flow, nulls, extra) for name, value in given]
        return cls(*functions) if functions else NOTHING

    @cached_property
    def never_fail(self) -> bool:
        """True if each value can be evaluated and fits its variable, null aside."""
        return all(assigned.never_fails for assigned in self._assigned_values)

    def given(self, state: NullState, seen: OnRead) -> NullState:
        """The state after the assignments."""
        if not self._assigned_values:
            return state
        before = after_texts(self.texts, state, seen)
        return self.into(before, before)

    def into(self, state: NullState, of: NullState) -> NullState:
        """The state of a frame after the assignments, whose values are evaluated in the state ``of`` of another."""
        for assigned in self._assigned_values:
            state = state.empty(assigned.bit) if assigned.may_be_null(of.null) else state.known(assigned.bit)
        return state

    @cached_property
    def empties(self) -> VariableSet:
        """The variables that always get null."""
        return sum(assigned.bit for assigned in self._assigned_values if assigned.gives_null)

    def may_give(self, is_null: Callable[[AnalysedText], bool]) -> VariableSet:
        """The variables that may get a value: ``is_null`` tells of a text whether it is null, if it is anything."""
        found = 0
        for assigned in self._assigned_values:
            if not assigned.surely_null(is_null):
                found |= assigned.bit
        return found

    def copied(self, name: VariableSet, null: VariableSet) -> VariableSet:
        """The null variables from which a variable got its null value."""
        assigned = next((assigned for assigned in self._assigned_values if assigned.bit == name), None)
        return (
            0 if assigned is None else sum(bit for bit in bits_of(null & assigned.names) if assigned.may_be_null(bit))
        )


class AssignedValue:
    """One value that is assigned to a variable."""

    def __init__(self, name: str, value: Any, flow: Flow, nulls: NullAnalysis, extra: frozenset[str]) -> None:
        self.bit = nulls.of(name)
        self.texts = [nulls.text(Used(text, extra, Null.TAKEN), flow) for text in templates_in(value)]
        self._value = value
        self._variable = flow.variables.get(name)

    @property
    def names(self) -> VariableSet:
        """The variables from which it is computed."""
        return self.texts[0].names if isinstance(self._value, Template) else 0

    def may_be_null(self, null: VariableSet) -> bool:
        """True if the value may be null. A list or a record never is, whatever it contains."""
        return self._value is None or (isinstance(self._value, Template) and self.texts[0].read(null).nothing)

    def surely_null(self, is_null: Callable[[AnalysedText], bool]) -> bool:
        """True if the value is null, or a single text that is."""
        return self.gives_null or (isinstance(self._value, Template) and self._value.single and is_null(self.texts[0]))

    @property
    def gives_null(self) -> bool:
        """True if the flow assigns null itself."""
        return self._value is None

    @property
    def never_fails(self) -> bool:
        """True if it can be evaluated and fits the variable. A literal was checked when the bot was loaded."""
        if not all(text.never_fails for text in self.texts):
            return False
        alone = isinstance(self._value, Template) and not self._value.constant
        return not alone or self._variable is None or self._variable.surely_takes(self.texts[0].values)


NOTHING = TransferFunction()


_ERRORS, _VISITS = "errors.", "visits."
"""The prefixes of outcomes by which a step is left before it has done its work."""
_SAVED = {SavedResult.VALUE: (True,), SavedResult.PERHAPS: (None,), SavedResult.NULL: (None,)}
"""For what is saved, a value that is null as it is."""
BroughtBack = tuple[VariableSet, VariableSet]
"""The variables that get an output of a flow that was run, and those of them that may be null."""


class EdgeTransfer:
    """An edge from a step, and how it changes variables. ``done``: the step has done its work; ``fails``: it has
    failed.

    ``names`` are the variables that are assigned on it; if none is, and nothing else can change one, it ``is_idle``.
    ``early_texts`` are the conditions of words, which are evaluated while the step waits; ``late_texts`` are evaluated
    after `save` and `set` of the step. ``texts`` are all but the early ones.
    """

    # of most edges, which are idle
    is_idle = True
    conditions: tuple[Given, ...] = ()
    early_texts: Sequence[AnalysedText] = ()
    late_texts: Sequence[AnalysedText] = ()
    texts: Sequence[AnalysedText] = ()
    names: VariableSet = 0
    _given: Sequence[ProvingCondition] = ()
    _saved = _set = _at_transition = NOTHING
    _known: VariableSet = 0
    _bound = False

    def __init__(self, edge: Edge, step: Step, flow: Flow, outcome: Outcome | None, nulls: NullAnalysis) -> None:
        self.edge = edge
        self.fails = edge.outcome.startswith(_ERRORS)
        self.done = not (self.fails or edge.outcome.startswith(_VISITS))
        heard = _heard_if(edge, step, flow) if edge.word else ()
        given, acts = step.given(edge.outcome), edge.transition is not None and edge.transition.acts
        if not (edge.success or acts or given or heard):
            return
        if heard:
            self.early_texts = nulls.texts((Used(each.condition, sure=False) for each in heard), flow)
        self.conditions = (*given, *heard)
        self._given = [ProvingCondition(each, flow, nulls) for each in self.conditions]
        if outcome is not None and edge.success:
            self._known = nulls.of(*outcome.known)
            self._bound = bool(outcome.known or step.options.schedule or step.options.cancel)
            self._saved = TransferFunction.of(_saved(outcome, step.options), flow, nulls)
            self._set = TransferFunction.of(_written(step.options.assigned(flow.variables)), flow, nulls)
            self.late_texts = nulls.texts(_option_uses(step.options), flow)
        if acts and edge.transition is not None:
            self._lead_through(edge.transition, step.facts.names_in_errors if self.fails else frozenset(), flow, nulls)
        self.names = self._known | self._saved.names | self._set.names | self._at_transition.names
        self.texts = (*self._saved.texts, *self._set.texts, *self.late_texts)
        self.is_idle = not (edge.success or self._given or self.late_texts or self.names)

    def _lead_through(self, transition: Transition, extra: frozenset[str], flow: Flow, nulls: NullAnalysis) -> None:
        self._at_transition = TransferFunction.of(_written(transition.assigned(flow.variables)), flow, nulls, extra)
        self.late_texts = (*self.late_texts, *nulls.texts(_said(transition, extra), flow), *self._at_transition.texts)

    def may_give(self, is_null: Callable[[AnalysedText], bool]) -> VariableSet:
        """The variables that may get a value on the edge: see `TransferFunction.may_give`."""
        saved = self._known | self._saved.names
        return saved | self._set.may_give(is_null) | self._at_transition.may_give(is_null)

    @property
    def empties(self) -> VariableSet:
        """The variables to which a `set` on the edge always gives null."""
        return (self._set.empties & ~self._at_transition.names) | self._at_transition.empties

    @cached_property
    def never_fails(self) -> bool:
        """True if nothing on the edge can fail, null aside."""
        functions = (self._saved, self._set, self._at_transition)
        texts = (*self.early_texts, *self.late_texts)
        return (
            not self._bound and all(text.never_fails for text in texts) and all(each.never_fail for each in functions)
        )

    def left(self, state: NullState, brought: BroughtBack | None, seen: OnRead = ignore) -> NullState:
        """The state where the step is left, before its transition."""
        state = after_texts(self.early_texts, state, seen)
        for given in self._given:
            state = state.known(given.proves(state.null))
        state = self._saved.given(state, seen).known(self._known)
        if brought is not None:
            state = state.known(brought[0]).empty(brought[1])
        return self._set.given(state, seen)

    def past(self, left: NullState, seen: OnRead = ignore) -> NullState:
        """The state after the transition."""
        before = after_texts(self.late_texts, left, seen)
        return self._at_transition.into(before, before)

    def copied(self, name: VariableSet, null: VariableSet) -> VariableSet:
        """The variables from which a variable got its null value on this edge."""
        functions = (self._saved, self._set, self._at_transition)
        return next((found for each in functions if (found := each.copied(name, null))), 0)


def place_uses(step: Step, flow: Flow) -> Iterator[Used]:
    """The texts that are evaluated while a conversation is at a step: for its message, and to understand an answer."""
    needed = {id(sent.text) for sent in step.facts.texts if sent.needed}
    for used in step.facts.uses:
        yield replace(used, null=Null.NEEDED) if id(used.text) in needed else used
    variable = flow.saved_by(step)
    if variable is not None and step.facts.waits:
        for check in variable.checks:
            yield Used(check.condition, IT, sure=False)
            if check.error is not None:
                yield Used(check.error, IT, given=(Given(check.condition, holds=False),), sure=False)
        if variable.error is not None:
            yield Used(variable.error, IT, sure=False)


def notice_uses(step: Step) -> Iterator[Used]:
    """The texts of the template that replaces a late message. If one of them fails, no edge is taken."""
    notice = step.defaults.window_closed
    if notice is not None and step.facts.needs_window and step.facts.most_messages:
        yield from (replace(used, sure=False) for used in notice.uses())


def _saved(outcome: Outcome, options: StepOptions) -> list[WrittenValue]:
    """The assignments of `save`."""
    if options.save is None:
        return []
    values = _SAVED.get(outcome.saves, ()) if isinstance(outcome.saves, SavedResult) else (outcome.saves.value,)
    return [(options.save, value) for value in values]


def _written(assigned: Iterable[Assignment]) -> Iterator[WrittenValue]:
    return ((item.name, item.value) for item in assigned)


def _heard_if(edge: Edge, step: Step, flow: Flow) -> tuple[Given, ...]:
    """The condition under which a word is taken."""
    heard = (words.get(edge.word or "") for words in (flow.words, step.options.words))
    return next(
        (only_if(word.condition) for word in heard if word is not None and word.transition is edge.transition), ()
    )


def _option_uses(options: StepOptions) -> Iterator[Used]:
    """The texts that are evaluated when a step is left with success, except those of its `set`."""
    yield from map(Used, (*options.untag, *options.tag))
    for name in (*options.cancel, *(plan.name for plan in options.schedule)):
        yield Used(name, null=Null.NEEDED)
    for plan in options.schedule:
        yield from (Used(text, null=Null.REFUSED) for text in (plan.at, plan.until) if text is not None)
        yield from (Used(text, null=Null.TAKEN) for item in plan.inputs for text in templates_in(item.value))


def _said(transition: Transition, extra: frozenset[str]) -> Iterator[Used]:
    """The texts that are evaluated at a transition, except those of its `set`."""
    needed = (text for text in (transition.say, transition.ask, *transition.cancel) if text is not None)
    yield from (Used(text, extra, Null.NEEDED) for text in needed)
    yield from (Used(text, extra) for text in (*transition.untag, *transition.tag))
