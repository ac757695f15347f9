"""Idempotency keys: what was answered under each (the specification leaves open what a repeated key returns)."""

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.emulator.answers import Answer

_MOST_KEYS = 200_000


@dataclass(frozen=True, slots=True)
class Kept:
    """What is known of a key."""

    answer: Answer
    request: int  # a hash of the body that came with it
    at: datetime


class Keys:
    """The keys of an account, bounded in number. Not safe for threads by itself: the account's lock is held."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Kept] = OrderedDict()

    def find(self, key: str, now: datetime, kept_for: timedelta) -> Kept | None:
        """What a key was answered, if it is remembered still."""
        kept = self._kept.get(key)
        if kept is not None and now - kept.at >= kept_for:
            del self._kept[key]
            return None
        return kept

    def keep(self, key: str, kept: Kept) -> None:
        """Remember a key; what was kept first stays."""
        self._kept.setdefault(key, kept)
        if len(self._kept) > _MOST_KEYS:
            self._kept.popitem(last=False)
