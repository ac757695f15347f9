"""The turns of one commit: events go in, a `Commit` comes out. Nothing is written here, so a batch can be dropped.

`Batch` takes the events. `BatchSessions` has the sessions as its turns have left them, and `CausedEvents` what these
turns cause at other contacts.
"""

import hashlib
import logging
from collections import deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from heapq import heappop, heappush
from time import perf_counter_ns, thread_time

from bot.core.clock import Clock
from bot.core.defects import error_location
from bot.core.effects import (
    REPLY_TRIED_FOR,
    Effect,
    EmitEvent,
    Publish,
    PutContact,
    ReadContact,
    RunHook,
    Send,
    ToSend,
)
from bot.core.errors import BotError
from bot.core.events import (
    FROM_CONTACT,
    CallEnded,
    Event,
    Forwarded,
    MessageReceived,
    ResetRequested,
    SharedRunRequested,
    StatusReported,
    Tapped,
    TimeReached,
)
from bot.core.session import (
    LONGEST_REST,
    OPTED_OUT,
    Session,
    UnreadableSession,
    effect_ref,
    read_session,
    window_until,
)
from bot.core.text import other_form
from bot.core.turn import Turn
from bot.core.values import UnstorableValue, json_text, storable
from bot.engine.replies import is_kept, merged
from bot.store.commit import Commit
from bot.store.crash_quarantine import EngineRun
from bot.store.engine_store import EngineStore
from bot.store.rows import CAMPAIGN, REPLY, SYNC, CallRow, DueRow, MessageStatus, NewEvent, OutboxRow, ParkedRow
from bot.store.trace_rows import FAILED

TRIED_FOR = {REPLY: REPLY_TRIED_FOR, SYNC: timedelta(days=1), CAMPAIGN: timedelta(days=1)}
"""How long the bot tries to send a row, by its priority (decisions: "Sending")."""

MOST_HOPS, MOST_CAUSED = 10, 1000
"""How far starts and signals lead from contact to contact, and how many of them follow one event."""

_TOO_FAR = f"more than {MOST_HOPS} starts and signals led here, each from the last, or more than {MOST_CAUSED} followed one event"
_ASTRAY = "another shard has forwarded it, and its contact is not in this one: nobody takes it"

Advance = Callable[[Session, Event], Turn]
_Parked = list[ParkedRow | MessageReceived | Tapped]
"""Parked events: those that have a row, and those that get a row in this commit."""

log = logging.getLogger(__name__)


class RequestRefused(BotError):
    """An operator's request cannot be carried out."""


class TurnRefused(BotError):
    """A turn that must not be made, or whose result must not be kept."""


def effect_key(store_id: str, ref: str) -> str:
    """The idempotency key of an effect. It is the same at every repeat of its turn, also in a restored store."""
    return hashlib.sha256(f"{store_id} {storable(ref)}".encode()).hexdigest()


