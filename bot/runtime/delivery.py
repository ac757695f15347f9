"""Delivery: sends the outbox's messages, in order for each contact and channel, many contacts at once, within the limits.

Replies go first, then changes of contacts, then a command's own requests, then campaigns.
"""

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from random import Random

from bot.alarms import Alarms
from bot.clock import Clock, time_of
from bot.core.effects import PutContact
from bot.gateway.gateway_client import Gateway
from bot.runtime.circuit_breakers import CircuitBreakers
from bot.runtime.gateway_commands import CommandPermits, Permit
from bot.runtime.rate_limiter import MINUTE, ContactLimiter, RateLimiter
from bot.runtime.scheduler import Scheduler
from bot.runtime.sending import (
    CHANNEL,
    LIMITS,
    ContactQueue,
    OtherRoute,
    OverShare,
    Route,
    SendAttempt,
    Sender,
    SendResult,
)
from bot.runtime.worker_pool import WorkerPool, left_to_wait
from bot.store.rows import REPLY, OutboxRow

CAPACITY = 10_000
"""The most messages in memory, without those of held channels beyond `HELD_ROWS`: the rest waits in the file."""

LANE_ROWS = 1000
"""How many of them one contact may have, by one route: a flood is to keep nobody out."""

HELD_ROWS = 1000
"""How many a channel may have while it is held."""

OVER_AFTER = 120.0
"""Seconds after which an alarm of the limits is over."""


@dataclass(frozen=True, slots=True)
class DeliveryStatus:
    """How delivery stands: how many messages wait, how many are being sent, and what the limits leave by window."""

    waiting: int
    in_flight: int
    left: dict[str, int]


_Whose = tuple[str, int, Route]


@dataclass(frozen=True, slots=True)
class WaitReason:
    """Why a message waits, in words, and until when; None where that depends on others."""

    why: str
    until: datetime | None = None


@dataclass(slots=True)
class _Job:
    lane: ContactQueue
    permit: int
    probe: bool


