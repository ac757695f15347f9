"""An HTTP client for one peer: a deadline for the whole exchange, and errors that say what is certain.

All requests of a process run on one thread, in libcurl, because a thread for each would cost more than the request:
urllib3 with threads takes six times the CPU.
`HttpClient.begin` returns at once, and calls back; the other methods wait.

By default libcurl repeats a request without a word if a kept connection breaks before the answer. That must not happen
here: a body is handed over in a way that libcurl cannot rewind, and a request without a body that changes something
gets a new connection.
"""

import math
import os
import select
import socket
import sys
import threading
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from itertools import repeat
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

import pycurl

from bot.core.alarms import Alarms
from bot.core.clock import Clock
from bot.core.defects import found, guard
from bot.core.immutable import immutable
from bot.core.text import without_secret
from bot.services.operators_network import (
    HOW_TO_NAME_A_PROXY,
    in_words,
    is_proxy,
    proxy_of,
    trusted,
    why_no_connection,
)
from bot.services.request_errors import Ambiguous, DeadlinePassed, HttpError, NotSent, Oversized, Silent

CONNECT_SECONDS = 10.0  # for looking up a name, connecting and shaking hands
UNREACHED_SECONDS = 60.0
KEPT_CONNECTIONS = 256
_WITH_BODY = ("POST", "PUT", "PATCH")


class Headers(dict[str, str]):
    """An answer's headers, found by their names in any case; iterated, the names are in small letters."""

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a header, or the default."""
        return dict.get(self, name.lower(), default)

    def __getitem__(self, name: str) -> str:
        return super().__getitem__(name.lower())

    def __contains__(self, name: object) -> bool:
        return super().__contains__(str(name).lower())


@immutable
class Response:
    """A whole answer. Header names are found in any case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def without(self, key: str) -> "Response":
        """The answer with ``[key]`` in place of this key: a refusal may quote it, and its words are kept and shown."""
        if key.encode() not in self.body:
            return self
        body = without_secret(self.body.decode("latin-1"), key.encode().decode("latin-1"), "[key]")
        return Response(self.status, self.headers, body.encode("latin-1"))


@immutable
class Streamed:
    """An answer while it comes. ``chunks`` are the body's bytes, each as soon as it is there.

    ``certificate_ends`` returns, while the stream is open, until when the peer's certificate is valid; None without
    TLS. ``end_within`` sets the number of seconds after which ``chunks`` end at the latest.
    """

    status: int
    headers: Mapping[str, str]
    chunks: Iterator[bytes]
    certificate_ends: Callable[[], datetime | None] = lambda: None
    end_within: Callable[[float], None] = lambda seconds: None

    def whole(self) -> Response:
        """The whole answer, once all of it is there."""
        return Response(self.status, self.headers, b"".join(self.chunks))


class ReachabilityAlarm:
    """An alarm when a service has not answered for longer than a minute, until it does.

    Safe to use from many threads. ``service`` is its name in the alarm, ``trouble`` says what happens meanwhile, and
    ``advice`` what to do if the cause has no advice of its own.
    """

    def __init__(
        self, alarms: Alarms, clock: Clock, name: str, service: str, advice: str, trouble: str = "gives no answer"
    ) -> None:
        self._alarms = alarms
        self._clock = clock
        self._name = name
        self._what = f"{service} {trouble}"
        self._advice = advice
        self._lock = threading.Lock()
        self._since: float | None = None  # no answer

    def failed(self, what: str, advice: str) -> None:
        """Note that no answer came, why, and what the operator can do."""
        with self._lock:
            now = self._clock.elapsed()
            if self._since is None:
                self._since = now
            if now - self._since >= UNREACHED_SECONDS:
                self._alarms.report(self._name, f"{self._what}: {what}", advice or self._advice)

    def answered(self) -> None:
        """Note that the service has answered."""
        if self._since is None:
            return
        with self._lock:
            self._since = None
            self._alarms.clear(self._name)


def wait_for(begin: Callable[[Callable[[Any], None]], None]) -> Any:
    """Begin something that calls back with its result or its error, and wait for it. Raises the error."""
    results: SimpleQueue[Any] = SimpleQueue()
    begin(results.put)
    result = results.get()
    if isinstance(result, Exception):
        raise result
    return result


