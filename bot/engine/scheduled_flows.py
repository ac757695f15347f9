"""Flows that start by themselves: when their time has come, or because a program asks for it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from bot.core.events import StartRequested
from bot.core.session import HAS_OPTED_OUT, Plan
from bot.engine.failures import FAILURES, Failure
from bot.engine.frames import MOST_FRAMES
from bot.engine.interruptions import interrupt
from bot.engine.migration import meet_edit
from bot.engine.turn_context import TurnContext
from bot.flow.library import Library
from bot.lang.cron import next_after
from bot.lang.problems import did_you_mean
from bot.lang.templates import Template
from bot.lang.variables import Mismatch
from bot.steps.kind import StepFailed
from bot.steps.points_in_time import no_later
from bot.steps.schedule import name_in
from bot.steps.step_options import StepOptions

if TYPE_CHECKING:
    from bot.engine.executor import Executor

MOST_PLANS = 100  # for one contact
MOST_DUE = 100  # that come due for one contact within an hour, without a word from them


class NoSuchFlow(StepFailed):
    """A program asks for a flow, or a step of one, that is not there."""


def arrange(work: TurnContext, options: StepOptions) -> None:
    """Do a step's `cancel` and then its `schedule`: all of it, or nothing where it raises a `Failure`."""
    if not (options.cancel or options.schedule):
        return
    scope = work.scope()
    plans = _without(work, options.cancel, scope)
    for schedule in options.schedule:
        plan = schedule.plan(scope, work.now)
        plans.pop(name_in(schedule.name, scope), None)
        if plan is None:
            work.trace.notes.append(f"{schedule.target.text} is not scheduled: its time has passed")
        else:
            plans[plan.name] = plan
    _keep(work, tuple(plans.values()))


def cancel(work: TurnContext, names: Sequence[Template], scope: Mapping[str, Any]) -> None:
    """Do a transition's `cancel`. Raises a `bot.engine.failures.Failure`."""
    if names:
        work.session.plans = tuple(_without(work, names, scope).values())


def _without(work: TurnContext, names: Sequence[Template], scope: Mapping[str, Any]) -> dict[str, Plan]:
    """The contact's plans by their names, but for these."""
    gone = {name_in(name, scope) for name in names}
    return {plan.name: plan for plan in work.session.plans if plan.name not in gone}


def wakes_at(work: TurnContext) -> datetime | None:
    """When the next plan can be started, or is left out: the others wait until the contact is free."""
    return min((plan.at for plan in work.session.plans if _means_something(work, plan)), default=None)


def kept_to_the_clock(plan: Plan, now: datetime) -> Plan:
    """A plan that starts no later than what it was to wait for from now on: the clock may have been set back."""
    return plan if plan.after is None else replace(plan, at=no_later(plan.at, now, plan.after))


def take_due(walk: "Executor") -> None:
    """Start the plan that has been due for longest, if there is one that can be started: one a turn.

    What an edit took away is left out with a note; what does not fit any more, or comes too often, is a failure.
    """
    work, now = walk.work, walk.work.event.at
    due = [plan for plan in work.session.plans if plan.at <= now and _means_something(work, plan)]
    if not due:
        return
    plan = min(due, key=lambda plan: plan.at)
    work.session.plans = tuple(other for other in work.session.plans if other is not plan)
    _plan_next(work, plan)
    if not is_there(work.library, plan):
        work.trace.rule = "nothing to start"
        work.trace.notes.append(f"{plan.name}: {plan.flow} is gone")
        return
    try:
        _count(work, plan)
        inputs = _fitting(work.library, plan.flow, plan.inputs, work.now)
    except FAILURES as failed:
        _refuse(work, failed)
    else:
        _start(walk, plan, inputs, "its time has come")


def take_start(walk: "Executor", event: StartRequested) -> None:
    """A program or an operator starts a flow: at once, or as `busy` says. What is wrong with it is a failure."""
    work = walk.work
    if work.session.opted_out:
        work.trace.rule = f"no start of {event.flow} by {event.by}: {HAS_OPTED_OUT}"
        return
    if work.session.frame is not None and work.session.agent is None:
        meet_edit(walk)
    work.trace.rule = f"start of {event.flow} by {event.by}"
    plan = Plan(event.id, event.flow, event.at, event.data, event.busy, after=timedelta())
    try:
        inputs = _asked_for(work.library, plan.flow, plan.inputs, work.now)
        if not _means_something(work, plan):
            _keep(work, (*work.session.plans, plan))
            work.trace.rule = f"start of {event.flow} by {event.by}: waits"
            return
    except FAILURES as failed:
        _refuse(work, failed)
    else:
        _start(walk, plan, inputs, f"by {event.by}")


