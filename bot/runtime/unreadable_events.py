"""The alarms of events that cannot be read: one for each kind, with their number, not a log line for each event."""

from collections import Counter
from datetime import timedelta

from bot.core.alarms import Alarms
from bot.core.clock import Clock
from bot.services.gateway.webhook_events import UnknownSender, UnreadableEvent
from bot.store.inbox import LogRow

UNREADABLE, UNKNOWN_SENDERS = "events-unreadable", "unknown-senders"
OVER_AFTER = timedelta(days=1)
"""How long after the last event of its kind an alarm is over."""

_ANSWER_IDS = (
    "ask the gateway's operator for phone numbers in `from`; if the gateway takes such ids as `to`, set BOT_ANSWER_IDS=yes, with a "
    "restart: the bot answers to them then; `bot queue` has the messages"
)


class UnreadableEvents:
    """Counts the events, and registers the alarms among ``alarms``."""

    def __init__(self, alarms: Alarms, clock: Clock) -> None:
        self._alarms = alarms
        self._clock = clock
        self._counts: Counter[tuple[str, str]] = Counter()
        self._until: dict[tuple[str, str], float] = {}

    def count(self, row: LogRow, error: UnreadableEvent) -> None:
        """Another event of the log could not be read."""
        kind = (UNKNOWN_SENDERS, "") if isinstance(error, UnknownSender) else (UNREADABLE, row.name)
        self._counts[kind] += 1
        self._until[kind] = self._clock.elapsed() + OVER_AFTER.total_seconds()
        count = self._counts[kind]
        if isinstance(error, UnknownSender):
            came = "1 message came" if count == 1 else f"{count:,} messages came"
            what = f"{came} from senders who are no phone numbers (user names or business ids): nobody can be answered"
            self._alarms.report(UNKNOWN_SENDERS, what, _ANSWER_IDS)
        else:
            what = f"{count:,} x {row.name} could not be read: {error}"
            advice = (
                f"ask the gateway's operator what these events hold; the last one is {row.event_id} in the store's log"
            )
            self._alarms.report(UNREADABLE, what, advice, row.name)

    def clear_old(self) -> None:
        """Clear the alarms that are over."""
        now = self._clock.elapsed()
        for kind in [kind for kind, until in self._until.items() if until <= now]:
            del self._until[kind], self._counts[kind]
            self._alarms.clear(*kind)
