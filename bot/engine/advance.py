"""`advance`, the pure function at the centre: it takes one event.

`FIRST`, `OFFERS` and `OFFERS_OUTSIDE` are the order in which a message is offered.

It uses no I/O, no clock, no threads and no random numbers: time and ids come with the event, and `random()` is computed
from its id (`bot.engine.name_scope`). The rules are those of the language (docs/language).
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from bot.core.events import (
    FROM_CONTACT,
    UNHEARD_KINDS,
    CallEnded,
    CallProgressed,
    ColleagueDecided,
    ContactChanged,
    ConversationAssigned,
    ConversationOpened,
    Event,
    HandoffClosed,
    MessageReceived,
    ResetRequested,
    SendEnded,
    SharedRunRequested,
    SignalReceived,
    StartRequested,
    StatusReported,
    Tapped,
    TimeReached,
    ValuesSet,
)
from bot.core.messages import TextMessage
from bot.core.session import (
    CONTACT,
    OPTED_OUT,
    Frame,
    Session,
    ValidReplies,
    forget_left_exchange,
)
from bot.core.turn import Turn
from bot.core.waits import ForContact
from bot.engine.contact_values import add_tag, delete_cleared, delete_made, note_dropped, remove_tag
from bot.engine.drafts import choose_draft
from bot.engine.entering import ask, open_flow, put_again
from bot.engine.executor import Executor
from bot.engine.flow_ends import return_to_interrupted
from bot.engine.flow_results import results_of
from bot.engine.found_answers import accept_found, look_ahead, look_by_model
from bot.engine.frame_stack import drop_flow, end_all, go_back_to, remove_step_tags
from bot.engine.migration import name_now
from bot.engine.outside_events import (
    ask_for_words,
    begin_turn,
    on_call_ended,
    on_call_progressed,
    on_contact_changed,
    on_conversation,
    on_handoff_closed,
    on_send_ended,
    on_shared_run,
    on_signal_received,
    on_start_requested,
    on_values_set,
    take_signal,
    tapped_signal,
)
from bot.engine.replies import is_kept, kept, put_since
from bot.engine.slots import has_own_answers, may_mean_answer, note_rest
from bot.engine.small_talk import answer_kind_words, answer_outside, answer_small_talk
from bot.engine.starting_flows import (
    FoundStart,
    ask_what_about,
    asked_flow,
    find_start,
    find_wish,
    interrupt,
    note_opening,
    note_sentence,
    start_by_event,
    start_by_intent,
    start_by_message,
    start_by_payload,
)
from bot.engine.team_questions import on_colleague_decided, take_decision, withdraw_left
from bot.engine.timers import clamp_to_now, on_time_reached, wake_at
from bot.engine.turn_context import (
    FAILURES,
    FlowBroken,
    TurnContext,
    bring_late,
    call_error_hooks,
    remember,
    send,
)
from bot.engine.turn_ends import (
    apologise,
    call_end_hooks,
    keep_quiet,
    note_left_exchange,
    publish_changes,
    update_gateway_contact,
)
from bot.engine.valid_replies import replies_to, replies_with, return_to_conversation
from bot.engine.word_routing import to_calling_off, to_polite_word, to_word
from bot.engine.wrong_answers import other_or_retry
from bot.language.answers.closings import calls_off
from bot.language.answers.topics import opts_out
from bot.language.flow.definition import Flow
from bot.language.flow.library import Library
from bot.language.source.languages import wording
from bot.language.source.text_patterns import PatternTime
from bot.language.source.word_matching import normalise
from bot.language.steps import yes_no_question
from bot.language.steps.ai_exchange import from_contact
from bot.language.steps.step_kind import LeaveStep, PostponeMessage, Redirect, Reply, ReplyId, reply_of

MOST_UNANSWERED = 10
"""How many of the contact's messages the bot takes that an agent has left unanswered: the newest."""
_SLOW_PATTERNS = "the patterns took too long for this text: it matches none of those that were left"


