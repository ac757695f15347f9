"""The ends of what a step waited for: calls, sends, hand-overs."""

from bot.core.events import CallEnded, HandoffClosed, SendEnded
from bot.engine.walk import Walk

REPLACED = ("replaced", "covered")


def take_call(walk: Walk, event: CallEnded) -> None:
    """A handler has ended; a result that nobody waits for any more is dropped."""
    frame = walk.work.session.frame
    if frame is None or frame.awaits != event.effect:
        walk.work.trace.rule = "late result: dropped"
        return
    frame.awaits = None
    walk.resume(event, f"result: {event.outcome}")


def take_send(walk: Walk, event: SendEnded) -> None:
    """A message was sent as somebody asked to know, or did not go as planned."""
    work, frame = walk.work, walk.work.session.frame
    work.trace.rule = f"message {event.outcome}"
    if frame is None:
        return
    if event.outcome in REPLACED:
        # what the contact saw is a template, and what it answers is that: the question comes again
        frame.unseen = frame.unseen or (work.step.kind.waits and work.step.kind.needs_window)
    elif event.effect in (frame.awaits, frame.hold.get("question")):
        frame.awaits = None
        frame.unseen = frame.unseen or (event.outcome == "failed" and work.step.kind.waits)
        walk.resume(event, work.trace.rule)


def take_close(walk: Walk, event: HandoffClosed) -> None:
    """An agent resolved the conversation."""
    walk.work.trace.rule = "closed"
    if walk.work.session.frame is not None:
        walk.resume(event, "closed")
