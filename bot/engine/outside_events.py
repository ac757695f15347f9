"""Events from outside.

They are ends of calls and messages, agents, the gateway's contact, starts and signals of programs, values that
operators set, and the transcription of voice notes.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from bot.core.effects import Send
from bot.core.events import (
    UNSENT,
    CallEnded,
    CallProgressed,
    ContactChanged,
    ConversationAssigned,
    ConversationOpened,
    Event,
    HandoffClosed,
    MessageReceived,
    SendEnded,
    SharedRunRequested,
    SignalReceived,
    StartRequested,
    ValuesSet,
)
from bot.core.messages import Buttons, LinkButton, Message, TextMessage, in_plain_text
from bot.core.session import HAS_OPTED_OUT, Frame, Plan, Session, VoiceNote
from bot.core.turn import WAITS
from bot.core.values import Media
from bot.engine.contact_values import note_cleared, note_made
from bot.engine.entering import ask, open_flow, refuse
from bot.engine.executor import Executor
from bot.engine.frame_stack import end_all
from bot.engine.replies import merged
from bot.engine.scheduled_flows import is_decided, keep_plans, requested_inputs, signal_data
from bot.engine.signals import deliver_signal
from bot.engine.starting_flows import start_by_event, start_plan
from bot.engine.step_actions import note_message, stop_gathering
from bot.engine.turn_context import (
    FAILURES,
    FlowBroken,
    TurnContext,
    add_effect,
    keep_late,
    keeps_quiet,
    let_happen,
    send,
)
from bot.language.flow.library import Library
from bot.language.source.problems import did_you_mean
from bot.language.source.wall_clock import duration_words
from bot.language.steps.step_facts import StepFailed
from bot.language.steps.step_kind import Redirect, Reply, ReplyId, reply_of
from bot.language.types.type_registry import TypeMismatch

UNDELIVERED = ("replaced", "superseded", "contact_limit")
MOST_REFUSED = 3
"""How often a refused question leads on by `errors` until the contact writes: they may lead to the next refused one."""
SOMEBODY = "an agent"


# -- the ends of effects ------------------------------------------------------------------------------


def on_call_ended(executor: Executor, event: CallEnded) -> None:
    """The end of a call. If nobody waits for it any more, it is dropped, and its file deleted."""
    frame = executor.turn.session.frame
    note_made(executor.turn, event.value)
    if frame is None or frame.awaited_effect != event.effect:
        executor.turn.trace.rule = "late result: dropped"
        note_cleared(executor.turn, (event.value,))
        return
    _go_on(executor, event, f"result: {event.outcome}")


def on_call_progressed(executor: Executor, event: CallProgressed) -> None:
    """A paragraph of a model's answer. If nobody waits for it any more, it is dropped."""
    session = executor.turn.session
    if session.frame is None or session.frame.awaited_effect != event.effect or session.agent is not None:
        executor.turn.trace.rule = "late paragraph: dropped"
        return
    executor.resume(event, "paragraph")


def on_send_ended(executor: Executor, event: SendEnded) -> None:
    """A message was sent, if somebody wanted to know, or was not sent as planned.

    If the active step waits with a refused message, the refusal is the step's own matter. Otherwise a message is sent
    again, as a plain text, if it is no question: a link, or buttons for which no step waits.
    """
    turn, frame, step = executor.turn, executor.turn.session.frame, executor.turn.known_step
    turn.trace.rule = f"message {event.outcome}"
    if event.message is not None and event.outcome in UNDELIVERED:
        keep_late(turn, event.message)
    undelivered = event.outcome in UNDELIVERED and step is not None and step.facts.asks and step.facts.needs_window
    if frame is not None and undelivered and event.effect == frame.awaited_effect:
        # it waits no longer: the contact got a template or nothing, so their next message brings the question
        _stop_awaiting(frame)
        _note_undelivered(frame)
    elif frame is not None and (event.effect == frame.awaited_effect or _is_lost(event, frame)):
        _go_on(executor, event, turn.trace.rule)
    elif turn.session.agent is not None:
        return
    elif event.outcome == "refused" and _is_no_question(turn, event.message) and not keeps_quiet(turn):
        # without a template in its place the contact has no question to answer
        add_effect(turn, Send(TextMessage(in_plain_text(event.message))))
        _note_plain_text(turn)
    elif frame is not None and undelivered:
        # the contact saw a template, or nothing, so their answer is not for this question: it is asked again
        _note_undelivered(frame)


