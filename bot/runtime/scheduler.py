"""The messages in memory, and which one is sent next: a queue for each contact, priority and route.

Replies go first, then changes of contacts, then a command's own requests, then campaigns. Within a priority the routes
take turns. The scheduler starts no thread and sends nothing: delivery asks it for the next message, with a lock held.

Each route has a circuit breaker. A request must reach the gateway's address. The gateway then checks its key, its
limits and its channel, in this order: a refusal for one of these shows that everything before it is right.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from itertools import islice
from math import inf
from typing import Any

from bot.core.alarms import Alarms
from bot.core.clock import Clock, DelayQueue, left_to_wait, to_microseconds
from bot.runtime.rate_limiter import MINUTE, ContactLimiter
from bot.runtime.sending import (
    ACCOUNT,
    ADDRESS,
    CHANNEL,
    LIMITS,
    LONGEST_RETRY_AFTER,
    ContactLimitReached,
    ContactQueue,
    OtherRoute,
    QueueName,
    Route,
    SendAttempt,
    route_name,
)
from bot.runtime.shared_limiter import Limiter
from bot.store.rows import CAMPAIGN, REPLY, SYNC, OutboxRow

PRIORITIES = (REPLY, SYNC, CAMPAIGN)  # the first goes first

CAPACITY = 10_000
"""The most messages in memory, without those of held channels beyond `HELD_ROWS`: the rest waits in the file."""

QUEUE_ROWS = 1000
"""The most messages in memory to one contact by one route, so that a flood to one contact keeps nobody else out."""

HELD_ROWS = 1000
"""The most messages in memory for a held channel."""


class Scheduler:
    """Decides which message goes next, and when: by its own due time, the rate limits and its route's circuit breaker.

    Only the first message of each `ContactQueue` is tried. Times are those of `Clock.elapsed`. ``route_of`` returns the
    route by which a row is sent, ``commands_wait`` whether a command waits for a permit. Not safe for threads by
    itself.
    """

    def __init__(
        self,
        clock: Clock,
        limiter: Limiter,
        contact_limiter: ContactLimiter,
        breakers: "CircuitBreakers",
        commands_wait: Callable[[], bool],
        route_of: Callable[[OutboxRow], Route],
    ) -> None:
        self._clock = clock
        self._limiter = limiter
        self._contact_limiter = contact_limiter
        self._breakers = breakers
        self._commands_wait = commands_wait
        self._route_of = route_of
        self._queues: dict[QueueName, ContactQueue] = {}
        # whose first message is due, by priority and route; the route that goes next is the first
        self._ready: dict[int, dict[Route, deque[ContactQueue]]] = {priority: {} for priority in PRIORITIES}
        self._later: DelayQueue[ContactQueue] = DelayQueue()
        self._rows: Counter[Route] = Counter()
        # what was left in the file
        self._left_routes: set[Route] = set()
        self._left_queues: set[QueueName] = set()
        self._left_others = False  # rows that are no replies

    # The next message

    def pop(self, now: float) -> tuple[ContactQueue, int] | None:
        """The next queue whose first message can be sent, and the permit for it."""
        for priority, by_route in self._ready.items():
            if not by_route or (priority == CAMPAIGN and self._commands_wait()):
                continue
            for route, ready in by_route.items():
                if self._breakers[route].free_at(now) != now:
                    continue
                permit = self._limiter.acquire(now, priority, len(ready))
                if permit is None:
                    break
                queue = by_route.pop(route).popleft()
                if ready:
                    by_route[route] = ready  # the other routes go first next time
                return queue, permit
        return None

    def update(self, now: float) -> None:
        """Make ready what is due."""
        self._later.update(now)
        while self._later.ready:
            self._make_ready(self._later.ready.popleft())

    def next_change(self, now: float) -> float | None:
        """The next time after now at which something can be sent or falls due."""
        times = [*self._free_times(now), self._later.next_due()]
        return min([at for at in times if at is not None and at > now], default=None)

    def next_sendable(self, now: float) -> float | None:
        """When the next message can be sent, which may be now; None when there is none, or that depends on an
        answer.
        """
        times = self._free_times(now)
        first: dict[tuple[int, Route], float] = {}
        for due, queue in self._later:
            first.setdefault((queue.priority, queue.route), due)
        for (priority, route), due in first.items():
            free = self._limiter.free_at(now, priority)
            if free is not None:
                times.append(self._breakers[route].free_at(max(due, free)))
        return min((at for at in times if at is not None), default=None)

    def _free_times(self, now: float) -> list[float | None]:
        """The times at which ready messages can go, for each priority and route; None if that depends on an answer."""
        times: list[float | None] = []
        for priority, by_route in self._ready.items():
            if not by_route or (priority == CAMPAIGN and self._commands_wait()):
                continue
            free = self._limiter.free_at(now, priority)
            if free is not None:
                times += [self._breakers[route].free_at(free) for route in by_route]
        return times

    # The queues

    def __iter__(self) -> Iterator[ContactQueue]:
        return iter(self._queues.values())

    def __len__(self) -> int:
        return self._rows.total()

    def add(self, rows: Sequence[OutboxRow]) -> None:
        """Add rows behind those that there are, in the order of their ids."""
        for row in rows:
            name = row.contact, row.priority, self._route_of(row)
            queue = self._queues.get(name)
            if queue is None:
                queue = self._queues[name] = ContactQueue(*name, deque((row,)))
                self._begin(queue)
            else:
                queue.rows.append(row)
            self._rows[queue.route] += 1

    def wait(self, queue: ContactQueue, seconds: float) -> None:
        """Try the queue's first message after so many seconds, unless the queue was removed meanwhile."""
        if self._has(queue):
            self._schedule(queue, seconds, self._clock.elapsed())

    def finish(self, queue: ContactQueue) -> None:
        """The queue's first message is done with: the next one is tried."""
        name = queue.name
        if self._queues.get(name) is not queue:
            return
        queue.rows.popleft()
        self._rows[queue.route] -= 1
        if queue.rows:
            self._begin(queue)
        else:
            del self._queues[name]

    def remove_contact(self, contact: str) -> None:
        """Forget all queues of a contact."""
        self._remove({row.id for queue in self if queue.contact == contact for row in queue.rows})

    def remove(self, ids: Set[int]) -> Set[int]:
        """Forget the rows that were certainly not sent. Returns their ids."""
        unsent = {row.id for queue in self for row in _unsent(queue) if row.id in ids}
        self._remove(unsent)
        return unsent

    def reroute(self) -> None:
        """The routes have changed: move the rows that were certainly not sent to their new ones."""
        moved = [row for queue in self for row in _unsent(queue) if self._route_of(row) != queue.route]
        self._remove({row.id for row in moved})
        self.add(sorted(moved, key=lambda row: row.id))

    def _has(self, queue: ContactQueue) -> bool:
        return self._queues.get(queue.name) is queue

    def _begin(self, queue: ContactQueue) -> None:
        """Prepare the queue for its new first row. A reply is given up at once if its contact has no request free
        before it expires.
        """
        queue.begin()
        row, now = queue.rows[0], self._clock.elapsed()
        wait = left_to_wait(row.attempts, row.due_at, self._clock.now()) if row.attempts else 0.0
        share_in = self._contact_limiter.free_at(queue.contact, now) - now
        if row.priority == REPLY and share_in > (row.expires_at - row.created_at).total_seconds():
            queue.contact_limit = ContactLimitReached(
                self._contact_limiter.a_day, self._contact_limiter.give_up(queue.contact)
            )
        else:
            wait = max(wait, share_in)
        self._schedule(queue, wait, now)

    def _schedule(self, queue: ContactQueue, wait: float, now: float) -> None:
        queue.due_at = now + wait
        if wait > 0:
            self._later.add(queue, queue.due_at, now)
        else:
            self._make_ready(queue)

    def _make_ready(self, queue: ContactQueue) -> None:
        self._ready[queue.priority].setdefault(queue.route, deque()).append(queue)

    def _remove(self, ids: Set[int]) -> None:
        """Forget rows. One that is in flight goes only with its whole queue."""
        whole = {name for name, queue in self._queues.items() if all(row.id in ids for row in queue.rows)}
        self._later.remove(lambda queue: queue.name in whole)
        for by_route in self._ready.values():
            for route, ready in [*by_route.items()]:
                by_route[route] = deque(queue for queue in ready if queue.name not in whole)
                if not by_route[route]:
                    del by_route[route]
        for name in whole:
            del self._queues[name]
        for queue in self:
            _drop(queue, ids)
        self._rows = Counter(queue.route for queue in self for _ in queue.rows)

    # The room in memory

    def room(self) -> int:
        """How many more rows fit into memory."""
        held = [rows for route, rows in self._rows.items() if rows > HELD_ROWS and self._is_held(route)]
        return max(0, CAPACITY - self._rows.total() + sum(held) - HELD_ROWS * len(held))

    def accepts(self, rows: Sequence[OutboxRow]) -> list[OutboxRow]:
        """The rows that are to be added next. The other rows stay in the store until `accepts_again`.

        So neither a held channel nor one contact's flood fills the memory that all contacts share. Half of it is kept
        for replies.
        """
        some_left = self._left_routes or self._left_queues or self._left_others
        if not some_left and self._rows.total() + len(rows) <= min(HELD_ROWS, QUEUE_ROWS):
            return [*rows]
        if not self._left_others and any(row.priority != REPLY for row in rows):
            self._left_others = self._others() >= CAPACITY // 2
        return [row for row in rows if self._has_room_for(row)]

    def accepts_again(self) -> bool:
        """True if some of the rows that were left in the file fit now: all can be offered again, in order."""
        routes = {route for route in self._left_routes if not self._is_held(route)}
        queues = {name for name in self._left_queues if name not in self._queues}
        self._left_routes -= routes
        self._left_queues -= queues
        others = self._left_others and self._others() <= CAPACITY // 4
        self._left_others = self._left_others and not others
        return bool(routes or queues or others)

    def _has_room_for(self, row: OutboxRow) -> bool:
        route = self._route_of(row)
        name = row.contact, row.priority, route
        queue = self._queues.get(name)
        if self._rows[route] >= HELD_ROWS and self._is_held(route):
            self._left_routes.add(route)
        elif queue is not None and len(queue.rows) >= QUEUE_ROWS:
            self._left_queues.add(name)
        if self._left_others and row.priority != REPLY:
            return False
        return route not in self._left_routes and name not in self._left_queues

    def _others(self) -> int:
        """How many rows in memory are no replies."""
        return sum(len(queue.rows) for queue in self if queue.priority != REPLY)

    def _is_held(self, route: Route) -> bool:
        return self._breakers[route].reason in (ADDRESS, CHANNEL)