def advance(library: Library, session: Session, event: Event) -> Turn:
    """Take one event: return a new session, the effects, and the time at which something is due next.

    The caller parks messages and taps that come while ``session.busy``, and each ``Turn.parks_message``. Once the
    session no longer ``keeps_parked``, the latter come before later messages: as one event (`merged`) if the session
    ``has_parked_messages``, else one by one. A defect in this program may raise anything; a defect in a flow raises
    nothing.
    """
    with PatternTime() as patterns:
        turn = (
            TurnContext(library, session, event) if session.voice_note is None else begin_turn(library, session, event)
        )
        if session.left_exchange is not None:
            forget_left_exchange(turn.session, turn.now)
        try:
            executor = Executor(turn)
            _on_event(executor, turn.event)
            while turn.offered is not None or (turn.session.team_questions and take_decision(executor)):
                if turn.offered is not None:
                    _offer_again(executor, turn.offered)
        except (FlowBroken, *FAILURES) as broken:
            turn.result.failure = str(broken)
            turn.trace.problem(f"ended: {turn.result.failure}")
            call_error_hooks(turn, turn.result.failure)
            end_all(turn)
    if patterns.is_up:
        turn.trace.problem(_SLOW_PATTERNS)
    if turn.session.apology_due:
        apologise(turn)
    if turn.session.opted_out:
        keep_quiet(turn)
    if turn.session.history and not (turn.session.frames and turn.keeps_history):
        turn.session.history = ()  # it is of one conversation
    if session.frames:
        note_left_exchange(turn, session)
    if session.team_questions or turn.session.team_questions:
        withdraw_left(turn, session)
    if library.drops_files:
        note_dropped(turn, session)
    if turn.cleared:
        delete_cleared(turn)
    if turn.session.made_files:
        delete_made(turn)
    results = results_of(turn, session)
    if library.hooks or library.bot.events_to is not None:
        publish_changes(turn, session, results)
        call_end_hooks(turn, session)
    if turn.session.tags is not session.tags or isinstance(event, ContactChanged):
        update_gateway_contact(turn, session)
    parked = kept(turn.event) if turn.result.parks_message and isinstance(turn.event, FROM_CONTACT) else None
    return turn.result.build(turn.session, wake_at(turn), turn.trace, parked, results)


def _on_event(executor: Executor, event: Event) -> None:
    """Call the function for this kind of event."""
    turn = executor.turn
    if isinstance(event, FROM_CONTACT):
        if isinstance(event, MessageReceived) and event.kind in UNHEARD_KINDS:
            turn.trace.rule = f"{UNHEARD_KINDS[event.kind]}: not heard"
            return
        turn.session.unsolicited = False  # the contact continues the conversation, and not time
        turn.session.broadcast = None
        _note_contact(turn, event)
        reply, history, note = reply_of(event), turn.session.history, turn.session.voice_note
        if turn.keeps_history and turn.session.agent is None:
            remember(turn, CONTACT, event.title if isinstance(event, Tapped) else from_contact(reply))
        offer_message(executor, reply)
        if turn.result.parks_message or turn.session.voice_note is not note:
            turn.session.history = history  # it is added when it is taken
        return
    if isinstance(event, TimeReached):
        turn.session.woken += 1
        turn.session.unsolicited |= turn.session.opted_out
        clamp_to_now(turn)
    at_any_step = (
        ConversationAssigned | ResetRequested | StartRequested | SignalReceived | SharedRunRequested | ValuesSet
    )
    if not isinstance(event, at_any_step) and _edited_flow(executor, Reply()):
        return
    match event:
        case TimeReached():
            on_time_reached(executor)
        case SendEnded():
            on_send_ended(executor, event)
        case CallEnded():
            on_call_ended(executor, event)
        case CallProgressed():
            on_call_progressed(executor, event)
        case ContactChanged():
            on_contact_changed(executor, event)
        case ConversationOpened() | ConversationAssigned():
            on_conversation(executor, event)
        case HandoffClosed():
            on_handoff_closed(executor, event)
        case StatusReported():
            turn.trace.rule = f"message {event.status}"
            executor.run(start_by_event(turn))
        case StartRequested():
            on_start_requested(executor, event)
        case SignalReceived():
            on_signal_received(executor, event)
        case SharedRunRequested():
            on_shared_run(executor, event)
        case ValuesSet():
            on_values_set(executor, event)
        case ColleagueDecided():
            on_colleague_decided(executor, event)
        case ResetRequested():
            turn.trace.rule = "reset"
            turn.session.valid_replies, turn.session.voice_note, turn.session.left_exchange = (), None, None
            end_all(turn)


