"""The engine's loop: one thread takes all events, and it alone writes the engine's file.

`EngineLoop` is the thread: what wakes it, who reports to it, when it rests. `EngineCycle` is one pass: results,
requests, the log, timers, one commit.
"""

import logging
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from concurrent.futures import Future
from datetime import datetime, timedelta
from functools import partial
from itertools import chain, islice
from time import monotonic, sleep

from bot.core import values
from bot.core.alarms import Alarms
from bot.core.clock import Clock, deadline_of
from bot.core.defects import guard, place_of
from bot.core.effects import Fetch, Transcribe
from bot.core.engine_requests import Answer, EngineRequest, EraseContact
from bot.core.errors import BotError, OutcomeLost
from bot.core.events import WRITTEN_HERE, AliasLearned, Event, Forwarded
from bot.core.telemetry import log_turns, turn_log
from bot.runtime.batch import Advance, Batch, EngineShare, RequestRefused
from bot.runtime.broadcasting import PausedAlarms, continue_broadcasts
from bot.runtime.clock_watch import ClockWatch
from bot.runtime.contact_list import read_contacts
from bot.runtime.crash_watch import CrashWatch
from bot.runtime.early_statuses import EarlyStatuses
from bot.runtime.engine_input import (
    CallWindow,
    Consumer,
    EngineInput,
    InFlightWindow,
    Read,
    SendConsumer,
    can_wait,
    handle_call_result,
    handle_event_result,
    handle_late_result,
    handle_send_result,
    on_event,
    on_forwarded,
)
from bot.runtime.housekeeping import Housekeeping
from bot.runtime.metrics import EngineMetrics
from bot.runtime.operator_requests import operate
from bot.runtime.performers import CallResult
from bot.runtime.refused_messages import RefusedMessages
from bot.runtime.sending import SendResult
from bot.runtime.unreadable_events import UnreadableEvents
from bot.runtime.wake_pipe import WakePipe
from bot.services.gateway.webhook_events import INBOUND, TAP, UnreadableEvent
from bot.store.engine_store import EngineStore
from bot.store.files import StoreUnavailable
from bot.store.inbox import InboxReader, LogRow
from bot.store.integrity import check_pair
from bot.store.rows import CallRow, DueRow, EventRow, OutboxRow
from bot.store.trace_rows import OPERATOR

_WAITING_RESULTS = 32  # results that wait at most for something else that is to be committed

# in seconds
_POLL = 0.1  # while results are awaited
_POLL_IDLE = 0.5  # else: it finds what a lost wake-up missed
_ANSWERED_WITHIN = 10.0
GATHERING = 0.005
_FIRST_BACKOFF = 0.1
_LONGEST_BACKOFF = 5.0
_LATEST = timedelta(days=1)  # behind the log's end: a stop of days, or a clock set forward, lets nothing pile up

AT_ONCE = 256
"""How many events one commit takes."""

_EVENTS_AT_ONCE = 16
CUT_OFF = "the bot was killed while it sent this, and the gateway took no key for it: look whether it arrived"

Answers = list[Answer | RequestRefused]

log = logging.getLogger(__name__)


class EngineStopped(BotError):
    """The engine does not run."""


class EngineSilent(EngineStopped, OutcomeLost):
    """The engine gave no answer in time, or stopped before it did."""