def _unsent(queue: ContactQueue) -> Iterator[OutboxRow]:
    """The queue's rows that were certainly not sent, and are not done with."""
    return islice(queue.rows, int(queue.in_flight or queue.unclear or queue.ended), None)


def _drop(queue: ContactQueue, ids: Set[int]) -> None:
    """Take rows out of a queue. At least one stays."""
    first = queue.rows[0]
    queue.rows = deque(row for row in queue.rows if row.id not in ids)
    if queue.rows[0] is not first:
        queue.begin()


FIRST_PROBE = 60.0  # seconds
LONGEST_PROBE = 300.0

OTHERS_PROBE_AFTER = 5.0
"""Seconds after which another shard's engine sends the probe, if the engine that was refused has nothing to send."""

_OF_ALL_SHARDS = (ACCOUNT, LIMITS)


class CircuitBreaker:
    """Holds a route's requests back after a refusal that concerns them all. Closed, all requests go. Open, no request
    goes until ``probe_at``; then a single one, the probe, finds out whether it can be closed.

    Times are of `bot.core.clock.Clock.elapsed`.
    """

    def __init__(self, route: Route) -> None:
        self.route = route
        self.reason = ""  # what it is open for; empty: it is closed
        self.detail = ""  # the gateway's words
        self.probe_at = 0.0
        self.times_closed = 0
        self.version = 0  # one more after each change that concerns other shards, too
        self._since = inf  # the first refusal of its own for this reason
        self._contact: str | None = (
            None  # the only one whose requests were refused for this reason; None: there are several
        )
        self._pause = 0.0
        self._probing = False

    def free_at(self, allowed_at: float) -> float | None:
        """The time at which a request can go if all else allows it at ``allowed_at``; None if that depends on the
        probe's answer.
        """
        if not self.reason:
            return allowed_at
        return None if self._probing else max(allowed_at, self.probe_at)

    def begin(self) -> bool:
        """A request goes. True when it is the probe."""
        self._probing = bool(self.reason)
        return self._probing

    def open(self, reason: str, pause: float, detail: str, now: float) -> None:
        """Let nothing go for ``pause`` seconds, and then a probe."""
        if self.reason != reason:
            self._since = inf
        self.version += reason in _OF_ALL_SHARDS
        self.reason, self.detail, self._pause, self._probing = reason, detail, pause, False
        self.probe_at = to_microseconds(now + pause)

    def as_json(self, offset: float) -> list[Any]:
        """The state for the engines of other shards, with times that are later by ``offset``."""
        is_open = self.reason in _OF_ALL_SHARDS
        return [self.version, self.reason if is_open else "", self._pause, self.probe_at + offset]

    def wait_again(self, now: float) -> None:
        """The probe's result says nothing: wait for as long again."""
        self.open(self.reason, self._pause, self.detail, now)

    def probe_next(self) -> None:
        """Make the next request the probe: this request failed for its own content, which says nothing."""
        self._probing = False

    def close(self, *, succeeded: bool = True) -> None:
        """Let everything go: because a request has ``succeeded``, or was refused for another reason."""
        self.version += self.reason in _OF_ALL_SHARDS
        self.reason, self._probing = "", False
        self.times_closed += succeeded

    def next_pause(self, fault: str, outcome: SendAttempt, contact: str) -> float:
        """The seconds to wait after a refusal of a contact's request for a ``fault``: more each time that it is
        repeated.

        A refusal for the address may still be caused by one message. As long as only one contact has met it, there is
        no wait: the next request finds out at once.
        """
        before = self._pause if fault == self.reason else 0.0
        if fault == ADDRESS:
            self._contact = contact if self.reason != ADDRESS or self._contact == contact else None
            return 0.0 if self._contact is not None else min(max(1.0, 2 * before), LONGEST_PROBE)
        if fault != LIMITS:
            return min(2 * before, LONGEST_PROBE) if before else FIRST_PROBE
        return limits_pause(outcome.retry_after, before)

    def why(self) -> str:
        """Why nothing goes, in words that the time of the next probe can follow."""
        if self.reason == ACCOUNT:
            return "the API key is refused, so nothing can be sent; one message is tried"
        if self.reason == CHANNEL:
            return f"{route_name(self.route)} is unknown or inactive; one message is tried"
        if self.reason == ADDRESS:
            return f"the gateway's address is refused for {route_name(self.route)}; one message is tried"
        return "the gateway refuses requests for its limits; one is tried"

    def refused_for(self, now: float) -> float:
        """Note another refusal of its own requests for the same reason. Returns the seconds since the first."""
        self._since = min(self._since, now)
        return now - self._since