class EngineShare:
    """A limit for the time that each contact's messages take of the engine's one thread.

    A contact may use a tenth of it. A contact that has used half a second more than that rests, so that others need not
    wait.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # seconds more than the share, as of a moment; of slow contacts only
        self._used: dict[str, tuple[float, float]] = {}

    def rest_after(self, contact: str, seconds: float) -> timedelta | None:
        """The time that the contact must rest after a turn of so many CPU seconds; None if it need not rest.

        CPU time counts, not wall-clock time, so that other programs on the machine make no difference.
        """
        if seconds < _SLOW_TURN:
            return None
        now = self._clock.elapsed()
        if len(self._used) >= _MOST_SLOW:
            self._used = {slow: known for slow, known in self._used.items() if _left_of(known, now) > 0}
        used = self._used[contact] = _left_of(self._used.get(contact, (0.0, now)), now) + seconds, now
        over = used[0] - _ALLOWANCE
        return None if over <= 0 else min(timedelta(seconds=over / _SHARE), LONGEST_REST)

    def with_rest(self, turn: Turn, seconds: float, now: datetime) -> Turn:
        """Return the turn. If its contact has used too much of the engine, its session rests from now on (see
        `rest_after`).
        """
        rest = self.rest_after(turn.session.contact, seconds)
        if rest is None:
            return turn
        log.warning(
            "one contact's messages take long: the next ones wait for %.1f s, see `bot trace`", rest.total_seconds()
        )
        turn.session.rests_until = until = now + rest
        turn.trace.problem(f"messages of this contact take long: the next ones wait for {rest.total_seconds():.1f} s")
        return replace(turn, wake_at=until)


_SLOW_TURN = 0.005  # seconds; most turns take a tenth of that, and are not counted
_MOST_SLOW = 10_000  # contacts
_SHARE = 0.1  # of the engine's time, for one contact
_ALLOWANCE = 0.5  # seconds


def _left_of(known: tuple[float, float], now: float) -> float:
    used, at = known
    return max(0.0, used - (now - at) * _SHARE)


class BatchSessions:
    """Reads sessions from the store, and keeps those that turns have changed, until the commit is written."""

    def __init__(self, store: EngineStore, commit: Commit) -> None:
        self._store = store
        self._commit = commit
        self._sessions: dict[str, Session] = {}
        self._states: dict[str, str | None] = {}  # as `prefetch` has read them
        self._aliases: dict[str, str | None] = {}

    def prefetch(self, contacts: Collection[str]) -> None:
        """Read these sessions with one query: each query waits for the interpreter, which the senders keep busy."""
        unknown = [contact for contact in contacts if self._store.sessions.latest.get(contact) is None]
        if unknown:
            self._states, self._aliases = self._store.sessions.known(unknown)

    def get(self, contact: str) -> Session:
        """Return the contact's session; a new contact gets a new session."""
        session = self._sessions.get(contact)
        if session is None:
            session = self._sessions[contact] = self._load(contact)
        return session

    def set(self, contact: str, session: Session) -> None:
        """Replace the contact's session by the one that a turn has left."""
        self._sessions[contact] = session

    def knows(self, contact: str) -> bool:
        """True if there has been any event or message of this contact."""
        session = self.get(contact)
        return session.visit > 0 or session != Session(contact)

    def person(self, number: str) -> str:
        """The number by which the bot knows a person. If only another form of this number is known, that form is
        returned, and this number becomes its alias.
        """
        other = other_form(number)
        if other is None or self.knows(number) or not self.knows(other):
            return number
        self._commit.aliases[number] = other
        return other

    def addressed(self, event: Event) -> Event:
        """The event with its contact under the `person` that the bot knows."""
        contact = self.person(event.contact)
        return event if contact == event.contact else replace(event, contact=contact)

    def contact_in(self, conversation: str) -> str | None:
        """The contact of one of the gateway's conversations."""
        here = (session.contact for session in self._sessions.values() if session.conversation == conversation)
        return next(here, None) or self._store.sessions.contact_in(conversation)

    def contact_of_alias(self, alias: str) -> str | None:
        """The contact who writes from this number and gets messages at another one; None if nobody does."""
        if alias not in self._aliases:
            self._aliases |= self._store.sessions.contacts_of_aliases((alias,))
        return self._commit.aliases.get(alias) or self._aliases[alias]

    def _load(self, contact: str) -> Session:
        recent = self._store.sessions.latest.get(contact)
        if recent is not None:
            return recent
        try:
            if contact not in self._states:
                return self._store.sessions.get(contact) or Session(contact)
            state = self._states[contact]
            return Session(contact) if state is None else read_session(state)
        except UnreadableSession as error:  # better a conversation that starts anew than one that is stuck
            log.error("a session cannot be read and starts anew: see `bot queue`")
            self._commit.dead_letters.add("turn", contact, str(error), error.state)
            return Session(contact, tags=(OPTED_OUT,) if self._store.sessions.opted_out(contact) else ())


