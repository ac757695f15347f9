"""The registered webhooks, and the signed delivery of events to them (spec: "Events", "Delivery rules")."""

import contextlib
import hashlib
import heapq
import hmac
import http.client
import secrets
import socket
import threading
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from bot.core.clock import Clock
from bot.core.defects import guard
from bot.testing.emulator.event_payloads import Event
from bot.testing.emulator.gateway_behaviour import Behaviour
from bot.testing.emulator.injected_faults import DELIVERY_FAULTS, Faults

_STALE = (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError)


class Poster:
    """Posts events for one worker thread; another thread may `abort` it."""

    def __init__(self, within: float) -> None:
        self._within = within
        self._lock = threading.Lock()
        self._connection: http.client.HTTPConnection | None = None
        self._address: tuple[str, int] | None = None
        self._aborted = False

    def post(self, target: tuple[str, int, str] | None, body: bytes, headers: Mapping[str, str]) -> int | None:
        """The receiver's HTTP status; None when it did not answer in time, or cannot be reached."""
        if target is None:
            return None
        host, port, path = target
        reused = self._address == (host, port) and self._connection is not None
        while True:
            try:
                return self._try(host, port, path, body, headers)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if not (reused and isinstance(error, _STALE)):
                    return None
                reused = False  # the receiver had closed the kept connection: that does not count as a try

    def abort(self) -> None:
        """Called from another thread: break off the request in progress, and begin no other."""
        with self._lock:
            self._aborted = True
            sock = self._connection.sock if self._connection is not None else None
        if sock is not None:
            with contextlib.suppress(OSError):  # it is closed already
                sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the kept connection."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _try(self, host: str, port: int, path: str, body: bytes, headers: Mapping[str, str]) -> int | None:
        deadline = monotonic() + self._within
        connection = self._connected(host, port)
        if connection.sock is None:
            connection.connect()
            with self._lock:  # from here on, `abort` breaks it off
                if self._aborted:
                    raise ConnectionAbortedError
        connection.request("POST", path, body, dict(headers))
        response = connection.getresponse()
        response.read()
        if monotonic() > deadline:
            self.close()
            return None
        if response.will_close:
            self.close()
        return response.status

    def _connected(self, host: str, port: int) -> http.client.HTTPConnection:
        with self._lock:
            if self._aborted:
                raise ConnectionAbortedError
            if self._connection is None or self._address != (host, port):
                if self._connection is not None:
                    self._connection.close()
                self._connection = http.client.HTTPConnection(host, port, timeout=self._within)
                self._address = (host, port)
            connection = self._connection
        return connection


SCHEDULE = (10.0, 60.0, 300.0, 1800.0, 7200.0)
DISABLED_AFTER = timedelta(days=7)


@dataclass(eq=False, slots=True)
class Subscription:
    """A registration. ``target`` is the address to which its events really go: on this machine, or nowhere."""

    id: int
    name: str
    url: str
    events: frozenset[str]
    secret: str
    created_at: datetime
    target: tuple[str, int, str] | None
    is_active: bool = True
    failing_since: float | None = None  # by `Clock.elapsed`

    def record(self) -> dict[str, Any]:
        """The registration as the API shows it, without the secret."""
        return {
            "id": self.id,
            "name": self.name,
            "url": self.url,
            "events": sorted(self.events),
            "is_active": self.is_active,
            "created_at": self.created_at.isoformat(),
        }


@dataclass(eq=False, slots=True)
class _EventDelivery:
    """One delivery of one event to one webhook, with its tries so far."""

    webhook: Subscription
    event: Event
    id: str
    queue_key: tuple[int, str] | None
    doubled: bool = False
    tries: int = 0


