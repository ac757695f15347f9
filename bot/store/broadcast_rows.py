"""Broadcasts in the engine's file: which template or flow, to whom, and the outcome of each message.

A recipient waits until its own time has come (if it has one), its broadcast sends and its message is in the outbox. It
has an outcome when that message is done. If the broadcast starts a flow, that is the flow's first message. Recipients
are never deleted, so that nobody gets a broadcast twice, however often it is requested.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field, replace
from datetime import datetime, timedelta
from typing import Any

from bot.core import values
from bot.core.effects import Send
from bot.core.immutable import immutable
from bot.core.messages import TemplateMessage
from bot.core.session import CUTS_IN
from bot.core.turn import SKIPPED, STARTED, WAITS
from bot.store.trace_rows import OPERATOR

SCHEDULED, TRYING, RUNNING = "scheduled", "trying", "running"
PAUSED, STOPPED, EDITING, FINISHED = "paused", "stopped", "editing", "finished"
"""The states of a broadcast: nobody's time has come; its first message goes alone; all messages go; refusals have
paused it; an operator has stopped it; a correction of it has begun and not ended; nobody waits for it any more.

Only while it runs do those who wait get their message; the recipients themselves say nothing of it, so that a stop
costs the same for a million as for one.
"""

LIVE = SCHEDULED, TRYING, RUNNING
"""The states in which a contact's time comes."""

TEMPLATE_CODES = "132"
"""The first characters of the gateway's codes about a template or its parameters."""

GOT_IT = "sent", "replaced", "superseded", "plain"
"""The outcomes after which the contact has the broadcast's message."""

CUT_IN = *CUTS_IN, "replace"
"""The outcomes of a flow that started while the contact was in another one."""

ANSWERED_WITHIN = timedelta(hours=24)
"""How long after a broadcast's message a contact who writes answers it."""

_COLUMNS = (
    "name, template, flow, state, edit, code, recent, canary, at, late, resumed_at, begins_at, ended_at, started_by"
)
_BROADCASTS = f"SELECT {_COLUMNS} FROM broadcasts"
BROADCAST = f"{_BROADCASTS} WHERE name = ?"
BROADCAST_OF_ANY_SHARD = f"SELECT {_COLUMNS} FROM engine.broadcasts WHERE name = ?"
ALL_TRYING = "SELECT name FROM broadcasts INDEXED BY broadcasts_trying WHERE state = 'trying' ORDER BY name"
ALL_PAUSED = f"{_BROADCASTS} WHERE state = 'paused' ORDER BY name"
RECIPIENT = "SELECT outcome, body FROM recipients WHERE broadcast = ? AND contact = ?"
OF_SEND = "SELECT broadcast, contact, retries, recipients.edit FROM recipients WHERE send_id = ?"

_WAIT = "send_id IS NULL AND outcome IS NULL"
_READY = f"{_WAIT} AND due_at IS NULL"
_BY_WAITING = "recipients INDEXED BY recipients_waiting"
_LIVE = f"broadcasts INDEXED BY broadcasts_live WHERE state IN {LIVE}"
FIRST_DUE = f"""
    SELECT min((SELECT min(due_at) FROM {_BY_WAITING} WHERE broadcast = name AND {_WAIT} AND due_at IS NOT NULL)) FROM {_LIVE}
"""
ALL_DUE = f"""
    SELECT name FROM {_LIVE} AND EXISTS (SELECT 1 FROM {_BY_WAITING} WHERE broadcast = name AND {_WAIT} AND due_at <= ?)
    ORDER BY name
"""
TO_COME = f"""
    SELECT due_at, count(*) FROM {_BY_WAITING} WHERE broadcast = ? AND {_WAIT} AND due_at IS NOT NULL GROUP BY due_at ORDER BY due_at
"""
_RECIPIENT = "recipients.id, broadcast, contact, body, template, flow, retries, again"
RUNNING_OF = {
    content: f"SELECT name FROM broadcasts INDEXED BY broadcasts_running WHERE state = 'running' AND flow IS {is_null} ORDER BY name"
    for content, is_null in (("templates", "NULL"), ("flows", "NOT NULL"))
}
WAITING = f"""
    SELECT {_RECIPIENT} FROM {_BY_WAITING} JOIN broadcasts ON broadcasts.name = recipients.broadcast
    WHERE broadcast = ? AND {_READY} ORDER BY retries, recipients.id LIMIT ?
"""
STARTING = """
    SELECT count(*) + (SELECT count(*) FROM calls WHERE instr(ref, 'broadcast:' || ?1) > 0)
    FROM recipients INDEXED BY recipients_in_outbox
    WHERE send_id IS NOT NULL AND outcome IS NULL AND began <> '' AND (?1 = '' OR broadcast || ':' = ?1)
"""
IN_OUTBOX = """
    SELECT count(*) FROM recipients INDEXED BY recipients_in_outbox WHERE send_id IS NOT NULL AND outcome IS NULL
"""

