"""The engine's file: sessions, queues and the trace. One thread uses it, and nobody else writes it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from bot.core import codec
from bot.core.effects import Send
from bot.core.errors import BotError
from bot.core.session import Session
from bot.store.commit import Commit
from bot.store.files import FileLock, close_writer, open_writer, transaction, trouble_in_words
from bot.store.rows import WINDOW, CallRow, DueRow, OutboxRow, ParkedRow, read_time, text_of, time_of

KEPT = {"turns": timedelta(days=7), "sent": timedelta(days=7), "dead_letters": timedelta(days=90)}
"""How long what is over is kept, by table."""

_CRASHES_IN_A_ROW = 2
_PRUNED_AT_ONCE = 500

COUNTS = """
    SELECT 'sessions', count(*) FROM sessions
    UNION ALL SELECT 'parked', count(*) FROM parked
    UNION ALL SELECT 'outbox', count(*) FROM outbox
    UNION ALL SELECT 'calls', count(*) FROM calls
    UNION ALL SELECT 'dead_letters', count(*) FROM dead_letters
"""
"""How many rows each queue has, by table."""

_META = "SELECT store_id, cursor, clean, crashes, taking FROM meta"
_SUSPECT = """
    INSERT INTO suspects (event_id, crashes) VALUES (?, 1) ON CONFLICT (event_id) DO UPDATE SET crashes = crashes + 1
"""
_SUSPECTS = "SELECT event_id FROM suspects WHERE crashes >= ?"
_STARTED = "UPDATE meta SET clean = 0, crashes = ?, taking = NULL"
_TAKING = "UPDATE meta SET taking = ?"
_CAUGHT_UP = ("UPDATE meta SET crashes = 0, taking = NULL", "DELETE FROM suspects")
_ENDED = "UPDATE meta SET clean = 1, crashes = 0, taking = NULL"
_SESSION = "SELECT state FROM sessions WHERE contact = ?"
_OF_CONVERSATION = "SELECT contact FROM sessions WHERE conversation = ? ORDER BY updated_at DESC LIMIT 1"
_PARKED = "SELECT id, event FROM parked WHERE contact = ? ORDER BY id"
_DUE = "SELECT contact, visit, wake_at FROM sessions WHERE wake_at <= ? ORDER BY wake_at LIMIT ?"
_NEXT_WAKE = "SELECT min(wake_at) FROM sessions WHERE wake_at IS NOT NULL"
_LAST_IDS = "SELECT name, seq FROM sqlite_sequence"
_OUTBOX = """
    SELECT outbox.id, ref, key, contact, effect, created_at, attempts, due_at, expires_at, last_inbound
    FROM outbox LEFT JOIN sessions USING (contact)
