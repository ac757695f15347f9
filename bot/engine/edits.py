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
    from bot.engine.walk import Walk

_EDITED, _GONE = "was edited", "is gone"


class Change(Enum):
    """What an edit has made of the step where a frame waits."""

    NONE = "none"
    EDITED = "edited"  # the frame waits on, at its new form
    ASKED = "asked"  # the question is put again, in its new form
    ANEW = "anew"  # it waits in another way now: it is entered anew
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Met:
    """A change, and the name that the step has now: another where it was renamed."""

    step: str
    change: Change


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
        frame.formerly = {**frame.formerly, f"{flow.name}/{frame.step}": former}


def met(library: Library, frame: Frame) -> Met:
    """What an edit has made of the step where a frame waits."""
    flow = library.flows.get(frame.flow)
    name = None if flow is None else name_now(flow, frame.step, frame.formerly)
    if flow is None or name is None:
        return Met(frame.step, Change.GONE)
    step = flow.steps[name]
    if frame.fingerprint == step.fingerprint:
        return Met(name, Change.NONE)
    if frame.form != step.kind.form:
        return Met(name, Change.ANEW)
    return Met(name, Change.ASKED if step.kind.asks and frame.awaits is None else Change.EDITED)


def led_to(library: Library, frame: Frame) -> str | None:
    """Where a frame is led whose step is gone: ``end``, a step of its flow, ``/flow`` or ``/flow/step``.

    None: nothing is declared. Then its flow expires, as it does at ``end``.
    """
    gone = library.flows.get(frame.flow, library.bot).defaults.gone
    if gone is None:
        return None
    return END if gone.then is None else gone.then.text


def tells_of_edit(note: str) -> bool:
    """Whether a note of a trace says that a turn has met an edit."""
    return note.endswith((_EDITED, _GONE))


def meet_edit(walk: "Walk") -> bool:
    """The step where the contact waits is unchanged: go on; changed: ask again; of another form: enter it anew;
    gone: as declared.

    True when the contact was led elsewhere, so that the event means nothing there.
    """
    work, frame = walk.work, walk.work.frame
    found = met(work.library, frame)
    if found.change is Change.GONE:
        work.trace.notes.append(f"{work.where} {_GONE}")
        _leave_gone(walk)
        return work.session.frame is not None
    if frame.step != found.step:
        frame.step = found.step
        note_former_name(frame, work.flow)
    if found.change is Change.NONE:
        return False
    work.trace.notes.append(f"{work.where} {_EDITED}")
    if found.change is Change.ANEW:
        walk.begin_anew()
        return True
    frame.fingerprint = work.step.fingerprint
    frame.unseen = found.change is Change.ASKED
    return False


def _leave_gone(walk: "Walk") -> None:
    """The declared fallback, else the flow has expired."""
    work = walk.work
    target, gone = led_to(work.library, work.frame), work.defaults.gone
    work.leave((work.frame,))
    if gone is not None:
        walk.pass_transition(gone)
    if target in (None, END):
        walk.end(expired=True)
    elif target.startswith("/"):
        walk.go_over(target)
    else:
        walk.enter(target)