class CausedEvents:
    """The events that follow from one event and are still to be taken in the same commit.

    ``shard_elsewhere`` returns the shard of a contact, or None for this engine's own shard.
    """

    def __init__(self, shard_elsewhere: Callable[[str], int | None]) -> None:
        self._shard_elsewhere = shard_elsewhere
        self._queue: deque[tuple[Event, int]] = deque()  # each with the number of events that led to it
        self._hops = self._count = 0

    def begin(self, forwarded: Forwarded) -> bool:
        """Count on from an event of another shard. Returns False if it is beyond the limits and must not be taken."""
        if forwarded.hops > MOST_HOPS or forwarded.caused > MOST_CAUSED:
            return False
        self._hops, self._count = forwarded.hops, forwarded.caused
        return True

    def pop(self) -> Event | None:
        """Return the next event to take. After the last one return None, and begin the counts anew."""
        if not self._queue:
            self._hops = self._count = 0
            return None
        event, self._hops = self._queue.popleft()
        return event

    def follow(self, event: Event) -> None:
        """Queue an event that follows from the last one. It does not count towards the limits."""
        self._queue.append((event, self._hops))

    def add(self, turn: Turn) -> tuple[list[Event], list[tuple[Forwarded, int]]]:
        """Queue the events that a turn causes in this shard.

        Returns the events beyond the limits, which are not taken, and those of other shards, each with its shard.
        """
        too_far: list[Event] = []
        further = self._hops + 1
        away: list[tuple[Event, int, int, int]] = []  # with the hops, the shard, and how many were caused with it
        for effect in turn.effects:
            if not isinstance(effect, EmitEvent):
                continue
            to_record = isinstance(effect.event, SharedRunRequested | CallEnded)  # there and back: it leads no further
            hops = self._hops if to_record else further
            self._count += 1
            shard = self._shard_elsewhere(effect.event.contact)
            if shard is not None:
                away.append((effect.event, hops, shard, self._count))
            elif hops <= MOST_HOPS and self._count <= MOST_CAUSED:
                self._queue.append((effect.event, hops))
            else:
                too_far.append(effect.event)
        if not away:
            return too_far, []
        # what may still follow is divided: no shard knows what follows in the others
        share = max(0, MOST_CAUSED - self._count) // (len(away) + bool(self._queue))
        self._count += share * len(away)
        return too_far, [
            (Forwarded(event, hops, max(count, MOST_CAUSED - share)), shard) for event, hops, shard, count in away
        ]


