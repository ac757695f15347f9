"""A preview of an edit of the flows: its effect on open conversations, kept values and planned starts.

It asks the engine itself: `bot.engine.migration` for frames, `bot.engine.scheduled_flows` for planned starts.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from enum import Enum

from bot.core.immutable import immutable
from bot.core.session import Draft, Frame, Session
from bot.engine.migration import StepChange, edited_step, name_now, target_when_gone
from bot.engine.scheduled_flows import is_there
from bot.language.flow.library import Library
from bot.language.source.problems import Mark
from bot.language.steps.transition import END
from bot.language.types.type_registry import TypeMismatch


class MigrationKind(Enum):
    """The effects that an edit can have on a contact who waits at a step, on a planned start, or on a kept value."""

    UNCHANGED = "goes on unchanged"
    RENAMED = "the step has another name: goes on unchanged"
    EDITED = "goes on, at the step's new form"
    ASKED = "the question is put again, in its new form"
    ANEW = "the step waits in another way now: it is entered anew"
    LED = "the step is gone: led as `gone` says"
    DROPPED = "the step is gone, and no `gone` is declared: dropped"
    NOT_STARTED = "what is to start is gone: it does not start"
    FORGOTTEN = "the value does not fit any more: it starts at its declared one"


@immutable
class MigrationOutcome:
    """The effect of an edit on one frame, plan or kept value.

    ``place`` is ``flow/step`` for a frame; ``flow``, ``flow/step`` or a signal for a plan; ``flow: name`` for a kept
    value. ``to`` is where it goes: the new name of the step, or the target of `gone`. ``below``: the frame is migrated
    when the frames above it have ended. ``mark`` is the present place of the step, else of its flow.
    """

    place: str
    becomes: MigrationKind
    to: str = ""
    below: bool = False
    mark: Mark | None = None


_BECOMES = {
    StepChange.NONE: MigrationKind.UNCHANGED,
    StepChange.EDITED: MigrationKind.EDITED,
    StepChange.ASKED: MigrationKind.ASKED,
    StepChange.ANEW: MigrationKind.ANEW,
}


def migration_outcomes(library: Library, session: Session, now: datetime) -> Iterator[MigrationOutcome]:
    """The effects of an edit on all frames, planned starts and kept values of a contact.

    ``now`` is in the bot's time zone.
    """
    yield from _outcomes_of_frames(library, session.frames)
    for draft in session.drafts:
        yield from _outcomes_of_draft(library, draft)
    for plan in session.plans:
        if not is_there(library, plan):
            flow = library.flows.get(plan.flow.partition("/")[0])
            yield MigrationOutcome(
                plan.signal or plan.flow, MigrationKind.NOT_STARTED, mark=None if flow is None else flow.mark
            )
    yield from _forgotten(library, session, now)


def _outcomes_of_frames(library: Library, frames: tuple[Frame, ...]) -> Iterator[MigrationOutcome]:
    """The outcome for each frame, from the active one down.

    A frame that ends may end the frames below it, as in the engine.
    """
    taken_along = len(frames)  # this frame and those above it end
    outcome: MigrationOutcome | None = None
    for depth in reversed(range(len(frames))):
        frame, below = frames[depth], depth < len(frames) - 1
        if outcome is not None and depth >= taken_along:
            outcome = replace(outcome, place=f"{frame.flow}/{frame.step}", below=below)
        else:
            outcome = _outcome(library, frame, below)
            taken_along = min(depth, _taken_along(library, frames, depth, outcome))
        yield outcome


def _outcomes_of_draft(library: Library, draft: Draft) -> Iterator[MigrationOutcome]:
    """The outcomes for the frames of a draft, and for the question at which it is continued, if that is gone."""
    *_, top = draft.frames
    yield from _outcomes_of_frames(library, draft.frames)
    name, _, step = draft.where.partition("/")
    flow = library.flows.get(name)
    if flow is None or name_now(flow, step, top.former_step_names) is None:
        yield replace(_when_gone(library, top), place=draft.where, mark=None if flow is None else flow.mark)


def _outcome(library: Library, frame: Frame, below: bool) -> MigrationOutcome:
    found, place = edited_step(library, frame), f"{frame.flow}/{frame.step}"
    if found.change is StepChange.GONE:
        return replace(_when_gone(library, frame), below=below)
    flow = library.flows[frame.flow]
    to = "" if found.step == frame.step else f"{frame.flow}/{found.step}"
    becomes = MigrationKind.RENAMED if to and found.change is StepChange.NONE else _BECOMES[found.change]
    return MigrationOutcome(place, becomes, to, below, flow.steps[found.step].mark)


def _when_gone(library: Library, frame: Frame) -> MigrationOutcome:
    """The outcome for a frame whose step is gone."""
    to, flow = target_when_gone(library, frame), library.flows.get(frame.flow)
    kind = MigrationKind.DROPPED if to is None else MigrationKind.LED
    return MigrationOutcome(f"{frame.flow}/{frame.step}", kind, to or "", mark=None if flow is None else flow.mark)


def _taken_along(library: Library, frames: tuple[Frame, ...], depth: int, outcome: MigrationOutcome) -> int:
    """The lowest frame that ends together with a frame."""
    if outcome.becomes is MigrationKind.DROPPED or (outcome.becomes is MigrationKind.LED and outcome.to == END):
        below = library.flows.get(frames[depth - 1].flow) if depth else None
        waits_on = below is not None and below.interrupted == "wait"
        drops_all = frames[depth].interrupts and not (waits_on or frames[depth].notice)
        return 0 if drops_all else depth  # a frame that was interrupted by an expired one is dropped
    if outcome.becomes is MigrationKind.LED and outcome.to.startswith("/"):
        flow = outcome.to[1:].partition("/")[0]  # the conversation returns to a flow that is open below
        return next((n for n in reversed(range(depth + 1)) if frames[n].flow == flow), depth)
    return depth


def _forgotten(library: Library, session: Session, now: datetime) -> Iterator[MigrationOutcome]:
    """Kept values that no longer fit their declaration and are forgotten."""
    for flow in library.flows.values() if session.kept_variables else ():
        for name, value in session.kept_variables.items():
            variable = flow.variables.get(name)
            if variable is not None and variable.keep:
                try:
                    variable.coerce(value, now)
                except TypeMismatch:
                    yield MigrationOutcome(f"{flow.name}: {name}", MigrationKind.FORGOTTEN, mark=variable.mark)
