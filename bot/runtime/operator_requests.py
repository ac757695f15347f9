"""Requests of an operator to a running engine, dead letters included. Each leaves a line in the trace."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from bot.core.effects import Send
from bot.core.engine_answers import (
    ConversationChanged,
    ConversationHeld,
    DeadLettersEnded,
    Done,
    EngineAnswer,
    FlowStarted,
    MessageAccepted,
    SignalReported,
    Status,
)
from bot.core.engine_requests import (
    A,
    AddRecipients,
    AgreeToCall,
    AnswerContact,
    AnyRequest,
    AskStatus,
    BeginCorrection,
    ContactAct,
    CorrectRecipients,
    DropDeadLetters,
    EndCorrection,
    EngineRequest,
    EraseContact,
    GiveBack,
    NoteCommand,
    NoteContact,
    RefuseCall,
    ReportSignal,
    ResetContact,
    ResumeBroadcast,
    RetryDeadLetters,
    SendMessage,
    SetValues,
    StartFlow,
    StopBroadcast,
    TakeOver,
    answer_to,
)
from bot.core.events import (
    ColleagueDecided,
    ConversationAssigned,
    HandoffClosed,
    ResetRequested,
    SignalReceived,
    StartRequested,
    ValuesSet,
)
from bot.core.filetypes import FILE_TYPES
from bot.core.messages import TEXT_BODY, MediaMessage, Message, TemplateMessage, TextMessage, suffix_of, violations
from bot.core.session import BUSY, Session, effect_ref
from bot.core.turn import SKIPPED, STARTED, WAITS, Turn
from bot.core.values import json_text
from bot.engine.scheduled_flows import objections, signal_objections
from bot.language.flow.library import Library
from bot.language.source.wall_clock import duration_words
from bot.runtime.batch import Batch, RequestRefused
from bot.runtime.broadcast_requests import (
    add_recipients,
    begin_edit,
    correct,
    end_edit,
    read_content,
    read_template,
    read_time_to_begin,
    resume,
    stop,
    wait_again,
)
from bot.runtime.broadcasting import TakeBack
from bot.runtime.gateway_commands import note_command
from bot.store.broadcast_rows import RUNNING, TRYING
from bot.store.dead_letter_rows import DeadSend
from bot.store.rows import CAMPAIGN, LAST_ID, REPLY, SYNC, NewEvent
from bot.store.trace_rows import OPERATOR


def operate(batch: Batch, request: EngineRequest[A], take_back: TakeBack = set) -> A:
    """Do a request within a batch. Raises `RequestRefused`; nothing has been added then.

    ``take_back`` takes messages back from delivery, before they are sent.
    """
    return answer_to(request, _done(batch, _addressed(batch, request), take_back))


def _addressed(batch: Batch, request: AnyRequest) -> AnyRequest:
    """The request with its contact under the number by which the bot knows the person."""
    if isinstance(request, ContactAct):
        return replace(request, contact=batch.sessions.person(request.contact))
    return request


def _done(batch: Batch, request: AnyRequest, take_back: TakeBack) -> EngineAnswer:
    match request:
        case AskStatus():
            return Status(batch.commit.cursor)
        case ResetContact():
            return _reset(batch, request)
        case StartFlow():
            return _start(batch, request)
        case ReportSignal():
            return _signal(batch, request)
        case SetValues():
            return _set(batch, request)
        case EraseContact():
            return Done()  # the cycle has deleted all that is kept of the contact, before anything else
        case SendMessage():
            return _send(batch, request)
        case TakeOver():
            return _take_over(batch, request)
        case AnswerContact():
            return _answer_contact(batch, request)
        case GiveBack():
            return _give_back(batch, request)
        case NoteContact():
            return _note(batch, request)
        case AgreeToCall() | RefuseCall():
            return _decide(batch, request)
        case RetryDeadLetters():
            return retry_dead_letters(batch, request.ids, _event_id(), request.by, sure=request.sure)
        case DropDeadLetters():
            return drop_dead_letters(batch, request.ids, _event_id(), request.by)
        case AddRecipients():
            content, time = read_content(request), read_time_to_begin(request)
            return add_recipients(batch, request.name, content, request.recipients, request.by, *time)
        case StopBroadcast():
            return stop(batch, request.name, _event_id(), take_back, request.by)
        case ResumeBroadcast():
            return resume(batch, request.name, _event_id(), request.by)
        case BeginCorrection():
            content, time = read_content(request), read_time_to_begin(request)
            return begin_edit(batch, request.name, content, _event_id(), take_back, *time)
        case CorrectRecipients(edit=int(edit)):
            return correct(batch, request.name, edit, request.recipients, request.moved)
        case EndCorrection(edit=int(edit)):
            return end_edit(batch, request.name, edit, _event_id())
        case NoteCommand():
            note_command(batch.commit, request.command)
            return Done()
    raise RequestRefused(f'this part of the engine does not do the request "{request.do}"')


def refuse_mistakes(library: Library, request: AnyRequest) -> None:
    """Raise `RequestRefused` for a start or a signal with a mistake (an unknown name, data that do not fit), so that it
    leaves no dead letter.
    """
    wrong: Mapping[str, str] = {}
    match request:
        case StartFlow():
            wrong = objections(library, request.flow, request.data)
        case ReportSignal():
            wrong = signal_objections(library, request.name, request.data, by_address=False)
    if wrong:
        raise RequestRefused("; ".join(wrong.values()))


def _reset(batch: Batch, request: ResetContact) -> ConversationChanged:
    """End everything that a contact is in."""
    contact = request.contact
    if not batch.session(contact).frames:
        raise RequestRefused(f"{contact} is in no conversation")
    batch.take(ResetRequested(_event_id(), contact, batch.now, request.by))
    return ConversationChanged(contact)


def _start(batch: Batch, request: StartFlow) -> FlowStarted:
    """Start a flow for a contact, with ``data``; ``busy`` is as in a flow's `start`."""
    contact, flow, busy = request.contact, request.flow, request.busy
    if busy is not None and busy not in BUSY:
        raise RequestRefused(f"busy is one of {', '.join(BUSY)}")
    event = StartRequested(_event_id(), contact, batch.now, flow, request.data, busy, request.by)
    before = batch.session(contact)
    turn = batch.take(event)
    if turn is None or turn.failure is not None:
        return FlowStarted(contact, flow, _failure(turn), "failed")
    if before.opted_out:
        return FlowStarted(contact, flow, "", "opted_out")
    if turn.start in (WAITS, SKIPPED):
        return FlowStarted(contact, flow, "", turn.start)
    return FlowStarted(contact, flow, _window_warning(turn, batch.now), STARTED)


