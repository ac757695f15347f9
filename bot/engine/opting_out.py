"""Contacts who opt out: they are answered, and hear nothing that they do not ask for (docs/language/routing.md)."""

from bot.core.events import Event, MessageReceived, Tapped, TimeReached
from bot.core.messages import TextMessage
from bot.core.session import HAS_OPTED_OUT, OPTED_OUT
from bot.engine.turn_context import TurnContext
from bot.lang.words import normalise
from bot.steps.kind import Reply


def note_who_speaks(work: TurnContext, event: Event) -> None:
    """Note whether the contact goes on with the conversation, or time does. What comes of either is taken for the same."""
    if isinstance(event, MessageReceived | Tapped):
        work.session.unsolicited = False
    elif isinstance(event, TimeReached) and work.session.opted_out:
        work.session.unsolicited = True


def take_opt_out(work: TurnContext, reply: Reply) -> bool:
    """Hear the words of `opt_out`, before everything else. True where the contact opts out, and nothing else is meant.

    A word that ends it is then taken as any other message. Raises `TemplateFailed`; then, too, the contact has opted out.
    """
    opt_out = work.library.bot.opt_out
    said = [normalise(text) for text in reply.texts] if opt_out.words else []
    heard = next((word for word in said if word in opt_out.words), None)
    if heard is None:
        if work.session.opted_out and any(word in opt_out.back for word in said):
            work.untag(OPTED_OUT)
        return False
    work.trace.rule = f'opt-out "{heard}"'
    work.tag(OPTED_OUT)
    work.end_all()
    try:
        if opt_out.say is not None:
            work.send(TextMessage(opt_out.say.render(work.scope())))
    finally:
        work.session.unsolicited = True  # what was asked for before is not any more
    return True


def keep_quiet(work: TurnContext) -> None:
    """Cancel whatever is to start for a contact who has opted out, and end what would wait for an answer to nothing."""
    session = work.session
    if not session.opted_out:
        return
    for plan in session.plans:
        work.trace.notes.append(f"{plan.name} is cancelled: {HAS_OPTED_OUT}")
    session.plans = ()
    if work.withheld and session.frame is not None and session.frame.awaited_effect is None:
        work.trace.notes.append(f"ended: {HAS_OPTED_OUT}")
        work.end_all()
