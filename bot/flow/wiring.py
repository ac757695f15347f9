"""Where every outcome of every step leads, with all defaults worked out."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from bot.flow.definition import Flow, Step, Way
from bot.lang.nodes import Mark
from bot.lang.problems import Problems
from bot.steps.declared import Falls, Outcome
from bot.steps.doors import AGAIN, END, NEXT, Door
from bot.steps.words import Words


def wired(flow: Flow, problems: Problems) -> Flow:
    """The flow with the `ways` of each step filled in; an outcome that leads nowhere is a problem."""
    names = list(flow.steps)
    following = dict(zip(names, [*names[1:], END], strict=False))
    steps = {}
    for step in flow.steps.values():
        wiring = _Wiring(step, following[step.name], problems)
        steps[step.name] = replace(step, ways={way.outcome: way for way in wiring.ways()})
    return replace(flow, steps=steps)


def failing_flows(flows: Mapping[str, Flow], words: Words, *, texts: bool = False) -> frozenset[str]:
    """The flows that can end because a step failed: what it asked for did, or a flow that it runs; ``texts``: or a text.

    A flow ends as the one does that it goes over to; ``words`` are those of the bot.
    """
    failing: set[str] = set()
    while more := {name for name in flows.keys() - failing if _can_fail(flows[name], failing, words, texts)}:
        failing |= more
    return frozenset(failing)


def _can_fail(flow: Flow, failing: Collection[str], words: Words, texts: bool) -> bool:
    over = [way.target or "" for step in flow.steps.values() for way in step.ways.values()]
    heard = (words, flow.words, *(step.riders.words for step in flow.steps.values()))
    over += [word.door.then.text for each in heard for word in each.values() if word.door.then is not None]
    if any(target.startswith("/") and target[1:].partition("/")[0] in failing for target in over):
        return True
    return any(_ends_failed(step, failing, texts) for step in flow.steps.values())


def _ends_failed(step: Step, failing: Collection[str], texts: bool) -> bool:
    runs = any(run.flow in failing for run in step.kind.flows_run())
    fails = texts or runs or "errors.else" in step.outcomes or step.refusal is not None
    return fails and any(way.target == END for name, way in step.ways.items() if name.startswith("errors."))


class _Wiring:
    """The ways of one step."""

    def __init__(self, step: Step, following: str, problems: Problems) -> None:
        self._step = step
        self._following = following
        self._problems = problems
        then = step.riders.then
        self._then = following if then is None or then.then is None else self._named(then.then.text)

    def ways(self) -> Iterator[Way]:
        """Every outcome, the kind's own first."""
        step = self._step
        own = step.outcomes
        for name, outcome in own.items():
            yield self._way(name, outcome)
        for name, door in (step.defaults.errors or {}).items():
            yield self._leading(f"errors.{name}", door)
        if step.riders.visits is not None:
            yield self._leading("visits.else", step.riders.visits.otherwise)
        if step.kind.waits:
            yield from self._waiting_ways(has_other="other" in own)
        timeout = step.defaults.timeout if step.kind.waits else step.riders.defaults.timeout
        if step.kind.waits or timeout is not None:
            yield self._timeout(step)

    def _named(self, target: str) -> str:
        return self._following if target == NEXT else target

    def _way(self, name: str, outcome: Outcome) -> Way:
        door = outcome.door
        mark = self._step.mark if door is None else door.mark
        if door is not None and door.then is not None:
            return Way(name, self._named(door.then.text), mark, door, outcome.success)
        target: str | None = None
        match outcome.falls:
            case Falls.THEN:
                target = self._then
                if door is None and self._step.riders.then is not None:
                    door = self._step.riders.then
            case Falls.ERRORS if "else" not in (self._step.defaults.errors or {}):
                self._missing("errors.else", "a failure of this step leads nowhere", "add errors: {else: ...}")
            case Falls.WRITTEN:
                self._missing(name, f'"{name}" leads nowhere', f"write {name}: and a target", mark)
        return Way(name, target, mark, door, outcome.success)

    def _leading(self, name: str, door: Door) -> Way:
        """An outcome whose door must say where it leads."""
        if door.then is None:
            self._problems.add("E131", door.mark, f"{name} leads nowhere", "add `then` with a target")
            return Way(name, END, door.mark, door, success=False)
        return Way(name, self._named(door.then.text), door.mark, door, success=False)

    def _waiting_ways(self, *, has_other: bool) -> Iterator[Way]:
        step = self._step
        retry, remind = step.defaults.retry, step.defaults.remind
        if has_other and step.riders.defaults.retry is not None:
            self._problems.add(
                "E124",
                step.riders.defaults.retry.mark,
                f'step "{step.name}": "retry" beside "other"',
                "keep one: `other` takes every reply that is no answer",
            )
        if not has_other:
            yield self._repeating("retry", None if retry is None else retry.door)
            if retry is not None and retry.otherwise is not None:
                yield self._leading("retry.else", retry.otherwise)
            elif retry is not None and retry.most is not None:
                self._problems.add("E130", retry.mark, "retry has a `max` and no `else`", "add else: and a target")
        if remind is not None:
            if remind.after is None:
                self._problems.add("E130", remind.mark, "remind has no `after`", "add after: and a duration")
            yield self._repeating("remind", remind.door)

    def _repeating(self, name: str, door: Door | None) -> Way:
        """A door that may stay at the step: where nothing is written, the question is put again."""
        if door is None or not door.speaks:
            return Way(name, AGAIN, self._step.mark, door, success=False)
        target = None if door.then is None else self._named(door.then.text)
        return Way(name, target, door.mark, door, success=False)

    def _timeout(self, step: Step) -> Way:
        timeout = step.defaults.timeout if step.kind.waits else step.riders.defaults.timeout
        if timeout is None or timeout.door is None:
            self._missing(
                "timeout",
                "it waits for ever when no answer comes",
                "add timeout: {after: 20h, then: end} here or under `defaults`",
            )
            return Way("timeout", END, step.mark, success=False)
        if timeout.after is None:
            self._problems.add("E130", timeout.mark, "timeout has no `after`", "add after: and a duration")
        return self._leading("timeout", timeout.door)

    def _missing(self, outcome: str, what: str, fix: str, mark: Mark | None = None) -> None:
        self._problems.add("E130", mark or self._step.mark, f'step "{self._step.name}" has no `{outcome}`: {what}', fix)
