"""The ends of what a step waited for: calls, sends, hand-overs."""

from bot.core.effects import Send
from bot.core.events import UNSENT, CallEnded, CallProgressed, HandoffClosed, SendEnded
from bot.core.messages import LinkButton, TextMessage, in_plain_text
from bot.core.session import Frame
from bot.engine.executor import Executor
from bot.engine.migration import meet_edit
from bot.engine.routing import start_by_event
from bot.engine.turn_context import TurnContext
from bot.steps.kind import StepFailed

UNSEEN = ("replaced", "covered", "over_share")
MOST_REFUSED = 3
"""How often a refused question leads on by `errors` until the contact writes: they may lead to the next refused one."""


def take_call(walk: Executor, event: CallEnded) -> None:
    """A handler has ended; a result that nobody waits for any more is dropped."""
    frame = walk.work.session.frame
    if frame is None or frame.awaited_effect != event.effect:
        walk.work.trace.rule = "late result: dropped"
        return
    _go_on(walk, event, f"result: {event.outcome}")


def take_send(walk: Executor, event: SendEnded) -> None:
    """A message was sent as somebody asked to know, or did not go as planned.

    What is refused is the active step's affair while it waits with that message; else only a link is sent as a text.
    """
    work, frame = walk.work, walk.work.session.frame
    work.trace.rule = f"message {event.outcome}"
    if frame is not None and (event.effect == frame.awaited_effect or _is_lost(event, frame)):
        _go_on(walk, event, work.trace.rule)
    elif work.session.agent is not None:
        return
    elif event.outcome == "refused" and isinstance(event.message, LinkButton) and not work.keeps_quiet:
        work.do(
            Send(TextMessage(in_plain_text(event.message)))
        )  # no template in its place: nobody is asked for an answer
        _note_plain_text(work)
    elif event.outcome in UNSEEN and frame is not None:
        # the contact saw a template, or nothing, and what it answers is not this: the question comes again
        frame.question_unseen = frame.question_unseen or (work.step.kind.asks and work.step.kind.needs_window)


def _is_lost(event: SendEnded, frame: Frame) -> bool:
    """Whether a message with which the active step waits did not reach the contact.

    A model that is still at work is waited for, whatever becomes of what it has said already.
    """
    sent = frame.step_state.get("sent", ())
    return (
        event.outcome in UNSENT
        and event.effect in sent
        and (frame.awaited_effect is None or frame.awaited_effect in sent)
    )


def take_progress(walk: Executor, event: CallProgressed) -> None:
    """A paragraph of a model's answer; one that nobody waits for any more is dropped."""
    frame = walk.work.session.frame
    if frame is None or frame.awaited_effect != event.effect or walk.work.session.agent is not None:
        walk.work.trace.rule = "late paragraph: dropped"
        return
    walk.resume(event, "paragraph")


def take_close(walk: Executor, event: HandoffClosed) -> None:
    """An agent resolved the conversation: the bot has it again."""
    work = walk.work
    work.trace.rule = "closed"
    had, work.session.agent = work.session.agent, None
    if had is not None and work.session.frame is not None and meet_edit(walk):
        return
    frame = work.session.frame
    if frame is None:
        start_by_event(walk)
    elif work.step.kind.deaf:
        walk.resume(event, "closed")
    elif had is not None:  # what was asked before lies far above what the agent wrote
        frame.entered_at = frame.silent_since = event.at
        frame.question_unseen = frame.question_unseen or work.step.kind.asks
        if frame.deferred_result is not None:
            _go_on(walk, frame.deferred_result, "kept from before")


def _go_on(walk: Executor, event: CallEnded | SendEnded, rule: str) -> None:
    """Let the active step go on with what it waited for; while an agent has the conversation, keep that."""
    frame = walk.work.frame
    if walk.work.session.agent is not None:
        frame.deferred_result = event
        walk.work.trace.rule = f"{rule}: kept until the conversation is resolved"
        return
    frame.awaited_effect = frame.deferred_result = None
    if not (isinstance(event, SendEnded) and event.outcome in UNSENT and _made_good(walk, event)):
        walk.resume(event, rule)


def _made_good(walk: Executor, event: SendEnded) -> bool:
    """A plain text in place of buttons, a list or a link; else the errors of a question. False: neither.

    A question that nobody has seen is put again when the contact writes: what they write is no answer to it.
    """
    work, frame, kind = walk.work, walk.work.frame, walk.work.step.kind
    if event.outcome == "refused" and _put_in_plain_text(walk, event):
        return True
    lost = event.outcome == "refused" or not kind.needs_window
    if kind.asks and lost and work.step.refusal is not None:
        if work.session.refusals < MOST_REFUSED:
            work.session.refusals += 1
            walk.fail(StepFailed("refused", event.detail))
            return True
        work.trace.notes.append(
            f"{work.where}: refused: {MOST_REFUSED + 1} times in a row, so it waits for the contact"
        )
    frame.question_unseen = frame.question_unseen or (kind.asks and event.outcome != "unknown")
    return False


def _put_in_plain_text(walk: Executor, event: SendEnded) -> bool:
    """Once: a plain text has nothing more to leave out."""
    work, frame = walk.work, walk.work.frame
    text = in_plain_text(event.message)
    if not text or event.message is None:
        return False
    message = event.message
    if frame.asks_to_continue:
        frame.step_state = {**frame.step_state, "sent": [work.send(TextMessage(text))]}
    elif (result := walk.ask(lambda context: work.step.kind.in_plain_text(context, message))) is not None:
        walk.take(result)
    _note_plain_text(work)
    return True


def _note_plain_text(work: TurnContext) -> None:
    work.in_plain_text = True
    work.trace.rule += ": it goes as a plain text"
