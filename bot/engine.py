"""The pure function at the heart: one event's way through a session.

No I/O, no clock, no threads, no randomness: time and ids come in with the event. The rules are those of the
language (docs/language).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from bot.core.effects import Effect, Send, effect_ref
from bot.core.errors import BotError
from bot.core.events import (
    CallEnded,
    Event,
    HandoffClosed,
    MessageReceived,
    ResetRequested,
    SendEnded,
    Tapped,
    TimeReached,
)
from bot.core.messages import Message, Template, Text, clipped, violations
from bot.core.session import Frame, Session
from bot.core.turn import StepTaken, Trace, Turn
from bot.core.values import Record
from bot.flow.definition import Flow, Step
from bot.flow.library import Library
from bot.lang.templates import TemplateFailed
from bot.lang.variables import Mismatch
from bot.lang.words import normalise
from bot.steps.doors import AGAIN, BACK, END, ROUTE, Assignment, Door
from bot.steps.kind import NOTHING, At, Decision, FlowEnded, Reply, StepFailed, ending
from bot.steps.replies import ReplyId

MOST_STEPS = 100  # a turn; a loop that the checks could not see ends here
MOST_FRAMES = 10
OLD_TAP = "That was an earlier question."
Internal = CallEnded | SendEnded | HandoffClosed | FlowEnded


class FlowBroken(BotError):
    """A flow asks for what cannot be done; the conversation ends and the operator is told."""


def advance(library: Library, session: Session, event: Event) -> Turn:
    """Take one event: a new session, what is to be done, and when to be woken next.

    Messages and taps must not come while ``session.busy``: the caller parks them. A defect in here may
    raise anything; a defect in a flow never does.
    """
    turn = _Turn(library, session, event)
    try:
        turn.take(event)
    except (FlowBroken, StepFailed, TemplateFailed, Mismatch) as broken:
        turn.give_up(str(broken))
    return turn.result()


class _Turn:
    """One turn while it is being worked out, on a copy of the session."""

    def __init__(self, library: Library, session: Session, event: Event) -> None:
        self._library = library
        self._session = replace(session, frames=tuple(replace(frame) for frame in session.frames))
        self._event = event
        self._now = event.at.astimezone(library.bot.timezone)
        self._effects: list[Effect] = []
        self._trace = Trace()
        self._entered = 0
        self._routed = False
        self._failure: str | None = None

    def result(self) -> Turn:
        """The turn as decided so far."""
        return Turn(self._session, tuple(self._effects), self._wake_at(), self._trace, self._failure)

    def give_up(self, reason: str) -> None:
        """End the conversation: nothing is declared for what happened."""
        self._failure = reason
        self._trace.notes.append(f"ended: {reason}")
        self._session.frames = ()

    def take(self, event: Event) -> None:
        """Route the event to what it is for."""
        if isinstance(event, MessageReceived | Tapped):
            self._note_contact(event)
        if self._session.frame is not None and not isinstance(event, ResetRequested) and self._meet_edit():
            return
        match event:
            case MessageReceived() | Tapped():
                self._take_reply(_reply_of(event))
            case TimeReached():
                self._take_time()
            case SendEnded():
                self._take_send(event)
            case CallEnded():
                self._take_call(event)
            case HandoffClosed():
                self._resume(event, "closed")
            case ResetRequested():
                self._trace.rule = "reset"
                self._leave_tags()
                self._session.frames = ()

    # -- the session ------------------------------------------------------------------------------

    @property
    def _frame(self) -> Frame:
        frame = self._session.frame
        assert frame is not None
        return frame

    @property
    def _flow(self) -> Flow:
        return self._library.flows[self._frame.flow]

    @property
    def _step(self) -> Step:
        return self._flow.steps[self._frame.step]

    def _note_contact(self, event: MessageReceived | Tapped) -> None:
        session = self._session
        if session.last_inbound is None or event.sent_at > session.last_inbound:
            session.last_inbound = event.sent_at
        if isinstance(event, MessageReceived):
            session.channel = event.channel or session.channel
            session.conversation = event.conversation or session.conversation

    def _scope(self) -> dict[str, Any]:
        session, frame = self._session, self._session.frame
        scope: dict[str, Any] = {
            "contact": Record("contact", {"id": session.contact, "name": session.name, "tags": list(session.tags)}),
            "now": self._now,
            "today": self._now.date(),
            "came_from": None,
        }
        if frame is not None:
            declared = self._library.flows[frame.flow].variables
            scope["came_from"] = frame.came_from
            scope.update((name, frame.vars.get(name)) for name in declared)
        return scope

    def _at(self) -> At:
        frame = self._frame
        return At(frame.flow, frame.step, frame.visit, self._now, self._scope(), self._flow.variables, frame.hold)

    # -- an edit of the flows meets a live conversation -------------------------------------------

    def _meet_edit(self) -> bool:
        """The step where the contact waits is unchanged: go on; changed: ask again; gone: as declared.

        True when the contact was led elsewhere, so that the event means nothing there.
        """
        frame = self._frame
        flow = self._library.flows.get(frame.flow)
        if flow is not None and frame.step not in flow.steps:
            renamed = (step.name for step in flow.steps.values() if step.riders.renamed_from == frame.step)
            frame.step = next(renamed, frame.step)
        if flow is None or frame.step not in flow.steps:
            self._trace.notes.append(f"{frame.flow}/{frame.step} is gone")
            self._leave_gone(flow)
            return self._session.frame is not None
        step = flow.steps[frame.step]
        if frame.fingerprint != step.fingerprint:
            frame.fingerprint = step.fingerprint
            frame.unseen = step.kind.waits
            self._trace.notes.append(f"{frame.flow}/{frame.step} was edited")
        return False

    def _leave_gone(self, flow: Flow | None) -> None:
        """The declared fallback, else the flow has expired."""
        gone = (self._library.bot if flow is None else flow).defaults.gone
        target = END if gone is None or gone.then is None else gone.then.text
        if target.startswith("/"):
            self._go_over(target)
        elif flow is not None and target in flow.steps:
            self._enter(target)
        else:
            self._end(expired=True)

    # -- replies ----------------------------------------------------------------------------------

    def _take_reply(self, reply: Reply) -> None:
        """LANGUAGE, Replies 1: who gets a reply."""
        frame = self._session.frame
        if frame is None:
            self._take_idle(reply)
            return
        frame.silent_since = self._event.at
        if self._step.kind.deaf:
            self._trace.rule = "hand-over: not heard"
            return
        if reply.tap is not None and not self._is_current(reply.tap):
            self._take_old_tap(reply)
            return
        decision = None if frame.unseen else self._guarded(lambda at: self._step.kind.claim(at, reply))
        if decision is not None:
            self._decided("tap" if reply.tap else "reply", decision)
        elif reply.tap is not None:
            self._take_old_tap(reply)
        elif not self._take_word(reply):
            self._take_answer(reply)

    def _is_current(self, tap: ReplyId) -> bool:
        frame = self._frame
        return (tap.flow, tap.step, tap.visit) == (frame.flow, frame.step, frame.visit)

    def _take_word(self, reply: Reply) -> bool:
        door = None if reply.text is None else self._library.words.get(normalise(reply.text))
        if door is None:
            return False
        self._trace.rule = f'word "{reply.text}"' if reply.text and len(reply.text) < 40 else "word"
        self._pass(door)
        if door.then is None:
            return True
        if door.then.text == END:
            self._leave_tags()
            self._session.frames = ()
        elif self._session.frame is None:
            self._open(door.then.text, {}, came_from=None)
        else:
            self._go(door.then.text)
        return True

    def _take_answer(self, reply: Reply) -> None:
        frame = self._frame
        if frame.unseen:
            self._trace.rule = "question put again: it had not been seen"
            self._put_again()
            return
        decision = self._guarded(lambda at: self._step.kind.answer(at, reply))
        if decision is not None:
            self._decided("answer", decision)
        else:
            self._take_no_answer()

    def _take_no_answer(self) -> None:
        ways = self._step.ways
        if "other" in ways:
            self._trace.rule = "other"
            self._follow("other")
        elif "retry" in ways:
            self._take_retry()
        else:
            self._trace.rule = "unread"

    def _take_retry(self) -> None:
        frame, retry = self._frame, self._step.defaults.retry
        if retry is not None and retry.most is not None and frame.retries >= retry.most:
            self._trace.rule = "retry.else"
            self._follow("retry.else")
            return
        frame.retries += 1
        self._trace.rule = f"retry {frame.retries}"
        self._follow("retry")

    def _take_idle(self, reply: Reply) -> None:
        if reply.tap is not None and self._library.bot.defaults.old_taps != "message":
            self._take_old_tap(reply)
        elif not self._take_word(reply):
            self._route(reply)

    def _route(self, reply: Reply) -> None:
        """Start the flow that the message is for."""
        triggers = self._library.triggers
        by_word = triggers.by_word(reply.text)
        flow = by_word or triggers.otherwise
        if flow is None:
            self._trace.rule = "no flow starts by this"
            return
        self._trace.rule = f"start of {flow}" if by_word else f"start of {flow}: otherwise"
        self._open(f"/{flow}", {}, came_from=None)

    def _take_old_tap(self, reply: Reply) -> None:
        assert reply.tap is not None
        frame = self._session.frame
        policy = (self._library.bot if frame is None else self._flow).defaults.old_taps
        self._trace.rule = f"old tap: {policy}"
        known = self._library.flows.get(reply.tap.flow)
        if policy == "explain":
            self._send(Text(OLD_TAP))
            if frame is not None and self._step.kind.waits:
                self._put_again()
        elif policy == "reopen" and known is not None and reply.tap.step in known.steps:
            target = f"/{reply.tap.flow}/{reply.tap.step}"
            if frame is None:
                self._open(target, {}, came_from=None)
            else:
                self._go(target)
        elif policy == "message" and frame is not None:
            self._take_no_answer()

    # -- time and results -------------------------------------------------------------------------

    def _wake_at(self) -> datetime | None:
        """When time will next mean something to the active step: only the top frame's clock runs."""
        frame = self._session.frame
        if frame is None or frame.awaits is not None:
            return None
        times = [self._remind_at(), self._timeout_at(), self._step.kind.wakes_at(frame.entered_at)]
        return min((time for time in times if time is not None), default=None)

    def _remind_at(self) -> datetime | None:
        frame, step = self._frame, self._step
        remind = step.defaults.remind if step.kind.waits else None
        if remind is None or remind.after is None or frame.reminders >= (remind.most or 1):
            return None
        return frame.silent_since + remind.after

    def _timeout_at(self) -> datetime | None:
        frame, step = self._frame, self._step
        timeout = step.defaults.timeout if step.kind.waits else step.riders.defaults.timeout
        if timeout is None or timeout.after is None:
            return None
        return (frame.entered_at if timeout.fixed else frame.silent_since) + timeout.after

    def _take_time(self) -> None:
        frame = self._session.frame
        if frame is None or frame.awaits is not None:
            self._trace.rule = "nothing was due"
            return
        remind, timeout = self._remind_at(), self._timeout_at()
        over = self._step.kind.wakes_at(frame.entered_at)
        if over is not None and over <= self._event.at:
            self._trace.rule = "the wait is over"
            self._follow("then")
        elif remind is not None and remind <= self._event.at:
            frame.reminders += 1
            frame.silent_since = self._event.at
            self._trace.rule = f"reminder {frame.reminders}"
            self._follow("remind")
        elif timeout is not None and timeout <= self._event.at:
            self._trace.rule = "time-out"
            self._follow("timeout", expired=True)
        else:
            self._trace.rule = "nothing was due"

    def _take_call(self, event: CallEnded) -> None:
        frame = self._session.frame
        if frame is None or frame.awaits != event.effect:
            self._trace.rule = "late result: dropped"
            return
        frame.awaits = None
        self._resume(event, f"result: {event.outcome}")

    def _take_send(self, event: SendEnded) -> None:
        frame = self._session.frame
        self._trace.rule = f"message {event.outcome}"
        if frame is None:
            return
        if event.outcome == "replaced" and frame.hold.get("question") == event.effect:
            frame.unseen = True
        if frame.awaits == event.effect or frame.hold.get("question") == event.effect:
            frame.awaits = None
            self._resume(event, self._trace.rule)

    def _resume(self, event: Internal, rule: str) -> None:
        self._trace.rule = self._trace.rule or rule
        if self._session.frame is None:
            return
        decision = self._guarded(lambda at: self._step.kind.resume(at, event))
        if decision is not None:
            self._decided(rule, decision)

    # -- decisions --------------------------------------------------------------------------------

    def _guarded(self, decide: Callable[[At], Decision | None]) -> Decision | None:
        """Ask the active step; a failure in its texts or values becomes the outcome for failures."""
        try:
            return decide(self._at())
        except (StepFailed, TemplateFailed) as failed:
            return ending(self._failing(failed))

    def _failing(self, failed: StepFailed | TemplateFailed | Mismatch) -> str:
        """The outcome that takes a failure; raises `FlowBroken` where none is declared."""
        where = f"{self._frame.flow}/{self._frame.step}"
        name = "mismatch" if isinstance(failed, Mismatch) else getattr(failed, "outcome", "failed")
        self._trace.notes.append(f"{where}: {name}: {failed}")
        for outcome in (f"errors.{name}", "errors.else"):
            if outcome in self._step.ways:
                return outcome
        raise FlowBroken(f"{where}: {failed}")

    def _decided(self, rule: str, decision: Decision) -> None:
        """Do what the active step decided."""
        self._trace.rule = self._trace.rule or rule
        frame = self._frame
        taken = StepTaken(frame.flow, frame.step, conditions=list(decision.conditions))
        self._trace.steps.append(taken)
        ref = None
        try:
            for message in decision.messages:
                ref = self._send(message, report=decision.awaits and decision.call is None)
        except StepFailed as failed:
            self._follow(self._failing(failed), None, taken)
            return
        if decision.tag is not None:
            self._tag(decision.tag)
        if decision.outcome is not None:
            self._follow(decision.outcome, decision, taken)
            return
        if decision.call is not None:
            ref = self._effect(decision.call)
        frame.hold = {**decision.hold, **({"question": ref} if self._step.kind.waits else {})}
        frame.awaits = ref if decision.awaits else None
        if decision.tag is not None:
            frame.hold["tag"] = decision.tag
        if decision.opens is not None:
            flow, inputs = decision.opens
            self._open(f"/{flow}", inputs, came_from=frame.flow)

    def _follow(
        self, outcome: str, decision: Decision | None = None, taken: StepTaken | None = None, *, expired: bool = False
    ) -> None:
        """Leave the active step by an outcome, or stay where the outcome leads nowhere."""
        frame, step = self._frame, self._step
        way = step.ways[outcome]
        if way.success and not self._apply_success(step, decision):
            return
        target = way.target
        if target is not None:
            target = self._library.machines[frame.flow].follow(frame.step, outcome)
        if taken is None:
            taken = StepTaken(frame.flow, frame.step)
            self._trace.steps.append(taken)
        taken.outcome, taken.target = outcome, target
        if way.door is not None:
            self._pass(way.door)
        if target is not None:
            self._go(target, expired=expired)

    def _apply_success(self, step: Step, decision: Decision | None) -> bool:
        """`save`, `set` and `tag` happen on leaving with success; `set` reads the values from before it."""
        try:
            if decision is not None:
                if decision.saved is not NOTHING and step.riders.save is not None:
                    self._assign(step.riders.save, decision.saved)
                for name, value in (decision.returned or {}).items():
                    self._assign(name, value)
            self._set(step.riders.set)
            for tag in step.riders.tag:
                self._tag(tag.render(self._scope()))
        except (Mismatch, TemplateFailed) as failed:
            self._follow(self._failing(failed))
            return False
        return True

    def _pass(self, door: Door) -> None:
        """What happens on the way through a door, before it leads anywhere."""
        scope = self._scope()
        if door.say is not None:
            self._send(Text(door.say.render(scope)))
        self._set(door.set)
        for tag in door.tag:
            self._tag(tag.render(scope))
        if door.ask is not None and self._session.frame is not None:
            body = door.ask.render(scope)
            decision = self._guarded(lambda at: self._step.kind.ask_again(at, body))
            if decision is not None:
                self._decided("", decision)

    def _set(self, assignments: Iterable[Assignment]) -> None:
        scope = self._scope()
        values = [(item.name, item.evaluate(scope)) for item in assignments]
        for name, value in values:
            self._assign(name, value)

    def _assign(self, name: str, value: Any) -> None:
        variable = self._flow.variables.get(name)
        frame = self._frame
        frame.vars = {**frame.vars, name: value if variable is None else variable.coerce(value, self._now)}

    def _tag(self, tag: str) -> None:
        if tag and tag not in self._session.tags:
            self._session.tags = (*self._session.tags, tag)

    # -- going on ---------------------------------------------------------------------------------

    def _go(self, target: str, *, expired: bool = False) -> None:
        self._leave_tags(top_only=True)
        if target == AGAIN:
            self._put_again()
        elif target in (END, BACK):
            self._end(expired=expired)
        elif target == ROUTE:
            self._reroute()
        elif target.startswith("/"):
            self._go_over(target)
        else:
            self._enter(target)

    def _leave_tags(self, *, top_only: bool = False) -> None:
        """A tag that stood for being at a step goes with it."""
        frames = self._session.frames[-1:] if top_only else self._session.frames
        gone = {frame.hold.get("tag") for frame in frames}
        self._session.tags = tuple(tag for tag in self._session.tags if tag not in gone)

    def _enter(self, name: str) -> None:
        """Arrive at a step of the active flow."""
        frame = self._frame
        step = self._flow.steps[name]
        self._count_step(step)
        key = f"{frame.flow}/{name}"
        visits = frame.visits.get(key, 0)
        frame.step = name
        if step.riders.visits is not None:
            if visits >= step.riders.visits.most:
                self._arrive(step)
                self._follow("visits.else")
                return
            frame.visits = {**frame.visits, key: visits + 1}
        self._arrive(step)
        self._put()

    def _arrive(self, step: Step) -> None:
        frame = self._frame
        self._session.visit += 1
        frame.visit = self._session.visit
        frame.entered_at = frame.silent_since = self._event.at
        frame.fingerprint = step.fingerprint
        frame.hold, frame.awaits = {}, None
        frame.retries = frame.reminders = 0
        frame.unseen = False

    def _count_step(self, step: Step) -> None:
        self._entered += 1
        if self._entered > MOST_STEPS:
            raise FlowBroken(f"{self._frame.flow}/{step.name}: more than {MOST_STEPS} steps without waiting")

    def _put(self) -> None:
        """Let the active step do its work: ask its question, make its call."""
        decision = self._guarded(lambda at: self._step.kind.enter(at))
        if decision is not None:
            self._decided("", decision)

    def _put_again(self) -> None:
        """The whole question once more: the same visit, so that its buttons stay good."""
        self._count_step(self._step)
        self._frame.unseen = False
        self._frame.silent_since = self._event.at
        self._put()

    def _open(self, target: str, inputs: Mapping[str, Any], *, came_from: str | None) -> None:
        """Begin a flow in a frame of its own, on top of the others."""
        if len(self._session.frames) >= MOST_FRAMES:
            raise FlowBroken(f"more than {MOST_FRAMES} flows are open on top of each other")
        name, step = self._resolve(target)
        flow = self._library.flows[name]
        frame = Frame(name, step, 0, self._event.at, self._event.at, came_from=came_from)
        self._session.frames = (*self._session.frames, frame)
        self._declare(flow)
        try:
            for key, value in inputs.items():
                self._assign(key, value)
        except Mismatch as mismatch:
            self._session.frames = self._session.frames[:-1]
            self._follow(self._failing(mismatch))
            return
        self._enter(step)

    def _go_over(self, target: str) -> None:
        """Go over to another flow and take the conversation's variables along."""
        frame = self._frame
        name, step = self._resolve(target)
        if name != frame.flow:
            frame.came_from, frame.flow = frame.flow, name
            self._declare(self._library.flows[name])
        self._enter(step)

    def _resolve(self, target: str) -> tuple[str, str]:
        name, _, step = target.removeprefix("/").partition("/")
        return name, step or self._library.flows[name].first

    def _declare(self, flow: Flow) -> None:
        """A declared variable starts at its value, unless the conversation brought one."""
        frame = self._frame
        started = {name: variable.value for name, variable in flow.variables.items() if name not in frame.vars}
        frame.vars = {**started, **frame.vars}

    def _end(self, *, expired: bool = False) -> None:
        """End the active flow: a caller goes on; with nobody below, the conversation is over."""
        ended = self._frame
        self._session.frames = self._session.frames[:-1]
        if self._session.frame is not None and not self._meet_edit():
            self._resume(FlowEnded(expired, ended.vars), "returned")

    def _reroute(self) -> None:
        """Hand the message to the router as a new one."""
        if self._routed or not isinstance(self._event, MessageReceived | Tapped):
            raise FlowBroken("`route` has no message to hand on, or leads to itself")
        self._routed = True
        self._session.frames = ()
        self._route(_reply_of(self._event))

    # -- effects ----------------------------------------------------------------------------------

    def _send(self, message: Message, *, report: bool = False) -> str:
        message = clipped(message)
        broken = violations(message)
        if broken:
            raise StepFailed("failed", f"a message that the gateway does not take: {'; '.join(broken)}")
        instead = None if isinstance(message, Template) else self._instead()
        return self._effect(Send(message, instead, report))

    def _instead(self) -> Template | None:
        """The template that goes when the window is shut: the step's, the flow's or the bot's."""
        frame = self._session.frame
        notice = (self._library.bot if frame is None else self._step).defaults.window_closed
        if notice is None:
            return None
        try:
            return notice.message(self._scope())
        except TemplateFailed as failed:
            self._trace.notes.append(f"window_closed: {failed}")
            return None

    def _effect(self, effect: Effect) -> str:
        self._effects.append(effect)
        return effect_ref(self._event.id, len(self._effects) - 1)


def _reply_of(event: MessageReceived | Tapped) -> Reply:
    if isinstance(event, Tapped):
        tap = ReplyId.parse(event.reply)
        return Reply(tap=tap) if tap is not None else Reply(text=event.title or event.reply)
    if event.kind == "text":
        tap = ReplyId.parse(event.text or "")
        return Reply(tap=tap) if tap is not None else Reply(text=event.text)
    if event.kind == "location" and event.location is None:
        return Reply(text=event.text)
    return Reply(media=event.media, location=event.location)
