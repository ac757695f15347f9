"""Everything that one commit of the engine writes. Turns add to it, and it is written in full or not at all."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from bot.core.effects import Send
from bot.core.events import MOVED, AliasLearned, ContactChanged, Event, Forwarded, MessageReceived, Tapped
from bot.core.session import HAS_OPTED_OUT, Session
from bot.core.turn import Counted, StepTaken, Trace, Turn
from bot.core.values import (
    Usage,
    json_text,
    optional_storable,
    optional_time_text,
    plain_json_text,
    storable,
    time_text,
)
from bot.store import broadcast_rows, engine_tables, trace_rows
from bot.store.broadcast_rows import Broadcast, FlowToStart, RepeatedSend
from bot.store.rows import CAMPAIGN, CallRow, EventRow, MessageStatus, NewEvent, OutboxRow, SentRow

DEAD_LETTER_OUTCOMES = ("failed", "unknown")
"""The outcomes of a send that make a dead letter."""

_Row = tuple[Any, ...]

_CURSOR = """
    UPDATE meta SET cursor = ?1, last_event = coalesce(?2, last_event), written_at = ?3, taking = NULL,
        last_send = CASE WHEN ?4 > last_send THEN ?4 ELSE last_send END,
        last_call = CASE WHEN ?5 > last_call THEN ?5 ELSE last_call END,
        last_turn = CASE WHEN ?6 > last_turn THEN ?6 ELSE last_turn END
"""
_MESSAGE_ID = """
    INSERT INTO message_ids (message_id, sent_id) VALUES (?, ?)
    ON CONFLICT (message_id) DO UPDATE SET sent_id = excluded.sent_id
"""
_STATUS = """
    INSERT INTO statuses (message_id, contact, status, at, detail) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (message_id) DO UPDATE SET contact = coalesce(excluded.contact, statuses.contact),
        status = excluded.status, at = excluded.at, detail = excluded.detail
"""
_FORGET_STATUS = "DELETE FROM statuses WHERE message_id = ?"
_ALIAS = """
    INSERT INTO aliases (alias, contact) VALUES (?, ?) ON CONFLICT (alias) DO UPDATE SET contact = excluded.contact
