"""Gateway commands: the requests of `bot` commands to the gateway, within the limits that all requests share.

While a server runs, delivery lends a command a permit for each request. Otherwise the command makes the request
itself, under the server's lock.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from dataclasses import asdict
from datetime import datetime
from functools import partial
from time import monotonic
from typing import Any, TypeVar
from uuid import uuid4

from bot.core.alarms import Alarms
from bot.core.clock import Clock
from bot.core.engine_answers import ContactUpserted, EngineAnswer, GatewayItems, NoPermit, WebhookRegistration
from bot.core.engine_requests import (
    A,
    GatewayCommand,
    ListChatTemplates,
    ListGatewayContacts,
    ListTemplates,
    RegisterWebhook,
    UpsertContact,
    answer_to,
)
from bot.core.errors import BotError
from bot.core.immutable import mutable
from bot.core.values import json_text
from bot.runtime.rate_limiter import MINUTE, RateLimiter
from bot.runtime.scheduler import CircuitBreakers
from bot.runtime.sending import OtherRoute, SendAttempt, refused
from bot.runtime.shared_limiter import Limiter, open_limiter
from bot.services.gateway.gateway_account import ContactPut, Page, RegisteredWebhook
from bot.services.gateway.gateway_answers import (
    EndpointUnavailable,
    GatewayError,
    GatewayRateLimited,
    GatewayRefused,
    GatewayUnauthorized,
    OutcomeUnknown,
    Rate,
)
from bot.services.gateway.gateway_client import Gateway
from bot.settings import AccountSettings
from bot.store.commit import Commit
from bot.store.database import StoreAddress, shards_of
from bot.store.engine_store import EngineStore
from bot.store.files import StoreMissing, server_lock
from bot.store.rows import SYNC
from bot.store.store_reader import StoreReader
from bot.store.trace_rows import GATEWAY_COMMAND

PATIENCE = 60.0
"""Seconds that a command waits for a permit, as long as the limit of a minute is what keeps it waiting. For a longer
wait it asks again.
"""

_SOON = MINUTE + 1.0  # the limiter counts a minute in slots

T = TypeVar("T", bound=Page[Any] | ContactPut | RegisteredWebhook)


class NotRepeated(BotError):
    """An engine that has ended may have done this, and it must not be done twice."""


@mutable
class Permit:
    """Permission for one request. ``rate`` is what its answer says about limits; an error has this itself."""

    rate: Rate | None = None


class GatewayCommands:
    """Runs commands, from any thread. ``permit(seconds)`` lends a permit for one request at the lowest priority.

    ``note`` is called with the command's name before each request, and returns once that is durable.
    """

    def __init__(
        self,
        gateway: Gateway,
        permit: Callable[[float], AbstractContextManager[Permit]],
        note: Callable[[str], object],
        clock: Clock,
    ) -> None:
        self._gateway = gateway
        self._permit = permit
        self._note = note
        self._clock = clock

    def run(self, command: GatewayCommand[A]) -> A:
        """Run a command. Raises `NotRepeated`, `NoPermit` and the errors of `bot.services.gateway.gateway_answers`.

        A command that comes ``again`` may have been made by an engine that has ended: only a webhook's registration
        does harm then.
        """
        return answer_to(command, self._run(command))

    def _run(self, command: GatewayCommand[EngineAnswer]) -> EngineAnswer:
        gateway, name = self._gateway, command.do
        match command:
            case ListTemplates():
                return _items(self._ask(name, gateway.templates))
            case ListChatTemplates(page=page):
                return _items(self._ask(name, lambda: gateway.chat_templates_page(page)))
            case ListGatewayContacts(page=page):
                return _items(self._ask(name, lambda: gateway.contacts_page(page)))
            case UpsertContact():
                return self._put(command)
            case RegisterWebhook(again=True):
                raise NotRepeated(
                    "the engine ended while it registered this: see in the gateway's inbox whether it did, and delete one of two"
                )
            case RegisterWebhook(name=webhook, url=url, events=events, secret=secret):
                registered = self._ask(name, lambda: gateway.register_webhook(webhook, url, [*events], secret))
                return WebhookRegistration(
                    registered.id,
                    registered.name,
                    registered.url,
                    [*registered.events],
                    registered.secret,
                    registered.is_active,
                    registered.created_at,
                )
        raise AssertionError(command)

    def _put(self, command: UpsertContact) -> ContactUpserted:
        put = partial(self._gateway.put_contact, command.phone, command.name, command.email, [*command.tags])
        try:
            return ContactUpserted(self._ask(command.do, put).id)
        except (GatewayUnauthorized, EndpointUnavailable):
            raise
        except GatewayRefused as error:
            return ContactUpserted(refused=str(error))

    def _ask(self, name: str, call: Callable[[], T]) -> T:
        """Make the request, again and again while the gateway refuses it for its limits and soon allows it."""
        until = monotonic() + PATIENCE
        while True:
            try:
                with self._permit(max(until - monotonic(), 0.0)) as permit:
                    self._note(name)
                    answer = call()
                    permit.rate = answer.rate
                    return answer
            except GatewayRateLimited:
                continue  # there is no permit before it allows another request
            except OutcomeUnknown as error:
                wait = error.rate.wait(self._clock.now())
                if wait is None or not error.keyed:
                    raise
                raise NoPermit(str(error), wait) from error


def _items(page: Page[Any]) -> GatewayItems:
    return GatewayItems([asdict(item) for item in page], page.has_more)


def note_command(commit: Commit, call: str) -> None:
    """Add to the trace a request that is about to be made: it counts against the limits, also after a restart."""
    event_id, body = f"command:{uuid4().hex}", json_text({"do": "gateway", "call": call})
    commit.add_note(None, event_id, body, GATEWAY_COMMAND, call)


@contextmanager
def commands_without_server(account: AccountSettings, store: StoreAddress, clock: Clock) -> Iterator[GatewayCommands]:
    """Gateway commands while no server runs: under the server's lock, within the rest of the last day's limits.

    A store need not exist yet. Raises `bot.store.files.StoreLocked`.
    """
    with ExitStack() as opened:
        opened.callback(server_lock(store).release)
        gateway = opened.enter_context(closing(Gateway(account.gateway_url, account.gateway_key)))
        limits = account.gateway_per_minute, account.gateway_per_day
        limiter: Limiter = RateLimiter(*limits)
        with suppress(StoreMissing), closing(StoreReader(store)) as reader:
            limiter = open_limiter(store, clock, reader, *limits)
        opened.callback(limiter.stop)
        permits = CommandPermits(threading.Lock(), limiter, CircuitBreakers(Alarms(clock)), clock, lambda: None)
        limiter.start(permits.share_breakers, permits.came)
        yield GatewayCommands(gateway, permits.permit, partial(_note_in_store, store, clock), clock)


def _note_in_store(store: StoreAddress, clock: Clock, call: str) -> None:
    with suppress(StoreMissing), closing(EngineStore(shards_of(store)[0])) as own:  # in whichever: all are read
        commit = Commit(own.cursor, clock.now())
        note_command(commit, call)
        own.write(commit)


class CommandPermits:
    """Lends permits of the rate limiter to commands, before campaigns get them. ``lock`` guards the limiter and the
    breakers.

    ``changed`` is called, with the lock held, when a permit was lent or given back, or when a command begins or ends
    to wait. ``waiting`` is how many commands wait for a permit.
    """

    def __init__(
        self,
        lock: threading.Lock,
        limiter: Limiter,
        breakers: CircuitBreakers,
        clock: Clock,
        changed: Callable[[], None],
    ) -> None:
        self.waiting = 0
        self._lock = lock
        self._limiter = limiter
        self._breakers = breakers
        self._breaker = breakers[OtherRoute.COMMANDS]
        self._clock = clock
        self._changed = changed
        self._given_back = threading.Condition(lock)
        self._closed = False

    @contextmanager
    def permit(self, timeout: float) -> Iterator[Permit]:
        """A permit for one request, as soon as the limits allow it. Raises `NoPermit` after ``timeout`` real seconds.

        A `bot.services.gateway.gateway_answers.GatewayError` in the block counts as what it says about the limits and
        the route.
        """
        with self._lock:
            number = self._wait(timeout)
            probe = self._breaker.begin()
        permit, attempt = Permit(), SendAttempt("sent", requested=True)
        try:
            yield permit
        except GatewayError as error:
            attempt = _attempt_of(error, self._clock.now())
            permit.rate = error.rate
            raise
        finally:
            with self._lock:
                self._limiter.give_back(number, self._clock, attempt.requested, permit.rate)
                self._breakers.record(OtherRoute.COMMANDS, probe, attempt, self._clock.elapsed())
                self.given_back()
                self._changed()

    def share_breakers(self, known: dict[str, Any], offset: float) -> None:
        """Follow the circuit breakers of the shards' engines: see `CircuitBreakers.share`."""
        with self._lock:
            self._breakers.share(known, offset, self._clock.elapsed())

    def came(self) -> None:
        """The limits may allow more than they did."""
        with self._lock:
            self.given_back()

    def given_back(self) -> None:
        """A permit was given back: wake the commands that wait. With the lock held."""
        self._given_back.notify_all()

    def close(self) -> None:
        """Wake all commands that wait; none gets a permit any more. With the lock held."""
        self._closed = True
        self.given_back()

    def _wait(self, timeout: float) -> int:
        deadline = monotonic() + timeout
        self.waiting += 1
        try:
            while (permit := self._acquire()) is None:
                free, left = self._free_at(), deadline - monotonic()
                wait = None if free is None else free - self._clock.elapsed()
                if left <= 0 or self._closed or (wait is not None and wait > _SOON):
                    text = f"the gateway's limits left no room for this within {timeout:g} s: try again later"
                    raise NoPermit(text, wait)
                self._clock.wait(self._given_back, free, left)
            return permit
        finally:
            self.waiting -= 1
            self._changed()

    def _acquire(self) -> int | None:
        now = self._clock.elapsed()
        return self._limiter.acquire(now, SYNC) if self._breaker.free_at(now) == now else None

    def _free_at(self) -> float | None:
        free = self._limiter.free_at(self._clock.elapsed(), SYNC)
        return None if free is None else self._breaker.free_at(free)


def _attempt_of(error: GatewayError, now: datetime) -> SendAttempt:
    """The result of a command's failed request, for the breakers. The command reports every fault except the limits."""
    if isinstance(error, GatewayRateLimited):
        return refused("retry", error, now)
    return SendAttempt("retry" if error.retry else "failed", requested=error.requested)
