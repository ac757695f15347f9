"""The inbox: a log of every event that was acknowledged. The web process appends to it, the engine reads it."""

import json
import secrets
import sqlite3
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import field
from datetime import datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import Any

from bot.core.alarms import Alarms
from bot.core.clock import Clock, ExpiryTime
from bot.core.defects import guard
from bot.core.errors import BotError
from bot.core.immutable import immutable, mutable
from bot.core.values import read_time, storable, time_text
from bot.store.contact_data import IN_LOG
from bot.store.database import PendingStatement, StoreAddress, log_schema, shard_number, shards_of
from bot.store.files import StoreUnavailable, reads_rows
from bot.store.opening import log_reader, log_writer

DUPLICATES_REMEMBERED = timedelta(days=7)
_QUIET_SECONDS = 60.0
_PRUNED_AT_ONCE = 500
_ERASED_AT_ONCE = 500
_PROVEN_SECONDS = 2.0  # after an event was kept; a monitor that asks each second then costs little
_PROBE_BODY = bytes(1000)  # the size of a usual event

_APPEND = """
    INSERT INTO {0}log (delivery, event_id, name, contact, received_at, body, readable, message)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
""".rstrip()
_PRUNE = """
    DELETE FROM {0}log WHERE seq IN (
        SELECT seq FROM (SELECT seq, received_at FROM {0}log ORDER BY seq LIMIT ?) AS oldest
        WHERE seq < ? AND received_at < ? AND seq < (SELECT max(seq) FROM {0}log)
    )
"""
_TAKEN = "UPDATE {0}meta SET taken = ?"
_PROBE = """
    INSERT INTO {0}log (delivery, event_id, name, received_at, body, readable) VALUES (?1, ?1, 'probe', ?2, ?3, 1)
"""
_TAKE_PROBE_BACK = "DELETE FROM {0}log WHERE event_id = ?"
_STALE = """
    UPDATE {0}meta SET stale = stale + 1, stale_at = ? WHERE NOT EXISTS (SELECT 1 FROM {0}log WHERE event_id = ?)
"""
_ERASE = """
    UPDATE {0}log SET contact = NULL, message = NULL, body = ?, erased_at = ? WHERE seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))
"""
_AFTER = """
    SELECT seq, event_id, name, contact, received_at, body, readable FROM log
    WHERE seq > ? AND erased_at IS NULL ORDER BY seq LIMIT ?
"""
_HAS = "SELECT 1 FROM log WHERE event_id = ?"
COUNT_AFTER = "SELECT count(*) FROM log WHERE seq > ? AND erased_at IS NULL"
_HAS_AFTER = "SELECT 1 FROM log WHERE seq > ? AND erased_at IS NULL LIMIT 1"
_OF_CONTACT = f"SELECT seq FROM log WHERE {IN_LOG} AND seq <= ?2"
_NEWEST = "SELECT * FROM (SELECT received_at FROM {0}log ORDER BY seq DESC LIMIT 1) AS newest"
_STALE_SO_FAR = "SELECT sum(stale), max(stale_at) FROM meta"  # of all shards
_LAST_SEQ = "SELECT coalesce(max(seq), 0) FROM log"


@immutable
class LogRow:
    """One event as it was acknowledged. ``event_id`` and ``name`` are the envelope's; ``body`` is the raw request."""

    seq: int
    event_id: str
    name: str
    contact: str | None
    received_at: datetime
    body: bytes
    readable: bool


@immutable
class Appended:
    """An event is durable. ``seq`` is its place in the log; None if the log had it already."""

    seq: int | None

    @property
    def duplicate(self) -> bool:
        """True if the log had this event already, by the event's id, the delivery's, or the message's."""
        return self.seq is None


_QUEUE = 1000
_SLOW = "the disk is too slow, or another program holds the file: see what else writes on this machine"
_SLOW_DATABASE = "the database is too slow, or a session holds a lock in it: the alarm store-locked names that session"


class InboxBusy(BotError):
    """The inbox could not commit in time. The event may still be stored: the sender tries again, which does no harm.

    ``advice`` is for the operator.
    """

    def __init__(self, what: str, advice: str) -> None:
        super().__init__(what)
        self.advice = advice


class InboxRefused(BotError):
    """The database cannot store this value. Other events are not affected."""


def append_statement(shard: StoreAddress) -> str:
    """The statement that appends an event to a shard's log, if it is not there."""
    return _APPEND.format(log_schema(shard))


