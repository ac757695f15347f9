"""All performers as one."""

from collections.abc import Mapping, Sequence
from time import monotonic

from bot.core.effects import Performed
from bot.runtime.performers import Performers
from bot.store.rows import CallRow


class Outside:
    """Gives each row to those who do what it asks for."""

    def __init__(self, performers: Mapping[type[Performed], Performers]) -> None:
        self._performers = performers

    def start(self) -> None:
        """Begin."""
        for performers in self._performers.values():
            performers.start()

    def end(self) -> None:
        """Begin nothing more."""
        for performers in self._performers.values():
            performers.end()

    def stop(self, timeout: float) -> None:
        """Begin nothing more, and wait for what is in flight, all within ``timeout`` seconds."""
        until = monotonic() + timeout
        self.end()
        for performers in self._performers.values():
            performers.stop(max(0.0, until - monotonic()))

    def offer(self, rows: Sequence[CallRow]) -> None:
        """Take rows."""
        for kind, performers in self._performers.items():
            own = [row for row in rows if isinstance(row.effect, kind)]
            if own:
                performers.offer(own)

    def withdraw(self, contact: str) -> None:
        """Forget what is to be done for a contact."""
        for performers in self._performers.values():
            performers.withdraw(contact)

    def idle(self) -> bool:
        """True when nothing happens until the clock moves (or rows are offered)."""
        return all(performers.idle() for performers in self._performers.values())

    def next_due(self) -> float | None:
        """When, by `Clock.elapsed`, something happens by itself."""
        times = (performers.next_due() for performers in self._performers.values())
        return min((time for time in times if time is not None), default=None)