"""
OF_BROADCASTS = (
    *(broadcast_rows.SET_BROADCAST, broadcast_rows.ADD_RECIPIENT, broadcast_rows.TO_OUTBOX),
    *(broadcast_rows.BEGAN, broadcast_rows.FIRST_SEND, broadcast_rows.SENT_AGAIN),
    *(broadcast_rows.ENDED, broadcast_rows.WAIT_AGAIN, broadcast_rows.REPEAT),
    *(broadcast_rows.STEP_ASIDE, broadcast_rows.TAKE_BACK),
    *(broadcast_rows.REFUSED_LETTERS, broadcast_rows.REFUSED_AGAIN, broadcast_rows.LEAVE_OUT),
    *(broadcast_rows.RELEASE, broadcast_rows.OPT_OUT),
)
"""The statements after which other recipients may wait than before."""
_LETS_WAIT = (
    broadcast_rows.ADD_RECIPIENT,
    broadcast_rows.RELEASE,
    broadcast_rows.FIRST_SEND,
    broadcast_rows.WAIT_AGAIN,
    broadcast_rows.REPEAT,
    broadcast_rows.REFUSED_AGAIN,
)
_ORDER = (
    *(engine_tables.WRITE_SESSION, engine_tables.UPDATE_SESSION, trace_rows.ADD_TURN),
    *(engine_tables.UNPARK, engine_tables.PARK, engine_tables.LETTER_ENDED),
    *(engine_tables.ADD_SEND, engine_tables.SEND_AGAIN, engine_tables.CLAIM),
    *(engine_tables.SENT, engine_tables.FORGET_SEND, _MESSAGE_ID, _FORGET_STATUS, _STATUS, _ALIAS),
    *(engine_tables.LIST_CONTACT, engine_tables.UNLIST_CONTACT, engine_tables.LIST_READ),
    *(engine_tables.ADD_DEAD_LETTER, *OF_BROADCASTS),
    *(engine_tables.ADD_CALL, engine_tables.CLAIM_CALL, engine_tables.CALL_AGAIN),
    *(engine_tables.CALL_SAID, engine_tables.CALL_ENDED, engine_tables.ADD_USAGE),
    *(engine_tables.ADD_EVENT, engine_tables.EVENT_AGAIN, engine_tables.EVENT_ENDED, engine_tables.NEXT_EVENT_DUE),
    engine_tables.COUNT_RESULT,
    engine_tables.ANSWER,
)
_PLACE = {sql: place for place, sql in enumerate(_ORDER)}


class Commit:
    """The rows of one commit. A method that raises (`bot.core.values.UnstorableValue`, `ValueError`) has added
    nothing.

    ``sends`` and ``calls`` are the new rows. They are handed to delivery and performers when the commit is durable.
    """

    def __init__(self, cursor: int, at: datetime) -> None:
        self.cursor = cursor
        self.sends: list[OutboxRow] = []
        self.calls: list[CallRow] = []
        self.unparked: set[int] = set()
        self.sends_ended: set[int] = set()
        self.calls_ended: set[int] = set()
        self.events_tried: set[int] = set()  # events to deliver that ended, or are due again later
        self.dead_letters_ended: set[int] = set()  # what they are of is tried again now, or forgotten
        self.turns: list[tuple[Event, Turn, int]] = []  # with the microseconds of each
        self.dead_letters: list[tuple[str, str | None, str]] = []  # new dead letters: what, the contact, and why
        self.messages: dict[str, SentRow] = {}  # messages that were just sent, by each of their ids
        self.statuses: dict[str, MessageStatus] = {}
        self._status_of: dict[str, str | None] = {}  # the contact of each message
        self.failed_early: set[str] = set()  # ids of messages that failed, and are not known to be the bot's
        self.early: set[str] = set()  # ids of messages with a status, which no shard is known to have sent
        self.statuses_forwarded: set[str] = set()  # ids of messages whose status another shard keeps now
        self.forwarded: dict[int, list[_Row]] = {}  # by the shard, new rows of its log
        self.aliases: dict[str, str] = {}  # the contacts who write from these numbers, too
        self.listed: dict[str, ContactChanged | None] = {}  # as the gateway's list has them; None: they wait for it
        self.unlisted: set[str] = set()  # what the list had of these is out of date, or taken
        self.broadcasts: dict[str, Broadcast] = {}
        self.moved: set[str] = set()  # broadcasts whose state has changed
        self.recipients: set[tuple[str, str]] = set()
        self.opted_out: set[str] = set()  # contacts who get no broadcast any more, whichever they wait for
        self._cursor_before = cursor
        self._last_event: str | None = None
        self._at = time_text(at)
        self._sessions: dict[str, tuple[Session, _Row]] = {}
        self._parked: dict[str, list[tuple[MessageReceived | Tapped, str]]] = {}
        self._results = Counter[Counted]()
        self._rows = defaultdict[str, list[_Row]](list)

    @property
    def new_turns(self) -> int:
        """How many lines the trace gets."""
        return len(self._rows[trace_rows.ADD_TURN])

    def statements(self, recent: Mapping[str, Session], turns: Sequence[int]) -> Iterator[tuple[str, list[_Row]]]:
        """The statements to write, each with its rows; none if nothing has happened. ``recent`` are sessions in the
        file, ``turns`` the ids of the trace's `new_turns` lines.
        """
        known, new = list[_Row](), list[_Row]()
        for contact, (session, row) in self._sessions.items():
            stored = recent.get(contact)
            if stored is None or stored.conversation != session.conversation:
                new.append(row)
            else:
                known.append((*row[:6], *row[7:]))
        rows = self._rows | {
            trace_rows.ADD_TURN: [(id, *row) for id, row in zip(turns, self._rows[trace_rows.ADD_TURN], strict=True)],
            engine_tables.WRITE_SESSION: new,
            engine_tables.UPDATE_SESSION: known,
            engine_tables.PARK: [
                (storable(c), event, self._at) for c, parked in self._parked.items() for _, event in parked
            ],
            engine_tables.UNPARK: [(id,) for id in self.unparked],
            engine_tables.LETTER_ENDED: [(id,) for id in self.dead_letters_ended],
            engine_tables.CALL_ENDED: [(id,) for id in self.calls_ended],
            _MESSAGE_ID: [(id, sent.id) for id, sent in self.messages.items()],
            _STATUS: [
                (id, self._status_of[id], status.name, self._at, storable(status.detail))
                for id, status in self.statuses.items()
            ],
            _FORGET_STATUS: [(id,) for id in self.statuses_forwarded],
            _ALIAS: list(self.aliases.items()),
            engine_tables.LIST_CONTACT: [
                (storable(contact), None if event is None else json_text(event))
                for contact, event in self.listed.items()
            ],
            engine_tables.UNLIST_CONTACT: [(storable(contact),) for contact in self.unlisted],
            engine_tables.COUNT_RESULT: [
                (self._at[:10], *map(storable, counted), count) for counted, count in self._results.items()
            ],
            broadcast_rows.SET_BROADCAST: [self._broadcast_row(each) for each in self.broadcasts.values()],
            broadcast_rows.OPT_OUT: [(storable(contact),) for contact in self.opted_out],
        }
        written = [(sql, rows[sql]) for sql in sorted(rows, key=_PLACE.__getitem__) if rows[sql]]
        if written or self.forwarded or self.cursor != self._cursor_before:
            last = (rows[-1].id if rows else 0 for rows in (self.sends, self.calls))
            yield _CURSOR, [(self.cursor, self._last_event, self._at, *last, turns[-1] if turns else 0)]
            yield from written

    def move_cursor(self, seq: int, event_id: str) -> None:
        """Move the cursor to an event of the log. Its id is stored too, as another log may have another event there."""
        self.cursor, self._last_event = seq, event_id

    def forward(self, shard: int, what: Forwarded | AliasLearned, key: str, contact: str = "") -> None:
        """Append to another shard's log, once for each ``key``. No number may be in the key: an erasure keeps it."""
        body = json_text(what).encode()
        row = None, f"{MOVED}{key}", "moved", optional_storable(contact or None), self._at, body, 1, None
        self.forwarded.setdefault(shard, []).append(row)

    def add_turn(
        self,
        before: Session,
        event: Event,
        turn: Turn,
        rows: Sequence[OutboxRow | CallRow | NewEvent | None],
        micros: int,
    ) -> None:
        """Everything that a turn decided, and its trace. ``before`` is the session before it; ``rows`` are those of
        its effects, in order; None: that effect has none.
        """
        session = (*session_row(turn.session, turn.wake_at), self._at)
        effects = [json_text(effect) for effect in turn.effects]
        met = None if before.frames else json_text(before)  # `bot replay` begins a conversation with its first session
        written = turn_row(event, turn.trace, effects, micros)
        self._rows[trace_rows.ADD_TURN].append((self._at, *written, met, session[4]))
        self._sessions[event.contact] = turn.session, session
        self.turns.append((event, turn, micros))
        for counted in turn.results:
            self._results[counted] += 1
        if turn.session.broadcast is not None:
            first = next((row for row in rows if isinstance(row, OutboxRow) and isinstance(row.effect, Send)), None)
            if first is not None:
                whose = storable(turn.session.broadcast), storable(event.contact)
                self._add(broadcast_rows.FIRST_SEND, (first.id, *whose))
        for row, effect in zip(rows, effects, strict=True):
            if isinstance(row, OutboxRow):
                self.add_send(row, effect)
            elif isinstance(row, NewEvent):
                self.add_event(row, effect)
            elif row is not None:
                self.add_call(row, effect)

    def add_note(
        self, contact: str | None, event_id: str, event: str, rule: str, note: str, effects: str = "[]"
    ) -> None:
        """A line of the trace about something that is not a turn. ``event`` is JSON, ``effects`` a JSON list."""
        self._add(trace_rows.ADD_TURN, (self._at, *trace_rows.note_row(contact, event_id, event, rule, note, effects)))

    def add_dead_letter(
        self, what: str, contact: str | None, reason: str, body: str | bytes, send_id: int | None = None
    ) -> None:
        """Something that was given up, kept for the operator. ``what``: event, send (its id) or turn."""
        self.dead_letters.append((what, contact, reason))
        whose = optional_storable(contact)
        body = body if isinstance(body, str) else body.decode("utf-8", "backslashreplace")
        self._add(engine_tables.ADD_DEAD_LETTER, (what, whose, storable(reason), body, self._at, send_id))

    def set_session(self, session: Session, wake_at: datetime | None) -> None:
        """A session that was not made by a turn."""
        self._sessions[session.contact] = session, (*session_row(session, wake_at), self._at)

    def wakes_at(self, contact: str, wake_at: datetime) -> bool:
        """True if this commit leaves it at that a contact's session is woken at this time."""
        written = self._sessions.get(contact)
        return written is None or written[1][4] == time_text(wake_at)

    def sessions(self) -> Iterable[tuple[Session, _Row]]:
        """The sessions that this commit writes, each with its row."""
        return self._sessions.values()

    def park(self, event: MessageReceived | Tapped) -> None:
        """Keep an event until its contact's call has ended."""
        self._parked.setdefault(event.contact, []).append((event, json_text(event)))

    def unpark(self, contact: str) -> list[MessageReceived | Tapped]:
        """Return the contact's events that this commit would have parked, in order, and do not park them."""
        return [event for event, _ in self._parked.pop(contact, ())]

    def set_broadcast(self, before: Broadcast | None, after: Broadcast) -> None:
        """Write a broadcast."""
        self.broadcasts[after.name] = after
        if before is not None and before.state != after.state:
            self.moved.add(after.name)

    @property
    def lets_recipients_wait(self) -> bool:
        """True if somebody may wait for a broadcast after this commit who did not before."""
        return any(sql in self._rows for sql in _LETS_WAIT)

    @property
    def frees_recipients(self) -> bool:
        """True if other recipients may follow: the commit starts flows of a broadcast, or the time of some has come."""
        return broadcast_rows.BEGAN in self._rows or broadcast_rows.RELEASE in self._rows

    def add_recipient(
        self,
        broadcast: Broadcast,
        contact: str,
        own: list[str] | dict[str, Any],
        due_at: datetime | None,
        moved: bool = False,
    ) -> None:
        """A contact is to get a broadcast, not before a time, or gets it with other parameters; and at another time
        where it is ``moved``. ``own`` has the parameters of the template, or the flow's data.
        """
        what = storable(broadcast.name), storable(contact), json_text(own), self._at, broadcast.edit
        self._add(broadcast_rows.ADD_RECIPIENT, (*what, optional_time_text(due_at), moved))
        self.recipients.add((broadcast.name, contact))

    def add_send(self, row: OutboxRow, effect: str = "") -> None:
        """A new message. ``effect`` is its effect as JSON, where that has been written."""
        what = (storable(row.contact), effect or json_text(row.effect), row.priority, optional_storable(row.channel))
        created, due, expires = time_text(row.created_at), time_text(row.due_at), time_text(row.expires_at)
        times = created, row.attempts, due, expires
        self._add(engine_tables.ADD_SEND, (row.id, storable(row.ref), row.key, *what, *times, int(row.repeated)))
        self.sends.append(row)

    def add_campaign_send(self, recipient: int, row: OutboxRow) -> None:
        """The message of a broadcast to a recipient."""
        self.add_send(row)
        self._add(broadcast_rows.TO_OUTBOX, (row.id, recipient))

    def release(self, broadcast: Broadcast, now: datetime) -> None:
        """Release a broadcast's recipients whose time has come, or mark them as missed: at most 1000, by due time."""
        self._add(broadcast_rows.RELEASE, broadcast_rows.release_row(broadcast, now))

    def begin_flow(self, recipient: int, began: str, code: str = "") -> None:
        """A broadcast has started its flow for a recipient, or could not: ``began`` says what became of it."""
        self._add(broadcast_rows.BEGAN, ("" if code else began, began, code, recipient))

    def sent_again(self, before: int, send_id: int) -> None:
        """A message of a flow, which was given up, goes again as another one: it may be a broadcast's."""
        self._add(broadcast_rows.SENT_AGAIN, (send_id, before))

    def wait_again(self, send_id: int) -> None:
        """The recipient of a message that was certainly not sent waits for another message."""
        self._add(broadcast_rows.WAIT_AGAIN, (send_id,))

    def correct_refused(self, send_id: int) -> None:
        """A broadcast's message was refused. Its recipient, who has other parameters now, waits for another message."""
        self.wait_again(send_id)
        self._forget_send(send_id)

    def repeat(self, send_id: int, again: RepeatedSend) -> None:
        """The recipient of a message waits for it again, as it was."""
        fields = {"ref": again.ref, "key": again.key, "effect": again.effect, "repeated": again.repeated}
        written = json_text(fields)
        self._add(broadcast_rows.REPEAT, (written, send_id))

    def resume_refused(self, broadcast: Broadcast, code: str) -> None:
        """Recipients whose message was refused for its template, or with this code, wait for another one."""
        row = storable(broadcast.name), storable(code)
        self._add(broadcast_rows.REFUSED_LETTERS, row)
        self._add(broadcast_rows.REFUSED_AGAIN, row)

    def exclude(self, broadcast: Broadcast) -> None:
        """Recipients that wait and are not part of the last correction do not get the broadcast."""
        self._add(broadcast_rows.LEAVE_OUT, (storable(broadcast.name), broadcast.edit))

    def withdraw(self, send_id: int) -> None:
        """A message of a broadcast leaves the outbox unsent. Its recipient waits again."""
        self._add(broadcast_rows.TAKE_BACK, (send_id,))
        self._forget_send(send_id)

    def requeue_last(self, send_id: int) -> None:
        """A message of a broadcast leaves the outbox unsent. Its recipient waits again, behind all others."""
        self._add(broadcast_rows.STEP_ASIDE, (send_id,))
        self._forget_send(send_id)

    def opt_out_of(self, send_id: int) -> None:
        """A broadcast's message to a contact who has opted out leaves the outbox unsent."""
        self._add(engine_tables.SENT, ("opted_out", "[]", 0, self._at, HAS_OPTED_OUT, send_id))
        self._add(broadcast_rows.ENDED, ("opted_out", "", send_id))
        self.sends_ended.add(send_id)

    def answer(self, request: str, answer: Mapping[str, Any]) -> None:
        """Answer a request from another machine: this commit carries it out, or an earlier one did."""
        self._add(engine_tables.ANSWER, (json_text(answer), request))

    def claim_call(self, row: CallRow) -> None:
        """In the crash quarantine, the call is about to be made. If the engine crashes now, this call was the cause."""
        self._add(engine_tables.CLAIM_CALL, (self._at, row.id))

    def claim(self, row: OutboxRow) -> None:
        """The message is about to be sent in a way that cannot be repeated. After a crash its outcome is unknown."""
        self._add(engine_tables.CLAIM, (self._at, row.id))

    def send_again(
        self, row: OutboxRow, attempts: int, due_at: datetime, detail: str, *, unclear: bool = False
    ) -> None:
        """The message stays in the outbox and is tried again later. ``unclear``: it may have been sent."""
        self._add(engine_tables.SEND_AGAIN, (attempts, time_text(due_at), storable(detail), int(unclear), row.id))

    def send_ended(
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
        """The message is done: it was sent, or it is a dead letter. ``code`` is the gateway's refusal. ``key_helps``:
        see `bot.store.engine_tables.DeadSend`.
        """
        if outcome in DEAD_LETTER_OUTCOMES:
            self.dead_send(row, outcome, detail, attempts, key_helps=key_helps)
            self._forget_send(row.id)
        else:
            ids = tuple(map(storable, message_ids))
            how = outcome, plain_json_text(ids), attempts, time_text(at), storable(detail), row.id
            self._rows[engine_tables.SENT].append(how)
            sent = SentRow(row.id, row.ref, row.key, row.contact, row.effect, row.priority, ids)
            for id in ids:
                self.messages[id] = sent
        if row.priority == CAMPAIGN:
            self._add(broadcast_rows.ENDED, (outcome, storable(code), row.id))
        self.sends_ended.add(row.id)

    def dead_send(
        self, row: OutboxRow, outcome: str, reason: str, attempts: int = 0, *, key_helps: bool = False
    ) -> None:
        """A message becomes a dead letter."""
        body = {"outcome": outcome, "key": row.key, "ref": row.ref, "effect": row.effect, "attempts": attempts}
        body |= {"key_helps": True} if key_helps else {}
        self.add_dead_letter("send", row.contact, reason or outcome, json_text(body), row.id)

    def list_contact(self, contact: str, event: ContactChanged | None) -> None:
        """Keep what the gateway's list has of a contact; None: the contact waits for the list to be read."""
        self.listed[contact] = event
        self.unlisted.discard(contact)

    def unlist_contact(self, contact: str) -> None:
        """The contact does not wait for the list any more, and what it had is not to be used."""
        self.listed.pop(contact, None)
        self.unlisted.add(contact)

    def list_read(self) -> None:
        """The gateway's list of contacts has been read to its end."""
        self._add(engine_tables.LIST_READ, (self._at,))

    def set_status(self, message_id: str, status: MessageStatus, contact: str | None) -> None:
        """The status of a message, by one of its ids. An erasure of the ``contact``, if known, erases the status."""
        self.statuses[message_id] = status
        self._status_of[message_id] = optional_storable(contact) or self._status_of.get(message_id)

    def message_failed(self, sent: SentRow, reason: str, code: str) -> None:
        """A message that the gateway had accepted did not arrive: it becomes a dead letter."""
        body = {"outcome": "failed", "key": sent.key, "ref": sent.ref, "effect": sent.effect}
        self.add_dead_letter("send", sent.contact, reason, json_text(body), sent.id)
        if sent.priority == CAMPAIGN:
            self._add(broadcast_rows.ENDED, ("failed", storable(code), sent.id))

    def add_call(self, row: CallRow, effect: str = "") -> None:
        """A new call. ``effect`` is as in `add_send`."""
        what = storable(row.contact), effect or json_text(row.effect), self._at, row.attempts, time_text(row.due_at)
        self._add(engine_tables.ADD_CALL, (row.id, storable(row.ref), row.key, *what))
        self.calls.append(row)

    def call_again(self, row: CallRow, attempts: int, due_at: datetime, detail: str) -> None:
        """The call stays and is tried again later."""
        self._add(engine_tables.CALL_AGAIN, (attempts, time_text(due_at), storable(detail), row.id))

    def call_said(self, row: CallRow) -> None:
        """A paragraph of the model's answer was taken."""
        self._add(engine_tables.CALL_SAID, (row.id,))

    def add_usage(self, row: CallRow, flow: str, used: Usage) -> None:
        """The tokens that a model's answer used, complete or not."""
        counts = (used.prompt_tokens, used.completion_tokens, int(used.estimated))
        self._add(engine_tables.ADD_USAGE, (self._at, storable(row.contact), flow, storable(used.model), *counts))

    def add_event(self, event: NewEvent, effect: str = "") -> None:
        """A new event to deliver. ``effect`` is as in `add_send`."""
        what = storable(event.contact), effect or json_text(event.effect), self._at
        self._add(engine_tables.ADD_EVENT, (storable(event.ref), event.key, *what))

    @property
    def adds_events(self) -> bool:
        """True if there are new events to deliver."""
        return engine_tables.ADD_EVENT in self._rows

    def event_again(self, row: EventRow, attempts: int, due_at: datetime, detail: str) -> None:
        """The event could not be delivered and is tried again later."""
        self._add(engine_tables.EVENT_AGAIN, (attempts, time_text(due_at), storable(detail), row.id))
        self.events_tried.add(row.id)

    def event_ended(self, row: EventRow) -> None:
        """The event was delivered, or is given up: the contact's next one is due."""
        self._add(engine_tables.EVENT_ENDED, (row.id,))
        self._add(engine_tables.NEXT_EVENT_DUE, (storable(row.contact), self._at))
        self.events_tried.add(row.id)

    def event_given_up(self, row: EventRow, detail: str) -> None:
        """The event becomes a dead letter."""
        body = {"ref": row.ref, "key": row.key, "effect": row.effect}
        self.add_dead_letter(engine_tables.EVENT_OUT, row.contact, detail, json_text(body))
        self.event_ended(row)

    def _add(self, sql: str, row: _Row) -> None:
        self._rows[sql].append(row)

    def _forget_send(self, send_id: int) -> None:
        self._add(engine_tables.FORGET_SEND, (send_id,))
        self.sends_ended.add(send_id)

    def _broadcast_row(self, broadcast: Broadcast) -> _Row:
        content, recent = broadcast.content, json_text(list(broadcast.recent))
        flow = storable(content.flow) if isinstance(content, FlowToStart) else None
        how = broadcast.state, broadcast.edit, storable(broadcast.code)
        return (
            storable(broadcast.name),
            json_text(content) if flow is None else None,
            flow,
            *how,
            recent,
            broadcast.canary,
            storable(broadcast.at),
            int(broadcast.late.total_seconds()),
            optional_time_text(broadcast.resumed_at),
            optional_time_text(broadcast.begins_at),
            optional_time_text(broadcast.ended_at),
            self._at,
            storable(broadcast.started_by),
        )


def session_row(session: Session, wake_at: datetime | None) -> tuple[Any, ...]:
    """The row of a session, except the time at which it is written. Raises `bot.core.values.UnstorableValue`."""
    frame = session.frame
    return (
        storable(session.contact),
        storable(frame.flow) if frame else None,
        storable(frame.step) if frame else None,
        frame.visit if frame else session.visit,
        optional_time_text(wake_at),
        optional_time_text(session.last_inbound),
        optional_storable(session.conversation),
        int(session.opted_out),
        json_text(session),
        optional_time_text(session.handed_over_at),
    )


def _step(step: StepTaken) -> dict[str, Any]:
    """A step of a trace, with `STEP_FIELDS`."""
    return {
        "flow": step.flow,
        "step": step.step,
        "outcome": step.outcome,
        "target": step.target,
        "conditions": [[source, _shown(value)] for source, value in step.conditions] if step.conditions else [],
        "effects": step.effects,
    }


def _shown(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def turn_row(event: Event, trace: Trace, effects: Sequence[str], micros: int) -> tuple[Any, ...]:
    """The row of a turn, except its id, its time and its sessions. ``effects`` are JSON.

    Raises `bot.core.values.UnstorableValue`.
    """
    steps = plain_json_text([_step(step) for step in trace.steps])
    notes = plain_json_text(trace.notes) if trace.notes else "[]"
    what = storable(event.contact), storable(event.id), json_text(event), storable(trace.rule)
    problems = plain_json_text(trace.problems) if trace.problems else "[]"
    return (*what, steps, f"[{','.join(effects)}]", notes, problems, micros)
