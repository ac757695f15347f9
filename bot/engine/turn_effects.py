"""The effects of a turn: messages, calls of hooks, events for others."""

from dataclasses import replace
from typing import Any

from bot.core.effects import Effect, EmitEvent, Publish, RunHook, Send
from bot.core.events import CallEnded, SharedRunRequested, SignalReceived, StartRequested
from bot.core.messages import Message, TemplateMessage, clip, clipped, fits, in_words, violations
from bot.core.session import (
    BOT,
    HAS_OPTED_OUT,
    MOST_HISTORY,
    MOST_HISTORY_TEXT,
    MOST_LATE,
    Said,
    effect_ref,
    record_id,
)
from bot.engine.turn_context import TurnContext
from bot.language.expressions.templates import TemplateFailed
from bot.language.python.decorators import ERROR
from bot.language.steps.step_facts import StepFailed


def keeps_quiet(turn: TurnContext) -> bool:
    """True if the contact has opted out and did not ask for the message that would be sent now."""
    return turn.session.unsolicited and turn.session.opted_out


def send(turn: TurnContext, message: Message, *, report: bool = False, keep: bool = False) -> str | None:
    """Send a message, shortened to the gateway's limits. Returns the effect's name. Raises `StepFailed`.

    None: it is not sent, because the contact has opted out and did not ask for it. ``keep``: it waits until the contact
    writes, if the window is closed.
    """
    if keeps_quiet(turn):
        turn.withheld = True
        turn.trace.notes.append(f"not sent: {HAS_OPTED_OUT}")
        return None
    if not fits(message) and (broken := violations(message := clipped(message))):
        raise StepFailed("failed", f"a message that the gateway does not take: {'; '.join(broken)}")
    if turn.keeps_history:
        remember(turn, BOT, in_words(message))
    instead = None if isinstance(message, TemplateMessage) else _template_instead(turn)
    return add_effect(turn, Send(message, instead, report, keep))


def keep_late(turn: TurnContext, message: Message) -> None:
    """Keep a message whose window is closed until the contact writes, unless `MOST_LATE` wait already."""
    session = turn.session
    if session.opted_out:
        turn.trace.notes.append(f"not sent: {HAS_OPTED_OUT}")
    elif len(session.late_messages) >= MOST_LATE:
        already = f"{MOST_LATE} messages wait already for the contact to write"
        turn.result.given_up = f"the 24-hour window is closed, and {already}"
        turn.trace.problem(f"given up: {already}")
    else:
        session.late_messages = (*session.late_messages, message)
        turn.trace.notes.append(f"waits for the contact: {_messages(len(session.late_messages))}")


def bring_late(turn: TurnContext) -> None:
    """Send the messages that have waited until the contact writes."""
    session = turn.session
    late, session.late_messages = session.late_messages, ()
    for message in late:
        add_effect(turn, Send(message, _template_instead(turn), keep=True))
    turn.trace.notes.append(f"{_messages(len(late))} that waited: sent now")


def drop_late(turn: TurnContext) -> None:
    """Drop the messages that wait until the contact writes, who has opted out."""
    session = turn.session
    if session.late_messages:
        waited = _messages(len(session.late_messages))
        turn.trace.notes.append(
            f"{waited} that waited {'is' if waited == '1 message' else 'are'} not sent: {HAS_OPTED_OUT}"
        )
        session.late_messages = ()


def _messages(number: int) -> str:
    return "1 message" if number == 1 else f"{number} messages"


def remember(turn: TurnContext, role: str, text: str) -> None:
    """Add a message to `history`: ``role`` is `CONTACT` or `BOT`."""
    said = Said(role, clip(text, MOST_HISTORY_TEXT), turn.event.at)
    turn.session.history = (*turn.session.history, said)[-MOST_HISTORY:]


def add_effect(turn: TurnContext, effect: Effect) -> str:
    """Add an effect. Returns its name."""
    turn.result.effects.append(effect)
    return effect_ref(turn.event.id, len(turn.result.effects) - 1)


def let_happen(turn: TurnContext, event: StartRequested | SignalReceived | SharedRunRequested | CallEnded) -> str:
    """Emit an event for another contact or a shared record; its name and time follow from this turn's. Returns the
    effect's name.
    """
    ref = effect_ref(turn.event.id, len(turn.result.effects))
    if isinstance(event, SharedRunRequested):
        kind = turn.library.flows[event.flow].shared or event.flow
        event = replace(event, contact=record_id(kind, event.contact), asker=turn.session.contact, effect=ref)
    return add_effect(turn, EmitEvent(replace(event, id=ref, at=turn.event.at)))


def _template_instead(turn: TurnContext) -> TemplateMessage | None:
    """The template that replaces the message when the window is closed: the step's, the flow's or the bot's."""
    notice = turn.defaults.window_closed
    if notice is None:
        return None
    try:
        return notice.message(turn.scope())
    except TemplateFailed as failed:
        turn.trace.problem(f"window_closed: {failed}")
        return None


def call_hooks(turn: TurnContext, event: str, flow: str | None, **told: Any) -> None:
    """Call this flow's and the bot's hooks for an event, and deliver the event if `bot.yml` asks for it.

    Both are effects, so that a crash loses nothing.
    """
    publish(turn, event, flow=flow, **told)
    for hook in turn.library.hooks:
        if hook.event == event and hook.flow in (None, flow):
            add_effect(
                turn, RunHook(hook.name, {"contact": turn.session.contact, "at": turn.now, "flow": flow, **told})
            )


def publish(turn: TurnContext, event: str, **data: Any) -> None:
    """Deliver an event to the address under `events_to`, if `bot.yml` lists it there."""
    receiver = turn.library.bot.events_to
    if receiver is not None and event in receiver.on:
        add_effect(turn, Publish(event, turn.event.at, data))


def call_error_hooks(turn: TurnContext, reason: str) -> None:
    """Call the error hooks, because the active step failed and has no transition of its own for this error."""
    frame = turn.session.frame
    flow, step = (None, None) if frame is None else (frame.flow, frame.step)
    call_hooks(turn, ERROR, flow, step=step, reason=reason)
