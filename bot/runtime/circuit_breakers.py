"""Circuit breakers: what keeps a channel, or all that is sent, from the gateway, and when one request finds out whether it still does.

Each route has one. The gateway looks at a request's key first, then at its limits, then at its channel: what it
refuses for one of these shows that those before are right.
"""

from collections.abc import Iterable
from math import inf

from bot.alarms import Alarms
from bot.clock import to_microseconds
from bot.runtime.sending import ACCOUNT, CHANNEL, LIMITS, OtherRoute, Route, SendAttempt, name_of

FIRST_PROBE = 60.0  # seconds
LONGEST_PROBE = 300.0
MINUTE = 60.0
LONGEST_LIMIT = 900.0
"""Seconds between two looks at whether the gateway's limits still hold, however long it says that they will."""


class CircuitBreaker:
    """Closed, everything goes; open, nothing does until ``probe_at``, and then one request, the probe, finds out.

    Times are of `bot.clock.Clock.elapsed`.
    """

    def __init__(self, route: Route) -> None:
        self.route = route
        self.reason = ""  # what it is open for; empty: it is closed
        self.detail = ""  # the gateway's words
        self.probe_at = 0.0
        self.times_closed = 0
        self._since = inf  # the first refusal of its own for this reason
        self._pause = 0.0
        self._probing = False

    def allowed(self, requests: int, now: float) -> int:
        """How many of so many requests may go now."""
        if not self.reason:
            return requests
        return 0 if self._probing or now < self.probe_at else min(requests, 1)

    def free_at(self, opens: float) -> float | None:
        """When a request may go that otherwise may at ``opens``; None if that depends on the probe's answer."""
        if not self.reason:
            return opens
        return None if self._probing else max(opens, self.probe_at)

    def begin(self) -> bool:
        """A request goes. True when it is the probe."""
        self._probing = bool(self.reason)
        return self._probing

    def open(self, reason: str, pause: float, detail: str, now: float) -> None:
        """Let nothing go for ``pause`` seconds, and then a probe."""
        if self.reason != reason:
            self._since = inf
        self.reason, self.detail, self._pause, self._probing = reason, detail, pause, False
        self.probe_at = to_microseconds(now + pause)

    def wait_again(self, now: float) -> None:
        """The probe has shown nothing."""
        self.open(self.reason, self._pause, self.detail, now)

    def probe_next(self) -> None:
        """What was to be the probe has shown nothing, and was refused or dropped for itself: the next one can be it."""
        self._probing = False

    def close(self) -> None:
        """Let everything go."""
        self.reason, self._probing = "", False
        self.times_closed += 1

    def next_pause(self, fault: str, outcome: SendAttempt) -> float:
        """How long to wait after such a refusal: longer each time that it is repeated."""
        before = self._pause if fault == self.reason else 0.0
        if fault != LIMITS:
            return min(2 * before, LONGEST_PROBE) if before else FIRST_PROBE
        return limits_pause(outcome.retry_after, before)

    def why(self) -> str:
        """Why nothing goes, in words that end before the time at which one request finds out."""
        if self.reason == ACCOUNT:
            return "the API key is refused, so nothing can be sent; one message is tried"
        if self.reason == CHANNEL:
            return f"{name_of(self.route)} is unknown or inactive; one message is tried"
        return "the gateway refuses requests for its limits; one is tried"

    def refused_for(self, now: float) -> float:
        """One more of its own requests is refused for the same reason: seconds since the first one."""
        self._since = min(self._since, now)
        return now - self._since


def limits_pause(said: float | None, before: float) -> float:
    """How many seconds to wait after a refusal for the limits. ``said`` is its ``Retry-After``, ``before`` the last pause.

    A wait of up to a minute, the gateway's window, is kept. A longer one is looked at after a minute, and then at
    pauses that double, up to `LONGEST_LIMIT`: it may be a mistake. Without one, the pauses double from a second to a minute.
    """
    least = min(said or 1.0, MINUTE)
    most = min(max(said or 0.0, MINUTE), LONGEST_LIMIT)
    return min(max(least, 2 * before), most)


