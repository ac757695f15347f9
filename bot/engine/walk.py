"""Walking through flows: deciding, leaving by an outcome, passing a door, entering what comes next."""

from collections.abc import Callable, Mapping
from typing import Any

from bot.core.messages import Text
from bot.core.turn import StepTaken
from bot.engine import frames
from bot.engine.edits import meet_edit, name_now
from bot.engine.failures import FAILURES, Failure, taken_by
from bot.engine.frames import FlowBroken
from bot.engine.giving import give, give_at_door
from bot.engine.hooks import tell
from bot.engine.interruptions import come_back
from bot.engine.routing import reroute
from bot.engine.work import Work
from bot.flow.definition import Step, Way
from bot.lang.variables import Mismatch
from bot.steps.doors import AGAIN, BACK, END, ROUTE, Door
from bot.steps.kind import At, Awaited, Decision, FlowEnded, StepFailed, ending

MOST_STEPS = 500  # a turn; a loop that the checks could not see ends here


class Walk:
    """The way of one turn. A step decides; this does what it decided, until a step waits."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self._entered = 0
        self.routed = False  # a message is handed on once in a turn
        self._putting = self._arrived = False
        self._used_up = False  # the step that was arrived at has had all its visits

    def ask(self, decide: Callable[[At], Decision | None]) -> Decision | None:
        """Ask the active step; a failure in its texts or values becomes the outcome for failures."""
        try:
            return decide(self.work.at())
        except FAILURES as failed:
            return ending(taken_by(self.work, failed), known=getattr(failed, "known", {}))

    def take(self, decision: Decision, rule: str = "") -> None:
        """Do what the active step decided."""
        work, frame = self.work, self.work.frame
        if decision.parks:
            work.trace.rule = "kept until the model has answered"
            frame.kept, work.parks = frame.kept + 1, True
            return
        work.trace.rule = work.trace.rule or rule
        taken = StepTaken(frame.flow, frame.step, None, None, list(decision.conditions), len(work.effects))
        work.trace.steps.append(taken)
        work.trace.notes += [f"{work.where}: {note}" for note in decision.notes]
        work.unread = decision.unread or work.unread
        try:
            refs = self._send(decision)
            if decision.outcome is None:
                work.give(decision.sets)
        except (StepFailed, Mismatch) as failed:
            self.follow(taken_by(self.work, failed), taken=taken)
            return
        if decision.outcome is not None:
            self.follow(decision.outcome, decision, taken)
        else:
            self._wait(decision, refs)

    def _send(self, decision: Decision) -> list[str]:
        """Send a decision's messages; the names of their effects."""
        refs = []
        for message in decision.messages:
            ref = self.work.send(message, report=decision.awaits and decision.call is None)
            if ref is not None:
                refs.append(ref)
            self.work.frame.silent_since = self.work.event.at
        return refs

    def _wait(self, decision: Decision, refs: list[str]) -> None:
        """Wait at the active step: for the contact, for an effect's end, for a flow that it opens.

        ``refs`` are the messages sent: the step hears of one that is refused.
        """
        work, frame = self.work, self.work.frame
        if decision.call is not None:
            refs = [work.do(decision.call)]
        if not decision.goes_on:
            frame.awaits = refs[-1] if decision.awaits and refs else None
        frame.hears = decision.hears
        frame.hold = dict(decision.hold)
        frame.unseen = frame.coming_back = False
        if refs:
            frame.hold["sent"] = refs
        if decision.tag is not None:
            work.tag(decision.tag)
            frame.hold["tag"] = decision.tag
        if decision.tells is not None:
            event, told = decision.tells
            tell(work, event, frame.flow, step=frame.step, **told)
        if decision.opens is not None:
            flow, inputs = decision.opens
            self.open(f"/{flow}", inputs, came_from=frame.flow)

    def follow(
        self,
        outcome: str,
        decision: Decision | None = None,
        taken: StepTaken | None = None,
        *,
        expired: bool = False,
        objection: str | None = None,
    ) -> None:
        """Leave the active step by an outcome, or stay where the outcome leads nowhere.

        ``objection`` is said in place of what the outcome's door says, and is as good as the question put again.
        """
        work, frame, step = self.work, self.work.frame, self.work.step
        way = step.ways[outcome]
        if taken is None:
            taken = StepTaken(frame.flow, frame.step, effects=len(work.effects))
            work.trace.steps.append(taken)
        frame.awaits = None
        work.session.unanswered = work.session.unanswered or step.lets_down(outcome)
        before, known = work.given(), {} if decision is None else decision.known
        try:
            if way.success:
                give(work, step, decision)
            if objection is not None:
                work.send(Text(objection))
            elif way.door is not None:
                self.pass_door(way.door, {**dict.fromkeys(step.kind.tells), **known})
        except FAILURES as failed:
            work.take_back(before)
            self.follow(taken_by(self.work, failed, leaving=outcome), Decision(known=known), taken)
            return
        own = (frame.left or "").partition("/")[0] == frame.flow
        if own and way.success and way.target != BACK and step.kind.asks:
            frame.left = None  # its flow has gone on
        target = way.target
        if target is not None:
            target = work.library.machines[frame.flow].follow(frame.step, outcome)
        target = None if objection is not None and target == AGAIN else self._corrected(way, target)
        taken.outcome, taken.target = outcome, target
        if target is not None:
            self.go(target, expired=expired, failed=outcome.startswith("errors."))

    def _corrected(self, way: Way, target: str | None) -> str | None:
        """The target, but for an answer that is to be corrected: after it comes the step that sent there."""
        frame = self.work.frame
        if way.door is not None and way.door.corrects:
            self.correct(target)
        elif target is not None and frame.step == frame.corrected:
            back = name_now(self.work.flow, frame.corrected_at or "", frame.formerly)
            frame.corrected = frame.corrected_at = None
            return back if way.success and back is not None else target
        return target

    def correct(self, step: str | None) -> None:
        """The answer of this step is to be corrected: after it comes the active step again."""
        self.work.frame.corrected, self.work.frame.corrected_at = step, self.work.frame.step

    def through(self, door: Door) -> bool:
        """Pass a door that is no outcome of the step's. False when it failed: the step's errors took over."""
        try:
            self.pass_door(door)
        except FAILURES as failed:
            self.fail(failed)
            return False
        return True

    def fail(self, failed: Failure) -> None:
        """A failure outside the step's own doing: its errors take over. Raises it where the contact is in no flow."""
        if self.work.session.frame is None:
            raise failed
        self.follow(taken_by(self.work, failed))

    def pass_door(self, door: Door, known: Mapping[str, Any] | None = None) -> None:
        """What happens on the way through a door, before it leads anywhere. Raises one of `FAILURES`.

        ``known`` is what its templates see beside the rest.
        """
        scope = {**self.work.scope(), **known} if known else self.work.scope()
        give_at_door(self.work, door, scope)
        if door.ask is not None:
            self._ask_in_other_words(door.ask.render(scope))

    def _ask_in_other_words(self, body: str) -> None:
        """Put the active step's question in these words; where there is none, they are only said."""
        step = self.work.known_step
        question = None if step is None else step.kind.ask_again(self.work.at(), body)
        if question is None:
            self.work.send(Text(body))
        else:
            self._wait(question, self._send(question))

    # -- going on ---------------------------------------------------------------------------------

    def go(self, target: str, *, expired: bool = False, failed: bool = False) -> None:
        """Go to a target from the active step: ``expired`` by silence, ``failed`` by an error of it."""
        self.work.leave((self.work.frame,))
        if target == AGAIN:
            self.put_again()
        elif target == BACK and self.work.frame.left is not None:
            self._return_to(self.work.frame.left)
        elif target in (END, BACK):
            self.end(expired=expired and target == END, failed=failed and target == END)
        elif target == ROUTE:
            reroute(self)
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
        frames.arrive(self.work, step)
        self._used_up = visits is not None and seen >= visits.most
        if visits is not None and not self._used_up:
            frame.visits = {**frame.visits, key: seen + 1}
        self._put()

    def _return_to(self, question: str) -> None:
        """Go back to a question that was left without an answer; where an edit took it away, the flow ends."""
        flow, _, name = question.partition("/")
        known, retries = self.work.library.flows.get(flow), self.work.frame.left_retries
        self.work.frame.left = None
        now = None if known is None else name_now(known, name, self.work.frame.formerly)
        if known is None or now is None:
            self.end()
            return
        if self.work.frame.flow != flow:
            self.work.frame.came_from = self.work.frame.flow
            frames.change_flow(self.work, flow)
        self._count(known.steps[now])
        self.work.frame.step = now
        frames.arrive(self.work, known.steps[now])
        self.work.frame.retries = retries
        self._put()

    def begin_anew(self) -> None:
        """Enter the active step anew: an edit has made another kind of it, which nothing leads on from."""
        self.work.leave((self.work.frame,))
        self._count(self.work.step)
        frames.arrive(self.work, self.work.step)
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
            if self._used_up:
                self._used_up = False
                self.follow("visits.else")
                continue
            decision = self.ask(lambda at: self.work.step.kind.enter(at))
            if decision is not None:
                self.take(decision)
        self._putting = False

    def put_again(self) -> None:
        """The whole question once more: the same visit, so that its buttons stay good. Not while the answer is awaited."""
        frame = self.work.frame
        if frame.awaits is not None:
            return
        self._count(self.work.step)
        frame.silent_since = self.work.event.at
        self._put()

    def open(
        self, target: str, inputs: Mapping[str, Any], *, came_from: str | None = None, interrupts: bool = False
    ) -> None:
        """Begin a flow in a frame of its own, on top of the others."""
        try:
            step = frames.push(self.work, target, inputs, came_from=came_from, interrupts=interrupts)
        except Mismatch as mismatch:
            if self.work.session.frame is None:
                raise
            self.follow(taken_by(self.work, mismatch))
        else:
            self.enter(step)

    def go_over(self, target: str) -> None:
        """Go over to another flow, with the conversation's variables."""
        self.enter(frames.go_over(self.work, target))

    def end(self, *, expired: bool = False, failed: bool = False) -> None:
        """End the active flow: its caller goes on by `then`, `expired` or `errors`; an interrupted flow is returned to
        unless this one has expired.
        """
        ended, self.work.expired = frames.pop(self.work), expired
        if ended.interrupts and expired:
            self.work.end_all()
        elif ended.interrupts:
            come_back(self)
        elif self.work.session.frame is not None and not meet_edit(self) and self.work.session.frame is not None:
            self.resume(FlowEnded(expired, ended.vars, failed), "returned")

    def resume(self, event: Awaited, rule: str) -> None:
        """What the active step waited for has happened."""
        decision = self.ask(lambda at: self.work.step.kind.resume(at, event))
        if decision is not None:
            self.take(decision, rule)
