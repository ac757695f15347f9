"""Notices of PostgreSQL: what one machine tells the others at once."""

import threading
from collections.abc import Callable
from contextlib import suppress

import psycopg

from bot.store.database import PostgresAddress
from bot.store.files import StoreUnavailable
from bot.store.postgres_database import Connection, connect

_CONNECTS_AGAIN_SECONDS = 1.0


class NoticeListener:
    """Calls ``act``, on a thread of its own, after each notice of a channel, and whenever it may have missed one."""

    def __init__(self, address: PostgresAddress, channel: str, act: Callable[[Connection], None]) -> None:
        self._address = address
        self._channel = channel
        self._act = act
        self._ended = threading.Event()
        threading.Thread(target=self._run, name=f"listener {channel}", daemon=True).start()

    def close(self) -> None:
        """Call no more."""
        self._ended.set()

    def _run(self) -> None:
        while not self._ended.is_set():
            with suppress(psycopg.Error, StoreUnavailable), connect(self._address, "engine") as connection:
                connection.execute(f"LISTEN {self._channel}")
                self._act(connection)
                while not self._ended.is_set():
                    if any(True for _ in connection.notifies(timeout=_CONNECTS_AGAIN_SECONDS, stop_after=1)):
                        self._act(connection)
            self._ended.wait(_CONNECTS_AGAIN_SECONDS)
