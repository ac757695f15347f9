"""Calls in the engine's tables, the events that are parked until the call of their contact has ended, and events out:
reports to the operator's own program that are to be delivered.
"""

from collections.abc import Collection
from dataclasses import field
from datetime import datetime

from bot.core import values
from bot.core.events import MessageReceived, Tapped
from bot.core.immutable import mutable
from bot.core.values import Usage, json_text, storable, time_text
from bot.store.count_rows import ADD_USAGE
from bot.store.database import CommitRows, Database, Queries, Rows
from bot.store.dead_letter_rows import EVENT_OUT, DeadLetterChanges
from bot.store.files import reads_rows
from bot.store.rows import CallRow, EventRow, NewEvent, ParkedRow, PendingSend, pending_send

_ADD = """
    INSERT INTO calls (id, ref, key, contact, effect, created_at, attempts, due_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
_CLAIM = "UPDATE calls SET claimed_at = ? WHERE id = ?"
_TRY_AGAIN = "UPDATE calls SET attempts = ?, due_at = ?, detail = ?, claimed_at = NULL WHERE id = ?"
_SAID = "UPDATE calls SET said = said + 1 WHERE id = ?"
_END = "DELETE FROM calls WHERE id = ?"
_PARK = "INSERT INTO parked (contact, event, parked_at) VALUES (?, ?, ?)"
_UNPARK = "DELETE FROM parked WHERE id = ?"
_ADD_EVENT = """
    INSERT INTO events_out (ref, key, contact, effect, created_at, due_at)
    SELECT ?1, ?2, ?3, ?4, ?5, CASE WHEN EXISTS (SELECT 1 FROM events_out WHERE contact = ?3) THEN NULL ELSE ?5 END
"""
"""Only the first event of a contact is due: the others come after it."""
_TRY_EVENT_AGAIN = "UPDATE events_out SET attempts = ?, due_at = ?, detail = ? WHERE id = ?"
EVENT_ENDED = "DELETE FROM events_out WHERE id = ?"
_NEXT_IS_DUE = """
    UPDATE events_out SET due_at = ?2
    WHERE id = (SELECT min(id) FROM events_out WHERE contact = ?1) AND due_at IS NULL
"""
STATEMENTS = (
    *(_UNPARK, _PARK, _ADD, _CLAIM, _TRY_AGAIN, _SAID, _END, ADD_USAGE),
    *(_ADD_EVENT, _TRY_EVENT_AGAIN, EVENT_ENDED, _NEXT_IS_DUE),
)
"""The statements of a commit, in order."""

_PENDING = """
    SELECT id, ref, key, contact, effect, attempts, due_at, said FROM calls WHERE id > ? ORDER BY id LIMIT ?
"""
_PARKED = """SELECT id, event, instr(event, '"id":"kept:') > 0 FROM parked WHERE contact = ? ORDER BY id"""
_NOT_THESE = "id NOT IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
_EVENTS_DUE = f"""
    SELECT id, ref, key, contact, effect, attempts, due_at, created_at FROM events_out
    WHERE due_at <= ? AND {_NOT_THESE} ORDER BY due_at, id LIMIT ?
"""
_SOME_EVENTS = "SELECT EXISTS (SELECT 1 FROM events_out)"
_FIRST_EVENT_DUE = f"SELECT due_at FROM events_out WHERE due_at IS NOT NULL AND {_NOT_THESE} ORDER BY due_at LIMIT 1"
_PENDING_EVENTS = "SELECT id, contact, effect, created_at, attempts, coalesce(due_at, created_at), detail, key FROM events_out ORDER BY id LIMIT ?"


class StoredCalls(Queries):
    """The calls to make as the engine reads them."""

    @reads_rows
    def pending(self, after: int, limit: int) -> list[CallRow]:
        """The calls to make, in order, with ids above ``after``."""
        return [_call_row(*row) for row in self.database.all(_PENDING, after, limit)]


def _call_row(id: int, ref: str, key: str, contact: str, effect: str, attempts: int, due_at: str, said: int) -> CallRow:
    """A call to make, from its row."""
    return CallRow(id, ref, key, contact, values.loads(effect), attempts, datetime.fromisoformat(due_at), said)


@mutable
class CallChanges:
    """The calls that a commit adds, ``added``, and those that have ended, by id.

    ``added`` are handed to performers when the commit is durable.
    """

    _rows: CommitRows
    added: list[CallRow] = field(default_factory=list)
    ended: set[int] = field(default_factory=set)

    def add(self, row: CallRow, effect: str = "") -> None:
        """Add a call. ``effect`` is as in `bot.store.message_rows.MessageChanges.add`."""
        what = (
            storable(row.contact),
            effect or json_text(row.effect),
            self._rows.at,
            row.attempts,
            time_text(row.due_at),
        )
        self._rows[_ADD].append((row.id, storable(row.ref), row.key, *what))
        self.added.append(row)

    def claim(self, row: CallRow) -> None:
        """Note, in the crash quarantine, that a call is about to be made. A crash after that is blamed on the call."""
        self._rows[_CLAIM].append((self._rows.at, row.id))

    def try_again(self, row: CallRow, attempts: int, due_at: datetime, detail: str) -> None:
        """Keep a call, to be tried again later."""
        self._rows[_TRY_AGAIN].append((attempts, time_text(due_at), storable(detail), row.id))

    def said(self, row: CallRow) -> None:
        """Note that a paragraph of the model's answer was taken."""
        self._rows[_SAID].append((row.id,))

    def add_usage(self, row: CallRow, flow: str, used: Usage) -> None:
        """Add the tokens that a model's answer used, complete or not."""
        counts = (used.prompt_tokens, used.completion_tokens, int(used.estimated))
        self._rows[ADD_USAGE].append((self._rows.at, storable(row.contact), flow, storable(used.model), *counts))

    def end(self, row: CallRow) -> None:
        """Delete a call that has ended."""
        self._rows[_END].append((row.id,))
        self.ended.add(row.id)


