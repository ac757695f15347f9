"""The end of a flow, and the flow below that continues.

An edit may have changed or removed the step at which that flow waits.
"""

from dataclasses import replace

from bot.core.events import TimeReached
from bot.core.session import Draft, Frame, Question, UnansweredQuestion, first_of_conversation
from bot.core.waits import ForContact, ForEffect, ForTime
from bot.engine.entering import ask, count_entry, enter, put_again
from bot.engine.frame_stack import (
    arrive,
    change_flow,
    end_all,
    first_entry,
    is_too_late,
    note_former_name,
    pop_frame,
    remove_step_tags,
    switch_flow,
)
from bot.engine.migration import StepChange, edited_step, name_now, target_when_gone
from bot.engine.step_actions import carry_out, note_message
from bot.engine.turn_context import TurnContext, send
from bot.language.source.languages import wording
from bot.language.steps import yes_no_question
from bot.language.steps.draft_step import MOST_DRAFTS
from bot.language.steps.step_kind import FlowEnded, Redirect, Reply, SetAside, StepResult
from bot.language.steps.transition import END


def end_flow(turn: TurnContext, *, expired: bool, failed: bool = False) -> StepResult | None:
    """End the active flow. Its caller continues by `then`, `expired` or `errors`. An interrupted flow continues,
    unless this one has expired; with `wait` it continues in any case.
    """
    ended, turn.expired = pop_frame(turn), expired
    if turn.session.frame is not None and not turn.session.frame.visit:
        ended = pop_frame(turn)  # a flow that has not begun: the contact did not say which draft is to be continued
    return _go_on_below(turn, ended, expired, failed)


def set_aside(turn: TurnContext, result: SetAside) -> StepResult | None:
    """Make a draft of the conversation, which ends. Without a title, it has the name of the conversation's flow.

    The time of the contact's oldest draft is over if there are too many.
    """
    session, now = turn.session, turn.event.at
    begun = first_of_conversation(session.frames)
    draft = Draft(result.title, result.until, result.lasts, tuple(replace(each) for each in session.frames[begun:]))
    draft = draft if draft.title else replace(draft, title=draft.flow.replace("_", " ").capitalize())
    turn.trace.notes.append(f'{turn.where}: set aside as "{draft.title}"')
    left = [each for each in session.drafts if each.until > now]
    too_many = left[: max(0, len(left) + 1 - MOST_DRAFTS)]
    others = (replace(each, until=now) if each in too_many else each for each in session.drafts)
    session.drafts = (*others, draft)
    while len(session.frames) > begun:
        ended = pop_frame(turn)
    return _go_on_below(turn, ended, isinstance(turn.event, TimeReached), failed=False)


def _go_on_below(turn: TurnContext, ended: Frame, expired: bool, failed: bool) -> StepResult | None:
    """Continue the flow below one that has ended."""
    if ended.interrupts and not ended.notice:
        if not expired or _waits_on(turn):
            return return_to_interrupted(turn)
        end_all(turn)
    if turn.session.frame is None:
        return None
    change, result = migrate(turn)
    if change.moves or ended.notice:
        return result
    result = ask(
        turn, turn.step.kind.resume, FlowEnded(expired, turn.library.values_of(ended, turn.session, turn.now), failed)
    )
    if result is not None:
        turn.trace.rule = turn.trace.rule or "returned"
    return result


def return_to_question(turn: TurnContext, unanswered: UnansweredQuestion) -> StepResult | None:
    """Return to a question, or another step that waited, that was left without an answer.

    If an edit has removed it, the flow ends.
    """
    frame = turn.frame
    flow, _, name = unanswered.where.partition("/")
    known = turn.library.flows.get(flow)
    now = None if known is None else name_now(known, name, frame.former_step_names)
    if known is None or now is None:
        turn.trace.notes.append(f"{unanswered.where} is gone")
        return _leave_gone(turn)
    if frame.flow != flow:
        frame.came_from = frame.flow
        change_flow(turn, flow)
    count_entry(turn, known.steps[now])
    arrive(turn, known.steps[now])
    frame.question = Question(unanswered.retries, entered_at=unanswered.entered_at)
    frame.step_state, frame.waits = dict(unanswered.step_state), unanswered.waits
    if is_too_late(turn):
        frame.waits = ForContact()
        return None
    return ask(turn, turn.step.kind.enter)


