"""Walking through flows: deciding, leaving by an outcome, passing a door, entering what comes next."""

from collections.abc import Callable, Mapping
from typing import Any

from bot.core.errors import BotError
from bot.core.events import CallEnded, HandoffClosed, MessageReceived, SendEnded, Tapped
from bot.core.messages import Text
from bot.core.session import Frame
from bot.core.turn import StepTaken
from bot.engine.edits import meet_edit
from bot.engine.work import Work
from bot.flow.definition import Step
from bot.lang.templates import TemplateFailed
from bot.lang.variables import Mismatch
from bot.steps.doors import AGAIN, BACK, END, ROUTE, Door
from bot.steps.kind import NOTHING, At, Decision, FlowEnded, StepFailed, ending

MOST_STEPS = 100  # a turn; a loop that the checks could not see ends here
MOST_FRAMES = 10
FAILURES = (StepFailed, TemplateFailed, Mismatch)  # what is wrong in a flow: an outcome, where one is declared


class FlowBroken(BotError):
    """A flow asks for what cannot be done; the conversation ends and the operator is told."""


class Walk:
    """The way of one turn. A step decides; this does what it decided, until a step waits."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self._entered = 0
        self._routed = False
        self._putting = self._arrived = False

    def ask(self, decide: Callable[[At], Decision | None]) -> Decision | None:
        """Ask the active step; a failure in its texts or values becomes the outcome for failures."""
        try:
            return decide(self.work.at())
        except FAILURES as failed:
            return ending(self._failing(failed))

    def take(self, decision: Decision, rule: str = "") -> None:
        """Do what the active step decided."""
        work, frame = self.work, self.work.frame
        work.trace.rule = work.trace.rule or rule
        taken = StepTaken(frame.flow, frame.step, conditions=list(decision.conditions))
        work.trace.steps.append(taken)
        try:
            ref = self._send(decision)
        except StepFailed as failed:
            self.follow(self._failing(failed), taken=taken)
            return
        if decision.outcome is not None:
            self.follow(decision.outcome, decision, taken)
        else:
            self._wait(decision, ref)

    def _send(self, decision: Decision) -> str | None:
        """Send a decision's messages; the name of the last one's effect."""
        ref = None
        for message in decision.messages:
            ref = self.work.send(message, report=decision.awaits and decision.call is None)
        return ref

    def _wait(self, decision: Decision, ref: str | None) -> None:
        """Wait at the active step: for the contact, for an effect's end, for a flow that it opens."""
        work, frame = self.work, self.work.frame
        if decision.call is not None:
            ref = work.do(decision.call)
        frame.awaits = ref if decision.awaits else None
        frame.hold = dict(decision.hold)
        frame.unseen = False
        if work.step.kind.waits:
            frame.hold["question"] = ref
        if decision.tag is not None:
            work.tag(decision.tag)
            frame.hold["tag"] = decision.tag
        if decision.opens is not None:
            flow, inputs = decision.opens
            self.open(f"/{flow}", inputs, came_from=frame.flow)

    def follow(
        self, outcome: str, decision: Decision | None = None, taken: StepTaken | None = None, *, expired: bool = False
    ) -> None:
        """Leave the active step by an outcome, or stay where the outcome leads nowhere."""
        work, frame, step = self.work, self.work.frame, self.work.step
        way = step.ways[outcome]
        if taken is None:
            taken = StepTaken(frame.flow, frame.step)
            work.trace.steps.append(taken)
        kept = frame.vars, work.session.tags
        try:
            if way.success:
                self._succeed(step, decision)
            if way.door is not None:
                self.pass_door(way.door)
        except FAILURES as failed:
            frame.vars, work.session.tags = kept
            self.follow(self._failing(failed, leaving=outcome), taken=taken)
            return
        target = way.target
        if target is not None:
            target = work.library.machines[frame.flow].follow(frame.step, outcome)
        taken.outcome, taken.target = outcome, target
        if target is not None:
            self.go(target, expired=expired)

    def _succeed(self, step: Step, decision: Decision | None) -> None:
        """`save`, `set` and `tag` happen on leaving with success; `set` reads the values from before it."""
        if decision is not None:
            if decision.saved is not NOTHING and step.riders.save is not None:
                self.work.assign(step.riders.save, decision.saved)
            for name, value in (decision.returned or {}).items():
                self.work.assign(name, value)
        self.work.assign_all(step.riders.set)
        for tag in step.riders.tag:
            self.work.tag(tag.render(self.work.scope()))

    def _failing(self, failed: StepFailed | TemplateFailed | Mismatch, leaving: str = "") -> str:
        """The outcome that takes a failure; raises `FlowBroken` where none is declared, or that one fails itself."""
        where, ways = self.work.where, self.work.step.ways
        name = "mismatch" if isinstance(failed, Mismatch) else getattr(failed, "outcome", "failed")
        self.work.trace.notes.append(f"{where}: {name}: {failed}")
        for outcome in (f"errors.{name}", "errors.else"):
            if outcome in ways and not leaving.startswith("errors."):
                return outcome
        raise FlowBroken(f"{where}: {failed}")

    def through(self, door: Door) -> bool:
        """Pass a door that is no outcome of the step's. False when it failed: the step's errors took over."""
        try:
            self.pass_door(door)
        except FAILURES as failed:
            if self.work.session.frame is None:
                raise
            self.follow(self._failing(failed))
            return False
        return True

    def pass_door(self, door: Door) -> None:
        """What happens on the way through a door, before it leads anywhere. Raises one of `FAILURES`."""
        scope = self.work.scope()
        if door.say is not None:
            self.work.send(Text(door.say.render(scope)))
        if self.work.session.frame is not None:
            self.work.assign_all(door.set)
        for tag in door.tag:
            self.work.tag(tag.render(scope))
        if door.ask is not None:
            self._ask_in_other_words(door.ask.render(scope))

    def _ask_in_other_words(self, body: str) -> None:
        """Put the active step's question in these words; where there is none, they are only said."""
        idle = self.work.session.frame is None
        question = None if idle else self.work.step.kind.ask_again(self.work.at(), body)
        if question is None:
            self.work.send(Text(body))
        else:
            self._wait(question, self._send(question))

    # -- going on ---------------------------------------------------------------------------------

    def go(self, target: str, *, expired: bool = False) -> None:
        """Go to a target from the active step."""
        self.work.untag((self.work.frame,))
        if target == AGAIN:
            self.put_again()
        elif target in (END, BACK):
            self.end(expired=expired and target == END)
        elif target == ROUTE:
            self._reroute()
        elif target.startswith("/"):
            self.go_over(target)
        else:
            self.enter(target)

    def enter(self, name: str) -> None:
        """Arrive at a step of the active flow."""
        frame, step = self.work.frame, self.work.flow.steps[name]
        self._count(step)
        frame.step = name
        visits = step.riders.visits
        key = f"{frame.flow}/{name}"
        seen = frame.visits.get(key, 0)
        self._arrive(step)
        if visits is not None and seen >= visits.most:
            self.follow("visits.else")
            return
        if visits is not None:
            frame.visits = {**frame.visits, key: seen + 1}
        self._put()

    def _arrive(self, step: Step) -> None:
        frame, session = self.work.frame, self.work.session
        session.visit += 1
        frame.visit = session.visit
        frame.entered_at = frame.silent_since = self.work.event.at
        frame.fingerprint, frame.form = step.fingerprint, step.kind.form
        frame.hold, frame.awaits = {}, None
        frame.retries = frame.reminders = 0
        frame.unseen = False

    def begin_anew(self) -> None:
        """Enter the active step anew: an edit has made another kind of it, which nothing leads on from."""
        self.work.untag((self.work.frame,))
        self._count(self.work.step)
        self._arrive(self.work.step)
        self._put()

    def _count(self, step: Step) -> None:
        self._entered += 1
        if self._entered > MOST_STEPS:
            raise FlowBroken(f"{self.work.frame.flow}/{step.name}: more than {MOST_STEPS} steps without waiting")

    def _put(self) -> None:
        """Let the active step do its work: ask its question, make its call; and so on, until a step waits.

        A step that is arrived at on the way is left to the loop: a long way must not pile up on Python's stack.
        """
        self._arrived = True
        if self._putting:
            return
        self._putting = True
        while self._arrived:
            self._arrived = False
            decision = self.ask(lambda at: self.work.step.kind.enter(at))
            if decision is not None:
                self.take(decision)
        self._putting = False

    def put_again(self) -> None:
        """The whole question once more: the same visit, so that its buttons stay good."""
        frame = self.work.frame
        self._count(self.work.step)
        frame.silent_since = self.work.event.at
        self._put()

    def open(self, target: str, inputs: Mapping[str, Any], *, came_from: str | None = None) -> None:
        """Begin a flow in a frame of its own, on top of the others."""
        session = self.work.session
        if len(session.frames) >= MOST_FRAMES:
            raise FlowBroken(f"more than {MOST_FRAMES} flows are open on top of each other")
        name, step = self._resolve(target)
        below, now = session.frames, self.work.event.at
        session.frames = (*below, Frame(name, step, 0, now, now, came_from=came_from))
        self.work.declare()
        try:
            for key, value in inputs.items():
                self.work.assign(key, value)
        except Mismatch as mismatch:
            session.frames = below
            if not below:
                raise
            self.follow(self._failing(mismatch))
            return
        self.enter(step)

    def go_over(self, target: str) -> None:
        """Go over to another flow and take the conversation's variables along.

        A flow that is open below is gone back to, with its own variables: the runs above it are over. Else a word
        like "menu" would pile up flows that nobody returns to.
        """
        session, left = self.work.session, self.work.frame.flow
        name, step = self._resolve(target)
        depth = next((n for n in range(len(session.frames), 0, -1) if session.frames[n - 1].flow == name), None)
        session.frames = session.frames[:depth]
        frame = self.work.frame
        if name != left:
            frame.came_from = left
        if name != frame.flow:
            frame.flow = name
            self.work.declare()
        self.enter(step)

    def _resolve(self, target: str) -> tuple[str, str]:
        name, _, step = target.removeprefix("/").partition("/")
        return name, step or self.work.library.flows[name].first

    def end(self, *, expired: bool = False) -> None:
        """End the active flow: a caller goes on; with nobody below, the conversation is over."""
        session = self.work.session
        ended = self.work.frame
        session.frames = session.frames[:-1]
        if session.frame is None or meet_edit(self) or session.frame is None:
            return
        self.resume(FlowEnded(expired, ended.vars), "returned")

    def resume(self, event: CallEnded | SendEnded | HandoffClosed | FlowEnded, rule: str) -> None:
        """What the active step waited for has happened."""
        decision = self.ask(lambda at: self.work.step.kind.resume(at, event))
        if decision is not None:
            self.take(decision, rule)

    def route(self, text: str | None) -> None:
        """Start the flow that a message is for."""
        triggers = self.work.library.triggers
        by_word = triggers.by_word(text)
        flow = by_word or triggers.otherwise
        if flow is None:
            self.work.trace.rule = "no flow starts by this"
            return
        self.work.trace.rule = f"start of {flow}" if by_word else f"start of {flow}: otherwise"
        self.open(f"/{flow}", {})

    def _reroute(self) -> None:
        """Hand the message to the router as a new one."""
        event = self.work.event
        if self._routed or not isinstance(event, MessageReceived | Tapped):
            raise FlowBroken("`route` has no message to hand on, or leads to itself")
        self._routed = True
        self.work.session.frames = ()
        self.route(event.title if isinstance(event, Tapped) else event.text)
