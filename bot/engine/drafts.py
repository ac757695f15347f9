"""Drafts: conversations that were set aside are continued by the contact, or their time is over."""

from dataclasses import replace
from datetime import datetime

from bot.core.effects import Send
from bot.core.session import Draft
from bot.engine.entering import enter, open_flow
from bot.engine.executor import Executor
from bot.engine.frame_stack import MOST_FRAMES, end_all, make_room, pop_frame
from bot.engine.turn_context import TurnContext
from bot.language.steps.draft_step import CONTINUED


def next_draft(turn: TurnContext) -> Draft | None:
    """The draft whose time is over first. None without drafts, or as long as the contact is busy."""
    session = turn.session
    if session.frames or session.agent is not None or session.voice_note is not None:
        return None
    return min(session.drafts, key=_until, default=None)


def expire_draft(executor: Executor, draft: Draft) -> None:
    """Let `then` follow for a draft whose time is over."""
    executor.turn.trace.rule = "the time of a draft is over"
    _leave_draft(executor, draft, "then", f'the time of the draft "{draft.title}" is over')


def choose_draft(executor: Executor, visit: int) -> None:
    """Continue the contact's draft with this visit; 0: begin the flow anew that was to begin."""
    turn = executor.turn
    draft = next((each for each in turn.session.drafts if visit and each.visit == visit), None)
    if draft is None:
        if not executor.migrate_session() and turn.session.frame is not None:
            executor.run(enter(turn, turn.frame.step))
        return
    pop_frame(turn)
    turn.trace.add_rule("a draft is continued")
    _leave_draft(executor, draft, CONTINUED, f'the draft "{draft.title}" is continued')
    silent = not any(isinstance(effect, Send) for effect in turn.result.effects)
    if turn.session.frame is None and silent and draft.flow in turn.library.flows:
        turn.trace.notes.append(f"{draft.flow} begins anew")  # an edit has removed what the contact wanted to continue
        executor.run(open_flow(turn, f"/{draft.flow}", {}))


def _leave_draft(executor: Executor, draft: Draft, outcome: str, note: str) -> None:
    """Put the conversation of a draft on top, and leave the step that has set it aside."""
    turn, session, now = executor.turn, executor.turn.session, executor.turn.event.at
    session.drafts = tuple(each for each in session.drafts if each is not draft)
    make_room(turn)
    if len(session.frames) + len(draft.frames) > MOST_FRAMES:
        end_all(turn)
    first, *above = (replace(each, entered_at=now, silent_since=now) for each in draft.frames)
    first.interrupts = bool(session.frames)
    session.frames = (*session.frames, first, *above)
    turn.trace.notes.append(f"{turn.where}: {note}")  # the log has rules, and no words of contacts
    if not executor.migrate_session() and session.frame is not None:
        executor.follow(outcome, expired=True)


def _until(draft: Draft) -> datetime:
    return draft.until
