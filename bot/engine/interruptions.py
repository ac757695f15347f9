"""A flow cuts in on another, which is come back to as it declares: at once, after a question, or never."""

from typing import TYPE_CHECKING

from bot.engine import frames
from bot.engine.edits import meet_edit
from bot.steps import agreement
from bot.steps.kind import Reply

if TYPE_CHECKING:
    from bot.engine.walk import Walk


def interrupt(walk: "Walk", flow: str) -> None:
    """Another flow cuts in (LANGUAGE, Frames and variables). An older copy of it is dropped."""
    work = walk.work
    came_from = work.frame.flow
    if work.flow.interrupted == "drop":
        work.untag((work.frame,))
        frames.drop(work)
    frames.drop_copy(work, flow)
    walk.open(f"/{flow}", {}, came_from=came_from, interrupts=work.session.frame is not None)


def come_back(walk: "Walk") -> None:
    """To the flow that was interrupted: its clocks start anew, and its question is put, if need be after another."""
    work = walk.work
    if work.session.frame is None or meet_edit(walk) or work.session.frame is None:
        return
    work.frame.entered_at = work.event.at
    if work.flow.interrupted != "ask" or work.frame.unseen:
        walk.put_again()
        return
    name = work.flow.name.replace("_", " ")
    work.send(agreement.question(work.at(), f"Go on with {name}?"))
    work.frame.silent_since = work.event.at
    work.frame.coming_back = True


def take_going_on(walk: "Walk", reply: Reply) -> bool:
    """The answer to that question: yes puts the flow's own, no ends the flow. False: it is something else."""
    work = walk.work
    agreed = agreement.agreed(work.at(), reply)
    work.frame.coming_back = False
    if agreed is None:
        return False
    if agreed:
        work.trace.rule = "goes on"
        walk.put_again()
    else:
        work.trace.rule = "does not go on"
        work.untag((work.frame,))
        frames.drop(work)
        come_back(walk)
    return True
