"""The end of a turn: what `bot.engine.advance` adds to it where the session has something unusual, or `bot.yml` asks.

Each function is called only if there may be something to do.
"""

from bot.core.effects import PutContact, ReadContact, Send
from bot.core.events import LISTED, ContactChanged, ResetRequested
from bot.core.messages import TextMessage
from bot.core.session import HAS_OPTED_OUT, OPTED_OUT, LeftExchange, Session
from bot.core.turn import Counted, shown_outcome
from bot.engine.frame_stack import end_all
from bot.engine.turn_context import FAILURES, TurnContext, add_effect, call_hooks, drop_late, publish, send
from bot.language.flow.event_receiver import OPT_OUT, RESULT, TAGS
from bot.language.python.decorators import END as CONVERSATION_END
from bot.language.source.languages import OWN_WORDINGS, wording


def apologise(turn: TurnContext) -> None:
    """Say sorry if a model has failed, the bot has said nothing since, and no model or call is being waited for.

    An agent who has the conversation answers instead. If the message can no longer be sent, there is a dead letter.
    """
    session = turn.session
    if session.agent is not None or any(isinstance(effect, Send) for effect in turn.result.effects):
        session.apology_due = False
    if not session.apology_due or (session.frame is not None and session.frame.awaited_effect is not None):
        return
    session.apology_due = False
    if not session.window_is_open(turn.event.at):
        lost = "a model failed, and the contact hears nothing of it: their 24-hour window is closed"
        turn.result.failure = turn.result.failure or lost
        return
    turn.trace.problem("a model failed, and the flow says nothing: sorry")
    try:
        send(turn, TextMessage(wording(turn.scope(), "sorry")))
    except FAILURES as failed:  # the bot's own text cannot be rendered
        turn.trace.problem(f"ai: sorry: {failed}")
        send(turn, TextMessage(wording({**turn.scope(), OWN_WORDINGS: {}}, "sorry")))


def note_left_exchange(turn: TurnContext, before: Session) -> None:
    """Note what the contact and a model have said at a step that is left: the model knows it if they come back."""
    if isinstance(turn.event, ResetRequested):
        return
    here = {frame.visit for frame in turn.session.frames}
    for frame in before.frames:
        flow = turn.library.flows.get(frame.flow)
        step = None if flow is None else flow.steps.get(frame.step)
        if frame.visit in here or step is None or step.form != frame.form:
            continue
        said = step.kind.exchange(turn.left_states.get(frame.visit, frame.step_state))
        if said is not None:
            turn.session.left_exchange = LeftExchange(f"{frame.flow}/{frame.step}", *said)


def keep_quiet(turn: TurnContext) -> None:
    """Cancel the flows that are to start for a contact who has opted out, drop messages that wait, and end flows that
    wait for an answer to an unsent question.
    """
    session = turn.session
    drop_late(turn)
    for plan in session.plans:
        turn.trace.notes.append(f"{plan.name} is cancelled: {HAS_OPTED_OUT}")
    session.plans = ()
    if turn.withheld and session.frame is not None and session.frame.awaited_effect is None:
        turn.trace.notes.append(f"ended: {HAS_OPTED_OUT}")
        end_all(turn)


def call_end_hooks(turn: TurnContext, before: Session) -> None:
    """Call the hooks for the end of a conversation if the contact is in no flow any more."""
    last = turn.ended or before.frame
    if last is not None and not turn.session.frames:
        call_hooks(
            turn,
            CONVERSATION_END,
            last.flow,
            expired=turn.expired,
            vars=turn.library.values_of(last, turn.session, turn.now),
        )


def update_gateway_contact(turn: TurnContext, before: Session) -> None:
    """Update the gateway's contact if this turn has changed tags, with all other values (docs/decisions.md).

    A change that came from the gateway is not sent back. If the gateway has not described the contact yet, it is read
    first, and updated in the turn of what was read.
    """
    session, event = turn.session, turn.event
    was_read = isinstance(event, ContactChanged) and event.event == LISTED
    known = {*session.gateway_tags} if was_read else {*before.tags}
    said_itself = isinstance(event, ContactChanged) and {*session.tags} == {*session.gateway_tags}
    if {*session.tags} == known or said_itself:
        return
    if session.described:
        add_effect(turn, PutContact(session.name or session.contact, session.email, session.tags))
    else:
        add_effect(turn, ReadContact())


def publish_changes(turn: TurnContext, before: Session, results: tuple[Counted, ...]) -> None:
    """Publish what is known only at the end of a turn: results of steps with a `report`, changed tags, an opt-out."""
    flows = turn.library.flows
    for flow, step, split, way, outcome in results:
        if not split and flow in flows and step in flows[flow].reported_as.values():
            publish(turn, RESULT, flow=flow, report=step, way=way, outcome=shown_outcome(outcome))
    had, has = ([tag for tag in tags if tag != OPTED_OUT] for tags in (before.tags, turn.session.tags))
    added, removed = [tag for tag in has if tag not in had], [tag for tag in had if tag not in has]
    if added or removed:
        publish(turn, TAGS, added=added, removed=removed, tags=has)
    if before.opted_out != turn.session.opted_out:
        publish(turn, OPT_OUT, opted_out=turn.session.opted_out)
