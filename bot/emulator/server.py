"""The emulator's HTTP server: waitress in a thread."""

import threading
from collections.abc import Callable, Iterable
from typing import Any

from waitress import wasyncore
from waitress.server import create_server


class Server:
    """Serves a WSGI application on the loopback; the port is taken at once."""

    def __init__(self, app: Callable[..., Iterable[bytes]], port: int, threads: int) -> None:
        self._sockets: dict[int, Any] = {}
        self._server: Any = create_server(
            app,
            self._sockets,
            host="127.0.0.1",
            port=port,
            threads=threads,
            connection_limit=4000,
            channel_request_lookahead=1,  # so that a held answer notices when its client has gone
            ident=None,
        )
        self.port: int = self._server.effective_port
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="emulator-http", daemon=True)

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Finish what is being answered, end the threads, and close every connection."""
        self._server.task_dispatcher.shutdown()
        self._stopping.set()
        self._server.pull_trigger()
        self._thread.join()
        for channel in list(self._server.active_channels.values()):
            channel.handle_close()
        self._server.close()

    def _run(self) -> None:
        # waitress' own loop ends only when nobody is connected any more.
        while not self._stopping.is_set():
            wasyncore.loop(timeout=1, use_poll=True, map=self._sockets, count=1)
