"""The broadcasts of a store, as the engine, a commit, and commands and pages use them."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import field
from datetime import UTC, datetime
from typing import Any, Literal

from bot.core import values
from bot.core.immutable import mutable
from bot.core.values import json_text, optional_time_text, storable, time_text
from bot.store import broadcast_rows
from bot.store.broadcast_rows import (
    Broadcast,
    BroadcastPlace,
    FlowToStart,
    InOutbox,
    ListedBroadcast,
    Reached,
    Recipient,
    RepeatedSend,
)
from bot.store.database import CommitRows, Database, Queries, Row, Rows, shard_number
from bot.store.files import reads_rows
from bot.store.message_rows import MessageChanges
from bot.store.rows import OutboxRow

STATEMENTS = (
    *(broadcast_rows.SET_BROADCAST, broadcast_rows.ADD_RECIPIENT, broadcast_rows.TO_OUTBOX),
    *(broadcast_rows.BEGAN, broadcast_rows.FIRST_SEND, broadcast_rows.SENT_AGAIN),
    *(broadcast_rows.ENDED, broadcast_rows.WAIT_AGAIN, broadcast_rows.REPEAT),
    *(broadcast_rows.STEP_ASIDE, broadcast_rows.TAKE_BACK),
    *(broadcast_rows.REFUSED_LETTERS, broadcast_rows.REFUSED_AGAIN, broadcast_rows.LEAVE_OUT),
    *(broadcast_rows.RELEASE, broadcast_rows.OPT_OUT),
)
"""The statements of a commit, in order. After each, other recipients may wait than before."""
_NEVER, _ALWAYS = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
_LETS_WAIT = (
    broadcast_rows.ADD_RECIPIENT,
    broadcast_rows.RELEASE,
    broadcast_rows.FIRST_SEND,
    broadcast_rows.WAIT_AGAIN,
    broadcast_rows.REPEAT,
    broadcast_rows.REFUSED_AGAIN,
)


class BroadcastRows(Queries):
    """The queries about broadcasts that the engine and read-only processes share."""

    @reads_rows
    def get(self, name: str) -> Broadcast | None:
        """The broadcast with this name, if there is one."""
        row = self.database.one(broadcast_rows.BROADCAST, storable(name))
        return None if row is None else broadcast_rows.broadcast(*row)

    @reads_rows
    def to_come(self, broadcast: str) -> dict[datetime, int]:
        """How many recipients of a broadcast wait for each time that has not come, in order."""
        return {
            datetime.fromisoformat(at): count
            for at, count in self.database.all(broadcast_rows.TO_COME, storable(broadcast))
        }


class StoredBroadcasts(BroadcastRows):
    """Broadcasts as the engine reads them. It remembers some answers until a commit changes a broadcast.

    ``may_wait``: somebody may wait for a broadcast, or one is to be finished.
    """

    def __init__(self, database: Database, *, divided: bool) -> None:
        super().__init__(database)
        self.may_wait = True
        self._divided = divided
        self._some_wait: bool | None = None  # as of `some_wait`; None if that is to be asked
        self._done: list[str] | None = None  # as of `done`; None if that is to be asked
        self._first_due: tuple[str, ...] | None = None  # as of `next_due`; None if that is to be asked
        self._rests_until: datetime | None = None  # as of `at_rest`; None if that is to be asked

    def forget(self) -> None:
        """Forget the answers, because broadcasts were changed."""
        self.may_wait = True
        self._some_wait = self._done = self._first_due = self._rests_until = None

    def at_rest(self, now: datetime) -> bool:
        """True if nobody waits for a broadcast, none is to be finished, and none is due by now."""
        if self._rests_until is None:
            goes_on = self.some_wait() or self.done()
            self._rests_until = _NEVER if goes_on else self.next_due() or _ALWAYS
            self.may_wait = self._rests_until is not _ALWAYS
        return now < self._rests_until

    def some_wait(self) -> bool:
        """True if any broadcast has a message that could go into the outbox."""
        if self._some_wait is None:
            self._some_wait = bool(self.database.one(broadcast_rows.SOME_WAIT)[0])
        return self._some_wait

    def done(self) -> Collection[str]:
        """The names of the broadcasts for which nobody waits any more, and which are not finished yet."""
        if self._done is None:
            self._done = [name for (name,) in self.database.all(broadcast_rows.DONE)]
        return self._done

    @reads_rows
    def next_due(self) -> datetime | None:
        """When the next message of a broadcast is due that was requested for a later time."""
        if self._first_due is None:
            self._first_due = tuple(at for at in self.database.one(broadcast_rows.FIRST_DUE) if at is not None)
        return datetime.fromisoformat(self._first_due[0]) if self._first_due else None

    def due(self, now: datetime) -> list[str]:
        """The names of the broadcasts for which the time of some recipients has come."""
        return [name for (name,) in self.database.all(broadcast_rows.ALL_DUE, time_text(now))]

    def trying(self) -> list[str]:
        """The names of the broadcasts whose first message goes alone."""
        return [name for (name,) in self.database.all(broadcast_rows.ALL_TRYING)]

    def paused(self) -> list[Broadcast]:
        """The broadcasts that refusals have paused, by name."""
        return [broadcast_rows.broadcast(*row) for row in self.database.all(broadcast_rows.ALL_PAUSED)]

    @reads_rows
    def in_any_shard(self, name: str) -> Broadcast | None:
        """The broadcast with this name of any shard; None if the store is not divided."""
        if not self._divided:
            return None
        row = self.database.one(broadcast_rows.BROADCAST_OF_ANY_SHARD, storable(name))
        return None if row is None else broadcast_rows.broadcast(*row)

    def recipient(self, broadcast: str, contact: str) -> tuple[str | None, list[str] | dict[str, Any]] | None:
        """The outcome and the parameters (or data) of a contact's broadcast message; None if it is no recipient."""
        row = self.database.one(broadcast_rows.RECIPIENT, storable(broadcast), storable(contact))
        return None if row is None else (row[0], values.loads(row[1]))

    def place_of(self, send_id: int) -> BroadcastPlace | None:
        """The broadcast and the recipient of a message; None if it is of no broadcast."""
        row = self.database.one(broadcast_rows.OF_SEND, send_id)
        return None if row is None else BroadcastPlace(*row)

    @reads_rows
    def waiting(self, of: Literal["templates", "flows"], limit: int) -> list[Recipient]:
        """The next recipients of all running broadcasts of templates, or of flows, in order."""
        running = self.database.all(broadcast_rows.RUNNING_OF[of])  # few at a time, of which each may have a million
        rows = (row for (name,) in running for row in self.database.all(broadcast_rows.WAITING, name, limit))
        found = [broadcast_rows.recipient(*row) for row in rows]
        return sorted(found, key=lambda each: (each.retries, each.id))[:limit]

    def first_waiting(self, broadcast: str) -> Recipient | None:
        """The first recipient of a broadcast whose message is not in the outbox yet, whatever the broadcast's state."""
        row = self.database.one(broadcast_rows.WAITING, storable(broadcast), 1)
        return None if row is None else broadcast_rows.recipient(*row)

    def starting(self, broadcast: str | None = None) -> int:
        """How many flows of one broadcast, or of any, wait for a call, or for their first message to be sent."""
        of = "" if broadcast is None else f"{storable(broadcast)}:"
        return int(self.database.one(broadcast_rows.STARTING, of)[0])

    def count_in_outbox(self) -> int:
        """How many messages in the outbox are of broadcasts."""
        return int(self.database.one(broadcast_rows.IN_OUTBOX)[0])

    def in_outbox(self, name: str) -> list[InOutbox]:
        """The messages of a broadcast in the outbox, in order."""
        rows = self.database.all(broadcast_rows.IN_OUTBOX_OF, storable(name))
        return [InOutbox(id, contact, bool(claimed)) for id, contact, claimed in rows]

    def in_outbox_to(self, contact: str) -> list[InOutbox]:
        """The messages of broadcasts to a contact in the outbox, in order."""
        rows = self.database.all(broadcast_rows.IN_OUTBOX_TO, storable(contact))
        return [InOutbox(id, contact, bool(claimed)) for id, contact, claimed in rows]

    def count_missed(self, broadcast: Broadcast, now: datetime) -> int:
        """How many of the recipients whose time is noted next have missed it: see `BroadcastChanges.release`."""
        return int(self.database.one(broadcast_rows.MISSED_OF, *broadcast_rows.release_row(broadcast, now))[0])

    def count_waiting(self, broadcast: str) -> int:
        """How many recipients of a broadcast wait while their message is not in the outbox."""
        return int(self.database.one(broadcast_rows.WAITING_OF, storable(broadcast))[0])

    def count_refused(self, broadcast: str, code: str) -> int:
        """How many messages of a broadcast were refused for their template, or with this code."""
        return int(self.database.one(broadcast_rows.REFUSED_OF, storable(broadcast), storable(code))[0])

    def count_not_corrected(self, broadcast: Broadcast) -> int:
        """How many recipients that wait are not part of a broadcast's last correction."""
        return int(self.database.one(broadcast_rows.NOT_CORRECTED_OF, storable(broadcast.name), broadcast.edit)[0])


