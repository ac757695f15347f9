"""What waits its turn: that which may go now, in order, and that whose time comes later."""

import heapq
from collections import deque
from collections.abc import Callable
from itertools import count
from typing import Generic, TypeVar

from bot.clock import to_microseconds

T = TypeVar("T")


class Line(Generic[T]):
    """Items in the order in which they became ready, and by the time at which others do, which is `Clock.elapsed`."""

    def __init__(self) -> None:
        self.ready: deque[T] = deque()
        self._later: list[tuple[float, int, T]] = []
        self._order = count()

    def add(self, item: T, due_at: float, now: float) -> None:
        """Take an item that may go at ``due_at``."""
        if due_at <= now:
            self.ready.append(item)
        else:
            heapq.heappush(self._later, (to_microseconds(due_at), next(self._order), item))

    def drop(self, gone: Callable[[T], bool]) -> None:
        """Forget the items for which ``gone`` is true."""
        self.ready = deque(item for item in self.ready if not gone(item))
        self._later = [entry for entry in self._later if not gone(entry[2])]
        heapq.heapify(self._later)

    def ripen(self, now: float) -> None:
        """What has fallen due is ready."""
        while self._later and self._later[0][0] <= now:
            self.ready.append(heapq.heappop(self._later)[2])

    def due(self) -> float | None:
        """When the first of what waits for its time falls due."""
        return self._later[0][0] if self._later else None
