"""A circuit breaker for each model: after failures for several contacts the model is not asked for a while."""

import threading
from dataclasses import dataclass, field
from datetime import timedelta

from bot.clock import Clock

FAILURES = 3  # of different contacts' questions in a row, until a model is left alone
PAUSE = timedelta(seconds=30)


@dataclass(slots=True)
class _Trouble:
    contacts: set[str] = field(default_factory=set)  # whose questions failed since the last answer, `FAILURES` at most
    until: float | None = None  # by `Clock.elapsed`, the model is left alone until then


class ModelBreaker:
    """Says which models may be asked. Safe to use from many threads.

    However often one contact's questions fail, they count once: nobody can close a model to others alone.
    A probe that never comes back stands in nobody's way: giving it out begins another pause.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._troubles: dict[str, _Trouble] = {}

    def allows(self, model: str) -> bool:
        """Whether the model may be asked now. After a pause one caller may ask, and the others wait until it reports the result."""
        with self._lock:
            trouble = self._troubles.get(model)
            if trouble is None or trouble.until is None:
                return True
            now = self._clock.elapsed()
            if now < trouble.until:
                return False
            trouble.until = now + PAUSE.total_seconds()
            return True

    def failed(self, model: str, contact: str, pause: timedelta | None = None) -> None:
        """The model failed at a contact's question. With ``pause`` it is known to be of no use for so long."""
        with self._lock:
            now = self._clock.elapsed()
            trouble = self._troubles.setdefault(model, _Trouble())
            if len(trouble.contacts) < FAILURES:
                trouble.contacts.add(contact)
            if pause is None and len(trouble.contacts) >= FAILURES:
                pause = PAUSE
            if pause is not None:
                trouble.until = max(now + pause.total_seconds(), trouble.until or 0.0)

    def succeeded(self, model: str) -> None:
        """The model answered."""
        with self._lock:
            self._troubles.pop(model, None)
