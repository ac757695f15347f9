"""Flows that start by themselves, at a time or because a program asks, and signals. The session keeps them as plans.

`bot.engine.timers` and `bot.engine.outside_events` carry them out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any

from bot.core.session import CUTS_IN, Frame, Plan, first_of_conversation
from bot.engine.frame_stack import MOST_FRAMES
from bot.engine.turn_context import FAILURES, TurnContext
from bot.language.expressions.templates import Template
from bot.language.flow.library import Library
from bot.language.source.problems import did_you_mean
from bot.language.source.wall_clock import next_after
from bot.language.steps.schedule import name_in, no_later
from bot.language.steps.step_facts import StepFailed
from bot.language.steps.step_options import StepOptions
from bot.language.steps.transition import Signals
from bot.language.types.type_registry import TypeMismatch, Variable

MOST_PLANS = 100  # for one contact
MOST_KEPT = 20  # signals, for one contact
MOST_DUE = 100  # that come due for one contact within an hour, without a word from them


class NoSuchFlow(StepFailed):
    """A program asks for a flow, a step of one, or a signal that is not there."""


# -- plans of steps and transitions -------------------------------------------------------------------


def arrange(turn: TurnContext, options: StepOptions) -> None:
    """Carry out a step's `cancel` and then its `schedule`: in full, or not at all if it raises a `Failure`."""
    scope = turn.scope()
    plans = _without(turn, options.cancel, scope)
    for schedule in options.schedule:
        plan = schedule.plan(scope, turn.now)
        plans.pop(name_in(schedule.name, scope), None)
        if plan is None:
            turn.trace.notes.append(f"{schedule.target.text} is not scheduled: its time has passed")
        else:
            plans[plan.name] = replace(plan, busy=turn.library.busy_policy(plan.flow, plan.busy))
    keep_plans(turn, tuple(plans.values()))


def cancel(turn: TurnContext, names: Sequence[Template], scope: Mapping[str, Any]) -> None:
    """Carry out a transition's `cancel`. Raises a `Failure`."""
    turn.session.plans = tuple(_without(turn, names, scope).values())


def keep_plans(turn: TurnContext, plans: tuple[Plan, ...]) -> None:
    """Keep plans. Raises `StepFailed` for more than `MOST_PLANS`."""
    if len(plans) > MOST_PLANS:
        raise StepFailed("failed", f"more than {MOST_PLANS} flows are scheduled for one contact")
    turn.session.plans = plans


def _without(turn: TurnContext, names: Sequence[Template], scope: Mapping[str, Any]) -> dict[str, Plan]:
    """The contact's plans by their names, without these."""
    gone = {name_in(name, scope) for name in names}
    return {plan.name: plan for plan in turn.session.plans if plan.name not in gone}


# -- when a plan's time comes -------------------------------------------------------------------------


def next_plan_at(turn: TurnContext) -> datetime | None:
    """The time at which the next plan starts or is left out. The other plans wait until the contact is free."""
    times = (_comes_at(turn, plan) for plan in turn.session.plans)
    return min((time for time in times if time is not None), default=None)


def _comes_at(turn: TurnContext, plan: Plan) -> datetime | None:
    """The time at which a plan starts or is left out; None while it waits for something else."""
    if not is_decided(turn, plan):
        return None
    heard = is_kept(plan) and any(heard_at(turn, frame, plan) for frame in turn.session.frames)
    return plan.at - plan.after if heard and plan.after is not None else plan.at


def is_kept(plan: Plan) -> bool:
    """True for a signal that came before a step had it, and is kept for one."""
    return plan.signal is not None and plan.after is not None


def pop_next_due(turn: TurnContext) -> Plan | None:
    """Take the plan that has been due for longest out of the session, if one can be started; and plan its next time."""
    now = turn.event.at
    times = ((_comes_at(turn, plan), plan) for plan in turn.session.plans)
    due = [(at, plan) for at, plan in times if at is not None and at <= now]
    if not due:
        return None
    plan = min(due, key=itemgetter(0))[1]
    turn.session.plans = tuple(other for other in turn.session.plans if other is not plan)
    if plan.every is not None:  # counted from now, so that nothing piles up while it waits
        at = next_after(plan.every, turn.now)
        if plan.until is None or at < plan.until:
            turn.session.plans = (*turn.session.plans, replace(plan, at=at))
    return plan


