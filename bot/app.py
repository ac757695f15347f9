"""The composition root: the parts of a bot, put together with plain arguments."""

import socket
import threading
from collections import ChainMap
from contextlib import ExitStack, closing
from dataclasses import asdict
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from time import monotonic

from bot.clock import Clock
from bot.core.errors import BotError
from bot.engine import advance
from bot.gateway import webhook
from bot.gateway.client import Gateway
from bot.program import Program
from bot.runtime.delivery import Delivery
from bot.runtime.operator import Answer, Request
from bot.runtime.pacing import Pacing
from bot.runtime.performers import Performers
from bot.runtime.turns import Turns
from bot.store.inbox import InboxReader
from bot.store.reader import StoreReader
from bot.store.state import Store
from bot.web.service import WebService

STOP_SECONDS = 18.0  # a send may take so long; a handler that hangs is left alone then
TAKING_SECONDS = 4.0
TOLERANCE = timedelta(minutes=5)


class EngineFailed(BotError):
    """The engine's loop has ended by itself."""


class Engine:
    """The engine half of a bot: it takes the events of a store's inbox, sends, and calls handlers.

    Raises `bot.store.files.StoreLocked` and `bot.store.files.StoreMissing`.
    """

    def __init__(
        self,
        program: Program,
        store: Path,
        clock: Clock,
        *,
        gateway_url: str,
        gateway_key: str,
        channel_id: str | None = None,
        per_minute: int = 60,
        per_day: int = 10_000,
    ) -> None:
        program.library.prepare()
        with ExitStack() as opened:
            engine_file = opened.enter_context(closing(Store(store)))
            inbox = opened.enter_context(closing(InboxReader(store)))
            reader = opened.enter_context(closing(StoreReader(store)))
            gateway = opened.enter_context(closing(Gateway(gateway_url, gateway_key, channel_id)))
            pacing = Pacing(per_minute, per_day, reader.requests(clock.now() - timedelta(days=1)))
            self._files = opened.pop_all()
        self._turns = Turns(engine_file, inbox, clock, partial(advance, program.library), webhook.read)
        self._delivery = Delivery(
            gateway,
            clock,
            pacing,
            self._turns.sent,
            reader.last_inbound,
            replaced=reader.last_replaced,
            claim=self._turns.claim,
        )
        self._handlers = ChainMap(dict(program.handlers))  # its `maps` can be changed in one go
        self._performers = Performers(self._handlers, clock, self._turns.called)

    def start(self) -> None:
        """Begin to work. Raises `bot.runtime.passes.CursorBeyondLog`."""
        self._turns.start(self._delivery, self._performers)
        self._delivery.start()
        self._performers.start()

    def stop(self, timeout: float = STOP_SECONDS) -> None:
        """Finish what is being done, within ``timeout`` seconds; the rest is durable and waits for the next start.

        What was sent and called by then is taken still, in `TAKING_SECONDS` more at most.
        """
        until = monotonic() + timeout
        for part in (self._delivery, self._performers):
            part.stop(max(0.0, until - monotonic()))
        self._turns.stop(TAKING_SECONDS)
        self._files.close()

    def swap(self, program: Program) -> None:
        """Take the next event with these flows and handlers."""
        self._handlers.maps = [dict(program.handlers)]
        self._turns.advance = partial(advance, program.library)

    def wake(self) -> None:
        """Say that there is something to read in the inbox."""
        self._turns.wake()

    def operate(self, request: Request) -> Answer:
        """Do what an operator asks: see `bot.runtime.operator.operate`. The status tells of delivery's too."""
        answer = self._turns.operate(request)
        return answer | asdict(self._delivery.status()) if request.get("do") == "status" else answer

    def wait_settled(self, timeout: float) -> bool:
        """Wait until nothing is left to do before something comes in or time passes; False after ``timeout``."""
        return self._turns.wait_settled(timeout)

    def next_due(self) -> datetime | None:
        """When something happens by itself: a wake-up, or the next try of a message or a call."""
        times = (self._turns.next_wake(), self._delivery.next_due(), self._performers.next_due())
        return min((time for time in times if time is not None), default=None)

    def check(self) -> None:
        """Raise `EngineFailed` if the loop has ended by itself."""
        if self._turns.failure is not None:
            raise EngineFailed("the engine's loop has ended: see the log")


class Bot:
    """A whole bot in one process, web and engine: for `bot chat`, `bot test` and the tests.

    ``url`` is the webhook's address, on a free port of the loopback interface.
    """

    def __init__(
        self, engine: Engine, store: Path, clock: Clock, secret: str, tolerance: timedelta = TOLERANCE
    ) -> None:
        self.engine = engine
        listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}/webhook"
        self._web = WebService(
            store,
            listener,
            clock,
            secrets=[secret],
            tolerance=tolerance,
            path="/webhook",
            wake=engine.wake,
            engine_is_up=lambda: True,
            threads=4,
        )
        self._serving = threading.Thread(target=self._web.run, name="web")

    def start(self) -> None:
        """Begin to serve and to work. Where that fails, everything is closed again."""
        self._serving.start()
        try:
            self.engine.start()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Answer what has arrived, finish what is being done, and close."""
        self._web.stop()
        self._serving.join()
        self.engine.stop()
