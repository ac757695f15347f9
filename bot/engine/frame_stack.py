"""The stack of frames: the contact's open flows. Each was opened by the flow below it, or interrupts it."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from bot.core.session import NEW_QUESTION, Frame, UnansweredQuestion
from bot.core.waits import ForPerson, ForTime
from bot.engine.contact_values import assign_values, declare_variables, note_cleared
from bot.engine.turn_context import FlowBroken, TurnContext
from bot.language.flow.definition import Step
from bot.language.steps.draft_step import DRAFTS
from bot.language.steps.transition import AGAIN, BACK, Cleared
from bot.language.types.type_registry import TypeMismatch

MOST_FRAMES = 10


def push_flow(
    turn: TurnContext, target: str, inputs: Mapping[str, Any], came_from: str | None, *, interrupts: bool
) -> str:
    """Put a flow on top, with its inputs. Returns its first step. Raises `TypeMismatch`, and changes nothing then."""
    below, now = turn.session.frames, turn.event.at
    if not below:
        turn.session.splits = {}
    if len(below) >= MOST_FRAMES:
        raise FlowBroken(f"more than {MOST_FRAMES} flows are open on top of each other")
    name, step = _place(turn, target)
    first = turn.session.visit + 1
    frame = Frame(name, step, 0, now, now, first_visit=first, came_from=came_from, interrupts=interrupts)
    turn.session.frames = (*below, frame)
    if turn.flow.variables:
        declare_variables(turn)
    try:
        if inputs:
            assign_values(turn, inputs)
    except TypeMismatch:
        turn.session.frames = below
        raise
    return step


def switch_flow(turn: TurnContext, target: str, *, alone: bool) -> str:
    """Let the active frame continue in another flow, with the conversation's variables. Returns the step to enter
    there.

    If that flow is open below, the conversation returns to it, with its own variables, and the flows above it
    end. Otherwise a word like "menu" would pile up flows to which nobody returns. ``alone``: the flows below it
    end, too, unless the conversation goes back to the question that it has left.
    """
    session, left = turn.session, turn.frame.flow
    name, step = _place(turn, target)
    depth = next((n for n in range(len(session.frames), 0, -1) if session.frames[n - 1].flow == name), None)
    session.frames = session.frames[:depth]
    if alone and len(session.frames) > 1:
        *below, top = session.frames
        session.frames = (top,)
        if top.unanswered is not None:
            top.unanswered = replace(top.unanswered, below=tuple(below))
    if name != left:
        turn.frame.came_from = left
    if name != turn.frame.flow:
        change_flow(turn, name)
    return step


def note_unanswered(turn: TurnContext, target: str | None, *, digression: bool = False) -> None:
    """Note a question, or another step that waits, that is left for this target without an answer.

    `back` returns to it. Leaving and returning does not change how often the question was repeated.
    """
    frame = turn.session.frame
    if frame is None or target in (None, AGAIN, BACK) or not turn.step.facts.takes_words:
        return
    retries = frame.question.retries if digression else 0
    unanswered = UnansweredQuestion(turn.where, retries=retries, entered_at=first_entry(frame))
    frame.unanswered = unanswered
    if not turn.step.facts.asks:
        state = dict(turn.step.kind.after_failure(frame.step_state))
        waits = frame.waits if isinstance(frame.waits, ForTime) else None
        frame.unanswered = replace(unanswered, waits=waits, step_state=state)


def note_left_for_draft(turn: TurnContext) -> bool:
    """Note where a conversation that is set aside will continue: at the question that was left without an answer, else
    at the last question of this turn, else at the step that is left. Returns False if the conversation has only begun,
    or if the contact was asked which draft to continue.
    """
    frame, flows = turn.frame, turn.library.flows
    if frame.unanswered is not None and frame.unanswered.where.partition("/")[0] == DRAFTS:
        frame.unanswered = None
        return False
    if frame.unanswered is None:
        if not frame.visit:
            return False
        taken = [each for each in reversed(turn.trace.steps) if each.step in flows[each.flow].steps]
        left = next((each for each in taken if each.visit == frame.visit), None)
        own = {frame.flow, frame.flow if left is None else left.flow}
        questions = (each for each in taken if each.flow in own and flows[each.flow].steps[each.step].facts.takes_words)
        asked = next(questions, left)
        flow, name = (frame.flow, frame.step) if asked is None else (asked.flow, asked.step)
        step = flows[flow].steps.get(name)
        where = flows[flow].first if step is None or step.facts.sets_aside else name
        frame.unanswered = UnansweredQuestion(f"{flow}/{where}")
    frame.unanswered = replace(frame.unanswered, entered_at=None)
    return True


def reopen_unanswered(turn: TurnContext) -> UnansweredQuestion | None:
    """Return the question that was left without an answer; None if there is none. The flows below it are open again."""
    frame, session = turn.frame, turn.session
    unanswered, frame.unanswered = frame.unanswered, None
    if unanswered is not None and unanswered.below:
        session.frames = (*(replace(each) for each in unanswered.below), *session.frames)
    return unanswered


def change_flow(turn: TurnContext, name: str) -> None:
    """Move the active frame to another flow. It keeps the conversation's variables."""
    frame, left = turn.frame, turn.library.flows.get(turn.frame.flow)
    kept = {} if left is None else left.kept_values(frame.vars, turn.session.kept_variables, turn.now)
    frame.flow = name
    declare_variables(turn, kept)


