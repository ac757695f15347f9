"""The HTTP server of both emulators (a thread for each connection), and reading JSON."""

import json
import select
import selectors
import socket
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from email.utils import formatdate
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from typing import Any, NoReturn
from urllib.parse import unquote_to_bytes

from bot.core.defects import guard

GONE = "emulator.gone"
"""The key in a request's environment of a function that returns whether its client has closed the connection."""
CONNECTION = "emulator.connection"
"""The key in a request's environment of its socket."""
_STATUS = {status.value: f"{status.value} {status.phrase}" for status in HTTPStatus}
_STOP_SECONDS = 1.0
_LINE = 1000  # bytes of the line with the length of a chunk


class CutOff(Exception):
    """Raised by an application to close the connection without an end of the answer."""


class EmulatorServer:
    """Serves a WSGI application on the loopback; the port is taken at once.

    ``threads`` requests are answered at a time.
    """

    def __init__(self, app: Callable[..., Iterable[bytes]], port: int, threads: int) -> None:
        self._server = _Server(app, port, threads)
        self.port: int = self._server.server_address[1]
        self._ends, self._end = socket.socketpair()
        self._thread = threading.Thread(target=guard(self._accept), name="emulator-http", daemon=True)

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Close every connection once its request is answered, and end the threads."""
        with suppress(OSError):  # the thread has ended by itself
            self._end.shutdown(socket.SHUT_RDWR)  # a mere close() ends nothing while a child process has a copy
        self._thread.join()
        self._end.close()
        self._server.end_connections()
        self._server.server_close()

    def _accept(self) -> None:
        """Take connections until `stop` shuts the other end of a pair of sockets down: nothing is polled."""
        with self._ends, selectors.DefaultSelector() as waiting:
            waiting.register(self._server, selectors.EVENT_READ)
            waiting.register(self._ends, selectors.EVENT_READ)
            while all(key.fileobj is self._server for key, _ in waiting.select()):
                self._server.handle_request()


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # so that closing waits for them
    request_queue_size = 1024
    timeout = 0  # a connection that has gone is not waited for: `EmulatorServer` waits

    def __init__(self, app: Callable[..., Iterable[bytes]], port: int, threads: int) -> None:
        self.app = app
        self.free = threading.Semaphore(threads)
        self._connections: set[socket.socket] = set()
        self._closed = threading.Condition()
        super().__init__(("127.0.0.1", port), _Connection)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.add(request)
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        threading.current_thread().name = "emulator-http"
        super().process_request_thread(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._closed:
            self._connections.discard(request)
            self._closed.notify_all()
        self.close_request(request)  # a shutdown would come before the reset that a fault may want

    def end_connections(self) -> None:
        """Read no more requests from the connections; after a moment, also drop answers that nobody reads."""
        self._shut(socket.SHUT_RD)
        with self._closed:
            self._closed.wait_for(lambda: not self._connections, _STOP_SECONDS)
        self._shut(socket.SHUT_RDWR)

    def _shut(self, how: int) -> None:
        for connection in list(self._connections):
            with suppress(OSError):
                connection.shutdown(how)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Close the connection: its client has, or the application has been cut off."""


class _Connection(BaseHTTPRequestHandler):
    """Answers the requests of a connection, one after the other."""

    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):
            return self._answer  # whatever the method
        raise AttributeError(name)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""

    def _answer(self) -> None:
        environ = self._environ()
        with self.server.free:
            answer = _Answer(self.wfile)
            try:
                parts = self.server.app(environ, answer.begin)
                try:
                    for part in parts:
                        answer.write(part)
                    self.close_connection |= not answer.end()
                finally:
                    getattr(parts, "close", lambda: None)()
            except BaseException:
                self.close_connection = True
                raise

    def _environ(self) -> dict[str, Any]:
        path, _, query = self.path.partition("?")
        environ = {
            "REQUEST_METHOD": self.command,
            "SCRIPT_NAME": "",
            "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
            "QUERY_STRING": query,
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": str(self.server.server_address[1]),
            "SERVER_PROTOCOL": self.request_version,
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.multithread": True,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
            GONE: self._is_gone,
            CONNECTION: self.connection,
        }
        for name, value in self.headers.items():
            key = name.upper().replace("-", "_")
            environ[key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"] = value
        body = self._body()
        return environ | {"CONTENT_LENGTH": str(len(body)), "wsgi.input": BytesIO(body)}

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        chunks = []
        while size := int(self.rfile.readline(_LINE).partition(b";")[0], 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline(_LINE)
        while self.rfile.readline(_LINE).strip():
            pass
        return b"".join(chunks)

    def _is_gone(self) -> bool:
        try:
            readable = select.poll()
            readable.register(self.connection, select.POLLIN)
            return bool(readable.poll(0)) and not self.connection.recv(1, socket.MSG_PEEK)
        except OSError:
            return True


class _Answer:
    """Writes an answer: in chunks, where its length is not known."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._head = b""
        self._chunked = False
        self._left = 0  # bytes of the body, of those that the head has announced

    def begin(self, status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Callable[[bytes], None]:
        """Take the head, which goes out with the first part; what is returned writes a part."""
        lengths = [int(value) for name, value in headers if name.lower() == "content-length"]
        self._chunked, self._left = not lengths, sum(lengths)
        lines = [f"HTTP/1.1 {status}", f"Date: {formatdate(usegmt=True)}"]
        lines += [f"{name}: {value}" for name, value in headers]
        lines += ["Transfer-Encoding: chunked"] * self._chunked
        self._head = "\r\n".join((*lines, "\r\n")).encode("latin-1")
        return self.write

    def write(self, part: bytes) -> None:
        """Write a part of the body."""
        framed = b"%x\r\n%s\r\n" % (len(part), part) if self._chunked and part else part
        self._left -= len(part)
        head, self._head = self._head, b""
        self._file.write(head + framed)
        self._file.flush()

    def end(self) -> bool:
        """Write what says that this is all; False where more was announced."""
        self._file.write(self._head + b"0\r\n\r\n" * self._chunked)
        self._file.flush()
        return self._chunked or self._left == 0


def status_line(status: int) -> str:
    """An HTTP status in the form of WSGI. An unknown status has no words."""
    return _STATUS.get(status, str(status))


def read_object(raw: bytes) -> dict[str, Any]:
    """A body as a JSON object. Raises `ValueError` or `RecursionError` for anything else, NaN and Infinity included."""
    body = json.loads(raw, parse_constant=_no_number)
    if not isinstance(body, dict):
        raise ValueError("the body must be a JSON object")
    return body


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")
