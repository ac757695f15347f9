"""All data that a store keeps of one contact, in both files: which rows they are, their export and their erasure."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from bot.core import values
from bot.core.immutable import immutable
from bot.core.values import json_text, readable_json, storable, time_text
from bot.store import trace_rows
from bot.store.database import Database, Queries, StoreAddress, engine_schema, shard_of, shards_of, whole_of
from bot.store.files import damage_in_words
from bot.store.kept_files import KeptFiles, kept_files
from bot.store.opening import engine_reader, log_reader
from bot.store.trace_rows import OPERATOR

_OWN = "contact = ?1"


def names_contact(*columns: str) -> str:
    """An SQL condition: one of these columns contains the number, not as a part of a longer one."""
    text = " || ' ' || ".join(f"CAST({column} AS TEXT)" for column in columns)
    return f"' ' || {text} || ' ' GLOB '*[^0-9]' || ?1 || '[^0-9]*'"


def _own_or_names(*columns: str) -> str:
    """The rows of the contact; and of the rows without a contact, those that name it."""
    return f"(contact = ?1 OR (coalesce(contact, '') = '' AND {names_contact(*columns)}))"


_SENT_TO = "SELECT value FROM sent, json_each(sent.message_ids) WHERE sent.contact = ?1"

OF_CONTACT: Mapping[str, str] = {
    "sessions": _OWN,
    "parked": _OWN,
    "calls": _own_or_names("effect", "detail"),  # a hook may be called for a dead letter without a contact
    "events_out": _OWN,
    "turns": _OWN,
    "statuses": f"{_own_or_names('detail')} OR message_id IN ({_SENT_TO})",
    "message_ids": "sent_id IN (SELECT id FROM sent WHERE contact = ?1)",
    "messages": _OWN,
    "recipients": _OWN,
    "usage": _OWN,
    "dead_letters": _own_or_names("body", "reason"),
    "aliases": "contact = ?1 OR alias = ?1",
    "listed_contacts": _OWN,
    "crashes": names_contact("work"),
}
"""Every table of the engine's file with data of contacts, and the condition for a contact's rows.

``?1`` is the number, of digits only. Rows can be deleted in this order.
"""

_ALIASES = "SELECT alias FROM {0}aliases WHERE contact = ?"

IN_LOG = f"{_own_or_names('body')} AND erased_at IS NULL"
"""The condition for a contact's events in the log: its own, and of those without a contact the ones that name it."""


def export_contact(store: StoreAddress, contact: str) -> dict[str, list[dict[str, Any]]]:
    """All rows of a contact by table, the inbox's as ``log``; tables without such rows are left out.

    Times are texts; all other values are as they were in the conversation. Raises `bot.store.files.StoreMissing` and
    `bot.store.files.StoreUnavailable`.
    """
    with closing(engine_reader(store)) as engine, damage_in_words(engine.place):
        numbers = numbers_of(engine, contact)
        found = {table: _rows(engine, table, where, numbers) for table, where in OF_CONTACT.items()}
    with closing(log_reader(store)) as inbox, damage_in_words(inbox.place):
        found["log"] = _rows(inbox, "log", IN_LOG, numbers)
    return {table: [dict(_revived(row)) for row in rows] for table, rows in found.items() if rows}


def export_as_json(store: StoreAddress, contact: str) -> str | None:
    """All data about a contact as JSON: its rows by table, and where its files are; None where nothing is kept.

    Raises as `export_contact` does, and as `bot.store.kept_files.KeptFiles.of`.
    """
    rows, files = export_contact(store, contact), kept_files(store).of(contact)
    if not rows and not files:
        return None
    return readable_json({"contact": contact, **rows, "files": files})


def numbers_of(engine: Database, contact: str) -> list[str]:
    """The numbers of a contact: its own first, then the gateway's other ones, which may be in other shards."""
    all_shards = "" if whole_of(engine.place) == engine.place else "engine."
    return [contact, *(alias for (alias,) in engine.all(_ALIASES.format(all_shards), contact))]


def _rows(database: Database, table: str, where: str, numbers: list[str]) -> list[dict[str, Any]]:
    return [
        row for number in numbers for row in database.records(f"SELECT * FROM {table} WHERE {where} ORDER BY 1", number)
    ]


