"""Who gets a reply (LANGUAGE, Replies)."""

from collections.abc import Sequence
from dataclasses import replace

from bot.core.events import MessageReceived, Tapped
from bot.core.messages import TextMessage
from bot.core.session import Frame
from bot.core.text import KEPT_CHARACTERS
from bot.engine.executor import Executor
from bot.engine.failures import FAILURES
from bot.engine.interruptions import cut_in, interrupting, take_going_on
from bot.engine.migration import name_now
from bot.engine.routing import route
from bot.engine.turn_context import TurnContext
from bot.engine.words import note_left, take_word
from bot.flow.definition import Flow
from bot.lang.wordings import wording
from bot.steps.exchange import from_contact
from bot.steps.kind import Reply
from bot.steps.replies import ReplyId

_KEPT = "kept:"


def reply_of(event: MessageReceived | Tapped) -> Reply:
    """The event as steps see it. A quick reply may come as a tap or as text (DECISIONS: replies)."""
    if isinstance(event, Tapped):
        tap = ReplyId.parse(event.reply)
        return Reply(text=event.title or event.reply, payload=event.reply) if tap is None else Reply(tap=tap)
    if event.kind == "text":
        tap = ReplyId.parse(event.text or "")
        return Reply(text=event.text) if tap is None else Reply(tap=tap)
    if event.kind == "location" and event.location is None:
        return Reply(text=event.text)
    return Reply(media=event.media, location=event.location)


def as_parked(message: MessageReceived | Tapped) -> MessageReceived | Tapped:
    """A message that a step has put off, as the event by which it is taken later: a turn happens once per event."""
    return replace(message, id=_KEPT + message.id)


def merged(messages: Sequence[MessageReceived | Tapped]) -> MessageReceived | Tapped:
    """Messages that were `kept`, as one, in order; one that is alone stays what it is."""
    last = messages[-1]
    if len(messages) == 1:
        return last
    text = "\n".join(from_contact(reply_of(message)) for message in messages)
    ids = tuple(message.id.rpartition(_KEPT)[2] for message in messages)
    sent_at = max(message.sent_at for message in messages)
    text = text[:KEPT_CHARACTERS]
    return MessageReceived(last.id, last.contact, last.at, sent_at, "text", text, together=ids)


def take_reply(walk: Executor, reply: Reply) -> None:
    """Tap ids first, the waiting template's replies, the words, the answer, other flows' triggers, `other`, `retry`."""
    work = walk.work
    frame = work.session.frame
    if work.session.agent is not None:
        work.trace.rule = "an agent has the conversation: not heard"
    elif frame is None:
        _take_idle(walk, reply)
    else:
        frame.parked_messages = frame.parked_messages if work.session.waits_for_effect else 0
        waiting, visit = frame.parked_messages, frame.visit
        _take_at(walk, frame, reply)
        now = work.session.frame
        work.drops_parked = waiting > 0 and (now is None or now.visit != visit)


def _take_at(walk: Executor, frame: Frame, reply: Reply) -> None:
    """A contact who is at a step."""
    work = walk.work
    frame.silent_since = work.event.at
    if work.step.kind.deaf:
        work.trace.rule = "hand-over: not heard"
        return
    current = reply.tap is None or _is_of(work, frame, reply.tap)
    if current and frame.asks_to_continue and not frame.question_unseen and take_going_on(walk, reply):
        return
    claimed = (
        walk.ask(lambda context: work.step.kind.claim(context, reply))
        if current and not frame.question_unseen
        else None
    )
    if claimed is not None:
        walk.take(claimed, "tap" if reply.tap else "reply")
    elif reply.tap is not None and not (current and frame.question_unseen):
        _take_old_tap(walk, reply)
    elif not take_word(walk, reply):
        _take_answer(walk, reply)


def _is_of(work: TurnContext, frame: Frame, tap: ReplyId) -> bool:
    """Whether what was tapped belongs to the question that waits, whatever its step was called then."""
    asked = (tap.flow, tap.visit) == (frame.flow, frame.visit)
    return asked and name_now(work.flow, tap.step, frame.former_step_names) == frame.step


def _take_idle(walk: Executor, reply: Reply) -> None:
    """A contact who is in no flow."""
    if reply.tap is not None and walk.work.library.bot.defaults.old_taps != "message":
        _take_old_tap(walk, reply)
    elif not take_word(walk, reply):
        route(walk, reply)


def _take_answer(walk: Executor, reply: Reply) -> None:
    """`skip`, the choices, what the variable takes; else another flow's trigger; else it is no answer."""
    work = walk.work
    work.frame.asks_to_continue = False
    if work.frame.question_unseen:
        work.trace.rule = "put again: it had not been seen"
        walk.put_again()
        return
    answer = walk.ask(lambda context: work.step.kind.answer(context, reply))
    if answer is not None:
        walk.take(answer, "answer")
    elif (started := interrupting(work, reply)) is not None:
        cut_in(walk, started)
    else:
        _take_no_answer(walk, reply)


def _take_no_answer(walk: Executor, reply: Reply) -> None:
    work, frame = walk.work, walk.work.frame
    work.pending_input = reply
    retry = work.step.defaults.retry
    if "other" in work.step.transitions:
        _leave_unanswered(walk, "other")
    elif "retry" not in work.step.transitions:
        work.trace.rule = "unread"
    elif retry is not None and retry.most is not None and frame.retries >= retry.most:
        _leave_unanswered(walk, "retry.else")
    else:
        frame.retries += 1
        work.trace.rule = f"retry {frame.retries}"
        _retry(walk, reply)


def _leave_unanswered(walk: Executor, outcome: str) -> None:
    walk.work.trace.rule = outcome
    note_left(walk.work, walk.work.step.transitions[outcome].target)
    walk.follow(outcome)


def _retry(walk: Executor, reply: Reply) -> None:
    """What the step's kind objects to the reply is said in place of what the flow says to every one."""
    work = walk.work
    try:
        objection = work.step.kind.objection(work.step_context(), reply)
    except FAILURES as failed:
        walk.fail(failed)
    else:
        walk.follow("retry", objection=objection)


def _take_old_tap(walk: Executor, reply: Reply) -> None:
    """A tap on a question that is over, or whose choices have changed."""
    work, tap = walk.work, reply.tap
    assert tap is not None
    frame = work.session.frame
    other = frame is not None and "other" in work.step.transitions
    policy = work.defaults.old_taps or ("message" if other else "explain")
    work.trace.rule = f"old tap: {policy}"
    known = work.library.flows.get(tap.flow)
    if policy == "explain":
        work.send(TextMessage(wording(work.scope(), "old_tap")))
        if frame is not None and work.step.kind.waits:
            walk.put_again()
    elif policy == "reopen" and known is not None and (step := _tapped_at(known, tap)) is not None:
        target = f"/{tap.flow}/{step}"
        if frame is None:
            walk.open(target, {})
        else:
            walk.go(target)
    elif policy == "message" and frame is not None:
        _take_no_answer(walk, reply)


def _tapped_at(flow: Flow, tap: ReplyId) -> str | None:
    """The step at which there is something to tap: an id may be typed by anybody, and opens no other."""
    step = name_now(flow, tap.step)
    return step if step is not None and flow.can_be_tapped(flow.steps[step]) else None
