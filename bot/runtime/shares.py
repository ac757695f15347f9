"""The share that one contact may have of the gateway's requests, so that nobody spends everybody's (decisions: "Limits")."""

from collections import deque
from collections.abc import Iterable

from bot.alarms import Alarms

MINUTE = 60.0
DAY = 86_400.0
LEAST_A_DAY = 40
LEAST_A_MINUTE = 5
_LOOK_EVERY = 60.0


def share_of(per_day: int) -> int:
    """How many requests a day one contact gets where nothing is set: 2 % of all, but at least `LEAST_A_DAY`."""
    return max(per_day // 50, min(per_day, LEAST_A_DAY))


class Shares:
    """Counts the requests for each contact. Times are those of `bot.clock.Clock.elapsed`; not safe for threads by itself.

    Of each minute a contact gets a third. ``recent`` are the requests before a restart: when, for whom, and how many.
    ``alarms`` registers that contacts have used up their share of the day.
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
        self._minute = _Share(max(per_minute // 3, min(per_minute, LEAST_A_MINUTE)), MINUTE, 1.0)
        self._day = _Share(self.a_day, DAY, 900.0)
        self._over: dict[str, bool] = {}  # contacts whose share of the day is used up; whether a message was given up
        self._look_at = 0.0
        for at, contact, requests in sorted(recent):
            self.count(contact, at, requests)

    def count(self, contact: str, now: float, requests: int = 1) -> None:
        """Requests for a contact have ended."""
        self._minute.count(contact, now, requests)
        self._day.count(contact, now, requests)

    def opens_at(self, contact: str, now: float) -> float:
        """When the next message to a contact may go: ``now`` unless its share is used up."""
        opens = self._day.opens_at(contact, now)
        if opens > now and contact not in self._over:
            self._over[contact] = False
            self._tell()
        return max(opens, self._minute.opens_at(contact, now))

    def give_up(self, contact: str) -> bool:
        """A message to a contact goes no more, since its share is used up. True for the first one."""
        known, self._over[contact] = self._over.get(contact, False), True
        return not known

    def look(self, now: float) -> None:
        """Take back the alarm where contacts have a share again."""
        if self._over and now >= self._look_at:
            self._look_at = now + _LOOK_EVERY
            for contact in [each for each in self._over if self._day.opens_at(each, now) <= now]:
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


class _Share:
    """How many requests of each contact ended within the last ``span`` seconds, counted in slots of ``step`` seconds."""

    def __init__(self, limit: int, span: float, step: float) -> None:
        self._limit = limit
        self._span = span
        self._step = step
        self._slots: deque[tuple[int, dict[str, int]]] = deque()
        self._totals: dict[str, int] = {}

    def count(self, contact: str, at: float, requests: int) -> None:
        slot = int(at // self._step)
        if not self._slots or slot > self._slots[-1][0]:
            self._expire(at)
            self._slots.append((slot, {}))
        counts = self._slots[-1][1]
        counts[contact] = counts.get(contact, 0) + requests
        self._totals[contact] = self._totals.get(contact, 0) + requests

    def opens_at(self, contact: str, now: float) -> float:
        if self._totals.get(contact, 0) < self._limit:
            return now
        self._expire(now)
        missing = self._totals.get(contact, 0) + 1 - self._limit
        for slot, counts in self._slots if missing > 0 else ():
            missing -= counts.get(contact, 0)
            if missing <= 0:
                return self._ends(slot)
        return now

    def _expire(self, now: float) -> None:
        while self._slots and self._ends(self._slots[0][0]) <= now:
            for contact, requests in self._slots.popleft()[1].items():
                self._totals[contact] -= requests
                if not self._totals[contact]:
                    del self._totals[contact]

    def _ends(self, slot: int) -> float:
        """When what was counted in a slot counts no more."""
        return (slot + 1) * self._step + self._span
