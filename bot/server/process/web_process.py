"""The web process: takes events, answers, and wakes the engines. Without an engine on its machine, it passes commands'
requests on.
"""

import select
import signal
import socket
import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

from bot.core.clock import SystemClock
from bot.core.defects import guard
from bot.core.own_addresses import OwnAddresses
from bot.language.flow.documents import FILES
from bot.loading.folder import read_file
from bot.server import local_socket
from bot.server.process.child import end_with, tell, tell_up
from bot.server.web.web_service import WebService
from bot.settings import Settings
from bot.store.database import StoreAddress, shards_of
from bot.store.lock_watch import watches_locks
from bot.store.opening import ask_elsewhere, engine_reader, signal_key
from bot.store.published_versions import files_of, served_version

ASK_SECONDS = 1.0  # for the engine to answer
BEGIN_SECONDS = 1.0  # for the engine to begin: requests wait in the socket meanwhile, then they are answered 503


def run(settings: Settings, folder: Path, files: Mapping[str, int]) -> None:
    """Serve the webhook until SIGTERM."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])  # one thread waits for it, and it interrupts none
    end_with(files["lifeline"])
    shards = shards_of(settings.store)
    wakes = [files[f"wake {number}"] for number in range(len(shards)) if f"wake {number}" in files]
    service = WebService(
        settings.store,
        socket.socket(fileno=files["listener"]),
        SystemClock(),
        secrets=settings.webhook_secrets,
        tolerance=settings.webhook_tolerance,
        answer_ids=settings.answer_ids,
        path=settings.webhook_path,
        begun=_Once(files["begun"]),
        wake=partial(_wake, wakes) if wakes else None,
        ask=lambda request: local_socket.ask_engine(settings.store, request, ASK_SECONDS),
        api_key=settings.api_key,
        addresses=OwnAddresses(settings.public_url, signal_key(settings.store)),
        own_file=_ServedFiles(shards[0], folder),
    )
    threading.Thread(target=guard(_stop_on_sigterm), args=(service,), name="signals", daemon=True).start()
    with ExitStack() as alone:
        for shard in () if wakes else shards:
            server = local_socket.LocalServer(shard, partial(ask_elsewhere, shard))
            server.start()
            alone.callback(server.stop)
        tell_up(files["news"], "web")
        alone.enter_context(watches_locks({"no event is accepted": service.database}, service.alarms))
        select.select([files["begun"]], [], [], BEGIN_SECONDS)
        service.run()


def _wake(wakes: Sequence[int], shards: Collection[int]) -> None:
    """Wake the engines of these shards here. An engine that waits wakes that of another machine."""
    for shard in shards:
        tell(wakes[shard], b"x")


class _ServedFiles:
    """The files of the bot's own as they are served: of the published version, else of this machine's folder.

    ``store`` is the store's first shard, which has the versions. It is opened for each file, since files are fetched
    seldom, and connections are few.
    """

    def __init__(self, store: StoreAddress, folder: Path) -> None:
        self._store = store
        self._folder = folder
        self._known: tuple[int, Mapping[str, bytes]] = 0, {}  # of the version with this number

    def __call__(self, path: str) -> bytes | None:
        with closing(engine_reader(self._store)) as versions:
            served = served_version(versions)
            if served is None:
                return read_file(self._folder, path)
            number, found = self._known
            if number != served.number:
                files = files_of(versions, served.number, self._folder).documents
                own = (source for source in files if source.path.startswith(FILES))
                found = {source.path.removeprefix(FILES): source.text for source in own}
                self._known = served.number, found
            return found.get(path)


class _Once:
    """True once anything was written to a pipe. Nobody reads it, so it is still true after a restart."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._written = False

    def __call__(self) -> bool:
        self._written = self._written or bool(select.select([self._pipe], [], [], 0)[0])
        return self._written


def _stop_on_sigterm(service: WebService) -> None:
    signal.sigwait([signal.SIGTERM])
    service.stop()
