"""An HTTP server for the web app: an event loop on an inherited socket, within limits, with a stop that drops no
request.

asyncio reads sockets, httptools (the parser of Node.js) reads requests. The view of an address in ``in_loop`` runs in
the loop itself: it must not wait for anything, but its answer may be sent later (`DEFERRED`). All other views run on a
few threads. An answer is sent when it is whole: nothing is streamed.

Senders are limited. A request that does not arrive in time ends with its connection, and so does the
slowest one when all places are taken. An oversized body is read to its end and thrown away, so that its sender gets the
413 and not a reset. Where the length of a request can be read in two ways it is refused, and nothing after it is read,
so that no second request hides in it. A stop answers what has arrived before it closes.
"""

import asyncio
import errno
import json
import socket
import sys
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import field
from email.utils import formatdate
from functools import lru_cache
from io import BytesIO
from time import monotonic, time
from typing import Any, cast
from urllib.parse import unquote_to_bytes

import httptools

from bot.core.alarms import Alarms
from bot.core.defects import found
from bot.core.immutable import mutable

THREADS = 8  # for the views that wait
CONNECTIONS = 480  # a process usually has 1024 files
BODY_BYTES = 1 << 20  # the largest event is a few kilobytes
BODIES_BYTES = 64 << 20  # of all requests that are not answered yet
DISCARDED_BYTES = 16 << 20  # of an oversized body; then its connection is simply closed
HEADER_BYTES = 32 << 10
READ_BYTES = 64 << 10
REQUEST_SECONDS = 30.0  # for a whole request to arrive, from connecting or from the last answer on
DRAIN_SECONDS = 8.0  # a sender gives up after 5
QUIET_SECONDS = 0.2  # how long a connection that is kept alive may use for a request that is on its way
_NO_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_REST_SECONDS = 0.1
_QUIET_AGAIN_SECONDS = 5.0  # after which the alarm is over
_ALARM = "connections-refused"
DEFERRED = "bot.later"
"""A key in the environment of a view that runs in the loop. Its value is a function, ``send(app)``. A view that takes
it out of the environment is answered later: by the WSGI app with which the function is called, once and in the loop's
thread. The view itself has to return a response as well, which is not sent.
"""

Environ = dict[str, Any]
App = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]
Answer = tuple[str, list[tuple[str, str]], bytes]
"""The status, the headers and the body."""


