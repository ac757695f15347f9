"""The engine's tables: sessions, queues and the trace. One thread uses them, and no other process writes them.

`StoreShards` knows which shard of a divided store has a contact or a message. `RowIds` gives ids that no other shard
gives.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import count
from typing import Any, Literal

from bot.core.values import json_text, read_time, storable, time_text
from bot.store import count_rows
from bot.store.call_rows import ParkedEvents, StoredCalls, StoredEvents
from bot.store.commit import Commit
from bot.store.contact_data import Erasures, Withdrawn
from bot.store.crash_quarantine import EngineRuns
from bot.store.database import Database, PostgresAddress, Queries, StoreAddress, shard_number
from bot.store.dead_letter_rows import StoredDeadLetters
from bot.store.inbox import append_statement
from bot.store.kept_files import KeptFiles, kept_files
from bot.store.message_rows import StoredMessages
from bot.store.opening import engine_writer
from bot.store.session_rows import StoredContactList, StoredSessions
from bot.store.stored_broadcasts import STATEMENTS, StoredBroadcasts
from bot.store.trace_rows import ADD_TURN, GATEWAY_COMMAND, OPERATOR

KEPT = {
    "turns": timedelta(days=7),
    "messages": timedelta(days=7),
    "statuses": timedelta(days=7),
    "dead_letters": timedelta(days=90),
    "usage": timedelta(days=400),
}
"""How long finished rows are kept, by table."""

RESULTS_DAYS = 400
_PRUNED_AT_ONCE = 500

_META = "SELECT store_id, cursor, written_at, set_back FROM meta"
_EARLIER = "strftime('%Y-%m-%dT%H:%M:%f', {0}, ?2) || '000+00:00'"
_SHIFTED = f"UPDATE {{0}} SET {{1}} = {_EARLIER.format('{1}')} WHERE {{1}} > ?1"
_WAKE_SET_BACK = "UPDATE sessions SET wake_at = ?2 WHERE updated_at > ?1 AND (wake_at IS NULL OR wake_at > ?1)"
_SET_BACK = (
    f"UPDATE messages SET expires_at = {_EARLIER.format('expires_at')} WHERE created_at > ?1 AND outcome IS NULL",
    f"{_SHIFTED.format('messages', 'created_at')} AND outcome IS NULL",
    f"{_SHIFTED.format('messages', 'due_at')} AND outcome IS NULL",
    _SHIFTED.format("calls", "created_at"),
    _SHIFTED.format("calls", "due_at"),
    _SHIFTED.format("events_out", "created_at"),
    _SHIFTED.format("events_out", "due_at"),
    _SHIFTED.format("messages", "at"),
    _SHIFTED.format("dead_letters", "at"),
    f"{_SHIFTED.format('turns', 'at')} AND contact IS NULL AND rule = '{GATEWAY_COMMAND}'",
)
_NOTE_SET_BACK = "UPDATE meta SET written_at = ?, set_back = set_back + 1"
_WAIT_BRIEFLY = "SELECT set_config('lock_timeout', '2s', true)"
_PRUNE = "DELETE FROM {0} WHERE id IN (SELECT id FROM (SELECT id, at FROM {0} WHERE at IS NOT NULL ORDER BY id LIMIT ?) AS oldest WHERE at < ?)"

_ALIAS_IS_KNOWN = """
    SELECT 1 FROM {0}.aliases WHERE alias = ?1 AND contact = ?2 UNION ALL SELECT 1 FROM {0}.sessions WHERE contact = ?1