"""
_PENDING = f"{_OUTBOX} WHERE outbox.id > ? AND claimed_at IS NULL ORDER BY outbox.id LIMIT ?"
_CLAIMED = f"{_OUTBOX} WHERE claimed_at IS NOT NULL ORDER BY outbox.id"
_CALLS = "SELECT id, ref, key, contact, effect, attempts, due_at FROM calls WHERE id > ? ORDER BY id LIMIT ?"
_DEAD_LETTER = "SELECT what, contact, body FROM dead_letters WHERE id = ?"
_PRUNE = "DELETE FROM {0} WHERE id IN (SELECT id FROM (SELECT id, at FROM {0} ORDER BY id LIMIT ?) WHERE at < ?)"


@dataclass(frozen=True, slots=True)
class Run:
    """How a run of the engine begins. ``careful``: take events one a commit, marking each (DESIGN 2).

    ``suspects`` are the events that were being taken at two crashes: they are not taken again.
    """

    careful: bool
    suspects: frozenset[str]


@dataclass(frozen=True, slots=True)
class DeadSend:
    """A message that was given up, as its dead letter remembers it."""

    contact: str
    key: str
    outcome: str
    effect: Send


class UnreadableSession(BotError):
    """A session in the store that this version cannot read. ``state`` is its text."""

    def __init__(self, state: str) -> None:
        super().__init__("the session cannot be read by this version; the conversation starts anew")
        self.state = state


def read_session(state: str) -> Session:
    """A session from its text. Raises `UnreadableSession`."""
    try:
        session = codec.loads(state)
    except (ValueError, TypeError, KeyError, ArithmeticError):
        raise UnreadableSession(state) from None
    if not isinstance(session, Session):
        raise UnreadableSession(state)
    return session


class Store:
    """The engine's file. Raises `bot.store.files.StoreLocked` and `bot.store.files.StoreMissing`.

    Every method raises `bot.store.files.StoreUnavailable` for a full or failing disk, and has then changed nothing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = FileLock(path)
        try:
            self._connection = open_writer(path)
            self.store_id: str = self._one(_META)[0]
        except BaseException:
            self._lock.release()
            raise

    def close(self) -> None:
        """Close the file and give it back. The run is not marked as ended by this: see `end_run`."""
        close_writer(self._connection)
        self._lock.release()

    # How a run begins and ends

    def begin_run(self) -> Run:
        """Note that a run begins, and whether the last one came to its end.

        After two crashes in a row without the engine ever having caught up, it is careful: so one kill, or many
        of them in an engine that gets on, make no suspect of any event.
        """
        with trouble_in_words(self.path), transaction(self._connection):
            _, _, clean, crashes, taking = self._one(_META)
            crashes = 0 if clean else crashes + 1
            if taking is not None:
                self._connection.execute(_SUSPECT, (taking,))
            self._connection.execute(_STARTED, (crashes,))
            suspects = frozenset(id for (id,) in self._connection.execute(_SUSPECTS, (_CRASHES_IN_A_ROW,)))
        return Run(crashes >= _CRASHES_IN_A_ROW, suspects)

    def mark_taking(self, event_id: str) -> None:
        """Note durably that an event is about to be taken. The next commit takes the mark away."""
        self._write((_TAKING, [(text_of(event_id),)]))

    def caught_up(self) -> None:
        """Note that everything there was has been taken: earlier crashes do not count any more."""
        self._write(*((sql, [()]) for sql in _CAUGHT_UP))

    def end_run(self) -> None:
        """Note that the run came to its end."""
        self._write((_ENDED, [()]))

    # What is there

    def cursor(self) -> int:
        """The place in the log up to which events have been taken."""
        return int(self._one(_META)[1])

    def session(self, contact: str) -> Session | None:
        """A contact's session, if it has one. Raises `UnreadableSession`."""
        row = self._one(_SESSION, text_of(contact))
        return None if row is None else read_session(row[0])

    def contact_in(self, conversation: str) -> str | None:
        """The contact of a conversation of the gateway's, where its session knows of it."""
        row = self._one(_OF_CONVERSATION, text_of(conversation))
        return None if row is None else row[0]

    def parked(self, contact: str) -> list[ParkedRow]:
        """A contact's parked events, in order."""
        return [ParkedRow(id, codec.loads(event)) for id, event in self._all(_PARKED, text_of(contact))]

    def due(self, now: datetime, limit: int) -> list[DueRow]:
        """The sessions whose time has come, the oldest first."""
        return [
            DueRow(contact, visit, datetime.fromisoformat(wake_at))
            for contact, visit, wake_at in self._all(_DUE, time_of(now), limit)
        ]

    def next_wake(self) -> datetime | None:
        """When the next session wants to be woken."""
        return read_time(self._one(_NEXT_WAKE)[0])

    def last_ids(self) -> dict[str, int]:
        """The last id that was given out, by table; no entry where none was."""
        return dict(self._all(_LAST_IDS))

    def pending_sends(self, after: int, limit: int) -> list[OutboxRow]:
        """The messages that are to be sent and are not claimed, in order, from after an id on."""
        return [_outbox_row(*row) for row in self._all(_PENDING, after, limit)]

    def claimed_sends(self) -> list[OutboxRow]:
        """The messages that are being sent without a key; at the begin of a run, those that nobody knows of."""
        return [_outbox_row(*row) for row in self._all(_CLAIMED)]

    def pending_calls(self, after: int, limit: int) -> list[CallRow]:
        """The calls that are to be made, in order, from after an id on."""
        return [_call_row(*row) for row in self._all(_CALLS, after, limit)]

    def dead_send(self, id: int) -> DeadSend | None:
        """The message of a dead letter; None where the id is of none, or of another kind."""
        row = self._one(_DEAD_LETTER, id)
        if row is None or row[0] != "send":
            return None
        body = codec.loads(row[2])
        return DeadSend(row[1], body["key"], body["outcome"], body["effect"])

    def counts(self) -> dict[str, int]:
        """How many rows each queue has."""
        return dict(self._all(COUNTS))

    # What is written

    def write(self, commit: Commit) -> bool:
        """Write a commit, whole or not at all. False when there was nothing in it."""
        statements = list(commit.statements())
        if statements:
            self._write(*statements)
        return bool(statements)

    def prune(self, now: datetime) -> bool:
        """Delete some of what is over and has been kept long enough. True when there may be more of it."""
        with trouble_in_words(self.path), transaction(self._connection):
            deleted = [
                self._connection.execute(_PRUNE.format(table), (_PRUNED_AT_ONCE, time_of(now - kept))).rowcount
                for table, kept in KEPT.items()
            ]
        return _PRUNED_AT_ONCE in deleted

    def _write(self, *statements: tuple[str, list[Any]]) -> None:
        with trouble_in_words(self.path), transaction(self._connection):
            for sql, rows in statements:
                self._connection.executemany(sql, rows)

    def _one(self, sql: str, *parameters: Any) -> Any:
        with trouble_in_words(self.path):
            return self._connection.execute(sql, parameters).fetchone()

    def _all(self, sql: str, *parameters: Any) -> list[Any]:
        with trouble_in_words(self.path):
            return self._connection.execute(sql, parameters).fetchall()


def _outbox_row(
    id: int,
    ref: str,
    key: str,
    contact: str,
    effect: str,
    created_at: str,
    attempts: int,
    due_at: str,
    expires_at: str,
    last_inbound: str | None,
) -> OutboxRow:
    send: Send = codec.loads(effect)
    return OutboxRow(
        id=id,
        ref=ref,
        key=key,
        contact=contact,
        message=send.message,
        instead=send.instead,
        report=send.report,
        created_at=datetime.fromisoformat(created_at),
        attempts=attempts,
        due_at=datetime.fromisoformat(due_at),
        expires_at=datetime.fromisoformat(expires_at),
        window_until=None if last_inbound is None else datetime.fromisoformat(last_inbound) + WINDOW,
    )


def _call_row(id: int, ref: str, key: str, contact: str, effect: str, attempts: int, due_at: str) -> CallRow:
    call = codec.loads(effect)
    return CallRow(
        id=id,
        ref=ref,
        key=key,
        contact=contact,
        handler=call.handler,
        arguments=call.arguments,
        within=call.within,
        tries=call.tries,
        attempts=attempts,
        due_at=datetime.fromisoformat(due_at),
    )
