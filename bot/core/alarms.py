"""Alarms: what is not sent or not taken right now, why, and what to do about it.

One register in each process of a bot. The log, ``/readyz``, ``/metrics``, `bot doctor` and `bot queue` all show it.
"""

import logging
import threading
from dataclasses import asdict
from datetime import datetime

from bot.core.clock import Clock
from bot.core.defects import HANDLER, Defect
from bot.core.immutable import immutable

log = logging.getLogger("bot.core.alarms")


@immutable
class Alarm:
    """One state in which something is not sent or not taken.

    ``name`` is its kind, the same in every version (``channel-unknown``); ``about`` says which channel, broadcast or
    service it concerns, and is empty where there is only one. ``what`` and ``advice`` are for the operator and may
    stand in a log: no phone number, no secret, no text of a message.
    """

    name: str
    about: str
    what: str
    advice: str
    since: datetime

    def as_json(self) -> dict[str, str]:
        """The alarm for the answer to a request."""
        return asdict(self) | {"since": self.since.isoformat()}


class Alarms:
    """The alarms of a process. Safe to use from many threads; it takes no other lock while it holds its own."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._current: dict[tuple[str, str], Alarm] = {}

    def report(self, name: str, what: str, advice: str, about: str = "") -> None:
        """Something is wrong. It is logged when it begins; until `clear` the same again only updates its words."""
        with self._lock:
            known = self._current.get((name, about))
            since = self._clock.now() if known is None else known.since
            self._current[name, about] = Alarm(name, about, what, advice, since)
        if known is None:
            log.error("%s (%s)", what, advice)

    def clear(self, name: str, about: str = "") -> None:
        """End an alarm, and log that once. Nothing happens if there is no such alarm."""
        with self._lock:
            known = self._current.pop((name, about), None)
        if known is not None:
            log.warning("over: %s", known.what)

    def current(self) -> list[Alarm]:
        """The alarms, the oldest first. The last defect of any process is one of them for an hour."""
        with self._lock:
            found = [*self._current.values()]
        if (defect := HANDLER.last()) is not None:
            found.append(_of_defect(defect))
        return sorted(found, key=lambda alarm: alarm.since)


def _of_defect(defect: Defect) -> Alarm:
    what = f'a defect in the {defect.process} process, in "{defect.thread}", {defect.place} ({defect.times} so far)'
    advice = "what it ended was started again, and nothing is lost: please report it"
    return Alarm("defect", "", what, advice, defect.at)
