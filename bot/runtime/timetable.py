"""When which messages can go: by their own times, by the limits, and by what holds all delivery."""

from collections.abc import Callable
from datetime import datetime

from bot.runtime.holding import Hold
from bot.runtime.lines import Line
from bot.runtime.loans import Loans
from bot.runtime.pacing import Pacing
from bot.runtime.sending import Lane
from bot.store.rows import CAMPAIGN, REPLY, SYNC

PRIORITIES = (REPLY, SYNC, CAMPAIGN)  # the first goes first


class Timetable:
    """Delivery's, under its lock: a line of contacts' lanes for each priority."""

    def __init__(self, pacing: Pacing, hold: Hold, loans: Loans) -> None:
        self._pacing = pacing
        self._hold = hold
        self._loans = loans
        self._lines: dict[int, Line[Lane]] = {priority: Line() for priority in PRIORITIES}

    def add(self, lane: Lane, due_at: datetime, now: datetime) -> None:
        """A lane's first message may go at ``due_at``."""
        self._lines[lane.priority].add(lane, due_at, now)

    def drop(self, gone: Callable[[Lane], bool]) -> None:
        """Forget the lanes of which ``gone`` is true."""
        for line in self._lines.values():
            line.drop(gone)

    def ripen(self, now: datetime) -> None:
        """What has fallen due is ready."""
        for line in self._lines.values():
            line.ripen(now)

    def sendable(self, now: datetime) -> int:
        """How many contacts' messages could go out now."""
        can_go = sum(min(len(self._lines[p].ready), self._pacing.left(now, p)) for p in self._waiting())
        return self._hold.bound(can_go, now)

    def take(self, now: datetime) -> tuple[Lane, int] | None:
        """The next lane whose message can go, and the permit for it."""
        if not self.sendable(now):
            return None
        for priority in self._waiting():
            permit = self._pacing.take(now, priority)
            if permit is not None:
                return self._lines[priority].ready.popleft(), permit
        return None

    def look_at(self, now: datetime) -> datetime | None:
        """The next time at which something new can be done."""
        times = [self._opens_at(priority, now) for priority in self._waiting()]
        times += [line.due() for line in self._lines.values()]
        return min((at for at in times if at is not None and at > now), default=None)

    def next_due(self, now: datetime) -> datetime | None:
        """When something happens by itself; None when nothing will, or not before an answer comes."""
        times = [self._opens_at(priority, now) for priority in self._waiting()]
        for priority, line in self._lines.items():
            due, opens = line.due(), self._opens_at(priority, now)
            times += [max(due, opens)] if due is not None and opens is not None else []
        return min((at for at in times if at is not None), default=None)

    def _waiting(self) -> list[int]:
        """The priorities of which messages could go but for the limits, the first to go first."""
        return [p for p, line in self._lines.items() if line.ready and not (p == CAMPAIGN and self._loans.waiting)]

    def _opens_at(self, priority: int, now: datetime) -> datetime | None:
        """When the next message of a priority may go out; None if that depends on an answer."""
        opens = self._pacing.opens_at(now, priority)
        return None if opens is None else self._hold.opens_at(opens)
