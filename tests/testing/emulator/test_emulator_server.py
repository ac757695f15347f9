"""The emulator's server ends when it is stopped, whatever its threads and other processes do just then."""

import os
import signal
import socket
import threading
from http.client import HTTPConnection
from time import monotonic

import pytest

from bot.core.defects import guard
from bot.testing.emulator.emulator_server import EmulatorServer
from bot.testing.emulator.webhooks import Poster
from tests.patience import PATIENCE


@pytest.fixture
def server() -> EmulatorServer:
    server = EmulatorServer(lambda environ, start: [], 0, 1)
    server.start()
    return server


def ends(server: EmulatorServer) -> bool:
    """True if the server ends soon. If it does not, its threads are left: they keep no process alive."""
    stopping = threading.Thread(target=guard(server.stop), daemon=True)
    stopping.start()
    stopping.join(min(PATIENCE, 5))
    return not stopping.is_alive()


def test_it_ends_although_a_child_process_has_its_sockets(server: EmulatorServer) -> None:
    child = os.fork()
    if child == 0:
        signal.pause()
    try:
        assert ends(server)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_it_ends_although_a_connection_has_gone_before_it_was_taken(
    server: EmulatorServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = threading.Event()
    handle = server._server.handle_request

    def handle_late() -> None:
        server._server.socket.accept()[0].close()
        gone.set()
        handle()

    monkeypatch.setattr(server._server, "handle_request", handle_late)
    with socket.create_connection(("127.0.0.1", server.port)):
        gone.wait(PATIENCE)
        assert ends(server)


def test_a_webhook_that_is_aborted_while_it_connects_waits_for_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    poster, connect, within = Poster(5), HTTPConnection.connect, 5

    def connect_late(connection: HTTPConnection) -> None:
        poster.abort()
        connect(connection)

    monkeypatch.setattr(HTTPConnection, "connect", connect_late)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        begun = monotonic()
        assert poster.post(("127.0.0.1", silent.getsockname()[1], "/"), b"{}", {}) is None
    assert monotonic() - begun < within
