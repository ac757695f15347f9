"""Delivery: sends the outbox's messages, in order for each contact, many contacts at once, within the limits."""

import heapq
import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from random import Random

from bot.clock import Clock
from bot.gateway.client import Gateway
from bot.runtime.crew import Crew
from bot.runtime.pacing import Pacing
from bot.runtime.sending import Lane, Outcome, Sender
from bot.store.rows import OutboxRow

CAPACITY = 10_000
FIRST_PROBE = timedelta(minutes=1)
LONGEST_PROBE = timedelta(minutes=5)
_LOOK_AT_CLOCK = 60.0  # seconds

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SendResult:
    """What became of a message, or of a try.

    ``state``: ``sent``; ``replaced`` (the window was shut, its template went); ``covered`` (the window was shut,
    and a template went since the contact's newest message); ``failed``; ``unknown`` (nobody can tell). Or it is
    to be tried still: ``retry`` at ``due_at``; ``held`` (nothing can be sent at all, see `Delivery.status`).
    """

    row: OutboxRow
    state: str
    attempts: int
    due_at: datetime | None
    message_ids: tuple[str, ...]
    detail: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Status:
    """How delivery stands. ``alarm`` says in words why nothing can be sent, if that is so, and what to do."""

    alarm: str | None
    waiting: int
    in_flight: int


@dataclass(slots=True)
class _Hold:
    """Why all delivery stands still, and when one message is tried to see whether it still has to."""

    words: str
    probe_at: datetime
    pause: timedelta = FIRST_PROBE
    probing: bool = False


@dataclass(slots=True)
class _Job:
    lane: Lane
    permit: int
    probe: bool