def _is_no_question(turn: TurnContext, message: Message | None) -> bool:
    """True for a link, and for the buttons of a step that has gone on at once."""
    if not isinstance(message, Buttons):
        return isinstance(message, LinkButton)
    tap = ReplyId.parse(message.buttons[0].id)
    flow = None if tap is None else turn.library.flows.get(tap.flow)
    step = None if flow is None or tap is None else flow.steps.get(tap.step)
    return step is not None and not step.facts.waits


def _is_lost(event: SendEnded, frame: Frame) -> bool:
    """True if a message with which the active step waits did not reach the contact.

    A model that is still at work is waited for, whatever happens to the paragraphs that were sent already.
    """
    return event.outcome in UNSENT and frame.waits is not None and event.effect in frame.waits.effects


def _go_on(executor: Executor, event: CallEnded | SendEnded, rule: str) -> None:
    """Resume the active step with the event that it waited for. While an agent has the conversation, keep the event."""
    turn, frame = executor.turn, executor.turn.frame
    if turn.session.agent is not None:
        if frame.waits is not None:
            frame.waits = replace(frame.waits, ended=event)
        turn.trace.rule = f"{rule}: kept until the conversation is resolved"
        return
    if frame.waits is not None and frame.waits.ended is not None:
        frame.waits = replace(frame.waits, ended=None)
    if isinstance(event, SendEnded) and event.outcome in UNSENT and _made_good(executor, event):
        return
    result = ask(turn, turn.step.kind.resume, event)
    _stop_awaiting(frame)
    executor.run(result, rule)


def _stop_awaiting(frame: Frame) -> None:
    """Wait for the contact in place of an effect that has ended."""
    if frame.waits is not None:
        frame.waits = frame.waits.without_effect()


def _note_undelivered(frame: Frame) -> None:
    """Note that the contact has not got the question: their next message brings it."""
    if not frame.question.undelivered:
        frame.question = replace(frame.question, undelivered=True)


def _made_good(executor: Executor, event: SendEnded) -> bool:
    """Send a plain text in place of buttons, a list or a link; else take the errors of a question. Returns False if
    neither is possible.

    A question that the contact has not seen is asked again when they write, because their message cannot be its
    answer.
    """
    turn, frame, facts = executor.turn, executor.turn.frame, executor.turn.step.facts
    if event.outcome == "refused" and _put_in_plain_text(executor, event):
        return True
    lost = event.outcome == "refused" or not facts.needs_window
    if facts.asks and lost and turn.step.refusal is not None:
        if turn.session.refusals < MOST_REFUSED:
            turn.session.refusals += 1
            executor.fail(StepFailed("refused", event.detail))
            return True
        turn.trace.problem(f"{turn.where}: refused: {MOST_REFUSED + 1} times in a row, so it waits for the contact")
    if facts.asks and event.outcome != "unknown":
        _note_undelivered(frame)
    return False


def _put_in_plain_text(executor: Executor, event: SendEnded) -> bool:
    """Send a refused message again as a plain text. Returns False if it is a plain text already."""
    turn, frame, message = executor.turn, executor.turn.frame, event.message
    text = in_plain_text(message)
    if not text or message is None:
        return False
    if frame.question.to_continue:
        note_message(frame, send(turn, TextMessage(text)))
    else:
        executor.run(ask(turn, turn.step.kind.in_plain_text, message))
    _note_plain_text(turn)
    return True


def _note_plain_text(turn: TurnContext) -> None:
    turn.result.in_plain_text = True
    turn.trace.rule += ": it goes as a plain text"


# -- agents and the gateway's contact -----------------------------------------------------------------


def on_conversation(executor: Executor, event: ConversationOpened | ConversationAssigned) -> None:
    """A conversation was opened, or an agent took it. With an agent the bot is silent until the conversation is
    resolved.

    A question that a model is being asked at this moment is for the agent to answer.
    """
    turn, session = executor.turn, executor.turn.session
    session.conversation = event.conversation or session.conversation
    session.name = event.name or session.name
    turn.trace.rule = "conversation"
    if isinstance(event, ConversationOpened):
        executor.run(start_by_event(turn))
        return
    if event.answered:
        _on_answer(executor, event)
        return
    turn.trace.rule = "assigned"
    if _is_older(turn, event):
        return
    session.silent_until, session.unanswered = None, ()
    _hand_to_agent(executor, event)


