"""Telling the bot's own Python what happens to a conversation: by effects, so that a crash loses none of it."""

from typing import Any

from bot.core.effects import Tell
from bot.core.session import Session
from bot.engine.turn_context import TurnContext
from bot.lang.hooks import END, ERROR


def tell(work: TurnContext, event: str, flow: str | None, **told: Any) -> None:
    """Tell every hook that hears of such an event, in this flow or in all."""
    for hook in work.library.hooks:
        if hook.event == event and hook.flow in (None, flow):
            work.do(Tell(hook.name, {"contact": work.session.contact, "at": work.now, "flow": flow, **told}))


def tell_error(work: TurnContext, reason: str) -> None:
    """Something failed at the active step that no transition of its own name takes."""
    frame = work.session.frame
    flow, step = (None, None) if frame is None else (frame.flow, frame.step)
    tell(work, ERROR, flow, step=step, reason=reason)


def tell_end(work: TurnContext, before: Session) -> None:
    """The contact is in no flow any more: the conversation has ended in this turn."""
    last = work.ended or before.frame
    if work.session.frame is None and last is not None:
        tell(work, END, last.flow, expired=work.expired, vars=last.vars)
