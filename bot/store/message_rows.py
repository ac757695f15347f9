"""Messages in the engine's tables: those to send (the outbox), those that were sent, and their statuses."""

from collections.abc import Sequence
from dataclasses import field
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from typing import Any

from bot.core import values
from bot.core.effects import Effect
from bot.core.immutable import immutable, mutable
from bot.core.messages import MediaMessage
from bot.core.session import HAS_OPTED_OUT, window_until
from bot.core.values import json_text, optional_storable, plain_json_text, read_time, storable, time_text
from bot.store import broadcast_rows
from bot.store.database import CommitRows, Database, Queries, shard_number
from bot.store.dead_letter_rows import DeadLetterChanges
from bot.store.files import reads_rows
from bot.store.rows import CAMPAIGN, STATUSES, MessageStatus, OutboxRow, PendingSend, SentRow, pending_send
from bot.store.trace_rows import GATEWAY_COMMAND, OPERATOR

DEAD_LETTER_OUTCOMES = ("failed", "unknown")
"""The outcomes of a send that make a dead letter."""

MAY_BE_REPEATED = "UPDATE messages SET repeated = 1 WHERE outcome IS NULL"
_ADD = """
    INSERT INTO messages (id, ref, key, contact, effect, priority, channel, created_at, attempts, due_at, expires_at, repeated)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_TRY_AGAIN = "UPDATE messages SET attempts = ?, due_at = ?, detail = ?, unclear = ?, claimed_at = NULL WHERE id = ?"
_CLAIM = "UPDATE messages SET claimed_at = ? WHERE id = ?"
_END = """
    UPDATE messages SET outcome = ?, message_ids = ?, attempts = ?, at = ?, detail = ?,
        due_at = NULL, expires_at = NULL, claimed_at = NULL
    WHERE id = ?
"""
FORGET_SEND = "DELETE FROM messages WHERE id = ?"
_ADD_ID = """
    INSERT INTO message_ids (message_id, sent_id) VALUES (?, ?)
    ON CONFLICT (message_id) DO UPDATE SET sent_id = excluded.sent_id
"""
_FORGET_STATUS = "DELETE FROM statuses WHERE message_id = ?"
_SET_STATUS = """
    INSERT INTO statuses (message_id, contact, status, at, detail) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (message_id) DO UPDATE SET contact = coalesce(excluded.contact, statuses.contact),
        status = excluded.status, at = excluded.at, detail = excluded.detail
"""
STATEMENTS = (_ADD, _TRY_AGAIN, _CLAIM, _END, FORGET_SEND, _ADD_ID, _FORGET_STATUS, _SET_STATUS)
"""The statements of a commit, in order."""

_SENDS = """
    SELECT outbox.id, ref, key, contact, effect, priority, channel,
        created_at, attempts, due_at, expires_at, unclear, repeated, last_inbound
    FROM outbox LEFT JOIN sessions USING (contact)
"""
_TO_SEND = f"{_SENDS} WHERE outbox.id > ? AND claimed_at IS NULL ORDER BY outbox.id LIMIT ?"
_CLAIMED = f"{_SENDS} WHERE claimed_at IS NOT NULL ORDER BY outbox.id"
_IN_OUTBOX_SINCE = "SELECT created_at FROM outbox WHERE id = ?"
_BY_MESSAGE_ID = """
    SELECT sent.id, ref, key, contact, effect, priority, message_ids FROM message_ids JOIN sent ON sent.id = sent_id
    WHERE message_id = ?
"""
_STATUS_OF = "SELECT status, detail FROM statuses WHERE message_id = ?"
_FAILED_EARLY = """
    SELECT message_id FROM statuses INDEXED BY statuses_failed
    WHERE status = 'failed' AND NOT EXISTS (SELECT 1 FROM message_ids WHERE message_ids.message_id = statuses.message_id)
"""
_EARLY = """
    SELECT message_id FROM statuses
    WHERE at > ? AND NOT EXISTS (SELECT 1 FROM message_ids WHERE message_ids.message_id = statuses.message_id)
