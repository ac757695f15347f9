"""Which flow a message or another event starts."""

from typing import TYPE_CHECKING

from bot.core.events import MessageReceived, Tapped
from bot.engine.frames import FlowBroken
from bot.flow.triggers import name_of_event
from bot.steps.kind import Reply

if TYPE_CHECKING:
    from bot.engine.walk import Walk


def route(walk: "Walk", reply: Reply) -> None:
    """Start the flow that a message is for."""
    work, triggers = walk.work, walk.work.library.triggers
    by_word = triggers.by_word(reply.text)
    flow = by_word or triggers.by_event(work.event) or triggers.otherwise
    if flow is None:
        work.trace.rule = "no flow starts by this"
        return
    work.unread = reply
    work.trace.rule = f"start of {flow}" if by_word else f"start of {flow}: otherwise"
    walk.open(f"/{flow}", {})


def reroute(walk: "Walk") -> None:
    """Hand the message to the router as a new one."""
    work, event, reply = walk.work, walk.work.event, walk.work.unread
    if reply is None and isinstance(event, MessageReceived | Tapped):
        reply = Reply(text=event.title if isinstance(event, Tapped) else event.text)
    if walk.routed or reply is None:
        raise FlowBroken("`route` has no message to hand on, or leads to itself")
    walk.routed = True
    work.session.frames = ()
    route(walk, reply)


def start_by_event(walk: "Walk") -> None:
    """Start the flow that waits for such an event; a contact who is in a flow, or with an agent, stays there."""
    work = walk.work
    flow = work.library.triggers.by_event(work.event)
    if flow is not None and work.session.frame is None and work.session.agent is None:
        work.trace.rule = f"start of {flow}: {name_of_event(work.event)}"
        walk.open(f"/{flow}", {})
