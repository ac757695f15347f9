"""Entering steps and flows: visits are counted, and questions that the contact has answered already are not asked.

`ask` asks a step's kind. If that fails, `failure_outcome` says by which outcome the step is left.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVarTuple

from bot.core.events import FROM_CONTACT, CallEnded
from bot.core.session import Frame
from bot.core.text import is_blank
from bot.engine import slots
from bot.engine.contact_values import note_cleared
from bot.engine.frame_stack import MOST_FRAMES, arrive, note_left_for_draft, push_flow, switch_flow
from bot.engine.step_actions import visited
from bot.engine.turn_context import FAILURES, Failure, FlowBroken, OpeningText, TurnContext, call_error_hooks
from bot.language.flow.definition import Step
from bot.language.source.languages import wording
from bot.language.source.word_matching import normalise
from bot.language.steps.draft_step import CONTINUED, DRAFTS, WhichDraftStep
from bot.language.steps.slot_step import SLOT_FILLING, SlotStep
from bot.language.steps.step_kind import LeaveStep, Reply, StepContext, StepResult
from bot.language.steps.transition import AGAIN, NEXT
from bot.language.types.type_registry import TypeMismatch

Given = TypeVarTuple("Given")

MOST_STEPS = 500  # a turn; a loop that the checks could not see ends here


def enter(turn: TurnContext, name: str) -> StepResult | None:
    """Enter a step of the active flow. Returns what it decides."""
    frame, step = turn.frame, turn.flow.steps[name]
    count_entry(turn, step)
    has_only_begun = step.facts.sets_aside and not note_left_for_draft(turn)
    arrive(turn, step)
    if has_only_begun:
        turn.trace.notes.append(f"{turn.where}: there is nothing to set aside")
        return LeaveStep(CONTINUED)
    visits = step.options.visits
    if visits is not None:
        key = visited(frame, name)
        seen = frame.visit_counts.get(key, 0)
        if seen >= visits.most:
            return LeaveStep("visits.else")
        frame.visit_counts = {**frame.visit_counts, key: seen + 1}
    known: StepResult | None = answer_ahead(turn, name) if name in frame.ahead else None
    opening = turn.opening if known is None and step.facts.waits_for is not None else None
    known = known if opening is None else _answer_by_opening(turn, opening)
    result = known or (None if frame.unread is None else _read_before_asking(turn, name, frame.unread))
    if result is not None or opening is None or not step.facts.asks:
        return result or ask(turn, step.kind.enter)
    return _not_understood(turn, opening) if opening.astray else _ask_below(turn, _objection(turn, opening))


def begin(turn: TurnContext, name: str) -> StepResult | None:
    """Enter the first step of a flow that a contact begins. If there are drafts of the flow, ask first which one is to
    be continued: until then, the flow's frame has no visit.
    """
    session, flow, now = turn.session, turn.frame.flow, turn.event.at
    if not session.drafts:  # nearly always
        return enter(turn, name)
    drafts = [(draft.visit, draft.title) for draft in session.drafts if draft.flow == flow and draft.until > now]
    runs = len(session.frames) > 1 and not turn.frame.interrupts
    by_contact = isinstance(turn.event, (*FROM_CONTACT, CallEnded))
    if not drafts or runs or not by_contact or DRAFTS not in turn.library.flows or len(session.frames) >= MOST_FRAMES:
        return enter(turn, name)
    turn.opening = None
    arrive(turn, turn.flow.steps[name])
    turn.frame.visit = 0
    push_flow(turn, f"/{DRAFTS}", {}, flow, interrupts=True)
    count_entry(turn, turn.step)
    arrive(turn, turn.step)
    kind = turn.step.kind
    assert isinstance(kind, WhichDraftStep)
    again = turn.ended is not None and not turn.ended.visit  # a flow that has not begun was the last one to end
    return kind.offer(turn.step_context(), flow, drafts, again=again)


def put_again(turn: TurnContext) -> StepResult | None:
    """Ask the whole question again. It is the same visit, so its buttons stay valid. A question is not asked
    again while its answer is being awaited.
    """
    frame = turn.frame
    if frame.awaited_effect is not None:
        return None
    count_entry(turn, turn.step)
    frame.silent_since = turn.event.at
    return ask(turn, turn.step.kind.enter)


def count_entry(turn: TurnContext, step: Step) -> None:
    """Count a step that the turn enters. Raises `FlowBroken` for more than `MOST_STEPS`."""
    turn.counted.entered += 1
    if turn.counted.entered > MOST_STEPS:
        raise FlowBroken(f"{turn.frame.flow}/{step.name}: more than {MOST_STEPS} steps without waiting")


def answer_ahead(turn: TurnContext, name: str) -> LeaveStep | None:
    """The answer to a question that the contact has given before it was asked."""
    frame = turn.frame
    piece = frame.ahead[name]
    frame.ahead = {step: text for step, text in frame.ahead.items() if step != name}
    result = slots.answered(turn, name, piece)
    if result is None:
        turn.trace.notes.append(f"{turn.where}: asked, although it was answered before: that is no answer now")
    return result


def _answer_by_opening(turn: TurnContext, opening: OpeningText) -> StepResult | None:
    """The answer to the active question in the text that has started the flow, or the question which value it means.
    Without an answer, the active question is asked.
    """
    found = slots.answer_in(turn, opening)
    if found is None:
        turn.opening = None
        return None
    piece, result = found
    opening.astray = False
    if isinstance(result, LeaveStep):
        turn.trace.add_rule(slots.in_words({turn.step.name: piece}))
    return result


def _not_understood(turn: TurnContext, opening: OpeningText) -> StepResult | None:
    """The first question to a contact whose message no flow and no question has understood: a question of theirs goes
    to the flow for questions, any other text to where the `other` of the bot's menu leads. Else the menu gives a
    reason.
    """
    opening.astray = False
    other = turn.step.transitions.get("other") if turn.flow.is_menu else None
    if other is not None and other.target is not None and other.target != AGAIN:
        return LeaveStep("other")
    if opening.asked_flow is not None:
        turn.trace.add_rule("a question")
        return enter(turn, switch_flow(turn, f"/{opening.asked_flow}", alone=True))
    return _ask_below(turn, wording(turn.scope(), "not_understood") if turn.flow.is_menu else _objection(turn, opening))


def _objection(turn: TurnContext, opening: OpeningText) -> str:
    """The words to a number in an opening text that the active question does not take, or to several of its choices;
    empty without these.
    """
    number, kind, context = slots.refused_number(turn, opening), turn.step.kind, turn.step_context()
    with suppress(*FAILURES):  # in a text of the bot's
        if number is not None:
            return kind.objection(context, Reply(number)) or kind.hint(context, Reply(number)) or ""
        return slots.which_one(turn, opening) or ""
    return ""


def _ask_below(turn: TurnContext, above: str) -> StepResult | None:
    """Ask the active question below some words."""
    turn.above_question = above
    result = ask(turn, turn.step.kind.enter)
    turn.above_question = ""
    return result


def _read_before_asking(turn: TurnContext, name: str, text: str) -> StepResult | None:
    """Before the flow's first slot is asked, let a model look for answers in the message that started the flow."""
    if name not in turn.flow.slots:
        return None
    turn.frame.unread = None
    return ask_model_for_slots(turn, text, {}, before_question=True)


