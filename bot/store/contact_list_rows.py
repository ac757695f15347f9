"""The gateway's list of contacts in the engine's tables, as far as contacts wait for it or have not taken it yet."""

from datetime import datetime

from bot.core import values
from bot.core.events import ContactChanged
from bot.core.values import json_text, read_time, storable
from bot.store.commit_rows import CommitRows, Rows
from bot.store.database import Queries
from bot.store.files import reads_rows

_KEEP = """
    INSERT INTO listed_contacts (contact, state) VALUES (?, ?) ON CONFLICT (contact) DO UPDATE SET state = excluded.state
"""
_DROP = "DELETE FROM listed_contacts WHERE contact = ?"
_NOTE_READ = "UPDATE meta SET listed_at = ?"
STATEMENTS = (_KEEP, _DROP, _NOTE_READ)
"""The statements of a commit, in order."""

_LISTED = "SELECT state FROM listed_contacts WHERE contact = ?"
_WANTED = "SELECT contact FROM listed_contacts WHERE state IS NULL ORDER BY contact"
_READ_AT = "SELECT listed_at FROM meta"
_NEXT_PAGE = "SELECT id FROM outbox WHERE contact = ''"


class StoredContactList(Queries):
    """The list as the engine reads it."""

    @reads_rows
    def get(self, contact: str) -> ContactChanged | None:
        """The contact's data from the gateway's list; None if it is not known, or the contact waits for the list."""
        row = self.database.one(_LISTED, storable(contact))
        event: ContactChanged | None = None if row is None or row[0] is None else values.loads(row[0])
        return event

    def wanted(self) -> list[str]:
        """The contacts that wait for the gateway's list."""
        return [contact for (contact,) in self.database.all(_WANTED)]

    def read_at(self) -> datetime | None:
        """When the gateway's list was last read to its end."""
        return read_time(self.database.one(_READ_AT)[0])

    def next_page(self) -> int | None:
        """The id of the message that reads the next page of the list, if that is in the outbox."""
        row = self.database.one(_NEXT_PAGE)
        return None if row is None else int(row[0])


class ContactListChanges:
    """The changes of a commit to the list.

    ``listed`` are contacts as the gateway's list has them; None: they wait for it. The list's data of the ``unlisted``
    is out of date, or taken.
    """

    def __init__(self, rows: CommitRows) -> None:
        self.listed: dict[str, ContactChanged | None] = {}
        self.unlisted: set[str] = set()
        self._rows = rows

    def keep(self, contact: str, event: ContactChanged | None) -> None:
        """Keep what the list has of a contact; None: the contact waits for the list to be read."""
        self.listed[contact] = event
        self.unlisted.discard(contact)

    def drop(self, contact: str) -> None:
        """Stop waiting for the list for a contact, and delete what it had of the contact."""
        self.listed.pop(contact, None)
        self.unlisted.add(contact)

    def note_read(self) -> None:
        """Note that the list has been read to its end."""
        self._rows.add(_NOTE_READ, (self._rows.at,))

    def rows(self) -> Rows:
        """The rows to write."""
        return {
            _KEEP: [
                (storable(contact), None if event is None else json_text(event))
                for contact, event in self.listed.items()
            ],
            _DROP: [(storable(contact),) for contact in self.unlisted],
        }
