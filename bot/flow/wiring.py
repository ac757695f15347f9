"""Where every outcome of every step leads, with all defaults worked out."""

from collections.abc import Iterator
from dataclasses import replace

from bot.flow.definition import Flow, Step
from bot.flow.machine import ResolvedTransition
from bot.lang.nodes import Mark
from bot.lang.problems import Problems
from bot.steps.step_facts import Falls, Outcome
from bot.steps.transition import AGAIN, END, NEXT, Transition


def wired(flow: Flow, problems: Problems) -> Flow:
    """The flow with the transitions of each step; an outcome that leads nowhere is a problem."""
    names = list(flow.steps)
    following = dict(zip(names, [*names[1:], END], strict=False))
    steps = {}
    for step in flow.steps.values():
        resolver = _Resolver(step, following[step.name], problems)
        steps[step.name] = replace(
            step, transitions={resolved.outcome: resolved for resolved in resolver.transitions()}
        )
    return replace(flow, steps=steps)


class _Resolver:
    """Resolves the transitions of one step."""

    def __init__(self, step: Step, following: str, problems: Problems) -> None:
        self._step = step
        self._following = following
        self._problems = problems
        then = step.options.then
        self._then = following if then is None or then.then is None else self._named(then.then.text)

    def transitions(self) -> Iterator[ResolvedTransition]:
        """Every outcome, the kind's own first."""
        step = self._step
        own = step.outcomes
        for name, outcome in own.items():
            yield self._resolve(name, outcome)
        for name, transition in (step.defaults.errors or {}).items():
            yield self._leading(f"errors.{name}", transition)
        if step.options.visits is not None:
            yield self._leading("visits.else", step.options.visits.otherwise)
        if step.kind.waits:
            yield from self._waiting_transitions(has_other="other" in own)
        timeout = step.defaults.timeout if step.kind.waits else step.options.defaults.timeout
        if step.kind.waits or timeout is not None:
            yield self._timeout(step)

    def _to(
        self, outcome: str, target: str | None, transition: Transition, *, success: bool = False
    ) -> ResolvedTransition:
        return ResolvedTransition(self._step.name, outcome, target, transition.mark, transition, success=success)

    def _named(self, target: str) -> str:
        return self._following if target == NEXT else target

    def _resolve(self, name: str, outcome: Outcome) -> ResolvedTransition:
        transition = outcome.transition
        mark = self._step.mark if transition is None else transition.mark
        if transition is not None and transition.then is not None:
            return self._to(name, self._named(transition.then.text), transition, success=outcome.success)
        target: str | None = None
        match outcome.falls:
            case Falls.THEN:
                target = self._then
                if transition is None and self._step.options.then is not None:
                    transition = self._step.options.then
            case Falls.ERRORS if "else" not in (self._step.defaults.errors or {}):
                self._missing("errors.else", "a failure of this step leads nowhere", "add errors: {else: ...}")
            case Falls.WRITTEN:
                self._missing(name, f'"{name}" leads nowhere', f"write {name}: and a target", mark)
        return ResolvedTransition(self._step.name, name, target, mark, transition, success=outcome.success)

    def _leading(self, name: str, transition: Transition) -> ResolvedTransition:
        """An outcome whose transition must say where it leads."""
        if transition.then is None:
            self._problems.add("E131", transition.mark, f"{name} leads nowhere", "add `then` with a target")
            return self._to(name, END, transition)
        return self._to(name, self._named(transition.then.text), transition)

    def _waiting_transitions(self, *, has_other: bool) -> Iterator[ResolvedTransition]:
        step = self._step
        retry, remind = step.defaults.retry, step.defaults.remind
        if has_other and step.options.defaults.retry is not None:
            self._problems.add(
                "E124",
                step.options.defaults.retry.mark,
                f'step "{step.name}": "retry" beside "other"',
                "keep one: `other` takes every reply that is no answer",
            )
        if not has_other:
            yield self._repeating("retry", None if retry is None else retry.transition)
            if retry is not None and retry.otherwise is not None:
                yield self._leading("retry.else", retry.otherwise)
            elif retry is not None and retry.most is not None:
                self._problems.add("E130", retry.mark, "retry has a `max` and no `else`", "add else: and a target")
        if remind is not None:
            if remind.after is None:
                self._problems.add("E130", remind.mark, "remind has no `after`", "add after: and a duration")
            yield self._repeating("remind", remind.transition)

    def _repeating(self, name: str, transition: Transition | None) -> ResolvedTransition:
        """A transition that may stay at the step: where nothing is written, the question is put again."""
        if transition is None or not transition.speaks:
            return ResolvedTransition(self._step.name, name, AGAIN, self._step.mark, transition, success=False)
        return self._to(name, None if transition.then is None else self._named(transition.then.text), transition)

    def _timeout(self, step: Step) -> ResolvedTransition:
        timeout = step.defaults.timeout if step.kind.waits else step.options.defaults.timeout
        if timeout is None or timeout.transition is None:
            self._missing(
                "timeout",
                "it waits for ever when no answer comes",
                "add timeout: {after: 20h, then: end} here or under `defaults`",
            )
            return ResolvedTransition(step.name, "timeout", END, step.mark, success=False)
        if timeout.after is None:
            self._problems.add("E130", timeout.mark, "timeout has no `after`", "add after: and a duration")
        return self._leading("timeout", timeout.transition)

    def _missing(self, outcome: str, what: str, fix: str, mark: Mark | None = None) -> None:
        self._problems.add("E130", mark or self._step.mark, f'step "{self._step.name}" has no `{outcome}`: {what}', fix)