def _note_contact(turn: TurnContext, event: MessageReceived | Tapped) -> None:
    """Note that the contact has written: this opens the window, and may name the channel and the conversation."""
    session = turn.session
    turn.put_since = put_since(session, session.frames[-1], event) if session.frames else None
    session.due_count = session.refusals = 0
    sent_at = min(event.sent_at, event.at)  # by the sender's clock: no message is written after it has come
    if session.last_inbound is None or sent_at > session.last_inbound:
        session.last_inbound = sent_at
    if isinstance(event, MessageReceived):
        session.channel = event.channel or session.channel
        session.conversation = event.conversation or session.conversation


# -- who gets a message -------------------------------------------------------------------------------


def offer_message(executor: Executor, reply: Reply) -> None:
    """Offer a message in the order of `FIRST`, then of `OFFERS` or `OFFERS_OUTSIDE`, until one of them takes it. The
    handlers in `OF_TAPS` are passed over if it is written.
    """
    turn = executor.turn
    frame, waiting, visit = turn.session.frame, 0, 0
    if frame is not None:
        if frame.parked_messages and not turn.session.keeps_parked:
            frame.parked_messages = 0
        waiting, visit = frame.parked_messages, frame.visit
    for offer in FIRST:
        if offer(executor, reply):
            break
    else:
        frame = turn.session.frame
        if frame is not None:
            frame.silent_since = turn.event.at
        for offer in _OFFERS_OF[frame is not None, reply.is_tap]:
            if offer(executor, reply):
                break
    now = turn.session.frame
    turn.result.drops_parked = waiting > 0 and (now is None or now.visit != visit)


def _opt_out(executor: Executor, reply: Reply) -> bool:
    """The words of `opt_out`. A word that ends it is then handled like any other message. Raises `TemplateFailed`;
    the contact has opted out in that case, too.
    """
    turn = executor.turn
    opt_out = turn.library.bot.opt_out
    if not opt_out.words:
        return False
    said = [normalise(text) for text in reply.texts]
    heard = next((word for word in said if word in opt_out.words), None) or opts_out(reply.text or "")
    if heard is None:
        if turn.session.opted_out and any(word in opt_out.back for word in said):
            remove_tag(turn, OPTED_OUT)
        return False
    turn.trace.rule = f'opt-out "{heard}"'
    add_tag(turn, OPTED_OUT)
    end_all(turn)
    try:
        if opt_out.say is not None:
            send(turn, TextMessage(opt_out.say.render(turn.scope())))
    finally:
        turn.session.unsolicited = True  # requests from before no longer count
    return True


def _to_agent(executor: Executor, reply: Reply) -> bool:
    """A person has the conversation: the bot is silent."""
    turn = executor.turn
    session, event = turn.session, turn.event
    if session.agent is not None:
        turn.trace.rule = "an agent has the conversation: not heard"
    if session.silent_until is not None and isinstance(event, FROM_CONTACT):
        turn.trace.rule = "an agent has answered: kept until the bot goes on"
        session.unanswered = (*session.unanswered, event)[-MOST_UNANSWERED:]
    return session.agent is not None


def _late_messages(executor: Executor, reply: Reply) -> bool:
    """Messages that waited until the contact writes come first. A person who is to answer is not interrupted."""
    turn = executor.turn
    if turn.session.late_messages and turn.session.hand_over is None:
        bring_late(turn)
    return False


