"""What one commit of the engine writes: a value that turns fill, and that is then written whole or not at all."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from bot.core.events import Event, MessageReceived, Tapped
from bot.core.session import HAS_OPTED_OUT, Session
from bot.core.turn import Turn
from bot.core.values import Usage
from bot.store import broadcasts, queues, sessions, trace, usage
from bot.store.broadcasts import RUNNING, Again, Broadcast
from bot.store.rows import (
    CAMPAIGN,
    CallRow,
    OutboxRow,
    SentRow,
    Status,
    json_of,
    optional_text_of,
    optional_time_of,
    text_of,
    time_of,
)

DEAD_LETTER_OUTCOMES = ("failed", "unknown")
"""The outcomes of a send that make a dead letter."""

_Row = tuple[Any, ...]

_CURSOR = "UPDATE meta SET cursor = ?, last_event = coalesce(?, last_event), written_at = ?, taking = NULL"
_SENT = """
    INSERT INTO sent (id, ref, key, contact, effect, priority, outcome, message_ids, attempts, created_at, at, detail)
    SELECT id, ref, key, contact, effect, priority, ?, ?, ?, created_at, ?, ? FROM outbox WHERE id = ?
"""
_MESSAGE_ID = "INSERT OR REPLACE INTO message_ids (message_id, sent_id) VALUES (?, ?)"
_STATUS = """
    INSERT INTO statuses (message_id, contact, status, at, detail) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (message_id) DO UPDATE SET contact = coalesce(excluded.contact, contact),
        status = excluded.status, at = excluded.at, detail = excluded.detail
