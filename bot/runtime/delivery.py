"""Sends the outbox's messages: in order for each contact and channel, to many contacts at once, within the limits."""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from random import Random

from bot.core.alarms import Alarms
from bot.core.clock import Clock, Timekeeper, time_of
from bot.core.effects import Send
from bot.core.immutable import immutable
from bot.runtime.gateway_commands import CommandPermits, Permit
from bot.runtime.rate_limiter import MINUTE, ContactLimiter
from bot.runtime.scheduler import CircuitBreakers, Scheduler
from bot.runtime.sending import Claim, ContactQueue, OtherRoute, Route, SendAttempt, Sender, SendResult
from bot.runtime.shared_limiter import Limiter
from bot.services.gateway.gateway_client import Gateway
from bot.store.rows import SYNC, OutboxRow

MOST_IN_FLIGHT = 256

ALARM_OVER_AFTER = 120.0
"""Seconds after which a limit's alarm is over."""

_yield = getattr(os, "sched_yield", lambda: None)  # Python has none on macOS


@immutable
class DeliveryStatus:
    """How delivery stands: how many messages wait, how many are being sent, and what the limits leave by window."""

    waiting: int
    in_flight: int
    left: dict[str, int]


@immutable
class WaitReason:
    """Why a message waits, in words, and until when; None where that depends on others."""

    why: str
    until: datetime | None = None


class WaitReasons:
    """Tells why a message waits: the first reason that applies, in the order of `of`."""

    def __init__(
        self, clock: Clock, limiter: Limiter, contact_limiter: ContactLimiter, breakers: CircuitBreakers
    ) -> None:
        self._clock = clock
        self._limiter = limiter
        self._contact_limiter = contact_limiter
        self._breakers = breakers

    def of_rows(self, queues: Iterable[ContactQueue], ids: Set[int]) -> dict[int, WaitReason]:
        """Why these rows wait, as far as they are in the queues."""
        now, found = self._clock.elapsed(), dict[int, WaitReason]()
        for queue in queues:
            for place, row in enumerate(queue.rows):
                if row.id in ids:
                    wait = self.of(queue, now)
                    found[row.id] = (
                        replace(wait, why=f"{place} before it to this contact: {wait.why}") if place else wait
                    )
        return found

    def of(self, queue: ContactQueue, now: float) -> WaitReason:
        """Why a queue's first row waits."""
        breaker = self._breakers[queue.route]
        if queue.in_flight:
            return WaitReason("it is being sent")
        if queue.ended:
            return WaitReason("it could not be sent, and that is not stored yet")
        if breaker.reason:
            return WaitReason(breaker.why(), time_of(self._clock, breaker.probe_at))
        share = self._contact_limiter.free_at(queue.contact, now)
        if share > now and queue.contact_limit is None:
            return WaitReason("the contact's share of the requests is used up", time_of(self._clock, share))
        if queue.due_at > now:
            return WaitReason("it is tried again", time_of(self._clock, queue.due_at))
        free = self._limiter.free_at(now, queue.priority)
        if free is None or free > now:
            return WaitReason("the limits leave no room", None if free is None else time_of(self._clock, free))
        return WaitReason("its turn comes")


