"""One cycle of the engine: gather what there is, take it, commit, hand it on. No threads and no waiting here.

Below it stands the in-flight window, which says which rows delivery and performers have.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from datetime import datetime, timedelta
from typing import Generic, Protocol, TypeVar

from bot.alarms import Alarms
from bot.clock import SMALLEST_STEP, Clock, ExpiryTime, Steps
from bot.core import values
from bot.core.effects import Fetch
from bot.core.events import STARTS, Event, StatusReported
from bot.metrics import EngineMetrics
from bot.runtime.batch import Advance, Batch, RequestRefused, place_of
from bot.runtime.broadcasting import ALARM, cancel, fill_outbox, take_back_paused, why_paused
from bot.runtime.engine_input import (
    EngineInput,
    handle_call_result,
    handle_late_result,
    handle_send_result,
    handle_status,
    with_contact,
)
from bot.runtime.operator_requests import Answer, Request, operate
from bot.store.crash_quarantine import ORDINARY
from bot.store.engine_store import Store
from bot.store.inbox import InboxReader
from bot.store.integrity import check_pair
from bot.store.rows import CallRow, LogRow, OutboxRow
from bot.telemetry import log_turns, turn_log

R = TypeVar("R", bound=OutboxRow | CallRow)
R_contra = TypeVar("R_contra", bound=OutboxRow | CallRow, contravariant=True)

AT_ONCE = 256
"""How many events one commit takes."""

_CALLS_AT_ONCE = 1000
_PRUNED_EVERY = 60.0  # seconds
_ERASED_EVERY = 1.0

Read = Callable[[bytes, datetime], Event | None]
Answers = list[Answer | RequestRefused]

_SET_BACK = (
    "no wait gets longer than it was declared, appointments keep their day and hour; let the machine keep time (NTP)"
)
_SET_FORWARD = "what was due meanwhile is done now; let the machine keep time (NTP)"

log = logging.getLogger(__name__)


class Consumer(Protocol[R_contra]):
    """Delivery or the performers: processes rows on threads of its own, and reports the result of each."""

    def offer(self, rows: Sequence[R_contra], /) -> None:
        """Take rows to process."""
        ...

    def withdraw(self, contact: str, /) -> None:
        """Forget the rows of a contact."""
        ...

    def idle(self) -> bool:
        """True when nothing is being done or could be done now."""
        ...


class SendConsumer(Consumer[OutboxRow], Protocol):
    """What a cycle asks of delivery."""

    def room(self) -> int:
        """How many more rows it can take."""
        ...

    def takes(self, rows: Sequence[OutboxRow]) -> list[OutboxRow]:
        """Those of the rows that it takes now."""
        ...

    def takes_again(self) -> bool:
        """Whether it would take some now that it did not take."""
        ...

    def take_back(self, ids: Set[int]) -> Set[int]:
        """Forget rows that are not being sent, nor may have been. Returns those."""
        ...


class EngineCycle:
    """Takes events, commits what they decide, and hands that on. One thread calls it; `idle` is for any.

    ``read`` makes an event of an acknowledged body, or None where it concerns no conversation. A method that
    raises `bot.store.files.StoreUnavailable` has changed nothing, and can be called again with the same. ``alarms``
    lists broadcasts that are paused. The hooks that ``dead_letter_hooks`` names hear of dead letters.
    """

    def __init__(
        self,
        store: Store,
        inbox: InboxReader,
        clock: Clock,
        advance: Advance,
        read: Read,
        delivery: SendConsumer,
        performers: Consumer[CallRow],
        metrics: EngineMetrics,
        alarms: Alarms,
        dead_letter_hooks: Callable[[], Collection[str]] = tuple,
    ) -> None:
        self.cursor = store.cursor()
        self.next_wake: datetime | None = None
        self._store = store
        self._inbox = inbox
        self._clock = clock
        self._advance = advance
        self._read = read
        self._delivery = delivery
        self._performers = performers
        self._metrics = metrics
        self._alarms = alarms
        self._paused: set[str] = set()  # broadcasts
        self._dead_letter_hooks = dead_letter_hooks
        self._run = ORDINARY
        self._begun: dict[str, int] = {}  # the last ids by table, when the run began
        self._caught_up = False
        self._steps = Steps(clock)
        self._set_by = timedelta()  # how far the clock was set since the store was brought back to it
        self._expiry = ExpiryTime(clock)
        self._prune_at = clock.elapsed()
        self._erasing = True  # as far as is known
        self._erased_at = clock.elapsed()
        self._sends = InFlightWindow(store.pending_sends, delivery, delivery.room, delivery.takes, delivery.takes_again)
        self._calls: InFlightWindow[CallRow] = InFlightWindow(
            store.pending_calls, performers, lambda: _CALLS_AT_ONCE - len(self._calls)
        )

    def begin(self) -> list[OutboxRow]:
        """Begin a run. Returns the messages that the last run may or may not have sent.

        Raises `StoresDiffer`.
        """
        age = check_pair(self._store.path)
        if age.taken_again:
            log.warning(
                "%s is an older copy: events %d to %d of the log are taken again, and each message has the key that it "
                "had, by which the gateway knows it",
                self._store.path,
                age.cursor + 1,
                age.taken,
            )
        last, now = self._store.written_at(), self._clock.now()
        if last is not None and last - now >= SMALLEST_STEP:
            self._set_back(last - now, "while the bot was down, at least")
        self._run, self._begun = self._store.begin_run(), self._store.last_ids()
        unclear = self._store.claimed_sends()
        self._sends.adopt(unclear)
        self._report_paused()
        return unclear

    def end(self) -> None:
        """End the run."""
        self._store.end_run()

    @property
    def careful(self) -> bool:
        """Whether this run is careful after crashes: see `bot.store.crash_quarantine`."""
        return self._run.careful

    @property
    def at_once(self) -> int:
        """How many events one cycle takes, of all kinds together."""
        return 1 if self.careful else AT_ONCE

    def take(self, incoming: EngineInput) -> tuple[bool, Answers]:
        """Run one cycle: results first, then requests, then the log, and timers once that is read to its end.

        Returns whether there was anything to commit, and the answers to the requests.
        """
        started = self._clock.elapsed()
        for contact in _to_erase(incoming):
            self._erase(contact)
        self._set_by += self._steps.seen()
        if self._set_by:
            self._clock_is_set(self._set_by)
            self._set_by = timedelta()
        self._sends.refill()
        self._calls.refill()
        batch = Batch(self._store, self._advance, self._run, self._clock.now())
        batch.look_up(messages=[name for sent in incoming.sent for name in sent.message_ids])
        for sent in incoming.sent:
            known = sent.row.id in self._sends and sent.row.id not in batch.commit.sends_ended
            (handle_send_result if known else handle_late_result)(batch, sent)
        for called in incoming.called:
            known = called.row.id in self._calls and called.row.id not in batch.commit.calls_ended
            (handle_call_result if known else handle_late_result)(batch, called)
            if isinstance(called.row.effect, Fetch) and not (known or self._store.knows(called.row.contact)):
                self._erase(called.row.contact)  # its contact was erased meanwhile, and the file came later
        answers = [self._answer(batch, request) for request in incoming.requests]
        rows = self._take_log(batch, self.at_once - len(incoming))
        if batch.commit.moved:
            take_back_paused(batch, self._take_back)
        if batch.commit.opted_out:
            cancel(batch, self._take_back)
        if batch.commit.broadcasts or self._store.broadcasts_wait():
            fill_outbox(batch, self._take_back)
        batch.call_dead_letter_hooks(self._dead_letter_hooks())
        worked = self._commit(batch)
        if worked:
            seconds = self._clock.elapsed() - started
            self._metrics.committed(batch.commit, rows, len(incoming), batch.now, seconds)
            incoming.count(self._metrics)
            if turn_log.isEnabledFor(logging.INFO):
                log_turns(batch.commit.turns, self._store.store_id)
        return worked, answers

    def question(self, request: Request) -> Answer:
        """Answer one of `bot.runtime.operator_requests.QUESTIONS`, and write nothing."""
        return operate(Batch(self._store, self._advance, self._run, self._clock.now()), request)

    def rest(self) -> bool:
        """Do the housekeeping, after a cycle that found nothing. True when there is more of it to do."""
        if not self._caught_up and self._has_caught_up():
            self._store.caught_up()
            self._caught_up = True
            self._run = ORDINARY
        self.next_wake = self._store.next_wake()
        now = self._clock.elapsed()
        if self._erasing and now >= self._erased_at:
            self._erasing = self._store.finish_erasures(self._inbox.has_of)
            self._erased_at = now + _ERASED_EVERY
        if now < self._prune_at:
            return False
        more = self._store.prune(self._expiry.now())
        self._prune_at = now if more else now + _PRUNED_EVERY
        return more

    def _has_caught_up(self) -> bool:
        """Whether everything is done that was there when the run began. (On a busy day there is always something new.)"""
        sends, calls = self._begun.get("outbox", 0), self._begun.get("calls", 0)
        return self._sends.done_upto(sends) and self._calls.done_upto(calls)

    @property
    def clock_is_set(self) -> bool:
        """Whether the clock has been set since the last cycle."""
        return bool(self._set_by or self._steps.unseen())

    def _clock_is_set(self, by: timedelta) -> None:
        if by < timedelta():
            self._set_back(-by, "by")
        else:
            log.warning("the machine's clock was set forward by %s: %s", by, _SET_FORWARD)

    def _set_back(self, by: timedelta, how: str) -> None:
        self._store.clock_set_back(self._clock.now(), by)
        log.warning("the machine's clock was set back %s %s: %s", how, by, _SET_BACK)

    def idle(self) -> bool:
        """True when nothing that was handed on can be done now."""
        return self._sends.idle() and self._calls.idle()

    def _take_log(self, batch: Batch, most: int) -> list[LogRow]:
        """Take the next rows of the log, which are returned, and what is due once it is read to its end."""
        rows = self._inbox.after(self.cursor, most) if most > 0 else []
        batch.look_up({row.contact for row in rows if row.contact})
        for row in rows:
            self._take_row(batch, row)
        if len(rows) < most:  # the log is read to its end, as of a time after `batch.now`: no message came before
            for due in self._store.due(batch.now, most - len(rows)):
                batch.take_due(due)
        return rows

    def _take_row(self, batch: Batch, row: LogRow) -> None:
        batch.commit.move_cursor(row.seq, row.event_id)
        if not row.readable:
            batch.commit.add_dead_letter("event", row.contact, "it could not be read", row.body)
            return
        try:
            own = row.event_id.startswith(STARTS)
            event = values.loads(row.body) if own else self._read(row.body, row.received_at)
        except Exception as error:  # a hostile sender's event, or a defect in the reading: the others go on
            log.error("an event could not be read, %s: see `bot queue`", place_of(error))
            batch.commit.add_dead_letter("event", row.contact, f"it could not be read: {error}", row.body)
            return
        event = None if event is None else with_contact(batch, event)
        if isinstance(event, StatusReported):
            handle_status(batch, event)
        elif event is not None:
            batch.take(event)

    def _erase(self, contact: str) -> None:
        """Erase a contact. In a commit of its own: what this cycle writes comes after it."""
        rows = self._store.erase(contact, self.cursor, self._clock.now())
        self._erasing = True
        self._sends.done(rows.sends)
        self._calls.done(rows.calls)
        self._delivery.withdraw(contact)
        self._performers.withdraw(contact)

    def _answer(self, batch: Batch, request: Request | OutboxRow | CallRow) -> Answer | RequestRefused:
        try:
            if isinstance(request, OutboxRow):
                batch.commit.claim(request)
                return {}
            if isinstance(request, CallRow):
                batch.commit.claim_call(request)
                return {}
            return operate(batch, request, self._take_back)
        except RequestRefused as refusal:
            return refusal

    def _take_back(self, ids: Set[int]) -> Set[int]:
        """Take rows back from delivery. Rows that delivery no longer has may have been sent: their results are on their way.

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
        self._sends.done(commit.sends_ended)
        self._calls.done(commit.calls_ended)
        self._sends.add(commit.sends)
        self._calls.add(commit.calls)
        if commit.moved:
            self._report_paused()
        return True

    def _report_paused(self) -> None:
        paused = {broadcast.name: broadcast for broadcast in self._store.paused_broadcasts()}
        for name in self._paused - paused.keys():
            self._alarms.clear(ALARM, name)
        for name, broadcast in paused.items():
            self._alarms.report(ALARM, *why_paused(broadcast), about=name)
        self._paused = set(paused)


