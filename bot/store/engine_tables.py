"""The queues in the engine's file: messages to send, calls to make, parked events, and dead letters."""

from datetime import datetime

from bot.core import values
from bot.core.effects import Publish, ToSend
from bot.core.immutable import immutable
from bot.core.session import SENDING_WINDOW
from bot.core.values import LEAST_COUNTED
from bot.store.rows import CallRow, EventRow, OutboxRow

EVENT_OUT = "event_out"
"""The kind of a dead letter for an event that could not be delivered."""

WRITE_SESSION = """
    INSERT INTO sessions (contact, flow, step, visit, wake_at, last_inbound, conversation, opted_out, state, handed_over_at, updated_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (contact) DO UPDATE SET flow = excluded.flow, step = excluded.step, visit = excluded.visit,
        wake_at = excluded.wake_at, last_inbound = excluded.last_inbound,
        conversation = excluded.conversation, opted_out = excluded.opted_out, state = excluded.state,
        handed_over_at = excluded.handed_over_at, updated_at = excluded.updated_at
"""
UPDATE_SESSION = """
    UPDATE sessions SET flow = ?2, step = ?3, visit = ?4, wake_at = ?5, last_inbound = ?6, opted_out = ?7, state = ?8,
        handed_over_at = ?9, updated_at = ?10
    WHERE contact = ?1
"""
"""The same for a stored session with the same conversation: SQLite would write the index of each named column anew."""
SESSION_STATE = "SELECT state FROM sessions WHERE contact = ?"
SESSION_STATES_OF = "SELECT contact, state FROM sessions WHERE contact IN (SELECT value FROM json_each(?))"
CONTACT_IN_CONVERSATION = "SELECT contact FROM sessions WHERE conversation = ? ORDER BY updated_at DESC LIMIT 1"
DUE_SESSIONS = "SELECT contact, wake_at FROM sessions WHERE wake_at <= ? ORDER BY wake_at LIMIT ?"
NEXT_WAKE = "SELECT wake_at, contact FROM sessions WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT 1"
SESSION_OPTED_OUT = "SELECT opted_out FROM sessions WHERE contact = ?"
LAST_INBOUND = "SELECT last_inbound FROM sessions WHERE contact = ?"
SESSION_SUMMARIES = """
    SELECT contact, flow, step, wake_at, updated_at, opted_out FROM sessions WHERE contact > ? ORDER BY contact LIMIT ?
"""
HANDED_OVER = (
    "SELECT handed_over_at, state FROM sessions WHERE handed_over_at IS NOT NULL ORDER BY handed_over_at LIMIT ?"
)
COUNT_HANDED_OVER = "SELECT count(*) FROM sessions WHERE handed_over_at IS NOT NULL"
ALL_SESSION_STATES = "SELECT contact, state FROM sessions WHERE contact > ? ORDER BY contact LIMIT ?"


ADD_SEND = """
    INSERT INTO messages (id, ref, key, contact, effect, priority, channel, created_at, attempts, due_at, expires_at, repeated)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
MAY_BE_REPEATED = "UPDATE messages SET repeated = 1 WHERE outcome IS NULL"
CLAIM = "UPDATE messages SET claimed_at = ? WHERE id = ?"
SEND_AGAIN = "UPDATE messages SET attempts = ?, due_at = ?, detail = ?, unclear = ?, claimed_at = NULL WHERE id = ?"
SENT = """
    UPDATE messages SET outcome = ?, message_ids = ?, attempts = ?, at = ?, detail = ?,
        due_at = NULL, expires_at = NULL, claimed_at = NULL
    WHERE id = ?
"""
FORGET_SEND = "DELETE FROM messages WHERE id = ?"
_SENDS = """
    SELECT outbox.id, ref, key, contact, effect, priority, channel,
        created_at, attempts, due_at, expires_at, unclear, repeated, last_inbound
    FROM outbox LEFT JOIN sessions USING (contact)
"""
PENDING_SENDS = f"{_SENDS} WHERE outbox.id > ? AND claimed_at IS NULL ORDER BY outbox.id LIMIT ?"
CLAIMED_SENDS = f"{_SENDS} WHERE claimed_at IS NOT NULL ORDER BY outbox.id"

LIST_CONTACT = """
    INSERT INTO listed_contacts (contact, state) VALUES (?, ?) ON CONFLICT (contact) DO UPDATE SET state = excluded.state
