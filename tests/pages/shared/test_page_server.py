"""The server of pages: how many connections it has, and what becomes of those above."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from email.message import Message
from http.client import HTTPConnection
from socket import create_connection, create_server, socket

import pytest
from flask import Response

from bot.pages.shared import page_server
from bot.pages.shared.page_server import PageServer, page_app
from tests.patience import PATIENCE

MOST = 8
Address = tuple[str, int]


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[Address]:
    monkeypatch.setattr(page_server, "MOST_CONNECTIONS", MOST)
    stopping = threading.Event()

    def stream() -> Iterator[str]:
        yield ": here\n\n"
        stopping.wait(PATIENCE)

    app = page_app(__name__, forms=False)
    app.add_url_rule("/", "page", lambda: "a page")
    app.add_url_rule("/stream", "stream", lambda: Response(stream(), content_type="text/event-stream"))
    listener = create_server(("127.0.0.1", 0))
    found = listener.getsockname()
    with PageServer(app, listener, stopping):
        yield found


def ask(address: Address, path: str = "/") -> socket:
    connection = create_connection(address, PATIENCE)
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: here\r\n\r\n".encode())
    return connection


def begins(connection: socket) -> bytes:
    return connection.recv(12)


def test_above_the_limit_a_new_connection_gets_a_503_that_says_what_to_do(address: Address) -> None:
    with ExitStack() as opened:
        streams = [opened.enter_context(ask(address, "/stream")) for _ in range(MOST)]
        assert {begins(stream) for stream in streams} == {b"HTTP/1.1 200"}
        refused = opened.enter_context(create_connection(address, PATIENCE))
        answer = b"".join(iter(lambda: refused.recv(1000), b""))
        assert answer.startswith(b"HTTP/1.1 503 ") and b"Retry-After: 5" in answer
        assert answer.endswith(b"too many connections: try again in a few seconds\n")


def test_a_place_that_is_given_back_is_taken_again(address: Address) -> None:
    for _ in range(3 * MOST):
        with ask(address) as connection:
            assert begins(connection) == b"HTTP/1.1 200"
            while connection.recv(1000):
                pass


def test_connections_that_say_nothing_keep_nobody_out_and_streams_stay(
    address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_server, "SHORTEST_SECONDS", 0.0)
    with ExitStack() as opened:
        stream = opened.enter_context(ask(address, "/stream"))
        assert begins(stream) == b"HTTP/1.1 200"
        silent = [opened.enter_context(create_connection(address, PATIENCE)) for _ in range(10 * MOST)]
        assert begins(opened.enter_context(ask(address))) == b"HTTP/1.1 200"
        assert silent[0].recv(1) == b""  # the oldest was closed
        stream.setblocking(False)
        with pytest.raises(BlockingIOError):
            while stream.recv(1000):
                pass


def test_when_it_ends_it_closes_connections_that_say_nothing_and_sends_answers_under_way() -> None:
    begun, ended = threading.Event(), threading.Event()

    def slow() -> str:
        begun.set()
        ended.wait(PATIENCE)
        return "a page"

    app = page_app(__name__, forms=False)
    app.add_url_rule("/slow", "slow", slow)
    listener = create_server(("127.0.0.1", 0))
    address = listener.getsockname()
    with ExitStack() as opened:
        with PageServer(app, listener, threading.Event()):
            silent = opened.enter_context(create_connection(address, PATIENCE))
            waits = opened.enter_context(ask(address, "/slow"))
            begun.wait(PATIENCE)
        assert silent.recv(1) == b""
        ended.set()
        assert b"".join(iter(lambda: waits.recv(1000), b"")).endswith(b"a page")


def test_a_browser_keeps_a_script_and_asks_whether_it_is_still_the_same(address: Address) -> None:
    def answer(path: str, **headers: str) -> tuple[int, Message, bytes]:
        connection = HTTPConnection(*address)
        with closing(connection):
            connection.request("GET", path, headers=headers)
            found = connection.getresponse()
            return found.status, found.headers, found.read()

    status, headers, script = answer("/pages/times.js")
    assert (status, headers["Cache-Control"]) == (200, "no-cache") and script
    assert headers.get_all("Cache-Control") == ["no-cache"]
    again, kept, nothing = answer("/pages/times.js", **{"If-None-Match": headers["ETag"]})
    assert (again, kept["ETag"], nothing) == (304, headers["ETag"], b"")
    assert answer("/pages/parts.js")[1]["ETag"] != headers["ETag"]
    assert answer("/")[1].get_all("Cache-Control") == ["no-store"]
