"""Where the outcomes of each step lead, with all defaults applied."""

from collections.abc import Iterator
from dataclasses import replace

from bot.language.flow.definition import Flow, ResolvedTransition, Step
from bot.language.source.problems import Problems
from bot.language.steps.step_facts import DefaultTarget, Outcome
from bot.language.steps.step_options import signal_outcomes
from bot.language.steps.transition import AGAIN, END, NEXT, STAY, Transition


def with_transitions(flow: Flow, problems: Problems) -> Flow:
    """The flow with the transitions of each step; an outcome that leads nowhere is a problem."""
    steps = {}
    for step in flow.steps.values():
        resolved = _Resolver(step, flow.following[step.name], problems).transitions()
        steps[step.name] = replace(step, transitions={each.outcome: each for each in resolved})
    return replace(flow, steps=steps)


class _Resolver:
    """Resolves the transitions of one step: the target of each of its outcomes, with all defaults applied."""

    def __init__(self, step: Step, following: str, problems: Problems) -> None:
        self._step = step
        self._following = following
        self._problems = problems

    def transitions(self) -> Iterator[ResolvedTransition]:
        """Every outcome, the kind's own first."""
        step, own = self._step, self._step.outcomes
        for name, outcome in own.items():
            yield self._own(name, outcome)
        for name, transition in (step.defaults.errors or {}).items():
            yield self._leading(f"errors.{name}", transition)
        if step.options.visits is not None:
            yield self._leading("visits.else", step.options.visits.otherwise)
        if step.facts.waits and "other" not in own:
            yield from self._retry()
        elif step.facts.waits and step.options.defaults.retry is not None:
            fix = "keep one: `other` takes every reply that is no answer"
            mark = step.options.defaults.retry.mark
            self._problems.add("E124", mark, f'step "{step.name}": "retry" has no effect beside "other"', fix)
        remind = step.defaults.remind
        if step.facts.waits and remind is not None:
            if remind.after is None:
                self._problems.add("E130", remind.mark, "remind has no `after`", "add after: and a duration")
            yield self._repeating("remind", remind.transition)
        if (step.facts.waits and not step.waits_for_ever) or step.timeout is not None:
            yield self._timeout()
        for name, heard in signal_outcomes(step.signals):
            transition = heard.transition
            if transition.then is None:
                yield ResolvedTransition(step.name, name, None, transition.mark, transition, success=False)
            else:
                yield self._leading(name, transition)

    def _own(self, name: str, outcome: Outcome) -> ResolvedTransition:
        """An outcome of the step's kind: what is written for it, else what such an outcome falls back to."""
        transition, success = outcome.transition, outcome.success
        if transition is not None and (transition.then is not None or outcome.falls is DefaultTarget.WRITTEN):
            return self._leading(name, transition, success=success)
        then = self._step.options.then
        if (
            outcome.falls is DefaultTarget.THEN
            and then is not None
            and then.then is not None
            and then.then.text == STAY
        ):
            return self._leading(name, replace(transition or then, then=then.then), success=success)
        mark = self._step.mark if transition is None else transition.mark
        target: str | None = None
        match outcome.falls:
            case DefaultTarget.THEN:
                target = self._following if then is None or then.then is None else self._named(then.then.text)
                transition = transition or then
            case DefaultTarget.ERRORS if "else" not in (self._step.defaults.errors or {}):
                fix = "add errors: {else: end}, or another target"
                self._missing("errors.else", "a failure of this step leads nowhere", fix)
            case DefaultTarget.WRITTEN:
                key, _, inner = name.partition(".")
                fix = f"write {inner}: and a target under {key}" if inner else f"write {name}: and a target"
                self._missing(name, f'"{name}" leads nowhere', fix)
        return ResolvedTransition(self._step.name, name, target, mark, transition, success=success)

    def _retry(self) -> Iterator[ResolvedTransition]:
        retry = self._step.defaults.retry
        yield self._repeating("retry", None if retry is None else retry.transition)
        if retry is not None and retry.otherwise is not None:
            yield self._leading("retry.else", retry.otherwise)
        elif retry is not None and retry.most is not None:
            self._problems.add("E130", retry.mark, "retry has a `max` and no `else`", "add else: and a target")

    def _timeout(self) -> ResolvedTransition:
        timeout = self._step.timeout
        if timeout is None or timeout.transition is None:
            fix = "add timeout: {after: 20h, then: end} here or under `defaults`"
            self._missing("timeout", "it waits for ever when no answer comes", fix)
            return ResolvedTransition(self._step.name, "timeout", END, self._step.mark, success=False)
        if timeout.after is None:
            self._problems.add("E130", timeout.mark, "timeout has no `after`", "add after: and a duration")
        return self._leading("timeout", timeout.transition)

    def _leading(self, name: str, transition: Transition, *, success: bool = False) -> ResolvedTransition:
        """An outcome whose transition must say where it leads."""
        if transition.then is None:
            self._problems.add("E131", transition.mark, f"{name} leads nowhere", "add `then` with a target")
        target = END if transition.then is None else self._named(transition.then.text)
        written = self._step.name, name, target, transition.mark, transition
        if transition.then is None or transition.then.text != STAY:
            return ResolvedTransition(*written, success=success)
        facts = self._step.facts
        by_answer = name in self._step.outcomes or name.startswith("errors.")
        if not facts.waits or facts.takes_pending_input or not by_answer:
            what = f'step "{self._step.name}": {name}: "stay" leads nowhere, because no answer was given'
            fix = "write it where an answer leads, or a failure, of a step that waits for one; or write another target"
            self._problems.add("E110", transition.then.mark, what, fix)
        return ResolvedTransition(*written[:2], None, *written[3:], success=False, stays=True)

    def _repeating(self, name: str, transition: Transition | None) -> ResolvedTransition:
        """An outcome that may stay at the step: where nothing is written, the question is put again."""
        if transition is None or not transition.speaks:
            return ResolvedTransition(self._step.name, name, AGAIN, self._step.mark, transition, success=False)
        if transition.then is None:
            return ResolvedTransition(self._step.name, name, None, transition.mark, transition, success=False)
        return self._leading(name, transition)

    def _named(self, target: str) -> str:
        return self._following if target == NEXT else target

    def _missing(self, outcome: str, what: str, fix: str) -> None:
        self._problems.add("E130", self._step.mark, f'step "{self._step.name}" has no `{outcome}`: {what}', fix)
