"""An edit of the flows meets a live conversation, step by step."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from bot.core.session import Frame
from bot.flow.definition import Flow
from bot.flow.library import Library
from bot.steps.transition import END

if TYPE_CHECKING:
    from bot.engine.executor import Executor

_EDITED, _GONE = "was edited", "is gone"


class StepChange(Enum):
    """What an edit has made of the step where a frame waits."""

    NONE = "none"
    EDITED = "edited"  # the frame waits on, at its new form
    ASKED = "asked"  # the question is put again, in its new form
    ANEW = "anew"  # it waits in another way now: it is entered anew
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class EditedStep:
    """A change, and the name that the step has now: another where it was renamed."""

    step: str
    change: StepChange


_NOT_RENAMED: Mapping[str, str] = {}


def name_now(flow: Flow, step: str, formerly: Mapping[str, str] = _NOT_RENAMED) -> str | None:
    """The name that a step of a flow has now; None where it is gone.

    ``formerly`` is what a frame knows of names before an edit: one that is taken back brings those again.
    """
    name: str | None = step
    tried: set[str] = set()
    while name is not None and name not in tried:
        if name in flow.steps:
            return name
        for other in flow.steps.values():
            if other.options.renamed_from == name:
                return other.name
        tried.add(name)
        name = formerly.get(f"{flow.name}/{name}")
    return None


def note_former_name(frame: Frame, flow: Flow) -> None:
    """Note what the step of a frame was called before an edit, since nothing else knows that once the edit is taken back."""
    former = flow.steps[frame.step].options.renamed_from
    if former is not None and former not in flow.steps:
        frame.former_step_names = {**frame.former_step_names, f"{flow.name}/{frame.step}": former}


def edited_step(library: Library, frame: Frame) -> EditedStep:
    """What an edit has made of the step where a frame waits."""
    flow = library.flows.get(frame.flow)
    name = None if flow is None else name_now(flow, frame.step, frame.former_step_names)
    if flow is None or name is None:
        return EditedStep(frame.step, StepChange.GONE)
    step = flow.steps[name]
    if frame.fingerprint == step.fingerprint:
        return EditedStep(name, StepChange.NONE)
    if frame.form != step.kind.form:
        return EditedStep(name, StepChange.ANEW)
    return EditedStep(name, StepChange.ASKED if step.kind.asks and frame.awaited_effect is None else StepChange.EDITED)


def target_when_gone(library: Library, frame: Frame) -> str | None:
    """Where a frame is led whose step is gone: ``end``, a step of its flow, ``/flow`` or ``/flow/step``.

    None: nothing is declared. Then its flow expires, as it does at ``end``.
    """
    gone = library.flows.get(frame.flow, library.bot).defaults.gone
    if gone is None:
        return None
    return END if gone.then is None else gone.then.text


def is_note_of_edit(note: str) -> bool:
    """Whether a note of a trace says that a turn has met an edit."""
    return note.endswith((_EDITED, _GONE))


def meet_edit(walk: "Executor") -> bool:
    """The step where the contact waits is unchanged: go on; changed: ask again; of another form: enter it anew;
    gone: as declared.

    True when the contact was led elsewhere, so that the event means nothing there.
    """
    work, frame = walk.work, walk.work.frame
    found = edited_step(work.library, frame)
    if found.change is StepChange.GONE:
        work.trace.notes.append(f"{work.where} {_GONE}")
        _leave_gone(walk)
        return work.session.frame is not None
    if frame.step != found.step:
        frame.step = found.step
        note_former_name(frame, work.flow)
    if found.change is StepChange.NONE:
        return False
    work.trace.notes.append(f"{work.where} {_EDITED}")
    if found.change is StepChange.ANEW:
        walk.begin_anew()
        return True
    frame.fingerprint = work.step.fingerprint
    frame.question_unseen = found.change is StepChange.ASKED
    return False


def _leave_gone(walk: "Executor") -> None:
    """The declared fallback, else the flow has expired."""
    work = walk.work
    target, gone = target_when_gone(work.library, work.frame), work.defaults.gone
    work.leave((work.frame,))
    if gone is not None:
        walk.pass_transition(gone)
    if target in (None, END):
        walk.end(expired=True)
    elif target.startswith("/"):
        walk.go_over(target)
    else:
        walk.enter(target)
