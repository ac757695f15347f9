"""The executor: carries out what a step decided, and follows where that leads, until a step waits.

`Executor.run` is the loop, `Executor.go` the list of targets. Where an outcome leads is what the flow's machine says.
"""

from dataclasses import replace

from bot.core.events import SendEnded
from bot.core.messages import TextMessage
from bot.core.session import Correction
from bot.core.turn import StepTaken
from bot.core.waits import ForContact
from bot.engine.contact_values import assign_values, checkpoint, roll_back
from bot.engine.entering import ask, begin, enter, failure_outcome, open_flow, put_again, read_ahead
from bot.engine.flow_ends import end_flow, migrate, offer_again, return_to_question, set_aside
from bot.engine.frame_stack import note_unanswered, remove_step_tags, reopen_unanswered, switch_flow
from bot.engine.migration import StepChange, name_now
from bot.engine.starting_flows import reroute
from bot.engine.step_actions import apply_options, carry_out, note_result, send_messages, wait
from bot.engine.turn_context import FAILURES, Failure, TurnContext, send
from bot.engine.valid_replies import keep_replies
from bot.language.flow.definition import ResolvedTransition
from bot.language.steps.step_facts import StepFailed
from bot.language.steps.step_kind import Awaited, LeaveStep, PostponeMessage, Redirect, RunFlow, SetAside, StepResult
from bot.language.steps.transition import AGAIN, BACK, END, ROUTE, STAY, Transition
from bot.language.types.type_registry import TypeMismatch