class EngineLoop:
    """Runs cycles on a thread of its own, and sleeps while there is nothing to take.

    ``gathering`` is how many seconds the loop waits under load, so that one commit takes more events; 0 if there is
    only one contact, which then never rests for others. With ``wakes`` another process reports that the log has grown,
    as `wake` does. While the store cannot be used, ``alarms`` has the alarm ``store-unavailable``. ``failure`` is the
    error that ended the loop, None if `stop` did. The other arguments are for `EngineCycle`.
    """

    def __init__(
        self,
        store: EngineStore,
        inbox: InboxReader,
        clock: Clock,
        advance: Advance,
        read: Read,
        gathering: float = GATHERING,
        *,
        metrics: EngineMetrics,
        alarms: Alarms,
        wakes: WakePipe | None = None,
        dead_letter_hooks: Collection[str] = (),
    ) -> None:
        self.failure: BaseException | None = None
        share = EngineShare(clock) if gathering else None
        self._cycle = EngineCycle(store, inbox, clock, advance, read, metrics, alarms, dead_letter_hooks, share)
        self._inbox = inbox
        self._clock = clock
        self._alarms = alarms
        self._gathering = gathering
        self._changed = threading.Condition() if wakes is None else wakes
        self._wakes = wakes
        self._incoming = EngineInput()
        self._answers: list[Future[Answer]] = []  # one for each of the incoming requests
        self._claimed: set[int] = set()  # messages without a key: after a crash nobody knows whether they were sent
        self._woken = False
        self._stopping = False
        self._working = True  # False only while it sleeps
        self._cycles = 0
        self._gathered_at = 0.0
        self._thread = threading.Thread(target=guard(self._run), name="turns")

    def start(self, delivery: SendConsumer, performers: Consumer[CallRow]) -> None:
        """Begin to take events, and hand what they decide to these two, which report to `sent` and `called`.

        Raises `bot.store.integrity.StoresDiffer` and `bot.store.files.StoreUnavailable`.
        """
        now = self._clock.now()
        for row in self._cycle.begin(delivery, performers):
            self._incoming.sent.append(SendResult(row, "unknown", row.attempts, None, (), CUT_OFF, now))
        self._thread.start()

    def use(self, advance: Advance, dead_letter_hooks: Collection[str] = ()) -> None:
        """Use this engine from the next event on, and report dead letters to these hooks."""
        self._cycle.advance, self._cycle.dead_letter_hooks = advance, dead_letter_hooks

    def stop(self, timeout: float) -> bool:
        """Take what was reported, and end. Stop delivery and performers before: what they report later is lost to us.

        Returns False when the loop has not ended within ``timeout`` seconds.
        """
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if self._thread.ident is not None:  # it may never have been started
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def wake(self) -> None:
        """The log has grown: read on. From any thread."""
        with self._changed:
            self._take_now()

    def _take_now(self) -> None:
        self._woken = True
        self._changed.notify_all()

    def sent(self, result: SendResult) -> None:
        """Report the result of a message. From any thread.

        A result that nobody waits for is committed with whatever comes next, or after `_POLL`: so at low load an event
        costs one commit and not two. A crash before it repeats the request with the same key.
        """
        with self._changed:
            self._incoming.sent.append(result)
            waits = self._gathering > 0 and can_wait(result) and result.row.id not in self._claimed
            if not self._woken and (not waits or len(self._incoming.sent) >= _WAITING_RESULTS):
                self._take_now()
            self._claimed.discard(result.row.id)

    def called(self, result: CallResult) -> None:
        """Report the result of a call. From any thread."""
        with self._changed:
            self._incoming.called.append(result)
            self._take_now()

    def operate(self, request: EngineRequest | CallRow) -> Answer:
        """Do what an operator asks (see `bot.runtime.operator_requests.operate`), and return when it is durable.

        Raises `bot.runtime.batch.RequestRefused` and `EngineStopped`.
        """
        try:
            return self._begin_ask(request).result(_ANSWERED_WITHIN)
        except TimeoutError:
            raise EngineSilent(f"no answer within {_ANSWERED_WITHIN:g} s: the engine may still do it") from None

    def claim(self, row: CallRow) -> None:
        """Return when it is durable that a call is about to be made in the crash quarantine. Raises `EngineStopped`."""
        self.operate(row)

    def begin_claim(self, row: OutboxRow, done: Callable[[BotError | None], None]) -> None:
        """Call back once it is durable that a message is about to be sent without a key. Raises `EngineStopped`."""

        def answered(answer: Future[Answer]) -> None:
            error = answer.exception()
            done(error if isinstance(error, BotError) else None)

        self._claimed.add(row.id)
        self._begin_ask(row).add_done_callback(answered)

    def may_crash(self, row: CallRow) -> bool:
        """True if a call may have crashed the engine: see `bot.store.crash_quarantine`."""
        return self._cycle.crashes.may_crash(row)

    def is_suspect(self, row: CallRow) -> bool:
        """True if a call was in progress at two crashes: it is not made again."""
        return row.key in self._cycle.crashes.run.suspects

    @property
    def run_number(self) -> int:
        """The number of this run: see `bot.store.crash_quarantine`."""
        return self._cycle.crashes.run.number

    def settled(self) -> bool:
        """True when nothing is left to do until something comes in or time passes.

        The log is read to its end, no timer is due, nothing is parked that could be taken, and delivery and
        performers are idle.
        """
        with self._changed:
            cycles = self._cycles
            asleep = not self._working
        if (
            not asleep
            or not self._cycle.idle()
            or self._cycle.clock_watch.is_set
            or self._inbox.has_after(self._cycle.cursor)
        ):
            return False
        wake = self._cycle.next_wake
        if wake is not None and wake <= self._clock.now():
            return False
        with self._changed:  # what was reported before delivery became idle is seen here
            return cycles == self._cycles and not self._working and not len(self._incoming)

    def next_wake(self) -> datetime | None:
        """When the next session wants to be woken, as of the last cycle."""
        return self._cycle.next_wake

    def wait_settled(self, timeout: float) -> bool:
        """Wait until it is `settled`. False when it is not after ``timeout`` real seconds, or the loop has ended."""
        deadline = monotonic() + timeout
        while True:
            cycles = self._cycles
            if self.settled():
                return True
            if not self._wait_for_cycle(cycles, deadline - monotonic()) or not self._thread.is_alive():
                return False

    def _begin_ask(self, request: EngineRequest | OutboxRow | CallRow) -> Future[Answer]:
        answer: Future[Answer] = Future()
        with self._changed:
            if not self._thread.is_alive() or self._stopping:
                raise EngineStopped("the engine does not run")
            self._incoming.requests.append(request)
            self._answers.append(answer)
            self._take_now()
        return answer

    def _wait_for_cycle(self, cycles: int, timeout: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self._cycles != cycles, timeout)

    def _run(self) -> None:
        try:
            self._loop()
            self._cycle.end()
        except StoreUnavailable as error:
            log.error("the engine stops without being able to note it: %s", error)
        except BotError as error:  # `Engine.check` raises it, and its caller logs it
            self.failure = error
        except BaseException as error:
            self.failure = error
            raise
        finally:
            self._refuse_requests()

    def _loop(self) -> None:
        backoff = _FIRST_BACKOFF
        while not (self._stopping and not len(self._incoming)):
            try:
                more = self._take()
                rests = not more and not self._cycle.housekeeping()
                if backoff != _FIRST_BACKOFF:
                    backoff = _FIRST_BACKOFF
                    self._alarms.clear("store-unavailable")
                if more:
                    self._gather()
                elif rests:
                    self._sleep()
            except StoreUnavailable as error:
                if self._stopping:
                    raise
                self._alarms.report("store-unavailable", f"nothing is taken or sent: {error.what}", error.advice)
                self._rest_in_trouble(backoff)
                backoff = min(2 * backoff, _LONGEST_BACKOFF)

    def _gather(self) -> None:
        """Under load, wait for more events before the next commit, which costs the same for one and for many."""
        if monotonic() - self._gathered_at < 2 * self._gathering:
            sleep(self._gathering)
        self._gathered_at = monotonic()

    def _take(self) -> bool:
        """Run one cycle. Returns whether there is more to take at once."""
        with self._changed:
            self._working = True
            self._woken = False
            taken = self._incoming.first(self._cycle.takes_at_once(self._incoming))
            left = len(self._incoming) > len(taken)
        worked, answers = self._cycle.take(taken)
        with self._changed:
            self._incoming.drop(taken)
            futures = self._answers[: len(answers)]
            del self._answers[: len(answers)]
            woken = self._woken or (self._wakes is not None and self._wakes.was_written())
            more = woken or (worked and self._cycle.more) or left
        for future, answer in zip(futures, answers, strict=True):
            _resolve(future, answer)
        return more

    def _sleep(self) -> None:
        with self._changed:
            self._working = False
            self._cycles += 1
            self._changed.notify_all()
            if not (self._woken or self._stopping):
                wake = self._cycle.next_wake
                until = None if wake is None else deadline_of(self._clock, wake)
                rests = self._cycle.all_done() and not len(self._incoming)
                self._clock.wait(self._changed, until, _POLL_IDLE if rests else _POLL)

    def _rest_in_trouble(self, seconds: float) -> None:
        """Rest, but answer questions about the status: people ask them when something is wrong."""
        until = monotonic() + seconds
        while not self._stopping and (left := until - monotonic()) > 0:
            with self._changed:
                self._changed.wait_for(lambda: self._stopping or self._next_question() is not None, left)
                found = self._next_question()
                if found is None:
                    continue
                place, request = found
                del self._incoming.requests[place]
                future = self._answers.pop(place)
            try:
                future.set_result(self._cycle.question(request))
            except BotError as error:
                future.set_exception(error)

    def _next_question(self) -> tuple[int, EngineRequest] | None:
        """The first question among the requests, and its place there."""
        asked = enumerate(self._incoming.requests)
        return next(((n, r) for n, r in asked if isinstance(r, EngineRequest) and r.only_tells), None)

    def _refuse_requests(self) -> None:
        with self._changed:
            self._stopping = True
            self._working = False
            self._cycles += 1
            futures, self._answers = self._answers, []
            self._changed.notify_all()
        for future in futures:
            future.set_exception(EngineSilent("the engine stopped before it answered: it may have done this"))


