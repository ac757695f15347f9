"""Signals: the step that waits for a signal hears it and is left by it; if no step does, it may start a flow."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from bot.core.session import HAS_OPTED_OUT, Frame, Plan, first_of_conversation
from bot.core.turn import UNHEARD
from bot.core.values import Record
from bot.engine.entering import refuse
from bot.engine.executor import Executor
from bot.engine.frame_stack import note_unanswered, remove_step_tags
from bot.engine.scheduled_flows import MOST_KEPT, fitting_inputs, heard_at, is_decided, is_kept, keep_plans
from bot.engine.starting_flows import start_plan, triggers
from bot.engine.step_actions import note_result
from bot.engine.turn_context import FAILURES, FlowBroken, TurnContext
from bot.language.expressions.template_failures import TemplateFailed
from bot.language.steps.step_facts import StepFailed
from bot.language.steps.step_kind import LeaveStep
from bot.language.steps.step_options import signal_outcomes


def deliver_signal(executor: Executor, signal: Plan) -> bool:
    """Let the step that waits for a signal hear it: the active step, else a step that runs the active flow.

    If no step hears it, it starts the flow whose `start` has it. If there is none, and no step has it, it is kept
    for as long as the bot declares; else the trace says so, and it returns False.
    """
    turn, frames = executor.turn, executor.turn.session.frames
    turn.trace.rule = f"signal {signal.signal}"
    known = {"event": Record("event", signal.inputs)}
    for depth in range(len(frames), first_of_conversation(frames), -1):
        turn.session.frames = frames[:depth]
        heard = _match_signal(turn, signal, known)
        if heard is not None:
            _follow_signal(executor, heard, frames[depth:])
            return True
    turn.session.frames = frames
    return _start_flow(executor, signal)


def _start_flow(executor: Executor, signal: Plan) -> bool:
    """Start the flow of a signal that no step hears; while the contact is busy, the flow's `busy` decides.

    Returns False if nothing takes the signal.
    """
    turn = executor.turn
    flow = triggers(turn).signals.get(signal.signal or "")
    if flow is None:
        return _keep(turn, signal)
    if turn.session.opted_out:
        turn.trace.rule = f"no start of {flow} by signal {signal.signal}: {HAS_OPTED_OUT}"
        return True
    given = {name: value for name, value in signal.inputs.items() if value is not None}
    plan = Plan(signal.name, flow, turn.event.at, busy=turn.library.busy_policy(flow, None), after=timedelta())
    try:
        plan = replace(plan, inputs=dict(fitting_inputs(turn.library, flow, given, turn.now)))
        if not is_decided(turn, plan):
            keep_plans(turn, (*turn.session.plans, plan))
            turn.trace.rule += f": start of {flow}: waits"
            return True
    except FAILURES as failed:
        refuse(turn, failed)
    else:
        executor.run(start_plan(turn, plan, plan.inputs, f"signal {signal.signal}"))
    return True


def _keep(turn: TurnContext, signal: Plan) -> bool:
    """Keep a signal for a step that has it, if the bot declares for how long, and no step has it now. Returns whether
    it is kept.
    """
    lasts = turn.library.bot.kept_signals.get(signal.signal or "")
    if is_kept(signal):
        turn.trace.rule += ": kept until now, and no step has taken it"
        return False
    if lasts is None or any(heard_at(turn, frame, signal) for frame in turn.session.frames):
        turn.trace.rule += f": {UNHEARD}"
        return False
    try:
        if sum(map(is_kept, turn.session.plans)) >= MOST_KEPT:
            raise StepFailed("failed", f"more than {MOST_KEPT} signals are kept for one contact")
        keep_plans(turn, (*turn.session.plans, replace(signal, at=turn.event.at + lasts, after=lasts)))
    except FAILURES as failed:
        refuse(turn, failed)
    else:
        turn.trace.rule += ": kept until a step has it"
    return True


def _match_signal(turn: TurnContext, signal: Plan, known: Mapping[str, Any]) -> LeaveStep | None:
    """The outcome of a signal at the active step: its first transition whose condition holds; None if none does."""
    seen: list[tuple[str, Any]] = []
    try:
        for outcome, heard in signal_outcomes(heard_at(turn, turn.frame, signal)):
            if heard.condition is not None:
                seen.append((heard.condition.explained, heard.condition.evaluate({**turn.scope(), **known})))
            if heard.condition is None or seen[-1][1]:
                return LeaveStep(outcome, known=known, conditions=tuple(seen))
    except TemplateFailed as failed:
        turn.trace.problem(f"{turn.where}: signals: {failed}")
        return None
    turn.trace.notes += [f"{turn.where}: not heard: {condition} is not true" for condition, _ in seen]
    return None


def _follow_signal(executor: Executor, result: LeaveStep, above: tuple[Frame, ...]) -> None:
    """Leave the active step by a signal. The flows ``above`` end, unless the step keeps waiting for them."""
    turn, frame, outcome = executor.turn, executor.turn.frame, result.outcome
    target = turn.flow.machine.follow(frame.step, outcome).target
    if target is not None:
        remove_step_tags(turn, above)
        note_unanswered(turn, target, digression=True)
    taken = note_result(turn, result)
    try:
        left = executor.leave(taken, result)
    except FlowBroken:
        turn.session.frames += above  # they end as well, with their steps' tags
        raise
    if target is None and taken.outcome == outcome:
        turn.session.frames += above
    else:
        remove_step_tags(turn, above)
        executor.run(left)