def _start(walk: "Executor", plan: Plan, inputs: Mapping[str, Any], why: str) -> None:
    """Start a plan's flow now, or leave it out where the contact is busy."""
    work = walk.work
    if not _can_start(work, plan):
        work.trace.rule = f"no start of {plan.flow}: the contact is busy"
        return
    work.trace.rule = f"start of {plan.flow}: {why}"
    if work.session.frame is None:
        walk.open(f"/{plan.flow}", inputs)
    else:
        interrupt(walk, plan.flow, inputs)


def _count(work: TurnContext, plan: Plan) -> None:
    """Count what has come due without a word from the contact, so that no flow schedules itself round and round.

    Raises `StepFailed` for more than `MOST_DUE` within an hour.
    """
    session, now = work.session, work.event.at
    if session.due_since is None or not session.due_count or now >= session.due_since + timedelta(hours=1):
        session.due_count, session.due_since = 0, now
    session.due_count += 1
    if session.due_count > MOST_DUE:
        what = f"{MOST_DUE} scheduled flows have come due for this contact within an hour, and no word from them"
        raise StepFailed("failed", f"{plan.flow} was not started: {what}: look for a flow that schedules itself")


def _refuse(work: TurnContext, failed: Failure) -> None:
    """No flow is started, and the operator is told why."""
    work.failure = str(failed)
    work.trace.notes.append(work.failure)


def _means_something(work: TurnContext, plan: Plan) -> bool:
    """Whether something happens to a plan that is due: it starts, or it is left out."""
    return plan.busy == "skip" or _can_start(work, plan)


def _can_start(work: TurnContext, plan: Plan) -> bool:
    """Nobody who talks to a person, or whose answer is being worked out, is cut in on."""
    session, frame = work.session, work.session.frame
    if session.agent is not None:
        return False
    if frame is None:
        return True
    free = frame.awaited_effect is None and not work.step.kind.deaf and len(session.frames) < MOST_FRAMES
    return plan.busy == "interrupt" and free


def _plan_next(work: TurnContext, plan: Plan) -> None:
    """Plan the next time of what comes again: counted from now, so that nothing piles up while it waits."""
    if plan.every is None:
        return
    at = next_after(plan.every, work.now)
    if plan.until is None or at < plan.until:
        work.session.plans = (*work.session.plans, replace(plan, at=at))


def objections(library: Library, where: str, data: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with a start of ``flow`` or ``flow/step`` that a program asks for, in words.

    It is under ``flow`` where there is no such flow, else under ``data``; empty where nothing is wrong.
    """
    try:
        _asked_for(library, where, data, None)
    except NoSuchFlow as unknown:
        return {"flow": str(unknown)}
    except FAILURES as failed:
        return {"data": str(failed)}
    return {}


def _asked_for(library: Library, where: str, data: Mapping[str, Any], now: datetime | None) -> Mapping[str, Any]:
    """The inputs of a start that a program asks for, as values of the flow's variables. Raises a `Failure`."""
    name, flows = where.partition("/")[0], library.flows
    if not _has(library, where):
        fix = did_you_mean(name, flows, "`bot check` reads the flows")
        raise NoSuchFlow("failed", f'there is no flow "{where}" to start: {fix}')
    known = flows[name].variables
    for unknown in data.keys() - known.keys():
        fix = did_you_mean(unknown, known, f"declare it under vars of flow {name}")
        raise StepFailed("failed", f'{where} was not started: no variable "{unknown}": {fix}')
    return _fitting(library, where, data, now)


def is_there(library: Library, plan: Plan) -> bool:
    """Whether there is still the flow, and the step, that a plan starts."""
    return _has(library, plan.flow)


def _has(library: Library, where: str) -> bool:
    name, _, step = where.partition("/")
    flow = library.flows.get(name)
    return flow is not None and (not step or step in flow.steps)


def _fitting(library: Library, where: str, data: Mapping[str, Any], now: datetime | None) -> Mapping[str, Any]:
    """The data as values of the flow's variables; those that an edit took away are left out. Raises `Mismatch`."""
    variables = library.flows[where.partition("/")[0]].variables
    inputs = {}
    for name, value in data.items():
        if name in variables:
            try:
                inputs[name] = variables[name].coerce(value, now)
            except Mismatch as mismatch:
                raise Mismatch(f"{where} was not started: {name}: {mismatch}") from mismatch
    return inputs


def _keep(work: TurnContext, plans: tuple[Plan, ...]) -> None:
    """Keep plans. Raises `StepFailed` for more than one contact may have."""
    if len(plans) > MOST_PLANS:
        raise StepFailed("failed", f"more than {MOST_PLANS} flows are scheduled for one contact")
    work.session.plans = plans
