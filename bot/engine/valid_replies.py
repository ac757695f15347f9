"""Taps on the buttons of earlier messages, which are valid for a time.

The conversation continues as it was when the template was sent.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

from bot.core.session import Frame, ValidReplies, first_of_conversation
from bot.engine.frame_stack import MOST_FRAMES, drop_flow, make_room, remove_step_tags
from bot.engine.migration import edited_step
from bot.engine.turn_context import TurnContext

MOST_VALID = 20  # messages of one contact whose buttons lead on from where they were sent
LATE = timedelta(days=1)
"""How long one reply to a template still counts after an inherited time-out: a reminder is answered the next day."""


def keep_late_reply(turn: TurnContext) -> None:
    """Keep the active conversation for a late reply, if its time-out only ends it, and no flow that runs it learns of
    that.
    """
    frames = turn.session.frames
    if turn.step.counts_late and first_of_conversation(frames) == len(frames) - 1:
        keep_replies(turn, LATE, once=True)


def keep_replies(turn: TurnContext, valid: timedelta, *, once: bool = False) -> None:
    """Keep the active conversation as it is, so that the buttons of the message that it has sent lead on from here."""
    session, now = turn.session, turn.event.at
    begun, visit = first_of_conversation(session.frames), turn.frame.visit
    conversation = tuple(replace(frame) for frame in session.frames[begun:])
    others = (each for each in session.valid_replies if each.until > now and each.frames[-1].visit != visit)
    session.valid_replies = (*others, ValidReplies(now + valid, conversation, once))[-MOST_VALID:]


def replies_to(turn: TurnContext, flow: str, visit: int) -> ValidReplies | None:
    """The conversation that sent buttons at this visit; None if they are not valid any more."""
    sent = ((kept, kept.frames[-1]) for kept in _still_valid(turn))
    return next((kept for kept, top in sent if (top.flow, top.visit) == (flow, visit)), None)


def replies_with(turn: TurnContext, title: str) -> ValidReplies | None:
    """The conversation that sent a button of this title; None if none or several did."""
    found = [kept for kept in _still_valid(turn) if title in _titles_of(turn, kept.frames[-1])]
    return found[0] if len(found) == 1 else None


def _still_valid(turn: TurnContext) -> Iterator[ValidReplies]:
    for kept in turn.session.valid_replies:
        moved = any(edited_step(turn.library, each).change.moves for each in kept.frames)
        if turn.event.at < kept.until and not moved:
            yield kept


def _titles_of(turn: TurnContext, frame: Frame) -> set[str]:
    step = turn.library.flows[frame.flow].steps[edited_step(turn.library, frame).step]
    return {answer.owner for answer in step.facts.answers}


def return_to_conversation(turn: TurnContext, kept: ValidReplies) -> bool:
    """Put a conversation on top as it was.

    If this run of its flow is open, or another run that nothing interrupts, the open run ends with the flows above it.
    Otherwise the active flow is interrupted. Returns False if it cannot be interrupted, or too many flows are open.
    """
    frames, flow = tuple(replace(frame) for frame in turn.session.frames), kept.frames[0].flow
    copies = [n for n, frame in enumerate(frames) if frame.flow == flow and (frame.interrupts or not n)]
    copy = next((n for n in copies if frames[n].first_visit == kept.frames[0].first_visit), None)
    own = bool(frames) and frames[first_of_conversation(frames)].flow == flow
    if frames and not own and turn.flow.interrupted is None:
        return False
    if copy is None and copies and turn.flow.interrupted is None:
        copy = copies[0]
    if copy is not None:
        remove_step_tags(turn, frames[copy:])
        turn.session.frames = frames[:copy]
    elif frames and turn.flow.interrupted == "drop":
        remove_step_tags(turn, frames[-1:])
        drop_flow(turn)
    make_room(turn)
    below = turn.session.frames
    if len(below) + len(kept.frames) > MOST_FRAMES:
        return False
    first, *above = (replace(frame) for frame in kept.frames)
    first.interrupts = bool(below)
    turn.session.frames = (*below, first, *above)
    top, step = turn.frame, edited_step(turn.library, turn.frame).step
    top.step, top.entered_at, top.silent_since = step, turn.event.at, turn.event.at
    top.question = replace(top.question, entered_at=None)
    top.fingerprint = turn.step.fingerprint
    return True