def _on_answer(executor: Executor, event: ConversationAssigned) -> None:
    """An agent has answered without taking the conversation: the bot is silent for a time from this answer on."""
    turn, session, silent = executor.turn, executor.turn.session, executor.turn.library.bot.agents.silent
    turn.trace.rule = "an agent has answered"
    if session.hand_over is not None or (session.agent is not None and session.silent_until is None):
        turn.trace.rule += ": the bot is silent already"
    elif silent is None:
        turn.trace.rule += ": the bot goes on, as `agents` says"
    elif (until := min(event.occurred_at or event.at, event.at) + silent) <= event.at:
        turn.trace.rule += f": longer ago than {duration_words(silent)}"
    else:
        turn.trace.rule += f": the bot is silent for {duration_words(silent)}"
        session.silent_until, session.unanswered = until, ()
        _hand_to_agent(executor, event)


def _hand_to_agent(executor: Executor, event: ConversationAssigned) -> None:
    turn, session = executor.turn, executor.turn.session
    step = turn.known_step
    session.team_questions = ()  # the agent decides what is open here
    try:  # a step that an edit has made another kind waits for nothing here
        if step is not None and session.frame is not None and step.form == session.frame.form:
            executor.resume(event, turn.trace.rule)
        if session.frame is not None:
            session.frame.parked_messages = 0  # the agent answers them, too
            stop_gathering(session.frame)
        executor.run(start_by_event(turn))
    finally:  # the agent has it also where a flow is broken
        agent = event.agent or SOMEBODY
        if session.agent != agent:
            session.agent, session.taken_at = agent, event.at


def on_handoff_closed(executor: Executor, event: HandoffClosed) -> None:
    """An agent resolved the conversation: the bot has it again."""
    turn, session = executor.turn, executor.turn.session
    turn.trace.rule = "closed"
    if _is_older(turn, event):
        return
    if event.by is None:
        session.unanswered = ()  # an agent who resolves a conversation has read it
    had = session.agent is not None
    if had and _take_back(executor):
        return
    frame = session.frame
    if frame is None:
        executor.run(None if turn.offered else start_by_event(turn))
    elif turn.step.facts.ignores_messages:
        executor.resume(event, "closed")
    elif had:
        _go_on_after_agent(executor)


def on_silence_over(executor: Executor) -> None:
    """An agent has answered without taking the conversation, and has not gone on: the bot has it again."""
    turn, session = executor.turn, executor.turn.session
    turn.trace.rule = "no agent goes on"
    waits = None if session.frame is None else session.frame.waits
    if waits is not None and waits.parks_messages and waits.ended is None:
        session.silent_until = turn.event.at + _A_MINUTE  # what the contact has written could not be taken yet
        turn.trace.rule += ": a call has not ended"
    elif not _take_back(executor) and session.frame is not None:
        _go_on_after_agent(executor)


_A_MINUTE = timedelta(minutes=1)


def _take_back(executor: Executor) -> bool:
    """The bot has the conversation again. Returns True if an edit of the flow moves the contact.

    Messages of the contact that nobody has answered are taken now.
    """
    session = executor.turn.session
    session.agent, session.taken_at, session.silent_until = None, None, None
    unanswered, session.unanswered = session.unanswered, ()
    if executor.migrate_session():
        return True
    if unanswered:
        executor.turn.trace.notes.append("no agent has answered since the contact wrote: that is taken now")
        executor.turn.offered = Redirect("", reply_of(merged(unanswered)), anew=True)
    return False


def _go_on_after_agent(executor: Executor) -> None:
    """Continue where the agent has taken over. The question is far above by now, so the contact's next message brings
    it again.
    """
    turn, frame = executor.turn, executor.turn.frame
    frame.entered_at = frame.silent_since = turn.event.at
    frame.question = replace(frame.question, entered_at=None)
    if turn.step.facts.asks:
        _note_undelivered(frame)
    if frame.waits is not None and frame.waits.ended is not None:
        turn.offered = None  # the conversation leads elsewhere, and asks anew
        _go_on(executor, frame.waits.ended, "kept from before")


def _is_older(turn: TurnContext, event: ConversationAssigned | HandoffClosed) -> bool:
    """True if the gateway has already sent a newer event about who has the conversation.

    A delivery that failed comes again, up to hours later: an agent who resolved the conversation long ago would
    silence the bot for good.
    """
    session, occurred_at = turn.session, event.occurred_at
    if occurred_at is None:
        return False
    if session.agent_reported_at is not None and occurred_at < session.agent_reported_at:
        turn.trace.rule += ": older than what is known"
        return True
    session.agent_reported_at = occurred_at
    return False


