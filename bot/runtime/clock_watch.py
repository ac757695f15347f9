"""The engine's answer to a machine whose clock was set: waits keep their length, and a line in the log says so."""

import logging
from datetime import datetime, timedelta

from bot.core.clock import SMALLEST_STEP, Clock, ClockJumps
from bot.store.engine_store import EngineStore
from bot.store.opening import is_shared

_SET_BACK = (
    "no wait gets longer than it was declared, appointments keep their day and hour; let the machine keep time (NTP)"
)
_SET_FORWARD = "what was due meanwhile is done now; let the machine keep time (NTP)"

log = logging.getLogger(__name__)


class ClockWatch:
    """Notices that the clock was set, and brings the times in the store back when it was set back."""

    def __init__(self, store: EngineStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._jumps = ClockJumps(clock)
        self._set_by = timedelta()  # how far the clock was set since the store was brought back to it

    @property
    def is_set(self) -> bool:
        """True if the clock has been set since `correct` was called."""
        return bool(self._set_by or self._jumps.pending())

    def begin(self, now: datetime) -> None:
        """Find out whether the clock was set back while the bot was down."""
        last = self._store.written_at()
        if last is not None and last - now >= SMALLEST_STEP:
            ahead = " (or the clock of another machine is ahead)" if is_shared(self._store.address) else ""
            self._set_back(last - now, f"while the bot was down{ahead}, at least")

    def correct(self) -> None:
        """Bring the store back to the clock, if that was set back. If this fails, the next call does it."""
        self._set_by += self._jumps.take()
        if self._set_by < timedelta():
            self._set_back(-self._set_by, "by")
        elif self._set_by:
            log.warning("the machine's clock was set forward by %s: %s", self._set_by, _SET_FORWARD)
        self._set_by = timedelta()

    def _set_back(self, by: timedelta, how: str) -> None:
        self._store.clock_set_back(self._clock.now(), by)
        log.warning("the machine's clock was set back %s %s: %s", how, by, _SET_BACK)