"""

_FEW_MESSAGES = 5000  # they are looked through
_UNREPORTED = f"""
    SELECT effect FROM messages
    WHERE id > (SELECT max(id) FROM messages) - {_FEW_MESSAGES} AND contact = ?1
        AND (outcome IS NULL OR (outcome IN ('sent', 'replaced', 'plain') AND at > ?2))
        AND NOT EXISTS (
            SELECT 1 FROM json_each(message_ids) AS named JOIN statuses ON statuses.message_id = named.value
        )
    UNION ALL
    SELECT body ->> 'effect' FROM dead_letters
    WHERE what = 'send' AND contact = ?1 AND at > ?2 AND body ->> 'outcome' = 'unknown'
"""
_LAST_REPLACED = "SELECT max(at) FROM sent WHERE contact = ? AND outcome = 'replaced'"
_IN_OUTBOX = "SELECT 1 FROM outbox WHERE id = ?"
_OUTCOME = "SELECT outcome, detail FROM sent WHERE id = ?"
_GIVEN_UP = "SELECT body ->> 'outcome', reason FROM dead_letters WHERE send_id = ? ORDER BY id DESC LIMIT 1"
_PENDING = "SELECT id, contact, effect, created_at, attempts, due_at, detail, key FROM outbox ORDER BY id LIMIT ?"
_STATUSES = """
    SELECT ref, message_id, status, statuses.detail FROM {0}sent AS sent, json_each(sent.message_ids) JOIN {0}statuses AS statuses ON message_id = value
    WHERE sent.contact = ?
"""
_STATUSES_AMONG = """
    SELECT ref, status, statuses.detail FROM {0}messages AS messages, json_each(message_ids) AS named JOIN {0}statuses AS statuses ON message_id = named.value
    WHERE messages.contact = ? AND messages.id BETWEEN ? AND ?
"""
_MESSAGES = """
    SELECT messages.id, ref, effect, created_at, attempts, due_at, coalesce(outcome, 'waiting'), messages.detail,
        status, statuses.detail
    FROM {0}messages AS messages LEFT JOIN json_each(message_ids) AS named ON 1 = 1 LEFT JOIN {0}statuses AS statuses ON message_id = named.value
"""
_MESSAGES_AMONG = f"{_MESSAGES} WHERE messages.contact = ? AND messages.id BETWEEN ? AND ?"
_MESSAGES_THAT_WAIT = f"{_MESSAGES} WHERE messages.id IN (SELECT id FROM {{0}}outbox WHERE contact = ?)"
_GIVEN_UP_TO = """
    SELECT send_id, body, at, reason FROM dead_letters WHERE what = 'send' AND contact = ? AND at >= ? ORDER BY id
"""
_MESSAGES_BETWEEN = "SELECT (SELECT min(id) FROM {0}messages), (SELECT max(id) FROM {0}messages)"
_MESSAGE_MADE = "SELECT created_at FROM {0}messages WHERE id >= ? ORDER BY id LIMIT 1"
_MESSAGES_SINCE = "SELECT effect FROM {0}messages WHERE contact = ? AND id >= ? ORDER BY id"
_SET_BACK = timedelta(hours=1)  # how far a clock may have been set back between a decision and its commit
_EVER = datetime.min.replace(tzinfo=UTC)
_WRITTEN_AT = "SELECT written_at FROM meta"
_A_DAY = timedelta(days=1)  # the gateway's limits count no longer time
_REQUESTS = f"""
    SELECT max(at), sum(attempts) FROM (
        SELECT at, attempts FROM sent WHERE at > ?1
        UNION ALL SELECT CASE WHEN due_at < ?2 THEN due_at ELSE ?2 END, attempts FROM outbox WHERE attempts > 0
        UNION ALL SELECT at, CAST(body ->> 'attempts' AS BIGINT) FROM dead_letters WHERE what = 'send' AND at > ?1
        UNION ALL SELECT at, 1 FROM turns WHERE contact IS NULL AND rule = '{GATEWAY_COMMAND}' AND at > ?1
        UNION ALL SELECT at, CAST(event ->> 'attempts' AS BIGINT) FROM turns WHERE rule = '{OPERATOR}' AND at > ?1
    ) AS made GROUP BY substr(at, 1, 19) HAVING sum(attempts) > 0 ORDER BY 1