def ask_model_for_slots(
    turn: TurnContext, text: str, found: Mapping[str, str], *, before_question: bool = False
) -> StepResult | None:
    """Ask a model for answers in a text to the questions that are open. Returns None if there are none, or no model.

    ``found`` are the answers that are known. ``before_question``: the active question is not asked before the model has
    looked.
    """
    flow = turn.flow
    if flow.model_reads is None or SLOT_FILLING not in turn.library.flows or is_blank(text):
        return None
    questions = slots.open_questions(turn, found) if len(turn.session.frames) < MOST_FRAMES else {}
    if not questions:
        return None
    turn.trace.add_rule(f"a model looks for {', '.join(questions)}")
    if before_question:
        turn.note_step()
        turn.frame.question = replace(turn.frame.question, undelivered=True)
    push_flow(turn, f"/{SLOT_FILLING}", {}, flow.name, interrupts=True)
    count_entry(turn, turn.step)
    arrive(turn, turn.step)
    kind = turn.step.kind
    assert isinstance(kind, SlotStep)
    return kind.look(turn.step_context(), text, flow.name, questions, found)


def open_flow(
    turn: TurnContext,
    target: str,
    inputs: Mapping[str, Any],
    *,
    came_from: str | None = None,
    interrupts: bool = False,
    notice: bool = False,
) -> StepResult | None:
    """Open a flow in a frame of its own, on top of the others. Returns what its first step decides."""
    try:
        step = push_flow(turn, target, inputs, came_from, interrupts=interrupts)
    except TypeMismatch as mismatch:
        if turn.session.frame is None:
            raise
        return LeaveStep(failure_outcome(turn, mismatch))
    turn.frame.notice = notice
    if turn.flow.slots:
        read_ahead(turn)
    return begin(turn, step) if step == turn.flow.first else enter(turn, step)


