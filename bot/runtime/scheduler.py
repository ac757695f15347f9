"""The messages in memory, and which one is sent next: a queue for each contact, priority and route.

Replies go first, then changes of contacts, then a command's own requests, then campaigns. Within a priority the routes
take turns. The scheduler starts no thread and sends nothing: delivery asks it for the next message, with a lock held.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence, Set
from itertools import chain, islice

from bot.clock import Clock
from bot.runtime.circuit_breakers import CircuitBreakers
from bot.runtime.gateway_commands import CommandPermits
from bot.runtime.rate_limiter import ContactLimiter, RateLimiter
from bot.runtime.sending import CHANNEL, ContactQueue, OverShare, QueueName, Route
from bot.runtime.worker_pool import DelayQueue, left_to_wait
from bot.store.rows import CAMPAIGN, REPLY, SYNC, OutboxRow

PRIORITIES = (REPLY, SYNC, CAMPAIGN)  # the first goes first

CAPACITY = 10_000
"""The most messages in memory, without those of held channels beyond `HELD_ROWS`: the rest waits in the file."""

QUEUE_ROWS = 1000
"""How many of them one contact may have, by one route: a flood must keep nobody out."""

HELD_ROWS = 1000
"""How many a channel may have while it is held."""


class Scheduler:
    """Decides which message goes next, and when: by its own due time, the rate limits and its route's circuit breaker.

    Of each `ContactQueue` only the first message is tried. Times are those of `Clock.elapsed`. ``route_of`` returns the
    route by which a row is sent. Not safe for threads by itself.
    """

    def __init__(
        self,
        clock: Clock,
        limiter: RateLimiter,
        contact_limiter: ContactLimiter,
        breakers: CircuitBreakers,
        commands: CommandPermits,
        route_of: Callable[[OutboxRow], Route],
    ) -> None:
        self._clock = clock
        self._limiter = limiter
        self._contact_limiter = contact_limiter
        self._breakers = breakers
        self._commands = commands
        self._route_of = route_of
        self._queues: dict[QueueName, ContactQueue] = {}
        self._waiting: dict[int, dict[Route, DelayQueue[ContactQueue]]] = {priority: {} for priority in PRIORITIES}
        self._rows: Counter[Route] = Counter()
        # what was left in the file
        self._left_routes: set[Route] = set()
        self._left_queues: set[QueueName] = set()
        self._left_others = False  # rows that are no replies

    # What goes next

    def take(self, now: float) -> tuple[ContactQueue, int] | None:
        """The next queue whose first message can be sent, and the permit for it."""
        for priority in self._priorities():
            for route, waiting in self._waiting[priority].items():
                if not self._breakers[route].allowed(len(waiting.ready), now):
                    continue
                permit = self._limiter.take(now, priority)
                if permit is None:
                    break
                self._waiting[priority][route] = self._waiting[priority].pop(
                    route
                )  # the other routes go first next time
                return waiting.ready.popleft(), permit
        return None

    def update(self, now: float) -> int:
        """Make ready what is due. Returns how many messages can be sent now."""
        for waiting in self._all_waiting():
            waiting.update(now)
        ready = ((priority, self._ready(priority, now)) for priority in self._priorities())
        return sum(min(queues, self._limiter.left(now, priority)) for priority, queues in ready if queues)

    def next_change(self, now: float) -> float | None:
        """The next time after now at which something can be sent or falls due."""
        times = [*self._free_times(now), *(waiting.next_due() for waiting in self._all_waiting())]
        return min((at for at in times if at is not None and at > now), default=None)

    def next_sendable(self, now: float) -> float | None:
        """When the next message can be sent, which may be now; None when there is none, or that depends on an answer."""
        times = [*self._free_times(now)]
        for priority, by_route in self._waiting.items():
            free = self._limiter.free_at(now, priority)
            for route, waiting in by_route.items():
                due = waiting.next_due()
                if due is not None and free is not None:
                    times.append(self._breakers[route].free_at(max(due, free)))
        return min((at for at in times if at is not None), default=None)

    def _priorities(self) -> tuple[int, ...]:
        """The first goes first; campaigns are left out while a command waits."""
        return PRIORITIES if not self._commands.waiting else PRIORITIES[:-1]

    def _all_waiting(self) -> Iterator[DelayQueue[ContactQueue]]:
        return chain.from_iterable(by_route.values() for by_route in self._waiting.values())

    def _ready(self, priority: int, now: float) -> int:
        """How many messages of a priority could go but for the limits."""
        by_route = self._waiting[priority].items()
        return sum(
            self._breakers[route].allowed(len(waiting.ready), now) for route, waiting in by_route if waiting.ready
        )

    def _free_times(self, now: float) -> Iterator[float | None]:
        """When something of what is ready can go, by priority and route; None if that depends on an answer."""
        for priority in self._priorities():
            routes = [route for route, waiting in self._waiting[priority].items() if waiting.ready]
            free = self._limiter.free_at(now, priority) if routes else None
            if free is not None:
                yield from (self._breakers[route].free_at(free) for route in routes)

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
            self._schedule(queue, seconds)

    def finish(self, queue: ContactQueue) -> None:
        """The queue's first message is done with: the next one is tried."""
        if not self._has(queue):
            return
        queue.rows.popleft()
        self._rows[queue.route] -= 1
        if queue.rows:
            self._begin(queue)
        else:
            del self._queues[queue.name]

    def remove_contact(self, contact: str) -> None:
        """Forget all queues of a contact."""
        for queue in [queue for queue in self if queue.contact == contact]:
            del self._queues[queue.name]
            self._rows[queue.route] -= len(queue.rows)
        self._remove_waiting(lambda queue: queue.contact == contact)

    def remove(self, ids: Set[int]) -> Set[int]:
        """Forget those of these rows that were certainly not sent. Returns their ids."""
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
        """The queue's first row is a new one. A reply that has no share while it is worth sending is given up at once."""
        queue.begin()
        row, now = queue.rows[0], self._clock.elapsed()
        wait = left_to_wait(row.attempts, row.due_at, self._clock.now())
        share_in = self._contact_limiter.free_at(queue.contact, now) - now
        if row.priority == REPLY and share_in > (row.expires_at - row.created_at).total_seconds():
            queue.over_share = OverShare(self._contact_limiter.a_day, self._contact_limiter.give_up(queue.contact))
        else:
            wait = max(wait, share_in)
        self._schedule(queue, wait)

    def _schedule(self, queue: ContactQueue, wait: float) -> None:
        now = self._clock.elapsed()
        queue.due_at = now + wait
        by_route = self._waiting[queue.priority]
        if queue.route not in by_route:
            by_route[queue.route] = DelayQueue()
        by_route[queue.route].add(queue, queue.due_at, now)

    def _remove(self, ids: Set[int]) -> None:
        """Forget rows; none of them is in flight."""
        whole = {name for name, queue in self._queues.items() if all(row.id in ids for row in queue.rows)}
        self._remove_waiting(lambda queue: queue.name in whole)
        for name in whole:
            del self._queues[name]
        for queue in self:
            _drop(queue, ids)
        self._rows = Counter(queue.route for queue in self for _ in queue.rows)

    def _remove_waiting(self, gone: Callable[[ContactQueue], bool]) -> None:
        for waiting in self._all_waiting():
            waiting.remove(gone)

    # The room in memory

    def room(self) -> int:
        """How many more rows fit into memory."""
        held = {route: rows for route, rows in self._rows.items() if self._is_held(route)}
        counted = len(self) - sum(rows - min(rows, HELD_ROWS) for rows in held.values())
        return max(0, CAPACITY - counted)

    def takes(self, rows: Sequence[OutboxRow]) -> list[OutboxRow]:
        """Those of the rows that are to be added next. The others stay in the file until `takes_again`.

        So neither a held channel nor one contact's flood fills the memory that all share, and half of it is kept for
        replies.
        """
        if not self._left_others and any(row.priority != REPLY for row in rows):
            self._left_others = self._others() >= CAPACITY // 2
        return [row for row in rows if self._has_room_for(row)]

    def takes_again(self) -> bool:
        """Whether some of the rows that were left in the file fit now: all can be offered again, in order."""
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
        return self._breakers[route].reason == CHANNEL


def _unsent(queue: ContactQueue) -> Iterator[OutboxRow]:
    """The queue's rows that were certainly not sent."""
    return islice(queue.rows, int(queue.in_flight or queue.unclear), None)


def _drop(queue: ContactQueue, ids: Set[int]) -> None:
    """Take rows out of a queue. At least one stays."""
    first = queue.rows[0]
    queue.rows = deque(row for row in queue.rows if row.id not in ids)
    if queue.rows[0] is not first:
        queue.begin()
