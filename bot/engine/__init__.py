"""The pure function at the heart: one event's way through a session.

No I/O, no clock, no threads, no randomness: time and ids come in with the event. The rules are those of the
language (docs/language).
"""

from bot.core.events import (
    CallEnded,
    CallProgressed,
    ContactChanged,
    ConversationAssigned,
    ConversationOpened,
    Event,
    HandoffClosed,
    MessageReceived,
    ResetRequested,
    SendEnded,
    StartRequested,
    StatusReported,
    Tapped,
    TimeReached,
)
from bot.core.session import Session
from bot.core.turn import Turn
from bot.engine.contacts import take_contact, take_conversation, tell_gateway
from bot.engine.executor import Executor
from bot.engine.failures import FAILURES, say_sorry
from bot.engine.frames import FlowBroken
from bot.engine.hooks import tell_end, tell_error
from bot.engine.migration import meet_edit
from bot.engine.opting_out import keep_quiet, note_who_speaks, take_opt_out
from bot.engine.replies import reply_of, take_reply
from bot.engine.results import take_call, take_close, take_progress, take_send
from bot.engine.routing import start_by_event
from bot.engine.scheduled_flows import take_start
from bot.engine.timers import keep_to_the_clock, take_time, wake_at
from bot.engine.turn_context import TurnContext
from bot.flow.library import Library
from bot.steps.kind import Reply


def advance(library: Library, session: Session, event: Event) -> Turn:
    """Take one event: a new session, what is to be done, and when to be woken next.

    Messages and taps must not come while ``session.busy``: the caller parks them; one that ``Turn.parks_message`` says so of, too.
    Once ``session.waits_for_effect`` no more, those come as one (`bot.engine.replies.merged`) where it ``has_parked_messages``, else
    one by one. A defect in here may raise anything; a defect in a flow never does.
    """
    work = TurnContext(library, session, event)
    try:
        _take(Executor(work), event)
    except (FlowBroken, *FAILURES) as broken:
        work.failure = str(broken)
        work.trace.notes.append(f"ended: {work.failure}")
        tell_error(work, work.failure)
        work.end_all()
    say_sorry(work)
    keep_quiet(work)
    tell_end(work, session)
    tell_gateway(work, session)
    how = work.failure, work.in_plain_text, work.parks_message, work.drops_parked
    return Turn(work.session, tuple(work.effects), wake_at(work), work.trace, *how)


def _take(walk: Executor, event: Event) -> None:
    """Bring the event to what it is for."""
    work = walk.work
    note_who_speaks(work, event)
    reply = Reply()
    if isinstance(event, MessageReceived | Tapped):
        work.note_contact(event)
        reply = reply_of(event)
        if take_opt_out(work, reply):
            return
    if isinstance(event, TimeReached):
        keep_to_the_clock(work)
    own = isinstance(event, ConversationAssigned | ResetRequested | StartRequested)
    silent = work.session.agent is not None or own
    if work.session.frame is not None and not silent and meet_edit(walk):
        return
    match event:
        case MessageReceived() | Tapped():
            take_reply(walk, reply)
        case TimeReached():
            take_time(walk)
        case SendEnded():
            take_send(walk, event)
        case CallEnded():
            take_call(walk, event)
        case CallProgressed():
            take_progress(walk, event)
        case ContactChanged():
            take_contact(walk, event)
        case ConversationOpened() | ConversationAssigned():
            take_conversation(walk, event)
        case HandoffClosed():
            take_close(walk, event)
        case StatusReported():
            work.trace.rule = f"message {event.status}"
            start_by_event(walk)
        case StartRequested():
            take_start(walk, event)
        case ResetRequested():
            work.trace.rule = "reset"
            work.end_all()
