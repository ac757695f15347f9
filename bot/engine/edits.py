"""An edit of the flows meets a live conversation, step by step."""

from typing import TYPE_CHECKING

from bot.flow.definition import Flow
from bot.steps.doors import END

if TYPE_CHECKING:
    from bot.engine.walk import Walk


def meet_edit(walk: "Walk") -> bool:
    """The step where the contact waits is unchanged: go on; changed: ask again; of another form: enter it anew;
    gone: as declared.

    True when the contact was led elsewhere, so that the event means nothing there.
    """
    work, frame = walk.work, walk.work.frame
    flow = work.library.flows.get(frame.flow)
    if flow is not None and frame.step not in flow.steps:
        renamed = (step.name for step in flow.steps.values() if step.riders.renamed_from == frame.step)
        frame.step = next(renamed, frame.step)
    if flow is None or frame.step not in flow.steps:
        work.trace.notes.append(f"{work.where} is gone")
        _leave_gone(walk, flow)
        return work.session.frame is not None
    step = flow.steps[frame.step]
    if frame.fingerprint != step.fingerprint:
        work.trace.notes.append(f"{work.where} was edited")
        if frame.form != step.kind.form:
            walk.begin_anew()
            return True
        frame.fingerprint = step.fingerprint
        frame.unseen = step.kind.asks and frame.awaits is None
    return False


def _leave_gone(walk: "Walk", flow: Flow | None) -> None:
    """The declared fallback, else the flow has expired."""
    walk.work.leave((walk.work.frame,))
    gone = walk.work.defaults.gone
    if gone is not None:
        walk.pass_door(gone)
    target = END if gone is None or gone.then is None else gone.then.text
    if target.startswith("/"):
        walk.go_over(target)
    elif flow is not None and target in flow.steps:
        walk.enter(target)
    else:
        walk.end(expired=True)
