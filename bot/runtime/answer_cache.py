"""What services answered lately, in memory: it is gone with the process, and no promise rests on it."""

import threading
from dataclasses import dataclass

from bot.clock import Clock
from bot.core import codec
from bot.core.effects import HttpRequest
from bot.requester import HttpAnswer

MOST_BYTES = 16 << 20
MOST_ANSWERS = 1000


@dataclass(frozen=True, slots=True)
class _Kept:
    answer: HttpAnswer  # as it came: what is read of it may be twenty times as large
    size: int
    until: float  # by `Clock.elapsed`


class AnswerCache:
    """Answers by the whole request. The oldest are dropped where there are too many. Safe to use from many threads."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: dict[str, _Kept] = {}  # in the order in which they came
        self._size = 0

    def get(self, request: HttpRequest) -> HttpAnswer | None:
        """The answer to the same request, if it is no older than the request allows."""
        if not request.cache:
            return None
        with self._lock:
            kept = self._kept.get(codec.dumps(request))
        return kept.answer if kept is not None and kept.until > self._clock.elapsed() else None

    def put(self, request: HttpRequest, answer: HttpAnswer) -> None:
        """Keep the answer to a request that allows it."""
        if not request.cache:
            return
        name, now = codec.dumps(request), self._clock.elapsed()
        size = len(name) + len(answer.body) + sum(len(key) + len(value) for key, value in answer.headers.items())
        with self._lock:
            for old in [old for old, kept in self._kept.items() if old == name or kept.until <= now]:
                self._drop(old)
            self._kept[name] = _Kept(answer, size, now + request.cache)
            self._size += size
            while self._size > MOST_BYTES or len(self._kept) > MOST_ANSWERS:
                self._drop(next(iter(self._kept)))

    def clear(self) -> None:
        """Forget all: the services may be others now."""
        with self._lock:
            self._kept.clear()
            self._size = 0

    def _drop(self, name: str) -> None:
        self._size -= self._kept.pop(name).size
