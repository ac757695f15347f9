"""Everything that one commit of the engine writes. Turns add to it, and it is written in full or not at all."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from bot.core.effects import Send
from bot.core.events import MOVED, AliasLearned, Event, Forwarded
from bot.core.session import Session
from bot.core.turn import Counted, Turn
from bot.core.values import json_text, optional_storable, storable, time_text
from bot.store import (
    broadcast_rows,
    call_rows,
    count_rows,
    dead_letter_rows,
    message_rows,
    session_rows,
    stored_broadcasts,
    trace_rows,
)
from bot.store.call_rows import CallChanges, EventChanges, ParkedChanges
from bot.store.database import CommitRows, Row
from bot.store.dead_letter_rows import DeadLetterChanges
from bot.store.message_rows import MessageChanges
from bot.store.rows import CallRow, NewEvent, OutboxRow
from bot.store.session_rows import ContactListChanges, SessionChanges, session_row
from bot.store.stored_broadcasts import BroadcastChanges
from bot.store.trace_rows import turn_row

_CURSOR = """
    UPDATE meta SET cursor = ?1, last_event = coalesce(?2, last_event), written_at = ?3, taking = NULL,
        last_send = CASE WHEN ?4 > last_send THEN ?4 ELSE last_send END,
        last_call = CASE WHEN ?5 > last_call THEN ?5 ELSE last_call END,
        last_turn = CASE WHEN ?6 > last_turn THEN ?6 ELSE last_turn END
"""
ANSWER = "UPDATE requests SET answer = ? WHERE id = ?"
_ORDER = (
    *session_rows.STATEMENTS,
    trace_rows.ADD_TURN,
    *call_rows.STATEMENTS,
    *message_rows.STATEMENTS,
    *dead_letter_rows.STATEMENTS,
    *stored_broadcasts.STATEMENTS,
    count_rows.COUNT_RESULT,
    ANSWER,
)
_PLACE = {sql: place for place, sql in enumerate(_ORDER)}


class Commit:
    """The rows of one commit, with a part for each subject. A method that raises (`bot.core.values.UnstorableValue`,
    `ValueError`) has added nothing.

    ``turns`` are its turns, with the microseconds of each. ``aliases`` has the contacts who write from other numbers,
    by these numbers. ``forwarded`` are the new rows of the logs of other shards, by the number of the shard.
    """

    def __init__(self, cursor: int, at: datetime) -> None:
        self._rows = rows = CommitRows(list)
        rows.at = time_text(at)
        self.sessions = SessionChanges(rows)
        self.parked = ParkedChanges(rows)
        self.dead_letters = DeadLetterChanges(rows)
        self.messages = MessageChanges(rows, self.dead_letters)
        self.calls = CallChanges(rows)
        self.events = EventChanges(rows, self.dead_letters)
        self.broadcasts = BroadcastChanges(rows, self.messages)
        self.contact_list = ContactListChanges(rows)
        self.cursor = cursor
        self.turns: list[tuple[Event, Turn, int]] = []
        self.aliases: dict[str, str] = {}
        self.forwarded: dict[int, list[Row]] = {}
        self._cursor_before = cursor
        self._last_event: str | None = None
        self._results = Counter[Counted]()

    def statements(self, latest: Mapping[str, Session], turns: Iterator[int]) -> dict[str, list[Row]]:
        """The statements to write, in order, each with its rows; none if nothing has happened. ``latest`` are sessions
        in the store, ``turns`` ids for the lines of the trace.
        """
        rows: dict[str, list[Row]] = {**self._rows}
        last_turn = 0
        if added := rows.get(trace_rows.ADD_TURN):
            rows[trace_rows.ADD_TURN] = added = [(next(turns), *row) for row in added]
            last_turn = added[-1][0]
        if self.sessions.written:
            rows |= self.sessions.rows(latest)
        if self.parked.added or self.parked.removed:
            rows |= self.parked.rows()
        if self.contact_list.listed or self.contact_list.unlisted:
            rows |= self.contact_list.rows()
        if self.broadcasts.written or self.broadcasts.opted_out:
            rows |= self.broadcasts.rows()
        if self.aliases:
            rows[session_rows.ADD_ALIAS] = list(self.aliases.items())
        if self._results:
            day = self._rows.at[:10]
            rows[count_rows.COUNT_RESULT] = [
                (day, *map(storable, counted), count) for counted, count in self._results.items()
            ]
        written = {sql: rows[sql] for sql in sorted(rows, key=_PLACE.__getitem__) if rows[sql]}
        if not (written or self.forwarded or self.cursor != self._cursor_before):
            return {}
        last_send = self.messages.added[-1].id if self.messages.added else 0
        last_call = self.calls.added[-1].id if self.calls.added else 0
        moved = self.cursor, self._last_event, self._rows.at, last_send, last_call, last_turn
        return {_CURSOR: [moved], **written}

    def move_cursor(self, seq: int, event_id: str) -> None:
        """Move the cursor to an event of the log. Its id is stored too, as another log may have another event there."""
        self.cursor, self._last_event = seq, event_id

    def forward(self, shard: int, what: Forwarded | AliasLearned, key: str, contact: str = "") -> None:
        """Append to another shard's log, once for each ``key``. No number may be in the key: an erasure keeps it."""
        body = json_text(what).encode()
        row = None, f"{MOVED}{key}", "moved", optional_storable(contact or None), self._rows.at, body, 1, None
        self.forwarded.setdefault(shard, []).append(row)

    def add_turn(
        self,
        before: Session,
        event: Event,
        turn: Turn,
        rows: Sequence[OutboxRow | CallRow | NewEvent | None],
        micros: int,
    ) -> None:
        """Add everything that a turn decided, and its trace. ``before`` is the session before it; ``rows`` are those of
        its effects, in order; None: that effect has none.
        """
        session = (*session_row(turn.session, turn.wake_at), self._rows.at)
        effects = [json_text(effect) for effect in turn.effects]
        met = None if before.frames else json_text(before)  # `bot replay` begins a conversation with its first session
        written = turn_row(event, turn.trace, effects, micros)
        self._rows[trace_rows.ADD_TURN].append((self._rows.at, *written, met, session[4]))
        self.sessions.written[event.contact] = turn.session, session
        self.turns.append((event, turn, micros))
        for counted in turn.results:
            self._results[counted] += 1
        if turn.session.broadcast is not None:
            first = next((row for row in rows if isinstance(row, OutboxRow) and isinstance(row.effect, Send)), None)
            if first is not None:
                whose = storable(turn.session.broadcast), storable(event.contact)
                self._rows[broadcast_rows.FIRST_SEND].append((first.id, *whose))
        for row, effect in zip(rows, effects, strict=True):
            if isinstance(row, OutboxRow):
                self.messages.add(row, effect)
            elif isinstance(row, NewEvent):
                self.events.add(row, effect)
            elif row is not None:
                self.calls.add(row, effect)

    def count(self, counted: Counted) -> None:
        """Count something that happened at a step outside of a turn."""
        self._results[counted] += 1

    def add_note(
        self, contact: str | None, event_id: str, event: str, rule: str, note: str, effects: str = "[]"
    ) -> None:
        """Add a line to the trace about something that is not a turn. ``event`` is JSON, ``effects`` a JSON list."""
        self._rows[trace_rows.ADD_TURN].append(
            (self._rows.at, *trace_rows.note_row(contact, event_id, event, rule, note, effects))
        )

    def answer(self, request: str, answer: Mapping[str, Any]) -> None:
        """Answer a request from another machine: this commit carries it out, or an earlier one did."""
        self._rows[ANSWER].append((json_text(answer), request))