def return_to_interrupted(turn: TurnContext, *, agreed: bool = False) -> StepResult | None:
    """Continue an interrupted flow: its times begin again, apart from a fixed time-out, and its question is asked.

    With `ask`, the contact is asked first whether to continue, unless a call is awaited or a wait is over. With `wait`,
    the question is not asked, unless the contact has not seen it or asks for it.
    """
    if turn.session.frame is None:
        return None
    change, result = migrate(turn)
    if change.moves:
        return result
    frame = turn.frame
    frame.question = replace(frame.question, entered_at=first_entry(frame))
    frame.entered_at = frame.silent_since = turn.event.at
    if is_too_late(turn):
        return None
    unseen = frame.question.undelivered and turn.session.window_is_open(turn.event.at)
    if turn.flow.interrupted == "wait" and not (agreed or unseen):
        turn.trace.notes.append(f"{turn.where} waits on")
        return None
    over = isinstance(frame.waits, ForTime) and frame.waits.until <= turn.event.at
    goes_on = over or frame.awaited_effect is not None
    if turn.flow.interrupted != "ask" or frame.question.undelivered or agreed or goes_on:
        return put_again(turn)
    name = turn.flow.name.replace("_", " ")
    asked = send(turn, yes_no_question.question(turn.step_context(), wording(turn.scope(), "go_on", flow=name)))
    note_message(frame, asked)
    frame.question = replace(frame.question, to_continue=True)
    return None


def _waits_on(turn: TurnContext) -> bool:
    """True if the active flow waits on when a flow that interrupted it ends."""
    frame = turn.session.frame
    flow = None if frame is None else turn.library.flows.get(frame.flow)
    return flow is not None and flow.interrupted == "wait"


def offer_again(turn: TurnContext, result: Redirect) -> None:
    """End the active flow, which the bot has made, and leave what it was about to `bot.engine.advance`."""
    if pop_frame(turn).visit == 1:
        turn.session.visit = 0  # the contact has been in no flow of the bot's yet
    if result.draft is None and turn.session.frame is not None and not turn.session.frame.visit:
        pop_frame(turn)
    turn.offered = result


def migrate(turn: TurnContext) -> tuple[StepChange, StepResult | None]:
    """The effect of an edit on the active step; if the contact moves, what the next step decides."""
    frame = turn.frame
    edited = edited_step(turn.library, frame)
    if edited.change is StepChange.GONE:
        turn.trace.notes.append(f"{turn.where} is gone")
        return edited.change, _leave_gone(turn)
    if frame.step != edited.step:
        frame.step = edited.step
        note_former_name(turn, turn.step)
    if edited.change is StepChange.NONE:
        return edited.change, None
    turn.trace.notes.append(f"{turn.where} was edited")
    if edited.change is StepChange.ANEW:
        remove_step_tags(turn, (frame,))
        count_entry(turn, turn.step)
        arrive(turn, turn.step)
        return edited.change, ask(turn, turn.step.kind.enter)
    frame.fingerprint = turn.step.fingerprint
    frame.question = replace(frame.question, undelivered=edited.change is StepChange.ASKED)
    return edited.change, None


def _leave_gone(turn: TurnContext) -> StepResult | None:
    """Go to the target of `gone`. Without a target, the flow has expired.

    If the step asked a model about a message, the message is offered as if no model had been asked.
    """
    waits = turn.frame.waits
    if isinstance(waits, ForEffect) and waits.about is not None:
        offer_again(turn, Redirect("other", Reply(text=waits.about.text), found=waits.about.found))
        return None
    target, gone = target_when_gone(turn.library, turn.frame), turn.defaults.gone
    remove_step_tags(turn, (turn.frame,))
    if gone is not None:
        carry_out(turn, gone)
    if target is None or target == END:
        return end_flow(turn, expired=True)
    if target.startswith("/"):
        return enter(turn, switch_flow(turn, target, alone=gone is turn.library.bot.defaults.gone))
    return enter(turn, target)
