"""Reads a store for commands and for the web process, also while a server runs; it never writes."""

from datetime import datetime

from bot.core.values import storable, time_text
from bot.store import count_rows
from bot.store.call_rows import EventReader
from bot.store.contact_data import ERASING
from bot.store.count_rows import ResultCount, UsageReader
from bot.store.database import StoreAddress, engine_schema, shards_of
from bot.store.dead_letter_rows import DeadLetterReader
from bot.store.files import reads_rows
from bot.store.message_rows import MessageReader
from bot.store.opening import engine_reader
from bot.store.session_rows import SessionReader
from bot.store.stored_broadcasts import BroadcastReader
from bot.store.trace_rows import TraceReader

_IS_KEPT = """
    SELECT EXISTS (SELECT 1 FROM sessions WHERE contact = ?1) OR EXISTS (SELECT 1 FROM turns WHERE contact = ?1)
        OR EXISTS (SELECT 1 FROM recipients WHERE contact = ?1) OR EXISTS (SELECT 1 FROM dead_letters WHERE contact = ?1)
        OR EXISTS (SELECT 1 FROM messages WHERE contact = ?1)
"""
_CURSOR = "SELECT cursor FROM meta"
_CLEAN = "SELECT clean FROM meta"


class StoreReader:
    """Reads the engine's tables of a store, with a part for each subject. Any thread may use it.

    Raises `bot.store.files.StoreMissing` and `bot.store.files.StoreOutdated`; this and its methods raise
    `bot.store.files.StoreUnavailable`.
    """

    def __init__(self, address: StoreAddress) -> None:
        self.database = database = engine_reader(address)
        self._schemas = schemas = [engine_schema(shard) for shard in shards_of(address)]
        self.sessions = SessionReader(database)
        self.messages = MessageReader(database, schemas)
        self.events = EventReader(database)
        self.dead_letters = DeadLetterReader(database)
        self.broadcasts = BroadcastReader(database, schemas)
        self.trace = TraceReader(database, self.messages.statuses_made_at)
        self.usage = UsageReader(database)

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def cursor(self) -> int:
        """The place in the log up to which events have been taken. Earlier events may be pruned from the inbox. Only
        the reader of one shard can tell it, because each shard has a log of its own.
        """
        assert len(self._schemas) == 1
        return int(self.database.one(_CURSOR)[0])

    def ended_clean(self) -> bool:
        """True if the last run of each engine ended properly; True if there was none, False while one runs."""
        return bool(self.database.one(_CLEAN)[0])

    def commits(self) -> int:
        """A number that changes with each commit of the engine."""
        return self.database.version()

    def counts(self) -> dict[str, int]:
        """How many sessions and dead letters there are, and how many rows in each queue, by table."""
        return dict(self.database.all(count_rows.COUNTS))

    def queue_counts(self) -> dict[str, int]:
        """How many rows each queue has, by table. Sessions and dead letters would take longer to count."""
        return dict(self.database.all(count_rows.QUEUE_COUNTS))

    @reads_rows
    def oldest(self) -> dict[str, datetime]:
        """Since when the oldest row of each queue waits; no entry for an empty queue."""
        rows = [row for schema in self._schemas for row in self.database.all(count_rows.OLDEST.format(schema))]
        waits = [(queue, datetime.fromisoformat(at)) for queue, at in rows if at is not None]
        return {queue: min(at for of, at in waits if of == queue) for queue, _ in waits}

    def keeps(self, contact: str) -> bool:
        """True if anything of a contact is kept, who may have no session."""
        return bool(self.database.one(_IS_KEPT, storable(contact))[0])

    def erasures(self) -> list[tuple[str, int]]:
        """The contacts that are being erased, and the place in each one's log up to which events must be deleted."""
        return [(contact, upto) for contact, upto in self.database.all(ERASING)]

    def results(self, since: datetime) -> list[ResultCount]:
        """The counts of the steps of flows since the day (UTC) of a time, the days of each count in order."""
        return [ResultCount(*row) for row in self.database.all(count_rows.RESULTS, time_text(since)[:10])]