"""
_ALIAS = "INSERT OR REPLACE INTO aliases (alias, contact) VALUES (?, ?)"
_ORDER = (
    *(sessions.WRITE, trace.ADD, queues.UNPARK, queues.PARK, queues.LETTER_ENDED),
    *(queues.ADD_SEND, queues.SEND_AGAIN, queues.CLAIM, _SENT, queues.SEND_ENDED, _MESSAGE_ID, _STATUS, _ALIAS),
    *(queues.ADD_DEAD_LETTER, broadcasts.SET_BROADCAST, broadcasts.ADD_RECIPIENT, broadcasts.TO_OUTBOX),
    *(broadcasts.ENDED, broadcasts.WAIT_AGAIN, broadcasts.REPEAT, broadcasts.STEP_ASIDE, broadcasts.TAKE_BACK),
    *(
        broadcasts.REFUSED_LETTERS,
        broadcasts.REFUSED_AGAIN,
        broadcasts.LEAVE_OUT,
        broadcasts.HOLD,
        broadcasts.RELEASE,
        broadcasts.OPT_OUT,
    ),
    *(queues.ADD_CALL, queues.CLAIM_CALL, queues.CALL_AGAIN, queues.CALL_SAID, queues.CALL_ENDED, usage.ADD),
)
_PLACE = {sql: place for place, sql in enumerate(_ORDER)}


class Commit:
    """The rows of one commit.

    A method that raises (`bot.core.values.UnstorableValue`, `ValueError`) has added nothing. ``sends`` and
    ``calls`` are the new rows themselves: they are handed on once the commit is durable.
    """

    def __init__(self, cursor: int, at: datetime) -> None:
        self.cursor = cursor
        self.sends: list[OutboxRow] = []
        self.calls: list[CallRow] = []
        self.unparked: set[int] = set()
        self.sends_ended: set[int] = set()
        self.calls_ended: set[int] = set()
        self.letters_ended: set[int] = set()
        self.turns: list[tuple[Event, Turn, int]] = []  # with the microseconds that each took
        self.letters: list[tuple[str, str | None, str]] = []  # new dead letters: what, whose, and why
        self.messages: dict[str, SentRow] = {}  # those that have just been sent, by each of their names
        self.statuses: dict[str, Status] = {}
        self._status_of: dict[str, str | None] = {}  # whose message each of them is of
        self.aliases: dict[str, str] = {}
        self.broadcasts: dict[str, Broadcast] = {}
        self.moved: set[str] = set()  # broadcasts that are in another state than before
        self.recipients: set[tuple[str, str]] = set()
        self.opted_out: set[str] = set()  # contacts: whatever broadcast they wait for, they do not get it
        self._cursor_before = cursor
        self._last_event: str | None = None
        self._at = time_of(at)
        self._sessions: dict[str, _Row] = {}
        self._parked: dict[str, list[tuple[MessageReceived | Tapped, str]]] = {}
        self._rows: dict[str, list[_Row]] = {}

    def statements(self) -> Iterator[tuple[str, list[_Row]]]:
        """All that is to be written: each statement with its rows. Nothing when nothing has happened."""
        rows = self._rows | {
            sessions.WRITE: list(self._sessions.values()),
            queues.PARK: [(text_of(c), event, self._at) for c, parked in self._parked.items() for _, event in parked],
            queues.UNPARK: [(id,) for id in self.unparked],
            queues.LETTER_ENDED: [(id,) for id in self.letters_ended],
            queues.SEND_ENDED: [(id,) for id in self.sends_ended],
            queues.CALL_ENDED: [(id,) for id in self.calls_ended],
            _MESSAGE_ID: [(id, sent.id) for id, sent in self.messages.items()],
            _STATUS: [
                (id, self._status_of[id], status.name, self._at, text_of(status.detail))
                for id, status in self.statuses.items()
            ],
            _ALIAS: list(self.aliases.items()),
            broadcasts.SET_BROADCAST: [self._broadcast_row(each) for each in self.broadcasts.values()],
            broadcasts.HOLD: [(text_of(name),) for name in self.moved if self.broadcasts[name].state != RUNNING],
            broadcasts.RELEASE: [(text_of(name),) for name in self.moved if self.broadcasts[name].state == RUNNING],
            broadcasts.OPT_OUT: [(text_of(contact),) for contact in self.opted_out],
        }
        written = [(sql, rows[sql]) for sql in sorted(rows, key=_PLACE.__getitem__) if rows[sql]]
        if written or self.cursor != self._cursor_before:
            yield _CURSOR, [(self.cursor, self._last_event, self._at)]
            yield from written

    def move_cursor(self, seq: int, event_id: str) -> None:
        """This event of the log is taken. Its id is kept beside its place: a log that has another there is another."""
        self.cursor, self._last_event = seq, event_id

    def add_turn(
        self, before: Session, event: Event, turn: Turn, rows: Sequence[OutboxRow | CallRow], micros: int
    ) -> None:
        """All that a turn decided, and its trace. ``before`` is the session that it met, ``rows`` are those of its
        effects, in order.
        """
        session = sessions.written(turn.session, turn.wake_at)
        effects = [json_of(effect) for effect in turn.effects]
        met = None if before.frames else json_of(before)  # where a conversation begins: what `bot replay` starts from
        written = trace.written(event, turn.trace, effects, micros)
        self._add(trace.ADD, (self._at, *written, met, optional_time_of(turn.wake_at)))
        self._sessions[event.contact] = (*session, self._at)
        self.turns.append((event, turn, micros))
        for row, effect in zip(rows, effects, strict=True):
            if isinstance(row, OutboxRow):
                self._add_send(row, effect)
            else:
                self._add_call(row, effect)

    def add_note(self, contact: str | None, event_id: str, event: str, rule: str, note: str) -> None:
        """A line of the trace about something that was no turn. ``event`` is JSON."""
        self._add(trace.ADD, (self._at, *trace.note_written(contact, event_id, event, rule, note)))

    def add_dead_letter(
        self, what: str, contact: str | None, reason: str, body: str | bytes, send_id: int | None = None
    ) -> None:
        """Something that will not be done, kept for the operator. ``what``: event, send (its id) or turn."""
        self.letters.append((what, contact, reason))
        whose = optional_text_of(contact)
        self._add(queues.ADD_DEAD_LETTER, (what, whose, text_of(reason), body, self._at, send_id))

    def set_session(self, session: Session, wake_at: datetime | None) -> None:
        """A session that no turn has made."""
        self._sessions[session.contact] = (*sessions.written(session, wake_at), self._at)

    def writes_session(self, contact: str) -> bool:
        """True when this commit writes the contact's session: what the file says of it is old."""
        return contact in self._sessions

    def park(self, event: MessageReceived | Tapped) -> None:
        """Keep an event until its contact's call has ended."""
        self._parked.setdefault(event.contact, []).append((event, json_of(event)))

    def unpark(self, contact: str) -> list[MessageReceived | Tapped]:
        """Take back the contact's events that this commit would have parked, in order."""
        return [event for event, _ in self._parked.pop(contact, ())]

    def end_letter(self, dead_letter: int) -> None:
        """A dead letter is done with: what it tells of is to be done after all, or is forgotten."""
        self.letters_ended.add(dead_letter)

    def set_broadcast(self, before: Broadcast | None, after: Broadcast) -> None:
        """A broadcast, as it is from now on. Whoever is not in the outbox waits while it runs, and is held else."""
        self.broadcasts[after.name] = after
        if before is not None and before.state != after.state:
            self.moved.add(after.name)

    def add_recipient(self, broadcast: Broadcast, contact: str, body: Sequence[str]) -> None:
        """A contact is to get a broadcast, or gets it with other parameters. ``body`` fills in the template."""
        names = text_of(broadcast.name), text_of(contact)
        self._add(broadcasts.ADD_RECIPIENT, (*names, json_of(list(body)), self._at, broadcast.edit))
        self.recipients.add((broadcast.name, contact))

    def add_send(self, row: OutboxRow) -> None:
        """A message that no turn has decided on."""
        self._add_send(row, json_of(row.effect))

    def add_campaign_send(self, recipient: int, row: OutboxRow) -> None:
        """The message of a broadcast to a recipient."""
        self.add_send(row)
        self._add(broadcasts.TO_OUTBOX, (row.id, recipient))

    def wait_again(self, send_id: int) -> None:
        """The recipient of a message that was certainly not sent waits for another one."""
        self._add(broadcasts.WAIT_AGAIN, (send_id,))

    def correct_refused(self, send_id: int) -> None:
        """A message of a broadcast was refused, and its recipient has other parameters by now: it waits for another."""
        self.wait_again(send_id)
        self.sends_ended.add(send_id)

    def repeat(self, send_id: int, again: Again) -> None:
        """The recipient of a message waits for it once more, as it was."""
        written = json_of({"ref": again.ref, "key": again.key, "effect": again.effect})
        self._add(broadcasts.REPEAT, (written, send_id))

    def resume_refused(self, broadcast: Broadcast, code: str) -> None:
        """Who was refused a broadcast's message for its template, or with this code, waits for another one."""
        row = text_of(broadcast.name), text_of(code)
        self._add(broadcasts.REFUSED_LETTERS, row)
        self._add(broadcasts.REFUSED_AGAIN, row)

    def leave_out(self, broadcast: Broadcast) -> None:
        """Who is held and is not part of the last correction does not get the broadcast."""
        self._add(broadcasts.LEAVE_OUT, (text_of(broadcast.name), broadcast.edit))

    def take_back(self, send_id: int) -> None:
        """The message of a broadcast leaves the outbox unsent: its recipient is held, or waits again."""
        self._add(broadcasts.TAKE_BACK, (send_id,))
        self.sends_ended.add(send_id)

    def step_aside(self, send_id: int) -> None:
        """The message of a broadcast leaves the outbox unsent: its recipient waits again, behind all others."""
        self._add(broadcasts.STEP_ASIDE, (send_id,))
        self.sends_ended.add(send_id)

    def opt_out_of(self, send_id: int) -> None:
        """The message of a broadcast to a contact who has opted out leaves the outbox unsent."""
        self._add(_SENT, ("opted_out", "[]", 0, self._at, HAS_OPTED_OUT, send_id))
        self._add(broadcasts.ENDED, ("opted_out", "", send_id))
        self.sends_ended.add(send_id)

    def claim_call(self, row: CallRow) -> None:
        """The call is about to be made, by a careful engine: if that crashes, it was this one."""
        self._add(queues.CLAIM_CALL, (self._at, row.id))

    def claim(self, row: OutboxRow) -> None:
        """The message is about to be sent in a way that cannot be repeated: after a crash nobody knows whether it was."""
        self._add(queues.CLAIM, (self._at, row.id))

    def send_again(self, row: OutboxRow, attempts: int, due_at: datetime, detail: str) -> None:
        """The message stays in the outbox, and is tried again later."""
        self._add(queues.SEND_AGAIN, (attempts, time_of(due_at), text_of(detail), row.id))

    def send_ended(
        self,
        row: OutboxRow,
        outcome: str,
        message_ids: Sequence[str],
        attempts: int,
        detail: str,
        at: datetime,
        code: str = "",
    ) -> None:
        """The message is done with: it was sent in some way, or is a dead letter. ``code`` is the gateway's refusal."""
        if outcome in DEAD_LETTER_OUTCOMES:
            body = {"outcome": outcome, "key": row.key, "ref": row.ref, "effect": row.effect, "attempts": attempts}
            self.add_dead_letter("send", row.contact, detail or outcome, json_of(body), row.id)
        else:
            ids = tuple(map(text_of, message_ids))
            self._add(_SENT, (outcome, json_of(list(ids)), attempts, time_of(at), text_of(detail), row.id))
            sent = SentRow(row.id, row.ref, row.key, row.contact, row.effect, row.priority, ids)
            self.messages.update(dict.fromkeys(ids, sent))
        if row.priority == CAMPAIGN:
            self._add(broadcasts.ENDED, (outcome, text_of(code), row.id))
        self.sends_ended.add(row.id)

    def set_status(self, message_id: str, status: Status, contact: str | None) -> None:
        """What became of a message, by one of its names; whose it is, where that is known: it goes with the contact."""
        self.statuses[message_id] = status
        self._status_of[message_id] = optional_text_of(contact) or self._status_of.get(message_id)

    def message_failed(self, sent: SentRow, reason: str, code: str) -> None:
        """A message that the gateway took did not arrive: it is a dead letter."""
        body = {"outcome": "failed", "key": sent.key, "ref": sent.ref, "effect": sent.effect}
        self.add_dead_letter("send", sent.contact, reason, json_of(body), sent.id)
        if sent.priority == CAMPAIGN:
            self._add(broadcasts.ENDED, ("failed", text_of(code), sent.id))

    def set_alias(self, alias: str, contact: str) -> None:
        """The contact writes from this number."""
        self.aliases[alias] = contact

    def add_call(self, row: CallRow) -> None:
        """A call that no turn has decided on."""
        self._add_call(row, json_of(row.effect))

    def call_again(self, row: CallRow, attempts: int, due_at: datetime, detail: str) -> None:
        """The call stays, and is tried again later."""
        self._add(queues.CALL_AGAIN, (attempts, time_of(due_at), text_of(detail), row.id))

    def call_said(self, row: CallRow) -> None:
        """A paragraph of the model's answer has been taken."""
        self._add(queues.CALL_SAID, (row.id,))

    def add_usage(self, row: CallRow, flow: str, used: Usage) -> None:
        """What a model's answer, whole or not, used up."""
        counts = (used.prompt_tokens, used.completion_tokens, used.estimated)
        self._add(usage.ADD, (self._at, text_of(row.contact), flow, text_of(used.model), *counts))

    def call_ended(self, row: CallRow) -> None:
        """The call is done with; its result is an event."""
        self.calls_ended.add(row.id)

    def _add(self, sql: str, row: _Row) -> None:
        self._rows.setdefault(sql, []).append(row)

    def _broadcast_row(self, broadcast: Broadcast) -> _Row:
        template, recent = json_of(broadcast.template), json_of(list(broadcast.recent))
        how = broadcast.state, broadcast.edit, text_of(broadcast.code)
        return (text_of(broadcast.name), template, *how, recent, broadcast.canary, self._at)

    def _add_send(self, row: OutboxRow, effect: str) -> None:
        self.sends.append(row)
        what = (text_of(row.contact), effect, row.priority, optional_text_of(row.channel))
        created, due, expires = time_of(row.created_at), time_of(row.due_at), time_of(row.expires_at)
        self._add(queues.ADD_SEND, (row.id, text_of(row.ref), row.key, *what, created, row.attempts, due, expires))

    def _add_call(self, row: CallRow, effect: str) -> None:
        self.calls.append(row)
        contact, ref = text_of(row.contact), text_of(row.ref)
        self._add(queues.ADD_CALL, (row.id, ref, row.key, contact, effect, self._at, row.attempts, time_of(row.due_at)))
