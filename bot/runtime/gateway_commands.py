"""Permits for the requests that a command has made for itself, out of the one budget that delivery keeps."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar
from uuid import uuid4

from bot.alarms import Alarms
from bot.clock import Clock
from bot.core.errors import BotError
from bot.gateway.gateway_account import ContactPut, Page, RegisteredWebhook
from bot.gateway.gateway_answers import GatewayError, GatewayRateLimited, GatewayRefused, GatewayUnauthorized, Rate
from bot.gateway.gateway_client import Gateway
from bot.runtime.circuit_breakers import CircuitBreakers
from bot.runtime.rate_limiter import RateLimiter
from bot.runtime.sending import OtherRoute, SendAttempt, refused
from bot.settings import Account
from bot.store.commit import Commit
from bot.store.engine_store import Store
from bot.store.files import server_lock
from bot.store.rows import GATEWAY_COMMAND, SYNC, json_text
from bot.store.store_reader import StoreReader


def _nobody() -> None:
    """Nobody else uses the pacing."""


class NoPermit(BotError):
    """The gateway's limits left no room for a command's request."""


@dataclass(slots=True)
class Permit:
    """Leave for one request. ``rate`` is what its answer said about limits; an error's is known by itself."""

    rate: Rate | None = None


class CommandPermits:
    """Lends permits, under the lock of ``pacing``. ``look`` is called, with the lock held, when that changes something.

    ``waiting`` is how many commands wait for a permit.
    """

    def __init__(
        self,
        lock: threading.Lock,
        pacing: RateLimiter,
        breakers: CircuitBreakers,
        clock: Clock,
        look: Callable[[], object] = _nobody,
    ) -> None:
        self.waiting = 0
        self._lock = lock
        self._pacing = pacing
        self._breakers = breakers
        self._breaker = breakers[OtherRoute.COMMANDS]
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
        permit, outcome = Permit(), SendAttempt("sent", requested=True)
        try:
            yield permit
        except GatewayError as error:
            outcome = _outcome_of(error, self._clock.now())
            permit.rate = error.rate
            raise
        finally:
            with self._lock:
                self.give_back(number, outcome.requested, permit.rate)
                self._breakers.judge(OtherRoute.COMMANDS, probe, outcome, self._clock.elapsed())
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


def _outcome_of(error: GatewayError, now: datetime) -> SendAttempt:
    """What a command's request came to, for the breakers: what it was refused for is the command's to tell, but for the limits."""
    if isinstance(error, GatewayRateLimited):
        return refused("retry", error, now)
    return SendAttempt("retry" if error.retry else "failed", requested=error.requested)


PATIENCE = 60.0
"""Seconds that an errand waits for room within the limits: in a minute there is some, unless a day's are used up."""

Request = dict[str, Any]
Answer = dict[str, Any]
T = TypeVar("T", bound=Page[Any] | ContactPut | RegisteredWebhook)


class UnknownCommand(BotError):
    """The request is not of a form that is known here."""


def note_command(commit: Commit, call: str) -> None:
    """Leave a trace of a request that is about to be made: it counts against the limits, also after a restart."""
    commit.add_note(None, f"errand:{uuid4().hex}", json_text({"do": "gateway", "call": call}), GATEWAY_COMMAND, call)


class GatewayCommands:
    """Runs errands, from any thread. ``borrow`` gives leave for one request at the lowest priority.

    ``note`` is told the call before each request, and returns once that is durable.
    """

    def __init__(
        self,
        gateway: Gateway,
        borrow: Callable[[float], AbstractContextManager[Permit]],
        note: Callable[[str], object],
    ) -> None:
        self._gateway = gateway
        self._borrow = borrow
        self._note = note

    def run(self, request: Request) -> Answer:
        """Run one. Raises `UnknownCommand`, the tree of `bot.gateway.gateway_answers`, and what ``borrow`` raises.

        ``{"call": "templates"}``, ``{"call": "chat_templates", "page": 1}`` and ``{"call": "contacts", "page": 1}``
        are answered with ``items`` and ``has_more``; ``put_contact`` (phone, name, email, tags) with ``id``, or
        with ``refused``, in words, where that one contact is at fault; ``register_webhook`` (name, url, events,
        secret) with all of the registration.
        """
        gateway = self._gateway
        match request:
            case {"call": "templates"}:
                return _items(self._ask("templates", gateway.templates))
            case {"call": "chat_templates", "page": int(page)}:
                return _items(self._ask("chat_templates", lambda: gateway.chat_templates_page(page)))
            case {"call": "contacts", "page": int(page)}:
                return _items(self._ask("contacts", lambda: gateway.contacts_page(page)))
            case {"call": "put_contact", "phone": str(phone), "tags": list(tags)}:
                return self._put(phone, request.get("name"), request.get("email"), tags)
            case {"call": "register_webhook", "name": str(name), "url": str(url), "events": list(events)}:
                secret = request.get("secret")
                registered = self._ask("register_webhook", lambda: gateway.register_webhook(name, url, events, secret))
                return {key: value for key, value in asdict(registered).items() if key != "rate"}
        raise UnknownCommand(f'the gateway is never asked for "{request.get("call")}" in this form')

    def _put(self, phone: str, name: str | None, email: str | None, tags: list[str]) -> Answer:
        try:
            return {"id": self._ask("put_contact", lambda: self._gateway.put_contact(phone, name, email, tags)).id}
        except (GatewayUnauthorized, GatewayRateLimited):
            raise
        except GatewayRefused as error:
            return {"refused": str(error)}

    def _ask(self, name: str, call: Callable[[], T]) -> T:
        with self._borrow(PATIENCE) as permit:
            self._note(name)
            answer = call()
            permit.rate = answer.rate
            return answer


def _items(page: Page[Any]) -> Answer:
    return {"items": [asdict(item) for item in page], "has_more": page.has_more}


@contextmanager
def commands_without_server(account: Account, store: Path, clock: Clock) -> Iterator[GatewayCommands]:
    """Errands while no server runs: under the server's lock, within what the limits leave of the last day's requests.

    There need be no store yet. Raises `bot.store.files.StoreLocked`.
    """
    with ExitStack() as opened:
        opened.callback(server_lock(store).release)
        gateway = opened.enter_context(closing(Gateway(account.gateway_url, account.gateway_key)))
        recent: list[tuple[float, int]] = []
        if store.exists():
            with closing(StoreReader(store)) as reader:
                recent = [(clock.elapsed() - ago, count) for ago, count in reader.requests(clock.now())]
        pacing = RateLimiter(account.gateway_per_minute, account.gateway_per_day, recent)
        loans = CommandPermits(threading.Lock(), pacing, CircuitBreakers(Alarms(clock)), clock)
        yield GatewayCommands(gateway, loans.lend, partial(_note_in_store, store, clock))


def _note_in_store(store: Path, clock: Clock, call: str) -> None:
    if store.exists():
        with closing(Store(store)) as own:
            commit = Commit(own.cursor(), clock.now())
            note_command(commit, call)
            own.write(commit)
