"""Calls in the engine's tables, and the events that are parked until the call of their contact has ended."""

from datetime import datetime

from bot.core import values
from bot.core.events import MessageReceived, Tapped
from bot.core.values import Usage, json_text, storable, time_text
from bot.store.commit_rows import CommitRows, Rows
from bot.store.count_rows import ADD_USAGE
from bot.store.database import Queries
from bot.store.files import reads_rows
from bot.store.rows import CallRow, ParkedRow

_ADD = """
    INSERT INTO calls (id, ref, key, contact, effect, created_at, attempts, due_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
_CLAIM = "UPDATE calls SET claimed_at = ? WHERE id = ?"
_TRY_AGAIN = "UPDATE calls SET attempts = ?, due_at = ?, detail = ?, claimed_at = NULL WHERE id = ?"
_SAID = "UPDATE calls SET said = said + 1 WHERE id = ?"
_END = "DELETE FROM calls WHERE id = ?"
_PARK = "INSERT INTO parked (contact, event, parked_at) VALUES (?, ?, ?)"
_UNPARK = "DELETE FROM parked WHERE id = ?"
STATEMENTS = (_UNPARK, _PARK, _ADD, _CLAIM, _TRY_AGAIN, _SAID, _END, ADD_USAGE)
"""The statements of a commit, in order."""

_PENDING = """
    SELECT id, ref, key, contact, effect, attempts, due_at, said FROM calls WHERE id > ? ORDER BY id LIMIT ?
"""
_PARKED = """SELECT id, event, instr(event, '"id":"kept:') > 0 FROM parked WHERE contact = ? ORDER BY id"""


class StoredCalls(Queries):
    """The calls to make as the engine reads them."""

    @reads_rows
    def pending(self, after: int, limit: int) -> list[CallRow]:
        """The calls to make, in order, with ids above ``after``."""
        return [_call_row(*row) for row in self.database.all(_PENDING, after, limit)]


def _call_row(id: int, ref: str, key: str, contact: str, effect: str, attempts: int, due_at: str, said: int) -> CallRow:
    """A call to make, from its row."""
    return CallRow(id, ref, key, contact, values.loads(effect), attempts, datetime.fromisoformat(due_at), said)


class CallChanges:
    """The calls that a commit adds, ``added``, and those that have ended, by id.

    ``added`` are handed to performers when the commit is durable.
    """

    def __init__(self, rows: CommitRows) -> None:
        self.added: list[CallRow] = []
        self.ended: set[int] = set()
        self._rows = rows

    def add(self, row: CallRow, effect: str = "") -> None:
        """Add a call. ``effect`` is as in `bot.store.message_rows.MessageChanges.add`."""
        what = (
            storable(row.contact),
            effect or json_text(row.effect),
            self._rows.at,
            row.attempts,
            time_text(row.due_at),
        )
        self._rows.add(_ADD, (row.id, storable(row.ref), row.key, *what))
        self.added.append(row)

    def claim(self, row: CallRow) -> None:
        """Note, in the crash quarantine, that a call is about to be made. A crash after that is its fault."""
        self._rows.add(_CLAIM, (self._rows.at, row.id))

    def try_again(self, row: CallRow, attempts: int, due_at: datetime, detail: str) -> None:
        """Keep a call, to be tried again later."""
        self._rows.add(_TRY_AGAIN, (attempts, time_text(due_at), storable(detail), row.id))

    def said(self, row: CallRow) -> None:
        """Note that a paragraph of the model's answer was taken."""
        self._rows.add(_SAID, (row.id,))

    def add_usage(self, row: CallRow, flow: str, used: Usage) -> None:
        """Add the tokens that a model's answer used, complete or not."""
        counts = (used.prompt_tokens, used.completion_tokens, int(used.estimated))
        self._rows.add(ADD_USAGE, (self._rows.at, storable(row.contact), flow, storable(used.model), *counts))

    def rows(self) -> Rows:
        """The rows to write."""
        return {_END: [(id,) for id in self.ended]}


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


class ParkedChanges:
    """The events that a commit parks, and those whose rows it deletes: ``removed``, by id."""

    def __init__(self, rows: CommitRows) -> None:
        self.removed: set[int] = set()
        self._parked: dict[str, list[tuple[MessageReceived | Tapped, str]]] = {}
        self._rows = rows

    def add(self, event: MessageReceived | Tapped) -> None:
        """Keep an event until its contact's call has ended."""
        self._parked.setdefault(event.contact, []).append((event, json_text(event)))

    def pop(self, contact: str) -> list[MessageReceived | Tapped]:
        """Return the contact's events that this commit would have parked, in order, and do not park them."""
        return [event for event, _ in self._parked.pop(contact, ())]

    def rows(self) -> Rows:
        """The rows to write."""
        return {
            _PARK: [(storable(c), event, self._rows.at) for c, parked in self._parked.items() for _, event in parked],
            _UNPARK: [(id,) for id in self.removed],
        }
