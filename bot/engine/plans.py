"""Flows that start by themselves: when their time has come, or because a program asks for it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from bot.core.events import StartRequested
from bot.core.session import Plan
from bot.engine.edits import meet_edit
from bot.engine.frames import MOST_FRAMES
from bot.engine.interruptions import interrupt
from bot.engine.work import Work
from bot.lang.cron import next_after
from bot.lang.problems import did_you_mean
from bot.lang.templates import Template
from bot.lang.variables import Mismatch
from bot.steps.kind import StepFailed
from bot.steps.riders import Riders
from bot.steps.schedule import name_in

if TYPE_CHECKING:
    from bot.engine.walk import Walk

MOST_PLANS = 100  # for one contact


def arrange(work: Work, riders: Riders) -> None:
    """Do a step's `cancel` and then its `schedule`: all of it, or nothing where it raises a `Failure`."""
    if not (riders.cancel or riders.schedule):
        return
    scope = work.scope()
    plans = _without(work, riders.cancel, scope)
    for schedule in riders.schedule:
        plan = schedule.plan(scope, work.now)
        plans.pop(name_in(schedule.name, scope), None)
        if plan is None:
            work.trace.notes.append(f"{schedule.target.text} is not scheduled: its time has passed")
        else:
            plans[plan.name] = plan
    _keep(work, tuple(plans.values()))


def cancel(work: Work, names: Sequence[Template], scope: Mapping[str, Any]) -> None:
    """Do a door's `cancel`. Raises a `bot.engine.failures.Failure`."""
    if names:
        work.session.plans = tuple(_without(work, names, scope).values())


def _without(work: Work, names: Sequence[Template], scope: Mapping[str, Any]) -> dict[str, Plan]:
    """The contact's plans by their names, but for these."""
    gone = {name_in(name, scope) for name in names}
    return {plan.name: plan for plan in work.session.plans if plan.name not in gone}


def wakes_at(work: Work) -> datetime | None:
    """When the next plan can be started, or is left out: the others wait until the contact is free."""
    return min((plan.at for plan in work.session.plans if _means_something(work, plan)), default=None)


def take_due(walk: "Walk") -> None:
    """Start the plan that has been due for longest, if there is one that can be started: one a turn."""
    work, now = walk.work, walk.work.event.at
    due = [plan for plan in work.session.plans if plan.at <= now and _means_something(work, plan)]
    if not due:
        return
    plan = min(due, key=lambda plan: plan.at)
    work.session.plans = tuple(other for other in work.session.plans if other is not plan)
    _plan_next(work, plan)
    _start(walk, plan, "its time has come")


def take_start(walk: "Walk", event: StartRequested) -> None:
    """A program or an operator starts a flow: at once, or as `busy` says. What is wrong with it is a failure."""
    work = walk.work
    if work.session.frame is not None and work.session.agent is None:
        meet_edit(walk)
    work.trace.rule = f"start of {event.flow} by {event.by}"
    plan = Plan(event.id, event.flow, event.at, event.data, event.busy)
    work.failure = _objection(work, plan)
    if work.failure is not None:
        return
    if _means_something(work, plan):
        _start(walk, plan, f"by {event.by}")
        return
    try:
        _keep(work, (*work.session.plans, plan))
        work.trace.rule = f"start of {event.flow} by {event.by}: waits"
    except StepFailed as failed:
        work.failure = str(failed)


def _start(walk: "Walk", plan: Plan, why: str) -> None:
    """Start a plan's flow now, or leave it out: the contact is busy, or an edit has taken the flow away."""
    work = walk.work
    if not _can_start(work, plan):
        work.trace.rule = f"no start of {plan.flow}: the contact is busy"
        return
    if not _is_there(work, plan):
        work.trace.rule = "nothing to start"
        work.trace.notes.append(f"{plan.name}: {plan.flow} is gone")
        return
    work.trace.rule = f"start of {plan.flow}: {why}"
    try:
        inputs = _fitting(work, plan)
    except Mismatch as mismatch:
        work.failure = f"{plan.flow} was not started: {mismatch}"
        return
    if work.session.frame is None:
        walk.open(f"/{plan.flow}", inputs)
    else:
        interrupt(walk, plan.flow, inputs)


def _means_something(work: Work, plan: Plan) -> bool:
    """Whether something happens to a plan that is due: it starts, or it is left out."""
    return plan.busy == "skip" or _can_start(work, plan)


def _can_start(work: Work, plan: Plan) -> bool:
    """Nobody who talks to a person, or whose answer is being worked out, is cut in on."""
    session, frame = work.session, work.session.frame
    if session.agent is not None:
        return False
    if frame is None:
        return True
    free = frame.awaits is None and not work.step.kind.deaf and len(session.frames) < MOST_FRAMES
    return plan.busy == "interrupt" and free


def _plan_next(work: Work, plan: Plan) -> None:
    """Plan the next time of what comes again: counted from now, so that nothing piles up while it waits."""
    if plan.every is None:
        return
    at = next_after(plan.every, work.now)
    if plan.until is None or at < plan.until:
        work.session.plans = (*work.session.plans, replace(plan, at=at))


def _is_there(work: Work, plan: Plan) -> bool:
    name, _, step = plan.flow.partition("/")
    flow = work.library.flows.get(name)
    return flow is not None and (not step or step in flow.steps)


def _objection(work: Work, plan: Plan) -> str | None:
    """What is wrong with a start that a program asks for."""
    name = plan.flow.partition("/")[0]
    flows = work.library.flows
    if not _is_there(work, plan):
        return f'there is no flow "{plan.flow}" to start: {did_you_mean(name, flows, "`bot check` reads the flows")}'
    known = flows[name].variables
    for unknown in plan.inputs.keys() - known.keys():
        fix = did_you_mean(unknown, known, f"declare it under vars of flow {name}")
        return f'{plan.flow} was not started: no variable "{unknown}": {fix}'
    try:
        _fitting(work, plan)
    except Mismatch as mismatch:
        return f"{plan.flow} was not started: {mismatch}"
    return None


def _fitting(work: Work, plan: Plan) -> Mapping[str, Any]:
    """The inputs as values of the flow's variables; those that an edit took away are left out. Raises `Mismatch`."""
    variables = work.library.flows[plan.flow.partition("/")[0]].variables
    inputs = {}
    for name, value in plan.inputs.items():
        if name in variables:
            try:
                inputs[name] = variables[name].coerce(value, work.now)
            except Mismatch as mismatch:
                raise Mismatch(f"{name}: {mismatch}") from mismatch
    return inputs


def _keep(work: Work, plans: tuple[Plan, ...]) -> None:
    """Keep plans. Raises `StepFailed` for more than one contact may have."""
    if len(plans) > MOST_PLANS:
        raise StepFailed("failed", f"more than {MOST_PLANS} flows are scheduled for one contact")
    work.session.plans = plans
