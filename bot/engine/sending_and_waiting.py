"""The parts of a step's result that lead nowhere: its notes, its messages, and what the step waits for."""

from bot.core.turn import StepTaken
from bot.engine.contact_values import add_tag
from bot.engine.turn_context import TurnContext
from bot.engine.turn_effects import add_effect, call_hooks, let_happen, send
from bot.engine.valid_replies import keep_replies
from bot.language.steps.step_kind import HandOver, KeepWaiting, LeaveStep, WaitForEffect, WaitForSend, WaitHere, Waits


def note_result(turn: TurnContext, result: LeaveStep | Waits) -> StepTaken:
    """Note what the active step decided, in the trace; and what it passes on to the next step."""
    taken = turn.note_step()
    if result.notes:
        turn.trace.notes += [f"{turn.where}: {note}" for note in result.notes]
    if isinstance(result, LeaveStep):
        taken.conditions = list(result.conditions)
        turn.pending_input = result.pending_input or turn.pending_input
    return taken


def send_messages(turn: TurnContext, result: LeaveStep | Waits) -> list[str]:
    """Send the messages of a result. Returns the names of their effects."""
    refs = []
    for message in result.messages:
        ref = send(turn, message, report=isinstance(result, WaitForSend))
        if ref is not None:
            refs.append(ref)
        turn.frame.silent_since = turn.event.at
    for event in result.happens if isinstance(result, LeaveStep) else ():
        let_happen(turn, event)
    return refs


def wait(turn: TurnContext, result: Waits, sent: list[str]) -> None:
    """Wait at the active step: for the contact, for the end of an effect, or for a flow that `Executor.run` opens.

    ``sent`` are the step's messages: if one of them is refused, the step is resumed.
    """
    frame = turn.frame
    if isinstance(result, WaitForEffect):
        sent = [add_effect(turn, result.effect)]
    if turn.step.kind.waits and not isinstance(result, WaitForSend):
        for each in turn.session.frames:
            each.notice = False  # the contact is asked something: the question below is far above then
    if not isinstance(result, KeepWaiting):
        awaits = isinstance(result, (WaitForEffect, WaitForSend))
        frame.awaited_effect = sent[-1] if awaits and sent else None
        frame.deferred_result = None
        frame.accepts_messages = isinstance(result, WaitForEffect) and result.listens
        frame.gathers_since = None if frame.awaited_effect is not None else frame.gathers_since
    frame.step_state = dict(result.step_state)
    frame.question_undelivered = isinstance(result, WaitHere) and result.undelivered
    frame.asks_to_continue = False
    if sent:
        frame.step_state["sent"] = sent
    match result:
        case WaitHere(valid=valid) if valid is not None:
            keep_replies(turn, valid)
        case HandOver(tag=tag, event=event, values=values):
            add_tag(turn, tag)
            frame.step_state["tag"] = tag
            call_hooks(turn, event, frame.flow, step=frame.step, **values)