def _signal(batch: Batch, request: ReportSignal) -> SignalReported:
    """Report a signal, with ``data``, to the step that waits for it."""
    contact, name = request.contact, request.name
    event = SignalReceived(_event_id(), contact, batch.now, name, request.data, request.by)
    turn = batch.take(event)
    if turn is None or turn.failure is not None:
        return SignalReported(contact, name, _failure(turn), "failed")
    if any(plan.name == event.id for plan in turn.session.plans):
        return SignalReported(contact, name, "", "waits")
    return SignalReported(contact, name, "", "heard" if turn.trace.steps else "unheard")


def _failure(turn: Turn | None) -> str:
    return "see `bot queue`" if turn is None else str(turn.failure)


def _set(batch: Batch, request: SetValues) -> ConversationChanged:
    """Set variables of an open flow: of the active one, unless the request names another."""
    event = ValuesSet(_event_id(), request.contact, batch.now, request.values, request.flow, request.by)
    if (failure := batch.failure_of(event)) is not None:
        raise RequestRefused(failure)
    batch.take(event)
    return ConversationChanged(request.contact)


def _window_warning(turn: Turn, now: datetime) -> str:
    """A warning if messages of a turn will not be sent because the contact's window is closed; else empty."""
    sends = [effect for effect in turn.effects if isinstance(effect, Send)]
    if turn.session.window_is_open(now) or all(
        isinstance(send.message, TemplateMessage) or send.instead is not None for send in sends
    ):
        return ""
    return (
        "what is no template cannot be sent: the contact's 24-hour window is closed "
        "(begin the flow with a template, or write window_closed)"
    )


