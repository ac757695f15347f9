"""One cycle of the engine: results, requests, the log and timers become one commit. Nothing here waits.

`EngineCycle` has the order. The other classes check in each cycle whether the clock was set or the engine crashed,
which events could not be read, and what has to be deleted.
"""

import logging
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import chain, islice

from bot.core import values
from bot.core.alarms import Alarms
from bot.core.clock import SMALLEST_STEP, Clock, ClockJumps, ExpiryTime
from bot.core.defects import error_location
from bot.core.effects import Fetch, Transcribe
from bot.core.engine_answers import Done, EngineAnswer
from bot.core.engine_requests import AnyRequest, EraseContact, answer_as_json
from bot.core.events import WRITTEN_HERE, AliasLearned, Event, Forwarded, StatusReported
from bot.core.telemetry import log_turns, turn_log
from bot.runtime.batch import Advance, Batch, EngineShare, RequestRefused
from bot.runtime.broadcasting import PausedAlarms, continue_broadcasts
from bot.runtime.contact_list import read_contacts
from bot.runtime.engine_input import (
    CallWindow,
    Consumer,
    EarlyStatuses,
    EngineInput,
    GivenUpMessages,
    InFlightWindow,
    Read,
    SendConsumer,
    handle_call_result,
    handle_event_result,
    handle_late_result,
    handle_send_result,
    on_event,
    on_forwarded,
)
from bot.runtime.metrics import EngineMetrics
from bot.runtime.operator_requests import operate
from bot.runtime.performers import CallResult
from bot.runtime.sending import SendResult
from bot.services.gateway.webhook_events import INBOUND, TAP, UnknownSender, UnreadableEvent
from bot.store.crash_quarantine import ORDINARY, Bounds
from bot.store.engine_store import EngineStore
from bot.store.inbox import InboxReader, LogRow
from bot.store.integrity import check_open_pair
from bot.store.opening import is_shared
from bot.store.rows import CallRow, DueRow, EventRow, OutboxRow
from bot.store.trace_rows import OPERATOR

AT_ONCE = 256
"""How many events one commit takes."""

_EVENTS_AT_ONCE = 16
_LATEST = timedelta(days=1)  # so that after a stop of days, or a clock set forward, no wake-ups pile up
_PRUNED_EVERY = 60.0  # seconds
_ERASED_EVERY = 1.0

_OLDER_COPY = (
    "%s is an older copy: events %d to %d of the log are taken again, and each message has the key that it had, "
    "by which the gateway knows it"
)
_SET_BACK = (
    "no wait gets longer than it was declared, appointments keep their day and hour; let the machine keep time (NTP)"
)
_SET_FORWARD = "what was due meanwhile is done now; let the machine keep time (NTP)"

QUARANTINE = "crash-quarantine"
_CAREFUL = (
    "the engine has crashed twice in a row: what it may have been taking then is taken one by one, which is slow",
    "see in the log what crashed it; what does so twice more is given up (`bot queue`)",
)

UNREADABLE, UNKNOWN_SENDERS = "events-unreadable", "unknown-senders"
OVER_AFTER = timedelta(days=1)
"""How long after the last event of its kind an alarm is over."""

_ANSWER_IDS = (
    "ask the gateway's operator for phone numbers in `from`; if the gateway takes such ids as `to`, set BOT_ANSWER_IDS=yes, with a "
    "restart: the bot answers to them then; `bot queue` has the messages"
)

Answers = list[EngineAnswer | RequestRefused]

log = logging.getLogger(__name__)


