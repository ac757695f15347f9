"""The web half of a bot: the inbox's only writer, the webhook in front of it, and the server in front of that."""

import logging
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from datetime import timedelta
from pathlib import Path
from time import monotonic

from bot.clock import Clock
from bot.store.files import StoreUnavailable
from bot.store.groups import InboxBusy
from bot.store.inbox import InboxReader, InboxWriter
from bot.store.reader import StoreReader
from bot.web.app import Webhook, create_app
from bot.web.server import THREADS, Server
from bot.web.starts import Judge, Starts

PRUNE_SECONDS = 60.0
ERASE_SECONDS = 1.0
log = logging.getLogger("bot.web")


class WebService:
    """Serves the webhook of a store, and starts by programs, on a listening socket, until `stop`.

    ``wake`` tells the engine that there is something to read; ``judge`` says what is wrong with a start
    that a program asks for with ``api_key``. Raises `bot.store.files.StoreLocked`.
    """

    def __init__(
        self,
        store: Path,
        listener: socket.socket,
        clock: Clock,
        *,
        secrets: Sequence[str],
        tolerance: timedelta,
        path: str,
        wake: Callable[[], None],
        engine_is_up: Callable[[], bool],
        api_key: str | None = None,
        judge: Judge = lambda flow, data: {},
        threads: int = THREADS,
    ) -> None:
        with ExitStack() as opened:
            self._inbox = opened.enter_context(closing(InboxWriter(store, clock)))
            self._log = opened.enter_context(closing(InboxReader(store)))
            self._engine = opened.enter_context(closing(StoreReader(store)))
            self._files = opened.pop_all()
        webhook = Webhook(self._inbox, self._log, secrets, tolerance, clock, wake)
        starts = Starts(self._inbox, api_key, clock, wake, judge)
        self._server = Server(create_app(webhook, starts, self._inbox, engine_is_up, path), listener, threads)
        self._ending = threading.Event()

    def run(self) -> None:
        """Serve until told to stop; what has arrived by then is answered."""
        keeper = threading.Thread(target=self._keep_house, name="house")
        keeper.start()
        self._server.run()
        self._ending.set()
        keeper.join()
        self._files.close()

    def stop(self) -> None:
        """Ask `run` to end. Safe in a signal handler."""
        self._server.stop()

    def _keep_house(self) -> None:
        """Forget the events of contacts that the engine has erased; now and then, delete old ones that it has read."""
        prune_at = monotonic() + PRUNE_SECONDS
        while not self._ending.wait(ERASE_SECONDS):
            try:
                self._erase()
                if monotonic() >= prune_at:
                    self._inbox.prune(self._engine.cursor())
                    prune_at = monotonic() + PRUNE_SECONDS
            except (InboxBusy, StoreUnavailable) as error:
                log.warning("old events were not deleted, this is tried again: %s", error)

    def _erase(self) -> None:
        for contact, upto in self._engine.erasures():
            self._inbox.erase(self._log.of_contact(contact, upto))
