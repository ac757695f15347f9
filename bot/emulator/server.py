"""The emulator's HTTP server: waitress in a thread."""

import threading
from collections.abc import Callable, Iterable
from typing import Any

from waitress.server import create_server


class Server:
    """Serves a WSGI application on the loopback; the port is taken at once."""

    def __init__(self, app: Callable[..., Iterable[bytes]], port: int, threads: int) -> None:
        # One request is read ahead, so that a held answer notices when its client has gone.
        self._server: Any = create_server(
            app, host="127.0.0.1", port=port, threads=threads, channel_request_lookahead=1, ident=None
        )
        self.port: int = self._server.effective_port
        self._thread = threading.Thread(target=self._server.run, name="emulator-http", daemon=True)

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Finish what is being answered, close every connection, and end the threads."""
        self._server.task_dispatcher.shutdown()
        self._server.trigger.pull_trigger(self._close)
        self._thread.join()

    def _close(self) -> None:
        for channel in list(self._server.active_channels.values()):
            channel.handle_close()
        self._server.close()
