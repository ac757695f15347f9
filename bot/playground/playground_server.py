"""Serves the playground's pages on this machine, from start to end."""

import logging
import socket
import threading
from types import TracebackType
from typing import Self

from werkzeug.serving import WSGIRequestHandler, make_server

from bot.core.errors import BotError
from bot.folder import Folder
from bot.playground.flow_map import FlowMap
from bot.playground.playground import Playground
from bot.playground.playground_app import playground_app
from bot.program import Program

HOST = "127.0.0.1"


class PortTaken(BotError):
    """Another program has the port."""


class _Quiet(WSGIRequestHandler):
    """Writes no line for each request."""

    protocol_version = "HTTP/1.1"

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Write nothing."""


def _listening(port: int) -> socket.socket:
    taken = socket.socket()
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind((HOST, port))
    except OSError as error:
        taken.close()
        raise PortTaken(f"port {port} is taken: name another one with --port, or 0 for any") from error
    taken.listen()
    return taken


class PlaygroundServer:
    """The pages of a playground, on a port of this machine (0: any). Use it as a context manager. Raises `PortTaken`."""

    def __init__(self, playground: Playground, program: Program, folder: Folder, port: int = 0) -> None:
        self._playground = playground
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._map = self._drawn(program, folder)
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        with _listening(port) as taken:  # werkzeug makes a socket of its own of it
            self._port = int(taken.getsockname()[1])
            app = playground_app(playground, self._newest_map, self._stopping, self._port)
            self._server = make_server(HOST, self._port, app, threaded=True, request_handler=_Quiet, fd=taken.fileno())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="playground", daemon=True)

    @property
    def url(self) -> str:
        """The address of the first page."""
        return f"http://{HOST}:{self._port}/"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def use(self, program: Program, folder: Folder) -> None:
        """Show these flows, and let the bot go on with them."""
        drawn = self._drawn(program, folder)
        with self._lock:
            self._map = drawn
        self._playground.use(program)

    def _newest_map(self) -> FlowMap:
        with self._lock:
            return self._map

    def _drawn(self, program: Program, folder: Folder) -> FlowMap:
        drawn = FlowMap(program, folder)
        threading.Thread(target=drawn.check, name="checks", daemon=True).start()
        return drawn