"""
_SENT_IN = "SELECT message_id, {1} FROM {0}.message_ids WHERE message_id IN (SELECT value FROM json_each(?1))"
_LAST_IDS = "SELECT last_send, last_call, last_turn FROM meta"

IdTable = Literal["messages", "calls", "turns"]
"""The tables whose rows get their ids from the engine, and not from the database: it needs them before the commit."""

_OF_BROADCASTS = frozenset(STATEMENTS)
_OF_EFFECTS: tuple[IdTable, ...] = ("messages", "calls")
_DRAWN_AT_ONCE = 64
_DRAW_IDS = "SELECT nextval('bot.{0}_id') FROM generate_series(1, ?)"


class EngineStore:
    """The engine's tables, with a part for each subject. `close` releases the lock, and does not end the run: see
    `bot.store.crash_quarantine.EngineRuns.end`. Raises `bot.store.files.StoreLocked` and
    `bot.store.files.StoreMissing`.

    ``cursor`` is the place in the log up to which events have been taken. ``set_back`` counts how often the clock was
    found to be set back. ``results_days`` is how long results are kept, ``files`` has the contacts' files. Every method
    raises `bot.store.files.StoreUnavailable` for a full or failing disk, and has then changed nothing.
    """

    def __init__(self, address: StoreAddress, results_days: int = RESULTS_DAYS, files: KeptFiles | None = None) -> None:
        self.address = address
        self._results_kept = timedelta(days=results_days)
        files = files or kept_files(address)
        self.database = database = engine_writer(address)
        try:
            meta = database.one(_META)
            self.store_id: str = meta[0]
            self.cursor: int = meta[1]
            self.set_back: int = meta[3]
            self.shards = StoreShards(address, database)
            divided = bool(self.shards.addresses)
            self.ids = RowIds(database, divided=divided)
            self.runs = EngineRuns(database)
            self.sessions = StoredSessions(database)
            self.parked = ParkedEvents(database)
            self.messages = StoredMessages(database)
            self.calls = StoredCalls(database)
            self.events = StoredEvents(database)
            self.dead_letters = StoredDeadLetters(database)
            self.broadcasts = StoredBroadcasts(database, divided=divided)
            self.contact_list = StoredContactList(database)
            self.erasures = Erasures(database, files, divided=divided)
        except BaseException:
            database.close()
            raise

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def write(self, commit: Commit) -> bool:
        """Write a commit, in full or not at all. Returns False if there was nothing in it."""
        statements = commit.statements(self.sessions.latest, self.ids.new("turns"))
        if not statements:
            return False
        self.database.write(*statements.items(), *(self._appends(commit) if commit.forwarded else ()))
        self.cursor = commit.cursor
        if commit.messages.added:
            self.ids.last["messages"] = commit.messages.added[-1].id
        if commit.calls.added:
            self.ids.last["calls"] = commit.calls.added[-1].id
        if ADD_TURN in statements:
            self.ids.last["turns"] = statements[ADD_TURN][-1][0]
        if commit.sessions.written:
            self.sessions.committed(commit.sessions)
        if commit.messages.failed_early or self.messages.failed_early:
            self.messages.committed(commit.messages)
        self.events.may_wait = self.events.may_wait or commit.events.some_added
        if not _OF_BROADCASTS.isdisjoint(statements):
            self.broadcasts.forget()
        if commit.forwarded:
            self.database.wake(commit.forwarded)
        return True

    def _appends(self, commit: Commit) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
        """The statements that append forwarded events to the logs of other shards, each under the log's lock.

        They are the last of the commit, because others wait for the locks. They give up soon themselves: while they
        wait, this connection could not end the session of a paused machine that has such a lock.
        """
        from bot.store import postgres_database  # psycopg is there only where it was asked for

        yield _WAIT_BRIEFLY, [()]
        for shard, rows in sorted(commit.forwarded.items()):
            yield postgres_database.in_order(shard), [()]
            yield append_statement(self.shards.addresses[shard]), rows

    def _forget(self) -> None:
        """Forget what is remembered, because rows were changed otherwise than by a commit."""
        self.sessions.forget()
        self.broadcasts.forget()

    def prune(self, now: datetime) -> bool:
        """Delete some rows that were kept long enough. Returns whether there may be more."""
        with self.database.transaction() as execute:
            deleted = [
                execute(_PRUNE.format(table), (_PRUNED_AT_ONCE, time_text(now - kept))).rowcount
                for table, kept in KEPT.items()
            ]
            execute(count_rows.FORGET_RESULTS, (time_text(now - self._results_kept)[:10],))
        return _PRUNED_AT_ONCE in deleted

    def erase(self, contact: str, upto: int, now: datetime, by: str = OPERATOR) -> Withdrawn:
        """Delete a contact, and note ``by`` whom. The events of the log up to the place ``upto`` are deleted later: see
        `bot.store.contact_data.Erasures`.
        """
        self._forget()
        note = next(self.ids.new("turns"))
        withdrawn = self.erasures.begin(contact, upto, now, by, note)
        self.ids.last["turns"] = note
        return withdrawn

    def written_at(self) -> datetime | None:
        """The time of the last commit."""
        return read_time(self.database.one(_META)[2])

    def clock_set_back(self, now: datetime, by: timedelta) -> None:
        """Move times that are ahead of now to now, after the clock was set back by ``by``.

        Every session that was written after now is woken, so that it computes its waits again. It does so at a time
        before all times that it then sets to now, because a wake-up and its messages get their ids from the time. Rows
        that wait keep their age and the rest of their wait. Sent messages keep their age, on which the gateway's limits
        depend.
        """
        earlier = time_text(now), f"-{by.total_seconds():.6f} seconds"
        statements = [(sql, [earlier]) for sql in _SET_BACK]
        woken = time_text(now), time_text(now - timedelta(milliseconds=1))
        self.database.write((_WAKE_SET_BACK, [woken]), *statements, (_NOTE_SET_BACK, [(time_text(now),)]))
        self._forget()
        self.set_back += 1


class StoreShards(Queries):
    """The shards of a store that is divided, as the engine of one of them sees them.

    ``this`` is the number of its shard, ``others`` are the numbers of all others. ``addresses`` has the addresses of
    all shards, by number. If the store is not divided, ``others`` and ``addresses`` are empty.
    """

    def __init__(self, address: StoreAddress, database: Database) -> None:
        super().__init__(database)
        self.this = 0
        self.addresses: tuple[PostgresAddress, ...] = ()
        if isinstance(address, PostgresAddress) and address.shard is not None:
            self.this = address.shard
            self.addresses = address.whole().divided()
        self.others = tuple(number for number in range(len(self.addresses)) if number != self.this)

    def elsewhere(self, contact: str) -> int | None:
        """The number of the shard that has a contact; None if this shard has it."""
        if not self.addresses:
            return None
        shard = shard_number(contact, len(self.addresses))
        return None if shard == self.this else shard

    def of_messages(self, message_ids: Iterable[str]) -> dict[str, int]:
        """The shard that sent each of these messages, by the gateway's id. Messages that no shard sent are missing; all
        are if the store is not divided.
        """
        if not self.addresses:
            return {}
        shards = (_SENT_IN.format(shard.schema("engine"), shard.shard) for shard in self.addresses)
        return dict(self.database.all(" UNION ALL ".join(shards), json_text([*map(storable, message_ids)])))

    def knows_alias(self, shard: int, alias: str, contact: str) -> bool:
        """True if another shard knows whose alias a number is, or takes it for a contact's own number."""
        sql = _ALIAS_IS_KNOWN.format(self.addresses[shard].schema("engine"))
        return self.database.one(sql, storable(alias), storable(contact)) is not None


