"""The limits of requests: the gateway's for all endpoints together (spec: Limits), and each contact's share of them.

Pure state with the time as an argument, which is `bot.core.clock.Clock.elapsed`; not safe for threads by itself.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from math import inf
from typing import Any

from bot.core.alarms import Alarms
from bot.core.clock import Clock
from bot.core.immutable import mutable
from bot.services.gateway.gateway_answers import UNSAID, Rate
from bot.store.rows import REPLY

MINUTE = 60.0
DAY = 86_400.0
RESERVE = 10
_STEP = 0.125  # seconds: the smallest unit in which a minute is counted
_HEADERS_HOLD = MINUTE
_FIRST_SECONDS = 5.0  # seconds for which other requests wait for the answer to the first one after a crash


class RateLimiter:
    """Gives out permits for requests, within two sliding windows: a minute, and a day.

    A request counts from its permit until a minute (a day) after its answer. The gateway counts it somewhere in
    between, so its window cannot overflow either. If every 24 hours are within the limit, so is the calendar day.

    Messages that are no replies leave ``reserve`` requests of each minute, and the same share of each day, to
    replies. They are spread evenly, because after a burst no request would be free for a minute. So a reply hardly
    ever waits.

    The gateway's headers can lower these limits, never raise them: ``X-RateLimit-Limit`` holds until an answer says
    another one, so that the first requests after a reset are not too many either. ``recent`` are the requests before a
    restart: when (this may be below 0), and how many. ``crashed``: there may have been other requests in progress. Then
    the first request goes alone, and its answer says how many are left.
    """

    works = True
    """True if there will be permits again."""

    drawing = False
    """True if permits may come at any moment, although nothing is answered and no time passes."""

    def __init__(
        self,
        per_minute: int,
        per_day: int,
        recent: Iterable[tuple[float, int]] = (),
        *,
        crashed: bool = False,
        reserve: int = RESERVE,
    ) -> None:
        self.per_day = per_day
        self._per_minute = per_minute
        self._reserve_at_most = reserve
        self._minute, self._day = _SlidingWindow(per_minute, MINUTE, _STEP), _SlidingWindow(per_day, DAY, 60.0)
        self._windows: tuple[tuple[_SlidingWindow, int], ...] = ()
        self._limit_to(per_minute)
        self._next: float | None = None  # when the next request that is no reply may go, rounded to a step
        self._in_flight = 0
        self._given = 0  # permits so far: a permit's number is its place among them
        self._spread = 0  # those of them that were for no replies
        self._said: _ReportedLimit | None = None
        self._disproved = False  # whether the word that none are left was wrong
        self._none_since: float | None = None
        self._none_for = 0.0
        self._first_until: float | None = -inf if crashed else None  # None: the first request need not go alone
        for at, count in sorted(recent):
            self._count(at, count)

    def start(self, share: Callable[[dict[str, Any], float], None], come: Callable[[], None]) -> None:
        """Do nothing: it has all permits itself. See `bot.runtime.shared_limiter.SharedLimiter.start`."""

    def stop(self) -> None:
        """Do nothing."""

    def acquire(self, now: float, priority: int = REPLY, wanted: int = 1) -> int | None:
        """A permit for one of the ``wanted`` requests, or None if no permit is free. `give_back` returns it."""
        if self.free_at(now, priority) != now:
            return None
        if priority != REPLY:
            self._spread += 1
            last, self._next = self._next, now + self._gap
            if last is not None and now < last + self._gap:  # a little early and a little late cancel out
                self._next = last + self._gap
        if self._first_until is not None:
            self._first_until = now + _FIRST_SECONDS
        self._in_flight += 1
        self._given += 1
        return self._given

    def give_back(self, permit: int, clock: Clock, requested: bool, rate: Rate | None) -> None:
        """Take a permit back, with what the answer said about limits if there was a request."""
        if requested:
            said = rate or UNSAID
            resets_in = None if said.resets_at is None else said.resets_in(clock.now())
            if said.limit is not None:
                self._limit_to(said.limit)
            self.ended(permit, clock.elapsed(), said.remaining, resets_in)
        else:
            self.unused(permit)

    def ended(self, permit: int, now: float, remaining: int | None = None, resets_in: float | None = None) -> None:
        """The permit's request was answered, or failed. The answer may say how many requests are left, and in how
        many seconds there are all again. Without that, or if it cannot be true because a clock is wrong, a minute is
        taken.

        An answer that no requests are left, without a time, is believed once. If the next answer a minute later says so
        again, it is ignored: if it is true, the gateway will refuse the request.
        """
        self._in_flight -= 1
        self._first_until = None
        self._count(now)
        if remaining is not None and (self._said is None or self._said.permit < permit):
            hold = resets_in if resets_in is not None and 0 < resets_in <= _HEADERS_HOLD else None
            if remaining or hold is not None:
                self._disproved = False
            elif self._said is not None and not self._said.remaining and permit > self._said.given:
                self._disproved = True
            self._said = _ReportedLimit(
                permit, remaining, now if self._disproved else now + (hold or _HEADERS_HOLD), self._given
            )
            if remaining or self._disproved:
                self._none_since = None
            elif self._none_since is None:
                self._none_since = now
            self._none_for = 0.0 if self._none_since is None else now - self._none_since

    def unused(self, permit: int) -> None:
        """The permit's request was not sent: it does not count."""
        self._in_flight -= 1
        if self._first_until is not None:
            self._first_until = -inf

    def free_at(self, now: float, priority: int = REPLY) -> float | None:
        """When the next permit is free: ``now`` if one is; None if that depends on a request in progress."""
        others = priority != REPLY
        free = max(now, self._next - _STEP) if others and self._next is not None else now
        said, needed = self._said, self._in_flight + 1
        if said is not None and said.until > free and said.left(self._given) <= (self._reserve if others else 0):
            free = said.until
        if self._first_until is not None:
            free = max(free, self._first_until)
        for window, kept in self._windows:
            fits_at = window.free_at(now, "", needed + kept if others else needed)
            if fits_at > free:
                free = fits_at
        return free if free < inf else None

    def room(self, now: float) -> dict[str, int]:
        """How many requests each window has left for replies: ``minute`` and ``day``."""
        windows = {"minute": self._minute, "day": self._day}
        return {name: max(window.left(now) - self._in_flight, 0) for name, window in windows.items()}

    def day_used_up(self, now: float) -> bool:
        """True if no request of the day is left, not even for replies."""
        return self._day.left(now) <= self._in_flight

    def said_none_for(self, now: float) -> float:
        """For how many seconds all answers have said that no requests are left; 0 if no request waits for that now."""
        return self._none_for if self._said is not None and self._said.until > now else 0.0

    # Knowledge that several engines share: `bot.runtime.shared_limiter`

    @property
    def in_flight(self) -> int:
        """How many permits are given out, also elsewhere."""
        return self._in_flight

    def common(self, offset: float) -> dict[str, Any]:
        """The state that other engines need beside the windows. Its times are later by ``offset``."""
        said, since = self._said, self._none_since
        return {
            "given": self._given,
            "limit": self._minute.limit,
            "next": [self._spread, None if self._next is None else self._next + offset],
            "said": said and [said.permit, said.remaining, said.until + offset, said.given],
            "doubts": [self._disproved, None if since is None else since + offset],
        }

    def learn(self, common: Mapping[str, Any], offset: float, now: float) -> None:
        """Take over what other engines know. Their clocks may be wrong, so a time counts as no later than the latest
        that this engine itself could have noted now.
        """
        self._given = common["given"]
        self._limit_to(common["limit"])
        spread, at = common["next"]
        if spread != self._spread:
            self._spread, self._next = spread, min(at - offset, now + self._gap + _STEP)
        if common["said"] and (self._said is None or self._said.permit < common["said"][0]):
            permit, remaining, until, given = common["said"]
            self._said = _ReportedLimit(permit, remaining, min(until - offset, now + _HEADERS_HOLD), given)
            self._disproved, since = common["doubts"]
            self._none_since = None if since is None else min(since - offset, now)
            self._none_for = 0.0 if self._none_since is None else now - self._none_since

    def elsewhere(self, now: float, ended: int, in_flight: int) -> None:
        """Count the requests of others: so many have ended since the last call, and so many more, or fewer, are in
        flight.
        """
        self._in_flight += in_flight
        if ended:
            self._count(now, ended)

    def spare(self, now: float) -> int:
        """How many requests the minute and the gateway's word leave for replies."""
        left, said = self.room(now)["minute"], self._said
        return left if said is None or said.until <= now else min(left, said.left(self._given))

    def _limit_to(self, limit: int) -> None:
        """Take so many requests a minute from now on, or as many as the settings allow."""
        limit = min(limit, self._per_minute)
        if limit != self._minute.limit or not self._windows:
            self._minute.limit = limit
            self._reserve = min(self._reserve_at_most, limit // 2)
            self._gap = MINUTE / (limit - self._reserve)
            self._windows = (self._minute, self._reserve), (self._day, _of_day(limit, self.per_day, self._reserve))

    def _count(self, at: float, requests: int = 1) -> None:
        for window, _ in self._windows:
            window.count(at, requests)


def campaign_time(messages: int, per_minute: int, per_day: int) -> timedelta:
    """The least time that so many messages of a campaign take, on a day with no requests so far."""
    reserve = min(RESERVE, per_minute // 2)
    a_day = min(per_day - _of_day(per_minute, per_day, reserve), int((per_minute - reserve) * DAY / MINUTE))
    days, rest = divmod(messages, max(a_day, 1))
    return timedelta(days=days, minutes=rest / (per_minute - reserve))


def _of_day(per_minute: int, per_day: int, reserve: int) -> int:
    return per_day * reserve // per_minute


@mutable
class _ReportedLimit:
    """By the gateway's word, ``remaining`` requests were left when it answered the one with this permit.

    The answer to the newest permit counts. Permits given out since then are not in its number.
    """

    permit: int
    remaining: int
    until: float
    given: int  # how many permits had been given out by then

    def left(self, given: int) -> int:
        return max(self.remaining - (given - self.permit), 0)


class _SlidingWindow:
    """How many requests ended within the last ``span`` seconds, counted in slots of ``step`` seconds; for each contact,
    or for all.

    A slot leaves the window when its end does, so the count is never too low, and the memory has a bound.
    """

    def __init__(self, limit: int, span: float, step: float) -> None:
        self.limit = limit
        self._span = span
        self._step = step
        self._slots: deque[tuple[int, dict[str, int]]] = deque()  # number of the slot, requests by contact
        self._totals: dict[str, int] = {}
        self._slot_ends = -inf  # when the next slot begins
        self._expires_at = inf  # when the first slot leaves the window

    def count(self, at: float, requests: int = 1, contact: str = "") -> None:
        """Requests have ended."""
        slots, totals = self._slots, self._totals
        if at >= self._slot_ends or not slots:
            slot = int(at // self._step)
            self._slot_ends = (slot + 1) * self._step
            self._expire(at)
            slots.append((slot, {}))
            self._expires_at = self._leaves(slots[0][0])
        counts = slots[-1][1]
        counts[contact] = counts.get(contact, 0) + requests
        totals[contact] = totals.get(contact, 0) + requests

    def left(self, now: float, contact: str = "") -> int:
        """How many more requests fit now, with none in flight."""
        if now >= self._expires_at:
            self._expire(now)
        return self.limit - self._totals.get(contact, 0)

    def free_at(self, now: float, contact: str = "", requests: int = 1) -> float:
        """When so many more requests fit: ``now`` if they do; `inf` if not even when all that were counted have left
        the window.
        """
        if self.limit - self._totals.get(contact, 0) >= requests:
            return now
        missing = requests - self.left(now, contact)
        if missing <= 0:
            return now
        for slot, counts in self._slots:
            missing -= counts.get(contact, 0)
            if missing <= 0:
                return self._leaves(slot)
        return inf

    def _expire(self, now: float) -> None:
        while self._slots and self._leaves(self._slots[0][0]) <= now:
            for contact, requests in self._slots.popleft()[1].items():
                self._totals[contact] -= requests
                if not self._totals[contact]:
                    del self._totals[contact]
        self._expires_at = self._leaves(self._slots[0][0]) if self._slots else inf

    def _leaves(self, slot: int) -> float:
        """When what was counted in a slot leaves the window."""
        return (slot + 1) * self._step + self._span


LEAST_A_DAY = 40
LEAST_A_MINUTE = 5
_LOOK_EVERY = 60.0


def share_of(per_day: int) -> int:
    """How many requests a day one contact gets by default: 2 % of all, but at least `LEAST_A_DAY`."""
    return max(per_day // 50, min(per_day, LEAST_A_DAY))


class ContactLimiter:
    """Limits the requests for each contact, so that nobody spends everybody's (decisions: "Limits").

    A contact may use a third of each minute. ``recent`` are the requests before a restart: when, for whom, and how
    many. ``alarms`` registers that contacts have used up their share of the day.
    """

    def __init__(
        self,
        alarms: Alarms,
        per_minute: int,
        per_day: int,
        per_contact: int | None = None,
        recent: Iterable[tuple[float, str, int]] = (),
    ) -> None:
        self.a_day = per_contact or share_of(per_day)
        self._alarms = alarms
        self._minute = _SlidingWindow(max(per_minute // 3, min(per_minute, LEAST_A_MINUTE)), MINUTE, 1.0)
        self._day = _SlidingWindow(self.a_day, DAY, 900.0)
        self._over: dict[str, bool] = {}  # contacts whose share of the day is used up; whether a message was given up
        self._look_at = 0.0
        for at, contact, requests in sorted(recent):
            self.count(contact, at, requests)

    def count(self, contact: str, now: float, requests: int = 1) -> None:
        """Count requests that have ended for a contact. Requests for no particular contact are not counted."""
        if not contact:
            return
        self._minute.count(now, requests, contact)
        self._day.count(now, requests, contact)

    def free_at(self, contact: str, now: float) -> float:
        """When the next message to a contact may go: ``now`` unless its share is used up."""
        free = self._day.free_at(now, contact)
        if free > now and contact not in self._over:
            self._over[contact] = False
            self._tell()
        return max(free, self._minute.free_at(now, contact))

    def give_up(self, contact: str) -> bool:
        """A message is given up because its contact's share is used up. Returns whether it is the contact's
        first one.
        """
        known, self._over[contact] = self._over.get(contact, False), True
        return not known

    def refresh(self, now: float) -> None:
        """Clear the alarm, or lower its count, when contacts have a share again."""
        if self._over and now >= self._look_at:
            self._look_at = now + _LOOK_EVERY
            for contact in [each for each in self._over if self._day.free_at(now, each) <= now]:
                del self._over[contact]
            self._tell()

    def _tell(self) -> None:
        if not self._over:
            self._alarms.clear("contact-limit")
            return
        count = len(self._over)
        whose = "1 contact has used up its" if count == 1 else f"{count} contacts have used up their"
        self._alarms.report(
            "contact-limit",
            f"{whose} share of the day, {self.a_day} requests: no more is sent to them until some are free again",
            "`bot queue` names them; raise BOT_GATEWAY_PER_CONTACT if they are no flood",
        )
