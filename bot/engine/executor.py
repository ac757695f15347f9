"""Walking through flows: deciding, leaving by an outcome, passing a transition, entering what comes next."""

from collections.abc import Callable, Mapping
from typing import Any

from bot.core.messages import TextMessage
from bot.core.turn import StepTaken
from bot.engine import frames
from bot.engine.failures import FAILURES, Failure, taken_by
from bot.engine.frames import FlowBroken
from bot.engine.giving import give, give_at_transition
from bot.engine.hooks import tell
from bot.engine.interruptions import come_back
from bot.engine.migration import meet_edit, name_now
from bot.engine.routing import reroute
from bot.engine.turn_context import TurnContext
from bot.flow.definition import ResolvedTransition, Step
from bot.lang.variables import Mismatch
from bot.steps.kind import Awaited, FlowEnded, StepContext, StepFailed, StepResult, ending
from bot.steps.transition import AGAIN, BACK, END, ROUTE, Transition

MOST_STEPS = 500  # a turn; a loop that the checks could not see ends here


class Executor:
    """The way of one turn. A step decides; this does what it decided, until a step waits."""

    def __init__(self, work: TurnContext) -> None:
        self.work = work
        self._entered = 0
        self.routed = False  # a message is handed on once in a turn
        self._putting = self._arrived = False
        self._used_up = False  # the step that was arrived at has had all its visits

    def ask(self, decide: Callable[[StepContext], StepResult | None]) -> StepResult | None:
        """Ask the active step; a failure in its texts or values becomes the outcome for failures."""
        try:
            return decide(self.work.step_context())
        except FAILURES as failed:
            return ending(taken_by(self.work, failed), known=getattr(failed, "known", {}))

    def take(self, result: StepResult, rule: str = "") -> None:
        """Do what the active step decided."""
        work, frame = self.work, self.work.frame
        if result.parks:
            work.trace.rule = "kept until the model has answered"
            frame.parked_messages, work.parks_message = frame.parked_messages + 1, True
            return
        work.trace.rule = work.trace.rule or rule
        taken = StepTaken(frame.flow, frame.step, None, None, list(result.conditions), len(work.effects))
        work.trace.steps.append(taken)
        work.trace.notes += [f"{work.where}: {note}" for note in result.notes]
        work.pending_input = result.unread or work.pending_input
        try:
            refs = self._send(result)
            if result.outcome is None:
                work.give(result.sets)
        except (StepFailed, Mismatch) as failed:
            self.follow(taken_by(self.work, failed), taken=taken)
            return
        if result.outcome is not None:
            self.follow(result.outcome, result, taken)
        else:
            self._wait(result, refs)

    def _send(self, result: StepResult) -> list[str]:
        """Send a decision's messages; the names of their effects."""
        refs = []
        for message in result.messages:
            ref = self.work.send(message, report=result.awaits and result.call is None)
            if ref is not None:
                refs.append(ref)
            self.work.frame.silent_since = self.work.event.at
        return refs

    def _wait(self, result: StepResult, refs: list[str]) -> None:
        """Wait at the active step: for the contact, for an effect's end, for a flow that it opens.

        ``refs`` are the messages sent: the step hears of one that is refused.
        """
        work, frame = self.work, self.work.frame
        if result.call is not None:
            refs = [work.do(result.call)]
        if not result.goes_on:
            frame.awaited_effect = refs[-1] if result.awaits and refs else None
        frame.accepts_messages = result.hears
        frame.step_state = dict(result.step_state)
        frame.question_unseen = frame.asks_to_continue = False
        if refs:
            frame.step_state["sent"] = refs
        if result.tag is not None:
            work.tag(result.tag)
            frame.step_state["tag"] = result.tag
        if result.tells is not None:
            event, told = result.tells
            tell(work, event, frame.flow, step=frame.step, **told)
        if result.opens is not None:
            flow, inputs = result.opens
            self.open(f"/{flow}", inputs, came_from=frame.flow)

    def follow(
        self,
        outcome: str,
        result: StepResult | None = None,
        taken: StepTaken | None = None,
        *,
        expired: bool = False,
        objection: str | None = None,
    ) -> None:
        """Leave the active step by an outcome, or stay where the outcome leads nowhere.

        ``objection`` is said in place of what the outcome's transition says, and is as good as the question put again.
        """
        work, frame, step = self.work, self.work.frame, self.work.step
        resolved = step.transitions[outcome]
        if taken is None:
            taken = StepTaken(frame.flow, frame.step, effects=len(work.effects))
            work.trace.steps.append(taken)
        frame.awaited_effect = None
        work.session.apology_due = work.session.apology_due or step.lets_down(outcome)
        before, known = work.given(), {} if result is None else result.known
        try:
            if resolved.success:
                give(work, step, result)
            if objection is not None:
                work.send(TextMessage(objection))
            elif resolved.written is not None:
                self.pass_transition(resolved.written, {**dict.fromkeys(step.kind.tells), **known})
        except FAILURES as failed:
            work.take_back(before)
            self.follow(taken_by(self.work, failed, leaving=outcome), StepResult(known=known), taken)
            return
        own = (frame.unanswered_question or "").partition("/")[0] == frame.flow
        if own and resolved.success and resolved.target != BACK and step.kind.asks:
            frame.unanswered_question = None  # its flow has gone on
        target = resolved.target
        if target is not None:
            target = work.library.machines[frame.flow].follow(frame.step, outcome)
        target = None if objection is not None and target == AGAIN else self._corrected(resolved, target)
        taken.outcome, taken.target = outcome, target
        if target is not None:
            self.go(target, expired=expired, failed=outcome.startswith("errors."))

    def _corrected(self, resolved: ResolvedTransition, target: str | None) -> str | None:
        """The target, but for an answer that is to be corrected: after it comes the step that sent there."""
        frame = self.work.frame
        if resolved.written is not None and resolved.written.corrects:
            self.correct(target)
        elif target is not None and frame.step == frame.corrected_step:
            back = name_now(self.work.flow, frame.step_after_correction or "", frame.former_step_names)
            frame.corrected_step = frame.step_after_correction = None
            return back if resolved.success and back is not None else target
        return target

    def correct(self, step: str | None) -> None:
        """The answer of this step is to be corrected: after it comes the active step again."""
        self.work.frame.corrected_step, self.work.frame.step_after_correction = step, self.work.frame.step

    def through(self, transition: Transition) -> bool:
        """Pass a transition that is no outcome of the step's. False when it failed: the step's errors took over."""
        try:
            self.pass_transition(transition)
        except FAILURES as failed:
            self.fail(failed)
            return False
        return True

    def fail(self, failed: Failure) -> None:
        """A failure outside the step's own doing: its errors take over. Raises it where the contact is in no flow."""
        if self.work.session.frame is None:
            raise failed
        self.follow(taken_by(self.work, failed))

    def pass_transition(self, transition: Transition, known: Mapping[str, Any] | None = None) -> None:
        """What happens on the way through a transition, before it leads anywhere. Raises one of `FAILURES`.

        ``known`` is what its templates see beside the rest.
        """
        scope = {**self.work.scope(), **known} if known else self.work.scope()
        give_at_transition(self.work, transition, scope)
        if transition.ask is not None:
            self._ask_in_other_words(transition.ask.render(scope))

    def _ask_in_other_words(self, body: str) -> None:
        """Put the active step's question in these words; where there is none, they are only said."""
        step = self.work.known_step
        question = None if step is None else step.kind.ask_again(self.work.step_context(), body)
        if question is None:
            self.work.send(TextMessage(body))
        else:
            self._wait(question, self._send(question))

    # -- going on ---------------------------------------------------------------------------------

    def go(self, target: str, *, expired: bool = False, failed: bool = False) -> None:
        """Go to a target from the active step: ``expired`` by silence, ``failed`` by an error of it."""
        self.work.leave((self.work.frame,))
        if target == AGAIN:
            self.put_again()
        elif target == BACK and self.work.frame.unanswered_question is not None:
            self._return_to(self.work.frame.unanswered_question)
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
        visits = step.options.visits
        key = f"{frame.flow}/{name}"
        seen = frame.visit_counts.get(key, 0)
        frames.arrive(self.work, step)
        self._used_up = visits is not None and seen >= visits.most
        if visits is not None and not self._used_up:
            frame.visit_counts = {**frame.visit_counts, key: seen + 1}
        self._put()

    def _return_to(self, question: str) -> None:
        """Go back to a question that was left without an answer; where an edit took it away, the flow ends."""
        flow, _, name = question.partition("/")
        known, retries = self.work.library.flows.get(flow), self.work.frame.unanswered_retries
        self.work.frame.unanswered_question = None
        now = None if known is None else name_now(known, name, self.work.frame.former_step_names)
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
            result = self.ask(lambda context: self.work.step.kind.enter(context))
            if result is not None:
                self.take(result)
        self._putting = False

    def put_again(self) -> None:
        """The whole question once more: the same visit, so that its buttons stay good. Not while the answer is awaited."""
        frame = self.work.frame
        if frame.awaited_effect is not None:
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
        result = self.ask(lambda context: self.work.step.kind.resume(context, event))
        if result is not None:
            self.take(result, rule)
