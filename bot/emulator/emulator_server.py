"""The HTTP server of both emulators (waitress in a thread), and reading JSON."""

import json
import threading
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any, NoReturn

from waitress import wasyncore
from waitress.server import create_server

_STATUS = {status.value: f"{status.value} {status.phrase}" for status in HTTPStatus}


class EmulatorServer:
    """Serves a WSGI application on the loopback interface. It takes the port at once."""

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
        """Finish the answers in progress, end the threads, and close every connection."""
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


def status_line(status: int) -> str:
    """An HTTP status for WSGI; an unknown one has no words."""
    return _STATUS.get(status, str(status))


def read_object(raw: bytes) -> dict[str, Any]:
    """A body as a JSON object. Raises `ValueError` or `RecursionError` for anything else, also for NaN and Infinity."""
    body = json.loads(raw, parse_constant=_no_number)
    if not isinstance(body, dict):
        raise ValueError("the body must be a JSON object")
    return body


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")