def _take_over(batch: Batch, request: TakeOver) -> ConversationHeld:
    """A person takes a conversation: what follows is the same as after the gateway's ``conversation.assigned``.

    A person who has it already keeps it, without another event. If another person has it, the request is refused and
    names that person; a request with ``taken_from``, that person's name, takes it from them. So of two requests at once
    the second is refused.
    """
    contact, by = request.contact, request.by
    session = batch.session(contact)
    taken = session.agent is not None and session.silent_until is None
    if taken and session.agent == by:
        return ConversationHeld(contact, by)
    if taken and session.agent != request.taken_from:
        raise RequestRefused(_has_it(batch, session))
    if not batch.sessions.knows(contact):
        raise RequestRefused(f"nothing is known of {contact}: there is no conversation to take over")
    if session.opted_out:
        raise RequestRefused(f"{contact} has opted out: you could not write to them")
    turn = batch.take(ConversationAssigned(_event_id(), contact, batch.now, agent=by))
    if turn is None:
        raise RequestRefused(f"the conversation with {contact} could not be taken over: see `bot queue`")
    return ConversationHeld(contact, by)


def _answer_contact(batch: Batch, request: AnswerContact) -> MessageAccepted:
    """A person answers in the conversation that they have taken: a text while the contact's window is open, else a
    template.
    """
    contact = request.contact
    session = batch.session(contact)
    if session.agent is None or session.silent_until is not None:
        raise RequestRefused(f"nobody has the conversation with {contact}: take it over before you answer")
    if session.agent != request.by:
        raise RequestRefused(_has_it(batch, session))
    if request.template is None and not session.window_is_open(batch.now):
        raise RequestRefused(f"the 24-hour window of {contact} is closed: only a template can be sent")
    return _send(batch, request)


def _give_back(batch: Batch, request: GiveBack) -> ConversationHeld:
    """A person has finished: what follows is the same as after the gateway's ``conversation.resolved``.

    Nothing happens where nobody has the conversation: it was given back before. If somebody has only answered at the
    gateway, the bot goes on at once.
    """
    contact, by = request.contact, request.by
    session = batch.session(contact)
    may = session.agent == by or session.silent_until is not None
    if session.agent is not None and not may:
        raise RequestRefused(_has_it(batch, session))
    if may and batch.take(HandoffClosed(_event_id(), contact, batch.now, by=by)) is None:
        raise RequestRefused(f"the conversation with {contact} could not be given back: see `bot queue`")
    return ConversationHeld(contact, None)


def _has_it(batch: Batch, session: Session) -> str:
    taken = "" if session.taken_at is None else f" for {duration_words(batch.now - session.taken_at)}"
    return f"{session.agent} has had the conversation with {session.contact}{taken}: it can be taken over from them"


def _send(batch: Batch, request: SendMessage | AnswerContact) -> MessageAccepted:
    """Send a ``text`` or a ``file``, which go only while the contact's window is open, or a ``template``."""
    contact = request.contact
    if isinstance(request, AnswerContact) and request.file is not None:
        message: Message = _file_at(request.file, request.text or None)
    elif request.text is not None:
        message = TextMessage(request.text)
    elif request.template is not None:
        message = read_template(request.template)
    else:
        raise RequestRefused("a message is a text or a template")
    if broken := violations(message):
        raise RequestRefused("; ".join(broken))
    session = batch.session(contact)
    if session.opted_out:
        raise RequestRefused(
            f"{contact} has opted out, and is only answered (an agent can still write from the gateway's inbox)"
        )
    event_id = _event_id()
    row = batch.send_row(effect_ref(event_id, 0), Send(message), session)
    batch.commit.messages.add(row)
    asked = json_text({"do": "send", "by": request.by})
    batch.commit.add_note(contact, event_id, asked, OPERATOR, f"message {row.id}", json_text([row.effect]))
    return MessageAccepted(row.id, contact)


