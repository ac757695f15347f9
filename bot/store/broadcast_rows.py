"""Broadcasts in the engine's file: which template, to whom, and the outcome of each message.

A recipient waits until its broadcast sends and its message is in the outbox, and has an outcome when that message is
done. Recipients are never deleted, so that nobody gets a broadcast twice, however often it is
requested.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from bot.core import values
from bot.core.effects import Send
from bot.core.immutable import immutable
from bot.core.messages import TemplateMessage

SCHEDULED, TRYING, RUNNING = "scheduled", "trying", "running"
PAUSED, STOPPED, EDITING, FINISHED = "paused", "stopped", "editing", "finished"
"""The states of a broadcast: its time has not come; its first message goes alone; all messages go; refusals have paused
it; an operator has stopped it; a correction of it has begun and not ended; nobody waits for it any more.

Only while it runs do those who wait get their message; the recipients themselves say nothing of it, so that a stop costs
the same for a million as for one.
"""

TEMPLATE_CODES = "132"
"""The first characters of the gateway's codes about a template or its parameters."""

ANSWERED_WITHIN = timedelta(hours=24)
"""A contact who writes so long after a message of a broadcast has answered it."""

_BROADCASTS = "SELECT name, template, state, edit, code, recent, canary, begins_at, ended_at FROM broadcasts"
BROADCAST = f"{_BROADCASTS} WHERE name = ?"
ALL_TRYING = "SELECT name FROM broadcasts INDEXED BY broadcasts_trying WHERE state = 'trying' ORDER BY name"
FIRST_SCHEDULED = "SELECT begins_at FROM broadcasts WHERE state = 'scheduled' ORDER BY begins_at LIMIT 1"
ALL_DUE = "SELECT name FROM broadcasts WHERE state = 'scheduled' AND begins_at <= ? ORDER BY name"
ALL_PAUSED = f"{_BROADCASTS} WHERE state = 'paused' ORDER BY name"
RECIPIENT = "SELECT outcome, body FROM recipients WHERE broadcast = ? AND contact = ?"
OF_SEND = "SELECT broadcast, contact, retries, recipients.edit FROM recipients WHERE send_id = ?"

_WAIT = "send_id IS NULL AND outcome IS NULL"
_BY_WAITING = "recipients INDEXED BY recipients_waiting"
_RECIPIENT = "recipients.id, broadcast, contact, body, template, retries, again"
# Every pass makes these two queries. SQLite would take the index of `send_id`, which has every recipient of every broadcast.
WAITING = f"""
    SELECT {_RECIPIENT} FROM broadcasts INDEXED BY broadcasts_running CROSS JOIN recipients ON recipients.id IN (
        SELECT id FROM {_BY_WAITING} WHERE broadcast = name AND {_WAIT} ORDER BY retries, id LIMIT ?1
    )
    WHERE state = 'running' ORDER BY retries, recipients.id LIMIT ?1
"""
IN_OUTBOX = """
    SELECT count(*) FROM recipients INDEXED BY recipients_in_outbox WHERE send_id IS NOT NULL AND outcome IS NULL
"""
FIRST_WAITING = f"""
    SELECT {_RECIPIENT} FROM {_BY_WAITING} JOIN broadcasts ON broadcasts.name = recipients.broadcast
    WHERE broadcast = ? AND {_WAIT} ORDER BY retries, recipients.id LIMIT 1
"""
IN_OUTBOX_SINCE = "SELECT created_at FROM outbox WHERE id = ?"

