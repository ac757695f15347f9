"""The executor: carries out what a step decided, and follows where that leads, until a step waits.

`Executor.run` is the loop, `Executor._go` the list of targets. Where an outcome leads is what the flow's machine says.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVarTuple

from bot.core.events import MessageReceived, SendEnded, Tapped
from bot.core.messages import TextMessage
from bot.core.session import HAS_OPTED_OUT, Frame, Plan, first_of_conversation
from bot.core.text import is_blank
from bot.core.turn import SKIPPED, STARTED, UNHEARD, StepTaken
from bot.core.values import Record
from bot.engine import slots
from bot.engine.migration import StepChange, edited_step, name_now, target_when_gone
from bot.engine.scheduled_flows import arrange, can_start, cancel, heard_at
from bot.engine.turn_context import FAILURES, MOST_FRAMES, Failure, FlowBroken, TurnContext
from bot.language.expressions.template_failures import TemplateFailed
from bot.language.flow.definition import FIRST, LANGUAGE, RETURNING, ResolvedTransition, Step
from bot.language.flow.library import TriggerIndex, TriggerMatch, name_of_event
from bot.language.source.languages import wording
from bot.language.source.word_matching import normalise
from bot.language.steps import yes_no_question
from bot.language.steps.intent_step import INTENTS, IntentStep
from bot.language.steps.slot_step import SLOT_FILLING, SlotStep
from bot.language.steps.step_facts import StepFailed
from bot.language.steps.step_kind import (
    NOTHING,
    Awaited,
    FlowEnded,
    HandOver,
    KeepWaiting,
    LeaveStep,
    PostponeMessage,
    Redirect,
    Reply,
    RunFlow,
    StepContext,
    StepResult,
    WaitForEffect,
    WaitForSend,
    WaitHere,
    Waits,
)
from bot.language.steps.step_options import StepOptions, signal_outcomes
from bot.language.steps.transition import AGAIN, BACK, END, ROUTE, STAY, Transition
from bot.language.types.contact_zones import TIMEZONE
from bot.language.types.type_registry import Answer, InvalidAnswer, TypeMismatch

Given = TypeVarTuple("Given")

MOST_STEPS = 500  # a turn; a loop that the checks could not see ends here
_ASKS_ABOUT_MESSAGE = frozenset({f"{IntentStep.verb}, waiting", SlotStep.verb})
"""The forms of the steps at which a model is asked about a message (`bot.language.flow.definition.MADE_FLOWS`)."""


def visited(frame: Frame, step: str) -> str:
    """The name under which a frame counts the visits of a step of its flow."""
    return f"{frame.flow}/{step}"


class Executor:
    """Moves the contact of one turn through its flows. A step decides; the executor carries out what it decided."""

    def __init__(self, turn: TurnContext) -> None:
        self.turn = turn
        self._entered = 0
        self._routed = False  # a message is routed again at most once in a turn
        self.offered: Redirect | None = None  # what a step has left for `bot.engine.advance` to offer

    # -- the loop ---------------------------------------------------------------------------------

    def run(self, result: StepResult | None, rule: str = "") -> None:
        """Carry out a result of the active step, and the results of the steps that follow, until one waits.

        ``rule`` is the rule for the trace, if it has none yet. None as the result: there is nothing to do.
        """
        while result is not None:
            if isinstance(result, PostponeMessage):
                self.park("kept until the model has answered")
                return
            if isinstance(result, Redirect):
                self._hand_back(result, rule)
                return
            self.turn.trace.rule = self.turn.trace.rule or rule
            taken = self._note(result)
            try:
                sent = self._send(result)
                if result.sets and not isinstance(result, LeaveStep):
                    self.turn.assign_values(result.sets)
            except (StepFailed, TypeMismatch) as failed:
                result, sent = LeaveStep(self._outcome_of(failed)), []
            result = self._leave(taken, result) if isinstance(result, LeaveStep) else self._wait(result, sent)

    def park(self, rule: str) -> None:
        """Let the message wait until the active step has what it awaits. ``rule`` is for the trace."""
        self.turn.trace.rule = rule
        self.turn.frame.parked_messages += 1
        self.turn.parks_message = True

    def _hand_back(self, result: Redirect, rule: str) -> None:
        """End the active flow without a return to the one below: what follows depends on the message."""
        turn, frame = self.turn, self.turn.frame
        turn.trace.rule = turn.trace.rule or rule
        target = turn.flow.machine.follow(frame.step, result.outcome).target
        turn.note_step(result.outcome, target).success = result.outcome != "other"
        turn.trace.notes += [f"{turn.where}: {note}" for note in result.notes]
        if result.problem:
            turn.trace.problem(f"{turn.where}: {result.problem}")
        self._offer(result)

    def _offer(self, result: Redirect) -> None:
        """End the active flow, in which a model was asked about a message, and leave that to `bot.engine.advance`."""
        if self.turn.pop_frame().visit == 1:
            self.turn.session.visit = 0  # the contact has been in no flow of the bot's yet
        self.offered = result

    def _note(self, result: LeaveStep | Waits) -> StepTaken:
        """Note what the active step decided, in the trace; and what it passes on to the next step."""
        turn = self.turn
        taken = turn.note_step()
        if result.notes:
            turn.trace.notes += [f"{turn.where}: {note}" for note in result.notes]
        if isinstance(result, LeaveStep):
            taken.conditions = list(result.conditions)
            turn.pending_input = result.pending_input or turn.pending_input
        return taken

    def _send(self, result: LeaveStep | Waits) -> list[str]:
        """Send the messages of a result. Returns the names of their effects."""
        turn, refs = self.turn, []
        for message in result.messages:
            ref = turn.send(message, report=isinstance(result, WaitForSend))
            if ref is not None:
                refs.append(ref)
            turn.frame.silent_since = turn.event.at
        for event in result.happens if isinstance(result, LeaveStep) else ():
            turn.let_happen(event)
        return refs

    def _wait(self, result: Waits, sent: list[str]) -> StepResult | None:
        """Wait at the active step: for the contact, for the end of an effect, or for a flow that it opens and that
        runs now.

        ``sent`` are its messages: if one of them is refused, the step is resumed.
        """
        turn, frame = self.turn, self.turn.frame
        if isinstance(result, WaitForEffect):
            sent = [turn.add_effect(result.effect)]
        if turn.step.facts.waits and not isinstance(result, WaitForSend):
            for each in turn.session.frames:
                each.notice = False  # the contact is asked something: the question below is far above then
        if not isinstance(result, KeepWaiting):
            awaits = isinstance(result, (WaitForEffect, WaitForSend))
            frame.awaited_effect = sent[-1] if awaits and sent else None
            frame.deferred_result = None
            frame.accepts_messages = isinstance(result, WaitForEffect) and result.listens
            frame.gathers_since = None if frame.awaited_effect is not None else frame.gathers_since
        frame.step_state = dict(result.step_state)
        frame.question_undelivered = isinstance(result, WaitHere) and result.undelivered
        frame.asks_to_continue = False
        if sent:
            frame.step_state["sent"] = sent
        match result:
            case WaitHere(valid=valid) if valid is not None:
                turn.keep_replies(valid)
            case HandOver(tag=tag, event=event, values=values):
                turn.tag(tag)
                frame.step_state["tag"] = tag
                turn.call_hooks(event, frame.flow, step=frame.step, **values)
            case RunFlow(flow=flow, inputs=inputs):
                return self._open(f"/{flow}", inputs, came_from=frame.flow)
        return None

    def _leave(
        self, taken: StepTaken, result: LeaveStep, *, expired: bool = False, objection: str | None = None
    ) -> StepResult | None:
        """Leave the active step by the outcome of a result, or stay if the outcome has no target.

        The values and texts on the way may fail. Then one of the step's `errors` is the outcome, and no value was
        set.
        """
        turn, frame, flow, outcome = self.turn, self.turn.frame, self.turn.flow, result.outcome
        step, resolved, before = flow.steps[frame.step], flow.machine.follow(frame.step, outcome), turn.checkpoint()
        frame.awaited_effect = None
        turn.session.apology_due = turn.session.apology_due or step.is_model_failure(outcome)
        try:
            if resolved.success:
                self._apply_options(step, result)
            if objection is not None:
                turn.send(TextMessage(objection))
            elif resolved.written is not None:
                others = step.facts.names_in_errors
                self._run_actions(
                    resolved.written, {**dict.fromkeys(others), **result.known} if others else result.known
                )
        except FAILURES as failed:
            turn.roll_back(before)
            return self._leave(taken, LeaveStep(self._outcome_of(failed, leaving=outcome), known=result.known))
        unanswered = frame.unanswered_question
        own = unanswered is not None and unanswered.partition("/")[0] == frame.flow
        answered = step.facts.asks and not isinstance(turn.event, SendEnded)  # a message that went is no answer
        if own and resolved.success and resolved.target != BACK and answered:
            frame.unanswered_question, frame.unanswered_below = None, ()  # the contact has answered
        put_again = objection is not None and resolved.target == AGAIN  # the objection has done so
        target = None if put_again else self._after_correction(resolved)
        taken.outcome, taken.target, taken.success = outcome, STAY if resolved.stays else target, resolved.success
        if resolved.stays:
            return self._stay()
        if step.splits:
            turn.session.splits = {**turn.session.splits, turn.where: outcome}
        if target is None:
            return None
        return self._go(target, expired=expired, failed=outcome.startswith("errors."), alone=resolved.of_bot)

    def _stay(self) -> StepResult | None:
        """Keep waiting at the active step: the last answer counts as a wrong one. After too many, `retry.else` follows."""
        turn, frame, step = self.turn, self.turn.frame, self.turn.step
        frame.question_undelivered = frame.question_undelivered or "sent" not in frame.step_state
        retry, otherwise = step.defaults.retry, step.transitions.get("retry.else")
        if retry is None or retry.most is None or otherwise is None or frame.retries < retry.most:
            frame.retries += 1
            return None
        turn.note_unanswered(otherwise.target)
        result = LeaveStep("retry.else")
        return self._leave(self._note(result), result)

    def _go(
        self, target: str, *, expired: bool = False, failed: bool = False, alone: bool = False
    ) -> StepResult | None:
        """Go to a target from the active step. Returns what the next step decides.

        ``expired``: nobody answered; ``failed``: the step failed. The step that ran a flow learns of either when the
        flow ends. ``alone``: where the target is another flow, no flow below it goes on.
        """
        frame = self.turn.frame
        self.turn.remove_step_tags((frame,))
        if target == AGAIN:
            return self._put_again()
        if target == BACK and (question := self.turn.take_unanswered()) is not None:
            return self._return_to(question)
        if target in (END, BACK):
            return self._end(expired=expired and target == END, failed=failed and target == END)
        if target == ROUTE:
            return self._reroute()
        if target.startswith("/"):
            return self._enter(self.turn.switch_flow(target, alone=alone))
        return self._enter(target)

    # -- what starts the loop: for events -----------------------------------------------------------

    def ask(self, decide: Callable[[StepContext, *Given], StepResult | None], *given: *Given) -> StepResult | None:
        """The result of a function of the active step. A failure in its texts or values becomes the outcome for failures."""
        try:
            return decide(self.turn.step_context(), *given)
        except FAILURES as failed:
            return LeaveStep(self._outcome_of(failed), known=getattr(failed, "known", {}))

    def resume(self, event: Awaited, rule: str) -> None:
        """Continue after the event that the active step waited for."""
        self.run(self.ask(self.turn.step.kind.resume, event), rule)

    def follow(self, outcome: str, *, expired: bool = False, objection: str | None = None) -> None:
        """Leave the active step by an outcome that it did not decide on: `retry`, `timeout`, an error.

        ``objection`` is said in place of the transition's `say`, and counts as the question.
        """
        result = LeaveStep(outcome)
        self.run(self._leave(self._note(result), result, expired=expired, objection=objection))

    def fail(self, failed: Failure) -> None:
        """Leave the active step by its errors, after a failure that it did not cause itself. Raises the failure if
        the contact is in no flow.
        """
        if self.turn.session.frame is None:
            raise failed
        self.follow(self._outcome_of(failed))

    def run_actions(self, transition: Transition) -> bool:
        """Carry out the `say`, `set` and the like of a transition that is no outcome of the step's. Returns False if
        the step's errors took over: then no value was set.
        """
        before = None if self.turn.session.frame is None else self.turn.checkpoint()
        try:
            self._run_actions(transition)
        except FAILURES as failed:
            if before is not None:
                self.turn.roll_back(before)
            self.fail(failed)
            return False
        return True

    def go(self, target: str, *, alone: bool) -> None:
        """Go to a target from the active step. ``alone``: where that is another flow, no flow below it goes on."""
        self.run(self._go(target, alone=alone))

    def put_again(self) -> None:
        """Ask the active step's question again."""
        self.run(self._put_again())

    def open(self, target: str, inputs: Mapping[str, Any]) -> None:
        """Begin a flow for a contact who is in none."""
        self.run(self._open(target, inputs))

    def correct(self, step: str | None) -> None:
        """Let the contact correct the answer of an earlier step. After it, the active step follows again."""
        self.turn.frame.corrected_step, self.turn.frame.step_after_correction = step, self.turn.frame.step

    # -- values and texts when a step is left -------------------------------------------------------

    def _apply_options(self, step: Step, result: LeaveStep) -> None:
        """Carry out a step's `save`, `set`, `tag` and `schedule`. `set` sees the values from before. Raises a `Failure`."""
        turn, options = self.turn, step.options
        if result.saved is not NOTHING and options.save is not None:
            turn.assign(options.save, result.saved)
        turn.assign_values(result.sets)
        if options.clear or options.set:
            self._assign(options, turn.scope())
        if options.tag or options.untag:
            self._tag(options, turn.scope())
        if options.cancel or options.schedule:
            arrange(turn, options)
        if options.reset:
            reset = {visited(turn.frame, each.text) for each in options.reset}
            counts = turn.frame.visit_counts.items()
            turn.frame.visit_counts = {key: count for key, count in counts if key not in reset}

    def _run_actions(self, transition: Transition, known: Mapping[str, Any] | None = None) -> None:
        """Carry out a transition's `say`, `set`, `tag`, `cancel` and `ask`, before its target. Raises a `Failure`.

        ``known`` are further names for its templates.
        """
        turn = self.turn
        if not transition.acts:
            return
        scope = {**turn.scope(), **known} if known else turn.scope()
        if transition.say is not None:
            turn.send(TextMessage(transition.say.render(scope)))
        if transition.clear or transition.set:
            self._assign(transition, scope)
        self._tag(transition, scope)
        if transition.cancel:
            cancel(turn, transition.cancel, scope)
        if transition.ask is not None:
            self._ask_in_other_words(transition.ask.render(scope))

    def _assign(self, given: StepOptions | Transition, scope: Mapping[str, Any]) -> None:
        """Carry out a `clear` and a `set`: every value is evaluated before any is assigned. Raises a `Failure`."""
        turn, frame = self.turn, self.turn.session.frame
        if frame is None:  # then there are no variables except the contact's language and time zone
            turn.assign_all((item for item in given.set if item.name in (LANGUAGE, TIMEZONE)), scope)
            return
        flow = turn.library.flows.get(frame.flow)  # an edit may have removed it
        variables = {} if flow is None else flow.variables
        turn.assign_all(given.assigned(variables), scope)
        if flow is not None and frame.ahead and given.clear:
            cleared = {each.name for item in given.clear for each in item.among(variables)}
            left = {name for name, step in flow.steps.items() if step.options.save not in cleared}
            frame.ahead = {step: text for step, text in frame.ahead.items() if step in left}

    def _tag(self, given: StepOptions | Transition, scope: Mapping[str, Any]) -> None:
        for tag in given.untag:
            self.turn.untag(tag.render(scope))
        for tag in given.tag:
            self.turn.tag(tag.render(scope))

    def _ask_in_other_words(self, body: str) -> None:
        """Ask the active step's question in these words. If it has no question, they are only said."""
        step = self.turn.known_step
        question = None if step is None else step.kind.ask_again(self.turn.step_context(), body)
        if question is None:
            self.turn.send(TextMessage(body))
        else:
            self._wait(question, self._send(question))

    def _after_correction(self, resolved: ResolvedTransition) -> str | None:
        """The target; after a corrected answer, the step from which the correction started."""
        frame, target = self.turn.frame, resolved.target
        if resolved.written is not None and resolved.written.corrects:
            self.correct(target)
        elif target is not None and frame.step == frame.corrected_step:
            back = name_now(self.turn.flow, frame.step_after_correction or "", frame.former_step_names)
            frame.corrected_step = frame.step_after_correction = None
            return back if resolved.success and back is not None else target
        return target

    # -- failures -------------------------------------------------------------------------------------

    def _outcome_of(self, failed: Failure, leaving: str = "") -> str:
        """The active step's outcome for a failure that happened while it was left by ``leaving``.

        Raises `FlowBroken` if there is none, if that outcome fails itself, or if it led back to the same failure:
        otherwise its texts would be sent hundreds of times.
        """
        turn, transitions = self.turn, self.turn.step.transitions
        name = "mismatch" if isinstance(failed, TypeMismatch) else getattr(failed, "outcome", "failed")
        note = turn.trace.notes.append if f"errors.{name}" in transitions else turn.trace.problem
        note(f"{turn.where}: {name}: {failed}")
        turn.frame.step_state = dict(turn.step.kind.after_failure(turn.frame.step_state))
        for outcome in (f"errors.{name}", "errors.else"):
            if outcome in transitions and not leaving.startswith("errors."):
                self._note_failure(failed)
                if outcome == "errors.else":
                    turn.call_error_hooks(str(failed))
                return outcome
        raise FlowBroken(f"{turn.where}: {failed}")

    def _note_failure(self, failed: Failure) -> None:
        """Note the state on which the failed step depends. Raises `FlowBroken` if it has failed in exactly this state
        before.

        Values of the state are never changed in place.
        """
        turn, session = self.turn, self.turn.session
        frames = [(each.flow, each.step, each.vars, each.step_state, each.visit_counts) for each in session.frames]
        state = frames, session.kept_variables, session.tags, session.language
        if state in turn.failed:
            raise FlowBroken(f"{turn.where}: {failed}: its errors lead back here, and it fails again")
        turn.failed.append(state)

    # -- arriving -------------------------------------------------------------------------------------

    def _enter(self, name: str) -> StepResult | None:
        """Enter a step of the active flow. Returns what it decides."""
        frame, step = self.turn.frame, self.turn.flow.steps[name]
        self._count(step)
        self.turn.arrive(step)
        visits = step.options.visits
        if visits is not None:
            key = visited(frame, name)
            seen = frame.visit_counts.get(key, 0)
            if seen >= visits.most:
                return LeaveStep("visits.else")
            frame.visit_counts = {**frame.visit_counts, key: seen + 1}
        known = self._answered_ahead(name) if name in frame.ahead else None
        return known or self._read_before_asking(name) or self.ask(step.kind.enter)

    def _answered_ahead(self, name: str) -> LeaveStep | None:
        """The answer to a question that the contact has given before it was asked."""
        turn, frame = self.turn, self.turn.frame
        piece = frame.ahead[name]
        frame.ahead = {step: text for step, text in frame.ahead.items() if step != name}
        result = slots.answered(turn, name, piece)
        if result is None:
            turn.trace.notes.append(f"{turn.where}: asked, although it was answered before: that is no answer now")
        return result

    def look_ahead(self, text: str, *, with_others: bool = False) -> bool:
        """Look in a message for answers to the active flow's slots. The active question goes on if it is among them, else the
        first answer is corrected that was given before; other questions are answered when they come.

        Returns False if there is none; ``with_others``: if it does not answer the active question and another.
        """
        turn, frame = self.turn, self.turn.frame
        found, more = slots.found_ahead(turn, text)
        if not found or (with_others and (len(found) < 2 or frame.step not in found)):
            return False
        corrects = frame.step not in found and slots.answered_before(turn, iter(found))
        if not more or corrects or not self.look_by_model(text, found):
            self._take_found(found)
        return True

    def take_found(self, found: Mapping[str, str], said: str) -> bool:
        """Take answers in a message to slots of the active flow, as `look_ahead` does, after a model has looked for more. Its values count
        if their questions take them. A question that was not asked yet is answered or asked. Returns False if none counts.
        """
        turn, frame = self.turn, self.turn.frame
        answers, undelivered = slots.taken(turn, found, said), frame.question_undelivered
        self._also(slots.in_words(answers))
        if undelivered:
            frame.ahead = {**frame.ahead, **answers}
            self.run(self._answered_ahead(frame.step) if frame.step in answers else self._put_again())
        elif answers:
            self._take_found(answers)
        return undelivered or bool(answers)

    def look_by_model(self, text: str, found: Mapping[str, str]) -> bool:
        """Let a model look in a message for answers to the slots that are open; ``found`` are those that are known. Returns False
        if there is none, or no model.
        """
        asked = self._look_by_model(text, found) if self.turn.step.facts.asks else None
        self.run(asked)
        return asked is not None

    def _look_by_model(
        self, text: str, found: Mapping[str, str], *, before_question: bool = False
    ) -> StepResult | None:
        """``before_question``: the active question is not asked before the model has looked."""
        turn, flow = self.turn, self.turn.flow
        if flow.model_slots is None or SLOT_FILLING not in turn.library.flows or is_blank(text):
            return None
        questions = slots.open_questions(turn, found) if len(turn.session.frames) < MOST_FRAMES else {}
        if not questions:
            return None
        self._also(f"a model looks for {', '.join(questions)}")
        if before_question:
            turn.note_step()
            turn.frame.question_undelivered = True
        turn.push_flow(f"/{SLOT_FILLING}", {}, flow.name, interrupts=True)
        self._count(turn.step)
        turn.arrive(turn.step)
        kind = turn.step.kind
        assert isinstance(kind, SlotStep)
        return kind.look(turn.step_context(), text, flow.name, questions, found)

    def _also(self, rule: str) -> None:
        """Add to the rule of the trace."""
        self.turn.trace.rule += f": {rule}" if self.turn.trace.rule else rule

    def _read_before_asking(self, name: str) -> StepResult | None:
        """Let a model look for answers in the message that has started the flow, when its first slot is about to be asked."""
        frame, flow = self.turn.frame, self.turn.flow
        if frame.unread is None or name not in flow.slots:
            return None
        text, frame.unread = frame.unread, None
        return self._look_by_model(text, {}, before_question=True)

    def _take_found(self, found: Mapping[str, str]) -> None:
        turn, frame = self.turn, self.turn.frame
        frame.ahead = {**frame.ahead, **found}
        corrected = slots.answered_before(turn, (step for step in found if step != frame.step))
        if frame.step in found:
            self.run(self._answered_ahead(frame.step), slots.in_words(found))
        elif corrected:
            turn.trace.rule = f"corrects {corrected[0]}"
            self.correct(corrected[0])
            self.go(corrected[0], alone=False)
        else:
            turn.trace.rule = turn.trace.rule or slots.in_words(found)
            self.put_again()

    def _put_again(self) -> StepResult | None:
        """Ask the whole question again. It is the same visit, so its buttons stay valid. A question is not asked
        again while its answer is being awaited.
        """
        frame = self.turn.frame
        if frame.awaited_effect is not None:
            return None
        self._count(self.turn.step)
        frame.silent_since = self.turn.event.at
        return self.ask(self.turn.step.kind.enter)

    def _return_to(self, question: str) -> StepResult | None:
        """Return to a question that was left without an answer. If an edit has removed it, the flow ends."""
        turn, frame = self.turn, self.turn.frame
        flow, _, name = question.partition("/")
        known, retries = turn.library.flows.get(flow), frame.unanswered_retries
        now = None if known is None else name_now(known, name, frame.former_step_names)
        if known is None or now is None:
            return self._end()
        if frame.flow != flow:
            frame.came_from = frame.flow
            turn.change_flow(flow)
        self._count(known.steps[now])
        turn.arrive(known.steps[now])
        frame.retries = retries
        return self.ask(turn.step.kind.enter)

    def _count(self, step: Step) -> None:
        self._entered += 1
        if self._entered > MOST_STEPS:
            raise FlowBroken(f"{self.turn.frame.flow}/{step.name}: more than {MOST_STEPS} steps without waiting")

    # -- flows begin and end ----------------------------------------------------------------------------

    def _open(
        self,
        target: str,
        inputs: Mapping[str, Any],
        *,
        came_from: str | None = None,
        interrupts: bool = False,
        notice: bool = False,
    ) -> StepResult | None:
        """Open a flow in a frame of its own, on top of the others. Returns what its first step decides."""
        try:
            step = self.turn.push_flow(target, inputs, came_from, interrupts=interrupts)
        except TypeMismatch as mismatch:
            if self.turn.session.frame is None:
                raise
            return LeaveStep(self._outcome_of(mismatch))
        self.turn.frame.notice = notice
        if self.turn.flow.slots and self.turn.pending_input is not None:
            self._read_ahead(self.turn.pending_input)
        return self._enter(step)

    def _read_ahead(self, reply: Reply) -> None:
        """Look in the message that starts the active flow for answers to its slots. A word that starts it holds none."""
        turn, text = self.turn, reply.text or ""
        found, more = slots.found_ahead(turn, text)
        if found:
            turn.frame.ahead = found
            self._also(slots.in_words(found))
        words = () if turn.flow.trigger is None else (normalise(word) for word, _ in turn.flow.trigger.words)
        if turn.flow.model_slots is not None and more and reply.payload is None and normalise(text) not in words:
            turn.frame.unread = text

    def _end(self, *, expired: bool = False, failed: bool = False) -> StepResult | None:
        """End the active flow. Its caller continues by `then`, `expired` or `errors`. An interrupted flow continues,
        unless this one has expired.
        """
        turn = self.turn
        ended, turn.expired = turn.pop_frame(), expired
        if ended.interrupts and not ended.notice:
            if not expired:
                return self._return_to_interrupted()
            turn.end_all()
        if turn.session.frame is None:
            return None
        change, result = self._migrate()
        if change.moves or ended.notice:
            return result
        result = self.ask(turn.step.kind.resume, FlowEnded(expired, turn.values_of(ended), failed))
        if result is not None:
            turn.trace.rule = turn.trace.rule or "returned"
        return result

    # -- interruptions: a flow begins on top of another, which continues later ------------------------

    def interrupt(self, target: str, inputs: Mapping[str, Any], *, notice: bool = False) -> None:
        """Interrupt the active flow by another (``flow``, or ``flow/step``). An open copy of that flow is dropped.

        ``notice``: the interrupted flow continues in any case; if nothing was asked, its question is not asked again.
        """
        turn = self.turn
        came_from = turn.frame.flow
        if turn.flow.interrupted == "drop" and not notice:
            turn.remove_step_tags((turn.frame,))
            turn.drop_flow()
        turn.drop_copy(target.partition("/")[0])
        turn.make_room()
        interrupts = turn.session.frame is not None
        self.run(self._open(f"/{target}", inputs, came_from=came_from, interrupts=interrupts, notice=notice))

    def return_to_interrupted(self, *, agreed: bool = False) -> None:
        """Continue the active flow, which was interrupted. ``agreed``: the contact has asked for it."""
        self.run(self._return_to_interrupted(agreed=agreed))

    def _return_to_interrupted(self, *, agreed: bool = False) -> StepResult | None:
        """Continue an interrupted flow: its times begin again, and its question is asked. With `ask`, the contact is
        asked first whether to continue.
        """
        turn = self.turn
        if turn.session.frame is None:
            return None
        change, result = self._migrate()
        if change.moves:
            return result
        frame = turn.frame
        frame.entered_at = turn.event.at
        if turn.flow.interrupted != "ask" or frame.question_undelivered or agreed:
            return self._put_again()
        name = turn.flow.name.replace("_", " ")
        asked = turn.send(yes_no_question.question(turn.step_context(), wording(turn.scope(), "go_on", flow=name)))
        frame.step_state = {**frame.step_state, "sent": [asked]}
        frame.silent_since = turn.event.at
        frame.asks_to_continue = True
        return None

    # -- an edit of the flows while a contact waits ---------------------------------------------------

    def migrate_session(self) -> bool:
        """Adapt the contact's step to an edit of its flow. True: that led the contact elsewhere, where the event means nothing.
        While an agent has the conversation, nothing is adapted.

        Unchanged: it keeps waiting. Changed: its question is asked again when the contact writes. A step of another
        kind: it is entered. Removed: the target of `gone` follows; if the conversation ends by that, the event counts.
        """
        session, step = self.turn.session, self.turn.known_step
        if session.frame is None or session.agent is not None:
            return False
        if step is not None and step.fingerprint == session.frame.fingerprint:  # nearly always
            return False
        change, result = self._migrate()
        self.run(result)
        return change.moves and not (change is StepChange.GONE and self.turn.session.frame is None)

    def _migrate(self) -> tuple[StepChange, StepResult | None]:
        """The effect of an edit on the active step; if the contact moves, what the next step decides."""
        turn, frame = self.turn, self.turn.frame
        edited = edited_step(turn.library, frame)
        if edited.change is StepChange.GONE:
            turn.trace.notes.append(f"{turn.where} is gone")
            return edited.change, self._leave_gone()
        if frame.step != edited.step:
            frame.step = edited.step
            turn.note_former_name(turn.step)
        if edited.change is StepChange.NONE:
            return edited.change, None
        turn.trace.notes.append(f"{turn.where} was edited")
        if edited.change is StepChange.ANEW:
            turn.remove_step_tags((frame,))
            self._count(turn.step)
            turn.arrive(turn.step)
            return edited.change, self.ask(turn.step.kind.enter)
        frame.fingerprint = turn.step.fingerprint
        frame.question_undelivered = edited.change is StepChange.ASKED
        return edited.change, None

    def _leave_gone(self) -> StepResult | None:
        """Go to the target of `gone`. If there is none, the flow has expired. If it was the bot's own, in which a model is asked about
        a message, the message is offered as if no model had been asked.
        """
        turn = self.turn
        if turn.frame.awaited_effect is not None and turn.frame.form in _ASKS_ABOUT_MESSAGE:
            state = turn.frame.step_state
            self._offer(Redirect("other", Reply(text=state["said"]), found=state.get("found")))
            return None
        target, gone = target_when_gone(turn.library, turn.frame), turn.defaults.gone
        turn.remove_step_tags((turn.frame,))
        if gone is not None:
            self._run_actions(gone)
        if target is None or target == END:
            return self._end(expired=True)
        if target.startswith("/"):
            return self._enter(turn.switch_flow(target, alone=gone is turn.library.bot.defaults.gone))
        return self._enter(target)

    # -- what starts a flow ---------------------------------------------------------------------------------

    def triggers(self) -> TriggerIndex:
        """All starts of flows for this contact, in their language."""
        return self.turn.library.triggers[RETURNING if self.turn.session.visit else FIRST]

    def start_by_message(self, reply: Reply) -> None:
        """Start the flow that a message is for."""
        self.run(self._start_by_message(reply))

    def start_by_intent(self, flow: str | None, reply: Reply) -> None:
        """Start the flow that a message is about, as a model or the contact says; None: what every other message starts."""
        turn = self.turn
        flow, by = flow or self.triggers().otherwise, "about" if flow else "otherwise"
        if flow is None:
            turn.trace.rule += ": no flow starts by this"
            return
        turn.trace.rule += f": start of {flow}: {by}"
        turn.pending_input = reply
        self.open(f"/{flow}", {})

    def ask_what_about(self, reply: Reply) -> bool:
        """Ask a model which flow a message is about. Returns False if there is nothing to ask."""
        asked = self._ask_what_about(reply)
        self.run(asked)
        return asked is not None

    def _ask_what_about(self, reply: Reply) -> StepResult | None:
        turn, frame = self.turn, self.turn.session.frame
        written = reply.text and reply.text.strip() and reply.tap is None and reply.payload is None
        if not written or INTENTS not in turn.library.flows or len(turn.session.frames) >= MOST_FRAMES:
            return None
        turn.pending_input = reply
        turn.trace.rule = f"{turn.trace.rule}: " if turn.trace.rule else ""
        turn.trace.rule += "a model is asked what it is about"
        came_from = None if frame is None else frame.flow
        return self._open(f"/{INTENTS}", {}, came_from=came_from, interrupts=frame is not None)

    def _start_by_message(self, reply: Reply) -> StepResult | None:
        turn, triggers = self.turn, self.triggers()
        match, by_event = triggers.by_texts(reply.texts), triggers.by_event(turn.event)
        if match is None and by_event is None and (asked := self._ask_what_about(reply)) is not None:
            return asked
        flow = by_event or triggers.otherwise if match is None else match.flow
        handed_on = f"{turn.trace.rule}: " if turn.trace.rule else ""  # by a word, or by `other`
        if flow is None:
            turn.trace.rule = f"{handed_on}no flow starts by this"
            return None
        turn.pending_input = reply
        by = "" if match else f": {name_of_event(turn.event)}" if by_event else ": otherwise"
        turn.trace.rule = f"{handed_on}start of {flow}{by}"
        return self._open(f"/{flow}", {} if match is None else self.inputs_of(match))

    def inputs_of(self, match: TriggerMatch) -> dict[str, Any]:
        """The inputs that a text gives to the flow that it starts: as an answer would, if it fits."""
        turn, inputs = self.turn, {}
        variables = turn.library.flows[match.flow].variables
        for name, text in match.given.items():
            with suppress(InvalidAnswer, TemplateFailed):
                inputs[name] = variables[name].accept(Answer(text), turn.now, turn.scope())
        return inputs

    def _reroute(self) -> StepResult | None:
        """Route the message again as a new one (`route`)."""
        turn, event, reply = self.turn, self.turn.event, self.turn.pending_input
        if reply is None and isinstance(event, MessageReceived | Tapped):
            reply = Reply(text=event.title if isinstance(event, Tapped) else event.text)
        if self._routed or reply is None:
            raise FlowBroken("`route` has no message to hand on, or leads to itself")
        self._routed = True
        turn.session.frames = ()
        return self._start_by_message(reply)

    def start_by_event(self) -> None:
        """Start the flow that waits for this event. A contact who is in a flow, or with an agent, stays there."""
        turn = self.turn
        flow = self.triggers().by_event(turn.event)
        if flow is None or turn.session.frame is not None or turn.session.agent is not None:
            return
        if turn.session.opted_out:
            turn.trace.rule = f"no start of {flow} by {name_of_event(turn.event)}: {HAS_OPTED_OUT}"
        else:
            turn.trace.rule = f"start of {flow}: {name_of_event(turn.event)}"
            self.open(f"/{flow}", {})

    def start_plan(self, plan: Plan, inputs: Mapping[str, Any], why: str) -> None:
        """Start the flow of a plan now, or skip it if the contact is busy."""
        turn = self.turn
        if not can_start(turn, plan):
            turn.trace.rule, turn.start = f"no start of {plan.flow}: the contact is busy", SKIPPED
            return
        turn.trace.rule = f"start of {plan.flow}: {why}"
        turn.start = STARTED if turn.session.frame is None else plan.busy
        turn.session.broadcast = plan.broadcast
        if plan.busy == "replace":
            turn.end_all()
        if turn.session.frame is None:
            self.open(f"/{plan.flow}", inputs)
        else:
            self.interrupt(plan.flow, inputs, notice=plan.busy == "notice")

    # -- signals --------------------------------------------------------------------------------------------

    def deliver_signal(self, signal: Plan) -> None:
        """Let the step hear a signal that waits for it: the active one, else one that runs the active flow. If nobody hears it,
        the trace has a note.
        """
        turn, frames = self.turn, self.turn.session.frames
        turn.trace.rule = f"signal {signal.signal}"
        known = {"event": Record("event", signal.inputs)}
        for depth in range(len(frames), first_of_conversation(frames), -1):
            turn.session.frames = frames[:depth]
            heard = self._match_signal(signal, known)
            if heard is not None:
                self._follow_signal(heard, frames[depth:])
                return
        turn.session.frames = frames
        turn.trace.rule += f": {UNHEARD}"

    def _match_signal(self, signal: Plan, known: Mapping[str, Any]) -> LeaveStep | None:
        """How the active step is left by a signal: by its first transition whose condition holds; None where none does."""
        turn, seen = self.turn, list[tuple[str, Any]]()
        try:
            for outcome, heard in signal_outcomes(heard_at(turn, turn.frame, signal)):
                if heard.condition is not None:
                    seen.append((heard.condition.explained, heard.condition.evaluate({**turn.scope(), **known})))
                if heard.condition is None or seen[-1][1]:
                    return LeaveStep(outcome, known=known, conditions=tuple(seen))
        except TemplateFailed as failed:
            turn.trace.problem(f"{turn.where}: signals: {failed}")
            return None
        turn.trace.notes += [f"{turn.where}: not heard: {condition} is not true" for condition, _ in seen]
        return None

    def _follow_signal(self, result: LeaveStep, above: tuple[Frame, ...]) -> None:
        """The active step has heard a signal. The flows ``above`` end, unless it goes on waiting for the one that it runs."""
        turn, frame, outcome = self.turn, self.turn.frame, result.outcome
        target = turn.flow.machine.follow(frame.step, outcome).target
        if target is not None:
            turn.remove_step_tags(above)
            turn.note_unanswered(target, digression=True)
        taken = self._note(result)
        try:
            left = self._leave(taken, result)
        except FlowBroken:
            turn.session.frames += above  # they end as well, with their steps' tags
            raise
        if target is None and taken.outcome == outcome:
            turn.session.frames += above
        else:
            turn.remove_step_tags(above)
            self.run(left)
