"""A talk that is recorded turn by turn, as the store does it."""

from typing import Any

from bot.core.events import Event
from bot.core.session import Session
from bot.core.turn import Conversation, Turn
from bot.store import trace
from bot.store.conversations import conversations
from bot.store.rows import json_of, optional_time_of


class Tape:
    """The rows of a contact's turns."""

    def __init__(self) -> None:
        self._rows: list[tuple[Any, ...]] = []

    def add(self, before: Session, event: Event, turn: Turn) -> None:
        effects = [json_of(effect) for effect in turn.effects]
        _, _, happened, *decided, _ = trace.written(event, turn.trace, effects, 0)
        met = None if before.frames else json_of(before)
        self._rows.append((0, happened, *decided, met, optional_time_of(turn.wake_at)))

    def conversations(self, now: Session) -> list[Conversation]:
        """What is kept of them; ``now`` is the session that they have left."""
        last = (0, None, None, None, None, None, None if now.frames else json_of(now), None)
        return list(conversations(now.contact, [*self._rows, last]))