"""
_REQUESTS_FOR = """
    SELECT max(at), contact, sum(attempts) FROM (
        SELECT at, contact, attempts FROM sent WHERE at > ?1 AND attempts > 0
        UNION ALL SELECT CASE WHEN due_at < ?2 THEN due_at ELSE ?2 END, contact, attempts FROM outbox WHERE attempts > 0
        UNION ALL SELECT at, contact, CAST(body ->> 'attempts' AS BIGINT) FROM dead_letters WHERE what = 'send' AND at > ?1
    ) AS made GROUP BY contact, substr(at, 1, 15) HAVING sum(attempts) > 0
"""


class StoredMessages(Queries):
    """Messages as the engine reads them.

    ``failed_early`` are ids of the gateway's: these messages failed before the bot knew that they are its own.
    """

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.failed_early = {name for (name,) in database.all(_FAILED_EARLY)}

    @reads_rows
    def pending(self, after: int, limit: int) -> list[OutboxRow]:
        """The messages to send that are not claimed, in order, with ids above ``after``."""
        return [_outbox_row(*row) for row in self.database.all(_TO_SEND, after, limit)]

    @reads_rows
    def claimed(self) -> list[OutboxRow]:
        """The messages that are being sent without a key. At the beginning of a run, their outcome is unknown."""
        return [_outbox_row(*row) for row in self.database.all(_CLAIMED)]

    @reads_rows
    def in_outbox_since(self, send_id: int) -> datetime | None:
        """Since when a message has been in the outbox; None if it is not there."""
        row = self.database.one(_IN_OUTBOX_SINCE, send_id)
        return None if row is None else datetime.fromisoformat(row[0])

    @reads_rows
    def sent(self, message_id: str) -> SentRow | None:
        """The message with this id of the gateway, if the bot sent it and it is still kept."""
        row = self.database.one(_BY_MESSAGE_ID, storable(message_id))
        if row is None:
            return None
        id, ref, key, contact, effect, priority, message_ids = row
        return SentRow(id, ref, key, contact, values.loads(effect), priority, tuple(values.loads(message_ids)))

    @reads_rows
    def status(self, message_id: str) -> MessageStatus | None:
        """The status of the message with this id of the gateway."""
        row = self.database.one(_STATUS_OF, storable(message_id))
        return None if row is None else MessageStatus(*row)

    @reads_rows
    def unreported(self, contact: str, since: datetime) -> list[Effect]:
        """The newest messages to a contact of which no status is known, and that may have been sent since then."""
        rows = self.database.all(_UNREPORTED, storable(contact), time_text(since))
        return [values.loads(effect) for (effect,) in rows]

    def early_statuses(self, since: datetime) -> list[str]:
        """The ids of the messages whose status came since then, and which this shard has not sent."""
        return [id for (id,) in self.database.all(_EARLY, time_text(since))]

    def committed(self, changes: "MessageChanges") -> None:
        """Note what a commit has written."""
        self.failed_early |= changes.failed_early
        self.failed_early.difference_update(changes.sent, changes.statuses_forwarded)


def _outbox_row(
    id: int,
    ref: str,
    key: str,
    contact: str,
    effect: str,
    priority: int,
    channel: str | None,
    created_at: str,
    attempts: int,
    due_at: str,
    expires_at: str,
    unclear: int,
    repeated: int,
    last_inbound: str | None,
) -> OutboxRow:
    """A message to send, from its row."""
    return OutboxRow(
        id=id,
        ref=ref,
        key=key,
        contact=contact,
        effect=values.loads(effect),
        priority=priority,
        channel=channel,
        created_at=datetime.fromisoformat(created_at),
        attempts=attempts,
        due_at=datetime.fromisoformat(due_at),
        expires_at=datetime.fromisoformat(expires_at),
        window_until=window_until(read_time(last_inbound)),
        unclear=bool(unclear),
        repeated=bool(repeated),
    )


@mutable
class MessageChanges:
    """The messages that a commit adds and ends, and their statuses.

    ``added`` are handed to delivery when the commit is durable. ``ended`` are the ids of messages that left the outbox.
    """

    _rows: CommitRows
    _dead_letters: DeadLetterChanges
    added: list[OutboxRow] = field(default_factory=list)
    ended: set[int] = field(default_factory=set)
    sent: dict[str, SentRow] = field(default_factory=dict)  # messages that were just sent, by each of their ids
    statuses: dict[str, MessageStatus] = field(default_factory=dict)
    failed_early: set[str] = field(default_factory=set)  # ids of messages that failed, and are not known to be ours
    early: set[str] = field(default_factory=set)  # ids of messages with a status, which no shard is known to have sent
    statuses_forwarded: set[str] = field(default_factory=set)  # ids of messages whose status another shard keeps now

    def add(self, row: OutboxRow, effect: str = "") -> None:
        """Add a message to the outbox. ``effect`` is its effect as JSON, if that is written already."""
        what = (storable(row.contact), effect or json_text(row.effect), row.priority, optional_storable(row.channel))
        created, due, expires = time_text(row.created_at), time_text(row.due_at), time_text(row.expires_at)
        times = created, row.attempts, due, expires
        self._rows[_ADD].append((row.id, storable(row.ref), row.key, *what, *times, int(row.repeated)))
        self.added.append(row)

    def claim(self, row: OutboxRow) -> None:
        """Note that a message is about to be sent without a key. After a crash its outcome is unknown."""
        self._rows[_CLAIM].append((self._rows.at, row.id))

    def try_again(self, row: OutboxRow, attempts: int, due_at: datetime, detail: str, *, unclear: bool = False) -> None:
        """Keep a message in the outbox, to be tried again later. ``unclear``: it may have been sent."""
        self._rows[_TRY_AGAIN].append((attempts, time_text(due_at), storable(detail), int(unclear), row.id))

    def end(
        self,
        row: OutboxRow,
        outcome: str,
        message_ids: Sequence[str],
        attempts: int,
        detail: str,
        at: datetime,
        code: str = "",
        *,
        key_helps: bool = False,
    ) -> None:
        """End a message: it was sent, or it becomes a dead letter. ``code`` is the gateway's refusal. ``key_helps``:
        see `bot.store.dead_letter_rows.DeadSend`.
        """
        if outcome in DEAD_LETTER_OUTCOMES:
            self.give_up(row, outcome, detail, attempts, key_helps=key_helps)
            self.remove(row.id)
        else:
            ids = tuple(map(storable, message_ids))
            how = outcome, plain_json_text(ids), attempts, time_text(at), storable(detail), row.id
            self._rows[_END].append(how)
            sent = SentRow(row.id, row.ref, row.key, row.contact, row.effect, row.priority, ids)
            for id in ids:
                self._rows[_ADD_ID].append((id, row.id))
                self.sent[id] = sent
        if row.priority == CAMPAIGN:
            self._rows[broadcast_rows.ENDED].append((outcome, storable(code), row.id))
        self.ended.add(row.id)

    def opt_out(self, send_id: int) -> None:
        """Take a broadcast's message out of the outbox, unsent: its contact has opted out."""
        self._rows[_END].append(("opted_out", "[]", 0, self._rows.at, HAS_OPTED_OUT, send_id))
        self._rows[broadcast_rows.ENDED].append(("opted_out", "", send_id))
        self.ended.add(send_id)

    def remove(self, send_id: int) -> None:
        """Delete a message."""
        self._rows[FORGET_SEND].append((send_id,))
        self.ended.add(send_id)

    def give_up(self, row: OutboxRow, outcome: str, reason: str, attempts: int = 0, *, key_helps: bool = False) -> None:
        """Make a message a dead letter."""
        body = {"outcome": outcome, "key": row.key, "ref": row.ref, "effect": row.effect, "attempts": attempts}
        body |= {"key_helps": True} if key_helps else {}
        self._dead_letters.add("send", row.contact, reason or outcome, json_text(body), row.id)

    def note_failure(self, sent: SentRow, reason: str, code: str) -> None:
        """Make a message a dead letter that the gateway had accepted, and that did not arrive."""
        body = {"outcome": "failed", "key": sent.key, "ref": sent.ref, "effect": sent.effect}
        self._dead_letters.add("send", sent.contact, reason, json_text(body), sent.id)
        if sent.priority == CAMPAIGN:
            self._rows[broadcast_rows.ENDED].append(("failed", storable(code), sent.id))

    def set_status(self, message_id: str, status: MessageStatus, contact: str | None) -> None:
        """Set the status of a message, by one of its ids. An erasure of a known ``contact`` erases the status."""
        what = optional_storable(contact), status.name, self._rows.at, storable(status.detail)
        self._rows[_SET_STATUS].append((message_id, *what))
        self.statuses[message_id] = status

    def forward_status(self, message_id: str) -> None:
        """Delete the status of a message that another shard has sent, and that this commit forwards to it."""
        self._rows[_FORGET_STATUS].append((message_id,))
        self.statuses_forwarded.add(message_id)


