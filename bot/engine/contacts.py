"""What the gateway says of a contact and of its conversation, and what it is told."""

from bot.core.effects import PutContact
from bot.core.events import ContactChanged, ConversationAssigned, ConversationOpened
from bot.core.session import Session
from bot.engine.executor import Executor
from bot.engine.routing import start_by_event
from bot.engine.turn_context import TurnContext

SOMEBODY = "an agent"


def take_contact(walk: Executor, event: ContactChanged) -> None:
    """Name and email are the gateway's; of the tags, what it added or took away since it was last heard of."""
    session = walk.work.session
    walk.work.trace.rule = event.event
    session.name = event.name or session.name
    session.email = event.email or session.email
    if event.tags is not None:
        gone = {*session.gateway_tags} - {*event.tags}
        kept = (tag for tag in session.tags if tag not in gone)
        session.tags = tuple(dict.fromkeys((*kept, *event.tags)))
        session.gateway_tags = event.tags
    start_by_event(walk)


def take_conversation(walk: Executor, event: ConversationOpened | ConversationAssigned) -> None:
    """A conversation was opened, or an agent took it: then the bot is silent until it is resolved.

    What a model is being asked right then is the agent's to answer.
    """
    session = walk.work.session
    session.conversation = event.conversation or session.conversation
    session.name = event.name or session.name
    walk.work.trace.rule = "conversation"
    if isinstance(event, ConversationOpened):
        start_by_event(walk)
        return
    walk.work.trace.rule = "assigned"
    if walk.work.known_step is not None:
        walk.resume(event, walk.work.trace.rule)
    if session.frame is not None:
        session.frame.parked_messages = 0  # the agent's to answer, too
    start_by_event(walk)
    session.agent = event.agent or SOMEBODY


def tell_gateway(work: TurnContext, before: Session) -> None:
    """The gateway's contact gets the tags that this turn has changed, with all that it had (DECISIONS: contacts).

    It is not told what it has just said itself.
    """
    session = work.session
    said_itself = isinstance(work.event, ContactChanged) and {*session.tags} == {*session.gateway_tags}
    if {*session.tags} != {*before.tags} and not said_itself:
        work.do(PutContact(session.name, session.email, session.tags))
