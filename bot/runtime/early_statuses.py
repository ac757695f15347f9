"""Statuses that came to another shard than the message's, and before that one knew the message."""

from collections.abc import Collection
from datetime import timedelta

from bot.clock import Clock
from bot.core.events import StatusReported
from bot.runtime.batch import Batch
from bot.store.engine_store import Store

_LOOKED_FOR = timedelta(days=1)  # a shard may stand still for long between a send and the commit of its result
_FIRST_WAIT = 1.0


class EarlyStatuses:
    """Looks for the messages in all shards, less and less often, and forwards the statuses that this shard has kept for them.

    A status may name nothing but its message, and may come before the answer to its send. No order of two commits in two
    shards is needed: what was kept is found in the table after a crash, too.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._looked_for: dict[str, tuple[float, float]] = {}  # since when, and when next

    def begin(self) -> None:
        """Go on with what an earlier run has kept."""
        if self._store.other_shards:
            self.note(self._store.early_statuses(self._clock.now() - _LOOKED_FOR))

    def note(self, message_ids: Collection[str]) -> None:
        """Look for these messages from now on."""
        now = self._clock.elapsed()
        self._looked_for.update(dict.fromkeys(message_ids, (now, now + _FIRST_WAIT)))

    def forward(self, batch: Batch) -> None:
        """Forward the statuses of those messages that are found now."""
        now = self._clock.elapsed()
        due = [id for id, (_, next_time) in self._looked_for.items() if next_time <= now]
        if not due:
            return
        found = self._store.shards_of_messages(due)
        for id in due:
            since, _ = self._looked_for[id]
            self._looked_for[id] = since, now + max(_FIRST_WAIT, now - since)
            status = batch.store.status(id)
            if status is None or found.get(id) == self._store.shard or now - since > _LOOKED_FOR.total_seconds():
                del self._looked_for[id]  # the status is gone, or where it belongs
            elif id in found:
                event = StatusReported(f"early:{id}:{status.name}", "", batch.now, status.name, (id,), status.detail)
                batch.forward(event, found[id])
                batch.commit.statuses_forwarded.add(id)