def on_contact_changed(executor: Executor, event: ContactChanged) -> None:
    """The gateway's contact has changed, or was read: its name and email replace ours.

    Only the tags count that the gateway added or removed since it last listed them.
    """
    session = executor.turn.session
    executor.turn.trace.rule = event.event
    if event.described or (event.name, event.email, event.tags) == (
        None,
        None,
        None,
    ):  # it changed, and nobody says how
        session.described = event.described
    session.name = event.name or session.name
    session.email = event.email or session.email
    if event.tags is not None:
        gone = {*session.gateway_tags} - {*event.tags}
        kept = (tag for tag in session.tags if tag not in gone)
        session.tags = tuple(dict.fromkeys((*kept, *event.tags)))
        session.gateway_tags = event.tags
    executor.run(start_by_event(executor.turn))


# -- a program starts a flow ----------------------------------------------------------------------------


def on_start_requested(executor: Executor, event: StartRequested) -> None:
    """Start a flow for a program or an operator: at once, or as `busy` says. A mistake in the request is a failure."""
    turn, session = executor.turn, executor.turn.session
    if session.opted_out:
        turn.trace.rule = f"no start of {event.flow} by {event.by}: {HAS_OPTED_OUT}"
        return
    executor.migrate_session()
    turn.trace.rule = f"start of {event.flow} by {event.by}"
    busy = turn.library.busy_policy(event.flow, event.busy)
    plan = Plan(event.id, event.flow, event.at, event.data, busy, after=timedelta(), broadcast=event.broadcast)
    try:
        inputs = requested_inputs(turn.library, plan.flow, plan.inputs, turn.now)
        if not is_decided(turn, plan):
            keep_plans(turn, (*session.plans, plan))
            turn.trace.rule, turn.result.start = f"start of {event.flow} by {event.by}: waits", WAITS
            return
    except FAILURES as failed:
        refuse(turn, failed)
    else:
        executor.run(start_plan(turn, plan, inputs, f"by {event.by}"))


def on_shared_run(executor: Executor, event: SharedRunRequested) -> None:
    """Run a flow at a shared record, from its start to its end in this turn. The asker learns its values.

    A record has no conversation: whatever is still open was left by a flow that an edit has changed, and ends.
    """
    turn = executor.turn
    end_all(turn)
    turn.trace.rule = f"{event.flow} runs for {event.asker}"
    try:
        inputs = requested_inputs(turn.library, event.flow, event.data, turn.now)
        executor.run(open_flow(turn, f"/{event.flow}", inputs))
        if turn.session.frames:
            raise FlowBroken(f"{turn.where} waits: a shared flow ends at once")
        assert turn.ended is not None
        value = turn.library.values_of(turn.ended, turn.session, turn.now)
    except (FlowBroken, *FAILURES) as failed:
        end_all(turn)
        refuse(turn, failed)
        let_happen(turn, CallEnded("", event.asker, event.at, event.effect, "failed", detail=str(failed)))
    else:
        let_happen(turn, CallEnded("", event.asker, event.at, event.effect, "done", dict(value)))


def on_signal_received(executor: Executor, event: SignalReceived) -> None:
    """Deliver a signal to the step that waits for it: now, or when the step can hear it."""
    turn = executor.turn
    executor.migrate_session()
    try:
        data = signal_data(turn.library, event.name, event.data, turn.now, event.first_visit is not None)
        take_signal(executor, Plan(event.id, "", event.at, data, signal=event.name, first_visit=event.first_visit))
    except FAILURES as failed:
        turn.trace.rule = f"signal {event.name} by {event.by}"
        refuse(turn, failed)


def take_signal(executor: Executor, plan: Plan) -> bool:
    """Deliver a signal now, or keep it until the step can hear it. Returns False if no step waits for it."""
    turn = executor.turn
    if is_decided(turn, plan):
        return deliver_signal(executor, plan)
    keep_plans(turn, (*turn.session.plans, plan))
    turn.trace.rule = f"signal {plan.signal}: waits"
    return True


def tapped_signal(turn: TurnContext, reply: Reply) -> Plan | None:
    """The signal that the payload of a tap is. The trace says which values do not fit."""
    for name, pattern in turn.library.bot.payloads.items():
        given = None if reply.named is None else pattern.values_in(reply.named)
        if given is None:
            continue
        try:
            return Plan(
                turn.event.id, "", turn.event.at, signal_data(turn.library, name, given, turn.now, False), signal=name
            )
        except FAILURES as misfit:
            turn.trace.notes.append(f"{pattern.written}: {misfit}")
    return None