class Delivery:
    """Takes rows, sends each when its time comes, and reports what came of it.

    ``report`` is called from worker threads, for one contact in order, and with a lock held, so that nothing is
    ever idle and unreported: it must not call back. ``window`` gives the time of a contact's
    newest message, and ``replaced`` that of the last template that went in place of a message to it, as the store
    has them. ``claim`` returns once it is durable that a row is about to be sent: it is called where the endpoint
    takes no key, so that after a crash the row is unknown and is not sent twice. ``repeat_unclear`` repeats such
    a row once when nobody can tell whether it was sent. `status` tells of an alarm.
    """

    def __init__(
        self,
        gateway: Gateway,
        clock: Clock,
        pacing: Pacing,
        report: Callable[[SendResult], None],
        window: Callable[[str], datetime | None],
        *,
        replaced: Callable[[str], datetime | None],
        claim: Callable[[OutboxRow], None],
        threads: int = 128,
        random: Random | None = None,
        repeat_unclear: bool = False,
    ) -> None:
        self._clock = clock
        self._pacing = pacing
        self._report = report
        self._sender = Sender(gateway, clock, window, replaced, claim, random or Random(), repeat_unclear)
        self._lock = threading.Lock()
        self._crew = Crew(self._lock, self._take, self._do, threads, "delivery")
        self._time = threading.Condition(self._lock)
        self._timekeeper = threading.Thread(target=self._keep_time, name="delivery-time", daemon=True)
        self._lanes: dict[str, Lane] = {}
        self._ready: deque[Lane] = deque()
        self._later: list[tuple[datetime, int, Lane]] = []
        self._order = count()
        self._rows = 0
        self._in_flight = 0
        self._hold: _Hold | None = None
        self._awaited: datetime | None = None  # what the timekeeper waits for
        self._running = False
        self._closed = False

    def start(self) -> None:
        """Begin to send."""
        with self._lock:
            self._running = True
            self._timekeeper.start()

    def stop(self, timeout: float) -> None:
        """Send nothing more, and wait for what is in flight. What has not come back by then is not reported."""
        with self._lock:
            started, self._running = self._running, False
            self._crew.end()
            self._time.notify_all()
        if started:
            self._timekeeper.join()
        self._crew.join(timeout)
        with self._lock:
            self._closed = True

    def offer(self, rows: Sequence[OutboxRow]) -> None:
        """Take rows, in the order of their ids."""
        with self._lock:
            for row in rows:
                lane = self._lanes.get(row.contact)
                if lane is None:
                    lane = self._lanes[row.contact] = Lane(row.contact, deque((row,)))
                    self._begin(lane)
                else:
                    lane.rows.append(row)
            self._rows += len(rows)
            self._look()

    def room(self) -> int:
        """How many rows it can take."""
        return max(0, CAPACITY - self._rows)

    def idle(self) -> bool:
        """True when nothing happens until the clock moves (or rows are offered).

        Nothing is in flight or unreported, and each row that is left waits for a later time: of its next try, of
        the next permit, or of the next probe while all delivery is held.
        """
        with self._lock:
            now = self._clock.now()
            due = self._next_due(now)
            return not self._in_flight and (due is None or due > now)

    def next_due(self) -> datetime | None:
        """When something happens by itself; None when nothing will, or not before an answer comes."""
        with self._lock:
            return self._next_due(self._clock.now())

    def status(self) -> Status:
        """How delivery stands."""
        with self._lock:
            words = self._hold.words if self._hold is not None else None
            return Status(words, self._rows - self._in_flight, self._in_flight)

    # With the lock held

    def _begin(self, lane: Lane) -> None:
        lane.begin()
        self._schedule(lane, lane.rows[0].due_at)

    def _schedule(self, lane: Lane, due_at: datetime) -> None:
        if due_at <= self._clock.now():
            self._ready.append(lane)
        else:
            heapq.heappush(self._later, (due_at, next(self._order), lane))

    def _look(self, hands: int = 0) -> None:
        """Something has changed: call threads for what can be sent now, and tell the timekeeper of what comes earlier.

        ``hands`` threads look for a job right after this, uncalled.
        """
        if not self._running:
            return
        now = self._clock.now()
        while self._later and self._later[0][0] <= now:
            self._ready.append(heapq.heappop(self._later)[2])
        self._crew.call(self._sendable(now) - hands)
        look_at = self._look_at(now)
        if look_at is not None and (self._awaited is None or look_at < self._awaited):
            self._time.notify()

    def _sendable(self, now: datetime) -> int:
        """How many contacts' messages could go out now."""
        if not self._ready:
            return 0
        if self._hold is not None and (self._hold.probing or self._hold.probe_at > now):
            return 0
        return min(len(self._ready) if self._hold is None else 1, self._pacing.left(now))

    def _opens_at(self, now: datetime) -> datetime | None:
        """When the next message may go out, whoever's it is; None if that depends on an answer."""
        opens = self._pacing.opens_at(now)
        if self._hold is not None and opens is not None:
            return None if self._hold.probing else max(opens, self._hold.probe_at)
        return opens

    def _look_at(self, now: datetime) -> datetime | None:
        """The next time at which something new can be done."""
        opens = self._opens_at(now) if self._ready else None
        times = [at for at in (opens, self._later[0][0] if self._later else None) if at is not None and at > now]
        return min(times, default=None)

    def _next_due(self, now: datetime) -> datetime | None:
        if not self._ready and not self._later:
            return None
        opens = self._opens_at(now)
        return opens if opens is None or self._ready else max(opens, self._later[0][0])

    def _take(self) -> _Job | None:
        now = self._clock.now()
        if not self._sendable(now) or (permit := self._pacing.take(now)) is None:
            return None
        if self._hold is not None:
            self._hold.probing = True
        self._in_flight += 1
        return _Job(self._ready.popleft(), permit, probe=self._hold is not None)

    def _settle(self, job: _Job, outcome: Outcome, now: datetime) -> None:
        self._in_flight -= 1
        if outcome.requested:
            self._pacing.ended(job.permit, now, outcome.rate)
        else:
            self._pacing.unused(job.permit)
        if outcome.pause_until is not None:
            self._pacing.pause(outcome.pause_until)
        self._judge_hold(job, outcome, now)
        lane = job.lane
        if outcome.state in ("retry", "held", "again"):
            self._schedule(lane, outcome.due_at or now)
        else:
            lane.rows.popleft()
            self._rows -= 1
            if lane.rows:
                self._begin(lane)
            else:
                del self._lanes[lane.contact]
        self._look(hands=1)

    def _judge_hold(self, job: _Job, outcome: Outcome, now: datetime) -> None:
        if outcome.state == "held":
            if self._hold is None:
                self._hold = _Hold(outcome.detail, now + FIRST_PROBE)
                log.error("nothing can be sent until this is put right: %s", outcome.detail)
            elif job.probe:
                pause = min(2 * self._hold.pause, LONGEST_PROBE)
                self._hold = _Hold(outcome.detail, now + pause, pause)
        elif self._hold is not None and job.probe:
            if outcome.requested and outcome.state not in ("retry", "unknown"):
                self._hold = None
                log.warning("messages can be sent again")
            elif outcome.requested or outcome.state == "retry":
                self._hold = _Hold(self._hold.words, now + self._hold.pause, self._hold.pause)
            else:
                self._hold.probing = False  # it needed no request, so it says nothing

    # On threads

    def _do(self, job: _Job) -> None:
        outcome = self._sender.send(job.lane)
        with self._lock:
            now = self._clock.now()
            if outcome.state != "again" and not self._closed:
                self._report(_result(job.lane, outcome, now))
            self._settle(job, outcome, now)

    def _keep_time(self) -> None:
        with self._lock:
            while self._running:
                self._look()
                self._awaited = self._look_at(self._clock.now())
                self._clock.wait(self._time, self._awaited, _LOOK_AT_CLOCK)


def _result(lane: Lane, outcome: Outcome, at: datetime) -> SendResult:
    return SendResult(
        lane.rows[0], outcome.state, lane.attempts, outcome.due_at, outcome.message_ids, outcome.detail, at
    )