_SOME_WAIT_IN = f"EXISTS (SELECT 1 FROM {_BY_WAITING} WHERE broadcast = name AND {_WAIT})"
SOME_WAIT = f"""
    SELECT EXISTS (SELECT 1 FROM broadcasts WHERE state = 'trying')
        OR EXISTS (SELECT 1 FROM broadcasts INDEXED BY broadcasts_running WHERE state = 'running' AND {_SOME_WAIT_IN})
"""
_SOME_OUT_OF = """
    EXISTS (
        SELECT 1 FROM recipients INDEXED BY recipients_in_outbox
        WHERE broadcast = name AND send_id IS NOT NULL AND outcome IS NULL
    )
"""
DONE = f"""
    SELECT name FROM broadcasts INDEXED BY broadcasts_trying
    WHERE state = 'trying' AND NOT {_SOME_WAIT_IN} AND NOT {_SOME_OUT_OF}
    UNION ALL SELECT name FROM broadcasts INDEXED BY broadcasts_running
    WHERE state = 'running' AND NOT {_SOME_WAIT_IN} AND NOT {_SOME_OUT_OF}
"""
WAITING_OF = f"SELECT count(*) FROM {_BY_WAITING} WHERE broadcast = ? AND {_WAIT}"
STOPPED_OF_ALL = f"""
    SELECT count(*) FROM broadcasts CROSS JOIN {_BY_WAITING} ON broadcast = name AND {_WAIT}
    WHERE state IN ('paused', 'stopped', 'editing')
"""
IN_OUTBOX_OF = """
    SELECT outbox.id, outbox.contact, claimed_at IS NOT NULL
    FROM recipients INDEXED BY recipients_in_outbox JOIN outbox ON outbox.id = send_id
    WHERE broadcast = ? AND send_id IS NOT NULL AND outcome IS NULL ORDER BY outbox.id
"""
IN_OUTBOX_TO = """
    SELECT outbox.id, outbox.contact, claimed_at IS NOT NULL
    FROM recipients INDEXED BY recipients_open JOIN outbox ON outbox.id = send_id
    WHERE recipients.contact = ? AND outcome IS NULL ORDER BY outbox.id
"""

STATE = "SELECT state FROM broadcasts WHERE name = ?"
_OUTCOME = f"CASE WHEN {_WAIT} THEN 'not_begun' ELSE outcome END"
OUTCOMES = f"SELECT {_OUTCOME}, code, count(*) FROM recipients WHERE broadcast = ? GROUP BY 1, 2 ORDER BY 1, 2"
RECIPIENTS = f"SELECT contact, {_OUTCOME}, code FROM recipients WHERE broadcast = ? ORDER BY id"
REACHED = f"""
    SELECT recipients.contact,
        (
            SELECT max(CASE status WHEN 'read' THEN 2 WHEN 'delivered' THEN 1 ELSE 0 END)
            FROM json_each(messages.message_ids) JOIN statuses ON message_id = value
        ),
        EXISTS (
            SELECT 1 FROM turns WHERE turns.contact = recipients.contact AND turns.at > messages.at
                AND turns.at < strftime('%Y-%m-%dT%H:%M:%f', messages.at, '+{ANSWERED_WITHIN.total_seconds():.0f} seconds')
                AND (event LIKE '{{"$MessageReceived"%' OR event LIKE '{{"$Tapped"%')
        )
    FROM recipients JOIN messages ON messages.id = send_id
    WHERE broadcast = ? AND recipients.outcome = 'sent' ORDER BY recipients.id
"""
LISTED = "SELECT name, state, coalesce(begins_at, created_at), ended_at FROM broadcasts ORDER BY created_at DESC, name"
UNFINISHED = f"""
    SELECT name FROM broadcasts WHERE {_SOME_WAIT_IN}
    UNION SELECT broadcast FROM recipients INDEXED BY recipients_in_outbox WHERE send_id IS NOT NULL AND outcome IS NULL
"""

SET_BROADCAST = """
    INSERT INTO broadcasts (name, template, state, edit, code, recent, canary, begins_at, ended_at, created_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (name) DO UPDATE SET template = excluded.template, state = excluded.state, edit = excluded.edit,
        code = excluded.code, recent = excluded.recent, canary = excluded.canary,
        begins_at = excluded.begins_at, ended_at = excluded.ended_at
"""
ADD_RECIPIENT = """
    INSERT INTO recipients (broadcast, contact, body, added_at, edit) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (broadcast, contact) DO UPDATE SET body = excluded.body, edit = excluded.edit, retries = retries + 1,
        outcome = nullif(outcome, 'left_out')
    WHERE outcome IS NULL OR outcome IN ('left_out', 'failed', 'unknown')
"""
TO_OUTBOX = "UPDATE recipients SET send_id = ? WHERE id = ?"
ENDED = "UPDATE recipients SET outcome = ?, code = ?, again = NULL WHERE send_id = ?"
_AGAIN = "send_id = NULL, code = '', outcome = NULL"
WAIT_AGAIN = f"UPDATE recipients SET {_AGAIN}, retries = retries + 1, again = NULL WHERE send_id = ?"
REPEAT = f"UPDATE recipients SET {_AGAIN}, again = ? WHERE send_id = ?"
STEP_ASIDE = f"UPDATE recipients SET {_AGAIN}, retries = retries + 1 WHERE send_id = ?"
TAKE_BACK = f"UPDATE recipients SET {_AGAIN} WHERE send_id = ?"
_REFUSED = f"""
    broadcast = ?1 AND outcome = 'failed' AND code <> '' AND (code = ?2 OR code GLOB '{TEMPLATE_CODES}*')
    AND edit = (SELECT edit FROM broadcasts WHERE name = ?1)
"""
_BY_FAILED = "recipients INDEXED BY recipients_failed"
REFUSED_OF = f"SELECT count(*) FROM {_BY_FAILED} WHERE {_REFUSED}"
REFUSED_LETTERS = f"DELETE FROM dead_letters WHERE send_id IN (SELECT send_id FROM {_BY_FAILED} WHERE {_REFUSED})"
REFUSED_AGAIN = f"UPDATE {_BY_FAILED} SET {_AGAIN}, retries = retries + 1 WHERE {_REFUSED}"
NOT_CORRECTED_OF = f"{WAITING_OF} AND edit < ?"
LEAVE_OUT = f"UPDATE {_BY_WAITING} SET outcome = 'left_out' WHERE broadcast = ? AND {_WAIT} AND edit < ?"
OPT_OUT = """
    UPDATE recipients INDEXED BY recipients_open SET outcome = 'opted_out'
    WHERE contact = ? AND outcome IS NULL AND send_id IS NULL
"""