@immutable
class MessageTo:
    """A message to a contact. ``status`` is one of `bot.store.rows.STATUSES` or ``waiting``, or why it was not sent:
    ``superseded``, ``opted_out``, ``contact_limit``; ``replaced`` says that its template went instead.
    """

    ref: str
    effect: Effect
    at: datetime
    status: str
    detail: str = ""
    attempts: int = 0
    due_at: datetime | None = None
    replaced: bool = False


class MessageReader(Queries):
    """Messages as commands and pages read them. ``schemas`` are those with the tables of each shard."""

    def __init__(self, database: Database, schemas: Sequence[str]) -> None:
        super().__init__(database)
        self._schemas = schemas

    @reads_rows
    def pending(self, limit: int = 100) -> list[PendingSend]:
        """The messages to send, in order."""
        return [pending_send(*row) for row in self.database.all(_PENDING, limit)]

    def outcome(self, id: int) -> tuple[str, str] | None:
        """The outcome of a message, by its id in the outbox, and why; None while it is in the outbox."""
        if self.database.one(_IN_OUTBOX, id):
            return None
        outcome: tuple[str, str] | None = self.database.one(_OUTCOME, id) or self.database.one(_GIVEN_UP, id)
        return outcome

    @reads_rows
    def to(self, contact: str, times: Sequence[datetime]) -> list[MessageTo]:
        """The messages to a contact that wait, or were decided on at ``times`` (in order), the times of lines of its
        trace. Messages that were given up come last.
        """
        found: dict[int, MessageTo] = {}
        schema = self._schema_of(contact)
        rows = self.database.all(_MESSAGES_THAT_WAIT.format(schema), storable(contact))
        for span in self._made(contact, times):
            rows += self.database.all(_MESSAGES_AMONG.format(schema), storable(contact), *span)
        for id, ref, effect, at, attempts, due_at, outcome, detail, *reported in sorted(rows, key=itemgetter(0)):
            status = MessageStatus(*reported) if reported[0] is not None else None
            if id in found and (status is None or _rank(found[id].status) >= status.rank):
                continue
            name, why = (outcome, detail) if status is None else (status.name, status.detail)
            name, replaced = ("sent" if name == "replaced" else name), outcome == "replaced"
            due = read_time(due_at)
            found[id] = MessageTo(
                ref, values.loads(effect), datetime.fromisoformat(at), name, why, attempts, due, replaced
            )
        given_up = [
            MessageTo(
                (given := values.loads(body))["ref"], given["effect"], datetime.fromisoformat(at), "failed", reason
            )
            for id, body, at, reason in self.database.all(
                _GIVEN_UP_TO, storable(contact), time_text(times[0] if times else _EVER)
            )
            if id not in found
        ]
        return [*found.values(), *given_up]

    def _made(self, contact: str, times: Sequence[datetime]) -> list[tuple[int, int]]:
        """The ids among which a contact's messages are: the first and the last of each span.

        There is no index by contacts. But the ids of a shard follow the time, and a message is written with a line of
        its contact's trace, so the times of these lines lead to it.
        """
        made = _MESSAGE_MADE.format(schema := self._schema_of(contact))
        low, last = self.database.one(_MESSAGES_BETWEEN.format(schema))
        if not times or last is None:
            return []
        low = self._first_made(made, low, last + 1, time_text(times[0]))
        if last - low < _FEW_MESSAGES:
            return [(low, last)]
        spans = []
        for at in sorted({*times}):
            low = self._first_made(made, low, last + 1, time_text(at))
            after = self._first_made(made, low, last + 1, time_text(at + timedelta(microseconds=1)))
            spans.append((low, after - 1))
        return spans

    @reads_rows
    def with_file(self, contact: str, ends: str, since: datetime) -> MediaMessage | None:
        """The message to a contact, decided on since a time, with a file at an address that ends so."""
        made = _MESSAGE_MADE.format(schema := self._schema_of(contact))
        low, last = self.database.one(_MESSAGES_BETWEEN.format(schema))
        if last is None:
            return None
        low = self._first_made(made, low, last + 1, time_text(since - _SET_BACK))
        for (effect,) in self.database.all(_MESSAGES_SINCE.format(schema), storable(contact), low):
            message = getattr(values.loads(effect), "message", None)
            if isinstance(message, MediaMessage) and message.link.endswith(ends):
                return message
        return None

    def _first_made(self, made: str, low: int, end: int, since: str) -> int:
        """The first id from ``low`` and before ``end`` whose message was decided on since a time. ``made`` is the query
        for the time of the next one.
        """
        while low < end:
            middle = (low + end) // 2
            row = self.database.one(made, middle)  # nothing where it has gone meanwhile
            if row and row[0] < since:
                low = middle + 1
            else:
                end = middle
        return low

    def statuses(self, contact: str) -> dict[str, MessageStatus]:
        """The status of each message of a contact, by the gateway's id of it."""
        return {id: MessageStatus(*row) for _, id, *row in self._statuses_of(contact)}

    def refs(self, contact: str) -> dict[str, str]:
        """The name of the effect of each message of a contact, by the gateway's id, if the gateway has reported a
        status.
        """
        return {id: ref for ref, id, *_ in self._statuses_of(contact)}

    def statuses_made_at(self, contact: str, times: Sequence[datetime]) -> dict[str, MessageStatus]:
        """The status of each message of a contact that was decided on at these times, by its effect's name."""
        furthest: dict[str, MessageStatus] = {}
        spans, among = self._made(contact, times), _STATUSES_AMONG.format(self._schema_of(contact))
        for ref, *row in (row for span in spans for row in self.database.all(among, storable(contact), *span)):
            status = MessageStatus(*row)
            if ref not in furthest or furthest[ref].rank < status.rank:
                furthest[ref] = status
        return furthest

    def _statuses_of(self, contact: str) -> list[Any]:
        return self.database.all(_STATUSES.format(self._schema_of(contact)), storable(contact))

    def _schema_of(self, contact: str) -> str:
        """The schema of the tables with a contact's rows, for queries in which the planner would otherwise join all
        shards.
        """
        return self._schemas[shard_number(contact, len(self._schemas))]

    @reads_rows
    def last_replaced(self, contact: str) -> datetime | None:
        """The last time at which a template went to the contact in place of a message whose window was closed."""
        return read_time(self.database.one(_LAST_REPLACED, storable(contact))[0])

    @reads_rows
    def requests(self, now: datetime) -> list[tuple[float, int]]:
        """How many seconds ago requests went to the gateway, one day at most, and how many in each second.

        An unknown time counts as later rather than earlier. If the last commit is ahead of now, the clock was set
        back since; then the day ends with that commit, and later requests count as just made.
        """
        end = self._end(now)
        rows = self.database.all(_REQUESTS, time_text(end - _A_DAY), time_text(end))
        return [(_ago(at, end), count) for at, count in rows]

    @reads_rows
    def requests_for(self, now: datetime) -> list[tuple[float, str, int]]:
        """How many seconds ago, in steps of ten minutes, requests for each contact went to the gateway, and how many.
        See `requests`.
        """
        end = self._end(now)
        rows = self.database.all(_REQUESTS_FOR, time_text(end - _A_DAY), time_text(end))
        return [(_ago(at, end), contact, count) for at, contact, count in rows]

    @reads_rows
    def _end(self, now: datetime) -> datetime:
        last = read_time(self.database.one(_WRITTEN_AT)[0])
        return now if last is None else max(now, last)


def _rank(status: str) -> int:
    return STATUSES.index(status) if status in STATUSES else -1


def _ago(at: str, end: datetime) -> float:
    return max((end - datetime.fromisoformat(at)).total_seconds(), 0.0)