class Delivery:
    """Takes rows, sends each when its time comes, and reports what came of it.

    ``report`` is called from worker threads, for one contact in order, and with a lock held, so that nothing is
    ever idle and unreported: it must not call back. ``window`` gives the time of a contact's
    newest message, and ``replaced`` that of the last template that went in place of a message to it, as the store
    has them; ``opted_out`` tells whether the contact wants no campaigns. ``claim`` returns once it is durable that a
    row is about to be sent: it is called where the endpoint takes no key, so that after a crash the row is unknown
    and is not sent twice. ``repeat_unclear`` repeats a reply of that kind once when nobody can tell whether it was
    sent. ``alarms`` registers what keeps messages from being sent, ``shares`` counts what each contact gets.
    """

    def __init__(
        self,
        gateway: Gateway,
        clock: Clock,
        pacing: RateLimiter,
        report: Callable[[SendResult], None],
        window: Callable[[str], datetime | None],
        *,
        alarms: Alarms,
        shares: ContactLimiter,
        replaced: Callable[[str], datetime | None],
        opted_out: Callable[[str], bool],
        claim: Callable[[OutboxRow], None],
        threads: int = 128,
        random: Random | None = None,
        repeat_unclear: bool = False,
    ) -> None:
        self._gateway = gateway
        self._clock = clock
        self._report = report
        self._sender = Sender(gateway, clock, window, replaced, opted_out, claim, random or Random(), repeat_unclear)
        self._lock = threading.Lock()
        self._crew = WorkerPool(self._lock, clock, self._take, self._do, self._look, threads, "delivery")
        self._lanes: dict[_Whose, ContactQueue] = {}
        self._pacing = pacing
        self._alarms = alarms
        self._reported: dict[str, float | None] = {}  # alarms of the limits, and since when they are no longer true
        self._shares = shares
        self._breakers = CircuitBreakers(alarms, (channel or "" for channel in gateway.channel_ids()))
        self._loans = CommandPermits(self._lock, pacing, self._breakers, clock, self._look)
        self._timetable = Scheduler(pacing, self._breakers, self._loans)
        self._rows: Counter[Route] = Counter()
        self._left_routes: set[Route] = set()  # some of their rows were left in the file
        self._left_lanes: set[_Whose] = set()
        self._left_others = False  # rows that are no replies
        self._in_flight = 0
        self._closed = False

    def start(self) -> None:
        """Begin to send."""
        self._crew.start()

    def end(self) -> None:
        """Send nothing more."""
        self._crew.end()

    def stop(self, timeout: float) -> None:
        """Send nothing more, and wait for what is in flight. What has not come back by then is not reported."""
        self._crew.stop(timeout)
        with self._lock:
            for lane in self._lanes.values():
                if lane.unreported and not lane.in_flight:  # its requests count against the limits of the next run
                    again = SendAttempt("retry", "the bot was stopped", wait=0.0)
                    self._report(SendResult.of(lane, again, self._clock.now()))
            self._closed = True
            self._loans.close()

    def offer(self, rows: Sequence[OutboxRow]) -> None:
        """Take rows, in the order of their ids."""
        with self._lock:
            self._add(rows)

    def use_channels(self, channels: Mapping[str, str]) -> None:
        """Go by these channels from now on, also with what waits: see `Gateway.use_channels`."""
        with self._lock:
            self._gateway.use_channels(channels)
            self._breakers.keep(channel or "" for channel in self._gateway.channel_ids())
            moved = [row for lane in self._lanes.values() for row in _idle(lane) if self._route(row) != lane.route]
            self._forget({row.id for row in moved})
            self._add(sorted(moved, key=lambda row: row.id))

    def withdraw(self, contact: str) -> None:
        """Forget what is to be sent to a contact: its rows are gone. What is in flight is not tried again."""
        with self._lock:
            lanes = [lane for lane in self._lanes.values() if lane.contact == contact]
            for lane in lanes:
                del self._lanes[lane.whose]
                self._rows[lane.route] -= len(lane.rows)
            self._timetable.drop(lambda lane: lane.contact == contact)

    def take_back(self, ids: Set[int]) -> Set[int]:
        """Forget those of these rows that are not in flight, nor may have been sent by a try before. Returns them."""
        with self._lock:
            back = {row.id for lane in self._lanes.values() for row in _idle(lane) if row.id in ids}
            self._forget(back)
            return back

    def borrow(self, timeout: float) -> AbstractContextManager[Permit]:
        """Leave for a command's own request, once the limits allow it; it goes before campaigns.

        Raises `bot.runtime.gateway_commands.NoPermit` after ``timeout`` real seconds. What the answer says about limits is given
        back by ``Permit.rate``; a `bot.gateway.gateway_answers.GatewayError` from within is counted as what it tells of.
        """
        return self._loans.lend(timeout)

    def room(self) -> int:
        """How many rows it can take."""
        with self._lock:
            held = {route: rows for route, rows in self._rows.items() if self._is_held(route)}
            counted = self._rows.total() - sum(rows - min(rows, HELD_ROWS) for rows in held.values())
            return max(0, CAPACITY - counted)

    def takes(self, rows: Sequence[OutboxRow]) -> list[OutboxRow]:
        """Those of the rows that it takes now, to be offered next. The others stay in the file until `takes_again`.

        So neither a channel that is held nor one contact's flood fills the memory that all share, and half of it is kept
        for replies.
        """
        with self._lock:
            if not self._left_others and any(row.priority != REPLY for row in rows):
                self._left_others = self._others() >= CAPACITY // 2
            return [row for row in rows if self._has_room_for(row)]

    def takes_again(self) -> bool:
        """Whether it would take some of the rows now that it did not take: they can be offered again, in order."""
        with self._lock:
            routes = {route for route in self._left_routes if not self._is_held(route)}
            lanes = {whose for whose in self._left_lanes if whose not in self._lanes}
            self._left_routes -= routes
            self._left_lanes -= lanes
            others = self._left_others and self._others() <= CAPACITY // 4
            self._left_others = self._left_others and not others
            return bool(routes or lanes or others)

    def idle(self) -> bool:
        """True when nothing happens until the clock moves (or rows are offered).

        Nothing is in flight or unreported, and each row that is left waits for a later time: of its next try, of
        the next permit, or of the next probe of what is held.
        """
        with self._lock:
            now = self._clock.elapsed()
            due = self._timetable.next_due(now)
            return not self._in_flight and (due is None or due > now)

    def next_due(self) -> float | None:
        """When, by `Clock.elapsed`, something happens by itself; None: not at all, or not before an answer comes."""
        with self._lock:
            return self._timetable.next_due(self._clock.elapsed())

    def status(self) -> DeliveryStatus:
        """How delivery stands."""
        with self._lock:
            waiting = self._rows.total() - self._in_flight
            return DeliveryStatus(waiting, self._in_flight, self._pacing.room(self._clock.elapsed()))

    def waits(self, ids: Set[int]) -> dict[int, WaitReason]:
        """Why these rows wait, as far as they are in memory."""
        with self._lock:
            now, found = self._clock.elapsed(), {}
            for lane in self._lanes.values():
                for place, row in enumerate(lane.rows):
                    if row.id in ids:
                        wait = self._wait_of(lane, now)
                        found[row.id] = (
                            replace(wait, why=f"{place} before it to this contact: {wait.why}") if place else wait
                        )
            return found

    # With the lock held

    def _add(self, rows: Sequence[OutboxRow]) -> None:
        for row in rows:
            whose = row.contact, row.priority, self._route(row)
            lane = self._lanes.get(whose)
            if lane is None:
                lane = self._lanes[whose] = ContactQueue(*whose, deque((row,)))
                self._begin(lane)
            else:
                lane.rows.append(row)
            self._rows[lane.route] += 1
        self._look()

    def _forget(self, ids: Set[int]) -> None:
        """Forget rows; none of them is in flight."""
        whole = {whose for whose, lane in self._lanes.items() if all(row.id in ids for row in lane.rows)}
        self._timetable.drop(lambda lane: lane.whose in whole)
        for whose in whole:
            del self._lanes[whose]
        for lane in self._lanes.values():
            _drop(lane, ids)
        self._rows = Counter(lane.route for lane in self._lanes.values() for _ in lane.rows)

    def _wait_of(self, lane: ContactQueue, now: float) -> WaitReason:
        """Why a lane's first row waits."""
        breaker = self._breakers[lane.route]
        if lane.in_flight:
            return WaitReason("it is being sent")
        if breaker.reason:
            return WaitReason(breaker.why(), time_of(self._clock, breaker.probe_at))
        opens = self._shares.opens_at(lane.contact, now)
        if opens > now and lane.over_share is None:
            return WaitReason("the contact's share of the requests is used up", time_of(self._clock, opens))
        if lane.due_at > now:
            return WaitReason("it is tried again", time_of(self._clock, lane.due_at))
        free = self._pacing.opens_at(now, lane.priority)
        if free is None or free > now:
            return WaitReason("the limits leave no room", None if free is None else time_of(self._clock, free))
        return WaitReason("its turn comes")

    def _route(self, row: OutboxRow) -> Route:
        return (
            OtherRoute.CONTACTS if isinstance(row.effect, PutContact) else self._gateway.channel_id(row.channel) or ""
        )

    def _is_held(self, route: Route) -> bool:
        return self._breakers[route].reason == CHANNEL

    def _has_room_for(self, row: OutboxRow) -> bool:
        route = self._route(row)
        whose = row.contact, row.priority, route
        lane = self._lanes.get(whose)
        if self._rows[route] >= HELD_ROWS and self._is_held(route):
            self._left_routes.add(route)
        elif lane is not None and len(lane.rows) >= LANE_ROWS:
            self._left_lanes.add(whose)
        if self._left_others and row.priority != REPLY:
            return False
        return route not in self._left_routes and whose not in self._left_lanes

    def _others(self) -> int:
        """How many rows in memory are no replies."""
        return sum(len(lane.rows) for lane in self._lanes.values() if lane.priority != REPLY)

    def _begin(self, lane: ContactQueue) -> None:
        """The lane's first row is a new one. A reply that has no share while it is worth sending is given up at once."""
        lane.begin()
        row, now = lane.rows[0], self._clock.elapsed()
        wait = left_to_wait(row.attempts, row.due_at, self._clock.now())
        share_in = self._shares.opens_at(lane.contact, now) - now
        if row.priority == REPLY and share_in > (row.expires_at - row.created_at).total_seconds():
            lane.over_share = OverShare(self._shares.a_day, self._shares.give_up(lane.contact))
        else:
            wait = max(wait, share_in)
        self._schedule(lane, wait)

    def _schedule(self, lane: ContactQueue, wait: float) -> None:
        now = self._clock.elapsed()
        lane.due_at = now + wait
        self._timetable.add(lane, lane.due_at, now)

    def _look(self, hands: int = 0) -> float | None:
        """Something has changed: call threads for what can be sent now. Returns when to look again at the latest.

        ``hands`` threads look for a job right after this, uncalled.
        """
        if not self._crew.running:
            return None
        now = self._clock.elapsed()
        self._shares.look(now)
        self._report_limits(now)
        self._timetable.ripen(now)
        self._crew.call(self._timetable.sendable(now) - hands)
        look_at = self._timetable.look_at(now)
        self._crew.expect(look_at)
        return look_at

    def _report_limits(self, now: float) -> None:
        used_up, none_said = self._pacing.day_used_up(now), self._pacing.said_none_for(now) > MINUTE
        if not (used_up or none_said or self._reported):
            return
        waiting = self._rows.total() > self._in_flight
        self._report_while(
            "day-limit",
            now,
            used_up and waiting,
            f"the {self._pacing.per_day} requests of 24 hours are used up: what is to be sent waits until some are free",
            "raise BOT_GATEWAY_PER_DAY if the account may send more",
        )
        self._report_while(
            "header-limit",
            now,
            none_said and waiting,
            "the gateway has said for more than a minute that no requests are left (X-RateLimit-Remaining: 0): few go",
            "see who else uses the API key, or ask the gateway's operator",
        )

    def _report_while(self, name: str, now: float, is_so: bool, what: str, advice: str) -> None:
        """What is free again is used up at once while more waits: an alarm ends when it has not been so for a while."""
        if is_so:
            if name not in self._reported:
                self._alarms.report(name, what, advice)
            self._reported[name] = None
        elif name in self._reported:
            since = self._reported[name]
            self._reported[name] = since = now if since is None else since
            if now >= since + OVER_AFTER:
                self._alarms.clear(name)
                del self._reported[name]

    def _take(self) -> _Job | None:
        taken = self._timetable.take(self._clock.elapsed())
        if taken is None:
            return None
        lane, permit = taken
        breaker = self._breakers[lane.route]
        self._in_flight += 1
        lane.in_flight = True
        lane.alone = lane.limited is not None and breaker.times_closed > lane.limited
        return _Job(lane, permit, breaker.begin())

    def _settle(self, job: _Job, outcome: SendAttempt) -> None:
        lane = job.lane
        self._in_flight -= 1
        lane.in_flight = False
        self._loans.give_back(job.permit, outcome.requested, outcome.rate)
        if outcome.requested and not outcome.fault:  # what concerns others, too, uses up nobody's share
            self._shares.count(lane.contact, self._clock.elapsed())
        if outcome.fault == LIMITS:
            lane.limited = self._breakers[lane.route].times_closed
        self._breakers.judge(lane.route, job.probe, outcome, self._clock.elapsed())
        if self._lanes.get(lane.whose) is not lane:
            pass  # withdrawn
        elif outcome.state in ("retry", "held", "again"):
            self._schedule(lane, outcome.wait or 0.0)
        else:
            lane.rows.popleft()
            self._rows[lane.route] -= 1
            if lane.rows:
                self._begin(lane)
            else:
                del self._lanes[lane.whose]
        self._look(hands=1)

    # On threads

    def _do(self, job: _Job) -> None:
        outcome = self._sender.send(job.lane)
        with self._lock:
            job.lane.unreported = outcome.state == "again"
            if not (job.lane.unreported or self._closed):
                self._report(SendResult.of(job.lane, outcome, self._clock.now()))
            self._settle(job, outcome)


def _idle(lane: ContactQueue) -> Iterator[OutboxRow]:
    """The rows that were certainly not sent."""
    return islice(lane.rows, int(lane.in_flight or lane.unclear), None)


def _drop(lane: ContactQueue, ids: Set[int]) -> None:
    """Take rows out of a lane. At least one stays."""
    first = lane.rows[0]
    lane.rows = deque(row for row in lane.rows if row.id not in ids)
    if lane.rows[0] is not first:
        lane.begin()
