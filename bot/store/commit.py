"""What one commit of the engine writes: a value that turns fill, and that is then written whole or not at all."""

from collections import deque
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from bot.core.events import Event
from bot.core.session import Session
from bot.core.turn import StepTaken, Turn
from bot.store.rows import CallRow, OutboxRow, json_of, optional_text_of, optional_time_of, text_of, time_of

UNSENT = ("failed", "unknown")
"""The outcomes of a send that make a dead letter."""

_Row = tuple[Any, ...]

_CURSOR = "UPDATE meta SET cursor = ?, taking = NULL"
_SESSION = """
    INSERT INTO sessions (contact, flow, step, visit, wake_at, last_inbound, conversation, updated_at, state)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (contact) DO UPDATE SET flow = excluded.flow, step = excluded.step, visit = excluded.visit,
        wake_at = excluded.wake_at, last_inbound = excluded.last_inbound,
        conversation = excluded.conversation, updated_at = excluded.updated_at, state = excluded.state
"""
_TURN = """
    INSERT INTO turns (at, contact, event_id, event, rule, steps, effects, notes, micros)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_PARK = "INSERT INTO parked (contact, event, parked_at) VALUES (?, ?, ?)"
_UNPARK = "DELETE FROM parked WHERE id = ?"
_SEND = """
    INSERT INTO outbox (id, ref, key, contact, effect, created_at, attempts, due_at, expires_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_CLAIM = "UPDATE outbox SET claimed_at = ? WHERE id = ?"
_SEND_AGAIN = "UPDATE outbox SET attempts = ?, due_at = ?, detail = ?, claimed_at = NULL WHERE id = ?"
_SENT = """
    INSERT INTO sent (id, ref, key, contact, effect, outcome, message_ids, attempts, created_at, at, detail)
    SELECT id, ref, key, contact, effect, ?, ?, ?, created_at, ?, ? FROM outbox WHERE id = ?
"""
_SEND_ENDED = "DELETE FROM outbox WHERE id = ?"
_CALL = """
    INSERT INTO calls (id, ref, key, contact, effect, created_at, attempts, due_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
_CALL_AGAIN = "UPDATE calls SET attempts = ?, due_at = ?, detail = ? WHERE id = ?"
_CALL_ENDED = "DELETE FROM calls WHERE id = ?"
_DEAD_LETTER = "INSERT INTO dead_letters (what, contact, reason, body, at) VALUES (?, ?, ?, ?, ?)"
_REVIVE = "DELETE FROM dead_letters WHERE id = ?"
_ORDER = (
    *(_SESSION, _TURN, _UNPARK, _PARK, _REVIVE, _SEND, _SEND_AGAIN, _CLAIM, _SENT, _SEND_ENDED),
    *(_CALL, _CALL_AGAIN, _CALL_ENDED, _DEAD_LETTER),
)


class Commit:
    """The rows of one commit.

    A method that raises (`bot.core.values.UnstorableValue`, `ValueError`) has added nothing. ``sends`` and
    ``calls`` are the new rows themselves: they are handed on once the commit is durable.
    """

    def __init__(self, cursor: int, at: datetime) -> None:
        self.cursor = cursor
        self.sends: list[OutboxRow] = []
        self.calls: list[CallRow] = []
        self.unparked: set[int] = set()
        self.revived: set[int] = set()
        self.sends_ended: set[int] = set()
        self.calls_ended: set[int] = set()
        self._cursor_before = cursor
        self._at = time_of(at)
        self._sessions: dict[str, _Row] = {}
        self._parked: dict[str, deque[tuple[Event, str]]] = {}
        self._rows: dict[str, list[_Row]] = {}

    def statements(self) -> Iterator[tuple[str, list[_Row]]]:
        """All that is to be written: each statement with its rows. Nothing when nothing has happened."""
        rows = self._rows | {
            _SESSION: list(self._sessions.values()),
            _PARK: [(text_of(c), event, self._at) for c, parked in self._parked.items() for _, event in parked],
            _UNPARK: [(id,) for id in self.unparked],
            _REVIVE: [(id,) for id in self.revived],
            _SEND_ENDED: [(id,) for id in self.sends_ended],
            _CALL_ENDED: [(id,) for id in self.calls_ended],
        }
        written = [(sql, rows[sql]) for sql in _ORDER if rows.get(sql)]
        if written or self.cursor != self._cursor_before:
            yield _CURSOR, [(self.cursor,)]
            yield from written

    def add_turn(self, event: Event, turn: Turn, rows: Sequence[OutboxRow | CallRow], micros: int) -> None:
        """All that a turn decided, and its trace. ``rows`` are those of its effects, in order."""
        session = self._session_row(turn.session, turn.wake_at)
        effects = [json_of(effect) for effect in turn.effects]
        steps = json_of([_step(step) for step in turn.trace.steps])
        self._add_trace(event, json_of(event), turn.trace.rule, turn.trace.notes, steps, effects, micros)
        self._sessions[event.contact] = session
        for row, effect in zip(rows, effects, strict=True):
            if isinstance(row, OutboxRow):
                self._add_send(row, effect)
            else:
                self._add_call(row, effect)

    def add_note(self, contact: str | None, event_id: str, event: str, rule: str, note: str) -> None:
        """A line of the trace about something that was no turn. ``event`` is JSON."""
        at, contact = self._at, optional_text_of(contact)
        self._add(_TURN, (at, contact, text_of(event_id), event, rule, "[]", "[]", json_of([note]), 0))

    def add_dead_letter(self, what: str, contact: str | None, reason: str, body: str | bytes) -> None:
        """Something that will not be done, kept for the operator. ``what``: event, send or turn."""
        self._add(_DEAD_LETTER, (what, optional_text_of(contact), text_of(reason), body, self._at))

    def set_session(self, session: Session, wake_at: datetime | None) -> None:
        """A session that no turn has made."""
        self._sessions[session.contact] = self._session_row(session, wake_at)

    def writes_session(self, contact: str) -> bool:
        """True when this commit writes the contact's session: what the file says of it is old."""
        return contact in self._sessions

    def park(self, event: Event) -> None:
        """Keep an event until its contact's call has ended."""
        self._parked.setdefault(event.contact, deque()).append((event, json_of(event)))

    def unpark(self, contact: str) -> Event | None:
        """Take back the contact's first event that this commit would have parked."""
        waiting = self._parked.get(contact)
        return waiting.popleft()[0] if waiting else None

    def revive(self, dead_letter: int, row: OutboxRow) -> None:
        """A message that was a dead letter is to be sent after all."""
        self.revived.add(dead_letter)
        self._add_send(row, json_of(row.effect))

    def claim(self, row: OutboxRow) -> None:
        """The message is about to be sent in a way that cannot be repeated: after a crash nobody knows whether it was."""
        self._add(_CLAIM, (self._at, row.id))

    def send_again(self, row: OutboxRow, attempts: int, due_at: datetime, detail: str) -> None:
        """The message stays in the outbox, and is tried again later."""
        self._add(_SEND_AGAIN, (attempts, time_of(due_at), text_of(detail), row.id))

    def send_ended(
        self, row: OutboxRow, outcome: str, message_ids: Sequence[str], attempts: int, detail: str, at: datetime
    ) -> None:
        """The message is done with: it was sent in some way, or is a dead letter."""
        if outcome in UNSENT:
            body = {"outcome": outcome, "key": row.key, "ref": row.ref, "effect": row.effect}
            self.add_dead_letter("send", row.contact, detail or outcome, json_of(body))
        else:
            ids = json_of(list(message_ids))
            self._add(_SENT, (outcome, ids, attempts, time_of(at), text_of(detail), row.id))
        self.sends_ended.add(row.id)

    def call_again(self, row: CallRow, attempts: int, due_at: datetime, detail: str) -> None:
        """The call stays, and is tried again later."""
        self._add(_CALL_AGAIN, (attempts, time_of(due_at), text_of(detail), row.id))

    def call_ended(self, row: CallRow) -> None:
        """The call is done with; its result is an event."""
        self.calls_ended.add(row.id)

    def _add(self, sql: str, row: _Row) -> None:
        self._rows.setdefault(sql, []).append(row)

    def _add_trace(
        self, event: Event, text: str, rule: str, notes: list[str], steps: str, effects: list[str], micros: int
    ) -> None:
        contact, id = text_of(event.contact), text_of(event.id)
        self._add(
            _TURN,
            (self._at, contact, id, text, text_of(rule), steps, f"[{','.join(effects)}]", json_of(notes), micros),
        )

    def _add_send(self, row: OutboxRow, effect: str) -> None:
        self.sends.append(row)
        contact, ref = text_of(row.contact), text_of(row.ref)
        created, due, expires = time_of(row.created_at), time_of(row.due_at), time_of(row.expires_at)
        self._add(_SEND, (row.id, ref, row.key, contact, effect, created, row.attempts, due, expires))

    def _add_call(self, row: CallRow, effect: str) -> None:
        self.calls.append(row)
        contact, ref = text_of(row.contact), text_of(row.ref)
        self._add(_CALL, (row.id, ref, row.key, contact, effect, self._at, row.attempts, time_of(row.due_at)))

    def _session_row(self, session: Session, wake_at: datetime | None) -> _Row:
        frame = session.frame
        return (
            text_of(session.contact),
            *((text_of(frame.flow), text_of(frame.step), frame.visit) if frame else (None, None, session.visit)),
            optional_time_of(wake_at),
            optional_time_of(session.last_inbound),
            optional_text_of(session.conversation),
            self._at,
            json_of(session),
        )


def _step(step: StepTaken) -> dict[str, Any]:
    conditions = [[source, _shown(value)] for source, value in step.conditions]
    return {
        "flow": step.flow,
        "step": step.step,
        "outcome": step.outcome,
        "target": step.target,
        "conditions": conditions,
    }


def _shown(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | str) else str(value)
