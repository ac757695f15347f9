"""Serves the playground's pages on this machine, from start to end."""

import socket
import threading
from collections.abc import Sequence
from typing import Self

from bot.core.defects import guard
from bot.core.errors import BotError
from bot.loading.folder import Folder
from bot.loading.program import Program
from bot.pages.playground.editing import LoadedPython, TextEditor
from bot.pages.playground.flow_map import FlowMap
from bot.pages.playground.playground import Playground
from bot.pages.playground.playground_app import playground_app
from bot.pages.playground.shared_findings import SharedFindings
from bot.pages.shared.page_server import PageServer

HOST = "127.0.0.1"
PORTS = range(8700, 8720)
"""The ports that are tried where none is named."""


class PortTaken(BotError):
    """Another program has the port."""


def _listening(ports: Sequence[int]) -> socket.socket:
    """A socket that listens at the first of these ports that is free."""
    for port in ports:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError:
            listener.close()
        else:
            listener.listen()
            return listener
    taken = f"port {ports[0]} is" if len(ports) == 1 else f"the ports {ports[0]} to {ports[-1]} are"
    raise PortTaken(f"{taken} taken: name another one with --port, or 0 for any")


class PlaygroundServer:
    """The pages of a playground, on the first of these ports of this machine that is free (0: any). Use it as a context
    manager.

    With ``edits`` a person may edit the bot's texts there. Raises `PortTaken`.
    """

    def __init__(
        self,
        playground: Playground,
        program: Program,
        folder: Folder,
        ports: Sequence[int] = (0,),
        *,
        edits: bool = True,
    ) -> None:
        self._playground = playground
        self._lock = threading.Lock()
        self._findings = SharedFindings()
        self._map = self._drawn(program, folder)
        listener, stopping = _listening(ports), threading.Event()
        self._port = int(listener.getsockname()[1])
        editor = TextEditor(folder.path, self._newest_python, self._findings) if edits else None
        app = playground_app(playground, self._newest_map, stopping, self._port, editor)
        self._server = PageServer(app, listener, stopping)

    @property
    def url(self) -> str:
        """The address of the first page."""
        return f"http://{HOST}:{self._port}/"

    def __enter__(self) -> Self:
        self._server.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._newest_map().retire()
        self._server.__exit__(*exc)

    def use(self, program: Program, folder: Folder) -> None:
        """Show these flows, and continue the bot with them."""
        drawn = self._drawn(program, folder)
        with self._lock:
            self._map.retire()
            self._map = drawn
        self._playground.use(program)

    def _newest_map(self) -> FlowMap:
        with self._lock:
            return self._map

    def _newest_python(self) -> LoadedPython:
        newest = self._newest_map()
        return newest.program.extensions, newest.folder.code

    def _drawn(self, program: Program, folder: Folder) -> FlowMap:
        drawn = FlowMap(program, folder, self._findings)
        threading.Thread(target=guard(drawn.check, ends_process=False), name="checks", daemon=True).start()
        return drawn
