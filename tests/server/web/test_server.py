import asyncio
import errno
import random
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from time import monotonic
from typing import Any, BinaryIO

import pytest
from flask import Flask, request

from bot.core.alarms import Alarms
from bot.core.clock import SystemClock
from bot.server.web import web_server as serving
from bot.server.web.web_server import DEFERRED, WebServer
from tests.patience import PATIENCE, wait_for
from tests.searches import search, tries

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
        self.server = WebServer(app, listener, Alarms(SystemClock()), threads=4)
        self.thread = threading.Thread(target=self.server.run)

    def view(self) -> str:
        body = request.get_data()
        self.entered.release()
        self.gate.wait(PATIENCE)
        return str(len(body))

    def connect(self) -> socket.socket:
        return socket.create_connection(self.address, PATIENCE)

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


def answer(client: socket.socket) -> tuple[int, dict[str, str], bytes]:
    with client.makefile("rb") as lines:
        return read_answer(lines)


def read_answer(lines: BinaryIO) -> tuple[int, dict[str, str], bytes]:
    status = int(lines.readline().split()[1])
    if status == 100:
        lines.readline()
        return read_answer(lines)
    headers = {}
    while line := lines.readline().strip():
        name, value = line.decode().split(": ", 1)
        headers[name] = value
    return status, headers, lines.read(int(headers["Content-Length"]))


def served(app: Any, **options: Any) -> tuple[WebServer, threading.Thread, Callable[[], socket.socket]]:
    listener = socket.create_server(("127.0.0.1", 0))
    address = listener.getsockname()
    server = WebServer(app, listener, Alarms(SystemClock()), threads=2, **options)
    thread = threading.Thread(target=server.run)
    thread.start()
    return server, thread, lambda: socket.create_connection(address, PATIENCE)


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
    with web.connect() as client:
        client.sendall(post(b"h", length=5))
        wait_for(lambda: web.server.body_bytes == 1)  # a connection with bytes that nobody has read would be reset
        monkeypatch.setattr(serving, "REQUEST_SECONDS", 0.0)
        assert client.recv(1) == b""


def test_when_all_places_are_taken_what_waits_longest_makes_room_and_what_is_worked_on_stays(
    web: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "CONNECTIONS", 3)
    web.gate.clear()
    working, slow, kept = web.connect(), web.connect(), web.connect()
    working.sendall(post(b"one"))
    assert web.entered.acquire(timeout=PATIENCE)
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


def test_nothing_of_an_oversized_body_is_kept(web: Serving) -> None:
    with web.connect() as client:
        client.sendall(post(b"x" * (BODY_BYTES + 1), length=BODY_BYTES + 3))
        wait_for(lambda: any(each._incoming and each._incoming.refusal for each in list(web.server.connections)))
        wait_for(lambda: web.server.body_bytes == 0)
        client.sendall(b"xx")
        assert answer(client)[0] == 413


def test_of_bodies_that_take_too_much_memory_the_slowest_makes_room(
    web: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "BODIES_BYTES", 1_500_000)
    with web.connect() as idle, web.connect() as slow, web.connect() as honest:
        slow.sendall(post(b"x" * 900_000, length=900_001))
        wait_for(lambda: web.server.body_bytes == 900_000)
        honest.sendall(post(b"x" * 900_000))
        assert answer(honest)[::2] == (200, b"900000")
        assert slow.recv(1) == b""
        idle.sendall(post(b"still here"))
        assert answer(idle)[0] == 200
    assert web.server.body_bytes == 0


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
    assert web.entered.acquire(timeout=PATIENCE)
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
    web.thread.join(PATIENCE)
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
        web.thread.join(PATIENCE)
        assert not web.thread.is_alive()