def count_due(turn: TurnContext, plan: Plan) -> None:
    """Count a start that came due without a word from the contact, so that no flow schedules itself without end.

    Raises `StepFailed` for more than `MOST_DUE` within an hour.
    """
    session, now = turn.session, turn.event.at
    if session.due_since is None or not session.due_count or now >= session.due_since + timedelta(hours=1):
        session.due_count, session.due_since = 0, now
    session.due_count += 1
    if session.due_count > MOST_DUE:
        what = f"{MOST_DUE} scheduled flows have come due for this contact within an hour, and no word from them"
        raise StepFailed("failed", f"{plan.flow} was not started: {what}: look for a flow that schedules itself")


def is_decided(turn: TurnContext, plan: Plan) -> bool:
    """True if a plan that is due starts or is left out now. Otherwise it waits."""
    if plan.signal is not None:
        return can_be_heard(turn, plan)
    return plan.busy == "skip" or can_start(turn, plan)


def can_be_heard(turn: TurnContext, plan: Plan) -> bool:
    """True if a signal is heard now, or never will be.

    Otherwise it waits: a call has not ended, a voice note is being transcribed, an agent has the conversation, or the
    flow that it is for was interrupted.
    """
    session = turn.session
    occupied = session.voice_note is not None or (session.frame is not None and session.frame.is_occupied)
    if session.agent is not None or occupied:
        return False
    depths = [depth for depth, frame in enumerate(session.frames) if heard_at(turn, frame, plan)]
    return not depths or depths[-1] >= first_of_conversation(session.frames)


def heard_at(turn: TurnContext, frame: Frame, plan: Plan) -> Signals:
    """The transitions of a frame's step for a signal, whether or not their conditions hold; empty if it has none."""
    flow = turn.library.flows.get(frame.flow)
    step = None if flow is None else flow.steps.get(frame.step)
    if step is None or plan.first_visit not in (None, frame.first_visit):
        return {}
    return {name: heard for name, heard in step.signals.items() if name == plan.signal}


def can_start(turn: TurnContext, plan: Plan) -> bool:
    """True if a plan's flow can start now.

    A contact who talks to a person, whose call has not ended, or whose voice note is being transcribed, is not
    interrupted.
    """
    session, frame = turn.session, turn.session.frame
    if session.agent is not None or session.voice_note is not None:
        return False
    if frame is None:
        return True
    if plan.busy == "replace":
        return not turn.step.facts.ignores_messages
    free = not frame.is_occupied and not turn.step.facts.ignores_messages and len(session.frames) < MOST_FRAMES
    return plan.busy in CUTS_IN and free


def at_no_later(plan: Plan, now: datetime) -> Plan:
    """The plan, starting no later than its wait allows from now on: the clock may have been set back."""
    return plan if plan.after is None else replace(plan, at=no_later(plan.at, now, plan.after))


# -- signals ------------------------------------------------------------------------------------------


def signal_data(
    library: Library, name: str, data: Mapping[str, Any], now: datetime | None, by_address: bool
) -> dict[str, Any]:
    """A signal's data as the bot declares them; missing data are null. Raises a `Failure`.

    ``by_address``: sent to an address that a flow made. A service may send more there than the bot declares: the rest
    is left out.
    """
    declared = library.bot.signals.get(name)
    if declared is None:
        fix = did_you_mean(name, library.bot.signals, "declare it under `signals` in bot.yml")
        raise NoSuchFlow("failed", f'there is no signal "{name}": {fix}')
    data, sent = _by_our_names(declared, data), [variable.sent_name for variable in declared.values()]
    for unknown in () if by_address else data.keys() - declared.keys():
        fix = did_you_mean(unknown, sent, f"it has {', '.join(sent) or 'none'}")
        raise StepFailed("failed", f'signal "{name}" has no "{unknown}": {fix}')
    missing = [each.sent_name for field, each in declared.items() if each.required and data.get(field) is None]
    if missing:
        raise StepFailed("failed", f'signal "{name}" needs {", ".join(missing)}')
    values = {}
    for field, variable in declared.items():
        try:
            values[field] = variable.coerce(data[field], now) if field in data else variable.value
        except TypeMismatch as mismatch:
            raise TypeMismatch(f'signal "{name}": {field}: {mismatch}') from mismatch
    return values


