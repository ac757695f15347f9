"""The rate limiter of an engine that shares the gateway's limits with those of other shards: it draws permits from a
common budget.

Each engine has a whole `RateLimiter`, which knows the requests of all. In a turn in which no other engine draws it
learns what the others have done since its last one, decides as if it were alone, and notes what the others have to
know. Requests that others have ended since then count from the moment in which this is learnt, so no engine's clock has
to be right.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import closing
from math import inf
from typing import Any
from uuid import uuid4

from bot.core.clock import Clock
from bot.core.defects import guard
from bot.runtime.rate_limiter import RateLimiter
from bot.services.gateway.gateway_answers import Rate
from bot.store.database import Budget, BudgetTurn, StoreAddress, whole_of
from bot.store.files import StoreUnavailable
from bot.store.opening import shared_budget
from bot.store.rows import CAMPAIGN, REPLY
from bot.store.store_reader import StoreReader

LOOK_SECONDS = 1.0
"""Seconds between two turns if no permit is wanted: the engines must know how many requests ended at the others."""

KEPT_SECONDS = 1.0
"""For how long a permit may be used that was drawn. So an engine that was paused, and has lost its shard meanwhile,
sends nothing by it.
"""

NOT_HEARD_SECONDS = 3.0
"""The seconds after which no permits are left for an engine that has not looked at the budget."""

GONE_SECONDS = 15.0
"""The seconds after which an engine that has not looked at the budget counts as gone, if no other has its shard: its
permits count as requests that have just ended, or nobody could ever use them again.
"""

AHEAD = 16
"""How many permits more than are wanted are drawn for replies, at most, so that the next ones need not wait."""

MOST = 256
"""How many permits an engine draws in one turn, at most: it has no more requests in flight
(`bot.runtime.delivery.MOST_IN_FLIGHT`).
"""


class SharedLimiter:
    """Gives out permits as a `RateLimiter` does, for the engine of one shard. Safe to use from many threads.

    A thread of its own draws permits from the ``budget`` in advance, so that no caller waits for the database. Permits
    that are not used within `KEPT_SECONDS` are given back. For replies at most half of the rest is drawn at once, and
    replies of other shards that have waited longer come first. Without the database there are no permits.

    If an engine dies, its permits count as requests that ended when the next engine of the shard began, or after
    `GONE_SECONDS`. The first engine of a ``store`` that was copied reads earlier requests from its rows. The other
    arguments are those of `RateLimiter`.
    """

    def __init__(
        self,
        per_minute: int,
        per_day: int,
        budget: Budget,
        store: StoreAddress,
        clock: Clock,
        *,
        crashed: bool = False,
    ) -> None:
        self.per_day = per_day
        self._budget = budget
        self._clock = clock
        self._owner = uuid4().hex
        self._lock = threading.Lock()
        self._wakes = threading.Condition(self._lock)
        self._wanted = {REPLY: 0, CAMPAIGN: 0}
        self._drawn: dict[int, deque[int]] = {REPLY: deque(), CAMPAIGN: deque()}
        self._drawn_at = {REPLY: -inf, CAMPAIGN: -inf}
        self._in_flight_elsewhere = 0  # as of the last turn
        self._is_asked = self._draws = self._lets_others = self._has_ended = False
        self._share: Callable[[dict[str, Any], float], None] = lambda known, offset: None
        self._come: Callable[[], None] = lambda: None
        self._thread = threading.Thread(target=guard(self._run), name="budget", daemon=True)
        with budget.turn() as turn:
            engines, now = turn.state.setdefault("engines", {}), clock.elapsed()
            if not engines:
                with closing(StoreReader(whole_of(store))) as reader:
                    turn.made += reader.messages.requests(clock.now())
            before = engines.get(budget.name, {"ended": 0, "in_flight": 0})
            turn.made.append((0.0, before["in_flight"]))
            counted = [(now - ago, requests) for ago, requests in [*turn.recent(), *turn.made]]
            self._limiter = RateLimiter(per_minute, per_day, counted, crashed=crashed)
            self._ended = before["ended"] + before["in_flight"]  # requests, also those of engines before
            self._noted = self._ended  # how many of them the budget has from this engine
            self._ended_elsewhere = sum(engine["ended"] for name, engine in engines.items() if name != budget.name)
            engines[budget.name] = {
                "owner": self._owner,
                "ended": self._ended,
                "in_flight": 0,
                "at": turn.now,  # its last turn
                "waits": 0,  # how many replies wait for a permit
                "since": turn.now,  # since when none of them has got one
            }
            turn.state.setdefault("common", self._limiter.common(0.0))
            turn.state.setdefault("breakers", {})

    def start(self, share: Callable[[dict[str, Any], float], None], come: Callable[[], None]) -> None:
        """Begin to draw permits. ``share`` is called in each turn, with what the engines note of their circuit breakers
        and how much later its times are than this clock's; ``come`` after it, when there may be more permits than
        before.
        """
        self._share, self._come = share, come
        self._thread.start()

    def stop(self) -> None:
        """Draw no more, and give back what is left."""
        with self._lock:
            self._has_ended = True
            self._wakes.notify_all()
        if self._thread.ident is not None:
            self._thread.join()
        with self._lock:
            self._wanted = dict.fromkeys(self._wanted, 0)
            self._drawn_at = dict.fromkeys(self._drawn_at, -inf)
        self._draw()
        self._budget.close()

    @property
    def works(self) -> bool:
        """True if permits can still be drawn. If not, the engine must begin anew."""
        return not self._has_ended

    @property
    def drawing(self) -> bool:
        """True if permits may come at any moment, although nothing is answered and no time passes."""
        return self._is_asked or self._draws

    def acquire(self, now: float, priority: int = REPLY, wanted: int = 1) -> int | None:
        """A permit for one request; None if there is no permit now: then as many as are ``wanted`` are drawn soon."""
        with self._lock:
            kind = _kind(priority)
            if self._are_there(kind, now):
                return self._drawn[kind].popleft()
            self._wanted[kind] = max(self._wanted[kind], wanted)
            if self._limiter.free_at(now, kind) == now and not self._lets_others:
                self._ask()
            return None

    def give_back(self, permit: int, clock: Clock, requested: bool, rate: Rate | None) -> None:
        """Take a permit back: see `RateLimiter.give_back`."""
        with self._lock:
            self._limiter.give_back(permit, clock, requested, rate)
            self._ended += requested
            if rate and (rate.remaining == 0 or rate.retry_after):
                self._ask()  # for a turn: the others should know at once

    def free_at(self, now: float, priority: int = REPLY) -> float | None:
        """When the next permit is there or can be drawn; None if a request in progress, or the database, decides."""
        with self._lock:
            kind = _kind(priority)
            if self._are_there(kind, now):
                return now
            free = self._limiter.free_at(now, kind)
            return None if free == now else free

    def room(self, now: float) -> dict[str, int]:
        """How many requests each window has left for the replies of all shards: ``minute`` and ``day``."""
        with self._lock:
            return self._limiter.room(now)

    def day_used_up(self, now: float) -> bool:
        """True if no request of the day is left for any shard, not even for replies."""
        with self._lock:
            return self._limiter.day_used_up(now)

    def said_none_for(self, now: float) -> float:
        """See `RateLimiter.said_none_for`."""
        with self._lock:
            return self._limiter.said_none_for(now)

    def _run(self) -> None:
        try:
            while not self._has_ended:
                with self._lock:
                    if not self._is_asked:
                        self._clock.wait(self._wakes, None, LOOK_SECONDS)
                self._draw()
        finally:
            self._has_ended = True

    def _draw(self) -> None:
        """Take a turn. Its permits can be used once it is durable; if it may not be, the next turn corrects it."""
        drawn: dict[int, list[int]] = {}
        try:
            with self._budget.turn() as turn:
                if turn.state["engines"][self._budget.name]["owner"] != self._owner:
                    self._has_ended = True  # the next engine of the shard works: it counts these permits
                    return
                offset = turn.now - self._clock.elapsed()
                self._share(turn.state["breakers"], offset)
                with self._lock:
                    drawn = self._take_turn(turn, offset)
                    noted = self._ended
        except StoreUnavailable:
            with self._lock:
                self._is_asked = self._draws = False
                for permits in drawn.values():
                    self._unused(permits)
            return
        with self._lock:
            self._draws, self._noted = False, noted
            for kind, permits in drawn.items():
                self._drawn[kind] += permits
        self._come()

    # With the lock held

    def _take_turn(self, turn: BudgetTurn, offset: float) -> dict[int, list[int]]:
        """Learn what the others did, draw permits, and note what this engine did. Returns the permits by kind."""
        now, engines = self._clock.elapsed(), turn.state["engines"]
        own = engines[self._budget.name]
        others = [engine for name, engine in engines.items() if name != self._budget.name]
        for other in others:
            if other["at"] < turn.now - GONE_SECONDS:
                turn.made.append((0.0, other["in_flight"]))
                other |= {"ended": other["ended"] + other["in_flight"], "in_flight": 0}
        # If others had taken this engine to be gone, they counted its permits then. Requests that have ended here since
        # count now: they were sent now.
        self._ended += max(own["ended"] - self._noted, 0)
        ended, in_flight = (sum(engine[what] for engine in others) for what in ("ended", "in_flight"))
        self._limiter.learn(turn.state["common"], offset, now)
        self._limiter.elsewhere(now, ended - self._ended_elsewhere, in_flight - self._in_flight_elsewhere)
        self._ended_elsewhere, self._in_flight_elsewhere = ended, in_flight
        waited = [
            other for other in others if other["since"] < own["since"] and other["at"] > turn.now - NOT_HEARD_SECONDS
        ]
        for_others, wanted = sum(other["waits"] for other in waited), self._wanted[REPLY]
        self._lets_others = for_others > 0 and for_others >= self._limiter.spare(now)
        drawn = {kind: self._draw_kind(kind, now, for_others) for kind in self._drawn}
        self._is_asked, self._draws = False, True
        waits = min(max(wanted - len(self._drawn[REPLY]) - len(drawn[REPLY]), 0), MOST)
        turn.made.append((0.0, self._ended - own["ended"]))
        engines[self._budget.name] = own | {
            "ended": self._ended,
            "in_flight": self._limiter.in_flight - in_flight,
            "at": turn.now,
            "waits": waits,
            "since": own["since"] if waits and not drawn[REPLY] else turn.now,
        }
        turn.state["common"] = self._limiter.common(offset)
        return drawn

    def _draw_kind(self, kind: int, now: float, for_others: int) -> list[int]:
        there = self._drawn[kind]
        if not self._are_there(kind, now):
            self._unused(there)
            there.clear()
        wanted, self._wanted[kind] = self._wanted[kind], 0
        if wanted and kind == REPLY:
            spare = self._limiter.spare(now) - for_others
            wanted = min(wanted + min(spare // 16, AHEAD), (spare + 1) // 2)
        drawn: list[int] = []
        while len(there) + len(drawn) < min(wanted, MOST) and (permit := self._limiter.acquire(now, kind)) is not None:
            drawn.append(permit)
        if drawn:
            self._drawn_at[kind] = now
        return drawn

    def _ask(self) -> None:
        self._is_asked = True
        self._wakes.notify_all()

    def _unused(self, permits: Iterable[int]) -> None:
        for permit in permits:
            self._limiter.unused(permit)

    def _are_there(self, kind: int, now: float) -> bool:
        return bool(self._drawn[kind]) and now < self._drawn_at[kind] + KEPT_SECONDS


def _kind(priority: int) -> int:
    """The kind of permit: there are two, since replies may use the reserve and all other requests may not."""
    return REPLY if priority == REPLY else CAMPAIGN


Limiter = RateLimiter | SharedLimiter


def open_limiter(
    store: StoreAddress, clock: Clock, reader: StoreReader, per_minute: int, per_day: int, *, crashed: bool = False
) -> Limiter:
    """The rate limiter of what sends for a store, or for a shard, which knows what was requested before. ``reader``
    reads its rows.
    """
    if (budget := shared_budget(store)) is not None:
        return SharedLimiter(per_minute, per_day, budget, store, clock, crashed=crashed)
    recent = [(clock.elapsed() - ago, count) for ago, count in reader.messages.requests(clock.now())]
    return RateLimiter(per_minute, per_day, recent, crashed=crashed)
