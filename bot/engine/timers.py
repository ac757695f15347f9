"""Time: reminders, time-outs, waits and plans. Only the active frame's clock runs (docs/language/time.md)."""

from datetime import datetime

from bot.core.session import Frame
from bot.engine import scheduled_flows
from bot.engine.executor import Executor
from bot.engine.turn_context import TurnContext
from bot.engine.words import note_left
from bot.flow.definition import Step
from bot.steps.points_in_time import no_later


def wake_at(work: TurnContext) -> datetime | None:
    """When time will next mean something: to the active step, or to a flow that is to start."""
    times = (scheduled_flows.wakes_at(work), _step_wakes_at(work))
    return min((time for time in times if time is not None), default=None)


def take_time(walk: Executor) -> None:
    """Do what has been due for longest; the active step's before the flow that is to start at the same time."""
    work = walk.work
    at_step, planned = _step_wakes_at(work), scheduled_flows.wakes_at(work)
    work.trace.rule = "nothing was due"
    if at_step is not None and at_step <= min(planned or at_step, work.event.at):
        _take_step_time(walk)
    else:
        scheduled_flows.take_due(walk)


def keep_to_the_clock(work: TurnContext) -> None:
    """Let nothing that has happened lie ahead of the event, and no wait be longer than it was declared.

    Where it is so, the clock was set back since. A day and an hour that somebody has named stay as they are.
    """
    session, now = work.session, work.event.at
    if session.last_inbound is not None:
        session.last_inbound = min(session.last_inbound, now)
    if session.due_since is not None:
        session.due_since = min(session.due_since, now)
    session.plans = tuple(scheduled_flows.kept_to_the_clock(plan, work.now) for plan in session.plans)
    for frame in session.frames:
        frame.entered_at, frame.silent_since = min(frame.entered_at, now), min(frame.silent_since, now)
        if "until" in frame.step_state and "for" in frame.step_state:
            frame.step_state = {
                **frame.step_state,
                "until": no_later(frame.step_state["until"], work.now, frame.step_state["for"]),
            }


def _step_wakes_at(work: TurnContext) -> datetime | None:
    frame = work.session.frame
    if frame is None or frame.awaited_effect is not None or work.session.agent is not None:
        return None
    step = work.step
    times = (_reminder_at(work, step), _timeout_at(frame, step), step.kind.wakes_at(frame.step_state))
    return min((time for time in times if time is not None), default=None)


def _take_step_time(walk: Executor) -> None:
    """A reminder wins a tie with the time-out, which counts from it, unless it is fixed."""
    work, frame, now = walk.work, walk.work.frame, walk.work.event.at
    over, reminder = work.step.kind.wakes_at(frame.step_state), _reminder_at(work, work.step)
    if over is not None and over <= now:
        result = walk.ask(lambda context: work.step.kind.enter(context))
        frame.step_state = {}  # a wait that leads to `again` begins anew
        work.trace.rule = "the time of the wait has come"
        if result is not None:
            walk.take(result)
        return
    if reminder is not None and reminder <= now:
        visit = frame.visit
        frame.reminders += 1
        frame.silent_since = now
        work.trace.rule = f"reminder {frame.reminders}"
        walk.follow("remind")
        if work.session.frame is not frame or frame.visit != visit:
            return
    timeout = _timeout_at(frame, work.step)
    if timeout is not None and timeout <= now:
        work.trace.rule = "time-out"
        frame.entered_at = frame.silent_since = now  # one that leads to `again` counts from here, fixed or not
        note_left(work, work.step.transitions["timeout"].target)
        walk.follow("timeout", expired=True)


def _reminder_at(work: TurnContext, step: Step) -> datetime | None:
    frame, remind = work.frame, step.defaults.remind if step.kind.waits else None
    if work.session.opted_out or remind is None or remind.after is None or frame.reminders >= (remind.most or 1):
        return None
    return frame.silent_since + remind.after


def _timeout_at(frame: Frame, step: Step) -> datetime | None:
    timeout = step.defaults.timeout if step.kind.waits else step.options.defaults.timeout
    if timeout is None or timeout.after is None:
        return None
    return (frame.entered_at if timeout.fixed else frame.silent_since) + timeout.after