def _edited_flow(executor: Executor, reply: Reply) -> bool:
    """A flow that was edited while the contact waited. If that moves the contact, the event is not for the new step."""
    return executor.migrate_session()


def _voice_note(executor: Executor, reply: Reply) -> bool:
    """A voice note that is transcribed first, as `transcribe` says: it is taken as a text afterwards."""
    event = executor.turn.event
    return isinstance(event, MessageReceived) and event.kind == "audio" and ask_for_words(executor.turn, event)


def _hand_over(executor: Executor, reply: Reply) -> bool:
    """A step that waits for a person ignores all messages."""
    ignores_messages = executor.turn.step.facts.ignores_messages
    if ignores_messages:
        executor.turn.trace.rule = "hand-over: not heard"
    return ignores_messages


def _question_to_continue(executor: Executor, reply: Reply) -> bool:
    """The question whether to continue an interrupted flow. Yes asks the flow's own question again; no ends it."""
    turn, frame = executor.turn, executor.turn.frame
    if not frame.question.to_continue or frame.question.undelivered or not _is_current(turn, frame, reply):
        return False
    agreed = yes_no_question.agreed(turn.step_context(), reply)
    if agreed is None:
        return False
    frame.question = replace(frame.question, to_continue=False)
    if agreed:
        turn.trace.rule = "goes on"
        executor.run(put_again(turn))
    else:
        turn.trace.rule = "does not go on"
        remove_step_tags(turn, (frame,))
        drop_flow(turn)
        executor.run(return_to_interrupted(turn))
    return True


def _own_buttons(executor: Executor, reply: Reply) -> bool:
    """The step's own buttons and the replies of its template come before any word."""
    turn, frame = executor.turn, executor.turn.frame
    if reply.tap is None and not turn.step.facts.texts_before_words:
        return False
    if frame.question.undelivered or not _is_current(turn, frame, reply):
        return False
    result = ask(turn, turn.step.kind.answer_before_words, reply)
    executor.run(result, "tap" if reply.tap else "reply")
    return result is not None


def _earlier_template(executor: Executor, reply: Reply) -> bool:
    """A tap on a template whose replies are still valid. Its conversation continues as it was at that time."""
    turn, tap = executor.turn, reply.tap
    if tap is None or not turn.session.valid_replies:
        return False
    frame, kept = turn.session.frame, replies_to(turn, tap.flow, tap.visit)
    if kept is None or (frame is not None and frame.visit == tap.visit):
        return False
    if frame is not None and frame.awaited_effect is not None:
        executor.run(PostponeMessage())
        return True
    return _go_back_to_template(executor, kept, reply)


def _title_of_template(executor: Executor, reply: Reply) -> bool:
    """The title of a reply to an earlier template, if only one template with valid replies has it."""
    turn = executor.turn
    if reply.text is None or not turn.session.valid_replies or reply.is_foreign:
        return False
    kept = replies_with(turn, reply.text)
    return kept is not None and _go_back_to_template(executor, kept, reply)


def _go_back_to_template(executor: Executor, kept: ValidReplies, reply: Reply) -> bool:
    """Continue the conversation that sent a template, by a reply to it. Returns False if nothing takes it."""
    turn, session = executor.turn, executor.turn.session
    before = session.frames, session.tags, turn.ended
    if return_to_conversation(turn, kept):
        turn.trace.rule = "reply to an earlier template"
        if _own_buttons(executor, reply):
            if kept.once:
                session.valid_replies = tuple(each for each in session.valid_replies if each is not kept)
            return True
        turn.trace.rule = ""
    session.frames, session.tags, turn.ended = before
    return False


