"""Who gets a reply (LANGUAGE, Replies)."""

from bot.core.events import MessageReceived, Tapped
from bot.core.messages import Text
from bot.engine.interruptions import interrupt, take_going_on
from bot.engine.routing import route
from bot.engine.walk import Walk
from bot.engine.work import Work
from bot.lang.words import normalise
from bot.steps.doors import END, ROUTE
from bot.steps.kind import Reply
from bot.steps.replies import ReplyId

OLD_TAP = "That was an earlier question."


def reply_of(event: MessageReceived | Tapped) -> Reply:
    """The event as steps see it. A quick reply may come as a tap or as text (DECISIONS: replies)."""
    if isinstance(event, Tapped):
        tap = ReplyId.parse(event.reply)
        return Reply(text=event.title or event.reply) if tap is None else Reply(tap=tap)
    if event.kind == "text":
        tap = ReplyId.parse(event.text or "")
        return Reply(text=event.text) if tap is None else Reply(tap=tap)
    if event.kind == "location" and event.location is None:
        return Reply(text=event.text)
    return Reply(media=event.media, location=event.location)


def take_reply(walk: Walk, reply: Reply) -> None:
    """Tap ids first, the waiting template's replies, the bot's words, the answer, `other`, `retry`."""
    work = walk.work
    frame = work.session.frame
    if work.session.agent is not None:
        work.trace.rule = "an agent has the conversation: not heard"
        return
    if frame is None:
        _take_idle(walk, reply)
        return
    frame.silent_since = work.event.at
    if work.step.kind.deaf:
        work.trace.rule = "hand-over: not heard"
        return
    current = reply.tap is None or (reply.tap.flow, reply.tap.step, reply.tap.visit) == (
        frame.flow,
        frame.step,
        frame.visit,
    )
    if current and frame.coming_back and not frame.unseen and take_going_on(walk, reply):
        return
    claimed = walk.ask(lambda at: work.step.kind.claim(at, reply)) if current and not frame.unseen else None
    if claimed is not None:
        walk.take(claimed, "tap" if reply.tap else "reply")
    elif reply.tap is not None and not (current and frame.unseen):
        _take_old_tap(walk, reply)
    elif not _take_word(walk, reply.text):
        _take_answer(walk, reply)


def _take_idle(walk: Walk, reply: Reply) -> None:
    """A contact who is in no flow."""
    if reply.tap is not None and walk.work.library.bot.defaults.old_taps != "message":
        _take_old_tap(walk, reply)
    elif not _take_word(walk, reply.text):
        route(walk, reply)


def _take_word(walk: Walk, text: str | None) -> bool:
    """The bot's words, which are understood everywhere."""
    work = walk.work
    door = None if text is None else work.library.words.get(normalise(text))
    if door is None:
        return False
    work.trace.rule = f'word "{normalise(text or "")}"'
    _note_left(work)
    if not walk.through(door):
        return True
    target = None if door.then is None else door.then.text
    if target == END:
        work.end_all()
    elif target is not None and work.session.frame is not None:
        walk.go(target)
    elif target == ROUTE:
        route(walk, Reply(text=text))
    elif target is not None and target.startswith("/"):
        walk.open(target, {item.name: item.evaluate(work.scope()) for item in door.set})
    return True


def _take_answer(walk: Walk, reply: Reply) -> None:
    """`skip`, the choices, what the variable takes; else no answer."""
    work = walk.work
    if work.frame.unseen:
        work.trace.rule = "put again: it had not been seen"
        walk.put_again()
        return
    answer = walk.ask(lambda at: work.step.kind.answer(at, reply))
    if answer is not None:
        walk.take(answer, "answer")
    elif (flow := _interrupting(work, reply)) is not None:
        work.trace.rule = f"interrupted by {flow}"
        interrupt(walk, flow)
    else:
        _take_no_answer(walk, reply)


def _interrupting(work: Work, reply: Reply) -> str | None:
    """The flow that cuts in: another's trigger, where the waiting flow lets itself be interrupted."""
    flow = work.library.triggers.by_word(reply.text)
    return flow if work.flow.interrupted is not None and flow != work.flow.name else None


def _note_left(work: Work) -> None:
    """The question is left without an answer: `back` leads there."""
    if work.session.frame is not None and work.step.kind.asks:
        work.session.frame.left = work.where


def _take_no_answer(walk: Walk, reply: Reply) -> None:
    work, frame = walk.work, walk.work.frame
    work.unread = reply
    retry = work.step.defaults.retry
    if "other" in work.step.ways:
        work.trace.rule = "other"
        _note_left(work)
        walk.follow("other")
    elif "retry" not in work.step.ways:
        work.trace.rule = "unread"
    elif retry is not None and retry.most is not None and frame.retries >= retry.most:
        work.trace.rule = "retry.else"
        _note_left(work)
        walk.follow("retry.else")
    else:
        frame.retries += 1
        work.trace.rule = f"retry {frame.retries}"
        walk.follow("retry")


def _take_old_tap(walk: Walk, reply: Reply) -> None:
    """A tap on a question that is over, or whose choices have changed."""
    work, tap = walk.work, reply.tap
    assert tap is not None
    frame = work.session.frame
    other = frame is not None and "other" in work.step.ways
    policy = work.defaults.old_taps or ("message" if other else "explain")
    work.trace.rule = f"old tap: {policy}"
    known = work.library.flows.get(tap.flow)
    if policy == "explain":
        work.send(Text(OLD_TAP))
        if frame is not None and work.step.kind.waits:
            walk.put_again()
    elif policy == "reopen" and known is not None and tap.step in known.steps:
        target = f"/{tap.flow}/{tap.step}"
        if frame is None:
            walk.open(target, {})
        else:
            walk.go(target)
    elif policy == "message" and frame is not None:
        _take_no_answer(walk, reply)
