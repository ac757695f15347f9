"""A running emulator on a clock that stands still, a caller of its API, and a receiver of its events."""

import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import requests

from bot.core.clock import MovableClock
from bot.testing.emulator import API_KEY, Emulator

NOON = datetime(2030, 5, 12, 12, 0, tzinfo=UTC)


class Caller:
    """Calls the API as any client would."""

    def __init__(self, emulator: Emulator) -> None:
        self._base = f"{emulator.url}/external-api"
        self.headers = {"Authorization": f"Bearer {API_KEY}", "Content-Type": "application/json"}

    def post(self, path: str, body: Any, *, read_timeout: float = 10, **headers: str) -> requests.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return requests.post(
            self._base + path, json=body, headers={**self.headers, **named}, timeout=(10, read_timeout)
        )

    def get(self, path: str, **query: Any) -> requests.Response:
        return requests.get(self._base + path, params=query, headers=self.headers, timeout=10)

    def send(self, body: Any, **options: Any) -> requests.Response:
        return self.post("/inbox/send-message", body, **options)

    def text(self, body: str = "Hello", to: str = "491510000001", **options: Any) -> requests.Response:
        return self.send({"to": to, "type": "text", "text": {"body": body}}, **options)


@dataclass(frozen=True)
class Delivered:
    headers: dict[str, str]
    body: bytes


class Receiver:
    """Receives webhooks; ``answers`` are the next statuses (200 after that), ``hold`` is waited for before each.

    ``hung_up`` is set when a sender has closed its connection.
    """

    def __init__(self) -> None:
        self.seen: list[Delivered] = []
        self.answers: list[int] = []
        self.always: int = 200
        self.hold: Callable[[], object] = lambda: None
        self.hung_up = threading.Event()
        self._connections: list[socket.socket] = []
        receiver, lock = self, threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                receiver._connections.append(self.connection)

            def finish(self) -> None:
                super().finish()
                receiver.hung_up.set()

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.hold()
                with lock:
                    receiver.seen.append(Delivered(dict(self.headers.items()), body))
                    status = receiver.answers.pop(0) if receiver.answers else receiver.always
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/webhook"
        self._thread = threading.Thread(target=lambda: self._server.serve_forever(poll_interval=0.01))
        self._thread.start()

    def close_connections(self) -> None:
        for connection in self._connections:
            connection.shutdown(socket.SHUT_RDWR)

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock(NOON)


@pytest.fixture
def emulator(clock: MovableClock) -> Iterator[Emulator]:
    with Emulator(clock, per_minute=10_000) as running:
        running.open_window("491510000001")
        yield running


@pytest.fixture
def api(emulator: Emulator) -> Caller:
    return Caller(emulator)


@pytest.fixture
def receiver(emulator: Emulator) -> Iterator[Receiver]:
    running = Receiver()
    emulator.subscribe(running.url)
    yield running
    running.stop()


@pytest.fixture
def refused(api: Caller) -> Callable[..., dict[str, Any]]:
    """Send something and get the error's code, status and details, as one dict."""

    def refuse(body: Any, path: str = "/inbox/send-message") -> dict[str, Any]:
        response = api.post(path, body)
        answer = response.json()
        assert answer["success"] is False
        assert answer["error"]["message"]
        return {"status": response.status_code, "code": answer["error"]["code"], **answer["error"].get("details", {})}

    return refuse