def _payload(executor: Executor, reply: Reply) -> bool:
    """A tap whose payload is a signal that the conversation waits for. A tap on an old button of the bot's own may also
    start a flow by its payload. For other buttons a later handler does that.
    """
    turn, bot = executor.turn, executor.turn.library.bot
    signal = tapped_signal(turn, reply) if bot.payloads and turn.session.frame is not None else None
    if signal is not None:
        if take_signal(executor, signal):
            return True
        turn.trace.notes.append(turn.trace.rule)
        turn.trace.rule = ""
    if reply.tap is None or reply.tap.payload is None or start_by_payload(turn, reply) is None:
        return False
    if turn.session.waits_for_effect:
        executor.run(PostponeMessage())
        return True
    if turn.session.frame is not None:
        return _interruption(executor, reply)
    executor.run(start_by_message(turn, reply))
    return True


def _old_tap(executor: Executor, reply: Reply) -> bool:
    """A tap on a question that is over, or whose choices have changed."""
    tap = reply.tap
    if tap is None:
        return False
    turn, frame = executor.turn, executor.turn.session.frame
    if frame is None:
        if turn.library.bot.defaults.old_taps == "message":
            return False
    elif frame.question.undelivered and _is_current(turn, frame, reply):
        return False
    policy = _policy(turn)
    _follow_policy(executor, reply, f"old tap: {policy}", policy)
    return True


def _foreign_tap(executor: Executor, reply: Reply) -> bool:
    """A tap on a button that no step has shown, while a question waits: it is no answer, whatever its title."""
    turn = executor.turn
    if not turn.step.facts.asks:
        return False
    policy = _policy(turn)
    _follow_policy(executor, reply, f"tap on another button: {policy}", policy)
    return True


def _policy(turn: TurnContext) -> str:
    """The reaction to a tap that answers nothing here."""
    other = turn.session.frame is not None and "other" in turn.step.transitions
    return turn.defaults.old_taps or ("message" if other else "explain")


def _follow_policy(executor: Executor, reply: Reply, rule: str, policy: str) -> None:
    turn, frame, tap = executor.turn, executor.turn.session.frame, reply.tap
    turn.trace.rule = rule
    known = None if tap is None else turn.library.flows.get(tap.flow)
    if policy == "explain":
        send(turn, TextMessage(wording(turn.scope(), "old_tap")))
        if frame is not None and turn.step.facts.waits:
            executor.run(put_again(turn))
    elif policy == "reopen" and tap and known is not None and (step := _tapped_at(known, tap)) is not None:
        target = f"/{tap.flow}/{step}"
        if frame is None:
            executor.run(open_flow(turn, target, {}))
        else:
            executor.run(executor.go(target, alone=all(each.flow != tap.flow for each in turn.session.frames)))
    elif policy == "message" and frame is not None:
        if turn.session.waits_for_effect:
            executor.run(PostponeMessage())
        else:
            other_or_retry(executor, reply)


def _undelivered_question(executor: Executor, reply: Reply) -> bool:
    """A question that did not reach the contact: their message cannot be its answer, so it is asked again."""
    turn, frame = executor.turn, executor.turn.frame
    if frame.question.to_continue:
        frame.question = replace(frame.question, to_continue=False)
    if frame.question.undelivered:
        turn.trace.rule = "put again: it had not been seen"
        executor.run(put_again(turn))
        return True
    return False


def _gather(executor: Executor, reply: Reply) -> bool:
    """A text or a file at a step with `gather`: it is parked until no more follow, and all of them come back as one
    message.
    """
    turn, event = executor.turn, executor.turn.event
    if not turn.defaults.gather or turn.session.waits_for_effect:
        return False
    fresh = isinstance(event, MessageReceived) and not is_kept(event)
    written = (bool(reply.text) or reply.media is not None) and reply.tap is None and reply.payload is None
    if not fresh or not written or not turn.step.kind.gathers(turn.step_context(), reply):
        return False
    frame = turn.frame
    if frame.gathers_since is None:
        frame.waits = ForContact(() if frame.waits is None else frame.waits.effects, gathers_since=event.at)
    executor.park("gathered: more may follow")
    return True


