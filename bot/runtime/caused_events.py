"""The events that a turn causes at other contacts: starts and signals. Limits keep them from going on for ever."""

from collections import deque
from collections.abc import Callable

from bot.core.effects import EmitEvent
from bot.core.events import CallEnded, Event, Forwarded, SharedRunRequested
from bot.core.turn import Turn

MOST_HOPS, MOST_CAUSED = 10, 1000
"""How far starts and signals lead from contact to contact, and how many of them follow one event."""


class CausedEvents:
    """A queue of the events that have followed one event so far, and are still to be taken in the same commit.

    ``shard_elsewhere`` returns the shard of a contact, or None if it is this one.
    """

    def __init__(self, shard_elsewhere: Callable[[str], int | None]) -> None:
        self._shard_elsewhere = shard_elsewhere
        self._queue: deque[tuple[Event, int]] = deque()  # with how many events led there
        self._hops = self._count = 0

    def begin(self, forwarded: Forwarded) -> bool:
        """Count on from an event of another shard. Returns False if it is beyond the limits and must not be taken."""
        if forwarded.hops > MOST_HOPS or forwarded.caused > MOST_CAUSED:
            return False
        self._hops, self._count = forwarded.hops, forwarded.caused
        return True

    def pop(self) -> Event | None:
        """Return the next event to take; None if all have been taken, and the counts begin anew."""
        if not self._queue:
            self._hops = self._count = 0
            return None
        event, self._hops = self._queue.popleft()
        return event

    def follow(self, event: Event) -> None:
        """Queue an event that follows the one that was taken last, whatever the limits."""
        self._queue.append((event, self._hops))

    def add(self, turn: Turn) -> tuple[list[Event], list[tuple[Forwarded, int]]]:
        """Queue the events that a turn causes in this shard.

        Returns the events beyond the limits, which are not taken, and those of other shards, each with its shard.
        """
        too_far: list[Event] = []
        further = self._hops + 1
        away: list[tuple[Event, int, int, int]] = []  # with the hops, the shard, and how many were caused with it
        for effect in turn.effects:
            if not isinstance(effect, EmitEvent):
                continue
            to_record = isinstance(effect.event, SharedRunRequested | CallEnded)  # there and back: it leads no further
            hops = self._hops if to_record else further
            self._count += 1
            shard = self._shard_elsewhere(effect.event.contact)
            if shard is not None:
                away.append((effect.event, hops, shard, self._count))
            elif hops <= MOST_HOPS and self._count <= MOST_CAUSED:
                self._queue.append((effect.event, hops))
            else:
                too_far.append(effect.event)
        if not away:
            return too_far, []
        # what may still follow is divided: no shard knows what follows in the others
        share = max(0, MOST_CAUSED - self._count) // (len(away) + bool(self._queue))
        self._count += share * len(away)
        return too_far, [
            (Forwarded(event, hops, max(count, MOST_CAUSED - share)), shard) for event, hops, shard, count in away
        ]
