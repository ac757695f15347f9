"""A conversation that is recorded turn by turn, as the store does it."""

from typing import Any

from bot.core.events import Event
from bot.core.session import Session
from bot.core.turn import Conversation, Turn
from bot.core.values import json_text, optional_time_text
from bot.store.trace_rows import conversations, turn_row


class Tape:
    """The rows of a contact's turns."""

    def __init__(self) -> None:
        self._rows: list[tuple[Any, ...]] = []

    def add(self, before: Session, event: Event, turn: Turn) -> None:
        effects = [json_text(effect) for effect in turn.effects]
        _, _, happened, *decided, _, _ = turn_row(event, turn.trace, effects, 0)
        met = None if before.frames else json_text(before)
        self._rows.append((0, happened, *decided, met, optional_time_text(turn.wake_at)))

    def conversations(self, now: Session) -> list[Conversation]:
        """The recorded conversations; ``now`` is the session after them."""
        last = (0, None, None, None, None, None, None if now.frames else json_text(now), None)
        return list(conversations(now.contact, [*self._rows, last]))