class HttpClient:
    """Sends requests to one peer. No redirects, no cookies, no retries: those are the caller's decisions.

    ``seconds`` is the time for a whole exchange, from looking up the host's name to the last byte; ``body_limit`` is
    the most bytes of an answer's body, counted after unpacking (gzip is asked for). With
    ``address`` nothing is looked up: that IP address is connected to, as the host that the URL names. ``own`` says that
    the operator has named the host, and nobody else can bend it: then the certificates and the proxies of the
    environment are used (docs/going-live.md). ``reach`` is called when the peer gives no answer, and when it does.
    """

    def __init__(
        self,
        url: str,
        *,
        seconds: float = 30.0,
        body_limit: int = 1 << 20,
        address: str | None = None,
        own: bool = False,
        reach: ReachabilityAlarm | None = None,
    ) -> None:
        parts = urlsplit(url)
        self._peer = parts.netloc.rpartition("@")[2]
        self._prefix = f"{parts.scheme}://{self._peer}{parts.path.rstrip('/')}"
        self._own = own
        self._reach = reach
        self._body_limit = body_limit
        self._options = _options(seconds)
        self._proxy = proxy_of(url) if own and address is None else None
        if parts.scheme == "https" or (self._proxy or "").startswith("https:"):
            self._options |= trusted(os.environ if own else {})
        if self._proxy is not None:
            self._options[pycurl.PROXY] = self._proxy
        self._unusable = self._proxy is not None and not is_proxy(self._proxy)
        if address is not None:
            port = parts.port or (443 if parts.scheme == "https" else 80)
            pinned = f"[{address}]" if ":" in address else address
            self._options[pycurl.CONNECT_TO] = [f"{self._peer.removesuffix(f':{port}')}:{port}:{pinned}:{port}"]
        self._unused: deque[_Whole] = deque()
        self.unasked_at = -math.inf  # when the peer last closed a connection that was kept, or sent something on it

    def begin(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
        done: Callable[[Response | HttpError], None],
    ) -> None:
        """Begin a request, and return. ``done`` gets the whole answer, whatever its status, or a `NotSent` or
        `Ambiguous`.

        ``done`` is called on the thread that all requests share: it must not wait for anything.
        """
        if self._unusable:
            done(self._no_proxy())
            return
        try:
            exchange = self._unused.pop()
        except IndexError:
            exchange = _Whole(self)
        exchange.done = done
        exchange.ask(method, self._prefix + path, body, headers)
        loop = _loop()
        loop.run(partial(loop.begin, exchange))

    def after_answers(self, call: Callable[[], object]) -> None:
        """Have something done on the thread that all requests share, once it has called back with the answers that are
        there.
        """
        _loop().run(call)

    def get(self, path: str, headers: Mapping[str, str]) -> Response:
        """Send a GET and read the whole answer, whatever its status. Raises `NotSent` or `Ambiguous`."""
        answer: Response = wait_for(lambda done: self.begin("GET", path, None, headers, done))
        return answer

    def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> Response:
        """Send a POST and read the whole answer, whatever its status. Raises `NotSent` or `Ambiguous`."""
        answer: Response = wait_for(lambda done: self.begin("POST", path, body, headers, done))
        return answer

    @contextmanager
    def stream(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
        *,
        idle_seconds: float,
        seconds: float,
        first_seconds: float | None = None,
    ) -> Iterator[Streamed]:
        """Send a request and read its answer while it comes.

        ``seconds`` is the time for all of it, ``idle_seconds`` the longest wait for something to come: for the head,
        and for each next byte; ``first_seconds``, where it is given, for the head and the first byte behind it.
        Leaving before the end closes the connection. Raises `NotSent` or `Ambiguous`; after the head,
        ``chunks`` raises them.
        """
        if self._unusable:
            raise self._no_proxy()
        exchange = _Stream(self, seconds, idle_seconds if first_seconds is None else first_seconds)
        exchange.ask(method, self._prefix + path, body, headers)
        loop = _loop()
        loop.run(partial(loop.begin, exchange))
        try:
            status, found = exchange.head()
            yield Streamed(status, found, exchange.chunks(idle_seconds), exchange.certificate_ends, exchange.end_within)
        finally:
            loop.run(exchange.leave)

    def close(self) -> None:
        """Give back what was kept for the next requests. Connections close when they have not been used for a while."""
        while self._unused:
            self._unused.pop().curl.close()

    def _failed(self, exchange: "_Exchange", code: int, text: str) -> HttpError:
        """The exception for an error of libcurl: `NotSent` as long as it has not taken the request's body."""
        if exchange.size > self._body_limit:
            error: HttpError = Oversized(f"no whole answer from {self._peer}: more than {self._body_limit} bytes")
        elif exchange.left():
            kind = DeadlinePassed if code == pycurl.E_OPERATION_TIMEDOUT else Ambiguous
            error = kind(f"no whole answer from {self._peer}: {in_words(exchange.curl, code)}")
        else:
            why, advice = why_no_connection(exchange.curl, code, text, self._peer, self._proxy)
            error = NotSent(f"no connection to {self._peer}: {why}", advice if self._own else "")
        return self._reported(error)

    def _no_proxy(self) -> HttpError:
        why = "the address of the proxy in the environment cannot be read"
        return self._reported(NotSent(f"no connection to {self._peer}: {why}", HOW_TO_NAME_A_PROXY))

    def _reported(self, error: HttpError) -> HttpError:
        if self._reach is not None:
            self._reach.failed(str(error), error.advice)
        return error

    def _timed_out(self, deadline: float) -> HttpError:
        kind = Silent if monotonic() < deadline else DeadlinePassed
        return self._reported(kind(f"no whole answer from {self._peer}: timed out"))