_SOME_WAIT_IN = f"EXISTS (SELECT 1 FROM {_BY_WAITING} WHERE broadcast = name AND {_WAIT})"
_SOME_READY_IN = f"EXISTS (SELECT 1 FROM {_BY_WAITING} WHERE broadcast = name AND {_READY})"
SOME_WAIT = f"""
    SELECT EXISTS (SELECT 1 FROM broadcasts WHERE state = 'trying')
        OR EXISTS (SELECT 1 FROM broadcasts INDEXED BY broadcasts_running WHERE state = 'running' AND {_SOME_READY_IN})
"""
_SOME_OUT_OF = """
    EXISTS (
        SELECT 1 FROM recipients INDEXED BY recipients_in_outbox
        WHERE broadcast = name AND send_id IS NOT NULL AND outcome IS NULL
    )
"""
DONE = f"SELECT name FROM {_LIVE} AND NOT {_SOME_WAIT_IN} AND NOT {_SOME_OUT_OF}"
WAITING_OF = f"SELECT count(*) FROM {_BY_WAITING} WHERE broadcast = ? AND {_WAIT}"
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

STATE = "SELECT state FROM {0}broadcasts WHERE name = ?"
_OUTCOME = f"CASE WHEN {_READY} THEN 'not_begun' WHEN {_WAIT} THEN 'to_come' ELSE outcome END"
OUTCOMES = f"SELECT {_OUTCOME}, code, count(*) FROM {{0}}recipients WHERE broadcast = ? GROUP BY 1, 2 ORDER BY 1, 2"
RECIPIENTS = f"SELECT contact, {_OUTCOME}, code FROM recipients WHERE broadcast = ? ORDER BY id"
REACHED = """
    SELECT recipients.contact,
        (
            SELECT max(CASE status WHEN 'read' THEN 2 WHEN 'delivered' THEN 1 ELSE 0 END)
            FROM json_each(messages.message_ids) JOIN {0}statuses ON message_id = value
        ),
        messages.at,
        (
            SELECT min(turns.at) FROM {0}turns AS turns WHERE turns.contact = recipients.contact AND turns.at > messages.at
                AND (event LIKE '{{"$MessageReceived"%' OR event LIKE '{{"$Tapped"%')
        )
    FROM {0}recipients AS recipients JOIN {0}messages AS messages ON messages.id = send_id
    WHERE broadcast = ? AND recipients.outcome IN ('sent', began) AND messages.outcome IN ('sent', 'replaced')
    ORDER BY recipients.id
"""
_TO_COME_IN = f"FROM {_BY_WAITING} WHERE broadcast = name AND {_WAIT} AND due_at IS NOT NULL"
LISTED = f"""
    SELECT name, state, coalesce(begins_at, created_at), ended_at,
        (SELECT count(*) {_TO_COME_IN}), (SELECT min(due_at) {_TO_COME_IN}),
        (SELECT count(*) FROM recipients INDEXED BY recipients_missed WHERE broadcast = name AND outcome = 'missed')
    FROM broadcasts ORDER BY created_at DESC, name
"""
UNFINISHED = f"""
    SELECT name FROM broadcasts WHERE {_SOME_WAIT_IN}
    UNION SELECT broadcast FROM recipients INDEXED BY recipients_in_outbox WHERE send_id IS NOT NULL AND outcome IS NULL
"""

