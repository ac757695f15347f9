"""The stack of frames: flows that a contact is in, each opened by the one below it, or cutting in on it."""

from collections.abc import Mapping
from typing import Any

from bot.core.errors import BotError
from bot.core.session import Frame
from bot.engine.migration import note_former_name
from bot.engine.turn_context import TurnContext
from bot.flow.definition import Step
from bot.lang.variables import Mismatch

MOST_FRAMES = 10


class FlowBroken(BotError):
    """A flow asks for what cannot be done; the conversation ends and the operator is told."""


def push(
    work: TurnContext, target: str, inputs: Mapping[str, Any], *, came_from: str | None = None, interrupts: bool = False
) -> str:
    """Put a flow on top, with its inputs; the step that it begins with. Raises `Mismatch`, and puts nothing then."""
    below, now = work.session.frames, work.event.at
    if len(below) >= MOST_FRAMES:
        raise FlowBroken(f"more than {MOST_FRAMES} flows are open on top of each other")
    name, step = _place(work, target)
    work.session.frames = (*below, Frame(name, step, 0, now, now, came_from=came_from, interrupts=interrupts))
    work.declare()
    try:
        for key, value in inputs.items():
            work.assign(key, value)
    except Mismatch:
        work.session.frames = below
        raise
    return step


def go_over(work: TurnContext, target: str) -> str:
    """Let the active frame go over to another flow, with the conversation's variables; the step to enter there.

    A flow that is open below is gone back to, with its own variables: the runs above it are over. Else a word
    like "menu" would pile up flows that nobody returns to.
    """
    session, left = work.session, work.frame.flow
    name, step = _place(work, target)
    depth = next((n for n in range(len(session.frames), 0, -1) if session.frames[n - 1].flow == name), None)
    session.frames = session.frames[:depth]
    if name != left:
        work.frame.came_from = left
    if name != work.frame.flow:
        change_flow(work, name)
    return step


def arrive(work: TurnContext, step: Step) -> None:
    """A new visit of a step, in the active frame."""
    frame, session = work.frame, work.session
    session.visit += 1
    frame.visit = session.visit
    frame.entered_at = frame.silent_since = work.event.at
    frame.fingerprint, frame.form = step.fingerprint, step.kind.form
    frame.step_state, frame.awaited_effect, frame.accepts_messages, frame.deferred_result, frame.parked_messages = (
        {},
        None,
        False,
        None,
        0,
    )
    frame.retries = frame.reminders = 0
    frame.question_unseen = frame.asks_to_continue = False
    note_former_name(frame, work.flow)


def change_flow(work: TurnContext, name: str) -> None:
    """Let the active frame be one of another flow."""
    work.frame.flow = name
    work.declare()


def pop(work: TurnContext) -> Frame:
    """Take the active frame away."""
    ended = work.ended = work.frame
    work.session.frames = work.session.frames[:-1]
    return ended


def drop(work: TurnContext) -> None:
    """Take the active flow away, and whoever ran it: nobody returns to them. What they cut in on is left."""
    while work.session.frame is not None and not pop(work).interrupts:
        continue


def drop_copy(work: TurnContext, flow: str) -> None:
    """A flow interrupts once: an older copy of it is taken away, with the flows that it runs."""
    kept: list[Frame] = []
    dropping = False
    for frame in work.session.frames:
        dropping = frame.flow == flow if frame.interrupts else dropping
        if not dropping:
            kept.append(frame)
    work.session.frames = tuple(kept)


def back_to(work: TurnContext, flow: str) -> bool:
    """Go back to a flow that is open below and cut in on nobody: what lies above it is over. False: none is."""
    frames = work.session.frames
    depth = next((n for n, frame in enumerate(frames, 1) if frame.flow == flow and not frame.interrupts), 0)
    work.session.frames = frames[: depth or None]
    return depth > 0


def make_room(work: TurnContext) -> None:
    """Where the stack is full, the flow that was interrupted first is given up, with whoever ran it."""
    frames = work.session.frames
    oldest = next((n for n, frame in enumerate(frames) if n and frame.interrupts), None)
    if len(frames) >= MOST_FRAMES and oldest is not None:
        frames[oldest].interrupts = False
        work.session.frames = frames[oldest:]


def _place(work: TurnContext, target: str) -> tuple[str, str]:
    name, _, step = target.removeprefix("/").partition("/")
    return name, step or work.library.flows[name].first