def _answer(executor: Executor, reply: Reply) -> bool:
    """An answer to the step's question: `skip`, a choice, or a value of the variable."""
    turn = executor.turn
    result = ask(turn, turn.step.kind.answer, reply)
    if isinstance(result, LeaveStep) and turn.flow.is_menu:
        note_sentence(turn, reply)
    elif isinstance(result, LeaveStep) and reply.text is not None and not reply.is_tap:
        note_rest(turn, reply.text, result)
    executor.run(result, "answer")
    return result is not None


def _to_slots(executor: Executor, reply: Reply) -> bool:
    """A message that is no answer as a whole, but holds answers to several questions, or corrects an earlier answer."""
    written = bool(reply.text) and not reply.is_tap
    return written and bool(executor.turn.flow.slots) and look_ahead(executor, reply.text or "")


def _several_answers(executor: Executor, reply: Reply) -> bool:
    """The answer to the waiting question, where it is a slot and the message answers others, too: not "two teas, no,
    forget it".
    """
    turn, text = executor.turn, reply.text or ""
    asked = not reply.is_tap and turn.frame.step in turn.flow.slots and " " in text.strip()
    return asked and not calls_off(text) and look_ahead(executor, text, with_others=True)


def _slots_by_model(executor: Executor, reply: Reply) -> bool:
    """A text in which the questions themselves have found no answers: a model looks for them (see `_offer_again`)."""
    written = bool(reply.text) and not reply.is_tap
    return written and look_by_model(executor, reply.text or "", {})


def _interruption(executor: Executor, reply: Reply) -> bool:
    """A start of another flow, if the active flow lets others interrupt it. If that flow is open below, the
    conversation returns to it.
    """
    return _interrupted_by(executor, reply, find_start)


def _wish(executor: Executor, reply: Reply) -> bool:
    """A wish at the bot's menu, in other words than those that start a flow: see `find_wish`."""
    return _interrupted_by(executor, reply, find_wish)


def _interrupted_by(executor: Executor, reply: Reply, find: Callable[[TurnContext, Reply], FoundStart | None]) -> bool:
    turn = executor.turn
    match = None if turn.flow.interrupted is None else find(turn, reply)
    if match is None or match.flow == turn.flow.name:
        return False
    note_opening(turn, reply, whole=match.whole)
    _interrupt(executor, match.flow, match.inputs)
    turn.trace.rule += f": {match.by}" if match.by else ""
    return True


def _question(executor: Executor, reply: Reply) -> bool:
    """Handle a question that the contact asks instead of answering, where the flow may be interrupted.

    At a question for free text it is the answer. If a part of it would be an answer, it may be meant as that ("is the
    large one there?").
    """
    turn, text = executor.turn, reply.text or ""
    asks = has_own_answers(turn.step) and turn.flow.interrupted is not None and turn.put_since is None
    asked = asked_flow(turn, text) if asks and reply.tap is None and reply.payload is None else None
    if asked is None or asked == turn.flow.name or may_mean_answer(turn, text):
        return False
    _interrupt(executor, asked, {})
    turn.trace.rule += ": a question"
    return True


def _interrupt(executor: Executor, flow: str, inputs: Mapping[str, Any]) -> None:
    turn = executor.turn
    turn.trace.rule = f"interrupted by {flow}"
    if go_back_to(turn, flow):
        executor.run(return_to_interrupted(turn, agreed=True))
    else:
        executor.run(interrupt(turn, flow, inputs))


def _to_intent(executor: Executor, reply: Reply) -> bool:
    """A model is asked which flow it is about, if the active flow lets others interrupt it: see `_offer_again`."""
    turn = executor.turn
    asked = None if turn.flow.interrupted is None else ask_what_about(turn, reply)
    executor.run(asked)
    return asked is not None


def _start(executor: Executor, reply: Reply) -> bool:
    """The flow that the message starts."""
    executor.run(start_by_message(executor.turn, reply))
    return True