def read_ahead(turn: TurnContext) -> None:
    """Look in the message that starts the active flow for answers to its slots. A word that starts it holds none."""
    opening, reply = turn.opening, turn.pending_input
    if reply is None and opening is not None:
        reply = Reply(" ".join(opening.words))
    if not turn.flow.slots or reply is None:
        return
    text = reply.text or ""
    looked = slots.found_ahead(turn, text)
    if looked is None and opening is not None:
        opening.used.update(range(len(opening.words)))
    found, more = looked or ({}, True)
    if found:
        turn.frame.ahead = found
        turn.trace.add_rule(slots.in_words(found))
        if opening is not None:
            slots.use_up(opening, found.values())
    words = () if turn.flow.trigger is None else (normalise(word) for word, _ in turn.flow.trigger.words)
    if turn.flow.model_slots is not None and more and reply.payload is None and normalise(text) not in words:
        turn.frame.unread = text


# -- failures ----------------------------------------------------------------------------------------


def ask(
    turn: TurnContext, decide: Callable[[StepContext, *Given], StepResult | None], *given: *Given
) -> StepResult | None:
    """Call a method of the active step's kind, and return its result. A failure in its texts or values becomes an error
    outcome.
    """
    try:
        return decide(turn.step_context(), *given)
    except FAILURES as failed:
        return LeaveStep(failure_outcome(turn, failed), known=getattr(failed, "known", {}))


def failure_outcome(turn: TurnContext, failed: Failure, leaving: str = "") -> str:
    """The active step's outcome for a failure that happened while it was left by ``leaving``.

    Raises `FlowBroken` if the step has no such outcome, if that outcome fails itself, or if it led back to the same
    failure: otherwise its texts would be sent hundreds of times.
    """
    transitions = turn.step.transitions
    name = "mismatch" if isinstance(failed, TypeMismatch) else getattr(failed, "outcome", "failed")
    ignored = _is_ignored(turn)
    note = turn.trace.notes.append if ignored or f"errors.{name}" in transitions else turn.trace.problem
    note(f"{turn.where}: {name}: {failed}")
    before = turn.frame.step_state
    turn.frame.step_state = after = dict(turn.step.kind.after_failure(before))
    forgotten = before.keys() - after.keys()
    note_cleared(turn, (before[name] for name in forgotten))
    for outcome in (f"errors.{name}", "errors.else"):
        if outcome in transitions and not leaving.startswith("errors."):
            _note_failure(turn, failed)
            if outcome == "errors.else" and not ignored:
                call_error_hooks(turn, str(failed))
            return outcome
    raise FlowBroken(f"{turn.where}: {failed}")


def _is_ignored(turn: TurnContext) -> bool:
    """True if the active step itself goes on after any failure: `errors: {else: next}`."""
    other = (turn.step.options.defaults.errors or {}).get("else")
    return other is not None and other.then is not None and other.then.text == NEXT


def _note_failure(turn: TurnContext, failed: Failure) -> None:
    """Note the state on which the failed step depends. Raises `FlowBroken` if it has failed in exactly this state
    before.

    Values of the state are never changed in place.
    """
    session = turn.session
    state = [*map(_state_of, session.frames)], session.kept_variables, session.tags, session.language
    if state in turn.counted.failed:
        raise FlowBroken(f"{turn.where}: {failed}: its errors lead back here, and it fails again")
    turn.counted.failed.append(state)


def _state_of(frame: Frame) -> tuple[Any, ...]:
    waits = None if frame.waits is None else frame.waits.without_effect()
    return frame.flow, frame.step, frame.vars, frame.step_state, waits, frame.visit_counts


def refuse(turn: TurnContext, failed: Failure | FlowBroken) -> None:
    """Report to the operator why something that was asked for does not happen."""
    turn.result.failure = str(failed)
    turn.trace.problem(turn.result.failure)