class Batch:
    """Takes events one after another, each on the session that the event before has left. ``now`` is aware, in UTC.

    ``sessions`` are the sessions after the turns so far; `session` is its `BatchSessions.get`. ``forwarded`` is set
    while an event from another shard is taken. ``marks``: each event is marked before its turn, because it may have
    crashed the engine (`bot.store.crash_quarantine`). ``to_read`` are events whose contacts must be looked up in the
    gateway's list. Without a ``share`` no contact rests.
    """

    def __init__(
        self, store: EngineStore, advance: Advance, run: EngineRun, now: datetime, share: EngineShare | None = None
    ) -> None:
        self.store = store
        self.now = now
        self.commit = Commit(store.cursor, now)
        self.advance = advance
        self.forwarded: Forwarded | None = None
        self.marks = run.in_quarantine
        self.repeated = False  # whether its messages may have been tried by an engine whose store this is a copy of
        self.to_read: list[Event] = []
        self._run = run
        self._share = share
        self._set_back = store.set_back
        self.sessions = BatchSessions(store, self.commit)
        self.session = self.sessions.get
        self._caused = CausedEvents(store.shards.elsewhere)
        self._due: list[tuple[datetime, str]] = []  # a heap of wake-ups that have come; some have changed since
        self._send_ids = store.ids.new("messages")
        self._call_ids = store.ids.new("calls")

    def take(self, event: Event, fired: datetime | None = None) -> Turn | None:
        """Take an event, and what was parked behind it; park it while its contact is inside a call. The event of a
        contact in another shard is forwarded.

        Returns the event's turn; None if there was none in this batch, or it has failed. Events of a contact are parked
        only while its session is busy, keeps them, or rests. Each of these states ends only in this method, so no event
        stays parked that could be taken. ``fired`` is the wake-up time that has come.
        """
        shard = self.store.shards.elsewhere(event.contact)
        if shard is not None:
            self.forward(event, shard)
            return None
        turn: Turn | None = None
        if self.forwarded is not None and not self._caused.begin(self.forwarded):
            self._fail(event, TurnRefused(_TOO_FAR))
        else:
            turn = self._take(event, fired)
        while (caused := self._caused.pop()) is not None:
            self._take(self.sessions.addressed(caused))
        return turn

    def _take(self, event: Event, fired: datetime | None = None) -> Turn | None:
        before = self.session(event.contact)
        waits = before.rests_until is not None or before.busy
        if waits and isinstance(event, FROM_CONTACT) and event.is_heard:
            self._park(event)
            return None
        turn = self._turn(event, fired)
        if waits or before.has_parked_messages:
            self._take_parked(event.contact, turn)
        elif turn is not None and turn.parks_message is not None:
            self._park(turn.parks_message)
        return turn

    def forward(self, event: Event, *shards: int) -> None:
        """Forward an event to other shards in this commit. A forwarded event goes no further: shards may disagree."""
        if self.forwarded is None:
            self._forward(Forwarded(event), *shards)
        else:
            self.commit.dead_letters.add("turn", event.contact or None, _ASTRAY, _written(event))

    def _forward(self, forwarded: Forwarded, *shards: int) -> None:
        event = forwarded.event
        key = effect_key(self.store.store_id, event.id)  # an id may contain a number, and ids in the log stay
        try:
            for shard in shards:
                self.commit.forward(shard, forwarded, key, event.contact)
        except (UnstorableValue, ValueError) as error:
            self._fail(event, error)

    def failure_of(self, event: Event) -> str | None:
        """Why the turn of an event would fail; None if it would not. The event is not taken."""
        return self.advance(self.session(event.contact), event).failure

    def expect(self, due: Iterable[DueRow]) -> None:
        """Queue the sessions that are due in the store, for `next_due`."""
        for session in due:
            heappush(self._due, (session.wake_at, session.contact))

    def next_due(self, upto: datetime) -> DueRow | None:
        """Pop the session that has been due for longest, after the turns so far; None if no session is due by then."""
        while self._due and self._due[0][0] <= upto:
            wake_at, contact = heappop(self._due)
            if self.commit.sessions.wakes_at(contact, wake_at):
                return DueRow(contact, wake_at)
        return None

    def take_due(self, due: DueRow, at: datetime) -> None:
        """Take a wake-up. Its event has the time ``at``, which may be later than the session asked for."""
        milliseconds = round(due.wake_at.timestamp() * 1000)
        id = f"time:{due.contact}:{self.session(due.contact).woken}:{milliseconds}"
        if self._set_back:  # the same time of day may come again
            id = f"{id}:{self._set_back}"
        self.take(TimeReached(id, due.contact, at), fired=due.wake_at)

    def status(self, message: str) -> MessageStatus | None:
        """The status of the message with this id of the gateway, after the turns so far; None if it is unknown."""
        return self.commit.messages.statuses.get(message) or self.store.messages.status(message)

    def send_row(self, ref: str, effect: ToSend, session: Session, priority: int = REPLY) -> OutboxRow:
        """The row of a message to the session's contact, or of a change of the contact for the gateway."""
        return OutboxRow(
            id=next(self._send_ids),
            ref=ref,
            key=effect_key(self.store.store_id, ref),
            contact=session.contact,
            effect=effect,
            priority=priority,
            channel=session.channel,
            created_at=self.now,
            attempts=0,
            due_at=self.now,
            expires_at=self.now + TRIED_FOR[priority],
            window_until=window_until(session.last_inbound),
            repeated=self.repeated,
        )

    def call_dead_letter_hooks(self, hooks: Collection[str]) -> None:
        """Call these hooks for every dead letter of this batch."""
        for what, contact, reason in self.commit.dead_letters.added:
            told = {"contact": contact, "at": self.now, "what": what, "reason": reason}
            for hook in hooks:
                id = next(self._call_ids)
                ref = f"letter:{self.now.isoformat()}#{id}"  # with the time, since a restored store counts anew
                key = effect_key(self.store.store_id, ref)
                self.commit.calls.add(CallRow(id, ref, key, contact or "", RunHook(hook, told), 0, self.now))

    def _row(self, ref: str, effect: Effect, session: Session) -> OutboxRow | CallRow | NewEvent | None:
        if isinstance(effect, Send):
            return self.send_row(ref, effect, session, REPLY if session.broadcast is None else CAMPAIGN)
        if isinstance(effect, PutContact):
            return self.send_row(ref, effect, session, SYNC)
        if isinstance(effect, EmitEvent | ReadContact):
            return None
        if isinstance(effect, Publish):
            return NewEvent(ref, effect_key(self.store.store_id, ref), session.contact, effect)
        key = effect_key(self.store.store_id, ref)
        return CallRow(next(self._call_ids), ref, key, session.contact, effect, attempts=0, due_at=self.now)

    def _park(self, event: MessageReceived | Tapped) -> None:
        try:
            self.commit.parked.add(event)
        except (UnstorableValue, ValueError) as error:
            self._fail(event, error)

    def _take_parked(self, contact: str, after: Turn | None) -> None:
        """Take parked events: those that a step keeps, as one message, once it takes messages again; then the rest."""
        rows = (row for row in self.store.parked.rows(contact) if row.id not in self.commit.parked.removed)
        parked: _Parked = [*rows, *self.commit.parked.pop(contact)]
        kept = [each for each in parked if _is_kept(each)]
        unread = [each for each in parked if not _is_kept(each)]
        if after is not None and after.drops_parked:
            self._drop(kept)
            kept = []
        if after is not None and after.parks_message is not None:
            kept.append(after.parks_message)
        session = self.session(contact)
        if session.has_parked_messages and session.keeps_parked:
            self._take_each(contact, unread, kept)
        elif session.has_parked_messages and kept:
            self._turn(merged([self._unparked(each) for each in kept]))
            self._take_each(contact, unread, [])
        else:
            self._take_each(contact, kept + unread, [])

    def _unparked(self, parked: ParkedRow | MessageReceived | Tapped) -> MessageReceived | Tapped:
        """Read a parked event, and end its parking."""
        if not isinstance(parked, ParkedRow):
            return parked
        self.commit.parked.removed.add(parked.id)
        return self.store.parked.event(parked)

    def _take_each(self, contact: str, parked: _Parked, stay: _Parked) -> None:
        """Take events one by one. Events for which the session is busy are parked, after those that it has parked."""
        for place, each in enumerate(parked):
            session = self.session(contact)
            if (
                session.rests_until is not None or session.step_is_busy or (session.busy and not _is_kept(each))
            ):  # a voice note came after what is kept
                stay += parked[place:]
                break
            turn = self._turn(self._unparked(each))
            if turn is not None and turn.drops_parked:
                self._drop(stay)
                stay = []
            if turn is not None and turn.parks_message is not None:
                stay.append(turn.parks_message)
        for each in stay:
            if not isinstance(each, ParkedRow):
                self._park(each)

    def _drop(self, parked: _Parked) -> None:
        """Drop what a contact wrote before it went elsewhere in the flows, with a line in the trace."""
        for event in map(self._unparked, parked):
            body = json_text({"dropped": event})
            self.commit.add_note(event.contact, event.id, body, "dropped", "the contact has gone elsewhere since")

    def _turn(self, event: Event, fired: datetime | None = None) -> Turn | None:
        if self.marks:
            self.store.runs.mark_taking(event.id)
        session = self.session(event.contact)
        if event.at > self.now:  # it came before the clock was set back
            event = replace(event, at=self.now)
        try:
            started, computed = perf_counter_ns(), thread_time()
            turn = self._made(session, event, fired)
            micros = (perf_counter_ns() - started) // 1000
        except Exception as error:  # a defect in a step, whatever it is, touches no other event
            self._fail(event, error)
            return None
        is_slow = micros >= _SLOW_TURN * 1_000_000  # else the thread's own clock, which is slow to read, says no more
        if is_slow and self._share is not None and isinstance(event, FROM_CONTACT):
            turn = self._share.with_rest(turn, thread_time() - computed, self.now)
        if self.store.ids.divided:
            self.store.ids.draw(len(turn.effects))  # outside of what counts as the turn's failure: a query may fail
        try:
            causes = self._add(session, event, turn, micros)
        except Exception as error:  # what the turn has decided cannot be written
            self._fail(event, error)
            return None
        self.sessions.set(event.contact, turn.session)
        if turn.session.opted_out and not session.opted_out:
            self.commit.broadcasts.opted_out.add(event.contact)
        if turn.failure is not None:
            self.commit.dead_letters.add("turn", event.contact, turn.failure, json_text(event))
        if turn.wake_at is not None:
            self._queue_if_due(event.contact, turn.wake_at)
        if causes:
            self._cause(turn, event)
        return turn

    def _made(self, session: Session, event: Event, fired: datetime | None) -> Turn:
        if self._run.suspects and storable(event.id) in self._run.suspects:
            raise TurnRefused("the engine crashed twice while it took this event")
        turn = self.advance(session, event)
        if fired is not None and turn.wake_at is not None and turn.wake_at <= fired and not _was_waiting(session, turn):
            raise TurnRefused(f"the flow wants to be woken at {turn.wake_at:%Y-%m-%d %H:%M:%S %Z} once more")
        if turn.wake_at is not None and turn.wake_at < event.at:  # it was due before, and could not be taken: it is now
            return replace(turn, wake_at=event.at)
        return turn

    def _add(self, session: Session, event: Event, turn: Turn, micros: int) -> bool:
        """Add a turn to the commit. Returns whether it causes something at other contacts."""
        if isinstance(event, StatusReported) and _is_idle(session, turn):
            return False  # three of these follow each message: a trace of them would hide the conversation
        rows = [
            self._row(effect_ref(event.id, ordinal), effect, turn.session)
            for ordinal, effect in enumerate(turn.effects)
        ]
        self.commit.add_turn(session, event, turn, rows, micros)
        return not all(rows)

    def _queue_if_due(self, contact: str, at: datetime) -> None:
        """Queue a wake-up of a session if its time has come already."""
        if at <= self.now:
            heappush(self._due, (at, contact))

    def _cause(self, turn: Turn, event: Event) -> None:
        """Take what a turn causes at other contacts, after it and in the same commit, within the limits."""
        self.to_read += [event for effect in turn.effects if isinstance(effect, ReadContact)]
        too_far, away = self._caused.add(turn)
        for refused in too_far:
            self._fail(refused, TurnRefused(_TOO_FAR))
        for forwarded, shard in away:
            self._forward(forwarded, shard)

    def _fail(self, event: Event, error: Exception) -> None:
        log.error("a turn failed, %s: see `bot queue`", error_location(error))
        reason = str(error) if isinstance(error, BotError) else f"{type(error).__name__}: {error}"
        body = _written(event)
        self.commit.dead_letters.add("turn", event.contact, reason, body)
        self.commit.add_note(event.contact, event.id, body, FAILED, reason)
        if isinstance(event, SharedRunRequested):
            id, asker = f"{event.id}:failed", event.asker
            ended = CallEnded(id, asker, event.at, event.effect, "failed", detail=reason)
            shard = self.store.shards.elsewhere(asker)
            if shard is None:
                self._caused.follow(ended)
            else:
                self._forward(Forwarded(ended), shard)
        session = self.session(event.contact)
        if _nothing_else_comes(session, event):
            rest = _without_what_failed(session)
            self.sessions.set(event.contact, rest)
            times = (*(plan.at for plan in rest.plans), *(draft.until for draft in rest.drafts))
            wake_at = max(min(times), event.at) if times else None
            self.commit.sessions.set(rest, wake_at)
            if wake_at is not None:
                self._queue_if_due(event.contact, wake_at)


