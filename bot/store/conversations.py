"""What the trace has recorded of a contact, conversation by conversation: what `bot replay` runs again."""

from collections.abc import Iterable, Iterator
from typing import Any, get_args

from bot.core import codec
from bot.core.errors import BotError
from bot.core.events import Event
from bot.core.session import Session
from bot.core.turn import Conversation, RecordedTurn
from bot.store.rows import read_time

CONTACTS = "SELECT DISTINCT contact FROM turns WHERE contact IS NOT NULL AND at >= ? ORDER BY contact"
TURNS = """
    SELECT id, event, rule, steps, effects, notes, session, wake_at FROM turns WHERE contact = ?1
    UNION ALL
    SELECT 9223372036854775807, NULL, NULL, NULL, NULL, NULL, iif(flow IS NULL, state, NULL), NULL
    FROM sessions WHERE contact = ?1
    ORDER BY 1
"""
"""A contact's turns in order, and behind them where the contact is in no flow now its session."""

_EVENTS = get_args(Event)


class UnreadableRecord(BotError):
    """A turn in the store that this version cannot read."""


def conversations(contact: str, rows: Iterable[tuple[Any, ...]]) -> Iterator[Conversation]:
    """A contact's conversations, from the rows of `TURNS`. Raises `UnreadableRecord`.

    What happens to a contact in no flow and comes to nothing belongs to the conversation before, or else to the first.
    """
    turns: list[RecordedTurn] = []
    did_something = False
    for turn in _read(rows):
        if isinstance(turn, Session):
            if turns:
                yield Conversation(contact, tuple(turns), turn)
            return
        does_something = bool(turn.steps or turn.effects)
        if turn.session is not None and does_something and did_something:
            yield Conversation(contact, tuple(turns), turn.session)
            turns, did_something = [], False
        turns.append(turn)
        did_something = did_something or does_something
    if turns:
        yield Conversation(contact, tuple(turns), None)


def _read(rows: Iterable[tuple[Any, ...]]) -> Iterator[RecordedTurn | Session]:
    """The turns, without what is no event of a conversation; at the end the session, where it is in no flow."""
    try:
        for _, event, rule, steps, effects, notes, session, wake_at in rows:
            met = None if session is None else codec.loads(session)
            if event is None:
                if met is not None:
                    yield met
                continue
            happened = codec.loads(event)
            if isinstance(happened, _EVENTS):
                decided = codec.loads(steps), codec.loads(effects), codec.loads(notes)
                yield RecordedTurn(happened, rule, *decided, met, read_time(wake_at))
    except (ValueError, TypeError, KeyError, ArithmeticError) as error:
        raise UnreadableRecord("what is recorded cannot be read by this version") from error