class Executor:
    """Moves the contact of one turn through its flows. A step decides; the executor carries out what it decided."""

    def __init__(self, turn: TurnContext) -> None:
        self.turn = turn

    def run(self, result: StepResult | None, rule: str = "") -> None:
        """Carry out a result of the active step, and the results of the steps that follow, until one waits.

        ``rule`` is the rule for the trace, if it has none yet. If the result is None, nothing happens.
        """
        turn = self.turn
        while result is not None:
            if isinstance(result, PostponeMessage):
                self.park(result.rule)
                return
            if isinstance(result, Redirect):
                self._hand_back(result, rule)
                return
            turn.trace.rule = turn.trace.rule or rule
            taken = note_result(turn, result)
            try:
                sent = send_messages(turn, result)
                if result.sets and not isinstance(result, LeaveStep):
                    assign_values(turn, result.sets)
            except (StepFailed, TypeMismatch) as failed:
                result, sent = LeaveStep(failure_outcome(turn, failed)), []
            if isinstance(result, LeaveStep):
                if result.valid is not None:
                    keep_replies(turn, result.valid)
                result = self.leave(taken, result)
                continue
            wait(turn, result, sent)
            if isinstance(result, SetAside):
                result = set_aside(turn, result)
                continue
            if not isinstance(result, RunFlow):
                return
            result = open_flow(turn, f"/{result.flow}", result.inputs, came_from=turn.frame.flow)

    def park(self, rule: str) -> None:
        """Let the message wait until the active step has what it awaits. ``rule`` is for the trace."""
        self.turn.trace.rule = rule
        self.turn.frame.parked_messages += 1
        self.turn.result.parks_message = True

    def _hand_back(self, result: Redirect, rule: str) -> None:
        """End the active flow without a return to the one below: what follows depends on the message."""
        turn, frame = self.turn, self.turn.frame
        turn.trace.rule = turn.trace.rule or rule
        target = turn.flow.machine.follow(frame.step, result.outcome).target
        turn.note_step(result.outcome, target).success = result.outcome != "other"
        turn.trace.notes += [f"{turn.where}: {note}" for note in result.notes]
        if result.problem:
            turn.trace.problem(f"{turn.where}: {result.problem}")
        offer_again(turn, result)

    def leave(
        self, taken: StepTaken, result: LeaveStep, *, expired: bool = False, objection: str | None = None
    ) -> StepResult | None:
        """Leave the active step by the outcome of a result, or stay if the outcome has no target.

        The values and texts on the way may fail. Then one of the step's `errors` is the outcome, and no value was
        set.
        """
        turn, frame, flow, outcome = self.turn, self.turn.frame, self.turn.flow, result.outcome
        step, resolved, before = flow.steps[frame.step], flow.machine.follow(frame.step, outcome), checkpoint(turn)
        if frame.waits is not None:
            frame.waits = frame.waits.without_effect()
        turn.left_states[frame.visit] = frame.step_state if result.step_state is None else result.step_state
        if step.facts.asks_models and step.is_model_failure(outcome):
            turn.session.apology_due = True
        try:
            if resolved.success:
                apply_options(turn, step, result)
            if objection is not None:
                send(turn, TextMessage(objection))
            elif resolved.written is not None:
                others = step.facts.names_in_errors
                known = {**dict.fromkeys(others), **result.known} if others else result.known
                carry_out(turn, resolved.written, known, keep=outcome != "remind")
        except FAILURES as failed:
            roll_back(turn, before)
            return self.leave(taken, LeaveStep(failure_outcome(turn, failed, leaving=outcome), known=result.known))
        unanswered = frame.unanswered
        own = unanswered is not None and unanswered.where.partition("/")[0] == frame.flow
        answered = step.facts.asks and not isinstance(turn.event, SendEnded)  # a message that went is no answer
        if own and resolved.success and resolved.target != BACK and answered:
            frame.unanswered = None  # the contact has answered
        is_asked = objection is not None and resolved.target == AGAIN  # the objection counts as the question
        target = None if is_asked else self._after_correction(resolved)
        taken.outcome, taken.target, taken.success = outcome, STAY if resolved.stays else target, resolved.success
        if resolved.stays:
            return self._stay()
        if step.splits:
            turn.session.splits = {**turn.session.splits, turn.where: outcome}
        if target is None:
            return None
        return self.go(target, expired=expired, failed=outcome.startswith("errors."), alone=resolved.of_bot)

    def _stay(self) -> StepResult | None:
        """Keep waiting at the active step: the last answer counts as wrong, unless it was written before the question
        was put. After too many, `retry.else` follows.
        """
        turn, frame, step = self.turn, self.turn.frame, self.turn.step
        if frame.waits is None:  # the question could not be asked
            frame.waits = ForContact()
        question = frame.question
        if not frame.waits.effects:
            frame.question = question = replace(question, undelivered=True)
        if turn.put_since is not None or question.early:
            frame.question = replace(question, early=False)
            return None
        retry, otherwise = step.defaults.retry, step.transitions.get("retry.else")
        if retry is None or retry.most is None or otherwise is None or question.retries < retry.most:
            frame.question = replace(question, retries=question.retries + 1)
            return None
        note_unanswered(turn, otherwise.target)
        result = LeaveStep("retry.else")
        return self.leave(note_result(turn, result), result)

    def go(self, target: str, *, expired: bool = False, failed: bool = False, alone: bool = False) -> StepResult | None:
        """Go to a target from the active step. Returns what the next step decides.

        ``expired``: nobody answered; ``failed``: the step failed. The step that ran a flow learns of either when the
        flow ends. ``alone``: where the target is another flow, no flow below it goes on.
        """
        turn = self.turn
        remove_step_tags(turn, (turn.frame,))
        if target == AGAIN:
            return put_again(turn)
        if target == BACK and (unanswered := reopen_unanswered(turn)) is not None:
            return return_to_question(turn, unanswered)
        if target in (END, BACK):
            return end_flow(turn, expired=expired and target == END, failed=failed and target == END)
        if target == ROUTE:
            return reroute(turn)
        if target.startswith("/"):
            open_flows = {each.flow for each in turn.session.frames}
            step = switch_flow(turn, target, alone=alone)
            if turn.opening is not None:
                read_ahead(turn)
            begins = step == turn.flow.first and turn.flow.name not in open_flows
            return begin(turn, step) if begins else enter(turn, step)
        return enter(turn, target)

    def resume(self, event: Awaited, rule: str) -> None:
        """Continue after the event that the active step waited for."""
        self.run(ask(self.turn, self.turn.step.kind.resume, event), rule)

    def follow(self, outcome: str, *, expired: bool = False, objection: str | None = None) -> None:
        """Leave the active step by an outcome that it did not decide on: `retry`, `timeout`, an error.

        ``objection`` is said in place of the transition's `say`, and counts as the question.
        """
        result = LeaveStep(outcome)
        self.run(self.leave(note_result(self.turn, result), result, expired=expired, objection=objection))

    def fail(self, failed: Failure) -> None:
        """Leave the active step by its errors, after a failure that it did not cause itself. Raises the failure if
        the contact is in no flow.
        """
        if self.turn.session.frame is None:
            raise failed
        self.follow(failure_outcome(self.turn, failed))

    def run_actions(self, transition: Transition) -> bool:
        """Carry out the `say`, `set` and the like of a transition that is no outcome of the step's. Returns False if
        the step's errors took over: then no value was set.
        """
        before = None if self.turn.session.frame is None else checkpoint(self.turn)
        try:
            carry_out(self.turn, transition)
        except FAILURES as failed:
            if before is not None:
                roll_back(self.turn, before)
            self.fail(failed)
            return False
        return True

    def correct(self, step: str) -> None:
        """Let the contact correct the answer of an earlier step. After it, the active step follows again."""
        self.turn.frame.correction = Correction(step, self.turn.frame.step)

    def _after_correction(self, resolved: ResolvedTransition) -> str | None:
        """The target; after a corrected answer, the step from which the correction started."""
        frame, target = self.turn.frame, resolved.target
        if target is None:
            return None
        if resolved.written is not None and resolved.written.corrects:
            self.correct(target)
        elif frame.correction is not None and frame.step == frame.correction.step:
            back = name_now(self.turn.flow, frame.correction.back, frame.former_step_names)
            frame.correction = None
            return back if resolved.success and back is not None else target
        return target

    def migrate_session(self) -> bool:
        """Adapt the contact's step to an edit of its flow. Returns True if that moves the contact: the event is not for
        the new step. While an agent has the conversation, nothing is adapted.

        Unchanged: it keeps waiting. Changed: its question is asked again when the contact writes. A step of another
        kind: it is entered. Removed: the target of `gone` follows; if the conversation ends by that, the event counts.
        """
        frame = self.turn.session.frame
        if frame is None or self.turn.session.agent is not None:
            return False
        step = self.turn.known_step
        if step is not None and step.fingerprint == frame.fingerprint:  # nearly always
            return False
        change, result = migrate(self.turn)
        self.run(result)
        return change.moves and not (change is StepChange.GONE and self.turn.session.frame is None)