@mutable
class BroadcastChanges:
    """The changes of a commit to broadcasts, ``written``, by name, and to their recipients.

    ``moved`` are the names of those whose state has changed. ``recipients`` are new, or have other parameters: the
    broadcast's name, and the contact. The ``opted_out`` get no broadcast any more, whichever they wait for.
    ``frees_some``: other recipients may follow, because a broadcast has changed or starts flows, or somebody's time has
    come.
    """

    _rows: CommitRows
    _messages: MessageChanges
    written: dict[str, Broadcast] = field(default_factory=dict)
    moved: set[str] = field(default_factory=set)
    recipients: set[tuple[str, str]] = field(default_factory=set)
    opted_out: set[str] = field(default_factory=set)
    frees_some: bool = False

    def set(self, before: Broadcast | None, after: Broadcast) -> None:
        """Write a broadcast."""
        self.written[after.name] = after
        self.frees_some = True
        if before is not None and before.state != after.state:
            self.moved.add(after.name)

    @property
    def lets_some_wait(self) -> bool:
        """True if somebody may wait for a broadcast after this commit who did not before."""
        return any(self._rows.get(sql) for sql in _LETS_WAIT)

    def add_recipient(
        self,
        broadcast: Broadcast,
        contact: str,
        own: list[str] | dict[str, Any],
        due_at: datetime | None,
        moved: bool = False,
    ) -> None:
        """Add a recipient, who gets the broadcast at ``due_at`` or later; or give a known recipient other parameters,
        and another time if it is ``moved``. ``own`` has the parameters of the template, or the flow's data.
        """
        what = storable(broadcast.name), storable(contact), json_text(own), self._rows.at, broadcast.edit
        self._rows[broadcast_rows.ADD_RECIPIENT].append((*what, optional_time_text(due_at), moved))
        self.recipients.add((broadcast.name, contact))

    def add_send(self, recipient: int, row: OutboxRow) -> None:
        """Add the message to a recipient to the outbox."""
        self._messages.add(row)
        self._rows[broadcast_rows.TO_OUTBOX].append((row.id, recipient))

    def release(self, broadcast: Broadcast, now: datetime) -> None:
        """Release a broadcast's recipients whose time has come, or mark them as missed: at most 1000, by due time."""
        self._rows[broadcast_rows.RELEASE].append(broadcast_rows.release_row(broadcast, now))
        self.frees_some = True

    def begin_flow(self, recipient: int, began: str, code: str = "") -> None:
        """Note that the flow was started for a recipient, or could not be: ``began`` is the outcome."""
        self._rows[broadcast_rows.BEGAN].append(("" if code else began, began, code, recipient))
        self.frees_some = True

    def sent_again(self, before: int, send_id: int) -> None:
        """Note that a flow's message, which was given up and may be a recipient's, is sent again under another id."""
        self._rows[broadcast_rows.SENT_AGAIN].append((send_id, before))

    def wait_again(self, send_id: int) -> None:
        """Have the recipient of a message that was certainly not sent wait for another message."""
        self._rows[broadcast_rows.WAIT_AGAIN].append((send_id,))

    def correct_refused(self, send_id: int) -> None:
        """Delete a message that was refused. Its recipient, who has other parameters now, waits for another message."""
        self.wait_again(send_id)
        self._messages.remove(send_id)

    def repeat(self, send_id: int, again: RepeatedSend) -> None:
        """Have the recipient of a message wait for the same message again."""
        fields = {"ref": again.ref, "key": again.key, "effect": again.effect, "repeated": again.repeated}
        written = json_text(fields)
        self._rows[broadcast_rows.REPEAT].append((written, send_id))

    def resume_refused(self, broadcast: Broadcast, code: str) -> None:
        """Have recipients whose message was refused for its template, or with this code, wait for another message."""
        row = storable(broadcast.name), storable(code)
        self._rows[broadcast_rows.REFUSED_LETTERS].append(row)
        self._rows[broadcast_rows.REFUSED_AGAIN].append(row)

    def exclude(self, broadcast: Broadcast) -> None:
        """Leave out the recipients who wait and are not part of the last correction."""
        self._rows[broadcast_rows.LEAVE_OUT].append((storable(broadcast.name), broadcast.edit))

    def withdraw(self, send_id: int) -> None:
        """Take a message out of the outbox, unsent. Its recipient waits again."""
        self._rows[broadcast_rows.TAKE_BACK].append((send_id,))
        self._messages.remove(send_id)

    def requeue_last(self, send_id: int) -> None:
        """Take a message out of the outbox, unsent. Its recipient waits again, behind all others."""
        self._rows[broadcast_rows.STEP_ASIDE].append((send_id,))
        self._messages.remove(send_id)

    def rows(self) -> Rows:
        """The rows to write."""
        return {
            broadcast_rows.SET_BROADCAST: [self._row(each) for each in self.written.values()],
            broadcast_rows.OPT_OUT: [(storable(contact),) for contact in self.opted_out],
        }

    def _row(self, broadcast: Broadcast) -> Row:
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
            self._rows.at,
            storable(broadcast.started_by),
        )