class EngineCycle:
    """Takes events, commits what they decide, and hands that on. One thread calls it; `idle` is for any.

    ``advance`` is the engine bound to the current library. ``read`` makes an event of an acknowledged body and the time
    it came, or None if it concerns no conversation. ``metrics`` counts what is committed, ``alarms`` lists broadcasts
    that are paused. A contact whose messages take more than its ``share`` rests. Dead letters are reported to the hooks
    that ``dead_letter_hooks`` names. A method that raises `bot.store.files.StoreUnavailable` has changed nothing, and
    can be called again with the same arguments.
    """

    def __init__(
        self,
        store: EngineStore,
        inbox: InboxReader,
        clock: Clock,
        advance: Advance,
        read: Read,
        metrics: EngineMetrics,
        alarms: Alarms,
        dead_letter_hooks: Collection[str] = (),
        share: EngineShare | None = None,
    ) -> None:
        self.advance = advance
        self.dead_letter_hooks = dead_letter_hooks
        self.more = False  # whether the last cycle left something that the next one can take
        self.taken = 0  # how many results, requests and rows of the log it took
        self.next_wake: datetime | None = None
        self._store = store
        self._inbox = inbox
        self._clock = clock
        self._metrics = metrics
        self._share = share
        self.crashes = CrashWatch(store, inbox, alarms)
        self._paused = PausedAlarms(store, alarms)
        self._has_passed = False  # whether a cycle has come to its end
        self._clock_watch = ClockWatch(store, clock)
        self._events: set[int] = set()  # that are being delivered
        self._early = EarlyStatuses(store, clock)
        self._log_events = LogEvents(read, alarms, clock)
        self._housekeeping = Housekeeping(store, inbox, clock, self._erase, self._log_events.clear_old)
        self._taken_before = 0  # the last place of the log that an engine took of this store, or of its original
        self._given_up = GivenUpMessages()
        self._list_looked_at = False  # whether somebody waits for the gateway's list since the last run

    def begin(self, delivery: SendConsumer, performers: Consumer[CallRow]) -> list[OutboxRow]:
        """Begin a run, which hands messages to ``delivery`` and calls to ``performers``. Returns the messages that the
        last run may or may not have sent.

        Raises `StoresDiffer`.
        """
        store, self._delivery, self._performers = self._store, delivery, performers
        self._sends = InFlightWindow(
            store.messages.pending, delivery, delivery.room, delivery.accepts, delivery.accepts_again
        )
        self._calls = CallWindow(store.calls.pending, performers)
        age = check_open_pair(store.database, self._inbox.database)
        if age.taken_again:
            log.warning(_OLDER_COPY, store.address, age.cursor + 1, age.taken)
        self._taken_before = age.taken
        self._clock_watch.begin()
        self.crashes.begin(store.cursor, self._clock.now(), AT_ONCE)
        unclear = store.messages.claimed()
        self._sends.adopt(unclear)
        self._early.begin()
        self._paused.report()
        return unclear

    def end(self) -> None:
        """End the run."""
        self._store.runs.end()

    def takes_at_once(self, incoming: EngineInput) -> int:
        """The number of results and requests that one cycle takes: up to the first that may have crashed the engine."""
        if not self.crashes.run.in_quarantine:
            return AT_ONCE
        results: Iterable[SendResult | CallResult] = chain(incoming.sent, incoming.called)
        return next(
            (n for n, result in enumerate(islice(results, AT_ONCE), 1) if self.crashes.may_crash(result)), AT_ONCE
        )

    def run(self, incoming: EngineInput) -> tuple[bool, Answers]:
        """Run one cycle: results first, then requests, then the log and the timers that are due, in the order of their
        times.

        Returns whether there was anything to commit, and the answers to the requests.
        """
        started, now = self._clock.elapsed(), self._clock.now()
        self._catch_up()
        for erasure in [request for request in incoming.requests if isinstance(request, EraseContact)]:
            self._erase(erasure.contact, erasure.by)
        self._clock_watch.correct(now, started)
        self._sends.refill()
        self._calls.refill()
        batch = Batch(self._store, self.advance, self.crashes.run, now, self._share)
        batch.repeated = self._store.cursor < self._taken_before
        was_suspect = self._take_results(batch, incoming)
        answers = [self._answer(batch, request) for request in incoming.requests]
        if self._store.shards.others:
            self._early.forward(batch)
        came = len(incoming)
        rows, more = self._take_log(batch, 0 if was_suspect else AT_ONCE - came)
        self.taken = came + len(rows)
        self._follow_up(batch)
        worked = self._commit(batch)
        if unsent := {sent.row.id for sent in incoming.sent if sent.state != "sent"}:
            self._delivery.ends_stored(unsent)
            self._sends.refill()
        if self._store.events.may_wait:
            self._deliver_events(batch.now)
        operated = bool(incoming.called or incoming.requests or batch.commit.broadcasts.frees_some)
        self.more = operated or more or self._sends.behind or self._calls.behind
        self.more = self.more or (self._store.broadcasts.may_wait and bool(self._store.broadcasts.done()))
        self._has_passed = True
        if worked:
            self._metrics.committed(batch.commit, rows, came, batch.now, self._clock.elapsed() - started)
            incoming.count(self._metrics)
            if unsent:
                self._given_up.note(incoming.sent)
            if turn_log.isEnabledFor(logging.INFO):
                log_turns(batch.commit.turns, self._store.store_id)
        return worked, answers

    def _take_results(self, batch: Batch, incoming: EngineInput) -> bool:
        """Take the results of sends and calls. True if the last may have crashed the engine: it is committed alone."""
        in_quarantine, batch.marks = self.crashes.run.in_quarantine, False
        for sent in incoming.sent:
            batch.marks = in_quarantine and self.crashes.may_crash(sent)
            known = sent.row.id in self._sends and sent.row.id not in batch.commit.messages.ended
            (handle_send_result if known else handle_late_result)(batch, sent)
        for called in incoming.called:
            row, batch.marks = called.row, in_quarantine and self.crashes.may_crash(called)
            if isinstance(row, EventRow):
                known = row.id in self._events and row.id not in batch.commit.events.tried
                (handle_event_result if known else handle_late_result)(batch, called)
                continue
            known = row.id in self._calls and row.id not in batch.commit.calls.ended
            (handle_call_result if known else handle_late_result)(batch, called)
            if known or self._store.sessions.knows(row.contact):
                continue
            if isinstance(row.effect, Fetch | Transcribe) or values.files_in(called.value):
                self._erase(row.contact)  # it was erased meanwhile, and the file came later
        was_suspect, batch.marks = batch.marks, in_quarantine
        return was_suspect

    def _follow_up(self, batch: Batch) -> None:
        """Continue broadcasts, read the gateway's contacts, and call the hooks for dead letters, after all events."""
        batch.marks = self.crashes.run.in_quarantine
        broadcasts, changes = self._store.broadcasts, batch.commit.broadcasts
        if changes.written or changes.opted_out or (broadcasts.may_wait and not broadcasts.at_rest(batch.now)):
            continue_broadcasts(batch, self._take_back)
        if batch.to_read or not self._list_looked_at:
            read_contacts(batch)
            self._list_looked_at = True
        if self.dead_letter_hooks:
            batch.call_dead_letter_hooks(self.dead_letter_hooks)

    def question(self, request: AnyRequest) -> EngineAnswer:
        """Answer a request that changes nothing, and write nothing."""
        return operate(Batch(self._store, self.advance, self.crashes.run, self._clock.now()), request)

    def housekeeping(self) -> bool:
        """Do the housekeeping, after a cycle that found nothing. True when there is more of it to do."""
        self._catch_up()
        times = [self._store.sessions.next_wake()]
        if self._store.broadcasts.may_wait:
            times.append(self._store.broadcasts.next_due())
        if self._store.events.may_wait and len(self._events) < _EVENTS_AT_ONCE:
            times.append(self._store.events.next_due(self._events))
        self.next_wake = min([at for at in times if at is not None], default=None)
        return self._housekeeping.run(self._clock.elapsed())

    def _catch_up(self) -> None:
        """End the quarantine once all is done that may have crashed the engine."""
        begun = self.crashes.begun if self._has_passed else None
        if begun is not None and self._sends.done_upto(begun.message) and self._calls.done_upto(begun.call):
            self.crashes.catch_up(begun, self._store.cursor)

    def all_done(self) -> bool:
        """True if nothing waits to be sent or called, and no result is awaited."""
        return self._sends.done_upto(sys.maxsize) and self._calls.done_upto(sys.maxsize)

    def idle(self) -> bool:
        """True when nothing that was handed on can be done now, the clock was not set, and the log is read."""
        done = self._sends.idle() and self._calls.idle() and not (self._events and not self._performers.idle())
        return done and not (self._clock_watch.is_set or self._inbox.has_after(self._store.cursor))

    def _take_log(self, batch: Batch, most: int) -> tuple[list[LogRow], bool]:
        """Take the next rows of the log and the timers that are due, up to the first that may have crashed the engine.

        Returns the rows that were taken, and whether there may be more.
        """
        if most <= 0:
            return [], True
        rows, due = self._inbox.after(self._store.cursor, most), self._store.sessions.due(batch.now, most)
        batch.advance = self.advance  # of events that came after a reload, none is taken by the old one
        if due:
            batch.expect(due)
        batch.sessions.prefetch({row.contact for row in rows if row.contact} | {session.contact for session in due})
        taken = list[LogRow]()
        all_due_until = due[-1].wake_at if len(due) == most else batch.now
        in_quarantine = self.crashes.run.in_quarantine
        for number, (what, take) in enumerate(self._in_order(batch, rows, most, all_due_until), start=1):
            batch.marks = in_quarantine and self.crashes.may_crash(what)
            take()
            if isinstance(what, LogRow):
                taken.append(what)
            if batch.marks or number == most:
                return taken, True
        return taken, len(due) == most

    def _in_order(
        self, batch: Batch, rows: Sequence[LogRow], most: int, all_due_until: datetime
    ) -> Iterator[tuple[LogRow | DueRow, Callable[[], None]]]:
        """Rows of the log and wake-ups, in the order of their times, each with the function that takes it.

        At the same time, a message comes before a wake-up, and a status report after it. Wake-ups that a turn makes due
        are included. A wake-up after the last row gets a time that is `_LATEST` ago at the earliest.
        """
        # all before any is taken: that is easy on the processor's cache
        events = [self._log_events.event_of(row) for row in rows]
        for row, event in zip(rows, events, strict=True):
            before = row.received_at - (timedelta() if isinstance(event, StatusReported) else timedelta.resolution)
            while (due := batch.next_due(min(before, all_due_until))) is not None:
                yield due, partial(batch.take_due, due, due.wake_at)
            if all_due_until < min(before, batch.now):
                return  # others may be due before this row
            yield row, partial(self._take_row, batch, row, event)
        if len(rows) < most:  # the log is read to its end, as of a time after `batch.now`: no message came before
            while (due := batch.next_due(all_due_until)) is not None:
                yield due, partial(batch.take_due, due, max(due.wake_at, batch.now - _LATEST))

    def _take_row(self, batch: Batch, row: LogRow, event: Event | Forwarded | AliasLearned | str | None) -> None:
        batch.commit.move_cursor(row.seq, row.event_id)
        if isinstance(event, str):
            batch.commit.dead_letters.add("event", row.contact, event, row.body)
        elif isinstance(event, Forwarded | AliasLearned):
            on_forwarded(batch, event)
        elif event is not None:
            on_event(batch, event)

    def _erase(self, contact: str, by: str = OPERATOR) -> None:
        """Erase a contact in a commit of its own, before everything that this cycle writes."""
        rows = self._store.erase(contact, self._store.cursor, self._clock.now(), by)
        self._housekeeping.erasing = True
        self._sends.done(rows.sends)
        self._calls.done(rows.calls)
        self._events -= rows.events
        self._delivery.withdraw(contact)
        self._performers.withdraw(contact)

    def _deliver_events(self, now: datetime) -> None:
        """Hand on the events that are due, a few at a time. Those behind them stay in the file."""
        rows = self._store.events.due(now, self._events, _EVENTS_AT_ONCE - len(self._events))
        self._events.update(row.id for row in rows)
        self._performers.offer(rows)

    def _answer(self, batch: Batch, request: AnyRequest | OutboxRow | CallRow) -> EngineAnswer | RequestRefused:
        try:
            if isinstance(request, OutboxRow):
                batch.commit.messages.claim(request)
                return Done()
            if isinstance(request, CallRow):
                batch.commit.calls.claim(request)
                return Done()
            answer = operate(batch, request, self._take_back)
            if not request.only_tells and request.asked_as is not None:
                batch.commit.answer(request.asked_as, answer_as_json(answer))
            return answer
        except RequestRefused as refusal:
            return refusal

    def _take_back(self, ids: Set[int]) -> Set[int]:
        """Take rows back from delivery. Rows that delivery no longer has may have been sent: their results are on their
        way.

        If the commit fails, the next one finds that nobody has these rows.
        """
        given = {id for id in ids if id in self._sends}
        back = self._delivery.take_back(given) if given else set[int]()
        self._sends.done(back)
        return ids - given | back

    def _commit(self, batch: Batch) -> bool:
        commit = batch.commit
        if not self._store.write(commit):
            return False
        if commit.messages.ended:
            self._sends.done(commit.messages.ended)
        if commit.calls.ended:
            self._calls.done(commit.calls.ended)
        self._events -= commit.events.tried
        if self._store.shards.others:
            self._early.note(commit.messages.early)
        if commit.messages.added:
            self._sends.add(commit.messages.added)
        if commit.calls.added:
            self._calls.add(commit.calls.added)
        if commit.broadcasts.moved:
            self._paused.report()
        return True


