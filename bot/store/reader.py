"""Questions about a store, for people and commands: read-only, while a server runs or when none does."""

import sqlite3
import threading
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from bot.core import codec
from bot.core.effects import Effect
from bot.core.events import Event
from bot.core.session import Session
from bot.store.files import StoreMissing, open_reader, trouble_in_words
from bot.store.rows import read_time, text_of, time_of
from bot.store.state import COUNTS, read_session

_SESSIONS = """
    SELECT contact, flow, step, wake_at, updated_at FROM sessions WHERE contact > ? ORDER BY contact LIMIT ?
"""
_SESSION = "SELECT state FROM sessions WHERE contact = ?"
_LAST_INBOUND = "SELECT last_inbound FROM sessions WHERE contact = ?"
_LAST_REPLACED = "SELECT max(at) FROM sent WHERE contact = ? AND outcome = 'replaced'"
_PENDING = "SELECT id, contact, effect, created_at, attempts, due_at, detail FROM outbox ORDER BY id LIMIT ?"
_DEAD = "SELECT id, what, contact, reason, body, at FROM dead_letters ORDER BY id DESC LIMIT ?"
_TRACE = """
    SELECT at, event_id, event, rule, steps, effects, notes, micros FROM turns
    WHERE contact = ? ORDER BY id DESC LIMIT ?
"""
_CURSOR = "SELECT cursor FROM meta"
_REQUESTS = """
    SELECT max(at), sum(attempts) FROM (
        SELECT at, attempts FROM sent WHERE at > ?1
        UNION ALL SELECT due_at, attempts FROM outbox WHERE attempts > 0
        UNION ALL SELECT at, 1 FROM dead_letters WHERE what = 'send' AND at > ?1
    ) GROUP BY substr(at, 1, 19) ORDER BY 1
"""


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """Where a contact is. ``flow`` and ``step`` are None outside of every flow."""

    contact: str
    flow: str | None
    step: str | None
    wake_at: datetime | None
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class PendingSend:
    """A message that is to be sent; ``detail`` says what went wrong at the last try."""

    id: int
    contact: str
    effect: Effect
    created_at: datetime
    attempts: int
    due_at: datetime
    detail: str


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """Something that was given up. ``what``: event, send or turn; only a send can be tried again."""

    id: int
    what: str
    contact: str | None
    reason: str
    body: str | bytes
    at: datetime


@dataclass(frozen=True, slots=True)
class TurnTraced:
    """One line of a contact's trace. ``event`` is plain data where it was no event of a conversation.

    ``steps``: dicts of flow, step, outcome, target, conditions.
    """

    at: datetime
    event_id: str
    event: Event | dict[str, Any]
    rule: str
    steps: list[dict[str, Any]]
    effects: list[Effect]
    notes: list[str]
    micros: int


class StoreReader:
    """Reads a store's engine file, from any thread. Raises `bot.store.files.StoreMissing`.

    Its methods raise `bot.store.files.StoreUnavailable`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = open_reader(path)
        self._lock = threading.Lock()
        try:
            self.cursor()
        except sqlite3.OperationalError as error:
            self.close()
            raise StoreMissing(f"{path} is no store of this program: {error}") from error

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def cursor(self) -> int:
        """The place in the log up to which events have been taken: below it the inbox may be pruned."""
        return int(self._all(_CURSOR)[0][0])

    def counts(self) -> dict[str, int]:
        """How many rows each queue has, by table."""
        return dict(self._all(COUNTS))

    def sessions(self, after: str = "", limit: int = 100) -> list[SessionSummary]:
        """The sessions by contact, from after a contact on."""
        return [
            SessionSummary(contact, flow, step, read_time(wake_at), datetime.fromisoformat(updated_at))
            for contact, flow, step, wake_at, updated_at in self._all(_SESSIONS, after, limit)
        ]

    def session(self, contact: str) -> Session | None:
        """One contact's session with all its variables, if there is one. Raises `UnreadableSession`."""
        rows = self._all(_SESSION, text_of(contact))
        return read_session(rows[0][0]) if rows else None

    def last_inbound(self, contact: str) -> datetime | None:
        """When the contact was last heard of, by the event's own time: the window runs from it."""
        rows = self._all(_LAST_INBOUND, text_of(contact))
        return read_time(rows[0][0]) if rows else None

    def last_replaced(self, contact: str) -> datetime | None:
        """When a template last went to the contact in place of a message whose window was shut."""
        return read_time(self._all(_LAST_REPLACED, text_of(contact))[0][0])

    def requests(self, since: datetime) -> list[tuple[datetime, int]]:
        """When requests went to the gateway, and how many each second: late rather than early, where it is not known."""
        return [(_time(at), count) for at, count in self._all(_REQUESTS, time_of(since))]

    def pending_sends(self, limit: int = 100) -> list[PendingSend]:
        """The messages that are to be sent, in order."""
        return [
            PendingSend(id, contact, codec.loads(effect), _time(created_at), attempts, _time(due_at), detail)
            for id, contact, effect, created_at, attempts, due_at, detail in self._all(_PENDING, limit)
        ]

    def dead_letters(self, limit: int = 100) -> list[DeadLetter]:
        """What was given up, the newest first."""
        return [
            DeadLetter(id, what, contact, reason, body, _time(at))
            for id, what, contact, reason, body, at in self._all(_DEAD, limit)
        ]

    def trace(self, contact: str, limit: int = 20) -> list[TurnTraced]:
        """A contact's last turns, in the order they were taken."""
        newest_first = [
            TurnTraced(
                _time(at),
                event_id,
                codec.loads(event),
                rule,
                codec.loads(steps),
                codec.loads(effects),
                codec.loads(notes),
                micros,
            )
            for at, event_id, event, rule, steps, effects, notes, micros in self._all(_TRACE, text_of(contact), limit)
        ]
        return newest_first[::-1]

    def _all(self, sql: str, *parameters: Any) -> list[Any]:
        with self._lock, trouble_in_words(self._path):
            return self._connection.execute(sql, parameters).fetchall()


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