class CircuitBreakers:
    """Delivery's, under its lock: a breaker for each route, and the alarms of those that are open."""

    def __init__(self, alarms: Alarms, channels: Iterable[str] = ()) -> None:
        self._alarms = alarms
        self._routes: dict[Route, CircuitBreaker] = {route: CircuitBreaker(route) for route in (*channels, *OtherRoute)}

    def __getitem__(self, route: Route) -> CircuitBreaker:
        breaker = self._routes.get(route)
        if breaker is None:
            breaker = self._routes[route] = CircuitBreaker(route)
        return breaker

    def keep(self, channels: Iterable[str]) -> None:
        """The channels are these from now on: what has kept another one from the gateway is over."""
        kept = {*channels, *OtherRoute}
        for breaker in self._routes.values():
            if breaker.route not in kept and breaker.reason in (CHANNEL, LIMITS):
                self._close(breaker)

    def judge(self, route: Route, probe: bool, outcome: SendAttempt, now: float) -> None:
        """A request has ended: what that says of its route, and of the others."""
        breaker, fault = self[route], outcome.fault
        if probe != bool(breaker.reason):
            return  # it was under way when the breaker was opened, or closed by what another route has shown
        if not fault:
            if probe:
                self._answered(breaker, outcome, now)
        elif fault == LIMITS and breaker.reason == CHANNEL:
            breaker.wait_again(now)
        else:
            self._refused(breaker, outcome, now)

    def _answered(self, breaker: CircuitBreaker, outcome: SendAttempt, now: float) -> None:
        """The probe has come back, without a fault that concerns others."""
        if outcome.state in ("retry", "unknown"):
            breaker.wait_again(now)
        elif not outcome.requested or (breaker.reason == CHANNEL and outcome.state not in ("sent", "replaced")):
            breaker.probe_next()
        else:
            self._close(breaker)

    def _refused(self, breaker: CircuitBreaker, outcome: SendAttempt, now: float) -> None:
        fault, again = outcome.fault, outcome.fault == breaker.reason
        pause = breaker.next_pause(fault, outcome)
        if breaker.reason and not again:
            self._close(breaker)
        for each in [breaker] if again or fault == CHANNEL else self._concerned(fault):
            each.open(fault, pause, outcome.detail, now)
        if fault == ACCOUNT:
            self._alarms.report("delivery-held", "nothing can be sent until this is put right", outcome.advice)
        elif fault == CHANNEL:
            what = f"{name_of(breaker.route)} is unknown or inactive: its messages wait, those of other channels go on"
            self._alarms.report("channel-held", what, outcome.advice, _about(breaker.route))
        elif breaker.refused_for(now) >= MINUTE:
            what = f"the gateway has refused {name_of(breaker.route)} for its limits for more than a minute"
            self._alarms.report("rate-limited", what, outcome.advice, _about(breaker.route))

    def _concerned(self, fault: str) -> list[CircuitBreaker]:
        """The routes that are closed, of all that a fault concerns: a command is to hear for itself that the key is wrong."""
        exempt = OtherRoute.COMMANDS if fault == ACCOUNT else None
        return [each for each in self._routes.values() if not each.reason and each.route is not exempt]

    def _close(self, breaker: CircuitBreaker) -> None:
        reason = breaker.reason
        breaker.close()
        if reason == ACCOUNT:
            for each in self._routes.values():
                if each.reason == ACCOUNT:
                    each.close()
            self._alarms.clear("delivery-held")
        else:
            self._alarms.clear("channel-held" if reason == CHANNEL else "rate-limited", _about(breaker.route))


def _about(route: Route) -> str:
    return route.value if isinstance(route, OtherRoute) else route