def _to_erase(incoming: EngineInput) -> Iterator[str]:
    for request in incoming.requests:
        match request:
            case {"do": "erase", "contact": str(contact)} if contact.isdecimal():
                yield contact


_READ_AT_ONCE = 256


class InFlightWindow(Generic[R]):
    """The rows of a queue that its consumer has: given in the order of ids, and never more than the consumer has room for.

    New rows are given directly as long as the consumer keeps up; else the rest stays in the file and is read when
    there is room again. ``pending`` reads rows after an id from the file. ``takes`` returns the rows that the consumer
    takes; ``takes_again`` says that some of the others can be offered once more: the file is read anew.
    """

    def __init__(
        self,
        pending: Callable[[int, int], list[R]],
        consumer: Consumer[R],
        room: Callable[[], int],
        takes: Callable[[Sequence[R]], Sequence[R]] = lambda rows: rows,
        takes_again: Callable[[], bool] = lambda: False,
    ) -> None:
        self._pending = pending
        self._consumer = consumer
        self._room = room
        self._takes = takes
        self._takes_again = takes_again
        self._some_left = False
        self._upto = 0
        self._behind = True
        self._given: set[int] = set()

    def __len__(self) -> int:
        return len(self._given)

    def __contains__(self, id: int) -> bool:
        return id in self._given

    def add(self, rows: Sequence[R]) -> None:
        """Rows have been committed."""
        if rows and not self._behind:
            room = self._room()
            self._give(rows[:room])
            self._behind = room < len(rows)

    def refill(self) -> None:
        """Read on from the file as far as there is room."""
        if self._some_left and self._takes_again():
            self._upto, self._behind, self._some_left = 0, True, False
        while self._behind and (room := min(self._room(), _READ_AT_ONCE)) > 0:
            rows = self._pending(self._upto, room)
            self._give(rows)
            self._behind = len(rows) == room

    def adopt(self, rows: Iterable[R]) -> None:
        """These were given before, by an earlier run: they are not given again, but their results are awaited."""
        self._given.update(row.id for row in rows)

    def done(self, ids: Iterable[int]) -> None:
        """Rows are done with."""
        self._given.difference_update(ids)

    def done_upto(self, id: int) -> bool:
        """True when nothing is left to do of the rows up to an id."""
        return (
            not self._some_left and (not self._behind or self._upto >= id) and all(given > id for given in self._given)
        )

    def idle(self) -> bool:
        """True when nothing is left to do now."""
        return not self._behind and (not self._given or self._consumer.idle())

    def _give(self, rows: Sequence[R]) -> None:
        if rows:
            self._upto = rows[-1].id
            new = [row for row in rows if row.id not in self._given]
            taken = self._takes(new)
            self._some_left = self._some_left or len(taken) < len(new)
            self._given.update(row.id for row in taken)
            self._consumer.offer(taken)
