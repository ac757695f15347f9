"""Idempotency keys: what was answered under each (the specification leaves open what a repeated key returns)."""

from collections import Counter, OrderedDict, deque
from dataclasses import dataclass
from datetime import datetime

from bot.emulator.answers import Answer
from bot.emulator.behaviour import Behaviour

_MOST_KEYS = 200_000
_NEVER_STORED = (401, 429)


@dataclass(frozen=True, slots=True)
class Kept:
    """What is known of a key: its answer, a hash of the body that came with it, and since when."""

    answer: Answer
    content: int
    at: datetime


class Keys:
    """The keys of an account, bounded in number. Not safe for threads by itself: the account's lock is held.

    ``reused`` has the keys that came again with another body, which is a mistake of the client.
    """

    def __init__(self, behaviour: Behaviour, counts: Counter[str]) -> None:
        self._behaviour = behaviour
        self._counts = counts
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self.reused: deque[str] = deque(maxlen=1000)

    def repeated(self, key: str | None, content: int, now: datetime) -> Answer | None:
        """What was answered under this key before; None when the request is to be taken as a new one."""
        if key is None or self._behaviour.repeated_key == "ignored":
            return None
        kept = self._kept.get(key)
        if kept is None:
            return None
        if now - kept.at >= self._behaviour.key_kept:
            del self._kept[key]
            return None
        self._counts["repeated keys"] += 1
        if kept.content != content:
            self.reused.append(key)
        return None if self._behaviour.repeated_key == "new" else kept.answer

    def keep(self, key: str | None, content: int, now: datetime, accepted: Answer | None, shown: Answer) -> None:
        """Remember the answer that ``accepted`` a message; or, where errors are stored, whatever was ``shown``."""
        answer = accepted
        if self._behaviour.repeated_key == "stored_error" and shown.status not in _NEVER_STORED:
            answer = shown
        if key is None or answer is None:
            return
        self._kept.setdefault(key, Kept(answer, content, now))
        if len(self._kept) > _MOST_KEYS:
            self._kept.popitem(last=False)