# -- what each cycle looks at ------------------------------------------------------------------------


class ClockWatch:
    """Notices that the clock was set, and brings the times in the store back when it was set back."""

    def __init__(self, store: EngineStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._jumps = ClockJumps(clock)
        self._set_by = timedelta()  # how far the clock was set since the store was brought back to it

    @property
    def is_set(self) -> bool:
        """True if the clock has been set since `correct` was called."""
        return bool(self._set_by or self._jumps.pending())

    def begin(self) -> None:
        """Find out whether the clock was set back while the bot was down."""
        last, now = self._store.written_at(), self._clock.now()
        if last is not None and last - now >= SMALLEST_STEP:
            ahead = " (or the clock of another machine is ahead)" if is_shared(self._store.address) else ""
            self._set_back(last - now, f"while the bot was down{ahead}, at least")

    def correct(self, now: datetime, elapsed: float) -> None:
        """Set the times in the store back if the clock, which says ``now`` and ``elapsed``, was set back. If this
        fails, the next call does it.
        """
        self._set_by += self._jumps.pop(now, elapsed)
        if self._set_by < timedelta():
            self._set_back(-self._set_by, "by")
        elif self._set_by:
            log.warning("the machine's clock was set forward by %s: %s", self._set_by, _SET_FORWARD)
        self._set_by = timedelta()

    def _set_back(self, by: timedelta, how: str) -> None:
        self._store.clock_set_back(self._clock.now(), by)
        log.warning("the machine's clock was set back %s %s: %s", how, by, _SET_BACK)


class CrashWatch:
    """Knows what may have crashed the engine, and ends the quarantine once all of that is done. ``run`` is this run."""

    def __init__(self, store: EngineStore, inbox: InboxReader, alarms: Alarms) -> None:
        self.run = ORDINARY
        self._store = store
        self._inbox = inbox
        self._alarms = alarms
        self.begun: Bounds | None = None  # what was there when the run began; None: all of that is done

    def begin(self, cursor: int, now: datetime, most: int) -> None:
        """Begin a run. ``most`` is how many events one commit takes."""
        self.run, self.begun = self._store.runs.begin(), self._bounds(cursor, now, most)
        if self.run.in_quarantine:
            self._alarms.report(QUARANTINE, *_CAREFUL)

    def _bounds(self, cursor: int, now: datetime, most: int) -> Bounds:
        """The bounds of what the earlier run may have taken: one commit, and results of calls it had begun."""
        rows, due, ids = self._inbox.after(cursor, most), self._store.sessions.due(now, most), self._store.ids.last
        upto = max(row.received_at for row in rows) if len(rows) == most else now
        if len(due) == most:
            upto = min(upto, due[-1].wake_at)
        return Bounds(rows[-1].seq if rows else cursor, min(upto, now), ids["messages"], ids["calls"])

    def is_suspect(self, row: CallRow) -> bool:
        """True if a call was in progress at two crashes: it is not made again."""
        return row.key in self.run.suspects

    def may_crash(self, taken: SendResult | CallResult | CallRow | LogRow | DueRow) -> bool:
        """True if something may have crashed the engine: it is marked before it is taken, and ends its commit."""
        begun = self.begun
        if begun is None or not self.run.in_quarantine:
            return False
        match taken:
            case LogRow():
                return taken.seq <= begun.log
            case DueRow():
                return taken.wake_at <= begun.due
            case SendResult():
                return taken.row.id <= begun.message
            case CallResult():
                return self.may_crash(taken.row)
        return not isinstance(taken, EventRow) and taken.id <= begun.call

    def catch_up(self, begun: Bounds, cursor: int) -> None:
        """End the quarantine, and with it all suspicion, as soon as everything is done that the run before may have
        been taking. Its messages and calls are.
        """
        if cursor < begun.log and self._inbox.has_after(cursor):  # the last of them may have been erased
            return
        wake = self._store.sessions.next_wake()
        if wake is None or wake > begun.due:
            self._store.runs.caught_up()
            self.begun, self.run = None, replace(ORDINARY, number=self.run.number)
            self._alarms.clear(QUARANTINE)


class LogEvents:
    """Reads the events of the log. It counts those that could not be read, and reports them as alarms until no more
    come.
    """

    def __init__(self, read: Read, alarms: Alarms, clock: Clock) -> None:
        self._read = read
        self._alarms = alarms
        self._clock = clock
        self._counts: Counter[tuple[str, str]] = Counter()
        self._until: dict[tuple[str, str], float] = {}

    def event_of(self, row: LogRow) -> Event | Forwarded | AliasLearned | str | None:
        """The event of a row; None where it concerns no conversation; a text that says why it could not be read."""
        if not row.readable:
            self._count(row, UnreadableEvent("the body is no JSON object that names its event"))
            return "it could not be read"
        try:
            own = row.event_id.startswith(WRITTEN_HERE)
            return values.loads(row.body) if own else self._read(row.body, row.received_at)
        except UnreadableEvent as error:
            self._count(row, error)
            return f"it could not be read: {error}" if row.name in (INBOUND, TAP) else None
        except Exception as error:  # a hostile sender's event, or a defect in the reading: the others go on
            log.error("an event could not be read, %s: see `bot queue`", error_location(error))
            return f"it could not be read: {error}"

    def _count(self, row: LogRow, error: UnreadableEvent) -> None:
        """Another event of the log could not be read."""
        kind = (UNKNOWN_SENDERS, "") if isinstance(error, UnknownSender) else (UNREADABLE, row.name)
        self._counts[kind] += 1
        self._until[kind] = self._clock.elapsed() + OVER_AFTER.total_seconds()
        count = self._counts[kind]
        if isinstance(error, UnknownSender):
            came = "1 message came" if count == 1 else f"{count:,} messages came"
            what = f"{came} from senders who are no phone numbers (user names or business ids): nobody can be answered"
            self._alarms.report(UNKNOWN_SENDERS, what, _ANSWER_IDS)
        else:
            what = f"{count:,} x {row.name or 'an event without a name'} could not be read: {error}"
            advice = (
                f"ask the gateway's operator what these events hold; the last one is {row.event_id} in the store's log"
            )
            self._alarms.report(UNREADABLE, what, advice, row.name)

    def clear_old(self, now: float) -> None:
        """Clear the alarms that are over."""
        for kind in [kind for kind, until in self._until.items() if until <= now]:
            del self._until[kind], self._counts[kind]
            self._alarms.clear(*kind)


class Housekeeping:
    """Decides when to look for erasures and for what has expired. ``erase`` erases a contact, ``clear_old`` clears the
    alarms that are over.
    """

    def __init__(
        self,
        store: EngineStore,
        inbox: InboxReader,
        clock: Clock,
        erase: Callable[[str], None],
        clear_old: Callable[[float], None],
    ) -> None:
        self.erasing = True  # whether there may be erasures to finish
        self._store = store
        self._inbox = inbox
        self._clock = clock
        self._erase = erase
        self._clear_old = clear_old
        self._expiry = ExpiryTime(clock)
        self._prune_at = self._erased_at = clock.elapsed()

    def run(self, now: float) -> bool:
        """Do what is to be done by now. True when there is more of it."""
        if self.erasing and now >= self._erased_at:
            self._finish_erasures(now)
        return now >= self._prune_at and self._prune(now)

    def _finish_erasures(self, now: float) -> None:
        """Once a second, erase the contacts whose erasure was requested elsewhere, and what has come from erased
        contacts since.
        """
        for contact in self._store.erasures.asked():
            self._erase(contact)
        self.erasing = self._store.erasures.finish(self._inbox.has_of) or bool(self._store.shards.others)
        self._store.ids.drop_drawn()
        self._erased_at = now + _ERASED_EVERY

    def _prune(self, now: float) -> bool:
        """Clear old alarms, and delete some of the rows that have expired, once a minute. True when there are more of
        them.
        """
        self._clear_old(now)
        more = self._store.prune(self._expiry.now())
        self._prune_at = now if more else now + _PRUNED_EVERY
        return more
