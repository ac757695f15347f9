"""Conversations as a store has recorded them, turn by turn."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.core.effects import Effect
from bot.core.events import Event
from bot.core.session import Session


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """What an event came to. ``steps`` are dicts of flow, step, outcome, target, conditions and effects.

    ``session`` is the one that it met, where the contact was in no flow; ``wake_at`` when the one that it left wanted
    to be woken.
    """

    event: Event
    rule: str
    steps: list[dict[str, Any]]
    effects: list[Effect]
    notes: list[str]
    session: Session | None
    wake_at: datetime | None


@dataclass(frozen=True, slots=True)
class Conversation:
    """The turns from the first, which met a contact in no flow, to the last before the next such.

    The first has no ``session`` where the beginning is not kept. ``left`` is the session that the last of them left, where
    the contact was in no flow again.
    """

    contact: str
    turns: tuple[RecordedTurn, ...]
    left: Session | None
