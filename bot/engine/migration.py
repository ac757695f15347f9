"""Session migration: what an edit of the flows does to the step at which a contact waits."""

from collections.abc import Mapping
from enum import Enum

from bot.core.immutable import immutable
from bot.core.session import Frame
from bot.language.flow.definition import Flow
from bot.language.flow.library import Library
from bot.language.steps.transition import END


class StepChange(Enum):
    """The effect of an edit on a step."""

    NONE = "none"
    EDITED = "edited"  # the contact keeps waiting, at the new form of the step
    ASKED = "asked"  # the question is asked again, in its new form
    ANEW = "anew"  # the step waits in another way now: it is entered again
    GONE = "gone"

    @property
    def moves(self) -> bool:
        """True if the contact cannot keep waiting at the step."""
        return self in (StepChange.ANEW, StepChange.GONE)


@immutable
class EditedStep:
    """A change, and the present name of the step, which may be a new one."""

    step: str
    change: StepChange


_NOT_RENAMED: Mapping[str, str] = {}


def name_now(flow: Flow, step: str, formerly: Mapping[str, str] = _NOT_RENAMED) -> str | None:
    """The present name of a step of a flow; None if it was removed.

    ``formerly`` are names from before an edit, which the frame remembers. They count again when the edit is taken
    back.
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


def edited_step(library: Library, frame: Frame) -> EditedStep:
    """The effect of an edit on the step at which a frame waits."""
    flow = library.flows.get(frame.flow)
    name = None if flow is None else name_now(flow, frame.step, frame.former_step_names)
    if flow is None or name is None:
        return EditedStep(frame.step, StepChange.GONE)
    step = flow.steps[name]
    if frame.fingerprint == step.fingerprint:
        return EditedStep(name, StepChange.NONE)
    if frame.form != step.form:
        return EditedStep(name, StepChange.ANEW)
    asks = step.facts.asks and frame.awaited_effect is None
    return EditedStep(name, StepChange.ASKED if asks else StepChange.EDITED)


def target_when_gone(library: Library, frame: Frame) -> str | None:
    """The target of a frame whose step was removed: ``end``, a step of its flow, ``/flow`` or ``/flow/step``.

    None: no target is declared, and the flow expires, as it does at ``end``.
    """
    gone = library.flows.get(frame.flow, library.bot).defaults.gone
    if gone is None:
        return None
    return END if gone.then is None else gone.then.text


def is_note_of_edit(note: str) -> bool:
    """True if a note in a trace says that the turn has met an edit."""
    return note.endswith(("was edited", "is gone"))