def _resolve(future: Future[Answer], answer: Answer | BotError) -> None:
    if isinstance(answer, BotError):
        future.set_exception(answer)
    else:
        future.set_result(answer)


# -- one cycle: no threads and no waiting here --------------------------------------------------------


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
        self.cursor = store.cursor()
        self.more = False  # whether the last cycle left something that the next one can take
        self.next_wake: datetime | None = None
        self._store = store
        self._inbox = inbox
        self._clock = clock
        self._read = read
        self._metrics = metrics
        self._share = share
        self.crashes = CrashWatch(store, inbox, alarms)
        self._paused = PausedAlarms(store, alarms)
        self._has_passed = False  # whether a cycle has come to its end
        self.clock_watch = ClockWatch(store, clock)
        self._housekeeping = Housekeeping(store, inbox, clock, self._erase)
        self._events: set[int] = set()  # that are being delivered
        self._early = EarlyStatuses(store, clock)
        self._unreadable = UnreadableEvents(alarms, clock)
        self._taken_before = 0  # the last place of the log that an engine took of this store, or of its original
        self._refused = RefusedMessages()
        self._list_looked_at = False  # whether somebody waits for the gateway's list since the last run

    def begin(self, delivery: SendConsumer, performers: Consumer[CallRow]) -> list[OutboxRow]:
        """Begin a run, which hands on to these two. Returns the messages that the last run may or may not have sent.

        Raises `StoresDiffer`.
        """
        store, self._delivery, self._performers = self._store, delivery, performers
        self._sends = InFlightWindow(
            store.messages.pending, delivery, delivery.room, delivery.takes, delivery.takes_again
        )
        self._calls = CallWindow(store.calls.pending, performers)
        age = check_pair(store.address)
        if age.taken_again:
            log.warning(
                "%s is an older copy: events %d to %d of the log are taken again, and each message has the key that it "
                "had, by which the gateway knows it",
                store.address,
                age.cursor + 1,
                age.taken,
            )
        self._taken_before = age.taken
        now = self._clock.now()
        self.clock_watch.begin(now)
        self.crashes.begin(self.cursor, now, AT_ONCE)
        unclear = store.messages.claimed()
        self._sends.adopt(unclear)
        self._early.begin()
        self._paused.report()
        return unclear

    def end(self) -> None:
        """End the run."""
        self._store.runs.end()

    def takes_at_once(self, incoming: EngineInput) -> int:
        """How much one cycle takes of what has come in: up to the first that may have crashed the engine."""
        if not self.crashes.run.in_quarantine:
            return AT_ONCE
        results: Iterable[SendResult | CallResult] = chain(incoming.sent, incoming.called)
        return next(
            (n for n, result in enumerate(islice(results, AT_ONCE), 1) if self.crashes.may_crash(result)), AT_ONCE
        )

    def take(self, incoming: EngineInput) -> tuple[bool, Answers]:
        """Run one cycle: results first, then requests, then the log and the timers that are due, in the order of their
        times.

        Returns whether there was anything to commit, and the answers to the requests.
        """
        started = self._clock.elapsed()
        self._catch_up()
        for contact, by in _to_erase(incoming):
            self._erase(contact, by)
        self.clock_watch.correct()
        self._sends.refill()
        self._calls.refill()
        batch = Batch(self._store, self.advance, self.crashes.run, self._clock.now(), self._share)
        batch.repeated = self.cursor < self._taken_before
        for sent in incoming.sent:
            batch.marks = self.crashes.may_crash(sent)
            known = sent.row.id in self._sends and sent.row.id not in batch.commit.messages.ended
            (handle_send_result if known else handle_late_result)(batch, sent)
        for called in incoming.called:
            batch.marks = self.crashes.may_crash(called)
            if isinstance(called.row, EventRow):
                known = called.row.id in self._events and called.row.id not in batch.commit.events.tried
                (handle_event_result if known else handle_late_result)(batch, called)
                continue
            known = called.row.id in self._calls and called.row.id not in batch.commit.calls.ended
            (handle_call_result if known else handle_late_result)(batch, called)
            if isinstance(called.row.effect, Fetch | Transcribe) and not (
                known or self._store.sessions.knows(called.row.contact)
            ):
                self._erase(called.row.contact)  # its contact was erased meanwhile, and the file came later
        most = 0 if batch.marks and (incoming.sent or incoming.called) else AT_ONCE - len(incoming)
        batch.marks = self.crashes.run.in_quarantine
        answers = [self._answer(batch, request) for request in incoming.requests]
        self._early.forward(batch)
        rows, more = self._take_log(batch, most)
        batch.marks = self.crashes.run.in_quarantine
        continue_broadcasts(batch, self._take_back)
        if batch.to_read or not self._list_looked_at:
            read_contacts(batch)
            self._list_looked_at = True
        batch.call_dead_letter_hooks(self.dead_letter_hooks)
        worked = self._commit(batch)
        if unsent := {sent.row.id for sent in incoming.sent if sent.state != "sent"}:
            self._delivery.ends_stored(unsent)
            self._sends.refill()
        if self._store.events.may_wait:
            self._deliver_events(batch.now)
        operated = bool(incoming.called or incoming.requests or batch.commit.broadcasts.frees_some)
        self.more = operated or more or self._sends.behind or self._calls.behind
        self.more = self.more or bool(self._store.broadcasts.done())
        self._has_passed = True
        if worked:
            seconds = self._clock.elapsed() - started
            self._metrics.committed(batch.commit, rows, len(incoming), batch.now, seconds)
            incoming.count(self._metrics)
            self._refused.note(incoming.sent)
            if turn_log.isEnabledFor(logging.INFO):
                log_turns(batch.commit.turns, self._store.store_id)
        return worked, answers

    def question(self, request: EngineRequest) -> Answer:
        """Answer a request that only tells, and write nothing."""
        return operate(Batch(self._store, self.advance, self.crashes.run, self._clock.now()), request)

    def housekeeping(self) -> bool:
        """Do the housekeeping, after a cycle that found nothing. True when there is more of it to do."""
        self._catch_up()
        event = self._store.events.next_due(self._events) if len(self._events) < _EVENTS_AT_ONCE else None
        times = self._store.sessions.next_wake(), self._store.broadcasts.next_due(), event
        self.next_wake = min((at for at in times if at is not None), default=None)
        self._unreadable.clear_old()
        self._housekeeping.finish_erasures()
        return self._housekeeping.prune()

    def _catch_up(self) -> None:
        if self._has_passed:
            self.crashes.catch_up(self.cursor, self._done_upto)

    def all_done(self) -> bool:
        """True if nothing waits to be sent or called, and no result is awaited."""
        return self._done_upto(sys.maxsize, sys.maxsize)

    def _done_upto(self, send: int, call: int) -> bool:
        return self._sends.done_upto(send) and self._calls.done_upto(call)

    def idle(self) -> bool:
        """True when nothing that was handed on can be done now."""
        return self._sends.idle() and self._calls.idle() and not (self._events and not self._performers.idle())

    def _take_log(self, batch: Batch, most: int) -> tuple[list[LogRow], bool]:
        """Take what is next in the log, and what is due, up to the first that may have crashed the engine.

        Returns the rows of the log that were taken, and whether there may be more to take at once.
        """
        if most <= 0:
            return [], True
        rows, due = self._inbox.after(self.cursor, most), self._store.sessions.due(batch.now, most)
        batch.advance = self.advance  # of events that came after a reload, none is taken by the old one
        batch.expect(due)
        batch.sessions.prefetch({row.contact for row in rows if row.contact} | {session.contact for session in due})
        taken = list[LogRow]()
        all_due_until = due[-1].wake_at if len(due) == most else batch.now
        for number, (what, take) in enumerate(self._in_order(batch, rows, most, all_due_until), start=1):
            batch.marks = self.crashes.may_crash(what)
            take()
            if isinstance(what, LogRow):
                taken.append(what)
            if batch.marks or number == most:
                return taken, True
        return taken, len(due) == most

    def _in_order(
        self, batch: Batch, rows: Sequence[LogRow], most: int, all_due_until: datetime
    ) -> Iterator[tuple[LogRow | DueRow, Callable[[], None]]]:
        """The rows, in the order of the log, and each wake-up behind the rows that came before its time; and how each
        is taken.

        Wake-ups that a turn makes due are among them: the history is as if the engine had never stood still. A wake-up
        behind the log's end happens `_LATEST` ago at the earliest.
        """
        events = [self._event_of(row) for row in rows]  # all before any is taken: that is easy on the processor's cache
        for row, event in zip(rows, events, strict=True):
            before = row.received_at - timedelta.resolution
            while (due := batch.next_due(min(before, all_due_until))) is not None:
                yield due, partial(batch.take_due, due, due.wake_at)
            if all_due_until < min(before, batch.now):
                return  # others may be due before this row
            yield row, partial(self._take_row, batch, row, event)
        if len(rows) < most:  # the log is read to its end, as of a time after `batch.now`: no message came before
            while (due := batch.next_due(all_due_until)) is not None:
                yield due, partial(batch.take_due, due, max(due.wake_at, batch.now - _LATEST))

    def _event_of(self, row: LogRow) -> Event | Forwarded | AliasLearned | str | None:
        """The event of a row; None where it concerns no conversation; a text that says why it could not be read."""
        if not row.readable:
            return "it could not be read"
        try:
            own = row.event_id.startswith(WRITTEN_HERE)
            return values.loads(row.body) if own else self._read(row.body, row.received_at)
        except UnreadableEvent as error:
            self._unreadable.count(row, error)
            return f"it could not be read: {error}" if row.name in (INBOUND, TAP) else None
        except Exception as error:  # a hostile sender's event, or a defect in the reading: the others go on
            log.error("an event could not be read, %s: see `bot queue`", place_of(error))
            return f"it could not be read: {error}"

    def _take_row(self, batch: Batch, row: LogRow, event: Event | Forwarded | AliasLearned | str | None) -> None:
        batch.commit.move_cursor(row.seq, row.event_id)
        if isinstance(event, str):
            batch.commit.dead_letters.add("event", row.contact, event, row.body)
        elif isinstance(event, Forwarded | AliasLearned):
            on_forwarded(batch, event)
        elif event is not None:
            on_event(batch, event)

    def _erase(self, contact: str, by: str = OPERATOR) -> None:
        """Erase a contact. In a commit of its own: what this cycle writes comes after it."""
        rows = self._store.erase(contact, self.cursor, self._clock.now(), by)
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

    def _answer(self, batch: Batch, request: EngineRequest | OutboxRow | CallRow) -> Answer | RequestRefused:
        try:
            if isinstance(request, OutboxRow):
                batch.commit.messages.claim(request)
                return {}
            if isinstance(request, CallRow):
                batch.commit.calls.claim(request)
                return {}
            answer = operate(batch, request, self._take_back)
            if not request.only_tells and request.asked_as is not None:
                batch.commit.answer(request.asked_as, answer)
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
        self.cursor = commit.cursor
        self._sends.done(commit.messages.ended)
        self._calls.done(commit.calls.ended)
        self._events -= commit.events.tried
        if self._store.shards.others:
            self._early.note(commit.messages.early)
        self._sends.add(commit.messages.added)
        self._calls.add(commit.calls.added)
        if commit.broadcasts.moved:
            self._paused.report()
        return True


def _to_erase(incoming: EngineInput) -> Iterator[tuple[str, str]]:
    for request in incoming.requests:
        if isinstance(request, EraseContact):
            yield request.contact, request.by
