"""Turns: what the engine decides for one event, the trace of why, and turns as the store has recorded them."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Any

from bot.core.effects import Effect
from bot.core.events import Event, MessageReceived, Tapped
from bot.core.immutable import immutable, mutable
from bot.core.session import Session

WAYS = ENTERED, ANSWERED, TIMED_OUT, LEFT, FAILED = "entered", "answered", "timed out", "left", "failed"
"""The ways in which visits of a step are counted: how many began, and how they ended."""

JUDGED = "judged"
"""In place of a way: a model has judged an answer of another."""

Counted = tuple[str, str, str, str, str]
"""One count: the flow, the step or its `report`, the part of a split or an empty text, the way, the outcome."""


STARTED, WAITS, SKIPPED = "started", "waits", "skipped"
"""The results of a start. If the start interrupts or ends another flow, the result is its `busy` policy."""
UNHEARD = "nobody waits for it"
"""The end of the rule of a turn in which no step waited for a signal."""


def shown_outcome(outcome: str) -> str:
    """``[Red]`` -> ``Red``, ``if 1: number > 5`` -> ``if number > 5``"""
    if outcome.startswith("[") and outcome.endswith("]"):
        return outcome[1:-1]
    before, colon, condition = outcome.partition(": ")
    return f"if {condition}" if colon and before.startswith("if ") else outcome


@mutable
class StepTaken:
    """One step of a turn's path: its outcome, and what its conditions evaluated to."""

    flow: str
    step: str
    outcome: str | None = None  # None: the step waits
    target: str | None = None
    conditions: list[tuple[str, Any]] = field(default_factory=list)
    effects: int = 0  # how many the turn had decided on before it
    visit: int = 0
    success: bool = False  # of the outcome
    # which way the conversation had gone where `share()` decides
    splits: Mapping[str, str] = field(default_factory=dict)


@mutable
class Trace:
    """Why a turn did what it did, for `bot trace` and ``/trace``."""

    rule: str = ""  # the rule that took the event: tap, word, answer, option, skip, other, retry, start, time, ...
    steps: list[StepTaken] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)  # those notes that somebody should look into

    def add_rule(self, rule: str) -> None:
        """Add to the rule: ``start of order``, then ``start of order: answers size "large"``."""
        self.rule += f": {rule}" if self.rule else rule

    def problem(self, note: str) -> None:
        """Note something that has failed and that no flow expects."""
        self.notes.append(note)
        self.problems.append(note)


@immutable
class Turn:
    """The decisions of one turn: nothing has been done yet.

    ``wake_at`` is when the session wants a `TimeReached` event next. ``failure`` says what went wrong in the flow
    itself (a dead letter for the operator), although the session has moved on as declared. ``in_plain_text``: a plain
    text replaces the message that was refused, which is no dead letter then. ``given_up``: why a message that came too
    late becomes a dead letter, and does not wait. ``parks_message``: the message waits, with others, until the active
    step is done, and this event brings it back. ``drops_parked``: the contact has gone elsewhere, and the messages that
    wait are dropped. ``results`` is counted for `bot report`. ``start`` is the result of a start: `STARTED`, `WAITS`,
    `SKIPPED`, or the policy of `bot.core.session.BUSY` by which it started.
    """

    session: Session
    effects: tuple[Effect, ...]
    wake_at: datetime | None
    trace: Trace
    failure: str | None = None
    in_plain_text: bool = False
    given_up: str = ""
    parks_message: MessageReceived | Tapped | None = None
    drops_parked: bool = False
    results: tuple[Counted, ...] = ()
    start: str = ""


@mutable
class TurnBuilder:
    """The decisions of a turn while it is made: see `Turn`."""

    effects: list[Effect] = field(default_factory=list)
    failure: str | None = None
    in_plain_text: bool = False
    given_up: str = ""
    parks_message: bool = False
    drops_parked: bool = False
    start: str = ""

    def build(
        self,
        session: Session,
        wake_at: datetime | None,
        trace: Trace,
        parked: MessageReceived | Tapped | None,
        results: tuple[Counted, ...],
    ) -> Turn:
        """The turn. ``parked`` is the event that brings back a message that waits."""
        return Turn(
            session,
            tuple(self.effects),
            wake_at,
            trace,
            self.failure,
            self.in_plain_text,
            self.given_up,
            parked,
            self.drops_parked,
            results,
            self.start,
        )


@immutable
class RecordedTurn:
    """An event and what was decided for it. ``steps`` are dicts of flow, step, outcome, target, conditions and effects.

    ``session`` is the session before the turn, if the contact was in no flow then. ``wake_at`` is when the session
    wanted to be woken after it.
    """

    event: Event
    rule: str
    steps: list[dict[str, Any]]
    effects: list[Effect]
    notes: list[str]
    session: Session | None
    wake_at: datetime | None


@immutable
class Conversation:
    """The turns from one that began outside of all flows to the last before another begins so.

    The first has no ``session`` where the beginning is not kept. ``left`` is the session after the last of them, where
    the contact was in no flow again.
    """

    contact: str
    turns: tuple[RecordedTurn, ...]
    left: Session | None