def _by_our_names(declared: Mapping[str, Variable], data: Mapping[str, Any]) -> Mapping[str, Any]:
    """A program's data by the names of the variables. A value that is given by both of its names keeps them."""
    ours = {each.sent_as: name for name, each in declared.items() if each.sent_as and name not in data}
    return {ours.get(name, name): value for name, value in data.items()} if ours else data


def signal_objections(library: Library, name: str, data: Mapping[str, Any], by_address: bool) -> dict[str, str]:
    """The objections to a signal, in words. The key is ``signal`` if there is no signal of this name, else ``data``."""
    return _objections("signal", lambda: signal_data(library, name, data, None, by_address))


def signal_fields(library: Library, name: str) -> list[str]:
    """The names of a signal's data as programs send them."""
    return [variable.sent_name for variable in library.bot.signals.get(name, {}).values()]


# -- the inputs of a plan's flow ----------------------------------------------------------------------


def objections(library: Library, where: str, data: Mapping[str, Any]) -> dict[str, str]:
    """The objections to a program's request to start ``flow`` or ``flow/step``, in words.

    The key is ``flow`` if there is no flow of this name, else ``data``.
    """
    return _objections("flow", lambda: requested_inputs(library, where, data, None))


def _objections(what: str, read: Callable[[], object]) -> dict[str, str]:
    try:
        read()
    except NoSuchFlow as unknown:
        return {what: str(unknown)}
    except FAILURES as failed:
        return {"data": str(failed)}
    return {}


def requested_inputs(library: Library, where: str, data: Mapping[str, Any], now: datetime | None) -> Mapping[str, Any]:
    """The inputs of a start that a program asks for, as values of the flow's variables. Raises a `Failure`."""
    name, flows = where.partition("/")[0], library.flows
    if not _has(library, where):
        fix = did_you_mean(name, flows, "`bot check` reads the flows")
        raise NoSuchFlow("failed", f'there is no flow "{where}" to start: {fix}')
    known = flows[name].variables
    data = _by_our_names(known, data)
    for unknown in data.keys() - known.keys():
        fix = did_you_mean(
            unknown, [each.sent_name for each in known.values()], f"declare it under vars of flow {name}"
        )
        raise StepFailed("failed", f'{where} was not started: no variable "{unknown}": {fix}')
    missing = [known[needed].sent_name for needed in flows[name].required if data.get(needed) is None]
    if missing:
        raise StepFailed("failed", f"{where} was not started: it needs {', '.join(missing)}")
    return fitting_inputs(library, where, data, now)


def fitting_inputs(library: Library, where: str, data: Mapping[str, Any], now: datetime | None) -> Mapping[str, Any]:
    """The data as values of the flow's variables; those that an edit took away are left out. Raises `TypeMismatch`."""
    variables = library.flows[where.partition("/")[0]].variables
    inputs = {}
    for name, value in data.items():
        if name in variables:
            try:
                inputs[name] = variables[name].coerce(value, now)
            except TypeMismatch as mismatch:
                raise TypeMismatch(f"{where} was not started: {name}: {mismatch}") from mismatch
    return inputs


def is_there(library: Library, plan: Plan) -> bool:
    """True if there is still the flow, and the step, that a plan starts; or its signal."""
    if plan.signal is not None:
        return plan.signal in library.bot.signals
    return _has(library, plan.flow)


def _has(library: Library, where: str) -> bool:
    name, _, step = where.partition("/")
    flow = library.flows.get(name)
    return flow is not None and (not step or step in flow.steps)
