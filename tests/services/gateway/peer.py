"""A peer on loopback that answers exactly as a test scripts it, byte for byte where need be."""

import json
import socket
import ssl
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pytest

Answer = Callable[[socket.socket], bool]  # writes an answer; True keeps the connection open


@dataclass
class Request:
    path: str
    headers: dict[str, str]
    body: Any
    connection: int  # which connection it came on: 1, 2, ...
    raw: bytes
    method: str


def http_bytes(status: int, body: bytes, headers: dict[str, str] | None = None) -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def answer(status: int, body: Any, headers: dict[str, str] | None = None) -> Answer:
    """A whole answer; anything but bytes is sent as JSON."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return raw(http_bytes(status, content, headers), keep=True)


def raw(data: bytes, *, keep: bool = False) -> Answer:
    def write(connection: socket.socket) -> bool:
        connection.sendall(data)
        return keep

    return write


def accepted(number: int = 1, headers: dict[str, str] | None = None) -> Answer:
    return answer(200, {"success": True, "data": {"messageId": f"m{number}", "chatMessageId": f"c{number}"}}, headers)


def refused(
    code: str, status: int, message: str = "no", headers: dict[str, str] | None = None, **details: Any
) -> Answer:
    error = {"code": code, "message": message, **({"details": details} if details else {})}
    return answer(status, {"success": False, "error": error}, headers)


def reset(connection: socket.socket) -> bool:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    return False


def hang_up(connection: socket.socket) -> bool:
    return False


def too_late(request: Callable[[], object], unsent: type[Exception]) -> Exception:
    """The error of a request with a short time, made again where that was over (``unsent``) before the request had left."""
    with pytest.raises(Exception) as raised:
        request()
    return too_late(request, unsent) if isinstance(raised.value, unsent) else raised.value


class Peer:
    """Takes requests on loopback and gives each the next scripted answer; when there is none, it accepts.

    ``tls`` is what it shakes hands with, if it does.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self.requests: list[Request] = []
        self.script: deque[Answer] = deque()
        self.by_default: Answer = accepted()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = int(self._listener.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}" if tls is None else f"https://localhost:{self.port}"
        self._changed = threading.Condition()
        self._connections: list[socket.socket] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def answers(self, *answers: Answer) -> None:
        self.script.extend(answers)

    def wait_for_requests(self, count: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.requests) >= count, 20), f"only {len(self.requests)} came"

    def close_connections(self) -> None:
        """Hang up on everybody, as a server does with idle connections."""
        with self._changed:
            for connection in self._connections:
                connection.shutdown(socket.SHUT_RDWR)
            self._connections.clear()

    def says_unasked(self, data: bytes) -> None:
        """Send something on each connection, which nobody has asked for."""
        with self._changed:
            for connection in self._connections:
                connection.sendall(data)

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts, which holds the port
        self._listener.close()
        for connection in self._connections:
            connection.close()

    def _listen(self) -> None:
        number = 0
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            number += 1
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._changed:
                self._connections.append(connection)
            threading.Thread(target=self._serve, args=(connection, number), daemon=True).start()

    def _serve(self, connection: socket.socket, number: int) -> None:
        if self._tls is not None:
            try:
                connection = self._tls.wrap_socket(connection, server_side=True)
            except OSError:  # refused by the other side
                return
        with connection, connection.makefile("rb") as stream:
            try:
                while request := _read(stream, number):
                    with self._changed:
                        self.requests.append(request)
                        write = self.script.popleft() if self.script else self.by_default
                        self._changed.notify_all()
                    if not write(connection):
                        return
            except (OSError, ValueError):  # hung up, or no HTTP (TLS, say)
                pass


def _read(stream: Any, number: int) -> Request | None:
    line = stream.readline()
    if not line:
        return None
    headers: dict[str, str] = {}
    while (header := stream.readline().decode().strip()) != "":
        name, _, value = header.partition(":")
        headers[name.lower()] = value.strip()
    body = stream.read(int(headers.get("content-length", 0)))
    method, path, _ = line.decode().split()
    is_form = "form" in headers.get("content-type", "")
    return Request(path, headers, json.loads(body) if body and not is_form else None, number, body, method)


@contextmanager
def peer(tls: ssl.SSLContext | None = None) -> Iterator[Peer]:
    running = Peer(tls)
    try:
        yield running
    finally:
        running.close()
