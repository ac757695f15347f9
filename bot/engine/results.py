"""The ends of what a step waited for: calls, sends, hand-overs."""

from bot.core.events import CallEnded, CallProgressed, HandoffClosed, SendEnded
from bot.engine.edits import meet_edit
from bot.engine.routing import start_by_event
from bot.engine.walk import Walk

UNSEEN = ("replaced", "covered", "over_share")


def take_call(walk: Walk, event: CallEnded) -> None:
    """A handler has ended; a result that nobody waits for any more is dropped."""
    frame = walk.work.session.frame
    if frame is None or frame.awaits != event.effect:
        walk.work.trace.rule = "late result: dropped"
        return
    _go_on(walk, event, f"result: {event.outcome}")


def take_send(walk: Walk, event: SendEnded) -> None:
    """A message was sent as somebody asked to know, or did not go as planned."""
    work, frame = walk.work, walk.work.session.frame
    work.trace.rule = f"message {event.outcome}"
    if frame is None:
        return
    unseen = event.outcome in UNSEEN
    if event.effect == frame.awaits or (event.effect == frame.hold.get("question") and not unseen):
        _go_on(walk, event, work.trace.rule)
    elif unseen and work.session.agent is None:
        # the contact saw a template, or nothing, and what it answers is not this: the question comes again
        frame.unseen = frame.unseen or (work.step.kind.asks and work.step.kind.needs_window)


def take_progress(walk: Walk, event: CallProgressed) -> None:
    """A paragraph of a model's answer; one that nobody waits for any more is dropped."""
    frame = walk.work.session.frame
    if frame is None or frame.awaits != event.effect or walk.work.session.agent is not None:
        walk.work.trace.rule = "late paragraph: dropped"
        return
    walk.resume(event, "paragraph")


def take_close(walk: Walk, event: HandoffClosed) -> None:
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
        frame.unseen = frame.unseen or work.step.kind.asks
        if frame.held is not None:
            _go_on(walk, frame.held, "kept from before")


def _go_on(walk: Walk, event: CallEnded | SendEnded, rule: str) -> None:
    """Let the active step go on with what it waited for; while an agent has the conversation, keep that."""
    frame = walk.work.frame
    if walk.work.session.agent is not None:
        frame.held = event
        walk.work.trace.rule = f"{rule}: kept until the conversation is resolved"
        return
    frame.awaits = frame.held = None
    failed = isinstance(event, SendEnded) and event.outcome == "failed"
    frame.unseen = frame.unseen or (failed and walk.work.step.kind.asks)
    walk.resume(event, rule)
