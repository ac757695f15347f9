"""The events out in the engine's tables: reports to the operator's own program that are to be delivered."""

from collections.abc import Collection
from datetime import datetime

from bot.core import values
from bot.core.values import json_text, storable, time_text
from bot.store.commit_rows import CommitRows
from bot.store.database import Database, Queries
from bot.store.dead_letter_rows import EVENT_OUT, DeadLetterChanges
from bot.store.files import reads_rows
from bot.store.rows import EventRow, NewEvent, PendingSend, pending_send

_ADD = """
    INSERT INTO events_out (ref, key, contact, effect, created_at, due_at)
    SELECT ?1, ?2, ?3, ?4, ?5, CASE WHEN EXISTS (SELECT 1 FROM events_out WHERE contact = ?3) THEN NULL ELSE ?5 END
"""
"""Only the first event of a contact is due: the others come after it."""
_TRY_AGAIN = "UPDATE events_out SET attempts = ?, due_at = ?, detail = ? WHERE id = ?"
EVENT_ENDED = "DELETE FROM events_out WHERE id = ?"
_NEXT_IS_DUE = """
    UPDATE events_out SET due_at = ?2
    WHERE id = (SELECT min(id) FROM events_out WHERE contact = ?1) AND due_at IS NULL
"""
STATEMENTS = (_ADD, _TRY_AGAIN, EVENT_ENDED, _NEXT_IS_DUE)
"""The statements of a commit, in order."""

_NOT_THESE = "id NOT IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
_DUE = f"""
    SELECT id, ref, key, contact, effect, attempts, due_at, created_at FROM events_out
    WHERE due_at <= ? AND {_NOT_THESE} ORDER BY due_at, id LIMIT ?
"""
_SOME = "SELECT EXISTS (SELECT 1 FROM events_out)"
_FIRST = f"SELECT due_at FROM events_out WHERE due_at IS NOT NULL AND {_NOT_THESE} ORDER BY due_at LIMIT 1"
_PENDING = "SELECT id, contact, effect, created_at, attempts, coalesce(due_at, created_at), detail, key FROM events_out ORDER BY id LIMIT ?"


class StoredEvents(Queries):
    """The events to deliver as the engine reads them. ``may_wait``: there may be some."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.may_wait = bool(database.one(_SOME)[0])

    @reads_rows
    def due(self, now: datetime, without: Collection[int], limit: int) -> list[EventRow]:
        """The events that can be delivered now, the oldest first: at most one a contact, and none of ``without``."""
        rows = self.database.all(_DUE, time_text(now), json_text([*without]), limit)
        return [_event_row(*row) for row in rows]

    @reads_rows
    def next_due(self, without: Collection[int]) -> datetime | None:
        """When the next event that is not among ``without`` is due; None if no other event waits."""
        if not self.may_wait:
            return None
        row = self.database.one(_FIRST, json_text([*without]))
        self.may_wait = row is not None or bool(without)
        return None if row is None else datetime.fromisoformat(row[0])

    def committed(self, changes: "EventChanges") -> None:
        """Note what a commit has written."""
        self.may_wait = self.may_wait or changes.adds_some


def _event_row(
    id: int, ref: str, key: str, contact: str, effect: str, attempts: int, due_at: str, created_at: str
) -> EventRow:
    """An event to deliver, from its row."""
    due, created = datetime.fromisoformat(due_at), datetime.fromisoformat(created_at)
    return EventRow(id, ref, key, contact, values.loads(effect), attempts, due, created_at=created)


class EventChanges:
    """The events that a commit adds, and ``tried``, the ids of those that ended or are due again later."""

    def __init__(self, rows: CommitRows, dead_letters: DeadLetterChanges) -> None:
        self.tried: set[int] = set()
        self._rows = rows
        self._dead_letters = dead_letters

    def add(self, event: NewEvent, effect: str = "") -> None:
        """Add an event to deliver. ``effect`` is as in `bot.store.message_rows.MessageChanges.add`."""
        what = storable(event.contact), effect or json_text(event.effect), self._rows.at
        self._rows.add(_ADD, (storable(event.ref), event.key, *what))

    @property
    def adds_some(self) -> bool:
        """True if there are new events to deliver."""
        return _ADD in self._rows.added

    def try_again(self, row: EventRow, attempts: int, due_at: datetime, detail: str) -> None:
        """Keep an event that could not be delivered, to be tried again later."""
        self._rows.add(_TRY_AGAIN, (attempts, time_text(due_at), storable(detail), row.id))
        self.tried.add(row.id)

    def end(self, row: EventRow) -> None:
        """Delete an event that was delivered or given up. The contact's next event is due."""
        self._rows.add(EVENT_ENDED, (row.id,))
        self._rows.add(_NEXT_IS_DUE, (storable(row.contact), self._rows.at))
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
        return [pending_send(*row) for row in self.database.all(_PENDING, limit)]
