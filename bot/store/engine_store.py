"""The engine's file: sessions, queues and the trace. One thread uses it, and no other process writes it."""

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime, timedelta
from itertools import count, islice
from typing import Any, Literal

from bot.core import values
from bot.core.events import ContactChanged, MessageReceived, Tapped
from bot.core.session import Session
from bot.core.values import json_text, read_time, storable, time_text
from bot.store import broadcast_rows, contact_data, crash_quarantine, engine_tables
from bot.store.commit import OF_BROADCASTS, Commit
from bot.store.contact_data import Withdrawn, numbers_of
from bot.store.database import PostgresAddress, StoreAddress, shard_number
from bot.store.files import reads_rows
from bot.store.inbox import append_statement
from bot.store.kept_files import KeptFiles, kept_files
from bot.store.opening import engine_writer
from bot.store.rows import CallRow, DueRow, EventRow, MessageStatus, OutboxRow, ParkedRow, SentRow
from bot.store.store_reader import EngineRows
from bot.store.trace_rows import GATEWAY_COMMAND, OPERATOR

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
_RECENT = 2000
_NO_WAKE = ("~", "")  # behind every time
_RECENT_CHARACTERS = 4000

_CLEAN = "SELECT clean FROM meta"
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
_SENT = """
    SELECT sent.id, ref, key, contact, effect, priority, message_ids FROM message_ids JOIN sent ON sent.id = sent_id
    WHERE message_id = ?
"""
_STATUS = "SELECT status, detail FROM statuses WHERE message_id = ?"
_FAILED_EARLY = """
    SELECT message_id FROM statuses INDEXED BY statuses_failed
    WHERE status = 'failed' AND NOT EXISTS (SELECT 1 FROM message_ids WHERE message_ids.message_id = statuses.message_id)
"""
_OF_ALIASES = "SELECT alias, contact FROM aliases WHERE alias IN (SELECT value FROM json_each(?))"
_ALIAS_IS_KNOWN = """
    SELECT 1 FROM {0}.aliases WHERE alias = ?1 AND contact = ?2 UNION ALL SELECT 1 FROM {0}.sessions WHERE contact = ?1
"""
_IS_BEING_ERASED = "SELECT 1 FROM erasures WHERE contact = ?"
_SENT_IN = "SELECT message_id, {1} FROM {0}.message_ids WHERE message_id IN (SELECT value FROM json_each(?1))"
_WAIT_BRIEFLY = "SELECT set_config('lock_timeout', '2s', true)"
_EARLY = """
    SELECT message_id FROM statuses
    WHERE at > ? AND NOT EXISTS (SELECT 1 FROM message_ids WHERE message_ids.message_id = statuses.message_id)
"""
_LAST_IDS = "SELECT last_send, last_call, last_turn FROM meta"
_PRUNE = "DELETE FROM {0} WHERE id IN (SELECT id FROM (SELECT id, at FROM {0} WHERE at IS NOT NULL ORDER BY id LIMIT ?) AS oldest WHERE at < ?)"


IdTable = Literal["messages", "calls", "turns"]
"""The tables whose rows get their ids from the engine, and not from the database: it needs them before the commit."""

_OF_EFFECTS: tuple[IdTable, ...] = ("messages", "calls")
_DRAWN_AT_ONCE = 64
_DRAW_IDS = "SELECT nextval('bot.{0}_id') FROM generate_series(1, ?)"