def _revived(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """A row with the values of columns that hold JSON. A value that cannot be read stays as it is."""
    for column, value in row.items():
        if isinstance(value, bytes):
            value = value.decode("utf-8", "backslashreplace")
        if isinstance(value, str) and value[:1] in ("{", "["):
            try:
                value = values.loads(value)
            except (ValueError, TypeError, KeyError, ArithmeticError, RecursionError):
                pass  # of another version, or not JSON
        yield column, value


_A_DAY = timedelta(days=1)
_REQUESTS = f"""
    SELECT coalesce(sum(attempts), 0) FROM (
        SELECT attempts FROM sent WHERE contact = ?1 AND at > ?2
        UNION ALL SELECT attempts FROM outbox WHERE contact = ?1
        UNION ALL SELECT CAST(body ->> 'attempts' AS BIGINT) FROM dead_letters WHERE what = 'send' AND contact = ?1 AND at > ?2
        UNION ALL SELECT CAST(event ->> 'attempts' AS BIGINT) FROM turns WHERE rule = '{OPERATOR}' AND contact = ?1 AND at > ?2
    ) AS made
"""
_KEPT_OF_NOBODY = {"usage": "UPDATE usage SET contact = '' WHERE contact = ?1"}
_SENDS = "SELECT id FROM outbox WHERE contact = ?"
_CALLS = "SELECT id FROM calls WHERE contact = ?"
_EVENTS = "SELECT id FROM events_out WHERE contact = ?"
_BEGIN = """
    INSERT INTO erasures (contact, upto, asked_at) VALUES (?, ?, ?)
    ON CONFLICT (contact) DO UPDATE SET upto = excluded.upto
"""
_ASK = "INSERT INTO {0}erasures (contact, upto, asked_at) VALUES (?, -1, ?) ON CONFLICT (contact) DO NOTHING"
_HAS_BEGUN = "SELECT 1 FROM erasures WHERE contact = ?"
_ASKED = "SELECT contact FROM erasures WHERE upto < 0 ORDER BY asked_at"
"""The numbers whose erasure an engine of another shard has begun, and whose rows this shard still has to delete."""
ERASING = "SELECT contact, upto FROM erasures ORDER BY asked_at"
_END = "DELETE FROM erasures WHERE contact = ?"


@immutable
class Withdrawn:
    """Rows of an erased contact that some thread may be about to send or call."""

    sends: frozenset[int]
    calls: frozenset[int]
    events: frozenset[int]


class Erasures(Queries):
    """The erasures of contacts that the engine's tables note."""

    def __init__(self, database: Database, files: KeptFiles, *, divided: bool) -> None:
        super().__init__(database)
        self._files = files
        self._divided = divided

    def begin(self, contact: str, upto: int, now: datetime, by: str, turn: int) -> Withdrawn:
        """Delete a contact from the engine's tables, and note ``by`` whom, in the line ``turn`` of the trace. The
        events of the log up to the place ``upto`` are still to be deleted.

        Usage stays: tokens, and requests of the last day, which still count against the limits.

        The first shard that begins asks all others in the same commit to erase each of the contact's numbers (`asked`):
        they may no longer find them, because another number is noted only in its own shard.
        """
        engine, contact = self.database, storable(contact)
        numbers = numbers_of(engine, contact)
        shards = shards_of(whole_of(engine.place))
        with engine.transaction() as execute:
            if len(shards) > 1 and not execute(_HAS_BEGUN, (contact,)).fetchone():
                for shard in shards:  # all engines in the same order, so that none waits for one that waits for it
                    for number in sorted(numbers):
                        execute(_ASK.format(engine_schema(shard)), (number, time_text(now)))
            requests = 0
            rows = ([id for (id,) in execute(sql, (contact,))] for sql in (_SENDS, _CALLS, _EVENTS))
            withdrawn = Withdrawn(*map(frozenset, rows))
            for number in numbers:
                requests += execute(_REQUESTS, (number, time_text(now - _A_DAY))).fetchone()[0]
                for table, where in OF_CONTACT.items():
                    execute(_KEPT_OF_NOBODY.get(table, f"DELETE FROM {table} WHERE {where}"), (number,))
                execute(_BEGIN, (number, upto, time_text(now)))
                execute(f"UPDATE meta SET taking = NULL WHERE {names_contact('taking')}", (number,))
            if requests or _is_own(engine, contact):
                event = json_text({"do": "erase", "attempts": requests, "by": by})
                note = trace_rows.note_row(None, f"operator:{uuid4().hex}", event, OPERATOR, "a contact was erased")
                execute("UPDATE meta SET last_turn = ?", (turn,))
                execute(trace_rows.ADD_TURN, (turn, time_text(now), *note))
        engine.wipe()
        return withdrawn

    def is_under_way(self, contact: str) -> bool:
        """True if a contact was erased, and the log still has to forget it."""
        return self.database.one(_HAS_BEGUN, storable(contact)) is not None

    def numbers_of(self, contact: str) -> list[str]:
        """The numbers of a contact, its own first."""
        return numbers_of(self.database, storable(contact))

    def asked(self) -> list[str]:
        """The numbers that the engine of another shard has begun to erase, and that this one has to erase, too."""
        if not self._divided:
            return []
        return [contact for (contact,) in self.database.all(_ASKED)]

    def finish(self, in_log: Callable[[str, int], bool]) -> bool:
        """End the erasures for which ``in_log`` (contact, up to) finds no event, and of whose files none is left.
        Returns True if some erasures are left. The files of a number are erased by the engine of its shard, which alone
        knows which files are on their way there.
        """
        pending = self.database.all(ERASING)
        begun = [(contact, upto) for contact, upto in pending if upto >= 0]
        gone = [
            contact
            for contact, upto in begun
            if not in_log(contact, upto) and (not _is_own(self.database, contact) or self._files.erase(contact))
        ]
        if gone:
            self.database.write((_END, [(contact,) for contact in sorted(gone)]))
            self.database.wipe()
        return len(gone) < len(pending)


def _is_own(engine: Database, contact: str) -> bool:
    """True if a contact is in the shard of this engine."""
    return shard_of(whole_of(engine.place), contact) == engine.place