def _file_at(link: str, caption: str | None) -> MediaMessage:
    """The message with the file at an address, whose ending tells the kind of the file."""
    suffix = suffix_of(link)
    kind = next((each.kind for each in FILE_TYPES if each.sent and each.suffix == suffix.replace("jpeg", "jpg")), None)
    if kind is None:
        known = ", ".join(each.suffix for each in FILE_TYPES if each.sent)
        raise RequestRefused(f"the address of a file has to end with its type: {known}")
    name = unquote(PurePosixPath(urlsplit(link).path).name) if kind == "document" else None
    return MediaMessage(kind, link, caption, name)


def _note(batch: Batch, request: NoteContact) -> Done:
    text = request.text.strip()
    if not text or len(text) > TEXT_BODY:
        raise RequestRefused(f"a note has 1 to {TEXT_BODY} characters")
    if not batch.sessions.knows(request.contact):
        raise RequestRefused(f"nothing is known of {request.contact}: there is nothing to note")
    noted = json_text({"do": "note", "by": request.by, "text": text})
    batch.commit.add_note(request.contact, _event_id(), noted, OPERATOR, "for the people who answer")
    return Done()


def _decide(batch: Batch, request: AgreeToCall | RefuseCall) -> Done:
    """A person decides on the call that a step has asked about. Only the first decision counts."""
    contact, note = request.contact, request.note.strip()
    if len(note) > MOST_NOTE:
        raise RequestRefused(f"a note for the bot has {MOST_NOTE} characters at most")
    asked = next((each for each in batch.session(contact).team_questions if each.id == request.question), None)
    if asked is not None and asked.decision is not None:
        raise RequestRefused(f"{asked.decision.by} has decided this already")
    if asked is None or batch.now >= asked.until:
        why = "it was decided or withdrawn, or its time is over"
        raise RequestRefused(f"nothing is asked of {contact} any more: {why}")
    agreed = isinstance(request, AgreeToCall)
    event = ColleagueDecided(_event_id(), contact, batch.now, asked.id, agreed, note, request.by)
    if batch.take(event) is None:
        raise RequestRefused(f"the decision on {contact} could not be taken: see `bot queue`")
    return Done()


def _event_id() -> str:
    return f"operator:{uuid4().hex}"


MOST_NOTE = 300
"""The most characters of a note with a decision: the model gets it in one line."""

MOST_DEAD_LETTERS = 500
"""The most dead letters that one request may name."""


EndDeadLetters = RetryDeadLetters | DropDeadLetters


def end_dead_letters(ask: Callable[[EndDeadLetters], DeadLettersEnded], request: EndDeadLetters) -> DeadLettersEnded:
    """Have an engine retry or drop any number of dead letters, by several requests. Returns the sum of its answers."""
    starts = range(0, len(request.ids), MOST_DEAD_LETTERS)
    answers = [ask(replace(request, ids=[*request.ids[start : start + MOST_DEAD_LETTERS]])) for start in starts]
    return DeadLettersEnded(
        done=[id for answer in answers for id in answer.done],
        missing=[id for answer in answers for id in answer.missing],
        opted_out=[id for answer in answers for id in answer.opted_out],
        same_key=[id for answer in answers for id in answer.same_key],
        may_double=[id for answer in answers for id in answer.may_double],
        held=sorted({name for answer in answers for name in answer.held}),
    )


