"""Permits for the requests that a command has made for itself, out of the one budget that delivery keeps."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from time import monotonic

from bot.clock import Clock
from bot.core.errors import BotError
from bot.gateway.errors import GatewayError
from bot.gateway.rate import Rate
from bot.gateway.refusals import RateLimited
from bot.runtime.breakers import Breakers
from bot.runtime.pacing import Pacing
from bot.runtime.sending import Apart, Outcome, refused
from bot.store.rows import SYNC


def _nobody() -> None:
    """Nobody else uses the pacing."""


class NoPermit(BotError):
    """The gateway's limits left no room for a command's request."""


@dataclass(slots=True)
class Permit:
    """Leave for one request. ``rate`` is what its answer said about limits; an error's is known by itself."""

    rate: Rate | None = None


class Loans:
    """Lends permits, under the lock of ``pacing``. ``look`` is called, with the lock held, when that changes something.

    ``waiting`` is how many commands wait for a permit.
    """

    def __init__(
        self,
        lock: threading.Lock,
        pacing: Pacing,
        breakers: Breakers,
        clock: Clock,
        look: Callable[[], object] = _nobody,
    ) -> None:
        self.waiting = 0
        self._lock = lock
        self._pacing = pacing
        self._breakers = breakers
        self._breaker = breakers[Apart.COMMANDS]
        self._clock = clock
        self._look = look
        self._changed = threading.Condition(lock)
        self._closed = False

    @contextmanager
    def lend(self, timeout: float) -> Iterator[Permit]:
        """A permit, once there is one: see `bot.runtime.delivery.Delivery.borrow`."""
        with self._lock:
            number = self._wait(timeout)
            probe = self._breaker.begin()
        permit, outcome = Permit(), Outcome("sent", requested=True)
        try:
            yield permit
        except GatewayError as error:
            outcome = _outcome_of(error, self._clock.now())
            permit.rate = error.rate
            raise
        finally:
            with self._lock:
                self.give_back(number, outcome.requested, permit.rate)
                self._breakers.judge(Apart.COMMANDS, probe, outcome, self._clock.elapsed())
                self._look()

    def give_back(self, permit: int, requested: bool, rate: Rate | None) -> None:
        """A permit comes back, anybody's, with what the answer to its request said. With the lock held."""
        if requested:
            said = rate or Rate()
            self._pacing.ended(permit, self._clock.elapsed(), said.remaining, said.resets_in(self._clock.now()))
        else:
            self._pacing.unused(permit)
        self._changed.notify_all()

    def close(self) -> None:
        """Nobody waits any longer. With the lock held."""
        self._closed = True
        self._changed.notify_all()

    def _wait(self, timeout: float) -> int:
        deadline = monotonic() + timeout
        self.waiting += 1
        try:
            while (permit := self._take()) is None:
                if monotonic() >= deadline or self._closed:
                    raise NoPermit(f"the gateway's limits left no room for this within {timeout:g} s: try again later")
                opens = self._opens_at()
                self._clock.wait(self._changed, opens, deadline - monotonic())
            return permit
        finally:
            self.waiting -= 1
            self._look()

    def _take(self) -> int | None:
        now = self._clock.elapsed()
        return self._pacing.take(now, SYNC) if self._breaker.bound(1, now) else None

    def _opens_at(self) -> float | None:
        opens = self._pacing.opens_at(self._clock.elapsed(), SYNC)
        return None if opens is None else self._breaker.opens_at(opens)


def _outcome_of(error: GatewayError, now: datetime) -> Outcome:
    """What a command's request came to, for the breakers: what it was refused for is the command's to tell, but for the limits."""
    if isinstance(error, RateLimited):
        return refused("retry", error, now)
    return Outcome("retry" if error.retry else "failed", requested=error.requested)
