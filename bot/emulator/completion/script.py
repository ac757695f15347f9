"""The script: what comes next at each endpoint, and what is said when nothing is queued."""

import threading
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

from bot.emulator.completion.answers import Answer, Failure, Raw, Silence
from bot.emulator.completion.requests import FIELDS, asked

Item = Answer | Failure | Raw | Silence
Speaker = Callable[[dict[str, Any]], Item | str]

CHATS = ("chat/completions", "plugin/chat")
_QUOTED = 200


def echo(request: dict[str, Any]) -> str:
    """The answer when nothing else is said."""
    return f"You asked: {asked(request)[:_QUOTED]}"


class Script:
    """Safe for threads. ``speaker`` answers a chat for which nothing is queued."""

    def __init__(self) -> None:
        self.speaker: Speaker = echo
        self._lock = threading.Lock()
        self._queued: defaultdict[str, deque[Item]] = defaultdict(deque)

    def queue(self, endpoint: str, item: Item) -> None:
        """Put something at the end. Raises `ValueError` where an endpoint has no such answer."""
        allowed = CHATS if isinstance(item, Answer) else tuple(FIELDS)
        if endpoint not in allowed:
            raise ValueError(f"{endpoint!r} is none of {', '.join(allowed)}")
        with self._lock:
            self._queued[endpoint].append(item)

    def next(self, endpoint: str, request: dict[str, Any]) -> Item | None:
        """What was queued first; else what is said to a chat, on the thread that answers it; else None."""
        with self._lock:
            if self._queued[endpoint]:
                return self._queued[endpoint].popleft()
        if endpoint not in CHATS:
            return None
        said = self.speaker(request)
        return Answer(said) if isinstance(said, str) else said

    @property
    def left(self) -> int:
        """How many items are still queued."""
        with self._lock:
            return sum(map(len, self._queued.values()))
