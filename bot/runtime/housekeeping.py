"""The engine's housekeeping, done when there is nothing to take: expired rows are deleted, erasures are finished."""

from collections.abc import Callable

from bot.core.clock import Clock, ExpiryTime
from bot.store.engine_store import EngineStore
from bot.store.inbox import InboxReader

_PRUNED_EVERY = 60.0  # seconds
_ERASED_EVERY = 1.0


class Housekeeping:
    """Decides when to look for erasures and for expired rows. ``erase`` erases a contact."""

    def __init__(self, store: EngineStore, inbox: InboxReader, clock: Clock, erase: Callable[[str], None]) -> None:
        self.erasing = True  # whether there may be erasures to finish
        self._store = store
        self._inbox = inbox
        self._clock = clock
        self._erase = erase
        self._expiry = ExpiryTime(clock)
        self._prune_at = self._erased_at = clock.elapsed()

    def finish_erasures(self) -> None:
        """Erase the contacts that were asked for elsewhere, and what has come of erased contacts since; once a
        second.
        """
        now = self._clock.elapsed()
        if not self.erasing or now < self._erased_at:
            return
        for contact in self._store.erasures.asked():
            self._erase(contact)
        self.erasing = self._store.erasures.finish(self._inbox.has_of) or bool(self._store.shards.others)
        self._store.ids.drop_drawn()
        self._erased_at = now + _ERASED_EVERY

    def prune(self) -> bool:
        """Delete some of the rows that have expired, once a minute. True when there are more of them."""
        now = self._clock.elapsed()
        if now < self._prune_at:
            return False
        more = self._store.prune(self._expiry.now())
        self._prune_at = now if more else now + _PRUNED_EVERY
        return more