def arrive(turn: TurnContext, step: Step) -> None:
    """Begin a new visit of a step, in the active frame."""
    frame, session = turn.frame, turn.session
    session.visit += 1
    frame.step, frame.visit = step.name, session.visit
    frame.entered_at = frame.silent_since = turn.event.at
    frame.fingerprint, frame.form = step.fingerprint, step.form
    frame.step_state, frame.waits, frame.question, frame.parked_messages = {}, None, NEW_QUESTION, 0
    if step.options.renamed_from is not None:
        note_former_name(turn, step)


def note_former_name(turn: TurnContext, step: Step) -> None:
    """Note the name of the active step before an edit. It is needed if the edit is taken back."""
    former = step.options.renamed_from
    if former is not None and former not in turn.flow.steps:
        frame = turn.frame
        frame.former_step_names = {**frame.former_step_names, f"{frame.flow}/{frame.step}": former}


def timeout_at(frame: Frame, step: Step) -> datetime | None:
    """The time at which a step's time-out is due, in the active frame; None without one."""
    timeout = step.timeout
    if timeout is None or timeout.after is None:
        return None
    return (first_entry(frame) if timeout.fixed else frame.silent_since) + timeout.after


def first_entry(frame: Frame) -> datetime:
    """When the active step was entered, also if the conversation has returned to it since."""
    return frame.question.entered_at or frame.entered_at


def is_too_late(turn: TurnContext) -> bool:
    """True if the fixed time of the active step was over before the conversation returned to it.

    Its question is not asked then: its time-out is due at once.
    """
    at, timeout = timeout_at(turn.frame, turn.step), turn.step.timeout
    return at is not None and at <= turn.event.at and timeout is not None and timeout.fixed is True


def pop_frame(turn: TurnContext) -> Frame:
    """Remove the active frame."""
    ended = turn.ended = turn.frame
    turn.session.frames = turn.session.frames[:-1]
    return ended


def drop_flow(turn: TurnContext) -> None:
    """Remove the active flow and the flows that ran it. A flow that they interrupted stays."""
    while turn.session.frame is not None and not pop_frame(turn).interrupts:
        continue


def drop_copy(turn: TurnContext, flow: str) -> None:
    """Remove the open copy of a flow that is about to interrupt again, with the flows that it runs."""
    kept: list[Frame] = []
    dropping = False
    for n, frame in enumerate(turn.session.frames):
        dropping = frame.flow == flow if n and frame.interrupts else dropping
        if not dropping:
            kept.append(frame)
    turn.session.frames = tuple(kept)


def go_back_to(turn: TurnContext, flow: str) -> bool:
    """Return to a flow that is open below and interrupted no flow; the flows above it end. Returns False without it."""
    frames = turn.session.frames
    depth = next((n for n, frame in enumerate(frames) if frame.flow == flow and not (n and frame.interrupts)), None)
    turn.session.frames = frames if depth is None else frames[: depth + 1]
    return depth is not None


def make_room(turn: TurnContext) -> None:
    """If the stack is full, drop the flow that was interrupted first, with the flows that ran it."""
    frames = turn.session.frames
    oldest = next((n for n, frame in enumerate(frames) if n and frame.interrupts), None)
    if len(frames) >= MOST_FRAMES and oldest is not None:
        frames[oldest].interrupts = False
        turn.session.frames = frames[oldest:]


def remove_step_tags(turn: TurnContext, frames: Iterable[Frame]) -> None:
    """Remove the tags that the steps of these frames have set for as long as they wait."""
    if not turn.session.tags:
        return
    gone = {frame.waits.tag for frame in frames if isinstance(frame.waits, ForPerson)}
    turn.session.tags = tuple(tag for tag in turn.session.tags if tag not in gone)


def end_all(turn: TurnContext) -> None:
    """End all flows of the contact."""
    remove_step_tags(turn, turn.session.frames)
    turn.ended = turn.session.frame or turn.ended
    turn.session.frames = ()


def _place(turn: TurnContext, target: str) -> tuple[str, str]:
    """The flow and the step of a target: ``/flow/step``, or ``/flow`` for its first step."""
    name, _, step = target.removeprefix("/").partition("/")
    return name, step or turn.library.flows[name].first


def forget(turn: TurnContext, cleared: Iterable[Cleared], target: str) -> None:
    """Give kept variables their first value again, before the flow that declares them is opened."""
    kept = turn.library.flows[_place(turn, target)[0]].kept
    gone = {variable.name for item in cleared for variable in item.among(kept)}
    note_cleared(turn, (turn.session.kept_variables.get(name) for name in gone))
    turn.session.kept_variables = {
        name: value for name, value in turn.session.kept_variables.items() if name not in gone
    }
