"""The trace in the engine's file: a line for each turn, and for what an operator did."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.core import codec
from bot.core.effects import Effect, effect_ref
from bot.core.events import Event
from bot.core.turn import StepTaken, Trace
from bot.store.rows import Status, json_of, optional_text_of, text_of

ADD = """
    INSERT INTO turns (at, contact, event_id, event, rule, steps, effects, notes, micros, session, wake_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
LAST = """
    SELECT at, event_id, event, rule, steps, effects, notes, micros FROM turns
    WHERE contact = ? ORDER BY id DESC LIMIT ?
"""

_STEP = ("flow", "step", "outcome", "target", "conditions", "effects")


@dataclass(frozen=True, slots=True)
class TurnTraced:
    """One line of a contact's trace. ``event`` is plain data where it was no event of a conversation.

    ``steps``: dicts of flow, step, outcome, target, conditions, effects. ``statuses`` are what became of the effects, in their
    order; None for what is no message, or one that nothing has been heard of.
    """

    at: datetime
    event_id: str
    event: Event | dict[str, Any]
    rule: str
    steps: list[dict[str, Any]]
    effects: list[Effect]
    notes: list[str]
    micros: int
    statuses: list[Status | None]


def written(event: Event, trace: Trace, effects: Sequence[str], micros: int) -> tuple[Any, ...]:
    """The row of a turn, but for its time and its sessions. ``effects`` are in JSON.

    Raises `bot.core.values.UnstorableValue`.
    """
    steps = json_of([_step(step) for step in trace.steps])
    what = (text_of(event.contact), text_of(event.id), json_of(event), text_of(trace.rule))
    return (*what, steps, f"[{','.join(effects)}]", json_of(trace.notes), micros)


def note_written(contact: str | None, event_id: str, event: str, rule: str, note: str) -> tuple[Any, ...]:
    """The row of something that was no turn, but for its time. ``event`` is JSON."""
    return (optional_text_of(contact), text_of(event_id), event, rule, "[]", "[]", json_of([note]), 0, None, None)


def traced(
    statuses: Mapping[str, Status],
    at: str,
    event_id: str,
    event: str,
    rule: str,
    steps: str,
    effects: str,
    notes: str,
    micros: int,
) -> TurnTraced:
    """A line from its row. ``statuses`` are those of the contact's messages, by their effects' names."""
    decided = codec.loads(effects)
    became = [statuses.get(effect_ref(event_id, ordinal)) for ordinal in range(len(decided))]
    taken = [{name: step[name] for name in _STEP} for step in codec.loads(steps)]
    read = (taken, decided, codec.loads(notes))
    return TurnTraced(datetime.fromisoformat(at), event_id, codec.loads(event), rule, *read, micros, became)


def _step(step: StepTaken) -> dict[str, Any]:
    conditions = [[source, _shown(value)] for source, value in step.conditions]
    return {name: getattr(step, name) for name in _STEP} | {"conditions": conditions}


def _shown(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | str) else str(value)
