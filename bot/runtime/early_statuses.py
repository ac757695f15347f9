"""Statuses that came to another shard than the message's, and before that one knew the message."""

from collections.abc import Collection
from math import inf

from bot.core.clock import Clock
from bot.core.events import StatusReported
from bot.runtime.batch import Batch
from bot.store.engine_store import EngineStore
from bot.store.rows import EARLY_FOR

_FIRST_WAIT = 1.0


class EarlyStatuses:
    """Looks for the messages in all shards, less and less often, and forwards the statuses that this shard has kept for
    them.

    A status may name nothing but its message, and may come before the answer to its send. No order of two commits in
    two shards is needed: what was kept is found in the table after a crash, too.
    """

    def __init__(self, store: EngineStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._looked_for: dict[str, tuple[float, float]] = {}  # since when, and when next
        self._next_look = inf

    def begin(self) -> None:
        """Go on with what an earlier run has kept."""
        if self._store.shards.others:
            self.note(self._store.messages.early_statuses(self._clock.now() - EARLY_FOR))

    def note(self, message_ids: Collection[str]) -> None:
        """Look for these messages from now on."""
        if message_ids:
            now = self._clock.elapsed()
            self._looked_for.update(dict.fromkeys(message_ids, (now, now + _FIRST_WAIT)))
            self._next_look = min(self._next_look, now + _FIRST_WAIT)

    def forward(self, batch: Batch) -> None:
        """Forward the statuses of those messages that are found now."""
        now = self._clock.elapsed()
        if now < self._next_look:
            return
        due = [id for id, (_, next_time) in self._looked_for.items() if next_time <= now]
        found = self._store.shards.of_messages(due)
        for id in due:
            since, _ = self._looked_for[id]
            self._looked_for[id] = since, now + max(_FIRST_WAIT, now - since)
            shard = found.get(id)
            if shard is None and now - since <= EARLY_FOR.total_seconds():
                continue
            status = None if shard in (None, self._store.shards.this) else batch.store.messages.status(id)
            if shard is None or status is None:
                del self._looked_for[id]  # it is where it belongs, or nobody's
            else:
                event = StatusReported(f"early:{id}:{status.name}", "", batch.now, status.name, (id,), status.detail)
                batch.forward(event, shard)
                batch.commit.messages.statuses_forwarded.add(id)
        self._next_look = min((next_time for _, next_time in self._looked_for.values()), default=inf)