# -- an operator sets variables -----------------------------------------------------------------------


def on_values_set(executor: Executor, event: ValuesSet) -> None:
    """Set variables for an operator. Values that do not fit any more are a failure; then nothing is changed."""
    turn, session = executor.turn, executor.turn.session
    executor.migrate_session()
    turn.trace.rule = f"set by {event.by}"
    try:
        flow, values = values_to_set(turn.library, session, event.flow, event.values, turn.now)
    except FAILURES as failed:
        refuse(turn, failed)
        return
    kept = {name: values.pop(name) for name in turn.library.flows[flow].kept.keys() & values.keys()}
    session.kept_variables = {**session.kept_variables, **kept}
    if values:
        frame = next(frame for frame in reversed(session.frames) if frame.flow == flow)
        frame.vars = {**frame.vars, **values}


def values_to_set(
    library: Library, session: Session, where: str | None, values: Mapping[str, Any], now: datetime | None
) -> tuple[str, dict[str, Any]]:
    """The flow whose variables an operator sets (``where``, else the active one), and the values as they declare them.

    Raises a `Failure` if the flow or a variable does not exist, if a value does not fit, and for a variable without
    `keep` of a flow that is not open.
    """
    name = where or ("" if session.frame is None else session.frame.flow)
    if not name:
        raise StepFailed("failed", "the contact is in no flow: name the flow that declares the variables")
    flow = library.flows.get(name)
    if flow is None:
        fix = did_you_mean(name, library.flows, "`bot check` reads the flows")
        raise StepFailed("failed", f'there is no flow "{name}": {fix}')
    found = {}
    for each, value in values.items():
        variable = flow.variables.get(each)
        if variable is None:
            fix = did_you_mean(each, flow.variables, f"it has {', '.join(flow.variables) or 'none'}")
            raise StepFailed("failed", f'flow {name} has no variable "{each}": {fix}')
        if not variable.keep and all(frame.flow != name for frame in session.frames):
            raise StepFailed("failed", f"{each} cannot be set: the contact is not in flow {name}")
        try:
            found[each] = variable.coerce(value, now)
        except TypeMismatch as mismatch:
            raise TypeMismatch(f"{each} is of type {variable.type}: {mismatch}") from mismatch
    return name, found


def ask_for_words(turn: TurnContext, note: MessageReceived) -> bool:
    """Have the contact's voice note transcribed. Returns False unless it must be."""
    transcription = turn.library.bot.transcription
    if note.media is None or note.transcribed:
        return False
    if transcription is None or _is_for_step(turn, note.media):
        return False
    session, today = turn.session, turn.event.at.date()
    if session.voice_note is not None:
        turn.trace.notes.append("not transcribed: another voice note is")
        return False
    if session.transcribed_on != today:
        session.transcribed_on, session.transcribed = today, 0
    if session.transcribed >= transcription.daily:
        turn.trace.notes.append(f"not transcribed: {transcription.daily} voice notes of this contact were today")
        return False
    try:
        effect = transcription.effect(note.media, turn.scope())
    except FAILURES as failed:
        turn.trace.problem(f"not transcribed: {failed}")
        return False
    session.transcribed += 1
    session.voice_note = VoiceNote(add_effect(turn, effect), note)
    turn.trace.rule = "a voice note: it is transcribed first"
    return True


def _is_for_step(turn: TurnContext, media: Media | None) -> bool:
    step = turn.known_step
    if step is None:
        return False
    return step.facts.ignores_messages or step.kind.takes_audio(turn.step_context(), Reply(media=media))


def begin_turn(library: Library, session: Session, event: Event) -> TurnContext:
    """The context of an event's turn. The end of a transcription becomes the message: with its text, or without."""
    note, turn = session.voice_note, TurnContext(library, session, event)
    if note is None or not isinstance(event, CallEnded) or event.effect != note.effect:
        return turn
    text, transcription = None, library.bot.transcription
    try:
        if transcription is not None and not _is_for_step(turn, note.message.media):
            text = transcription.words(event, turn.scope())
    except FAILURES as failed:
        turn.trace.problem(f"not transcribed: {failed}")
    heard = replace(note.message, id=event.id, at=event.at, text=text, transcribed=True)
    taken = TurnContext(library, session, heard)
    taken.session.voice_note = None
    taken.trace.notes += turn.trace.notes
    taken.trace.problems += turn.trace.problems
    return taken
