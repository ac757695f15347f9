"""Erasing a contact from both files, each by its own writer, so that it is certain to come to its end.

The engine deletes what its file has and notes there, in the same commit, up to which event of the log the contact is
to be forgotten. The web process, which alone writes the log, looks for such notes and blanks those events: they stay
as rows without number and text, by which a repetition is recognised. Once the engine finds no more of them it deletes
the contact's kept files, and then the note. A crash anywhere in between leaves the note, and so the work.
"""

import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from uuid import uuid4

from bot.store import trace
from bot.store.contact import OF_CONTACT, names, numbers_of
from bot.store.files import contact_files, empty_wal, transaction
from bot.store.rows import OPERATOR, json_of, text_of, time_of

_A_DAY = timedelta(days=1)
_REQUESTS = f"""
    SELECT coalesce(sum(attempts), 0) FROM (
        SELECT attempts FROM sent WHERE contact = ?1 AND at > ?2
        UNION ALL SELECT attempts FROM outbox WHERE contact = ?1
        UNION ALL SELECT body ->> '$.attempts' FROM dead_letters WHERE what = 'send' AND contact = ?1 AND at > ?2
        UNION ALL SELECT event ->> '$.attempts' FROM turns WHERE rule = '{OPERATOR}' AND contact = ?1 AND at > ?2
    )
"""
_KEPT_OF_NOBODY = {"usage": "UPDATE usage SET contact = '' WHERE contact = ?1"}
_SENDS = "SELECT id FROM outbox WHERE contact = ?"
_CALLS = "SELECT id FROM calls WHERE contact = ?"
_BEGIN = """
    INSERT INTO erasures (contact, upto, asked_at) VALUES (?, ?, ?)
    ON CONFLICT (contact) DO UPDATE SET upto = excluded.upto
"""
ERASING = "SELECT contact, upto FROM erasures ORDER BY asked_at"
_END = "DELETE FROM erasures WHERE contact = ?"


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """The rows of an erased contact that somebody may be about to do."""

    sends: frozenset[int]
    calls: frozenset[int]


def begin(engine: sqlite3.Connection, contact: str, upto: int, now: datetime) -> Withdrawn:
    """Delete a contact from the engine's file, and note that the log is to forget it ``upto`` a place.

    What is left is how much was used up: tokens, and requests of the last day, which count against the limits still.
    """
    contact = text_of(contact)
    with transaction(engine):
        requests = 0
        withdrawn = Withdrawn(*(frozenset(id for (id,) in engine.execute(sql, (contact,))) for sql in (_SENDS, _CALLS)))
        for number in numbers_of(engine, contact):
            requests += engine.execute(_REQUESTS, (number, time_of(now - _A_DAY))).fetchone()[0]
            for table, where in OF_CONTACT.items():
                engine.execute(_KEPT_OF_NOBODY.get(table, f"DELETE FROM {table} WHERE {where}"), (number,))
            engine.execute(_BEGIN, (number, upto, time_of(now)))
            engine.execute(f"UPDATE meta SET taking = NULL WHERE {names('taking')}", (number,))
        event = json_of({"do": "erase", "attempts": requests})
        note = trace.note_written(None, f"operator:{uuid4().hex}", event, OPERATOR, "a contact was erased")
        engine.execute(trace.ADD, (time_of(now), *note))
    empty_wal(engine)
    return withdrawn


def finish(engine: sqlite3.Connection, store: Path, in_log: Callable[[str, int], bool]) -> bool:
    """End the erasures of which ``in_log`` (contact, up to) finds nothing more. True when some are left."""
    pending = engine.execute(ERASING).fetchall()
    gone = [contact for contact, upto in pending if not in_log(contact, upto) and _without_files(store, contact)]
    if gone:
        with transaction(engine):
            engine.executemany(_END, [(contact,) for contact in gone])
        empty_wal(engine)
    return len(gone) < len(pending)


def _without_files(store: Path, contact: str) -> bool:
    folder = contact_files(store, contact)
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()