SET_BROADCAST = """
    INSERT INTO broadcasts
        (name, template, flow, state, edit, code, recent, canary, at, late, resumed_at, begins_at, ended_at, created_at, started_by)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (name) DO UPDATE SET template = excluded.template, flow = excluded.flow, state = excluded.state,
        edit = excluded.edit,
        code = excluded.code, recent = excluded.recent, canary = excluded.canary,
        at = excluded.at, late = excluded.late, resumed_at = excluded.resumed_at, begins_at = excluded.begins_at, ended_at = excluded.ended_at
"""
ADD_RECIPIENT = """
    INSERT INTO recipients (broadcast, contact, body, added_at, edit, due_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (broadcast, contact) DO UPDATE SET body = excluded.body, edit = excluded.edit, retries = recipients.retries + 1,
        outcome = CASE WHEN recipients.outcome IN ('left_out', 'missed') THEN NULL ELSE recipients.outcome END,
        due_at = CASE WHEN ?7 THEN excluded.due_at ELSE recipients.due_at END
    WHERE recipients.outcome IS NULL OR recipients.outcome IN ('left_out', 'missed', 'failed', 'unknown')
"""
_MISSED = "due_at < ?3 AND due_at > ?4"
_DUE = f"FROM {_BY_WAITING} WHERE broadcast = ?1 AND {_WAIT} AND due_at <= ?2 ORDER BY due_at LIMIT 1000"
MISSED_OF = f"SELECT count(*) FROM (SELECT due_at {_DUE}) AS due WHERE {_MISSED}"
RELEASE = f"""
    UPDATE recipients SET due_at = NULL, outcome = CASE WHEN {_MISSED} THEN 'missed' END WHERE id IN (SELECT id {_DUE})
"""
TO_OUTBOX = "UPDATE recipients SET send_id = ? WHERE id = ?"
BEGAN = "UPDATE recipients SET began = ?, outcome = ?, code = ? WHERE id = ?"
FIRST_SEND = f"""
    UPDATE recipients SET send_id = ?, outcome = NULL, began = CASE began WHEN '{WAITS}' THEN '{STARTED}' ELSE began END
    WHERE broadcast = ? AND contact = ? AND send_id IS NULL AND outcome = began AND began <> '{SKIPPED}'
"""
SENT_AGAIN = "UPDATE recipients SET send_id = ?, outcome = NULL, code = '' WHERE send_id = ?"
ENDED = f"""
    UPDATE recipients SET code = ?2, again = NULL,
        outcome = CASE WHEN began <> '' AND ?1 IN {GOT_IT} THEN began ELSE ?1 END
    WHERE send_id = ?3
"""
_AGAIN = "send_id = NULL, began = '', code = '', outcome = NULL"
WAIT_AGAIN = f"UPDATE recipients SET {_AGAIN}, retries = retries + 1, again = NULL WHERE send_id = ?"
REPEAT = f"UPDATE recipients SET {_AGAIN}, again = ? WHERE send_id = ?"
STEP_ASIDE = f"UPDATE recipients SET {_AGAIN}, retries = retries + 1 WHERE send_id = ?"
TAKE_BACK = f"UPDATE recipients SET {_AGAIN} WHERE send_id = ?"
_REFUSED = f"""
    broadcast = ?1 AND outcome = 'failed' AND code <> '' AND (code = ?2 OR code LIKE '{TEMPLATE_CODES}%')
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
class FlowToStart:
    """A flow, or ``flow/step``, that a broadcast starts, with values for its variables."""

    flow: str
    data: Mapping[str, Any] = field(default_factory=dict)


Content = TemplateMessage | FlowToStart
"""The content of a broadcast: the message that contacts get, or the flow that it starts for them."""


@immutable
class Broadcast:
    """One broadcast. ``content`` lacks what differs by contact: the parameters of a template's body, the data of a
    flow. ``edit`` counts its corrections.

    ``recent`` are the codes of its last messages, the newest last; empty for one that the gateway accepted. ``code`` is
    the one for which it was paused. ``canary`` is the id of the message that goes alone. ``at`` is the time of day, or
    the day and time, on each contact's own clock, as it was requested; empty: at once. A contact whose time has passed
    by more than ``late`` while no server ran gets nothing, unless it had passed before ``resumed_at``, when it was
    resumed last. ``begins_at`` is the first contact's time. ``ended_at`` is the time since when nobody waits for a
    finished broadcast. ``started_by`` is who requested it first.
    """

    name: str
    content: Content
    state: str = TRYING
    edit: int = 0
    code: str = ""
    recent: tuple[str, ...] = ()
    canary: int | None = None
    at: str = ""
    late: timedelta = timedelta()
    resumed_at: datetime | None = None
    begins_at: datetime | None = None
    ended_at: datetime | None = None
    started_by: str = OPERATOR

    @property
    def starts_flow(self) -> bool:
        """True if it starts a flow; else it sends a template."""
        return isinstance(self.content, FlowToStart)


@immutable
class ListedBroadcast:
    """A broadcast in the list of all. ``began_at``: when it began, or will begin. ``to_come`` contacts wait for their
    time, the next one until ``next_at``. ``missed`` contacts have missed their time.
    """

    name: str
    state: str
    began_at: datetime
    ended_at: datetime | None
    to_come: int
    next_at: datetime | None
    missed: int


@immutable
class Recipient:
    """A contact that waits for its message of a broadcast, with its own parameters or data in the content.

    ``retries`` counts its earlier messages, each under a key of its own. ``again`` is an earlier message that may have
    been sent: it can only be repeated unchanged.
    """

    id: int
    broadcast: str
    contact: str
    content: Content
    retries: int
    again: "RepeatedSend | None"


@immutable
class RepeatedSend:
    """A message that is sent again unchanged, under this key. ``repeated``: the earlier message had the same key."""

    ref: str
    key: str
    effect: Send
    repeated: bool


@immutable
class BroadcastPlace:
    """The recipient and the broadcast of a message. ``retries`` and ``edit`` are the recipient's present ones."""

    broadcast: str
    contact: str
    retries: int
    edit: int


