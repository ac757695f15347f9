import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from flask import Flask, request
from waitress.adjustments import Adjustments

from bot.web import web_server as serving
from bot.web.web_server import WebServer, _Parser

BODY_BYTES = 1024 * 1024


class Serving:
    """A served app whose view waits for a gate, and what its clients do."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.entered = threading.Semaphore(0)
        self.gate.set()
        app = Flask("test")
        app.add_url_rule("/", "view", self.view, methods=["POST"])
        listener = socket.create_server(("127.0.0.1", 0))
        self.address = listener.getsockname()
        self.server = WebServer(app, listener, threads=4)
        self.thread = threading.Thread(target=self.server.run)

    def view(self) -> str:
        body = request.get_data()
        self.entered.release()
        self.gate.wait(10)
        return str(len(body))

    def connect(self) -> socket.socket:
        return socket.create_connection(self.address, 10)

    def stop(self) -> None:
        self.gate.set()
        self.server.stop()
        self.thread.join()


@pytest.fixture
def web() -> Iterator[Serving]:
    web = Serving()
    web.thread.start()
    yield web
    web.stop()


def post(body: bytes, length: int | None = None, headers: str = "") -> bytes:
    return f"POST / HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: {length or len(body)}\r\n\r\n".encode() + body


@contextmanager
def reading(client: socket.socket) -> Iterator[Iterator[bytes]]:
    with client.makefile("rb") as lines:
        yield lines


def answer(client: socket.socket) -> tuple[int, dict[str, str], bytes]:
    with client.makefile("rb") as lines:
        status = int(lines.readline().split()[1])
        headers = {}
        while line := lines.readline().strip():
            name, value = line.decode().split(": ", 1)
            headers[name] = value
        return status, headers, lines.read(int(headers["Content-Length"]))


def test_a_request_is_served(web: Serving) -> None:
    with web.connect() as client:
        client.sendall(post(b"hello"))
        assert answer(client)[::2] == (200, b"5")


def test_a_slow_body_holds_up_nobody(web: Serving) -> None:
    slow = [web.connect() for _ in range(20)]
    for client in slow:
        client.sendall(post(b"h", length=5))
    with web.connect() as client:
        client.sendall(post(b"hello"))
        assert answer(client)[0] == 200
    for client in slow:
        client.sendall(b"ello")
        assert answer(client)[::2] == (200, b"5")
        client.close()


def test_a_request_that_does_not_come_in_time_ends_with_its_connection(
    web: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "REQUEST_SECONDS", 0.0)
    with web.connect() as client:
        client.sendall(post(b"h", length=5))
        assert client.recv(1) == b""


def test_when_all_places_are_taken_what_waits_longest_makes_room_and_what_is_worked_on_stays(
    web: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "CONNECTIONS", 3)
    web.gate.clear()
    working, slow, kept = web.connect(), web.connect(), web.connect()
    working.sendall(post(b"one"))
    assert web.entered.acquire(timeout=10)
    slow.sendall(post(b"h", length=5))
    with web.connect() as honest:
        honest.sendall(post(b"hello"))
        assert slow.recv(1) == b""
        web.gate.set()
        assert answer(honest)[::2] == (200, b"5")
    assert answer(working)[::2] == (200, b"3")
    for client in (working, slow, kept):
        client.close()


@pytest.mark.parametrize("size", [BODY_BYTES + 1, 10_000_000])
def test_an_oversized_body_is_read_to_its_end_and_refused(web: Serving, size: int) -> None:
    with web.connect() as client:
        client.sendall(post(b"x" * size))
        assert answer(client)[0] == 413
    assert not web.entered.acquire(blocking=False)


def test_nothing_of_an_oversized_body_is_kept() -> None:
    parser, data = _Parser(Adjustments(max_request_body_size=1000)), post(b"x" * 100_000)
    while data:
        data = data[parser.received(data[:5000]) :]
    assert parser.completed
    assert len(parser.body_rcv.buf) == 0


def test_an_oversized_body_in_chunks_is_refused(web: Serving) -> None:
    with web.connect() as client:
        client.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(10):
            client.sendall(b"100000\r\n" + b"x" * 0x100000 + b"\r\n")
        client.sendall(b"0\r\n\r\n")
        assert answer(client)[0] == 413


def test_the_largest_allowed_body_is_served(web: Serving) -> None:
    with web.connect() as client:
        client.sendall(post(b"x" * BODY_BYTES))
        assert answer(client)[0] == 200


def test_an_endless_body_ends_with_its_connection(web: Serving) -> None:
    with web.connect() as client, pytest.raises(OSError):
        client.sendall(post(b"", length=1 << 40))
        while True:
            client.sendall(b"x" * 1_000_000)


@pytest.mark.parametrize(
    "head",
    [
        b"POST / HTTP/1.1\r\nContent-Length: " + b"9" * 5000,
        b"POST / HTTP/1.1\r\nContent-Length: -1",
        b"POST / HTTP/1.1\r\nX: " + b"x" * 40_000,
        b"POST http://[ HTTP/1.1\r\nHost: x",
        b"\x00\x01\x02",
    ],
)
def test_nonsense_is_refused_with_a_4xx(web: Serving, head: bytes, caplog: pytest.LogCaptureFixture) -> None:
    with web.connect() as client:
        client.sendall(head + b"\r\n\r\n")
        assert 400 <= answer(client)[0] < 500
    assert not caplog.records


CHUNKED, LENGTH = "Transfer-Encoding: chunked", "Content-Length: 4"


@pytest.mark.parametrize(
    "headers",
    [(LENGTH, CHUNKED), (CHUNKED, LENGTH), (CHUNKED, CHUNKED), (LENGTH, LENGTH), (LENGTH, "Transfer-Encoding:")],
)
@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_no_second_request_hides_in_one_whose_length_is_said_twice(
    web: Serving, headers: tuple[str, str], version: str
) -> None:
    head = "\r\n".join((f"POST / HTTP/{version}", "Connection: keep-alive", *headers))
    with web.connect() as client:
        client.sendall(f"{head}\r\n\r\n0\r\n\r\n".encode() + post(b"hidden"))
        with client.makefile("rb") as came:
            everything = came.read()
    assert everything.startswith(b"HTTP/1") and everything.count(b"HTTP/1.") == 1
    assert b" 400 " in everything.splitlines()[0]


def test_a_stop_answers_what_is_being_worked_on_what_waits_and_what_is_half_here(web: Serving) -> None:
    web.gate.clear()
    working, half, kept = web.connect(), web.connect(), web.connect()
    working.sendall(post(b"one"))
    assert web.entered.acquire(timeout=10)
    half.sendall(post(b"tw", length=3))
    waiting = web.connect()
    waiting.sendall(post(b"three"))
    web.server.stop()
    half.sendall(b"o")
    web.gate.set()
    assert answer(working)[::2] == (200, b"3")
    status, headers, _ = answer(half)
    assert (status, headers["Connection"]) == (200, "close")
    assert answer(waiting)[::2] == (200, b"5")
    web.thread.join(10)
    assert not web.thread.is_alive()
    assert kept.recv(1) == b""
    for client in (working, half, kept, waiting):
        client.close()


def test_a_stop_does_not_wait_for_ever_for_a_body_that_never_comes(
    web: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "DRAIN_SECONDS", 0.2)
    with web.connect() as client:
        client.sendall(post(b"tw", length=3))
        web.server.stop()
        web.thread.join(10)
        assert not web.thread.is_alive()


def test_connections_that_nobody_took_yet_are_taken_by_the_next_process() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    with socket.create_connection(listener.getsockname(), 10) as client:
        client.sendall(post(b"early"))
        app = Flask("test")
        app.add_url_rule("/", "view", lambda: "late", methods=["POST"])
        server = WebServer(app, listener, threads=2)
        thread = threading.Thread(target=server.run)
        thread.start()
        assert answer(client)[::2] == (200, b"late")
        server.stop()
        thread.join(10)


def test_a_stop_answers_what_came_before_it_and_nobody_has_taken_yet() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    with socket.create_connection(listener.getsockname(), 10) as client:
        client.sendall(post(b"early"))
        app = Flask("test")
        app.add_url_rule("/", "view", lambda: "taken", methods=["POST"])
        server = WebServer(app, listener, threads=2)
        server.stop()
        server.run()
        assert answer(client)[::2] == (200, b"taken")
