"""Replay of a recorded conversation with edited flows, up to the first difference.

The recorded events go through `bot.engine.advance` one after another, including the results of calls, requests and
models. While the bot does the same as recorded, a recorded result answers the same question, even if the step that
asks has another name. The comparison ends at the first difference.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from bot.checker.replaying.differences import (
    DifferenceKind,
    ReplayDifference,
    ReplayResult,
    all_effect_lines,
    choice_ids,
    difference_kind,
    differing_effects,
    effect_lines,
    same_effect,
    session_lines,
)
from bot.core.events import Event, MessageReceived, Tapped, TimeReached
from bot.core.session import Session
from bot.core.turn import Conversation, RecordedTurn, StepTaken, Turn
from bot.engine.advance import advance
from bot.engine.migration import is_note_of_edit
from bot.language.flow.library import Library
from bot.language.source.problems import Mark

BEGUN_BEFORE = "began before what is kept"
FAILED = "had a turn that failed"
EDITED = "met another edit on the way"
_FAILED = "failed"  # the rule of a turn that became a dead letter
_MOST_WAKINGS = 1000  # between two events


def replay(library: Library, conversation: Conversation) -> ReplayResult:
    """Replay a recorded conversation with these flows, and compare."""
    first = conversation.turns[0].session
    if first is None:
        return ReplayResult(stopped=BEGUN_BEFORE)
    run = _Run(library, conversation, first)
    for number, turn in enumerate(conversation.turns, start=1):
        if turn.rule == _FAILED:
            return ReplayResult(stopped=FAILED)
        if any(map(is_note_of_edit, turn.notes)):
            return ReplayResult(stopped=EDITED)
        difference = run.take(turn, number)
        if difference is not None:
            return ReplayResult(difference)
    return ReplayResult(run.end())


class _Run:
    """One replay. Recorded taps are translated to the ids of this replay's choices."""

    def __init__(self, library: Library, conversation: Conversation, session: Session) -> None:
        self._library = library
        self._conversation = conversation
        self._session = session
        times = (*(plan.at for plan in session.plans), *(draft.until for draft in session.drafts))
        self._wakes_at = min(times, default=None)
        self._woke_at = self._wakes_at  # the time at which the recorded session had something due
        self._ours: dict[str, str] = {}
        self._turn, self._number = conversation.turns[0], 1

    def take(self, turn: RecordedTurn, number: int) -> ReplayDifference | None:
        """Take the next event. Returns the first difference, or None."""
        self._turn, self._number = turn, number
        early = self._wake_before()
        if early is not None:
            return early
        event = self._in_our_ids(turn.event)
        if self._session.busy and isinstance(event, MessageReceived | Tapped) and event.is_heard:
            return self._otherwise(
                DifferenceKind.WAITS, all_effect_lines(turn.effects), (f"waits for a result at {self._where}",)
            )
        made = self._made(event)
        if isinstance(made, str):
            return self._otherwise(DifferenceKind.FAILS, all_effect_lines(turn.effects), (), why=made)
        difference = self._compared(made)
        self._session, self._wakes_at, self._woke_at = made.session, made.wake_at, turn.wake_at
        return difference

    def end(self) -> ReplayDifference | None:
        """The difference between the recorded session at its end and the replayed one; None: they are equal."""
        left = self._conversation.left
        before, after = ((), ()) if left is None else (session_lines(left), session_lines(self._session))
        return None if before == after else self._otherwise(DifferenceKind.LEAVES, before, after)

    def _made(self, event: Event) -> Turn | str:
        """The turn of an event; or why it failed."""
        try:
            return advance(self._library, self._session, event)
        except Exception as error:  # a defect in one turn stops no other turn, as in the engine
            return f"{type(error).__name__}: {error}"

    def _wake_before(self) -> ReplayDifference | None:
        """Wake the session at times before the event that only the edited flows set, such as a shorter time-out."""
        for _ in range(_MOST_WAKINGS):
            at = self._wakes_at
            if at is None or at > self._turn.event.at or (self._woke_at is not None and at >= self._woke_at):
                return None
            made = self._made(TimeReached(f"replayed:{at.isoformat()}", self._conversation.contact, at))
            if isinstance(made, str):
                return self._otherwise(DifferenceKind.FAILS, (), (), why=made, when=at)
            if made.effects:
                step = _step_of(0, made.trace.steps) or self._where
                return self._otherwise(DifferenceKind.BY_ITSELF, (), effect_lines(made.effects[0]), at=step, when=at)
            self._session, self._wakes_at = made.session, made.wake_at
        return self._otherwise(DifferenceKind.FAILS, (), (), why="it wants to be woken without end")

    def _in_our_ids(self, event: Event) -> Event:
        match event:
            case Tapped(reply=reply) if reply in self._ours:
                return replace(event, reply=self._ours[reply])
            case MessageReceived(text=str(text)) if text in self._ours:
                return replace(event, text=self._ours[text])
        return event

    def _compared(self, made: Turn) -> ReplayDifference | None:
        """The first difference between a recorded turn and the replayed one. Messages that are alike pair the ids of
        their choices.
        """
        for place, (theirs, ours) in enumerate(zip_longest(self._turn.effects, made.effects)):
            if theirs is None or ours is None or not same_effect(theirs, ours):
                return self._difference(made, place)
            if theirs != ours:
                self._ours.update(zip(choice_ids(theirs), choice_ids(ours), strict=True))
        return None

    def _difference(self, made: Turn, place: int) -> ReplayDifference:
        before, after = differing_effects(self._turn.effects, made.effects, place)
        was_at = "" if before is None else _step_of(place, _steps(self._turn)) or self._where
        at = "" if after is None else _step_of(place, made.trace.steps) or self._where
        kind = difference_kind(before, after)
        lines, known = (effect_lines(before), effect_lines(after)), (self._session, made.session)
        return self._otherwise(kind, *lines, was_at=was_at, at=at, why=made.failure, sessions=known)

    @property
    def _where(self) -> str:
        frame = self._session.frame
        return "" if frame is None else f"{frame.flow}/{frame.step}"

    def _otherwise(
        self, kind: DifferenceKind, before: tuple[str, ...], after: tuple[str, ...], **more: Any
    ) -> ReplayDifference:
        """A difference in the current turn; unless a step is given, at the step where the contact is."""
        steps = _steps(self._turn)
        more.setdefault("was_at", f"{steps[0].flow}/{steps[0].step}" if before and steps else "")
        more.setdefault("at", self._where)
        more.setdefault("when", self._turn.event.at)
        more.setdefault("sessions", (self._session,))
        mark = _mark_of(self._library, more["at"] or more["was_at"])
        events = tuple(turn.event for turn in self._conversation.turns[: self._number])
        return ReplayDifference(
            kind=kind,
            mark=mark,
            before=before,
            after=after,
            number=self._number,
            events=events,
            **more,
        )


def _steps(turn: RecordedTurn) -> list[StepTaken]:
    return [StepTaken(step["flow"], step["step"], effects=step["effects"]) for step in turn.steps]


def _step_of(effect: int, steps: Sequence[StepTaken]) -> str:
    """The step that decided on the n-th effect of a turn; empty if no step did."""
    found = [step for step in steps if step.effects <= effect]
    return f"{found[-1].flow}/{found[-1].step}" if found else ""


def _mark_of(library: Library, step: str) -> Mark | None:
    """The place of a step in the files; else of its flow, if that still exists."""
    name, _, inside = step.partition("/")
    flow = library.flows.get(name)
    if flow is None:
        return None
    return flow.steps[inside].mark if inside in flow.steps else flow.mark