class LimitAlarms:
    """The alarms of limits that keep messages waiting: the day's requests are used up, or the gateway says that none
    are left.
    """

    def __init__(self, alarms: Alarms, limiter: Limiter) -> None:
        self._alarms = alarms
        self._limiter = limiter
        self._reported: dict[str, float | None] = {}  # the alarms that are on, and since when they are no longer true

    def refresh(self, now: float, waiting: bool) -> None:
        """Report the alarms that hold now, and clear those that have not held for a while. ``waiting``: there are
        messages to send.
        """
        if not (waiting or self._reported):
            return
        used_up, none_said = self._limiter.day_used_up(now), self._limiter.said_none_for(now) > MINUTE
        self._report_while(
            "day-limit",
            now,
            used_up and waiting,
            f"the {self._limiter.per_day} requests of 24 hours are used up: what is to be sent waits until some are free",
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
        """Report or clear an alarm. While messages wait, every free request is used at once, so an alarm ends only
        `ALARM_OVER_AFTER` seconds later.
        """
        if is_so:
            if name not in self._reported:
                self._alarms.report(name, what, advice)
            self._reported[name] = None
        elif name in self._reported:
            since = self._reported[name]
            self._reported[name] = since = now if since is None else since
            if now >= since + ALARM_OVER_AFTER:
                self._alarms.clear(name)
                del self._reported[name]


class Delivery:
    """Sends rows of the outbox, each when its time comes, and reports the result of each.

    ``report`` is called from any thread, for each contact in order. It must not call back: a lock is held meanwhile, so
    that delivery is never idle before it has reported. No thread waits for an answer: up to ``most`` messages are in
    flight at a time. Three functions read the store: ``last_inbound`` returns the time of a contact's newest message,
    which opened the window; ``replaced`` that of the last template that went in place of a message; ``opted_out``
    whether the contact wants no campaigns. If the endpoint takes no key, ``claim`` first makes durable that a row is
    about to be sent: after a crash its outcome is unknown, and it is not sent twice. ``repeat_unclear``: a reply
    without a key is repeated once if nobody can tell whether it was sent. ``alarms`` has what keeps messages from being
    sent, ``contact_limiter`` limits what each contact gets.
    """

    def __init__(
        self,
        gateway: Gateway,
        clock: Clock,
        limiter: Limiter,
        report: Callable[[SendResult], None],
        last_inbound: Callable[[str], datetime | None],
        *,
        alarms: Alarms,
        contact_limiter: ContactLimiter,
        replaced: Callable[[str], datetime | None],
        opted_out: Callable[[str], bool],
        claim: Claim,
        most: int = MOST_IN_FLIGHT,
        random: Random | None = None,
        repeat_unclear: bool = False,
    ) -> None:
        self._gateway = gateway
        self._clock = clock
        self._limiter = limiter
        self._contact_limiter = contact_limiter
        self._report = report
        self._sender = Sender(
            gateway, clock, self._ended, last_inbound, replaced, opted_out, claim, random or Random(), repeat_unclear
        )
        self._most = most
        self._lock = threading.Lock()
        self._timekeeper = Timekeeper(clock, self._lock, self._send_all, "delivery")
        self._limit_alarms = LimitAlarms(alarms, limiter)
        self._breakers = CircuitBreakers(alarms, (channel or "" for channel in gateway.channel_ids()))
        self._permits = CommandPermits(self._lock, limiter, self._breakers, clock, self._wake_soon)
        self.share_breakers = self._permits.share_breakers
        self._scheduler = Scheduler(
            clock, limiter, contact_limiter, self._breakers, lambda: self._permits.waiting > 0, self._route
        )
        self._wait_reasons = WaitReasons(clock, limiter, contact_limiter, self._breakers)
        self._in_flight = 0
        self._none_in_flight = threading.Condition(self._lock)
        self._running = False
        self._sending = False  # a thread begins all that can go
        self._attempts: deque[tuple[ContactQueue, SendAttempt]] = deque()  # have ended, and are not reported
        self._will_report = False  # they will be, once all answers that have come are read
        self._closed = False
        self._unstored: dict[int, ContactQueue] = {}  # by their first rows, which have ended

    def start(self) -> None:
        """Begin to send."""
        with self._lock:
            self._running = True
            self._wake_soon()

    def end(self) -> None:
        """Send nothing more."""
        with self._lock:
            self._running = False
            self._timekeeper.end()

    def stop(self, timeout: float) -> None:
        """Send nothing more, and wait for requests in flight. Results that come later are not reported."""
        self.end()
        self._timekeeper.join()
        with self._lock:
            self._none_in_flight.wait_for(lambda: not self._in_flight, timeout)
            for queue in self._scheduler:
                queue.unclear |= queue.in_flight
                # its requests count against the limits of the next run, which repeats what is in flight with a key
                if (queue.in_flight and queue.keyed) or (queue.unreported and not queue.in_flight):
                    again = SendAttempt("retry", "the bot was stopped", wait=0.0)
                    self._report(SendResult.of(queue, again, self._clock.now()))
            self._closed = True
            self._permits.close()

    def offer(self, rows: Sequence[OutboxRow]) -> None:
        """Add rows, in the order of their ids, and send what can go."""
        with self._lock:
            self._scheduler.add(rows)
        self._send_all()
        _yield()  # to the thread that makes the requests: no contact waits for what the caller still has to do

    def permits_came(self) -> None:
        """The limits may allow more than they did: send what can go."""
        self._permits.came()
        self._send_all()

    def ends_stored(self, ids: Set[int]) -> None:
        """The ends of these rows are durable: send the messages that waited behind them."""
        with self._lock:
            waited = [self._unstored.pop(id) for id in ids & self._unstored.keys()]
            for queue in waited:
                self._scheduler.finish(queue)
        if waited:
            self._send_all()

    def use_channels(self, channels: Mapping[str, str]) -> None:
        """Use these channels from now on, also for the messages that wait: see `Gateway.use_channels`."""
        with self._lock:
            self._gateway.use_channels(channels)
            self._breakers.keep(channel or "" for channel in self._gateway.channel_ids())
            self._scheduler.reroute()
        self._send_all()

    def withdraw(self, contact: str) -> None:
        """Forget the messages to a contact whose rows are gone. A message in flight is not tried again."""
        with self._lock:
            self._scheduler.remove_contact(contact)

    def take_back(self, ids: Set[int]) -> Set[int]:
        """Forget the rows that have certainly not been sent, and are not in flight. Returns them."""
        with self._lock:
            return self._scheduler.remove(ids)

    def permit(self, timeout: float) -> AbstractContextManager[Permit]:
        """A permit for a command's own request, once the limits allow it: see `CommandPermits.permit`."""
        return self._permits.permit(timeout)

    def room(self) -> int:
        """How many more rows it can take."""
        with self._lock:
            return self._scheduler.room()

    def accepts(self, rows: Sequence[OutboxRow]) -> list[OutboxRow]:
        """The rows that it accepts now, to be offered next: see `Scheduler.accepts`."""
        with self._lock:
            return self._scheduler.accepts(rows)

    def accepts_again(self) -> bool:
        """True if it would accept some of the rows now that it left out before."""
        with self._lock:
            return self._scheduler.accepts_again()

    def idle(self) -> bool:
        """True when nothing happens until the clock moves (or rows are offered).

        Nothing is in flight, unreported or to be stored, and each row that is left waits for a later time: of its next
        attempt, of the next permit, or of the next probe of what is held.
        """
        with self._lock:
            now = self._clock.elapsed()
            due = self._scheduler.next_sendable(now)
            return not (self._in_flight or self._unstored or self._limiter.drawing) and (due is None or due > now)

    def next_due(self) -> float | None:
        """The time, by `Clock.elapsed`, at which something happens by itself; None if nothing does before an answer or
        new rows come.
        """
        with self._lock:
            return self._scheduler.next_sendable(self._clock.elapsed())

    def status(self) -> DeliveryStatus:
        """How delivery stands."""
        with self._lock:
            left = self._limiter.room(self._clock.elapsed())
            return DeliveryStatus(self._waiting(), self._in_flight, left)

    def waits(self, ids: Set[int]) -> dict[int, WaitReason]:
        """Why these rows wait, as far as they are in memory."""
        with self._lock:
            return self._wait_reasons.of_rows(self._scheduler, ids)

    # Sending

    def _send_all(self) -> float | None:
        """Begin all that can go now, unless a thread does so already. Returns when more can go."""
        with self._lock:
            if self._sending or not self._running:
                return None
            self._sending = True
        try:
            queues, change = self._pop_all()
            while queues:
                self._sender.begin(queues)
                queues, change = self._pop_all()
        except BaseException:
            with self._lock:
                self._sending = False  # the next one who comes begins what can go
            raise
        return change

    def _pop_all(self) -> tuple[list[ContactQueue], float | None]:
        """Take the queues whose first message can go now. If there are none, return when more can go, and let other
        threads send.
        """
        with self._lock:
            now = self._clock.elapsed()
            self._scheduler.update(now)
            queues = []
            while self._running and self._in_flight < self._most and (queue := self._pop(now)) is not None:
                queues.append(queue)
            if queues:
                return queues, None
            self._sending = False
            self._contact_limiter.refresh(now)
            waiting = self._waiting() > 0
            self._limit_alarms.refresh(now, waiting)
            change = self._scheduler.next_change(now) if waiting else None
            if change is not None:
                self._timekeeper.wake_by(change)
            return [], change

    def _ended(self, queue: ContactQueue, attempt: SendAttempt) -> None:
        self._attempts.append((queue, attempt))
        if not self._will_report:
            self._will_report = True
            try:
                self._gateway.after_answers(self._on_attempts)
            except BaseException:
                self._will_report = False  # the next one to end has them all taken
                raise

    def _on_attempts(self) -> None:
        self._will_report = False
        with self._lock:
            while self._attempts:
                self._done(*self._attempts.popleft())
            more = self._waiting() > 0
            # a thread that begins to send may look late
            self._limit_alarms.refresh(self._clock.elapsed(), waiting=more)
        if more:
            self._send_all()

    # With the lock held

    def _wake_soon(self) -> None:
        self._timekeeper.wake_by(self._clock.elapsed())

    def _pop(self, now: float) -> ContactQueue | None:
        taken = self._scheduler.pop(now)
        if taken is None:
            return None
        queue, permit = taken
        breaker = self._breakers[queue.route]
        self._in_flight += 1
        queue.in_flight = True
        fault, times_closed = queue.kept_back
        queue.limited_by_itself = fault if breaker.times_closed > times_closed else ""
        queue.permit, queue.probe = permit, breaker.begin()
        return queue

    def _done(self, queue: ContactQueue, attempt: SendAttempt) -> None:
        """Report the result, count the request, and decide when the queue's next message goes."""
        queue.unreported = attempt.state == "again"
        if not (queue.unreported or self._closed):
            self._report(SendResult.of(queue, attempt, self._clock.now()))
        self._in_flight -= 1
        if not self._in_flight:
            self._none_in_flight.notify_all()
        queue.in_flight = False
        self._limiter.give_back(queue.permit, self._clock, attempt.requested, attempt.rate)
        if self._permits.waiting:
            self._permits.given_back()
        now = self._clock.elapsed()
        if attempt.requested and not attempt.fault:  # what concerns others, too, uses up nobody's share
            self._contact_limiter.count(queue.contact, now)
        if attempt.fault:
            queue.kept_back = attempt.fault, self._breakers[queue.route].times_closed
        self._breakers.record(queue.route, queue.probe, attempt, now, queue.contact)
        if attempt.state in ("retry", "held", "again"):
            self._scheduler.wait(queue, attempt.wait or 0.0)
        elif attempt.must_be_stored and queue.priority != SYNC:
            queue.ended = True
            self._unstored[queue.rows[0].id] = queue
        else:
            self._scheduler.finish(queue)

    def _waiting(self) -> int:
        return len(self._scheduler) - self._in_flight

    def _route(self, row: OutboxRow) -> Route:
        if not isinstance(row.effect, Send):
            return OtherRoute.CONTACTS
        return self._gateway.channel_id(row.channel) or ""