class _LogStatements:
    """The statements for a shard's log."""

    def __init__(self, shard: StoreAddress) -> None:
        schema = log_schema(shard)
        self.append, self.probe, self.take_probe_back, self.stale, self.taken, self.prune, self.erase = (
            sql.format(schema) for sql in (_APPEND, _PROBE, _TAKE_PROBE_BACK, _STALE, _TAKEN, _PRUNE, _ERASE)
        )


@mutable
class _Group:
    """The writes of one commit, and the callbacks for its end."""

    writes: list[PendingStatement] = field(default_factory=list)
    since: float = 0.0  # when the first write came
    when_ended: list[Callable[[], None]] = field(default_factory=list)
    ended: bool = False
    trouble: tuple[str, str] | None = None  # why nothing of it was committed, and advice


class InboxWriter:
    """The inbox's only writer: a thread that commits the writes of all other threads together, into the logs of all
    shards of a store.

    ``patience`` is how many seconds a caller waits for its commit. ``wake`` is called after each commit with new
    events, from the writer's thread, with the numbers of the shards that have them; None: no engine is here, and the
    database wakes those of other machines. While commits fail, ``alarms`` has the alarm ``inbox-unavailable``: see
    `end_alarm`. Raises `bot.store.files.StoreLocked` and `bot.store.files.StoreMissing`; its methods raise `InboxBusy`.

    `append` keeps an `event` and waits for the commit. An event loop hands several events over (`hand_over`), and reads
    the result of each (`appended`) when their commit has ended.
    """

    def __init__(
        self,
        address: StoreAddress,
        clock: Clock,
        alarms: Alarms | None = None,
        *,
        patience: float = 2.0,
        wake: Callable[[Collection[int]], None] | None = None,
    ) -> None:
        self.patience = patience
        self.database = log_writer(address)
        logs = [_LogStatements(shard) for shard in shards_of(address)]
        self._logs = logs
        self._slow = _SLOW if isinstance(address, Path) else _SLOW_DATABASE
        self._wake = wake
        self._alarms = alarms or Alarms(clock)
        self._failed_at: float | None = None  # the last commit that failed during the alarm
        self._kept_at: float | None = None  # the last event or probe, unless a commit has failed since
        self._clock = clock
        self._expiry = ExpiryTime(clock)
        self._changed = threading.Condition()
        self._gathering = _Group()
        self._committing_since: float | None = None
        self._closing = False
        self._thread = threading.Thread(target=guard(self._run), name="inbox", daemon=True)
        self._thread.start()

    def event(
        self,
        delivery: str | None,
        event_id: str,
        name: str,
        contact: str | None,
        received_at: datetime,
        body: bytes,
        readable: bool,
        message: str | None = None,
    ) -> PendingStatement:
        """The statement that appends an event. ``message``: what all events of the same message have in common."""
        shard = self.shard_of(contact)
        row = delivery, event_id, name, contact, time_text(received_at), body, int(readable), message
        return PendingStatement(self._logs[shard].append, row, shard=shard)

    def stale_event(self, event_id: str, contact: str | None) -> PendingStatement:
        """The statement that counts a correctly signed event that was rejected for its timestamp, if it is new."""
        shard = self.shard_of(contact)
        return PendingStatement(self._logs[shard].stale, (time_text(self._clock.now()), event_id), shard=shard)

    def shard_of(self, contact: str | None) -> int:
        """The number of the shard that has a contact's events."""
        return shard_number(contact, len(self._logs)) if len(self._logs) > 1 else 0

    def append(self, event: PendingStatement) -> Appended:
        """Append an `event`. When this returns, it is durable.

        Raises `InboxBusy` if it did not become durable in time (at once if waiting is useless), and `InboxRefused` if
        a value cannot be stored at all.
        """
        self.commit(event)
        return self.appended(event)

    def appended(self, event: PendingStatement) -> Appended:
        """The result of a handed-over `event`. Raises as `append`, and `InboxBusy` before its commit has ended."""
        self._require_commit(event)
        return Appended(event.row if event.rows_changed else None)

    def is_lost(self, write: PendingStatement) -> bool:
        """True if a `stale_event` was new: then it may be lost. Raises `InboxBusy`."""
        self._require_commit(write)
        return write.rows_changed > 0

    def check(self) -> None:
        """Find out whether an event can be kept: append one and take it back, in one commit. Raises `InboxBusy`.

        Where pages are full, a smaller write can succeed while events are refused. Nothing is written if an event was
        kept in the last `_PROVEN_SECONDS` and none has failed since.
        """
        kept_at = self._kept_at
        if kept_at is not None and self._clock.elapsed() - kept_at < _PROVEN_SECONDS:
            return
        log, id, now = self._logs[0], f"probe:{secrets.token_hex(16)}", time_text(self._clock.now())
        writes = PendingStatement(log.probe, (id, now, _PROBE_BODY)), PendingStatement(log.take_probe_back, (id,))
        self._commit(*writes)
        for write in writes:
            self._require_commit(write)

    def prune(self, below_seq: int, older_than: timedelta = DUPLICATES_REMEMBERED, shard: int = 0) -> int:
        """Delete events of a shard that its engine has taken (``below_seq``: its cursor) and that can have no duplicate
        any more.

        The event at the cursor stays, and so does the newest, so that no number is given twice. The cursor is written
        first: see `bot.store.integrity.check_pair`. Rows are deleted in small pieces; events are appended in between.
        Returns the number of deleted rows. Raises `InboxBusy`.
        """
        log = self._logs[shard]
        self._execute(log.taken, (below_seq,), shard=shard)
        before = time_text(self._expiry.now() - older_than)
        deleted = 0
        while True:
            piece = self._execute(log.prune, (_PRUNED_AT_ONCE, below_seq, before), shard=shard).rows_changed
            deleted += piece
            if piece < _PRUNED_AT_ONCE:
                return deleted

    def erase(self, seqs: Sequence[int], shard: int = 0) -> None:
        """Delete the contacts and bodies of these events of a shard. Their ids stay. Raises `InboxBusy`."""
        for start in range(0, len(seqs), _ERASED_AT_ONCE):
            piece = json.dumps(seqs[start : start + _ERASED_AT_ONCE])
            self._execute(self._logs[shard].erase, (b"", time_text(self._clock.now()), piece), erases=True, shard=shard)

    def end_alarm(self) -> None:
        """End the alarm if no commit has failed for a minute, and one that is tried now succeeds. Raises `InboxBusy`.

        On a full disk small commits still succeed for a while, and large ones fail. That is one alarm, not hundreds.
        """
        failed = self._failed_at
        if failed is not None and self._clock.elapsed() - failed >= _QUIET_SECONDS:
            self.check()
            self._failed_at = None
            self._alarms.clear("inbox-unavailable")

    def close(self) -> None:
        """Commit what was accepted, reject later writes, and release the file. It may be called twice."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()
        self.database.close()

    # The commits

    def commit(self, write: PendingStatement) -> None:
        """Hand a statement over, and wait for its commit, but not longer than ``patience``."""
        self._commit(write)

    def _commit(self, *writes: PendingStatement) -> None:
        ended = threading.Event()
        self.hand_over(writes, ended.set)
        ended.wait(self.patience)

    def hand_over(self, writes: Sequence[PendingStatement], when_ended: Callable[[], None]) -> None:
        """Execute statements in the next commit, then call ``when_ended``. It is called at once if no commit can
        succeed.
        """
        with self._changed:
            trouble = self._hopeless(len(writes))
            group = self._gathering if trouble is None else _Group()
            if not group.writes:
                group.since = monotonic()
            for write in writes:
                write.group = group
            if trouble is None:
                group.writes += writes
                group.when_ended.append(when_ended)
                self._changed.notify()
                return
            group.trouble, group.ended = (trouble, self._slow), True
        when_ended()

    def _execute(
        self, sql: str, parameters: tuple[Any, ...], *, erases: bool = False, shard: int = 0
    ) -> PendingStatement:
        write = PendingStatement(sql, parameters, erases, shard)
        self.commit(write)
        self._require_commit(write)
        return write

    def _require_commit(self, write: PendingStatement) -> None:
        """Raise `InboxBusy` unless a statement was committed, and `InboxRefused` if its values cannot be stored."""
        group: _Group | None = write.group
        if group is None or not group.ended:
            raise self._busy(f"{self.database.place} did not commit within {self.patience:g} s", self._slow)
        if group.trouble is not None:
            raise self._busy(*group.trouble)
        if write.error is not None:
            raise InboxRefused(f"the event cannot be kept: {type(write.error).__name__}") from write.error

    def _busy(self, what: str, advice: str) -> InboxBusy:
        self._alarms.report("inbox-unavailable", f"no event is accepted: {what}", advice)
        self._failed_at, self._kept_at = self._clock.elapsed(), None
        return InboxBusy(what, advice)

    def _hopeless(self, more: int) -> str | None:
        """Why waiting for a commit is useless; None if it is not."""
        since = self._committing_since
        if self._closing:
            return f"{self.database.place} is being closed"
        if since is not None and monotonic() - since >= self.patience:
            return f"{self.database.place} has not finished a commit for {self.patience:g} s"
        if len(self._gathering.writes) + more > _QUEUE:
            return f"{self.database.place} has {_QUEUE} events waiting for their commit"
        return None

    # On the writer's thread

    def _run(self) -> None:
        while (group := self._next_group()) is not None:
            try:
                self.database.write_each(group.writes)
            except StoreUnavailable as error:
                group.trouble = error.what, error.advice
            except (sqlite3.Error, MemoryError) as error:
                group.trouble = str(error), self._slow
            with self._changed:
                self._committing_since = None
            done = [] if group.trouble else [write for write in group.writes if write.rows_changed]
            grown = {write.shard for write in done if write.sql is self._logs[write.shard].append}
            if group.trouble:
                self._kept_at = None
            elif grown or any(write.sql is self._logs[0].probe for write in done):
                self._kept_at = self._clock.elapsed()
            group.ended = True
            if grown and self._wake is not None:
                self._wake(grown)
            for when_ended in group.when_ended:
                when_ended()
            if grown and self._wake is None:
                self.database.wake(grown)
            if any(write.erases for write in group.writes):
                self.database.wipe()

    def _next_group(self) -> _Group | None:
        with self._changed:
            self._changed.wait_for(lambda: self._gathering.writes or self._closing)
            if not self._gathering.writes:
                return None
            group, self._gathering = self._gathering, _Group()
            self._committing_since = group.since
            return group


class InboxReader:
    """Reads the log of a store, from any thread, whether a writer runs or not. Each shard has a log of its own: places
    in it are asked of the reader of that shard.

    Raises `bot.store.files.StoreMissing`; its methods raise `bot.store.files.StoreUnavailable`.
    """

    def __init__(self, address: StoreAddress) -> None:
        self.database = log_reader(address)
        newest = " UNION ALL ".join(_NEWEST.format(log_schema(shard)) for shard in shards_of(address))
        self._last_received = f"SELECT max(received_at) FROM ({newest}) AS of_shards"

    @reads_rows
    def after(self, seq: int, limit: int) -> list[LogRow]:
        """The next events after a place in the log, in order."""
        return [
            LogRow(seq, event_id, name, contact, datetime.fromisoformat(received_at), body, bool(readable))
            for seq, event_id, name, contact, received_at, body, readable in self.database.all(_AFTER, seq, limit)
        ]

    def has(self, event_id: str) -> bool:
        """True if the log has an event. If it has, the same event is a repetition."""
        return self.database.one(_HAS, event_id) is not None

    def has_after(self, seq: int) -> bool:
        """True if there are events after a place in the log."""
        return self.database.one(_HAS_AFTER, seq) is not None

    def count_after(self, seq: int) -> int:
        """How many events there are after a place in the log."""
        return int(self.database.one(COUNT_AFTER, seq)[0])

    def of_contact(self, contact: str, upto: int) -> list[int]:
        """The places of a contact's events, up to a place. It reads the whole log."""
        return [seq for (seq,) in self.database.all(_OF_CONTACT, storable(contact), upto)]

    def has_of(self, contact: str, upto: int) -> bool:
        """True if there are such events."""
        return self.database.one(_OF_CONTACT, storable(contact), upto) is not None

    @reads_rows
    def last_received(self) -> datetime | None:
        """When the newest event in the log came."""
        return read_time(self.database.one(self._last_received)[0])

    @reads_rows
    def stale(self) -> tuple[int, datetime | None]:
        """How many correctly signed new events were rejected for their timestamps so far, and when the last one was."""
        count, at = self.database.one(_STALE_SO_FAR)
        return int(count), read_time(at)

    def last_seq(self) -> int:
        """The place of the newest event. Pruning does not lower it, as it leaves the event at the engine's cursor."""
        return int(self.database.one(_LAST_SEQ)[0])

    def close(self) -> None:
        """Close the file."""
        self.database.close()
