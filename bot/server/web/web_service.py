"""The web half of a bot: the inbox's only writer, the webhook in front of it, and the server in front of that."""

import socket
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack, closing
from datetime import timedelta
from functools import cache, partial
from time import monotonic

from bot.core.alarms import Alarms
from bot.core.clock import Clock
from bot.core.defects import guard
from bot.core.engine_answers import Mistakes
from bot.core.engine_requests import CheckSignal, CheckStart, answer_to
from bot.core.errors import BotError
from bot.core.own_addresses import OwnAddresses
from bot.runtime.metrics import WebMetrics
from bot.server.web.file_endpoint import FileEndpoint
from bot.server.web.form_endpoint import FormEndpoint
from bot.server.web.program_endpoints import ProgramEndpoints
from bot.server.web.web_app import create_app
from bot.server.web.web_endpoints import Ask, CommitBarrier, MonitoringEndpoints, WebhookEndpoint
from bot.server.web.web_server import THREADS, WebServer
from bot.store.database import Database, StoreAddress, shards_of
from bot.store.files import StoreTooNew, StoreUnavailable
from bot.store.inbox import InboxBusy, InboxReader, InboxWriter
from bot.store.integrity import check_open_pair
from bot.store.kept_files import KeptFiles, kept_files, read_kept
from bot.store.store_reader import StoreReader

PRUNE_SECONDS = 60.0
ERASE_SECONDS = 1.0


class WebService:
    """Serves the webhook of a store, and starts by programs, on a listening socket, until `stop`.

    ``begun`` says whether the engine has ever begun on these files: before, nothing is accepted. ``wake`` tells the
    engines of these shards that there is something to read (None: no engine is here); ``ask`` asks it what an operator
    may ask, and raises a `BotError` where it does not answer. Programs start flows and report signals with ``api_key``,
    or by ``addresses``. ``own_file`` returns the content of a file that steps send. ``alarms`` are the web process's.

    Raises `bot.store.files.StoreLocked`, and what `bot.store.integrity.check_pair` raises.
    """

    def __init__(
        self,
        store: StoreAddress,
        listener: socket.socket,
        clock: Clock,
        *,
        secrets: Sequence[str],
        tolerance: timedelta,
        path: str,
        begun: Callable[[], bool],
        wake: Callable[[Collection[int]], None] | None,
        ask: Ask,
        api_key: str | None = None,
        addresses: OwnAddresses | None = None,
        own_file: Callable[[str], bytes | None] = lambda path: None,
        threads: int = THREADS,
        answer_ids: bool = False,
    ) -> None:
        self._shards = shards_of(store)
        self.alarms = Alarms(clock)
        with ExitStack() as opened:
            self._inbox = opened.enter_context(closing(InboxWriter(store, clock, self.alarms, wake=wake)))
            self._engine = opened.enter_context(closing(StoreReader(store)))
            check_open_pair(self._engine.database, self._inbox.database)
            self._files = opened.pop_all()
        metrics = WebMetrics()
        webhook = WebhookEndpoint(
            self._inbox, CommitBarrier(self._inbox), secrets, tolerance, clock, metrics, answer_ids
        )
        programs = ProgramEndpoints(self._inbox, api_key, clock, partial(_check, ask), metrics, addresses)
        health = MonitoringEndpoints(self._inbox, ask, self.alarms, metrics, clock)
        forms = FormEndpoint(self._inbox, addresses, ask, clock)
        files = FileEndpoint(
            addresses, own_file, partial(_kept, cache(partial(kept_files, store))), self._engine, clock
        )
        self._app = create_app(webhook, (programs, files, forms, health), begun, path)
        self._server = WebServer(self._app, listener, self.alarms, threads, in_loop={"/webhook", path})
        self._ending = threading.Event()
        self._too_new: StoreTooNew | None = None

    def run(self) -> None:
        """Serve until `stop`; requests that have arrived by then are answered. Raises `bot.store.files.StoreTooNew`
        when a newer program has changed the tables so that this one cannot go on.
        """
        keeper = threading.Thread(target=guard(self._keep_house), name="house")
        keeper.start()
        with self._app.app_context():  # one for all requests: one for each would take a tenth of Flask's time
            self._server.run()
        self._ending.set()
        keeper.join()
        self._files.close()
        if self._too_new is not None:
            raise self._too_new

    @property
    def database(self) -> Database:
        """The database to which events are written."""
        return self._inbox.database

    def stop(self) -> None:
        """Ask `run` to end. Safe in a signal handler."""
        self._server.stop()

    def _keep_house(self) -> None:
        """Forget the events of contacts that the engine has erased; now and then, delete old ones that it has read."""
        prune_at = monotonic() + PRUNE_SECONDS
        while not self._ending.wait(ERASE_SECONDS):
            try:
                self._engine.database.require()
                self._erase()
                if monotonic() >= prune_at:
                    self._prune()
                    prune_at = monotonic() + PRUNE_SECONDS
                self._inbox.end_alarm()
                self.alarms.clear("store-unavailable")
            except InboxBusy:
                pass  # it is an alarm of the inbox's own
            except StoreTooNew as error:
                self._too_new = error
                self.stop()
                return
            except StoreUnavailable as error:
                self.alarms.report(
                    "store-unavailable", f"no old or erased events are deleted: {error.what}", error.advice
                )

    def _prune(self) -> None:
        for number, shard in enumerate(self._shards):
            with closing(StoreReader(shard)) as engine:
                self._inbox.prune(engine.cursor(), shard=number)

    def _erase(self) -> None:
        if not self._engine.erasures():
            return
        for number, shard in enumerate(self._shards):
            with closing(StoreReader(shard)) as engine, closing(InboxReader(shard)) as log:
                for contact, upto in engine.erasures():
                    self._inbox.erase(log.of_contact(contact, upto), shard=number)


def _check(ask: Ask, request: CheckStart | CheckSignal) -> Mistakes:
    """Return the mistakes that the engine finds in a program's request; none are known if it does not answer."""
    try:
        return answer_to(request, ask(request))
    except BotError:
        return Mistakes()


def _kept(files: Callable[[], KeptFiles], contact: str, name: str) -> bytes | None:
    return read_kept(files(), contact, name)