def limits_pause(said: float | None, before: float) -> float:
    """How many seconds to wait after a refusal for the limits. ``said`` is its ``Retry-After``, ``before`` the last
    pause.

    ``Retry-After`` is obeyed up to `LONGEST_RETRY_AFTER`. If it is missing or was too short, the pauses double from a
    second to a minute, the gateway's window.
    """
    least = min(said or 1.0, LONGEST_RETRY_AFTER)
    return min(max(least, 2 * before), max(least, MINUTE))


class CircuitBreakers(dict[Route, CircuitBreaker]):
    """A circuit breaker for each route, and the alarms of the open ones. Delivery uses them with its lock held."""

    def __init__(self, alarms: Alarms, channels: Iterable[str] = ()) -> None:
        super().__init__({route: CircuitBreaker(route) for route in (*channels, *OtherRoute)})
        self._alarms = alarms

    def __missing__(self, route: Route) -> CircuitBreaker:
        breaker = self[route] = CircuitBreaker(route)
        return breaker

    def keep(self, channels: Iterable[str]) -> None:
        """Use these channels from now on: close the breakers of all others."""
        kept = {*channels, *OtherRoute}
        for breaker in self.values():
            if breaker.route not in kept and breaker.reason in (ADDRESS, CHANNEL, LIMITS):
                self._close(breaker)

    def share(self, known: dict[str, Any], offset: float, now: float) -> None:
        """Follow the engines of other shards, and note for them, in ``known``, what this one has opened or closed."""
        for breaker in self.values():
            version, reason, pause, probe_at = known.get(_about(breaker.route), [0, "", 0.0, 0.0])
            if version > breaker.version:
                if reason and breaker.reason not in (ADDRESS, CHANNEL):
                    breaker.open(reason, pause, "another shard was refused", now)
                    breaker.probe_at = min(probe_at - offset, breaker.probe_at) + OTHERS_PROBE_AFTER
                elif not reason and breaker.reason in _OF_ALL_SHARDS:
                    self._close(breaker)
                breaker.version = version
            elif version < breaker.version:
                known[_about(breaker.route)] = breaker.as_json(offset)

    def record(self, route: Route, probe: bool, outcome: SendAttempt, now: float, contact: str = "") -> None:
        """Learn from a contact's request that has ended: open or close the breaker of its route, and of others that it
        concerns.
        """
        breaker, fault = self[route], outcome.fault
        if probe != bool(breaker.reason):
            return  # it was under way when the breaker was opened, or closed by what another route has shown
        if not fault:
            if probe:
                self._answered(breaker, outcome, now)
        elif (fault == LIMITS and breaker.reason == CHANNEL) or (
            fault == ADDRESS and breaker.reason not in ("", ADDRESS)
        ):
            breaker.wait_again(now)
        else:
            self._refused(breaker, outcome, now, contact)

    def _answered(self, breaker: CircuitBreaker, outcome: SendAttempt, now: float) -> None:
        """The probe has come back, without a fault that concerns others."""
        if outcome.state in ("retry", "unknown"):
            breaker.wait_again(now)
        elif not outcome.requested or (breaker.reason == CHANNEL and outcome.state not in ("sent", "replaced")):
            breaker.probe_next()
        else:
            self._close(breaker)

    def _refused(self, breaker: CircuitBreaker, outcome: SendAttempt, now: float, contact: str) -> None:
        fault, again = outcome.fault, outcome.fault == breaker.reason
        pause = breaker.next_pause(fault, outcome, contact)
        if breaker.reason and not again:
            self._close(breaker, succeeded=False)
        for each in [breaker] if again or fault in (ADDRESS, CHANNEL) else self._concerned(fault):
            each.open(fault, pause, outcome.detail, now)
        if fault == ADDRESS:
            if again:
                what = (
                    f"the gateway takes nothing at its address, so that what goes by {route_name(breaker.route)} waits"
                )
                self._alarms.report(_ALARMS[fault], what, outcome.advice, _about(breaker.route))
        elif fault == ACCOUNT:
            self._alarms.report(_ALARMS[fault], "nothing can be sent until this is put right", outcome.advice)
        elif fault == CHANNEL:
            what = (
                f"{route_name(breaker.route)} is unknown or inactive: its messages wait, those of other channels go on"
            )
            self._alarms.report(_ALARMS[fault], what, outcome.advice, _about(breaker.route))
        elif breaker.refused_for(now) >= MINUTE or pause > MINUTE:
            what = f"the gateway refuses {route_name(breaker.route)} for its limits for more than a minute"
            self._alarms.report(_ALARMS[fault], what, outcome.advice, _about(breaker.route))

    def _concerned(self, fault: str) -> list[CircuitBreaker]:
        """The closed breakers of all routes that a fault concerns. Commands find out for themselves that the key is
        wrong.
        """
        exempt = OtherRoute.COMMANDS if fault == ACCOUNT else None
        return [each for each in self.values() if not each.reason and each.route is not exempt]

    def _close(self, breaker: CircuitBreaker, *, succeeded: bool = True) -> None:
        reason = breaker.reason
        breaker.close(succeeded=succeeded)
        if reason == ACCOUNT:
            for each in self.values():
                if each.reason == ACCOUNT:
                    each.close(succeeded=succeeded)
        self._alarms.clear(_ALARMS[reason], "" if reason == ACCOUNT else _about(breaker.route))


_ALARMS = {ADDRESS: "address-held", ACCOUNT: "delivery-held", LIMITS: "rate-limited", CHANNEL: "channel-held"}
"""The kind of the alarm while a breaker is open, by its reason."""


def _about(route: Route) -> str:
    return route.value if isinstance(route, OtherRoute) else route
