"""Why all delivery stands still, if it does, and when one message is tried to see whether it still has to."""

from datetime import datetime, timedelta

from bot.alarms import Alarms
from bot.runtime.sending import Outcome

FIRST_PROBE = timedelta(minutes=1)
LONGEST_PROBE = timedelta(minutes=5)
ALARM = "delivery-held"


class Hold:
    """Delivery's, under its lock. ``words`` say what is wrong and what to do; None when nothing is held."""

    def __init__(self, alarms: Alarms) -> None:
        self._alarms = alarms
        self.words: str | None = None
        self._probe_at = datetime.min
        self._pause = FIRST_PROBE
        self._probing = False

    def bound(self, messages: int, now: datetime) -> int:
        """How many of so many messages may go now."""
        if self.words is None:
            return messages
        return 0 if self._probing or now < self._probe_at else min(messages, 1)

    def opens_at(self, opens: datetime) -> datetime | None:
        """When a message may go that otherwise may at ``opens``; None if that depends on the probe's answer."""
        if self.words is None:
            return opens
        return None if self._probing else max(opens, self._probe_at)

    def begin(self) -> bool:
        """A message is tried. True when it is the probe."""
        self._probing = self.words is not None
        return self._probing

    def judge(self, probe: bool, outcome: Outcome, now: datetime) -> None:
        """A message was tried: what that says."""
        if outcome.state == "held":
            if self.words is None:
                self._alarms.report(ALARM, "nothing can be sent until this is put right", outcome.advice)
                self._again(outcome.detail, FIRST_PROBE, now)
            elif probe:
                self._again(outcome.detail, min(2 * self._pause, LONGEST_PROBE), now)
        elif self.words is not None and probe:
            if outcome.requested and outcome.state not in ("retry", "unknown"):
                self.words = None
                self._alarms.clear(ALARM)
            elif outcome.requested or outcome.state == "retry":
                self._again(self.words, self._pause, now)
            else:
                self._probing = False  # it needed no request, so it says nothing

    def _again(self, words: str, pause: timedelta, now: datetime) -> None:
        self.words, self._pause, self._probe_at, self._probing = words, pause, now + pause, False
