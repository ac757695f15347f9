"""What happens to variables at a step and on each way on from there: which texts are worked out, and what is given."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

from bot.checker.data.giving import NOTHING, Gifts, Seen, State, Written, ignore, shown
from bot.checker.data.nulls import Condition, Names, Nulls, Text
from bot.checker.graph import Edge
from bot.flow.definition import ANSWER, Flow, Step
from bot.steps.declared import Given, Null, Outcome, Result, SentText, Used, only_if
from bot.steps.step_options import StepOptions
from bot.steps.transition import Transition, templates_in

_ERRORS, _VISITS = "errors.", "visits."  # what outcomes begin with by which a step is left that has not done its work
_SAVED = {
    Result.VALUE: (True,),
    Result.PERHAPS: (None,),
    Result.NULL: (None,),
}  # a value that is as null as what is saved
Brought = tuple[Names, Names]
"""The variables to which a flow that was run gives something, and those of them that may be null."""


class Way:
    """One way on from a step, with all that happens on it. ``done``: the step has done its work; ``fails``: it could not.

    ``is_idle``: nothing happens on it to any variable.
    """

    def __init__(self, edge: Edge, step: Step, flow: Flow, outcome: Outcome | None, nulls: Nulls) -> None:
        self.edge = edge
        self.fails = edge.outcome.startswith(_ERRORS)
        self.done = not (self.fails or edge.outcome.startswith(_VISITS))
        heard = _heard_if(edge, step, flow) if edge.word else ()
        self._heard = nulls.texts((Used(given.condition, sure=False) for given in heard), flow)
        given = (*(() if outcome is None else outcome.given), *heard)
        self._given = [Condition(each, flow, nulls) for each in given]
        self._saved = self._set = self._at_transition = NOTHING
        self._known, self._bound = 0, False
        self._texts: list[Text] = []
        if outcome is not None and edge.success:
            self._leave_by(outcome, step.options, flow, nulls)
        if edge.transition is not None:
            self._lead_through(edge.transition, step.kind.tells if self.fails else frozenset(), flow, nulls)
        self.is_idle = not (edge.success or self._given or self._texts or self.names)

    def _leave_by(self, outcome: Outcome, options: StepOptions, flow: Flow, nulls: Nulls) -> None:
        self._known = nulls.of(*outcome.known)
        self._bound = bool(outcome.known or options.schedule or options.cancel)
        self._saved = Gifts.of(_saved(outcome, options), flow, nulls)
        self._set = Gifts.of(((item.name, item.value) for item in options.set), flow, nulls)
        self._texts += nulls.texts(_option_uses(options), flow)

    def _lead_through(self, transition: Transition, told: frozenset[str], flow: Flow, nulls: Nulls) -> None:
        self._at_transition = Gifts.of(((item.name, item.value) for item in transition.set), flow, nulls, told)
        self._texts += (*nulls.texts(_said(transition, told), flow), *self._at_transition.texts)

    @property
    def names(self) -> Names:
        """The variables that are given something on it."""
        return self._known | self._saved.names | self._set.names | self._at_transition.names

    @cached_property
    def never_fails(self) -> bool:
        """Whether nothing on it can fail, but for null."""
        gifts = (self._saved, self._set, self._at_transition)
        texts = (*self._heard, *self._texts)
        return not self._bound and all(text.never_fails for text in texts) and all(each.never_fail for each in gifts)

    def left(self, state: State, brought: Brought | None, seen: Seen = ignore) -> State:
        """What may be null where the step is left, before its transition."""
        state = shown(self._heard, state, seen)
        for given in self._given:
            state = state.known(given.proves(state.null))
        state = self._saved.given(state, seen).known(self._known)
        if brought is not None:
            state = state.known(brought[0]).empty(brought[1])
        return self._set.given(state, seen)

    def past(self, left: State, seen: Seen = ignore) -> State:
        """What may be null past the transition."""
        before = shown(self._texts, left, seen)
        return self._at_transition.into(before, before)

    def copied(self, name: Names, null: Names) -> Names:
        """The variables whose value made this one null."""
        gifts = (self._saved, self._set, self._at_transition)
        return next((found for each in gifts if (found := each.copied(name, null))), 0)


def place_uses(step: Step, flow: Flow) -> Iterator[Used]:
    """What is worked out while a conversation is at a step: to send its message, and to understand an answer."""
    needed = {id(sent.text) for sent in step.kind.sends() if isinstance(sent, SentText) and sent.needed}
    for used in step.kind.uses():
        yield replace(used, null=Null.NEEDED) if id(used.text) in needed else used
    variable = flow.variables.get(step.options.save or "")
    if variable is not None and step.kind.waits:
        for check in variable.checks:
            yield Used(check.condition, ANSWER, sure=False)
            if check.error is not None:
                yield Used(check.error, ANSWER, given=(Given(check.condition, holds=False),), sure=False)
        if variable.error is not None:
            yield Used(variable.error, ANSWER, sure=False)


def notice_uses(step: Step) -> Iterator[Used]:
    """What is worked out for the template that goes where a message comes too late: a failure of it leads nowhere."""
    notice = step.defaults.window_closed
    if notice is not None and step.kind.needs_window and step.kind.most_messages:
        yield from (replace(used, sure=False) for used in notice.uses())


def _saved(outcome: Outcome, options: StepOptions) -> list[Written]:
    """What `save` gets, or a value like it."""
    if options.save is None:
        return []
    values = _SAVED.get(outcome.saves, ()) if isinstance(outcome.saves, Result) else (outcome.saves.value,)
    return [(options.save, value) for value in values]


def _heard_if(edge: Edge, step: Step, flow: Flow) -> tuple[Given, ...]:
    """What has come about where a word is heard."""
    heard = (words.get(edge.word or "") for words in (flow.words, step.options.words))
    return next(
        (only_if(word.condition) for word in heard if word is not None and word.transition is edge.transition), ()
    )


def _option_uses(options: StepOptions) -> Iterator[Used]:
    """What is worked out on leaving a step with success, its `set` aside."""
    yield from map(Used, (*options.untag, *options.tag))
    for name in (*options.cancel, *(plan.name for plan in options.schedule)):
        yield Used(name, null=Null.NEEDED)
    for plan in options.schedule:
        yield from (Used(text, null=Null.REFUSED) for text in (plan.at, plan.until) if text is not None)
        yield from (Used(text, null=Null.TAKEN) for item in plan.inputs for text in templates_in(item.value))


def _said(transition: Transition, told: frozenset[str]) -> Iterator[Used]:
    """What is worked out at a transition, its `set` aside."""
    needed = (text for text in (transition.say, transition.ask, *transition.cancel) if text is not None)
    yield from (Used(text, told, Null.NEEDED) for text in needed)
    yield from (Used(text, told) for text in (*transition.untag, *transition.tag))