@immutable
class Reached:
    """How far a sent message has got, and whether the contact wrote within `ANSWERED_WITHIN` after it."""

    delivered: bool
    read: bool
    answered: bool


@immutable
class InOutbox:
    """A broadcast's message in the outbox. ``claimed``: it is being sent, so a crash leaves its outcome unknown."""

    id: int
    contact: str
    claimed: bool


def release_row(broadcast: Broadcast, now: datetime) -> tuple[str, str, str, str]:
    """The parameters of `RELEASE` and `MISSED_OF`, for the recipients of a broadcast whose time has come."""
    resumed_at = values.optional_time_text(broadcast.resumed_at) or ""
    return values.storable(broadcast.name), values.time_text(now), values.time_text(now - broadcast.late), resumed_at


NOT_YET = "waiting", "scheduled", "paused", "stopped"
"""The texts of `outcome_in_words` for those who may still get their message."""
_HAVE_IT = "sent", "started", "waits"
"""How these texts begin for those who have got their message, or get it after a conversation."""
_FOR_PEOPLE = {"opted_out": "opted out", "left_out": "left out", "waits": "to start after a conversation"}
"""Outcomes that people read in other words."""
REACHED_FIELDS = "delivered", "read", "answered"


def outcome_for_people(outcome: str) -> str:
    """An outcome in the words that commands and pages show."""
    return _FOR_PEOPLE.get(outcome, outcome)


def without_message(recipients: Iterable[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """The recipients who did not get the broadcast and will not, of those of
    `bot.store.stored_broadcasts.BroadcastReader.recipients`.
    """
    return [each for each in recipients if each[1] not in NOT_YET and not each[1].startswith(_HAVE_IT)]


def reached_totals(reached: Collection[Reached]) -> dict[str, int]:
    """The number of sent messages that are still ``known``, and how many of them were delivered, read and answered."""
    return {"known": len(reached), **{field: sum(getattr(each, field) for each in reached) for field in REACHED_FIELDS}}


def outcome_in_words(outcome: str | None, state: str) -> str:
    """The outcome of a recipient's message in a broadcast of this state, for people: see
    `bot.store.stored_broadcasts.BroadcastReader.outcomes`.
    """
    if outcome in CUT_IN:
        return f"{STARTED} ({outcome})"
    if outcome in ("not_begun", "to_come") and state not in LIVE:
        return "paused" if state == PAUSED else "stopped"
    if outcome == "to_come":
        return "scheduled"
    if outcome == "not_begun":
        return "waiting"
    return outcome or "waiting"


def broadcast(
    name: str,
    template: str | None,
    flow: str | None,
    state: str,
    edit: int,
    code: str,
    recent: str,
    canary: int | None,
    at: str,
    late: int,
    resumed_at: str | None,
    begins_at: str | None,
    ended_at: str | None,
    started_by: str,
) -> Broadcast:
    """A broadcast from its row."""
    codes, waits = tuple(values.loads(recent)), timedelta(seconds=late)
    resumed, begins, ended = (values.read_time(time) for time in (resumed_at, begins_at, ended_at))
    content = _content(template, flow)
    return Broadcast(
        name, content, state, edit, code, codes, canary, at, waits, resumed, begins, ended, started_by=started_by
    )


def listed_broadcast(
    name: str, state: str, began_at: str, ended_at: str | None, to_come: int, next_at: str | None, missed: int
) -> ListedBroadcast:
    """A broadcast in the list of all, from its row."""
    began, ended, due = datetime.fromisoformat(began_at), values.read_time(ended_at), values.read_time(next_at)
    return ListedBroadcast(name, state, began, ended, to_come, due, missed)


def recipient(
    id: int,
    broadcast: str,
    contact: str,
    body: str,
    template: str | None,
    flow: str | None,
    retries: int,
    again: str | None,
) -> Recipient:
    """A recipient from its row."""
    content, own = _content(template, flow), values.loads(body)
    if isinstance(content, FlowToStart):
        content = replace(content, data=own)
    else:
        content = replace(content, body=tuple({"type": "text", "text": text} for text in own))
    return Recipient(
        id, broadcast, contact, content, retries, None if again is None else RepeatedSend(**values.loads(again))
    )


def _content(template: str | None, flow: str | None) -> Content:
    """The content of a broadcast from its columns."""
    if flow is not None:
        return FlowToStart(flow)
    assert template is not None  # the schema has one of both
    found: TemplateMessage = values.loads(template)
    return found
