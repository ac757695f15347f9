"""When which messages can go: by their own times, by the limits, and by the circuit breakers of their routes."""

from collections.abc import Callable, Iterator
from itertools import chain

from bot.runtime.circuit_breakers import CircuitBreakers
from bot.runtime.gateway_commands import CommandPermits
from bot.runtime.rate_limiter import RateLimiter
from bot.runtime.sending import ContactQueue, Route
from bot.runtime.worker_pool import DelayQueue
from bot.store.rows import CAMPAIGN, REPLY, SYNC

PRIORITIES = (REPLY, SYNC, CAMPAIGN)  # the first goes first


class Scheduler:
    """Delivery's, under its lock: for each priority, a line of contacts' lanes for each route, which take turns.

    Times are of `bot.clock.Clock.elapsed`.
    """

    def __init__(self, pacing: RateLimiter, breakers: CircuitBreakers, loans: CommandPermits) -> None:
        self._pacing = pacing
        self._breakers = breakers
        self._loans = loans
        self._lines: dict[int, dict[Route, DelayQueue[ContactQueue]]] = {priority: {} for priority in PRIORITIES}

    def add(self, lane: ContactQueue, due_at: float, now: float) -> None:
        """A lane's first message may go at ``due_at``."""
        lines = self._lines[lane.priority]
        if lane.route not in lines:
            lines[lane.route] = DelayQueue()
        lines[lane.route].add(lane, due_at, now)

    def drop(self, gone: Callable[[ContactQueue], bool]) -> None:
        """Forget the lanes for which ``gone`` is true."""
        for line in self._all():
            line.drop(gone)

    def ripen(self, now: float) -> None:
        """What has fallen due is ready."""
        for line in self._all():
            line.ripen(now)

    def sendable(self, now: float) -> int:
        """How many contacts' messages could go out now."""
        ready = ((p, self._ready(p, now)) for p in self._priorities())
        return sum(min(lanes, self._pacing.left(now, p)) for p, lanes in ready if lanes)

    def take(self, now: float) -> tuple[ContactQueue, int] | None:
        """The next lane whose message can go, and the permit for it."""
        for priority in self._priorities():
            for route, line in self._lines[priority].items():
                if not self._breakers[route].bound(len(line.ready), now):
                    continue
                permit = self._pacing.take(now, priority)
                if permit is None:
                    break
                self._lines[priority][route] = self._lines[priority].pop(route)  # the other routes go first next time
                return line.ready.popleft(), permit
        return None

    def look_at(self, now: float) -> float | None:
        """The next time at which something new can be done."""
        times = [*self._openings(now), *(line.due() for line in self._all())]
        return min((at for at in times if at is not None and at > now), default=None)

    def next_due(self, now: float) -> float | None:
        """When something happens by itself; None when nothing will, or not before an answer comes."""
        times = [*self._openings(now)]
        for priority, lines in self._lines.items():
            opens = self._pacing.opens_at(now, priority)
            for route, line in lines.items():
                due = line.due()
                if due is not None and opens is not None:
                    times.append(self._breakers[route].opens_at(max(due, opens)))
        return min((at for at in times if at is not None), default=None)

    def _all(self) -> Iterator[DelayQueue[ContactQueue]]:
        return chain.from_iterable(lines.values() for lines in self._lines.values())

    def _priorities(self) -> tuple[int, ...]:
        """The first goes first; campaigns are left out while a command waits."""
        return PRIORITIES if not self._loans.waiting else PRIORITIES[:-1]

    def _ready(self, priority: int, now: float) -> int:
        """How many messages of a priority could go but for the limits."""
        lines = self._lines[priority].items()
        return sum(self._breakers[route].bound(len(line.ready), now) for route, line in lines if line.ready)

    def _openings(self, now: float) -> Iterator[float | None]:
        """When something of what is ready may go out, by priority and route; None if that depends on an answer."""
        for priority in self._priorities():
            routes = [route for route, line in self._lines[priority].items() if line.ready]
            opens = self._pacing.opens_at(now, priority) if routes else None
            if opens is not None:
                yield from (self._breakers[route].opens_at(opens) for route in routes)
