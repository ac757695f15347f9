"""Time: reminders, time-outs, waits and plans. Only the active frame's clock runs (docs/language/time.md)."""

from dataclasses import replace
from datetime import datetime, timedelta

from bot.core.events import ColleagueDecided
from bot.core.own_addresses import FILES_VALID
from bot.core.session import LONGEST_REST, Frame
from bot.core.waits import ForContact, ForTime
from bot.engine.drafts import expire_draft, next_draft
from bot.engine.entering import ask, refuse
from bot.engine.executor import Executor
from bot.engine.frame_stack import note_unanswered, timeout_at
from bot.engine.outside_events import on_silence_over
from bot.engine.scheduled_flows import at_no_later, count_due, fitting_inputs, is_there, next_plan_at, pop_next_due
from bot.engine.signals import deliver_signal
from bot.engine.starting_flows import start_plan
from bot.engine.step_actions import stop_gathering
from bot.engine.team_questions import note_decision
from bot.engine.turn_context import FAILURES, TurnContext
from bot.engine.valid_replies import keep_late_reply
from bot.language.flow.definition import Step
from bot.language.steps.schedule import no_later
from bot.language.steps.step_options import LONGEST_GATHER
from bot.language.types.structured_types import MOST_FILES

MOST_GATHERED = 10  # texts, after which a step with `gather` waits for no further one


def wake_at(turn: TurnContext) -> datetime | None:
    """The time at which something is due next: for the active step, or a flow that starts later.

    Nothing is due during a rest: the contact may have written before it was due.
    """
    session = turn.session
    if session.rests_until is not None:
        return session.rests_until
    times = [_step_wakes_at(turn) if session.frames else None, session.silent_until]
    if session.plans:
        times.append(next_plan_at(turn))
    if session.drafts and (draft := next_draft(turn)) is not None:
        times.append(draft.until)
    if session.made_files:
        times += [made.until for made in session.made_files]
    return min([time for time in times if time is not None], default=None)


def on_time_reached(executor: Executor) -> None:
    """Carry out what has been due for longest: one thing in a turn. The active step comes before a flow that is due at
    the same time.
    """
    turn = executor.turn
    if turn.session.rests_until is not None:
        _end_rest(turn)
        return
    silent_until = turn.session.silent_until
    if silent_until is not None and silent_until <= turn.event.at:
        on_silence_over(executor)
        return
    at_step, planned, draft = _step_wakes_at(turn), next_plan_at(turn), next_draft(turn)
    turn.trace.rule = "nothing was due"
    if at_step is not None and at_step <= min(planned or at_step, turn.event.at):
        _on_step_time(executor)
    elif draft is not None and draft.until <= min(planned or draft.until, turn.event.at):
        expire_draft(executor, draft)
    else:
        _start_due_plan(executor)


def _end_rest(turn: TurnContext) -> None:
    """End the rest: the parked messages come next. Timers that are due have turns of their own after them."""
    session, now = turn.session, turn.event.at
    assert session.rests_until is not None
    if session.rests_until <= now:
        session.rests_until = None
        turn.trace.rule = "the contact's messages are taken again"
    else:
        turn.trace.rule = "nothing was due"


def clamp_to_now(turn: TurnContext) -> None:
    """Move times that are ahead of the event back to it, and shorten waits that are longer than declared: the clock
    was set back since.

    A day and an hour that a person has named do not change.
    """
    session, now = turn.session, turn.event.at
    if session.last_inbound is not None:
        session.last_inbound = min(session.last_inbound, now)
    if session.due_since is not None:
        session.due_since = min(session.due_since, now)
    if session.taken_at is not None:
        session.taken_at = min(session.taken_at, now)
    if session.rests_until is not None:
        session.rests_until = min(session.rests_until, now + LONGEST_REST)
    if session.silent_until is not None:
        session.silent_until = min(session.silent_until, now + (turn.library.bot.agents.silent or timedelta()))
    session.plans = tuple(at_no_later(plan, turn.now) for plan in session.plans)
    session.drafts = tuple(
        replace(draft, until=no_later(draft.until, turn.now, draft.lasts)) for draft in session.drafts
    )
    session.made_files = tuple(
        replace(made, until=no_later(made.until, turn.now, FILES_VALID)) if made.until is not None else made
        for made in session.made_files
    )
    session.team_questions = tuple(replace(each, asked_at=min(each.asked_at, now)) for each in session.team_questions)
    for frame in session.frames:
        frame.entered_at, frame.silent_since = min(frame.entered_at, now), min(frame.silent_since, now)
        if frame.question.entered_at is not None:
            frame.question = replace(frame.question, entered_at=min(frame.question.entered_at, now))
        match frame.waits:
            case ForContact(gathers_since=since) if since is not None:
                frame.waits = replace(frame.waits, gathers_since=min(since, now))
            case ForTime(until=until, lasts=lasts) if lasts is not None:
                frame.waits = replace(frame.waits, until=no_later(until, turn.now, lasts))