def retry_dead_letters(batch: Batch, ids: Sequence[int], event_id: str, by: str, *, sure: bool) -> DeadLettersEnded:
    """Send the messages of dead letters again, behind all other messages to their contacts, and deliver their events
    again.

    When several messages are retried, new replies are sent first. Unless the operator is ``sure``, messages that may
    have been sent stay: those which the gateway may recognise by the ``same_key``, and those which ``may_double``,
    since they go under a new key, or without one. Raises `RequestRefused`.
    """
    there = [id for id in _read(ids) if _is_there(batch, id)]
    found = {id: dead for id in there if (dead := batch.store.dead_letters.send(id)) is not None}
    events = {id: event for id in there if (event := batch.store.dead_letters.event(id)) is not None}
    stay: dict[str, list[int]] = {"opted_out": [], "same_key": [], "may_double": []}
    for id, dead in [*found.items()]:
        if isinstance(dead.effect, Send) and batch.session(dead.contact).opted_out:
            stay["opted_out"].append(id)
        elif isinstance(dead.effect, Send) and dead.may_be_sent and not sure:
            stay["same_key" if dead.key_helps else "may_double"].append(id)
        else:
            continue
        del found[id]
    held = set()
    for ordinal, (id, dead) in enumerate(found.items()):
        batch.commit.dead_letters.end(id)
        ref = effect_ref(event_id, ordinal)
        broadcast = wait_again(batch, dead, ref)
        if broadcast is None:
            note = _send_again(batch, dead, ref, alone=len(ids) == 1)
        else:
            note = "it waits for its broadcast's message again"
            held |= set() if broadcast.state in (TRYING, RUNNING) else {broadcast.name}
        tried = {"do": "retry", "id": id, "attempts": dead.attempts, "by": by}  # these count against the limits still
        batch.commit.add_note(dead.contact, event_id, json_text(tried), OPERATOR, note)
    for id, event in events.items():
        batch.commit.dead_letters.end(id)
        batch.commit.events.add(NewEvent(event.ref, event.key, event.contact, event.effect))
        asked = json_text({"do": "retry", "id": id, "by": by})
        batch.commit.add_note(event.contact, event_id, asked, OPERATOR, "an event is delivered again")
    staying = set().union(*stay.values())
    done = found.keys() | events.keys()
    missing = [id for id in ids if id not in staying | done]
    return DeadLettersEnded(list(done), missing, **stay, held=sorted(held))


def drop_dead_letters(batch: Batch, ids: Sequence[int], event_id: str, by: str) -> DeadLettersEnded:
    """Forget dead letters for good. Raises `RequestRefused`."""
    found = {
        id: letter
        for id in _read(ids)
        if _is_there(batch, id) and (letter := batch.store.dead_letters.about(id)) is not None
    }
    for id, (what, contact) in found.items():
        dead = batch.store.dead_letters.send(id)
        batch.commit.dead_letters.end(id)
        asked = json_text({"do": "drop", "id": id, "attempts": dead.attempts if dead else 0, "by": by})
        batch.commit.add_note(contact, event_id, asked, OPERATOR, f"a dead letter was dropped: {what}")
    return DeadLettersEnded([*found], [id for id in ids if id not in found])


def _send_again(batch: Batch, dead: DeadSend, ref: str, *, alone: bool) -> str:
    """Send the message of a dead letter again. Returns in words what was done."""
    priority = REPLY if alone and isinstance(dead.effect, Send) else SYNC
    is_first = dead.send_id is not None and batch.store.broadcasts.place_of(dead.send_id) is not None
    row = batch.send_row(ref, dead.effect, batch.session(dead.contact), CAMPAIGN if is_first else priority)
    repeats = dead.may_be_sent and dead.key_helps  # under its old key the gateway will not send it twice
    batch.commit.messages.add(replace(row, key=dead.key, repeated=True) if repeats else row)
    if is_first and dead.send_id is not None:
        batch.commit.broadcasts.sent_again(dead.send_id, row.id)
    return f"message {row.id}"


def _is_there(batch: Batch, id: int) -> bool:
    return 0 < id <= LAST_ID and id not in batch.commit.dead_letters.ended


def _read(ids: Sequence[int]) -> Sequence[int]:
    if len(ids) > MOST_DEAD_LETTERS or not all(type(id) is int for id in ids):
        raise RequestRefused(f"dead letters are named by a list of {MOST_DEAD_LETTERS} numbers at most")
    return ids
