"""Which flow a message or another event starts."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bot.core.events import MessageReceived, Tapped
from bot.core.session import HAS_OPTED_OUT
from bot.engine.frames import FlowBroken
from bot.engine.turn_context import TurnContext
from bot.flow.triggers import TriggerIndex, TriggerMatch, name_of_event
from bot.lang.failures import TemplateFailed
from bot.lang.variables import Answer, Unfit
from bot.steps.kind import Reply

if TYPE_CHECKING:
    from bot.engine.executor import Executor


def starts_of(work: TurnContext) -> TriggerIndex:
    """What starts flows for this contact."""
    triggers = work.library.triggers
    return triggers.returning if work.session.visit else triggers.first


def route(walk: "Executor", reply: Reply) -> None:
    """Start the flow that a message is for."""
    work, starts = walk.work, starts_of(walk.work)
    started, by_event = starts.by_texts(reply.texts), starts.by_event(work.event)
    flow = by_event or starts.otherwise if started is None else started.flow
    if flow is None:
        work.trace.rule = "no flow starts by this"
        return
    work.pending_input = reply
    by = "" if started else f": {name_of_event(work.event)}" if by_event else ": otherwise"
    work.trace.rule = f"start of {flow}{by}"
    walk.open(f"/{flow}", {} if started is None else inputs_of(work, started))


def inputs_of(work: TurnContext, started: TriggerMatch) -> dict[str, Any]:
    """What a text gives to the variables of the flow that it starts: as answers would, where they fit."""
    variables, inputs = work.library.flows[started.flow].variables, {}
    for name, text in started.given.items():
        with suppress(Unfit, TemplateFailed):
            inputs[name] = variables[name].accept(Answer(text), work.now, work.scope())
    return inputs


def reroute(walk: "Executor") -> None:
    """Hand the message to the router as a new one."""
    work, event, reply = walk.work, walk.work.event, walk.work.pending_input
    if reply is None and isinstance(event, MessageReceived | Tapped):
        reply = Reply(text=event.title if isinstance(event, Tapped) else event.text)
    if walk.routed or reply is None:
        raise FlowBroken("`route` has no message to hand on, or leads to itself")
    walk.routed = True
    work.session.frames = ()
    route(walk, reply)


def start_by_event(walk: "Executor") -> None:
    """Start the flow that waits for such an event; a contact who is in a flow, or with an agent, stays there."""
    work = walk.work
    flow = starts_of(work).by_event(work.event)
    if flow is None or work.session.frame is not None or work.session.agent is not None:
        return
    if work.session.opted_out:
        work.trace.rule = f"no start of {flow} by {name_of_event(work.event)}: {HAS_OPTED_OUT}"
    else:
        work.trace.rule = f"start of {flow}: {name_of_event(work.event)}"
        walk.open(f"/{flow}", {})