class EngineStore(EngineRows):
    """The engine's file. Raises `bot.store.files.StoreLocked` and `bot.store.files.StoreMissing`. To close it releases
    its lock, and does not end the run: see `end_run`.

    ``shard`` is its number, ``other_shards`` are those of all others, none if the store is not divided. ``set_back``
    counts how often the clock was found to be set back. ``failed_early`` are ids of the gateway's: these messages
    failed before the bot knew that they are its own. ``results_days`` is how long results are kept, ``files`` has the
    contacts' files. Every method raises `bot.store.files.StoreUnavailable` for a full or failing disk, and has then
    changed nothing.
    """

    def __init__(self, address: StoreAddress, results_days: int = RESULTS_DAYS, files: KeptFiles | None = None) -> None:
        self.address = address
        self._files = files or kept_files(address)
        self._results_kept = timedelta(days=results_days)
        self._drawn = defaultdict[IdTable, deque[int]](deque)  # ids that no other shard gets, and that are to be given
        self._shards: tuple[PostgresAddress, ...] = ()  # of a store that is divided
        self.shard = 0
        if isinstance(address, PostgresAddress) and address.shard is not None:
            self._shards = address.whole().divided()
            self.shard = address.shard
        self.other_shards = tuple(number for number in range(len(self._shards)) if number != self.shard)
        self._recent: dict[str, Session] = {}  # the sessions that were written last, which need not be read
        self._first_wake: tuple[str, str] | None = None  # the next time of all sessions, and whose it is; None: ask
        self._some_wait: bool | None = None  # as of `broadcasts_wait`; None if that is to be asked
        self._done: list[str] | None = None  # as of `done_broadcasts`; None if that is to be asked
        self._first_due: tuple[str, ...] | None = None  # as of `next_broadcast`; None if that is to be asked
        self.database = engine_writer(address)
        try:
            meta = self.database.one(_META)
            self.store_id: str = meta[0]
            self._cursor: int = meta[1]
            self.set_back: int = meta[3]
            sends, calls, turns = self.database.one(_LAST_IDS)
            self._last_ids: dict[IdTable, int] = {"messages": sends, "calls": calls, "turns": turns}
            self._has_events = bool(self.database.one(engine_tables.SOME_EVENT)[0])  # as far as is known
            self.failed_early = {name for (name,) in self.database.all(_FAILED_EARLY)}
        except BaseException:
            self.database.close()
            raise

    # How a run begins and ends

    def begin_run(self) -> crash_quarantine.EngineRun:
        """Note that a run begins (`bot.store.crash_quarantine`). After a crash, messages in the outbox may have been
        tried.
        """
        with self.database.transaction() as execute:
            ((ended_clean,),) = execute(_CLEAN).fetchall()
            if not ended_clean:
                execute(engine_tables.MAY_BE_REPEATED)
            return crash_quarantine.begin_run(execute)

    def mark_taking(self, event_id: str) -> None:
        """Note durably that an event is about to be taken. The next commit deletes the note."""
        self.database.write((crash_quarantine.TAKING, [(storable(event_id),)]))

    def caught_up(self) -> None:
        """All that may have crashed the runs before has been taken: their crashes do not count any more."""
        self.database.write(*((sql, [()]) for sql in crash_quarantine.CAUGHT_UP))

    def end_run(self) -> None:
        """Note that the run ended properly."""
        self.database.write(*((sql, [()]) for sql in crash_quarantine.ENDED))

    # The clock

    def written_at(self) -> datetime | None:
        """The time of the last commit."""
        return read_time(self.database.one(_META)[2])

    def clock_set_back(self, now: datetime, by: timedelta) -> None:
        """The clock was set back by ``by``: move times that are ahead of now to now.

        Every session that was written after now is woken, so that it computes its waits again. It does so at a time
        before all times that it then sets to now, because a wake-up and its messages get their ids from the time.
        Rows that wait keep their age and the rest of their wait. Sent messages keep their age, on which the gateway's
        limits depend.
        """
        earlier = time_text(now), f"-{by.total_seconds():.6f} seconds"
        statements = [(sql, [earlier]) for sql in _SET_BACK]
        woken = time_text(now), time_text(now - timedelta(milliseconds=1))
        self.database.write((_WAKE_SET_BACK, [woken]), *statements, (_NOTE_SET_BACK, [(time_text(now),)]))
        self._forget()
        self.set_back += 1

    # Reading

    def cursor(self) -> int:
        """The place in the log up to which events have been taken."""
        return self._cursor

    def recent_session(self, contact: str) -> Session | None:
        """A contact's session, where it was written not long ago. Nobody changes a session that was written."""
        return self._recent.get(contact)

    def states(self, contacts: Iterable[str]) -> dict[str, str | None]:
        """Contacts' sessions as they are written, for `bot.core.session.read_session`; None for a contact without."""
        return self._of_all(engine_tables.SESSION_STATES_OF, contacts)

    def knows(self, contact: str) -> bool:
        """True if a contact has a session."""
        return self.database.one(engine_tables.SESSION_STATE, storable(contact)) is not None

    def contact_in(self, conversation: str) -> str | None:
        """The contact of one of the gateway's conversations, if a session has its id."""
        row = self.database.one(engine_tables.CONTACT_IN_CONVERSATION, storable(conversation))
        return None if row is None else row[0]

    @reads_rows
    def sent(self, message_id: str) -> SentRow | None:
        """The message with this id of the gateway's, if the bot sent it and it is still kept."""
        row = self.database.one(_SENT, storable(message_id))
        if row is None:
            return None
        id, ref, key, contact, effect, priority, message_ids = row
        return SentRow(id, ref, key, contact, values.loads(effect), priority, tuple(values.loads(message_ids)))

    @reads_rows
    def status(self, message_id: str) -> MessageStatus | None:
        """The status of the message with this id of the gateway's."""
        row = self.database.one(_STATUS, storable(message_id))
        return None if row is None else MessageStatus(*row)

    def contacts_of_aliases(self, aliases: Iterable[str]) -> dict[str, str | None]:
        """The contacts that write from these numbers, and are written to under other ones."""
        return self._of_all(_OF_ALIASES, aliases)

    # The gateway's list of contacts

    @reads_rows
    def listed_contact(self, contact: str) -> ContactChanged | None:
        """The contact's data from the gateway's list; None if it is not known, or the contact waits for the list."""
        row = self.database.one(engine_tables.LISTED_CONTACT, storable(contact))
        event: ContactChanged | None = None if row is None or row[0] is None else values.loads(row[0])
        return event

    def wanted_contacts(self) -> list[str]:
        """The contacts that wait for the gateway's list."""
        return [contact for (contact,) in self.database.all(engine_tables.WANTED_CONTACTS)]

    def list_read_at(self) -> datetime | None:
        """When the gateway's list was last read to its end."""
        return read_time(self.database.one(engine_tables.LIST_READ_AT)[0])

    def listing(self) -> int | None:
        """The id of the message that reads the next page of it, if that is in the outbox."""
        row = self.database.one(engine_tables.LISTING)
        return None if row is None else int(row[0])

    # Other shards

    def shard_elsewhere(self, contact: str) -> int | None:
        """The number of the shard that has a contact, if it is another one than this."""
        if not self._shards:
            return None
        shard = shard_number(contact, len(self._shards))
        return None if shard == self.shard else shard

    def shards_of_messages(self, message_ids: Iterable[str]) -> dict[str, int]:
        """The shards that sent these messages, by the gateway's ids, as far as the store is divided and one has."""
        if not self._shards:
            return {}
        shards = (_SENT_IN.format(shard.schema("engine"), shard.shard) for shard in self._shards)
        return dict(self.database.all(" UNION ALL ".join(shards), json_text([*map(storable, message_ids)])))

    def early_statuses(self, since: datetime) -> list[str]:
        """The ids of the messages whose status came since then, and which this shard has not sent."""
        return [id for (id,) in self.database.all(_EARLY, time_text(since))]

    def alias_is_known(self, shard: int, alias: str, contact: str) -> bool:
        """True if another shard knows whose alias a number is, or takes it for a contact's own number."""
        sql = _ALIAS_IS_KNOWN.format(self._shards[shard].schema("engine"))
        return self.database.one(sql, storable(alias), storable(contact)) is not None

    def is_being_erased(self, contact: str) -> bool:
        """True if a contact was erased, and the log still has to forget it."""
        return self.database.one(_IS_BEING_ERASED, storable(contact)) is not None

    # Rows

    def parked(self, contact: str) -> list[ParkedRow]:
        """A contact's parked events in order, maybe thousands, as they are written: `parked_event` reads one."""
        return [ParkedRow(*row) for row in self.database.all(engine_tables.PARKED, storable(contact))]

    @reads_rows
    def parked_event(self, row: ParkedRow) -> MessageReceived | Tapped:
        """The event that is written in a row."""
        event: MessageReceived | Tapped = values.loads(row.written)
        return event

    @reads_rows
    def due(self, now: datetime, limit: int) -> list[DueRow]:
        """The sessions with something due, the oldest first."""
        first = self.next_wake()
        if first is None or first > now:
            return []
        return [
            DueRow(contact, datetime.fromisoformat(wake_at))
            for contact, wake_at in self.database.all(engine_tables.DUE_SESSIONS, time_text(now), limit)
        ]

    @reads_rows
    def next_wake(self) -> datetime | None:
        """When something of a session is due next."""
        if self._first_wake is None:
            self._first_wake = self.database.one(engine_tables.NEXT_WAKE) or _NO_WAKE
        return None if self._first_wake is _NO_WAKE else datetime.fromisoformat(self._first_wake[0])

    def new_ids(self, table: IdTable) -> Iterator[int]:
        """Ids for new rows, ascending. A batch need not use all ids that it draws."""
        return self._draw(table) if self._shards else count(self._last_ids[table] + 1)

    def draw_ids(self, least: int) -> None:
        """Get so many ids for new messages and calls, so that `new_ids` does not ask the database, which may fail."""
        for table in _OF_EFFECTS if self._shards else ():
            self._draw_up_to(table, least)

    def _draw(self, table: IdTable) -> Iterator[int]:
        """Ids that no other shard gets."""
        while True:
            self._draw_up_to(table, 1)
            yield self._drawn[table].popleft()

    def _draw_up_to(self, table: IdTable, least: int) -> None:
        drawn = self._drawn[table]
        if len(drawn) < least:
            drawn.extend(id for (id,) in self.database.all(_DRAW_IDS.format(table), max(least, _DRAWN_AT_ONCE)))

    def drop_drawn_ids(self) -> None:
        """Give later ids from now on than other shards have given so far: who reads the whole store sorts by them."""
        for drawn in self._drawn.values():
            drawn.clear()

    def last_ids(self) -> dict[IdTable, int]:
        """The last id of a message, a call and a turn, by table; 0 where there was none yet."""
        return dict(self._last_ids)

    @reads_rows
    def pending_sends(self, after: int, limit: int) -> list[OutboxRow]:
        """The messages to send that are not claimed, in order, with ids above one."""
        return [engine_tables.outbox_row(*row) for row in self.database.all(engine_tables.PENDING_SENDS, after, limit)]

    @reads_rows
    def claimed_sends(self) -> list[OutboxRow]:
        """The messages that are being sent without a key. At the beginning of a run, their outcome is unknown."""
        return [engine_tables.outbox_row(*row) for row in self.database.all(engine_tables.CLAIMED_SENDS)]

    @reads_rows
    def pending_calls(self, after: int, limit: int) -> list[CallRow]:
        """The calls to make, in order, with ids above one."""
        return [engine_tables.call_row(*row) for row in self.database.all(engine_tables.PENDING_CALLS, after, limit)]

    @property
    def has_events(self) -> bool:
        """True if there may be events to deliver."""
        return self._has_events

    @reads_rows
    def due_events(self, now: datetime, without: Collection[int], limit: int) -> list[EventRow]:
        """The events that can be delivered, the oldest first, but for ``without``: of each contact the first one."""
        rows = self.database.all(engine_tables.DUE_EVENTS, time_text(now), json_text([*without]), limit)
        return [engine_tables.event_row(*row) for row in rows]

    @reads_rows
    def next_event(self, without: Collection[int]) -> datetime | None:
        """When the first event but for ``without`` is to be delivered; None if there is none."""
        if not self._has_events:
            return None
        row = self.database.one(engine_tables.FIRST_EVENT, json_text([*without]))
        self._has_events = row is not None or bool(without)
        return None if row is None else datetime.fromisoformat(row[0])

    @reads_rows
    def dead_event(self, id: int) -> engine_tables.DeadEvent | None:
        """The event of a dead letter; None if there is none with this id, or it is of something else."""
        row = self.database.one(engine_tables.DEAD_LETTER, id)
        return None if row is None else engine_tables.dead_event(*row)

    @reads_rows
    def dead_send(self, id: int) -> engine_tables.DeadSend | None:
        """The message of a dead letter; None if there is none with this id, or it is not of a message."""
        row = self.database.one(engine_tables.DEAD_LETTER, id)
        return None if row is None else engine_tables.dead_send(*row)

    def dead_letter(self, id: int) -> tuple[str, str | None] | None:
        """The kind of a dead letter (event, send, turn or event_out), and its contact; None if the id is unknown."""
        row = self.database.one(engine_tables.DEAD_LETTER, id)
        return None if row is None else (row[0], row[1])

    def broadcasts_wait(self) -> bool:
        """True if any broadcast has a message that could go into the outbox."""
        if self._some_wait is None:
            self._some_wait = bool(self.database.one(broadcast_rows.SOME_WAIT)[0])
        return self._some_wait

    def done_broadcasts(self) -> Collection[str]:
        """The names of the broadcasts for which nobody waits any more, and which are not finished yet."""
        if self._done is None:
            self._done = [name for (name,) in self.database.all(broadcast_rows.DONE)]
        return self._done

    @reads_rows
    def next_broadcast(self) -> datetime | None:
        """When the next message of a broadcast is due that was requested for a later time."""
        if self._first_due is None:
            self._first_due = tuple(at for at in self.database.one(broadcast_rows.FIRST_DUE) if at is not None)
        return datetime.fromisoformat(self._first_due[0]) if self._first_due else None

    def due_broadcasts(self, now: datetime) -> list[str]:
        """The names of the broadcasts for which the time of some recipients has come."""
        return [name for (name,) in self.database.all(broadcast_rows.ALL_DUE, time_text(now))]

    def trying_broadcasts(self) -> list[str]:
        """The names of the broadcasts whose first message goes alone."""
        return [name for (name,) in self.database.all(broadcast_rows.ALL_TRYING)]

    def paused_broadcasts(self) -> list[broadcast_rows.Broadcast]:
        """The broadcasts that refusals have paused, by name."""
        return [broadcast_rows.broadcast(*row) for row in self.database.all(broadcast_rows.ALL_PAUSED)]

    def recipient(self, broadcast: str, contact: str) -> tuple[str | None, list[str] | dict[str, Any]] | None:
        """The outcome and the parameters (or data) of a contact's broadcast message; None if it is no recipient."""
        row = self.database.one(broadcast_rows.RECIPIENT, storable(broadcast), storable(contact))
        return None if row is None else (row[0], values.loads(row[1]))

    @reads_rows
    def broadcast_elsewhere(self, name: str) -> broadcast_rows.Broadcast | None:
        """The broadcast with this name of any shard; None if the store is not divided."""
        if not self._shards:
            return None
        row = self.database.one(broadcast_rows.BROADCAST_OF_ANY_SHARD, storable(name))
        return None if row is None else broadcast_rows.broadcast(*row)

    def place_in_broadcast(self, send_id: int) -> broadcast_rows.BroadcastPlace | None:
        """The broadcast and the recipient of a message; None if it is of no broadcast."""
        row = self.database.one(broadcast_rows.OF_SEND, send_id)
        return None if row is None else broadcast_rows.BroadcastPlace(*row)

    @reads_rows
    def waiting_recipients(self, of: Literal["templates", "flows"], limit: int) -> list[broadcast_rows.Recipient]:
        """The next recipients of all running broadcasts of templates, or of flows, in order."""
        running = self.database.all(broadcast_rows.RUNNING_OF[of])  # few at a time, of which each may have a million
        rows = (row for (name,) in running for row in self.database.all(broadcast_rows.WAITING, name, limit))
        found = [broadcast_rows.recipient(*row) for row in rows]
        return sorted(found, key=lambda each: (each.retries, each.id))[:limit]

    def starting(self, broadcast: str | None = None) -> int:
        """How many flows of one broadcast, or of any, wait for a call, or for their first message to be sent."""
        of = "" if broadcast is None else f"{storable(broadcast)}:"
        return int(self.database.one(broadcast_rows.STARTING, of)[0])

    def first_waiting(self, broadcast: str) -> broadcast_rows.Recipient | None:
        """The first recipient of a broadcast whose message is not in the outbox yet, whatever the broadcast's state."""
        row = self.database.one(broadcast_rows.WAITING, storable(broadcast), 1)
        return None if row is None else broadcast_rows.recipient(*row)

    @reads_rows
    def in_outbox_since(self, send_id: int) -> datetime | None:
        """Since when a message has been in the outbox; None if it is not there."""
        row = self.database.one(broadcast_rows.IN_OUTBOX_SINCE, send_id)
        return None if row is None else datetime.fromisoformat(row[0])

    def recipients_in_outbox(self) -> int:
        """How many messages in the outbox are of broadcasts."""
        return int(self.database.one(broadcast_rows.IN_OUTBOX)[0])

    def broadcast_in_outbox(self, name: str) -> list[broadcast_rows.InOutbox]:
        """The messages of a broadcast in the outbox, in order."""
        rows = self.database.all(broadcast_rows.IN_OUTBOX_OF, storable(name))
        return [broadcast_rows.InOutbox(id, contact, bool(claimed)) for id, contact, claimed in rows]

    def broadcasts_in_outbox_to(self, contact: str) -> list[broadcast_rows.InOutbox]:
        """The messages of broadcasts to a contact in the outbox, in order."""
        rows = self.database.all(broadcast_rows.IN_OUTBOX_TO, storable(contact))
        return [broadcast_rows.InOutbox(id, contact, bool(claimed)) for id, contact, claimed in rows]

    def missed_of(self, broadcast: broadcast_rows.Broadcast, now: datetime) -> int:
        """How many of the recipients whose time is noted next have missed it: see `bot.store.commit.Commit.release`."""
        return int(self.database.one(broadcast_rows.MISSED_OF, *broadcast_rows.release_row(broadcast, now))[0])

    def waiting_of(self, broadcast: str) -> int:
        """How many recipients of a broadcast wait while their message is not in the outbox."""
        return int(self.database.one(broadcast_rows.WAITING_OF, storable(broadcast))[0])

    def refused_of(self, broadcast: str, code: str) -> int:
        """How many messages of a broadcast were refused for their template, or with this code."""
        return int(self.database.one(broadcast_rows.REFUSED_OF, storable(broadcast), storable(code))[0])

    def not_corrected_of(self, broadcast: broadcast_rows.Broadcast) -> int:
        """How many recipients that wait are not part of a broadcast's last correction."""
        return int(self.database.one(broadcast_rows.NOT_CORRECTED_OF, storable(broadcast.name), broadcast.edit)[0])

    # Writing

    def write(self, commit: Commit) -> bool:
        """Write a commit, in full or not at all. Returns False if there was nothing in it."""
        turns = list(islice(self.new_ids("turns"), commit.new_turns))
        statements = list(commit.statements(self._recent, turns))
        if not statements:
            return False
        self.database.write(*statements, *self._appends(commit))
        self._cursor = commit.cursor
        self._has_events = self._has_events or commit.adds_events
        if commit.sends:
            self._last_ids["messages"] = commit.sends[-1].id
        if commit.calls:
            self._last_ids["calls"] = commit.calls[-1].id
        if turns:
            self._last_ids["turns"] = turns[-1]
        self.failed_early |= commit.failed_early
        self.failed_early.difference_update(commit.messages, commit.statuses_forwarded)
        if any(sql in OF_BROADCASTS for sql, _ in statements):
            self._some_wait = self._done = self._first_due = None
        for session, row in commit.sessions():
            self._remember(session, row)
        for contact in list(islice(self._recent, max(0, len(self._recent) - _RECENT))):
            del self._recent[contact]
        if commit.forwarded:
            self.database.wake(commit.forwarded)
        return True

    def _appends(self, commit: Commit) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
        """The statements that append what is forwarded, each log under its lock, last in the commit: others wait for
        it. They do not wait for long themselves: meanwhile this connection could not end the session of a paused
        machine that has such a lock.
        """
        if not commit.forwarded:
            return
        from bot.store import postgres_database  # psycopg is there only where it was asked for

        yield _WAIT_BRIEFLY, [()]
        for shard, rows in sorted(commit.forwarded.items()):
            yield postgres_database.in_order(shard), [()]
            yield append_statement(self._shards[shard]), rows

    def _remember(self, session: Session, row: tuple[Any, ...]) -> None:
        """A session was written: neither it nor, mostly, the next time of all sessions needs a query then."""
        contact, wake_at, state = row[0], row[4], row[8]
        self._recent.pop(session.contact, None)
        if len(state) <= _RECENT_CHARACTERS:
            self._recent[session.contact] = session
        if self._first_wake is not None:
            if wake_at is not None and wake_at <= self._first_wake[0]:
                self._first_wake = wake_at, contact
            elif contact == self._first_wake[1]:
                self._first_wake = None

    def _forget(self) -> None:
        """Rows were changed otherwise than by a commit: ask the file again."""
        self._recent.clear()
        self._first_wake = self._some_wait = self._done = self._first_due = None

    def prune(self, now: datetime) -> bool:
        """Delete some rows that were kept long enough. Returns whether there may be more."""
        with self.database.transaction() as execute:
            deleted = [
                execute(_PRUNE.format(table), (_PRUNED_AT_ONCE, time_text(now - kept))).rowcount
                for table, kept in KEPT.items()
            ]
            execute(engine_tables.FORGET_RESULTS, (time_text(now - self._results_kept)[:10],))
        return _PRUNED_AT_ONCE in deleted

    def numbers_of(self, contact: str) -> list[str]:
        """The numbers of a contact, its own first."""
        return numbers_of(self.database, storable(contact))

    def erase(self, contact: str, upto: int, now: datetime, by: str = OPERATOR) -> Withdrawn:
        """Delete a contact, note ``by`` whom. The log must forget its events ``upto`` a place:
        `bot.store.contact_data`.
        """
        self._forget()
        note = next(self.new_ids("turns"))
        withdrawn = contact_data.begin_erasure(self.database, contact, upto, now, by, note)
        self._last_ids["turns"] = note
        return withdrawn

    def asked_to_erase(self) -> list[str]:
        """The numbers that the engine of another shard has begun to erase, and that this one has to erase, too."""
        if not self.other_shards:
            return []
        return [contact for (contact,) in self.database.all(contact_data.ASKED_TO_ERASE)]

    def finish_erasures(self, in_log: Callable[[str, int], bool]) -> bool:
        """End the erasures for which ``in_log`` (contact, up to) finds no event. Returns True if some are left."""
        return contact_data.finish_erasures(self.database, self._files, in_log)

    def _of_all(self, sql: str, names: Iterable[str]) -> dict[str, str | None]:
        """The result of a query for each of several names, None for no row."""
        found: dict[str, str | None] = dict.fromkeys(names)
        written = {storable(name): name for name in found}
        rows = self.database.all(sql, json_text([*written]))
        return found | {written[name]: value for name, value in rows}