def _step_wakes_at(turn: TurnContext) -> datetime | None:
    frame = turn.session.frame
    if frame is None or turn.session.agent is not None:
        return None
    if frame.awaited_effect is not None:
        return _speaks_at(turn, frame)
    if turn.session.voice_note is not None:  # the contact has spoken
        return None
    step = turn.known_step
    if step is None or step.form != frame.form:  # an edit has led on, and this event has not: the next one does
        return turn.event.at
    since = frame.gathers_since
    if since is not None:
        return _gathered_at(frame, since, step)
    question = turn.session.question_of_step
    if question is not None and question.decision is None:
        return question.until  # the contact need not write meanwhile
    earliest = timeout_at(frame, step)
    for time in (_reminder_at(turn, step), _waits_until(frame)):
        if time is not None and (earliest is None or time < earliest):
            earliest = time
    return earliest


def _on_step_time(executor: Executor) -> None:
    """Carry out the end of a wait, a reminder or the time-out of the active step. If both are due, the reminder comes
    first, because the time-out counts from it, unless it is fixed.
    """
    turn, frame, now = executor.turn, executor.turn.frame, executor.turn.event.at
    if frame.awaited_effect is not None:
        turn.trace.rule = "the model is still thinking"
        executor.run(ask(turn, turn.step.kind.speak))
        return
    if frame.gathers_since is not None:  # what is parked comes next, as one message
        stop_gathering(frame)
        turn.trace.rule = "gathered: no more has followed"
        return
    question = turn.session.question_of_step
    if question is not None and question.decision is None:
        turn.trace.rule = "nobody of the team has decided"
        note_decision(turn, ColleagueDecided(turn.event.id, turn.event.contact, now, question.id, None))
        return
    over, reminder = _waits_until(frame), _reminder_at(turn, turn.step)
    if over is not None and over <= now:
        result = ask(turn, turn.step.kind.enter)
        frame.waits = None  # a wait that leads to `again` begins again
        turn.trace.rule = "the time of the wait has come"
        executor.run(result)
        return
    if reminder is not None and reminder <= now:
        visit = frame.visit
        frame.question = replace(frame.question, reminders=frame.question.reminders + 1)
        frame.silent_since = now
        turn.trace.rule = f"reminder {frame.question.reminders}"
        executor.follow("remind")
        if turn.session.frame is not frame or frame.visit != visit:
            return
    timeout = timeout_at(frame, turn.step)
    if timeout is not None and timeout <= now:
        turn.trace.rule = "time-out"
        frame.entered_at = frame.silent_since = now  # after `again` the time counts from here, fixed or not
        frame.question = replace(frame.question, entered_at=None)
        note_unanswered(turn, turn.step.transitions["timeout"].target)
        keep_late_reply(turn)
        executor.follow("timeout", expired=True)


def _speaks_at(turn: TurnContext, frame: Frame) -> datetime | None:
    """The time at which the active step speaks while it waits for the end of an effect, if it may then."""
    step, session = turn.known_step, turn.session
    if step is None or step.form != frame.form or session.opted_out:
        return None
    at = step.kind.speaks_at(frame.step_state)
    return at if at is not None and session.window_is_open(at) else None


def _start_due_plan(executor: Executor) -> None:
    """Start the plan that has been due for longest, if one can start; one plan in a turn.

    If an edit has removed its flow, the plan is skipped with a note. Inputs that no longer fit, and too many starts,
    are a failure.
    """
    turn = executor.turn
    plan = pop_next_due(turn)
    if plan is None:
        return
    if not is_there(turn.library, plan):
        turn.trace.rule = "nothing to start"
        turn.trace.notes.append(f"{plan.name}: {plan.signal or plan.flow} is gone")
        return
    if plan.signal is not None:
        deliver_signal(executor, plan)
        return
    try:
        count_due(turn, plan)
        inputs = fitting_inputs(turn.library, plan.flow, plan.inputs, turn.now)
    except FAILURES as failed:
        refuse(turn, failed)
    else:
        executor.run(start_plan(turn, plan, inputs, "its time has come"))


def _gathered_at(frame: Frame, since: datetime, step: Step) -> datetime:
    """The time at which the messages that a step gathers are taken: after a pause, or when there are too many.

    An album may be longer: a file that comes too late would be no answer to the next question.
    """
    files, paused = step.facts.gathers_files, frame.silent_since + (step.defaults.gather or timedelta())
    if frame.parked_messages >= (MOST_FILES if files else MOST_GATHERED):
        return frame.silent_since
    return paused if files else min(paused, since + LONGEST_GATHER)


def _waits_until(frame: Frame) -> datetime | None:
    return frame.waits.until if isinstance(frame.waits, ForTime) else None


def _reminder_at(turn: TurnContext, step: Step) -> datetime | None:
    frame, remind = turn.frame, step.defaults.remind
    if remind is None or remind.after is None or frame.question.reminders >= (remind.most or 1):
        return None
    if turn.session.opted_out or not step.facts.waits:
        return None
    return frame.silent_since + remind.after