def test_connections_that_nobody_took_yet_are_taken_by_the_next_process() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    with socket.create_connection(listener.getsockname(), PATIENCE) as client:
        client.sendall(post(b"early"))
        app = Flask("test")
        app.add_url_rule("/", "view", lambda: "late", methods=["POST"])
        server = WebServer(app, listener, Alarms(SystemClock()), threads=2)
        thread = threading.Thread(target=server.run)
        thread.start()
        assert answer(client)[::2] == (200, b"late")
        server.stop()
        thread.join(PATIENCE)


def test_a_stop_answers_what_came_before_it_and_nobody_has_taken_yet() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    with socket.create_connection(listener.getsockname(), PATIENCE) as client:
        client.sendall(post(b"early"))
        app = Flask("test")
        app.add_url_rule("/", "view", lambda: "taken", methods=["POST"])
        server = WebServer(app, listener, Alarms(SystemClock()), threads=2)
        server.stop()
        server.run()
        assert answer(client)[::2] == (200, b"taken")


def test_requests_that_come_together_are_answered_in_their_order(web: Serving) -> None:
    with web.connect() as client:
        client.sendall(post(b"1") + post(b"22") + post(b"333")[:-1])
        with client.makefile("rb") as lines:
            assert [read_answer(lines)[2] for _ in range(2)] == [b"1", b"2"]
            client.sendall(b"3")
            assert read_answer(lines)[2] == b"3"


def test_while_an_answer_is_not_read_the_next_request_waits() -> None:
    calls: list[int] = []

    def app(environ: dict[str, Any], start: Callable[..., Any]) -> list[bytes]:
        calls.append(1)
        start("200 OK", [])
        return [b"x" * 1_000_000]

    server, thread, connect = served(app, in_loop=["/"])
    with connect() as client, connect() as other:
        client.sendall(post(b"") * 40)
        other.sendall(post(b""))
        assert answer(other)[0] == 200
        assert len(calls) < 40
        with client.makefile("rb") as lines:
            assert [len(read_answer(lines)[2]) for _ in range(40)] == [1_000_000] * 40
    server.stop()
    thread.join(PATIENCE)


def test_a_sender_that_has_said_its_last_gets_its_answer(web: Serving) -> None:
    with web.connect() as client:
        client.sendall(post(b"hello"))
        client.shutdown(socket.SHUT_WR)
        with client.makefile("rb") as lines:
            assert lines.read().endswith(b"\r\n\r\n5")


@pytest.mark.parametrize("headers", ["Connection: close\r\n", "Connection: Close\r\n"])
def test_a_connection_that_its_sender_wants_closed_is_closed(web: Serving, headers: str) -> None:
    with web.connect() as client:
        client.sendall(post(b"hello", headers=headers))
        with client.makefile("rb") as lines:
            assert read_answer(lines)[1]["Connection"] == "close"
            assert lines.read() == b""


def test_an_offer_of_another_protocol_is_ignored(web: Serving) -> None:
    with web.connect() as client:
        client.sendall(post(b"hello", headers="Connection: Upgrade\r\nUpgrade: h2c\r\n") + post(b"next"))
        with client.makefile("rb") as lines:
            assert [read_answer(lines)[2] for _ in range(2)] == [b"5", b"4"]


def test_a_sender_that_asks_first_is_told_to_go_on(web: Serving) -> None:
    with web.connect() as client:
        client.sendall(post(b"", length=5, headers="Expect: 100-continue\r\n"))
        assert client.recv(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"hello")
        assert answer(client)[::2] == (200, b"5")


def test_a_body_in_chunks_is_served_and_its_trailers_are_no_headers(web: Serving) -> None:
    with web.connect() as client:
        client.sendall(
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"2;x=y\r\nhe\r\n3\r\nllo\r\n0\r\nX-Kind: other\r\n\r\n"
        )
        assert answer(client)[::2] == (200, b"5")