@immutable
class Broadcast:
    """One broadcast. ``template`` lacks the parameters of its body, ``edit`` counts its corrections.

    ``recent`` are the codes of its last messages, the newest last; empty for one that the gateway accepted. ``code``
    is the one for which it was paused. ``canary`` is the id of the message that goes alone. ``begins_at``: not before that.
    ``ended_at``, of one that is finished: since when nobody waits for it.
    """

    name: str
    template: TemplateMessage
    state: str = TRYING
    edit: int = 0
    code: str = ""
    recent: tuple[str, ...] = ()
    canary: int | None = None
    begins_at: datetime | None = None
    ended_at: datetime | None = None


@immutable
class ListedBroadcast:
    """A broadcast in the list of all. ``began_at``: when it began, or will."""

    name: str
    state: str
    began_at: datetime
    ended_at: datetime | None


@immutable
class Recipient:
    """A contact that waits for its message of a broadcast, with its own parameters in the template.

    ``retries`` counts its earlier messages, each under a key of its own. ``again`` is a message that may have been
    sent, and can only be repeated as it was.
    """

    id: int
    broadcast: str
    contact: str
    message: TemplateMessage
    retries: int
    again: "RepeatedSend | None"


@immutable
class RepeatedSend:
    """A message that is repeated as it was, under its own key."""

    ref: str
    key: str
    effect: Send


@immutable
class BroadcastPlace:
    """The recipient and the broadcast of a message. ``retries`` and ``edit`` are the recipient's present ones."""

    broadcast: str
    contact: str
    retries: int
    edit: int


@immutable
class Reached:
    """How far a message that was sent has got, and whether the contact has written within `ANSWERED_WITHIN` after it."""

    delivered: bool
    read: bool
    answered: bool


@immutable
class InOutbox:
    """A message of a broadcast in the outbox. ``claimed``: it is being sent, so after a crash its outcome is unknown."""

    id: int
    contact: str
    claimed: bool


def outcome_in_words(outcome: str | None, state: str) -> str:
    """The outcome of a recipient's message in a broadcast of this state, for people: see `StoreReader.outcomes`."""
    if outcome == "not_begun":
        return {SCHEDULED: "scheduled", TRYING: "waiting", RUNNING: "waiting", PAUSED: "paused"}.get(state, "stopped")
    return outcome or "waiting"


def broadcast(
    name: str,
    template: str,
    state: str,
    edit: int,
    code: str,
    recent: str,
    canary: int | None,
    begins_at: str | None,
    ended_at: str | None,
) -> Broadcast:
    """A broadcast from its row."""
    codes = tuple(values.loads(recent))
    times = values.read_time(begins_at), values.read_time(ended_at)
    return Broadcast(name, values.loads(template), state, edit, code, codes, canary, *times)


def listed_broadcast(name: str, state: str, began_at: str, ended_at: str | None) -> ListedBroadcast:
    """A broadcast of the list from its row."""
    return ListedBroadcast(name, state, datetime.fromisoformat(began_at), values.read_time(ended_at))


def recipient(
    id: int, broadcast: str, contact: str, body: str, template: str, retries: int, again: str | None
) -> Recipient:
    """A recipient from its row."""
    parameters = tuple({"type": "text", "text": text} for text in values.loads(body))
    message = replace(values.loads(template), body=parameters)
    return Recipient(
        id, broadcast, contact, message, retries, None if again is None else RepeatedSend(**values.loads(again))
    )