class BroadcastReader(BroadcastRows):
    """Broadcasts as commands and pages read them. ``schemas`` are those with the tables of each shard."""

    def __init__(self, database: Database, schemas: Sequence[str]) -> None:
        super().__init__(database)
        self._schemas = schemas

    def all(self) -> list[ListedBroadcast]:
        """All broadcasts, the newest first."""
        return [broadcast_rows.listed_broadcast(*row) for row in self.database.all(broadcast_rows.LISTED)]

    def unfinished(self) -> dict[str, dict[str, int]]:
        """The `outcomes` of each broadcast for which contacts wait, or that was stopped too early for some, by name."""
        return {name: self.outcomes(name) for (name,) in self.database.all(broadcast_rows.UNFINISHED)}

    def outcomes(self, name: str) -> dict[str, int]:
        """How many recipients a broadcast has, by outcome, with the gateway's code of a refusal: ``failed (132000)``.

        ``waiting`` have no outcome yet, ``paused`` and ``stopped`` are held.
        """
        counts = Counter[str]()
        for schema, state in zip(self._schemas, self._states_of(name), strict=True):
            for outcome, code, count in self.database.all(broadcast_rows.OUTCOMES.format(schema), storable(name)):
                words = broadcast_rows.outcome_in_words(outcome, state)
                counts[f"{words} ({code})" if code else words] += count
        return dict(counts)

    def recipients(self, name: str) -> list[tuple[str, str, str]]:
        """The recipients of a broadcast in order: contact, outcome as in `outcomes`, and the code of a refusal."""
        states, rows = self._states_of(name), self.database.all(broadcast_rows.RECIPIENTS, storable(name))
        return [
            (contact, broadcast_rows.outcome_in_words(outcome, states[shard_number(contact, len(states))]), code)
            for contact, outcome, code in rows
        ]

    def reached(self, name: str) -> dict[str, Reached]:
        """How far the sent messages of a broadcast have got, by contact, without those that are pruned."""
        return {
            contact: Reached((furthest or 0) >= 1, (furthest or 0) >= 2, _answers(sent_at, answered_at))
            for schema in self._schemas
            for contact, furthest, sent_at, answered_at in self.database.all(
                broadcast_rows.REACHED.format(schema), storable(name)
            )
        }

    def _states_of(self, broadcast: str) -> list[str]:
        """The states of a broadcast in all shards."""
        rows = [self.database.one(broadcast_rows.STATE.format(schema), storable(broadcast)) for schema in self._schemas]
        return ["" if row is None else row[0] for row in rows]


def _answers(sent_at: str, answered_at: str | None) -> bool:
    return (
        answered_at is not None
        and datetime.fromisoformat(answered_at) - datetime.fromisoformat(sent_at) < broadcast_rows.ANSWERED_WITHIN
    )