class WebServer:
    """Serves a WSGI app on a listening socket until `stop` is called, by a signal handler or another thread."""

    def __init__(
        self, app: App, listener: socket.socket, alarms: Alarms, threads: int = THREADS, in_loop: Collection[str] = ()
    ) -> None:
        self.app = app
        self._alarms = alarms
        self._refused_at: float | None = None  # the last connection that could not be accepted during the alarm
        self.in_loop = frozenset(in_loop)
        self.environ = _environ(*listener.getsockname()[:2])
        self.threads = ThreadPoolExecutor(threads, thread_name_prefix="web")
        self.buffer = memoryview(bytearray(READ_BYTES))  # what is read is parsed before anybody else reads
        self.connections: set[_Connection] = set()
        self.body_bytes = 0  # of all connections
        self.date = ""
        self.stopping = False
        self._listener = listener
        self._arriving: set[asyncio.Task[Any]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = asyncio.Event()

    def run(self) -> None:
        """Serve; after `stop`, answer what has arrived, close, and return."""
        asyncio.run(self._serve())

    def stop(self) -> None:
        """Ask `run` to end. Connections end with the answers that are given from now on."""
        self.stopping = True
        if self._loop is not None:
            with suppress(RuntimeError):  # it has ended
                self._loop.call_soon_threadsafe(self._stopped.set)

    async def _serve(self) -> None:
        self._loop = loop = asyncio.get_running_loop()
        loop.set_exception_handler(_on_defect)
        self._listener.setblocking(False)
        loop.call_soon(self._each_second, loop)
        if not self.stopping:
            loop.add_reader(self._listener, self._accept)
            await self._stopped.wait()
            loop.remove_reader(self._listener)
        await self._accept_waiting()
        self._listener.close()
        until = monotonic() + DRAIN_SECONDS
        while self.connections and monotonic() < until:
            for connection in list(self.connections):
                connection.close_if_quiet()
            await asyncio.sleep(0.02)
        for connection in list(self.connections):
            connection.abort()
        self.threads.shutdown(wait=False, cancel_futures=True)

    def _each_second(self, loop: asyncio.AbstractEventLoop) -> None:
        loop.call_later(1.0, self._each_second, loop)
        self.date = formatdate(time(), usegmt=True)
        now = monotonic()
        if self._refused_at is not None and now - self._refused_at > _QUIET_AGAIN_SECONDS:
            self._refused_at = None
            self._alarms.clear(_ALARM)
        for connection in [each for each in self.connections if each.waits()]:
            if now - connection.waiting_since > REQUEST_SECONDS:
                connection.abort()

    def _accept(self) -> bool:
        """Accept a connection; False if no connection waits."""
        try:
            client, _ = self._listener.accept()
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno not in _NO_ROOM:
                return True  # its sender has gone again
            self._rest(error)
            return False
        loop = asyncio.get_running_loop()
        client.setblocking(False)
        task = loop.create_task(loop.connect_accepted_socket(lambda: _Connection(self), client))
        self._arriving.add(task)
        task.add_done_callback(self._arrived)
        return True

    def _rest(self, error: OSError) -> None:
        """Make room, and accept no connection for a moment: the system would offer the same one without a pause."""
        self.make_room()
        what = f"connections wait, and are not accepted: {error.strerror}"
        self._alarms.report(_ALARM, what, "raise the limit (LimitNOFILE, ulimit -n), or end what uses the machine up")
        self._refused_at = monotonic()
        loop = asyncio.get_running_loop()
        if loop.remove_reader(self._listener):
            loop.call_later(_REST_SECONDS, self._go_on, loop)

    def _go_on(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self.stopping:
            loop.add_reader(self._listener, self._accept)

    def _arrived(self, task: asyncio.Task[Any]) -> None:
        self._arriving.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, OSError):  # else its sender has gone again
            found(error, "web", ends_process=False)

    async def _accept_waiting(self) -> None:
        """Take the connections that the system has completed already: closing the socket would reset them."""
        until = monotonic() + QUIET_SECONDS
        while self._accept() and monotonic() < until:
            await asyncio.sleep(0)
        while self._arriving:
            await asyncio.sleep(0)

    def make_room(self, of_bodies: bool = False) -> None:
        """Close the connection that has waited longest for its request; ``of_bodies``: only among those with a part of
        a body.
        """
        waiting = [each for each in self.connections if each.waits() and (each.body_bytes or not of_bodies)]
        if waiting:
            min(waiting, key=lambda connection: connection.waiting_since).abort()


def _on_defect(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """A callback has raised something. If it has read a connection, asyncio closes that connection; any other callback
    concerns the whole server.
    """
    defect = context.get("exception")
    if defect is None:
        loop.default_exception_handler(context)
    else:
        found(defect, "web", ends_process="transport" not in context)


def _refusal(status: str, message: str) -> Answer:
    return status, [("Content-Type", "application/json")], json.dumps({"ok": False, "message": message}).encode()


_NO_HTTP = _refusal("400 Bad Request", "this is no HTTP request")
_TWO_LENGTHS = _refusal("400 Bad Request", "it says in two ways how long its body is")
_LARGE_HEAD = _refusal("431 Request Header Fields Too Large", "the headers are too large")
_LARGE_BODY = _refusal("413 Content Too Large", "the body is too large")
_NO_THREAD = _refusal("503 Service Unavailable", "this machine can start no more threads now: try again")
_FAILED = _refusal("500 Internal Server Error", "internal server error")


class _Refused(Exception):
    """A request that no view sees."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer


@mutable
class _Request:
    """A request as it is read."""

    method: bytes = b""
    url: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)  # by their names in the environment
    head_is_whole: bool = False
    body: bytearray = field(default_factory=bytearray)
    keeps: bool = False  # the connection open, after its answer
    refusal: Answer | None = None  # the answer, where no view sees it


class _Connection(asyncio.BufferedProtocol):
    """A connection: reads requests, and answers one after the other."""

    _transport: asyncio.Transport

    def __init__(self, server: WebServer) -> None:
        self._server = server
        self._parser = httptools.HttpRequestParser(self)
        self._incoming: _Request | None = None
        self._queue: deque[_Request] = deque()
        self._answering: _Request | None = None
        self._read_bytes = 0  # since the last whole request
        self.body_bytes = 0  # of the requests that are here
        self.waiting_since = monotonic()
        self._discarding = False  # nothing that comes is read any more
        self._read_paused = False  # requests wait here, and no more are read
        self._write_paused = False  # the sender does not read its answers
        self._eof_received = False  # the sender has said its last

    def waits(self) -> bool:
        """True if the server waits for the sender: for its next request, or that it reads its answers."""
        return self._answering is None and (self._write_paused or not self._queue)

    def close_if_quiet(self) -> None:
        """Close it, unless a request is on its way."""
        if self.waits() and self._incoming is None and monotonic() - self.waiting_since > QUIET_SECONDS:
            self._transport.close()

    def abort(self) -> None:
        """Close it at once."""
        self._transport.abort()

    # what asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # that of a TCP connection
        self._server.connections.add(self)
        if len(self._server.connections) > CONNECTIONS:
            self._server.make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.connections.discard(self)
        self._queue.clear()
        self._answering = None
        self._server.body_bytes -= self.body_bytes
        self.body_bytes = 0

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._server.buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._read_bytes += nbytes
        if self._read_bytes > DISCARDED_BYTES:
            self.abort()
        elif not self._discarding:
            self._read(self._server.buffer[:nbytes])
            self._answer_next()

    def eof_received(self) -> bool:
        self._eof_received = True
        return bool(self._answering or self._queue)

    def pause_writing(self) -> None:
        self._write_paused = True

    def resume_writing(self) -> None:
        self._write_paused = False
        self._answer_next()

    # what the parser calls

    def _read(self, data: memoryview) -> None:
        try:
            while data:
                try:
                    self._parser.feed_data(data)
                    break
                except httptools.HttpParserUpgrade as upgrade:
                    data = memoryview(self._head_without_upgrade() + bytes(data[upgrade.args[0] :]))
                    self._parser = httptools.HttpRequestParser(self)
            if self._incoming and not self._incoming.head_is_whole and self._read_bytes > HEADER_BYTES:
                raise _Refused(_LARGE_HEAD)
        except (_Refused, httptools.HttpParserError) as error:
            cause = error if isinstance(error, _Refused) else error.__context__  # of what a callback raises
            if isinstance(error, httptools.HttpParserCallbackError) and not isinstance(cause, _Refused):
                raise cause or error from None  # a defect of ours
            request, self._incoming, self._discarding = self._incoming or _Request(), None, True
            request.refusal = cause.answer if isinstance(cause, _Refused) else _NO_HTTP
            self._queue.append(request)

    def _head_without_upgrade(self) -> bytes:
        """The head of a request that offers another protocol, which some clients always do: it is read without that."""
        request = self._incoming
        if request is None or request.method == b"CONNECT":
            raise _Refused(_NO_HTTP)
        headers = {key.removeprefix("HTTP_").replace("_", "-"): value for key, value in request.headers.items()}
        del headers["UPGRADE"]
        kept = "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode("latin-1")
        return request.method + b" " + request.url + b" HTTP/1.1\r\n" + kept + b"\r\n"

    def on_message_begin(self) -> None:
        self._incoming = _Request()

    def on_url(self, url: bytes) -> None:
        assert self._incoming is not None
        self._incoming.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        request, key = self._incoming, _key(name)
        assert request is not None
        if key is None or request.head_is_whole:
            return  # a trailer may contradict a header
        headers, text = request.headers, value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text

    def on_headers_complete(self) -> None:
        request = self._incoming
        assert request is not None
        request.head_is_whole = True
        request.method = self._parser.get_method()
        headers = request.headers
        if self._read_bytes > HEADER_BYTES and sum(map(len, (*headers, *headers.values()))) > HEADER_BYTES:
            raise _Refused(_LARGE_HEAD)
        if "HTTP_TRANSFER_ENCODING" in headers:
            self._check_coding(headers)
        if "HTTP_EXPECT" in headers and not (self._answering or self._queue):
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _check_coding(self, headers: Mapping[str, str]) -> None:
        """Refuse what a proxy before us may take for a body of another length; the parser has refused the worst."""
        is_chunked = headers["HTTP_TRANSFER_ENCODING"].lower() == "chunked" and "CONTENT_LENGTH" not in headers
        if not is_chunked or self._parser.get_http_version() != "1.1":
            raise _Refused(_TWO_LENGTHS)

    def on_body(self, body: bytes) -> None:
        request, server = self._incoming, self._server
        assert request is not None
        if request.refusal is not None:
            return
        request.body += body
        self.body_bytes += len(body)
        server.body_bytes += len(body)
        if len(request.body) > BODY_BYTES:
            request.refusal = _LARGE_BODY
            self._forget_body(request)
        elif server.body_bytes > BODIES_BYTES:
            server.make_room(of_bodies=True)

    def on_message_complete(self) -> None:
        if self._parser.should_upgrade():
            return  # its body has not been read
        request, self._incoming = self._incoming, None
        assert request is not None
        request.keeps = self._parser.should_keep_alive()
        self._queue.append(request)
        self._read_bytes = 0

    def _forget_body(self, request: _Request) -> None:
        self.body_bytes -= len(request.body)
        self._server.body_bytes -= len(request.body)
        request.body = bytearray()

    # answers

    def _answer_next(self) -> None:
        """Answer the next request, unless the last one is not answered yet or its answer is not read."""
        if self._queue and not (self._answering or self._write_paused):
            self._answering = request = self._queue.popleft()
            try:
                if request.refusal is not None:
                    raise _Refused(request.refusal)
                environ = self._environ(request)
            except _Refused as refused:
                self._send(request, refused.answer)
            else:
                here = environ["PATH_INFO"] in self._server.in_loop
                (self._answer_here if here else self._answer_in_thread)(request, environ)
        if bool(self._queue) is not self._read_paused:
            self._read_paused = not self._read_paused
            (self._transport.pause_reading if self._read_paused else self._transport.resume_reading)()
        if self._queue and not (self._answering or self._write_paused):
            asyncio.get_running_loop().call_soon(self._answer_next)  # the other connections have their turn first

    def _answer_here(self, request: _Request, environ: Environ) -> None:
        environ[DEFERRED] = lambda app: self._answered(request, _answer_of(app, environ))
        answer = _answer_of(self._server.app, environ)
        if environ.pop(DEFERRED, None) is not None:
            self._send(request, answer)

    def _answer_in_thread(self, request: _Request, environ: Environ) -> None:
        def ended(future: asyncio.Future[Answer]) -> None:
            if not future.cancelled():
                self._answered(request, future.result())

        loop = asyncio.get_running_loop()
        try:
            answer = loop.run_in_executor(self._server.threads, _answer_of, self._server.app, environ)
        except RuntimeError:  # no thread can be started now
            self._send(request, _NO_THREAD)
        else:
            answer.add_done_callback(ended)

    def _answered(self, request: _Request, answer: Answer) -> None:
        if self._answering is request:  # else the connection is lost
            self._send(request, answer)
            self._answer_next()

    def _send(self, request: _Request, answer: Answer) -> None:
        keeps = request.keeps and not self._server.stopping and not (self._eof_received and not self._queue)
        self._forget_body(request)
        self._answering = None
        self.waiting_since = monotonic()
        status, headers, body = answer
        head = _head(status, tuple(headers), len(body), keeps, self._server.date)
        self._transport.write(head + body if request.method != b"HEAD" else head)
        if not keeps:
            self._queue.clear()
            if self._discarding:  # closed now, it would be reset before the sender has read the answer
                self._end_answers()
            else:
                self._transport.close()

    def _end_answers(self) -> None:
        """Say that nothing more will be sent; a sender that has gone has reset the connection already."""
        try:
            self._transport.write_eof()
        except OSError:
            self._transport.abort()

    def _environ(self, request: _Request) -> Environ:
        path, query = _path_and_query(request.url)
        return {
            **self._server.environ,
            **request.headers,
            "REQUEST_METHOD": request.method.decode(),
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "wsgi.input": BytesIO(request.body),
        }


def _environ(host: str, port: int) -> Environ:
    """The part of the environment that is the same for all requests (PEP 3333)."""
    return {
        "SCRIPT_NAME": "",
        "SERVER_NAME": host,
        "SERVER_PORT": str(port),
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        "wsgi.input_terminated": True,  # it ends where the body ends
    }


@lru_cache(256)
def _key(name: bytes) -> str | None:
    """A header's name in the environment. An underscore would make ``X_Forwarded`` pass for ``X-Forwarded``."""
    if b"_" in name:
        return None
    key = name.decode("latin-1").upper().replace("-", "_")
    return key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"


@lru_cache(256)
def _path_and_query(url: bytes) -> tuple[str, str]:
    try:
        parsed = httptools.parse_url(url)
    except httptools.HttpParserInvalidURLError:
        raise _Refused(_NO_HTTP) from None
    path = parsed.path or b"/"
    return unquote_to_bytes(path).decode("latin-1"), (parsed.query or b"").decode("latin-1")


def _answer_of(app: App, environ: Environ) -> Answer:
    """Run an app, and return its answer: a 500 if it raises."""
    said: list[Any] = []
    try:
        parts = app(environ, lambda status, headers, exc_info=None: said.extend((status, headers)))
        try:
            body = b"".join(parts)
        finally:
            if hasattr(parts, "close"):
                parts.close()
        status, headers = said
        return status, headers, body
    except Exception as defect:
        found(defect, "web", ends_process=False)
        return _FAILED


@lru_cache(256)
def _head(status: str, headers: tuple[tuple[str, str], ...], length: int, keeps: bool, date: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in headers if name != "Content-Length")]
    lines.append(
        f"Content-Length: {length}\r\nDate: {date}\r\nConnection: {'keep-alive' if keeps else 'close'}\r\n\r\n"
    )
    return "\r\n".join(lines).encode("latin-1")