class Webhooks:
    """Delivers events with worker threads, on the given clock, by the specification's schedule.

    ``lock`` is the account's; ``changed`` is notified when a delivery ends.
    """

    def __init__(
        self,
        clock: Clock,
        changed: threading.Condition,
        behaviour: Behaviour,
        faults: Faults,
        *,
        lock: threading.RLock,
        schedule_scale: float,
        answer_within: float,
        keep: int | None,
        tunnel: Mapping[str, str],
    ) -> None:
        self._clock = clock
        self._changed = changed
        self._behaviour = behaviour
        self._faults = faults
        self._ready = threading.Condition(lock)
        self._scale = schedule_scale
        self._within = answer_within
        self._tunnel = dict(tunnel)
        self._registered: list[Subscription] = []
        self._due: list[tuple[float, int, _EventDelivery]] = []
        self._queues: dict[tuple[int, str], deque[_EventDelivery]] = {}
        self._in_flight = 0
        self._serial = 0
        self._run = secrets.token_hex(4)
        self._stopping = False
        self._threads: list[threading.Thread] = []
        self._posters: list[Poster] = []
        self._seen: set[str] = set()
        self._seen_in_order: deque[str] = deque()
        self._keep = keep
        self._newest: Event | None = None
        self.counts: Counter[str] = Counter()
        self.given_up: deque[str] = deque(maxlen=keep)

    def register(self, name: str, url: str, events: Iterable[str], secret: str | None = None) -> Subscription:
        """Register a webhook. Without a secret, one is made."""
        with self._ready:
            target = self.target(url)
            secret = secret or secrets.token_urlsafe(24)
            now = self._clock.now()
            webhook = Subscription(len(self._registered) + 1, name, url, frozenset(events), secret, now, target)
            self._registered.append(webhook)
            return webhook

    def retire(self, webhook: Subscription) -> None:
        """Deliver nothing more to a webhook. If no delivery is in progress, the kept connections are closed."""
        with self._ready:
            webhook.is_active = False
            if not self._in_flight:
                for poster in self._posters:
                    poster.close()

    @property
    def registered(self) -> tuple[Subscription, ...]:
        """All registrations."""
        with self._ready:
            return tuple(self._registered)

    @property
    def acknowledged(self) -> tuple[str, ...]:
        """The ids of all events that a receiver has answered 2xx, each once, in the order of the first such answer."""
        with self._ready:
            return tuple(self._seen_in_order)

    def deliver(self, event: Event) -> None:
        """Deliver an event to every active webhook that is subscribed to it."""
        with self._ready:
            self.counts["events"] += 1
            self._newest = event
            for webhook in self._registered:
                if webhook.is_active and event.name in webhook.events:
                    self._enqueue(webhook, event)

    def repeat(self) -> None:
        """Deliver the newest event once more. Raises `LookupError` if there is none."""
        with self._ready:
            if self._newest is None:
                raise LookupError("no event has been delivered yet")
            self.deliver(self._newest)

    def idle(self) -> bool:
        """True if no delivery is in progress or due."""
        with self._ready:
            return not self._in_flight and not (self._due and self._due[0][0] <= self._clock.elapsed())

    def start(self, threads: int) -> None:
        """Start the workers."""
        self._posters = [Poster(self._within) for _ in range(threads)]
        for poster in self._posters:
            thread = threading.Thread(target=guard(self._work), args=(poster,), name="emulator-webhook", daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """Stop the workers. Tries in progress are interrupted."""
        with self._ready:
            self._stopping = True
            self._ready.notify_all()
        for poster in self._posters:
            poster.abort()
        for thread in self._threads:
            thread.join()

    def target(self, url: str) -> tuple[str, int, str] | None:
        """Host, port and path of an address, after the tunnels; None if that is not on this machine."""
        for public, local in self._tunnel.items():
            if url.startswith(public):
                url = local + url[len(public) :]
        parts = urlsplit(url)
        if parts.scheme != "http" or parts.hostname not in ("127.0.0.1", "localhost", "::1"):
            return None
        path = parts.path or "/"
        return parts.hostname, parts.port or 80, f"{path}?{parts.query}" if parts.query else path

    def _enqueue(self, webhook: Subscription, event: Event) -> None:
        queue_key = (webhook.id, event.contact) if self._behaviour.ordered and event.contact else None
        delivery = _EventDelivery(webhook, event, self._delivery_id(), queue_key)
        if queue_key is None:
            self._push(delivery, self._clock.elapsed())
        elif queue_key in self._queues:
            self._queues[queue_key].append(delivery)
        else:
            self._queues[queue_key] = deque()
            self._push(delivery, self._clock.elapsed())

    def _delivery_id(self) -> str:
        self._serial += 1
        return f"dlv_{self._run}_{self._serial}"

    def _push(self, delivery: _EventDelivery, due: float) -> None:
        self._serial += 1
        heapq.heappush(self._due, (due, self._serial, delivery))
        self._ready.notify()

    def _work(self, poster: Poster) -> None:
        while (delivery := self._next()) is not None:
            webhook = delivery.webhook
            started = self._clock.now()
            status = poster.post(webhook.target, delivery.event.body, self._headers(delivery, started))
            self._ended(delivery, status)
        poster.close()

    def _next(self) -> _EventDelivery | None:
        with self._ready:
            while not self._stopping:
                due = self._due[0][0] if self._due else None
                if due is not None and due <= self._clock.elapsed():
                    delivery = heapq.heappop(self._due)[2]
                    self._in_flight += 1
                    self._double(delivery)
                    return delivery
                self._clock.wait(self._ready, due, at_most=1.0)
            return None

    def _double(self, delivery: _EventDelivery) -> None:
        if delivery.tries or delivery.doubled:
            return
        for fault in self._faults.draw(DELIVERY_FAULTS, delivery.event):
            again = delivery.id if fault.kind == "double_delivery" else self._delivery_id()
            self._push(
                _EventDelivery(delivery.webhook, delivery.event, again, None, doubled=True), self._clock.elapsed()
            )

    def _headers(self, delivery: _EventDelivery, now: datetime) -> dict[str, str]:
        event = delivery.event
        timestamp = str(int(now.timestamp()) if self._behaviour.restamp else event.timestamp)
        signed = timestamp.encode() + b"." + event.body
        digest = hmac.new(delivery.webhook.secret.encode(), signed, hashlib.sha256).hexdigest()
        return {
            "Content-Type": "application/json",
            "X-Service-Event": event.sent_name,
            "X-Service-Timestamp": timestamp,
            "X-Service-Delivery-Id": delivery.id,
            "X-Service-Signature": f"sha256={digest}" if self._behaviour.signature_prefix else digest,
        }

    def _ended(self, delivery: _EventDelivery, status: int | None) -> None:
        with self._ready:
            self._in_flight -= 1
            self.counts["tries"] += 1
            self.counts["tries unanswered" if status is None else f"tries answered {status}"] += 1
            if delivery.queue_key is not None:
                self._free(delivery.queue_key)
                delivery.queue_key = None
            if status is not None and 200 <= status < 300:
                delivery.webhook.failing_since = None
                self._acknowledge(delivery.event.id)
            else:
                self._failed(delivery)
            self._changed.notify_all()

    def _free(self, queue_key: tuple[int, str]) -> None:
        waiting = self._queues[queue_key]
        if waiting:
            self._push(waiting.popleft(), self._clock.elapsed())
        else:
            del self._queues[queue_key]

    def _acknowledge(self, event_id: str) -> None:
        if event_id in self._seen:
            return
        self.counts["acknowledged"] += 1
        self._seen.add(event_id)
        self._seen_in_order.append(event_id)
        if self._keep is not None and len(self._seen_in_order) > self._keep:
            self._seen.discard(self._seen_in_order.popleft())

    def _failed(self, delivery: _EventDelivery) -> None:
        webhook, now = delivery.webhook, self._clock.elapsed()
        webhook.failing_since = now if webhook.failing_since is None else webhook.failing_since
        if now - webhook.failing_since >= DISABLED_AFTER.total_seconds():
            webhook.is_active = False
        delivery.tries += 1
        if delivery.doubled:
            return
        if delivery.tries > len(SCHEDULE) or not webhook.is_active:
            self.counts["given up"] += 1
            self.given_up.append(delivery.event.id)
            return
        self._push(delivery, now + SCHEDULE[delivery.tries - 1] * self._scale)
