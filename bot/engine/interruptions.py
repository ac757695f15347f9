"""A flow cuts in on another, which is come back to as it declares: at once, after a question, or never."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bot.engine import frames
from bot.engine.migration import meet_edit
from bot.engine.routing import inputs_of, starts_of
from bot.engine.turn_context import TurnContext
from bot.flow.triggers import TriggerMatch
from bot.lang.wordings import wording
from bot.steps import agreement
from bot.steps.kind import Reply

if TYPE_CHECKING:
    from bot.engine.executor import Executor


def interrupting(work: TurnContext, reply: Reply) -> TriggerMatch | None:
    """The flow that a reply starts, where the waiting flow lets others cut in; itself it starts not here."""
    if work.flow.interrupted is None:
        return None
    started = starts_of(work).by_texts(reply.texts)
    return None if started is None or started.flow == work.flow.name else started


def cut_in(walk: "Executor", started: TriggerMatch) -> None:
    """Another flow's start was heard. A flow that is open below, and cut in on nobody, is gone back to."""
    walk.work.trace.rule = f"interrupted by {started.flow}"
    if frames.back_to(walk.work, started.flow):
        come_back(walk, agreed=True)
    else:
        interrupt(walk, started.flow, inputs_of(walk.work, started))


def interrupt(walk: "Executor", target: str, inputs: Mapping[str, Any] | None = None) -> None:
    """Another flow (``flow``, or ``flow/step``) cuts in. An older copy of it is dropped."""
    work = walk.work
    came_from = work.frame.flow
    if work.flow.interrupted == "drop":
        work.leave((work.frame,))
        frames.drop(work)
    frames.drop_copy(work, target.partition("/")[0])
    frames.make_room(work)
    walk.open(f"/{target}", inputs or {}, came_from=came_from, interrupts=work.session.frame is not None)


def come_back(walk: "Executor", *, agreed: bool = False) -> None:
    """To the flow that was interrupted: its clocks start anew, and its question is put, if need be after another."""
    work = walk.work
    if work.session.frame is None or meet_edit(walk) or work.session.frame is None:
        return
    work.frame.entered_at = work.event.at
    if work.flow.interrupted != "ask" or work.frame.question_unseen or agreed:
        walk.put_again()
        return
    name = work.flow.name.replace("_", " ")
    asked = work.send(agreement.question(work.step_context(), wording(work.scope(), "go_on", flow=name)))
    work.frame.step_state = {**work.frame.step_state, "sent": [asked]}
    work.frame.silent_since = work.event.at
    work.frame.asks_to_continue = True


def take_going_on(walk: "Executor", reply: Reply) -> bool:
    """The answer to that question: yes puts the flow's own, no ends the flow. False: it is something else."""
    work = walk.work
    agreed = agreement.agreed(work.step_context(), reply)
    if agreed is None:
        return False
    work.frame.asks_to_continue = False
    if agreed:
        work.trace.rule = "goes on"
        walk.put_again()
    else:
        work.trace.rule = "does not go on"
        work.leave((work.frame,))
        frames.drop(work)
        come_back(walk)
    return True