"""
UNLIST_CONTACT = "DELETE FROM listed_contacts WHERE contact = ?"
LISTED_CONTACT = "SELECT state FROM listed_contacts WHERE contact = ?"
WANTED_CONTACTS = "SELECT contact FROM listed_contacts WHERE state IS NULL ORDER BY contact"
LIST_READ = "UPDATE meta SET listed_at = ?"
LIST_READ_AT = "SELECT listed_at FROM meta"
LISTING = "SELECT id FROM outbox WHERE contact = ''"

ADD_CALL = """
    INSERT INTO calls (id, ref, key, contact, effect, created_at, attempts, due_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
ANSWER = "UPDATE requests SET answer = ? WHERE id = ?"
CLAIM_CALL = "UPDATE calls SET claimed_at = ? WHERE id = ?"
CALL_AGAIN = "UPDATE calls SET attempts = ?, due_at = ?, detail = ?, claimed_at = NULL WHERE id = ?"
CALL_SAID = "UPDATE calls SET said = said + 1 WHERE id = ?"
CALL_ENDED = "DELETE FROM calls WHERE id = ?"
PENDING_CALLS = """
    SELECT id, ref, key, contact, effect, attempts, due_at, said FROM calls WHERE id > ? ORDER BY id LIMIT ?
"""

ADD_EVENT = """
    INSERT INTO events_out (ref, key, contact, effect, created_at, due_at)
    SELECT ?1, ?2, ?3, ?4, ?5, CASE WHEN EXISTS (SELECT 1 FROM events_out WHERE contact = ?3) THEN NULL ELSE ?5 END
"""
"""Only the first event of a contact is due: the others come after it."""
EVENT_AGAIN = "UPDATE events_out SET attempts = ?, due_at = ?, detail = ? WHERE id = ?"
EVENT_ENDED = "DELETE FROM events_out WHERE id = ?"
NEXT_EVENT_DUE = """
    UPDATE events_out SET due_at = ?2
    WHERE id = (SELECT min(id) FROM events_out WHERE contact = ?1) AND due_at IS NULL
"""
_NOT_THESE = "id NOT IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
DUE_EVENTS = f"""
    SELECT id, ref, key, contact, effect, attempts, due_at, created_at FROM events_out
    WHERE due_at <= ? AND {_NOT_THESE} ORDER BY due_at, id LIMIT ?
"""
SOME_EVENT = "SELECT EXISTS (SELECT 1 FROM events_out)"
FIRST_EVENT = f"SELECT due_at FROM events_out WHERE due_at IS NOT NULL AND {_NOT_THESE} ORDER BY due_at LIMIT 1"

PARK = "INSERT INTO parked (contact, event, parked_at) VALUES (?, ?, ?)"
UNPARK = "DELETE FROM parked WHERE id = ?"
PARKED = """SELECT id, event, instr(event, '"id":"kept:') > 0 FROM parked WHERE contact = ? ORDER BY id"""

ADD_DEAD_LETTER = "INSERT INTO dead_letters (what, contact, reason, body, at, send_id) VALUES (?, ?, ?, ?, ?, ?)"
LETTER_ENDED = "DELETE FROM dead_letters WHERE id = ?"
DEAD_LETTER = "SELECT what, contact, body, send_id FROM dead_letters WHERE id = ?"

QUEUE_COUNTS = """
    SELECT 'parked', count(*) FROM parked
    UNION ALL SELECT 'outbox', count(*) FROM outbox
    UNION ALL SELECT 'calls', count(*) FROM calls
    UNION ALL SELECT 'events_out', count(*) FROM events_out
"""
"""How many rows each queue has, by table."""
COUNTS = f"""
    SELECT 'sessions', count(*) FROM sessions
    UNION ALL SELECT 'dead_letters', count(*) FROM dead_letters
    UNION ALL {QUEUE_COUNTS}
"""
"""The same, and how many sessions and dead letters there are."""

OLDEST = """
    SELECT 'outbox', (SELECT created_at FROM {0}outbox ORDER BY id LIMIT 1)
    UNION ALL SELECT 'calls', (SELECT created_at FROM {0}calls ORDER BY id LIMIT 1)
    UNION ALL SELECT 'events_out', (SELECT created_at FROM {0}events_out ORDER BY id LIMIT 1)
    UNION ALL SELECT 'parked', (SELECT parked_at FROM {0}parked ORDER BY id LIMIT 1)
"""
"""Since when the oldest row of each table of a shard waits; NULL for none. Ids follow the time in a shard alone."""


@immutable
class DeadSend:
    """A message that was given up, as its dead letter has it, after so many ``attempts``. ``send_id`` was its id in the
    outbox.

    ``key_helps``, of one that may have been sent: the gateway may recognise it by its key, and not send it twice.
    """

    contact: str
    ref: str
    key: str
    outcome: str
    effect: ToSend
    send_id: int | None
    attempts: int
    key_helps: bool

    @property
    def may_be_sent(self) -> bool:
        """True if nobody can tell whether it was sent."""
        return self.outcome == "unknown"


@immutable
class DeadEvent:
    """An event that could not be delivered, as its dead letter has it."""

    contact: str
    ref: str
    key: str
    effect: Publish


def outbox_row(
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
        window_until=None if last_inbound is None else datetime.fromisoformat(last_inbound) + SENDING_WINDOW,
        unclear=bool(unclear),
        repeated=bool(repeated),
    )


def call_row(id: int, ref: str, key: str, contact: str, effect: str, attempts: int, due_at: str, said: int) -> CallRow:
    """A call to make, from its row."""
    return CallRow(id, ref, key, contact, values.loads(effect), attempts, datetime.fromisoformat(due_at), said)


def event_row(
    id: int, ref: str, key: str, contact: str, effect: str, attempts: int, due_at: str, created_at: str
) -> EventRow:
    """An event to deliver, from its row."""
    due, created = datetime.fromisoformat(due_at), datetime.fromisoformat(created_at)
    return EventRow(id, ref, key, contact, values.loads(effect), attempts, due, created_at=created)


def dead_event(what: str, contact: str, body: str, send_id: int | None) -> DeadEvent | None:
    """The event of a dead letter, from its row; None if it is not of an event that was to be delivered."""
    return DeadEvent(contact=contact, **values.loads(body)) if what == EVENT_OUT else None


def dead_send(what: str, contact: str, body: str, send_id: int | None) -> DeadSend | None:
    """The message of a dead letter, from its row; None if it is not of a message."""
    if what != "send":
        return None
    fields = values.loads(body)
    return DeadSend(
        contact,
        fields["ref"],
        fields["key"],
        fields["outcome"],
        fields["effect"],
        send_id,
        fields.get("attempts", 0),
        fields.get("key_helps", False),
    )


COUNT_RESULT = """
    INSERT INTO results (day, flow, step, split, way, outcome, count) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (day, flow, step, split, way, outcome) DO UPDATE SET count = results.count + excluded.count
"""
RESULTS = """
    SELECT day, flow, step, split, way, outcome, count FROM results
    WHERE day >= ? ORDER BY flow, step, split, way, outcome, day
"""
WAITING_AT = "SELECT flow, step, count(*) FROM sessions WHERE flow IS NOT NULL GROUP BY flow, step"
FORGET_RESULTS = "DELETE FROM results WHERE day < ?"


@immutable
class ResultCount:
    """How often something happened at a step of a flow on a day (UTC): see `bot.core.turn.Counted`."""

    day: str
    flow: str
    step: str
    split: str
    way: str
    outcome: str
    count: int


ADD_USAGE = """
    INSERT INTO usage (at, contact, flow, model, prompt_tokens, completion_tokens, estimated) VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_COUNTED = f"""
    CASE WHEN prompt_tokens + completion_tokens > {LEAST_COUNTED} THEN prompt_tokens + completion_tokens ELSE {LEAST_COUNTED} END
"""
TOKENS_USED = f"SELECT coalesce(sum({_COUNTED}), 0) FROM usage WHERE at >= ?"
TOKENS_USED_BY = TOKENS_USED + " AND contact = ?"
_SUMS = """
    SELECT {of} AS name, count(*), sum(prompt_tokens), sum(completion_tokens), sum(estimated) FROM usage
    WHERE at >= ? GROUP BY name ORDER BY {order}, name
"""
_MOST_FIRST = "sum(prompt_tokens + completion_tokens) DESC"
USAGE_SUMS = {
    "contact": _SUMS.format(of="CASE contact WHEN '' THEN 'erased' ELSE contact END", order=_MOST_FIRST),
    "flow": _SUMS.format(of="flow", order=_MOST_FIRST),
    "model": _SUMS.format(of="model", order=_MOST_FIRST),
    "day": _SUMS.format(of="substr(at, 1, 10)", order="name"),
}
USAGE_BY = tuple(USAGE_SUMS)
"""The columns by which usage can be summed up."""


@immutable
class UsageSum:
    """The tokens that one contact, flow, model or day (UTC) used. The service did not count ``estimated`` answers."""

    name: str
    answers: int
    prompt_tokens: int
    completion_tokens: int
    estimated: int