class ParkedEvents(Queries):
    """The parked events as the engine reads them."""

    def rows(self, contact: str) -> list[ParkedRow]:
        """A contact's parked events in order, as they are stored: there may be thousands, and `event` reads one."""
        return [ParkedRow(*row) for row in self.database.all(_PARKED, storable(contact))]

    @reads_rows
    def event(self, row: ParkedRow) -> MessageReceived | Tapped:
        """Read the event of a row."""
        event: MessageReceived | Tapped = values.loads(row.written)
        return event


@mutable
class ParkedChanges:
    """The events that a commit parks, ``added``, by contact, and those whose rows it deletes: ``removed``, by id."""

    _rows: CommitRows
    removed: set[int] = field(default_factory=set)
    added: dict[str, list[tuple[MessageReceived | Tapped, str]]] = field(default_factory=dict)

    def add(self, event: MessageReceived | Tapped) -> None:
        """Keep an event until its contact's call has ended."""
        self.added.setdefault(event.contact, []).append((event, json_text(event)))

    def pop(self, contact: str) -> list[MessageReceived | Tapped]:
        """Return the contact's events that this commit would have parked, in order, and do not park them."""
        return [event for event, _ in self.added.pop(contact, ())]

    def rows(self) -> Rows:
        """The rows to write."""
        return {
            _PARK: [(storable(c), event, self._rows.at) for c, parked in self.added.items() for _, event in parked],
            _UNPARK: [(id,) for id in self.removed],
        }


class StoredEvents(Queries):
    """The events to deliver as the engine reads them. ``may_wait``: some may wait."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.may_wait = bool(database.one(_SOME_EVENTS)[0])

    @reads_rows
    def due(self, now: datetime, without: Collection[int], limit: int) -> list[EventRow]:
        """The events that can be delivered now, the oldest first: at most one a contact, and none of ``without``."""
        rows = self.database.all(_EVENTS_DUE, time_text(now), json_text([*without]), limit)
        return [_event_row(*row) for row in rows]

    @reads_rows
    def next_due(self, without: Collection[int]) -> datetime | None:
        """When the next event that is not among ``without`` is due; None if no other event waits."""
        row = self.database.one(_FIRST_EVENT_DUE, json_text([*without]))
        self.may_wait = row is not None or bool(without)
        return None if row is None else datetime.fromisoformat(row[0])


def _event_row(
    id: int, ref: str, key: str, contact: str, effect: str, attempts: int, due_at: str, created_at: str
) -> EventRow:
    """An event to deliver, from its row."""
    due, created = datetime.fromisoformat(due_at), datetime.fromisoformat(created_at)
    return EventRow(id, ref, key, contact, values.loads(effect), attempts, due, created_at=created)


@mutable
class EventChanges:
    """The events that a commit adds, if there are ``some_added``, and ``tried``, the ids of those that ended or are due
    again later.
    """

    _rows: CommitRows
    _dead_letters: DeadLetterChanges
    some_added: bool = False
    tried: set[int] = field(default_factory=set)

    def add(self, event: NewEvent, effect: str = "") -> None:
        """Add an event to deliver. ``effect`` is as in `bot.store.message_rows.MessageChanges.add`."""
        what = storable(event.contact), effect or json_text(event.effect), self._rows.at
        self._rows[_ADD_EVENT].append((storable(event.ref), event.key, *what))
        self.some_added = True

    def try_again(self, row: EventRow, attempts: int, due_at: datetime, detail: str) -> None:
        """Keep an event that could not be delivered, to be tried again later."""
        self._rows[_TRY_EVENT_AGAIN].append((attempts, time_text(due_at), storable(detail), row.id))
        self.tried.add(row.id)

    def end(self, row: EventRow) -> None:
        """Delete an event that was delivered or given up. The contact's next event is due."""
        self._rows[EVENT_ENDED].append((row.id,))
        self._rows[_NEXT_IS_DUE].append((storable(row.contact), self._rows.at))
        self.tried.add(row.id)

    def give_up(self, row: EventRow, detail: str) -> None:
        """Make an event a dead letter."""
        body = {"ref": row.ref, "key": row.key, "effect": row.effect}
        self._dead_letters.add(EVENT_OUT, row.contact, detail, json_text(body))
        self.end(row)


class EventReader(Queries):
    """The events to deliver as commands and pages read them."""

    @reads_rows
    def pending(self, limit: int = 100) -> list[PendingSend]:
        """The events to deliver, in order."""
        return [pending_send(*row) for row in self.database.all(_PENDING_EVENTS, limit)]
