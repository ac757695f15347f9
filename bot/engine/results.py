"""The ends of what a step waited for: calls, sends, hand-overs."""

from bot.core.events import CallEnded, HandoffClosed, SendEnded
from bot.engine.walk import Walk


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
    frame = walk.work.session.frame
    walk.work.trace.rule = f"message {event.outcome}"
    if frame is None or event.effect not in (frame.awaits, frame.hold.get("question")):
        return
    frame.awaits = None
    frame.unseen = frame.unseen or event.outcome == "replaced"
    walk.resume(event, walk.work.trace.rule)


def take_close(walk: Walk, event: HandoffClosed) -> None:
    """An agent resolved the conversation."""
    walk.work.trace.rule = "closed"
    if walk.work.session.frame is not None:
        walk.resume(event, "closed")