def test_an_answer_to_head_has_no_body_and_the_next_one_is_read() -> None:
    def app(environ: dict[str, Any], start: Callable[..., Any]) -> list[bytes]:
        start("200 OK", [])
        return [environ["REQUEST_METHOD"].encode()]

    server, thread, connect = served(app)
    with connect() as client:
        client.sendall(b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n" + post(b""))
        with client.makefile("rb") as lines:
            head = [lines.readline() for _ in range(5)]
            assert (head[0], head[1], head[4]) == (b"HTTP/1.1 200 OK\r\n", b"Content-Length: 4\r\n", b"\r\n")
            assert read_answer(lines)[2] == b"POST"
    server.stop()
    thread.join(PATIENCE)


def test_a_header_that_poses_as_another_is_left_out() -> None:
    seen: list[dict[str, Any]] = []

    def app(environ: dict[str, Any], start: Callable[..., Any]) -> list[bytes]:
        seen.append(environ)
        start("200 OK", [])
        return [b"ok"]

    server, thread, connect = served(app)
    with connect() as client:
        client.sendall(post(b"", headers="X_Key: forged\r\nX-Twice: a\r\nX-Twice: b\r\n"))
        assert answer(client)[0] == 200
    assert "HTTP_X_KEY" not in seen[0]
    assert (seen[0]["HTTP_X_TWICE"], seen[0]["PATH_INFO"]) == ("a, b", "/")
    server.stop()
    thread.join(PATIENCE)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_app_that_raises_is_a_500_and_the_next_request_is_served(caplog: pytest.LogCaptureFixture) -> None:
    def app(environ: dict[str, Any], start: Callable[..., Any]) -> list[bytes]:
        raise ValueError("a mistake")

    server, thread, connect = served(app)
    with connect() as client:
        client.sendall(post(b"") + post(b""))
        with client.makefile("rb") as lines:
            assert [read_answer(lines)[0] for _ in range(2)] == [500, 500]
    server.stop()
    thread.join(PATIENCE)
    assert len(caplog.records) == 2


def test_an_answer_that_is_sent_later_holds_up_nobody_and_keeps_its_place() -> None:
    held: list[Callable[[Any], None]] = []

    def late(environ: dict[str, Any], start: Callable[..., Any]) -> list[bytes]:
        start("200 OK", [])
        return [b"late"]

    def app(environ: dict[str, Any], start: Callable[..., Any]) -> list[bytes]:
        if environ["wsgi.input"].read() == b"wait":
            held.append(environ.pop(DEFERRED))
            start("202 Accepted", [])
            return []
        for send in held:
            send(late)
        start("200 OK", [])
        return [b"at once"]

    server, thread, connect = served(app, in_loop=["/"])
    with connect() as waiting, connect() as other:
        waiting.sendall(post(b"wait") + post(b"second"))
        wait_for(lambda: bool(held))
        other.sendall(post(b"go on"))
        assert answer(other)[2] == b"at once"
        with waiting.makefile("rb") as lines:
            assert [read_answer(lines)[2] for _ in range(2)] == [b"late", b"at once"]
    server.stop()
    thread.join(PATIENCE)


def random_request(chance: random.Random) -> tuple[bytes, int]:
    """A request that is right, and the length of its body."""
    path, body = chance.choice(["/", "/later", "http://x/", "/%20?q=1"]), b"x" * chance.choice([0, 1, 5, 300, 70_000])
    extra = chance.choice(["", "Connection: Upgrade\r\nUpgrade: h2c\r\n", "Expect: 100-continue\r\n"])
    if chance.random() < 0.7:
        return f"POST {path} HTTP/1.1\r\n{extra}Content-Length: {len(body)}\r\n\r\n".encode() + body, len(body)
    size = chance.randint(1, len(body) + 1)
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
    return f"POST {path} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".encode() + chunks + b"0\r\n\r\n", len(body)


def spoilt(data: bytes, chance: random.Random) -> bytes:
    """The bytes with some of the first changed."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(min(len(changed), 200))
        changed[at : at + chance.randint(0, 3)] = chance.choices(b"\r\n :0aZ\0\xff", k=chance.randint(0, 5))
    return bytes(changed)


def test_a_sender_that_has_gone_before_its_last_answer_is_no_mistake_of_ours(
    web: Serving, caplog: pytest.LogCaptureFixture
) -> None:
    """An answer to a closed socket is a reset, often at once: before the end of the answer is announced."""
    for _ in range(20):
        with web.connect() as client:
            client.sendall(post(b"a", headers="Connection: close\r\n") + b"nonsense")
            assert web.entered.acquire(timeout=PATIENCE)
        web.gate.set()
        with web.connect() as client:
            client.sendall(post(b"hello"))
            assert answer(client)[0] == 200 and web.entered.acquire(timeout=PATIENCE)
        web.gate.clear()
    web.stop()
    assert not caplog.records and not web.server.connections


@search
@pytest.mark.parametrize("seed", range(tries(5, 200)))
def test_requests_cut_anywhere_are_answered_and_spoilt_ones_cost_nobody_else_anything(
    seed: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    chance = random.Random(seed)
    monkeypatch.setattr(serving, "READ_BYTES", chance.choice([100, 1000, 65536]))

    def app(environ: dict[str, Any], start: Callable[..., Any]) -> list[bytes]:
        body = str(len(environ["wsgi.input"].read())).encode()
        if environ["PATH_INFO"] == "/later":
            asyncio.get_running_loop().call_later(0.001, environ.pop(DEFERRED), lambda _, start: said(start, body))
        return said(start, body)

    def said(start: Callable[..., Any], body: bytes) -> list[bytes]:
        start("200 OK", [])
        return [body]

    server, thread, connect = served(app, in_loop=["/", "/later"])
    for _ in range(10):
        requests = [random_request(chance) for _ in range(chance.randint(1, 4))]
        with connect() as spoiler, connect() as client, client.makefile("rb") as lines:
            with suppress(OSError):  # it may be closed before it has come whole
                spoiler.sendall(spoilt(b"".join(request for request, _ in requests), chance))
            data = b"".join(request for request, _ in requests)
            while data:
                cut = chance.choice([1, 20, 3000, 100_000]) if len(data) < 3000 else 3000
                client.sendall(data[:cut])
                data = data[cut:]
            for _, length in requests:
                assert read_answer(lines)[::2] == (200, str(length).encode())
    server.stop()
    thread.join(PATIENCE)
    assert not caplog.records and server.body_bytes == 0


class Full(socket.socket):
    """A listener for which no file can be opened, until room is made."""

    is_full = True
    tries = 0

    def accept(self) -> tuple[socket.socket, Any]:
        if self.is_full:
            self.tries += 1
            raise OSError(errno.EMFILE, "Too many open files")
        return super().accept()


def test_while_no_file_can_be_opened_it_rests_says_so_and_goes_on_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "_QUIET_AGAIN_SECONDS", 0.1)
    alarms = Alarms(SystemClock())
    with Full(socket.AF_INET) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(8)
        app = Flask("test")
        app.add_url_rule("/", "view", lambda: "ok", methods=["POST"])
        server = WebServer(app, listener, alarms)
        thread = threading.Thread(target=server.run)
        thread.start()
        with socket.create_connection(listener.getsockname(), PATIENCE) as client:
            client.sendall(post(b"hello"))
            wait_for(lambda: listener.tries > 2)
            assert [alarm.name for alarm in alarms.current()] == ["connections-refused"]
            began, before = monotonic(), listener.tries
            wait_for(lambda: monotonic() > began + 0.5)
            assert listener.tries - before < 20, "the same connection is offered again and again"
            listener.is_full = False
            assert answer(client)[0] == 200
        wait_for(lambda: not alarms.current())
        server.stop()
        thread.join(PATIENCE)


def test_a_view_for_which_no_thread_can_be_started_is_answered_503(
    web: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched, web.connect() as client:
        patched.setattr(threading.Thread, "start", no_thread)
        client.sendall(post(b"hello"))
        assert answer(client)[0] == 503
    with web.connect() as client:
        client.sendall(post(b"hello"))
        assert answer(client)[0] == 200


def no_thread(self: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")