class _Exchange:
    """A request that is under way, and the part of its answer that has come."""

    def __init__(self, client: HttpClient) -> None:
        self.client = client
        self.lines: list[bytes] = []
        self.size = 0
        self._unpacked: _Unpacked | None = None
        self._body = BytesIO()
        self._asked = ("", "")
        self.unrepeatable = False
        self.curl = new_handle()
        self.fresh = False  # whether it asks for a new connection
        for option, value in client._options.items():
            self.curl.setopt(option, value)
        self.curl.setopt(pycurl.READFUNCTION, self._body.read)
        self.curl.setopt(pycurl.WRITEFUNCTION, self._write)

    def ask(self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> None:
        if body is None and method in _WITH_BODY:
            body = b""
        self.lines.clear()
        self.size = 0
        self._unpacked = None
        self._body.seek(0)
        self._body.truncate()
        self._body.write(body or b"")
        self._body.seek(0)
        curl, lines = self.curl, [f"{name}: {value}" if value else f"{name};" for name, value in headers.items()]
        names = {name.lower() for name in headers}
        if "accept-encoding" not in names:
            lines.append("Accept-Encoding: gzip")
        if body is not None:
            curl.setopt(pycurl.POSTFIELDSIZE, len(body))
            lines.append("Expect:")
            if "content-type" not in names:
                lines.append("Content-Type:")
        if (method, url) != self._asked:
            self._asked = method, url
            curl.setopt(pycurl.URL, url)
            curl.setopt(pycurl.HTTPGET if body is None else pycurl.POST, 1)
            curl.setopt(pycurl.CUSTOMREQUEST, method)
        curl.setopt(pycurl.HTTPHEADER, lines)
        self.unrepeatable = not body and method != "GET"

    def ended(self, code: int, text: str) -> None:
        """Libcurl is done with it. On the loop's thread."""
        raise NotImplementedError

    def failure(self, code: int, text: str, status: int) -> HttpError | None:
        """The exception for a request that failed; None if it did not. ``status`` is the answer's, 0 without a head."""
        unpacked = self._unpacked
        if not code and (not status or (unpacked is not None and unpacked.is_cut)):
            code = pycurl.E_PARTIAL_FILE
        if unpacked is not None and unpacked.is_broken:
            code = pycurl.E_BAD_CONTENT_ENCODING
        if not code:
            return None
        return self.client._failed(self, code, text)

    def left(self) -> bool:
        """True if libcurl has taken some of the request."""
        return self._body.tell() > 0 or bool(self.curl.getinfo(pycurl.REQUEST_SIZE))

    def _write(self, data: bytes) -> int | None:
        """Take what has come of the body; -1 ends the request. A body that is not compressed, although its header says
        so, passes unchanged.
        """
        if self._unpacked is None and not self.size and data.startswith(_GZIP) and _says_gzip(self.lines):
            self._unpacked = _Unpacked()
        room = self.client._body_limit + 1 - self.size  # what is one byte too long need not be unpacked further
        for part in (data,) if self._unpacked is None else self._unpacked.parts(data, room):
            self.size += len(part)
            if self.size > self.client._body_limit:
                return -1
            self._receive(part)
        return -1 if self._unpacked is not None and self._unpacked.is_broken else None

    def _receive(self, data: bytes) -> None:
        """Keep or pass on some bytes of the body."""
        raise NotImplementedError


class _Unpacked:
    """Decompresses a body as it comes."""

    def __init__(self) -> None:
        self._zlib: Any = None
        self.is_broken = False

    def parts(self, data: bytes, room: int) -> Iterator[bytes]:
        """The bytes that these unpack to, at most ``room`` at a time."""
        while data and not self.is_broken:
            if self._zlib is None or self._zlib.eof:  # a body may be compressed in several pieces
                if not data.startswith(_GZIP):
                    return  # what pads it
                self._zlib = zlib.decompressobj(zlib.MAX_WBITS | 16)
            try:
                yield self._zlib.decompress(data, room)
            except zlib.error:
                self.is_broken = True
            data = self._zlib.unconsumed_tail or self._zlib.unused_data

    @property
    def is_cut(self) -> bool:
        """True if its end has not come."""
        return self._zlib is not None and not self._zlib.eof


_GZIP = b"\x1f"  # its first byte, with which no text begins


def _says_gzip(lines: Iterable[bytes]) -> bool:
    """True if a header says that the body is compressed."""
    return any(line.startswith(b"content-encoding:") and b"gzip" in line for line in map(bytes.lower, lines))


class _Whole(_Exchange):
    """A request whose answer is wanted whole. It can be asked again once it is done with."""

    done: Callable[[Response | HttpError], None]

    def __init__(self, client: HttpClient) -> None:
        super().__init__(client)
        self._chunks: list[bytes] = []
        self.curl.setopt(pycurl.HEADERFUNCTION, self.lines.append)

    def ended(self, code: int, text: str) -> None:
        status, headers = _head(self.lines)
        error, done = self.failure(code, text, status), self.done
        if error is None:
            if self.client._reach is not None:
                self.client._reach.answered()
            answer: Response | HttpError = Response(status, headers, b"".join(self._chunks))
        else:
            answer = error
        self._chunks.clear()
        self.client._unused.append(self)
        done(answer)

    def _receive(self, data: bytes) -> None:
        self._chunks.append(data)


_BLANK = (b"\r\n", b"\n")


def _head(lines: list[bytes]) -> tuple[int, Headers]:
    """The status and the headers of the answer; 0 while its head has not come whole.

    Interim answers come before the head, trailers behind the body: libcurl gives all their lines. Values of one name
    are joined by commas.
    """
    began = 0
    for end, line in enumerate(lines):
        if line in _BLANK:
            status = int(lines[began].split(None, 2)[1][:3])
            if status >= 200:
                return status, _headers(lines[began + 1 : end])
            began = end + 1
    return 0, Headers()


def _headers(lines: Iterable[bytes]) -> Headers:
    found: dict[str, str] = {}
    for field in b"".join(lines).decode("latin-1").split("\n"):
        name, colon, value = field.partition(":")
        if colon:
            name, value = name.lower(), value.strip()
            found[name] = f"{found[name]}, {value}" if name in found else value
    return Headers(found)


class _Stream(_Exchange):
    """A request whose answer is read, by another thread, while it comes."""

    def __init__(self, client: HttpClient, seconds: float, first: float) -> None:
        super().__init__(client)
        self._first = first
        self._deadline = monotonic() + seconds
        self._come: SimpleQueue[bytes | HttpError | None] = SimpleQueue()
        self._enough = self._deadline  # what comes later is not read
        self._over = False
        for option, value in _timeouts(seconds).items():
            self.curl.setopt(option, value)
        self.curl.setopt(pycurl.HEADERFUNCTION, self._header)
        self.curl.setopt(pycurl.OPT_CERTINFO, 1)

    def head(self) -> tuple[int, Headers]:
        """Wait for the answer's head."""
        self._next(self._first)
        if self.client._reach is not None:
            self.client._reach.answered()
        return _head(list(self.lines))

    def chunks(self, idle: float) -> Iterator[bytes]:
        """The body's bytes, as they come."""
        wait = self._first
        while chunk := self._next(wait):
            yield chunk
            wait = idle

    def end_within(self, seconds: float) -> None:
        """Read no more after so many seconds."""
        self._enough = min(self._enough, monotonic() + seconds)

    def certificate_ends(self) -> datetime | None:
        """The time at which the peer's certificate ends; None if it has none."""
        fields: dict[str, str] = wait_for(lambda done: _loop().run(lambda: done(self._certificate())))
        until = fields.get("Expire date")
        return None if until is None else datetime.strptime(until, "%b %d %H:%M:%S %Y %Z").replace(tzinfo=UTC)

    def _certificate(self) -> dict[str, str]:
        try:
            found = self.curl.getinfo(pycurl.INFO_CERTINFO)
        except pycurl.error:
            found = []
        return dict(found[0]) if found else {}

    def leave(self) -> None:
        """Stop, where it goes on still. On the loop's thread."""
        if not self._over:
            self._over = True
            _loop().leave(self.curl)
        self.curl.close()

    def ended(self, code: int, text: str) -> None:
        self._over = True
        self._come.put(self.failure(code, text, _head(self.lines)[0]))

    def _next(self, seconds: float) -> bytes | None:
        left, has_enough = self._enough - monotonic(), self._enough < self._deadline
        if has_enough and left <= 0:
            return None
        try:
            come = self._come.get(timeout=max(0.0, min(seconds, left)))
        except Empty:
            if has_enough and monotonic() >= self._enough:
                return None
            raise self.client._timed_out(self._deadline) from None
        if isinstance(come, HttpError):
            raise come
        return come

    def _header(self, line: bytes) -> None:
        self.lines.append(line)
        if line in _BLANK and _head(self.lines)[0]:  # else it is an interim one
            self._come.put(line)

    def _receive(self, data: bytes) -> None:
        if data:  # nothing is the end
            self._come.put(data)


_POLLED = {
    pycurl.POLL_IN: select.POLLIN,
    pycurl.POLL_OUT: select.POLLOUT,
    pycurl.POLL_INOUT: select.POLLIN | select.POLLOUT,
    pycurl.POLL_NONE: 0,
}
_IN, _OUT = pycurl.CSELECT_IN, pycurl.CSELECT_OUT

if sys.platform == "linux":  # connections that are kept cost nothing
    _Poll, _MILLISECOND = select.epoll, 0.001
    _UNASKED = select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLONESHOT  # once: else again while a child has a copy
else:
    _Poll, _MILLISECOND = select.poll, 1
    _UNASKED = select.POLLIN

_UNNOTICED_SECONDS = 1.1  # libcurl looks once a second whether this has happened on a connection that it has kept


class _Loop:
    """The thread on which all requests are under way."""

    def __init__(self) -> None:
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        self._multi.setopt(pycurl.M_MAXCONNECTS, KEPT_CONNECTIONS)
        self._poll = _Poll()
        self._calls: deque[Callable[[], object]] = deque()
        self._exchanges: dict[Any, _Exchange] = {}  # by their handles
        self._idle: set[int] = set()  # connections that are kept
        self._clients: dict[int, HttpClient] = {}  # who used a connection last
        self._asleep = False
        self._woken, self._wake = socket.socketpair()
        self._woken.setblocking(False)
        self._woken_file = self._woken.fileno()
        self._poll.register(self._woken_file, select.POLLIN)
        self._thread = threading.Thread(target=guard(self._run), name="http", daemon=True)
        self._thread.start()

    def run(self, call: Callable[[], object]) -> None:
        """Have something done on the loop's thread, soon. From any thread."""
        self._calls.append(call)
        if self._asleep:
            self._asleep = False  # one wake-up is enough for all that is added before it has an effect
            self._wake.send(b"w")

    def begin(self, exchange: _Exchange) -> None:
        """Hand a request to libcurl, on this thread. It gets a new connection where one of the client's was
        just closed, or has something on it that would be taken for the request's answer.
        """
        fresh = exchange.unrepeatable or monotonic() < exchange.client.unasked_at + _UNNOTICED_SECONDS
        if fresh != exchange.fresh:
            exchange.curl.setopt(pycurl.FRESH_CONNECT, fresh)
            exchange.fresh = fresh
        try:
            self._multi.add_handle(exchange.curl)
        except pycurl.error as error:  # it would never end
            exchange.ended(*error.args)
        else:
            self._exchanges[exchange.curl] = exchange

    def leave(self, curl: Any) -> None:
        """Stop a request."""
        self._multi.remove_handle(curl)
        del self._exchanges[curl]

    def _run(self) -> None:
        while True:
            self._asleep = True  # from here on, who adds a call wakes us; who did before is seen here
            wait = 0 if self._calls else self._multi.timeout()  # below 0: for ever
            ready = self._poll.poll(wait * _MILLISECOND)
            self._asleep = False
            for file, events in ready:
                self._happened(file, events)
            if self._multi.timeout() == 0:  # requests have begun, or a time is up
                self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
            if self._exchanges:
                self._finish()
            while self._calls:
                _guarded(self._calls.popleft())

    def _happened(self, file: int, events: int) -> None:
        if file == self._woken_file:
            self._woken.recv(4096)
        elif file in self._idle:
            with suppress(OSError):  # libcurl has closed it
                self._poll.unregister(file)
            self._idle.discard(file)
            client = self._clients.pop(file, None)
            if client is not None and not events & select.POLLNVAL:  # libcurl has not closed it
                client.unasked_at = monotonic()
        else:
            can_read = events & ~select.POLLOUT  # an error is read, too
            self._multi.socket_action(file, (_IN if can_read else 0) | (_OUT if events & select.POLLOUT else 0))

    def _finish(self) -> None:
        more = 1
        while more:
            more, whole, failed = self._multi.info_read()
            for curl, code, text in (*zip(whole, repeat(0), repeat("")), *failed):
                exchange = self._exchanges.pop(curl)
                self._clients[curl.getinfo(pycurl.LASTSOCKET)] = exchange.client
                self._multi.remove_handle(curl)
                _guarded(exchange.ended, code, text)

    def _watch(self, event: int, file: int, multi: object, data: object) -> None:
        if event == pycurl.POLL_REMOVE:  # it is kept, or closed at once
            self._idle.add(file)
            self._poll_for(file, _UNASKED)
        else:
            self._idle.discard(file)
            self._poll_for(file, _POLLED[event])

    def _poll_for(self, file: int, events: int) -> None:
        try:
            self._poll.modify(file, events)
        except FileNotFoundError:
            self._poll.register(file, events)


def _guarded(call: Callable[..., object], *given: object) -> None:
    """Call a callback. If it raises, somebody may wait for ever: then the process ends, or all other requests go on."""
    try:
        call(*given)
    except Exception as defect:
        found(defect, "http")


_running: list[_Loop] = []
_starting = threading.Lock()
os.register_at_fork(after_in_child=_running.clear)  # a child has none of its parent's threads


def _loop() -> _Loop:
    if not _running:
        with _starting:
            if not _running:
                _running.append(_Loop())
    return _running[0]


# -- libcurl's options ---------------------------------------------------------------------------


def new_handle() -> Any:
    """A handle of libcurl's for one request at a time."""
    return pycurl.Curl()


_SUPPRESS_CONNECT_HEADERS = 265  # pycurl has no name for it


def _milliseconds(seconds: float) -> int:
    return max(1, int(seconds * 1000))  # to libcurl, 0 is no limit


def _options(seconds: float) -> dict[int, Any]:
    return {
        pycurl.NOSIGNAL: 1,
        pycurl.HTTP_VERSION: pycurl.CURL_HTTP_VERSION_1_1,
        pycurl.PATH_AS_IS: 1,
        pycurl.USERAGENT: "bot-flows",
        pycurl.PROXY: "",  # none of the environment's but the one that we choose
        _SUPPRESS_CONNECT_HEADERS: 1,
        **_timeouts(seconds),
    }


def _timeouts(seconds: float) -> dict[int, Any]:
    return {
        pycurl.TIMEOUT_MS: _milliseconds(seconds),
        pycurl.CONNECTTIMEOUT_MS: _milliseconds(min(seconds, CONNECT_SECONDS)),
    }
