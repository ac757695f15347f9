"""The alarm of messages from senders who are no phone numbers: one with a count, not a line in the log for each message."""

from datetime import timedelta

from bot.alarms import Alarms
from bot.clock import Clock

ALARM = "unknown-senders"
OVER_AFTER = timedelta(days=1)
"""How long after the last such message the alarm is over."""

_ADVICE = (
    "ask the gateway's operator for phone numbers in `from`; if the gateway takes such ids as `to`, set BOT_ANSWER_IDS=yes, with a "
    "restart: the bot answers to them then; `bot queue` has the messages"
)


class UnknownSenders:
    """Counts the messages, and registers the alarm among ``alarms``."""

    def __init__(self, alarms: Alarms, clock: Clock) -> None:
        self._alarms = alarms
        self._clock = clock
        self._count = 0
        self._last = 0.0

    def note(self) -> None:
        """A message came whose sender is no phone number."""
        self._count += 1
        self._last = self._clock.elapsed()
        came = "1 message came" if self._count == 1 else f"{self._count:,} messages came"
        what = f"{came} from senders who are no phone numbers (user names or business ids): nobody can be answered"
        self._alarms.report(ALARM, what, _ADVICE)

    def look(self) -> None:
        """End the alarm when no such message has come for a day."""
        if self._count and self._clock.elapsed() >= self._last + OVER_AFTER.total_seconds():
            self._count = 0
            self._alarms.clear(ALARM)