def _offer_again(executor: Executor, offered: Redirect) -> None:
    """Offer a message that a model was asked about: to the flow that it is about, or with the answers in it.

    Otherwise to the handlers after `_to_intent`, or after `_slots_by_model`.
    """
    turn, reply = executor.turn, offered.message
    turn.offered = None
    if offered.draft is not None:
        choose_draft(executor, offered.draft)
    elif reply is None:
        _edited_flow(executor, Reply())
    elif offered.anew:
        offer_message(executor, reply)
    elif offered.found is not None:
        if not _edited_flow(executor, reply):
            _offer_found(executor, offered.found, reply)
    elif not _edited_flow(executor, reply):
        if turn.session.frame is None:
            executor.run(start_by_intent(turn, offered.flow, reply))
        elif offered.flow is None:
            if not _question(executor, reply):
                other_or_retry(executor, reply)
        else:
            turn.pending_input = reply
            note_opening(turn, reply)
            _interrupt(executor, offered.flow, {})


def _offer_found(executor: Executor, found: Mapping[str, str], reply: Reply) -> None:
    """Take the answers that were found in a message. If there are none, offer it to the handlers that follow."""
    if executor.turn.session.frame is None:  # an edit has ended the conversation
        offer_message(executor, reply)
    elif not (
        accept_found(executor, found, reply.text or "") or _to_intent(executor, reply) or _question(executor, reply)
    ):
        other_or_retry(executor, reply)


MessageHandler = Callable[[Executor, Reply], bool]
"""A function that takes a message, or returns False to pass it on."""

FIRST: tuple[MessageHandler, ...] = (
    _opt_out,  # "stop" works in every flow and outside of all
    _to_agent,
    _late_messages,
    _edited_flow,
    _voice_note,
)
OFFERS: tuple[MessageHandler, ...] = (
    _hand_over,
    _question_to_continue,
    _own_buttons,
    _earlier_template,
    _payload,
    _old_tap,
    to_word,  # "menu", "help"
    _undelivered_question,
    _gather,
    _several_answers,
    _answer,
    to_calling_off,  # "something came up, forget it"
    answer_small_talk,  # "thanks", "are you open on Sunday?"
    _to_slots,
    _interruption,
    to_polite_word,  # "stop it, please"
    answer_kind_words,  # "thanks for the lovely breakfast"
    _foreign_tap,
    _slots_by_model,
    _to_intent,
    _wish,  # "can you squeeze me in?"
    _question,
    other_or_retry,  # takes every other message
)
"""The handlers for a message of a contact who is in a flow."""

OFFERS_OUTSIDE: tuple[MessageHandler, ...] = (
    _earlier_template,
    _payload,
    _old_tap,
    to_word,
    _title_of_template,
    to_polite_word,
    to_calling_off,
    answer_outside,
    _start,
)
"""The handlers for a message of a contact who is in no flow."""

OF_TAPS: frozenset[MessageHandler] = frozenset({_earlier_template, _old_tap, _foreign_tap})
"""The handlers that take nothing but taps."""

_OFFERS_OF = {
    (in_flow, is_tap): tuple(offer for offer in offers if is_tap or offer not in OF_TAPS)
    for in_flow, offers in ((True, OFFERS), (False, OFFERS_OUTSIDE))
    for is_tap in (True, False)
}
"""The handlers for a contact who is in a flow, or in none, and for a tap, or what is written."""


def _is_current(turn: TurnContext, frame: Frame, reply: Reply) -> bool:
    """True if a reply may belong to the waiting question. A tap must be on its buttons, also under a former name of its
    step.
    """
    tap = reply.tap
    if tap is None:
        return True
    asked = (tap.flow, tap.visit) == (frame.flow, frame.visit)
    return asked and name_now(turn.flow, tap.step, frame.former_step_names) == frame.step


def _tapped_at(flow: Flow, tap: ReplyId) -> str | None:
    """The step whose buttons were tapped; None for a step without buttons, whose id somebody has typed."""
    step = name_now(flow, tap.step)
    return step if step is not None and flow.can_be_tapped(flow.steps[step]) else None