def _is_kept(parked: ParkedRow | MessageReceived | Tapped) -> bool:
    return parked.kept if isinstance(parked, ParkedRow) else is_kept(parked)


def _is_idle(session: Session, turn: Turn) -> bool:
    return turn.session == session and not (turn.effects or turn.trace.steps or turn.trace.notes or turn.failure)


def _was_waiting(session: Session, turn: Turn) -> bool:
    """True if a turn may ask for a wake-up whose time has come already, because something else was due by then as well.

    That is so if the turn has led to another step (the flow below, a question that `back` leads to), has changed a
    schedule or a draft, or has ended the gathering of messages, a rest, or the silence after an agent's answer.
    """
    moved = _visit(turn.session) != _visit(session)
    gathered = session.gathers and not turn.session.gathers
    rested = session.rests_until is not None and turn.session.rests_until is None
    rested = rested or (session.silent_until is not None and turn.session.silent_until is None)
    scheduled = turn.session.plans != session.plans or any(plan.at == turn.wake_at for plan in turn.session.plans)
    scheduled = scheduled or turn.session.drafts != session.drafts
    return replace(turn.session, woken=session.woken) != session and (moved or gathered or rested or scheduled)


def _visit(session: Session) -> int | None:
    return None if session.frame is None else session.frame.visit


def _nothing_else_comes(session: Session, event: Event) -> bool:
    """True when the conversation would be stuck without this event's turn, and so has to end."""
    if isinstance(event, TimeReached | ResetRequested):
        return True
    return session.awaits(getattr(event, "effect", ""))


def _without_what_failed(session: Session) -> Session:
    """The session without its conversation. If there was no conversation, without what came next: a scheduled flow that
    could not start, or the end of a draft.
    """
    session = replace(session, rests_until=None)
    if session.silent_until is not None:
        session = replace(session, agent=None, taken_at=None, silent_until=None, unanswered=())
    if session.frames or session.voice_note is not None:
        return replace(session, frames=(), voice_note=None)
    first = min(session.plans, key=lambda plan: plan.at, default=None)
    draft = min(session.drafts, key=lambda draft: draft.until, default=None)
    if draft is not None and (first is None or draft.until < first.at):
        return replace(session, drafts=tuple(each for each in session.drafts if each is not draft))
    return replace(session, plans=tuple(plan for plan in session.plans if plan is not first))


def _written(event: Event) -> str:
    try:
        return json_text(event)
    except (UnstorableValue, ValueError):
        return json_text({"unwritable": repr(event)})