class RowIds(Queries):
    """The ids of new messages, calls and turns. ``last`` are the last ones that were written, 0 where there was none
    yet. If the store is ``divided``, the database gives them, so that no two shards give the same one.
    """

    def __init__(self, database: Database, *, divided: bool) -> None:
        super().__init__(database)
        self.divided = divided
        self._drawn = defaultdict[IdTable, deque[int]](deque)  # ids that no other shard gets, and that are to be given
        messages, calls, turns = database.one(_LAST_IDS)
        self.last: dict[IdTable, int] = {"messages": messages, "calls": calls, "turns": turns}

    def new(self, table: IdTable) -> Iterator[int]:
        """Ids for new rows, ascending. A batch need not use all ids that it draws."""
        return self._give(table) if self.divided else count(self.last[table] + 1)

    def draw(self, least: int) -> None:
        """Get so many ids for new messages and calls, so that `new` does not ask the database, which may fail. The
        store is divided.
        """
        for table in _OF_EFFECTS:
            self._draw_up_to(table, least)

    def _give(self, table: IdTable) -> Iterator[int]:
        """Ids that no other shard gets."""
        while True:
            self._draw_up_to(table, 1)
            yield self._drawn[table].popleft()

    def _draw_up_to(self, table: IdTable, least: int) -> None:
        drawn = self._drawn[table]
        if len(drawn) < least:
            drawn.extend(id for (id,) in self.database.all(_DRAW_IDS.format(table), max(least, _DRAWN_AT_ONCE)))

    def drop_drawn(self) -> None:
        """Drop the ids that were drawn, so that the next ones are later than those that other shards have given.
        Readers of the whole store sort by ids.
        """
        for drawn in self._drawn.values():
            drawn.clear()
