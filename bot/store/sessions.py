"""Sessions in the engine's file: where each contact is, and when it wants to be woken."""

from datetime import datetime
from typing import Any

from bot.core import codec
from bot.core.errors import BotError
from bot.core.session import Session
from bot.store.rows import json_of, optional_text_of, optional_time_of, text_of

WRITE = """
    INSERT INTO sessions (contact, flow, step, visit, wake_at, last_inbound, conversation, opted_out, state, updated_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (contact) DO UPDATE SET flow = excluded.flow, step = excluded.step, visit = excluded.visit,
        wake_at = excluded.wake_at, last_inbound = excluded.last_inbound,
        conversation = excluded.conversation, opted_out = excluded.opted_out, state = excluded.state, updated_at = excluded.updated_at
"""
STATE = "SELECT state FROM sessions WHERE contact = ?"
STATES_OF = "SELECT contact, state FROM sessions WHERE contact IN (SELECT value FROM json_each(?))"
IN_CONVERSATION = "SELECT contact FROM sessions WHERE conversation = ? ORDER BY updated_at DESC LIMIT 1"
DUE = "SELECT contact, visit, wake_at FROM sessions WHERE wake_at <= ? ORDER BY wake_at LIMIT ?"
NEXT_WAKE = "SELECT min(wake_at) FROM sessions WHERE wake_at IS NOT NULL"
OPTED_OUT = "SELECT opted_out FROM sessions WHERE contact = ?"
LAST_INBOUND = "SELECT last_inbound FROM sessions WHERE contact = ?"
WHERE_THEY_ARE = """
    SELECT contact, flow, step, wake_at, updated_at, opted_out FROM sessions WHERE contact > ? ORDER BY contact LIMIT ?
"""
STATES = "SELECT contact, state FROM sessions WHERE contact > ? ORDER BY contact LIMIT ?"


class UnreadableSession(BotError):
    """A session in the store that this version cannot read. ``state`` is its text."""

    def __init__(self, state: str) -> None:
        super().__init__("the session cannot be read by this version; the conversation starts anew")
        self.state = state


def read_session(state: str) -> Session:
    """A session from its text. Raises `UnreadableSession`."""
    try:
        session = codec.loads(state)
    except (ValueError, TypeError, KeyError, ArithmeticError):
        raise UnreadableSession(state) from None
    if not isinstance(session, Session):
        raise UnreadableSession(state)
    return session


def written(session: Session, wake_at: datetime | None) -> tuple[Any, ...]:
    """The row of a session, but for the time at which it is written. Raises `bot.core.values.UnstorableValue`."""
    frame = session.frame
    return (
        text_of(session.contact),
        *((text_of(frame.flow), text_of(frame.step), frame.visit) if frame else (None, None, session.visit)),
        optional_time_of(wake_at),
        optional_time_of(session.last_inbound),
        optional_text_of(session.conversation),
        int(session.opted_out),
        json_of(session),
    )
