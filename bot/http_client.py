"""An HTTP client for one peer: pooled connections, a deadline for the whole exchange, and errors that say what is certain.

The pool is urllib3's: a request costs a third of what it costs with a `requests.Session`. The connections below tell why
there is none, and connect and read until a deadline. The trusted certificates are those of requests.
"""

import http.client
import io
import math
import os
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from queue import LifoQueue
from time import monotonic
from typing import Any
from urllib.parse import urlencode, urlsplit

import urllib3
from requests.utils import (
    DEFAULT_CA_BUNDLE_PATH,
    get_auth_from_url,
    get_environ_proxies,
    select_proxy,
)
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.util import Retry, Timeout, make_headers

from bot.alarms import Alarms
from bot.clock import Clock
from bot.core.errors import BotError

TRUSTED = DEFAULT_CA_BUNDLE_PATH
"""The certificates that are trusted where the environment names no others: the system may have none."""

_CERTIFICATES = ("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR")
_NO_PROXY = (
    "the proxy that the environment names for it is none that is understood",
    "write HTTPS_PROXY (HTTP_PROXY, ALL_PROXY) like http://proxy.example:3128; SOCKS is not spoken",
)
_NO_RETRY = Retry(False)
_CHUNK = 1 << 16
UNREACHED_SECONDS = 60.0


class HttpError(BotError):
    """A request without a usable answer. ``advice``: what the operator can do; empty where only the address may be wrong."""

    advice: str = ""


class NotSent(HttpError):
    """There was no connection (refused, no such host, time-out, TLS, proxy): the request certainly did not leave."""

    def __init__(self, text: str, advice: str = "") -> None:
        super().__init__(text)
        self.advice = advice


class Ambiguous(HttpError):
    """The request may have left, and no whole answer came (reset, cut or no HTTP, where no class below says more)."""


class DeadlinePassed(Ambiguous):
    """The answer was not whole when the time for the exchange was up."""


class Silent(Ambiguous):
    """The peer was silent for longer than a stream may be."""


class Oversized(Ambiguous):
    """The answer's body has more bytes than are taken."""


@dataclass(frozen=True, slots=True)
class Response:
    """A whole answer. Header names are found in any case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Streamed:
    """An answer while it comes. ``chunks`` are the body's bytes, each as soon as it is there.

    ``certificate_ends`` tells, until the last of them has come, how long the peer's certificate is valid; None without TLS.
    """

    status: int
    headers: Mapping[str, str]
    chunks: Iterator[bytes]
    certificate_ends: Callable[[], datetime | None] = lambda: None


class ReachabilityAlarm:
    """Whether a service answers: an alarm when it has not for longer than a minute, until it does.

    Safe to use from many threads. ``service`` is what it is called in the alarm; ``advice`` is for causes that have none
    of their own.
    """

    def __init__(self, alarms: Alarms, clock: Clock, name: str, service: str, advice: str) -> None:
        self._alarms = alarms
        self._clock = clock
        self._name = name
        self._service = service
        self._advice = advice
        self._lock = threading.Lock()
        self._since: float | None = None  # no answer

    def failed(self, what: str, advice: str) -> None:
        """There was no answer: why, and what the operator can do."""
        with self._lock:
            now = self._clock.elapsed()
            if self._since is None:
                self._since = now
            if now - self._since >= UNREACHED_SECONDS:
                self._alarms.report(self._name, f"{self._service} gives no answer: {what}", advice or self._advice)

    def answered(self) -> None:
        """It answers."""
        if self._since is None:
            return
        with self._lock:
            self._since = None
            self._alarms.clear(self._name)


class HttpClient:
    """Sends requests to one peer. No redirects, no cookies, no retries: those are the caller's decisions.

    ``seconds`` is the time for a whole exchange, from looking up the host's name to the last byte; ``connections`` is
    how many are kept open; ``body_limit`` is in bytes. With ``address`` nothing is looked up: that IP address is
    connected to, as the host that the URL names. ``own`` says that the operator has named the host, and nobody else
    can bend it: then the certificates and the proxies of the environment are used (docs/going-live.md).
    ``reach`` is called when the peer gives no answer, and when it does.
    """

    def __init__(
        self,
        url: str,
        *,
        seconds: float = 30.0,
        connections: int = 128,
        body_limit: int = 1 << 20,
        address: str | None = None,
        own: bool = False,
        reach: ReachabilityAlarm | None = None,
    ) -> None:
        parts = urlsplit(url)
        self._prefix = parts.path.rstrip("/")
        self._own = own
        self._reach = reach
        self._peer = parts.netloc.rpartition("@")[2]
        self._host = {} if address is None else {"Host": self._peer}
        self._body_limit = body_limit
        self._timeout = Timeout(connect=min(CONNECT_SECONDS, seconds), total=seconds)
        if address is not None:
            host = f"[{address}]" if ":" in address else address
            url = f"{parts.scheme}://{host}" + (f":{parts.port}" if parts.port else "")
        proxy = proxy_of(url) if own and address is None else None
        options: dict[str, Any] = {"maxsize": 1}
        if parts.scheme == "https" or (proxy is not None and proxy.startswith("https:")):
            options |= _trusted() if own else {"ca_certs": TRUSTED}
        if address is not None and parts.scheme == "https":
            options["server_hostname"] = parts.hostname
        self._pool: Any = _pool(url, proxy, options)
        if proxy is not None and parts.scheme == "http":  # such a proxy needs the whole address
            self._prefix = f"http://{self._peer}{self._prefix}"
        if self._pool is not None:
            self._pool.pool = LifoQueue(connections)  # urllib3 fills its own with empty places, a lock taken for each
            self._pool.ConnectionCls = Secure if self._pool.scheme == "https" else Plain

    def get(self, path: str, headers: Mapping[str, str], query: Mapping[str, str] | None = None) -> Response:
        """Send a GET and read the whole answer, whatever its status. Raises `NotSent` or `Ambiguous`."""
        return self._exchange("GET", f"{path}?{urlencode(query)}" if query else path, None, headers)

    def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> Response:
        """Send a POST and read the whole answer, whatever its status. Raises `NotSent` or `Ambiguous`."""
        return self._exchange("POST", path, body, headers)

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
        Leaving before the end closes the connection. Raises `NotSent` or `Ambiguous`: first of all itself, after the
        head from ``chunks``.
        """
        deadline = monotonic() + seconds
        first = idle_seconds if first_seconds is None else first_seconds
        with self._certainty(deadline):
            timeout = Timeout(connect=min(CONNECT_SECONDS, seconds), read=first, total=seconds)
            answer = self._open(method, path, body, headers, timeout)
        limits = answer.connection.limits
        limits.deadline, limits.idle = deadline, first

        def chunks() -> Iterator[bytes]:
            for chunk in self._chunks(answer, deadline):
                limits.idle = idle_seconds
                yield chunk

        try:
            yield Streamed(answer.status, answer.headers, chunks(), partial(_certificate_ends, answer.connection.sock))
        finally:
            answer.close()

    def close(self) -> None:
        """Close the connections that nobody uses."""
        if self._pool is not None:
            self._pool.close()

    def _exchange(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Response:
        with self._certainty():
            answer = self._open(method, path, body, headers, self._timeout)
            content = answer.read(self._body_limit)
            excess = answer.read(1)  # only the read after the last byte tells a cut body from a whole one
        if excess:
            answer.close()
            raise self._oversized()
        answer.release_conn()
        return Response(answer.status, answer.headers, content)

    def _chunks(self, answer: Any, deadline: float) -> Iterator[bytes]:
        size = 0
        while True:
            with self._certainty(deadline):
                chunk = answer.read1(_CHUNK)
            if not chunk:
                return
            size += len(chunk)
            if size > self._body_limit:
                raise self._oversized()
            yield chunk

    def _open(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], timeout: Timeout) -> Any:
        if self._pool is None:
            raise NoConnection(*_NO_PROXY)
        answer = self._pool.urlopen(
            method,
            self._prefix + path,
            body,
            {**headers, **self._host},
            timeout=timeout,
            retries=_NO_RETRY,
            redirect=False,
            assert_same_host=False,
            preload_content=False,
            decode_content=False,
        )
        if self._reach is not None:
            self._reach.answered()
        return answer

    @contextmanager
    def _certainty(self, deadline: float = 0.0) -> Iterator[None]:
        """Foreign errors become ours. A time-out before the ``deadline`` was a silence of the peer's."""
        try:
            yield
        except NoConnection as error:
            advice = error.advice if self._own else ""  # others are not reached as the environment says
            raise self._failed(NotSent(f"no connection to {self._peer}: {error.why}", advice)) from error
        except (urllib3.exceptions.HTTPError, http.client.HTTPException, OSError) as error:
            cause = innermost(error)
            kind = _kind(cause, deadline)
            raise self._failed(kind(f"no whole answer from {self._peer}: {in_words(cause)}")) from error

    def _failed(self, error: HttpError) -> HttpError:
        if self._reach is not None:
            self._reach.failed(str(error), error.advice)
        return error

    def _oversized(self) -> Oversized:
        return Oversized(f"no whole answer from {self._peer}: it has more than {self._body_limit} bytes")


def _kind(cause: BaseException, deadline: float) -> type[Ambiguous]:
    if not isinstance(cause, TimeoutError | urllib3.exceptions.TimeoutError):
        return Ambiguous
    return Silent if monotonic() < deadline else DeadlinePassed


def _certificate_ends(sock: socket.socket) -> datetime | None:
    until = (sock.getpeercert() or {}).get("notAfter") if isinstance(sock, ssl.SSLSocket) else None
    return None if until is None else datetime.fromtimestamp(ssl.cert_time_to_seconds(str(until)), UTC)


def _trusted() -> dict[str, str]:
    """The certificates of the environment: REQUESTS_CA_BUNDLE, else SSL_CERT_FILE and SSL_CERT_DIR, else `TRUSTED`."""
    bundle, file, folder = (os.environ.get(name) or None for name in _CERTIFICATES)
    if bundle is not None:
        file, folder = (None, bundle) if Path(bundle).is_dir() else (bundle, None)
    elif file is None and folder is None:
        file = TRUSTED
    return {name: path for name, path in (("ca_certs", file), ("ca_cert_dir", folder)) if path is not None}


def proxy_of(url: str) -> str | None:
    """The proxy that the environment names for an address, if any; this machine itself is never behind one."""
    if is_this_machine(urlsplit(url).hostname or ""):
        return None
    proxy = select_proxy(url, get_environ_proxies(url))
    return (proxy if "://" in proxy else f"http://{proxy}") if proxy else None


def _pool(url: str, proxy: str | None, options: dict[str, Any]) -> urllib3.HTTPConnectionPool | None:
    """The connections to a peer; None if the proxy cannot be used."""
    if proxy is None:
        return urllib3.connection_from_url(url, **options)
    try:
        if not urlsplit(proxy).hostname:
            return None
        name, password = get_auth_from_url(proxy)
        headers = make_headers(proxy_basic_auth=f"{name}:{password}") if name else {}
        return urllib3.ProxyManager(proxy, proxy_headers=headers, **options).connection_from_url(url)
    except (urllib3.exceptions.HTTPError, ValueError):
        return None


CONNECT_SECONDS = 10.0  # for looking up a name, connecting and shaking hands
MOST_LOOKUPS = 64  # at a time, of different names that others gave
_Found = list[tuple[Any, ...]]


class NoConnection(Exception):
    """Connecting failed: why, and what the operator can do (empty where that depends on the address alone).

    It passes through urllib3 untouched, which a mere OSError would not.
    """

    def __init__(self, why: str, advice: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.advice = advice


class _Lookups:
    """Looks host names up on threads of their own: the system call has no time-out.

    All who ask for a name that is being looked up wait for the same answer, so that name servers that do not
    answer hold up one thread for each name.
    """

    def __init__(self, most: float) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._running: dict[tuple[str, int], Future[_Found]] = {}

    def ask(self, host: str, port: int, seconds: float) -> _Found:
        with self._lock:
            future = self._running.get((host, port))
            if future is None:
                future = self._begin(host, port)
        return future.result(max(0.0, seconds))

    def _begin(self, host: str, port: int) -> Future[_Found]:
        if len(self._running) >= self._most:
            raise TimeoutError
        future: Future[_Found] = Future()
        threading.Thread(target=self._look_up, args=(host, port, future), name="name look-up", daemon=True).start()
        self._running[host, port] = future
        return future

    def _look_up(self, host: str, port: int, future: Future[_Found]) -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except Exception as error:  # its reader is on another thread
            self._end(host, port)
            future.set_exception(error)
        else:
            self._end(host, port)
            future.set_result(found)

    def _end(self, host: str, port: int) -> None:
        with self._lock:
            del self._running[host, port]


_OWN = _Lookups(math.inf)  # the operator has named few
_FOREIGN = _Lookups(MOST_LOOKUPS)


class NotFound(OSError):
    """A host name that does not exist, or that no name server has answered for in time."""


def is_address(host: str) -> bool:
    """Whether a host is given by its IP address, so that no name server is asked."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def is_this_machine(host: str) -> bool:
    """Whether a host is the loopback interface, by its name or by one of its addresses."""
    return host == "localhost" or (is_address(host) and ip_address(host).is_loopback)


def look_up(host: str, port: int, seconds: float, *, foreign: bool = False) -> _Found:
    """The addresses of a host, as `socket.getaddrinfo` has them. Raises `NotFound`, after ``seconds`` at the latest.

    ``foreign``: somebody else than the operator gave the host. However many such look-ups hang, the others go on.
    """
    try:
        if is_address(host):
            return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return (_FOREIGN if foreign else _OWN).ask(host, port, seconds)
    except TimeoutError:
        raise NotFound(f"no name server has answered for {host} within {seconds:.0f} s") from None
    except socket.gaierror as error:
        why = "" if error.errno == socket.EAI_NONAME else f": {error.strerror}"
        raise NotFound(f"{host} is not found{why}") from error
    except (OSError, ValueError, RuntimeError) as error:
        raise NotFound(f"{host} is not found") from error


CERTIFICATE_REFUSED = "its certificate is refused"
_UNKNOWN_AUTHORITY = (
    "it is signed by an authority that is not known here",
    "if the authority is your own, or your network's: set SSL_CERT_FILE to a file with its certificate (PEM)",
)
_SELF_SIGNED = (
    "it is self-signed",
    "if it is meant so: set SSL_CERT_FILE to a file with this certificate, or its authority's (PEM)",
)
_OTHER_NAME = ("it is for another name", "use the name that the certificate is for, or have it renewed for this one")
_CERTIFICATE_FAULTS = {
    9: ("it is not valid yet", "set this machine's clock, or wait until it is"),
    10: ("it has expired", "have it renewed; if it has been, set this machine's clock"),
    18: _SELF_SIGNED,
    19: _SELF_SIGNED,
    20: _UNKNOWN_AUTHORITY,
    21: _UNKNOWN_AUTHORITY,
    62: _OTHER_NAME,
    64: _OTHER_NAME,
}
"""Why a certificate is refused, and what to do, by OpenSSL's number for it (X509_V_ERR_...)."""

_PROXY_STATUS = re.compile(r"Tunnel connection failed: (\d{3})")


def innermost(error: BaseException) -> BaseException:
    """What an error of urllib3's comes from."""
    while not isinstance(error, NotFound) and (error.__cause__ is not None or _has_inner(error)):
        error = error.__cause__ or error.args[1]
    return error


def _has_inner(error: BaseException) -> bool:
    return isinstance(error, urllib3.exceptions.ProtocolError) and len(error.args) > 1


def in_words(cause: BaseException) -> str:
    """What happened, in words of our own: urllib3's texts quote objects and addresses."""
    if isinstance(cause, TimeoutError | urllib3.exceptions.TimeoutError):
        return "timed out"
    if isinstance(cause, NotFound):
        return str(cause)
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror
    return type(cause).__name__


def _of_tls(error: ssl.SSLError) -> NoConnection:
    if isinstance(error, ssl.SSLCertVerificationError):
        other = (str(error.verify_message), "have it replaced")
        why, advice = _CERTIFICATE_FAULTS.get(error.verify_code, other)
        return NoConnection(f"{CERTIFICATE_REFUSED}: {why}", advice)
    if error.reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL"):
        return NoConnection("it does not speak TLS", "check the port, and whether the address begins with http://")
    return NoConnection(f"TLS fails: {(error.reason or type(error).__name__).replace('_', ' ').lower()}")


def _of_proxy(proxy: str, host: str, status: int) -> NoConnection:
    if status == 407:
        return NoConnection(
            f"the proxy {proxy} wants a name and a password (407)",
            "write them into HTTPS_PROXY: http://name:password@proxy.example:3128",
        )
    return NoConnection(
        f"the proxy {proxy} refuses to connect to it ({status})",
        f"have {host} allowed there; or, where it is reached without a proxy, add it to NO_PROXY",
    )


class _Timed:
    """What both kinds of connection do beyond urllib3's: they tell why it failed, connect and read until a deadline.

    A socket's time-out is per read, so a peer that drips bytes could hold a request for ever. Head and body of
    a request leave together: with many threads, each call into the system costs more than its work.
    """

    host: str  # this and what follows are urllib3's
    port: int
    timeout: Any
    proxy: Any
    socket_options: Any
    response_class: Any
    _dns_host: str
    _tunnel_host: str | None

    limits: "Limits"  # of connecting, then of the answer that is being read
    _parts: list[bytes] | None = None

    def request(self, *args: Any, **options: Any) -> None:
        self._parts = []
        super().request(*args, **options)  # type: ignore[misc]
        parts, self._parts = self._parts, None
        super().send(b"".join(parts))  # type: ignore[misc]

    def send(self, data: Any) -> None:
        if self._parts is None:  # what goes to a proxy before there is a request
            super().send(data)  # type: ignore[misc]
        else:
            self._parts.append(data)

    def connect(self) -> None:
        """Look the host up, connect, and shake hands, within `timeout` seconds. Raises `NoConnection`."""
        self.limits = Limits(monotonic() + self.timeout)
        self.response_class = partial(_TimedResponse, self.limits)  # of a proxy's answer
        try:
            super().connect()  # type: ignore[misc]
        except (urllib3.exceptions.HTTPError, http.client.HTTPException, OSError, ValueError) as error:
            raise self._why(innermost(error)) from error

    def _new_conn(self) -> socket.socket:
        """A connection to the first of the host's addresses, or of the proxy's, that takes one."""
        try:
            found = look_up(self._dns_host, self.port, self.limits.left())
            for behind, entry in zip(reversed(range(len(found))), found, strict=True):
                try:
                    return self._connected(entry, self.limits.left() / (1 + behind))
                except OSError:
                    if not behind:
                        raise
            raise NotFound(f"{self.host} is not found")
        except OSError as error:
            if self.proxy is None:
                raise
            words = f"the proxy {self.proxy.host}:{self.proxy.port} is not reached: {in_words(error)}"
            raise NoConnection(words, "check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY") from error

    def _connected(self, entry: tuple[Any, ...], seconds: float) -> socket.socket:
        family, kind, protocol, _, address = entry
        sock = socket.socket(family, kind, protocol)
        try:
            for option in self.socket_options or ():
                sock.setsockopt(*option)
            sock.settimeout(seconds)
            sock.connect(address)
            sock.settimeout(self.limits.left())
        except OSError:
            sock.close()
            raise
        return sock

    def _why(self, cause: BaseException) -> NoConnection:
        if isinstance(cause, FileNotFoundError | NotADirectoryError) or "NO_CERTIFICATE" in str(cause):
            words = "the file with the certificates that are trusted cannot be read, or has none"
            return NoConnection(words, "correct REQUESTS_CA_BUNDLE, SSL_CERT_FILE and SSL_CERT_DIR")
        if isinstance(cause, ssl.SSLError):
            return _of_tls(cause)
        refused = _PROXY_STATUS.match(str(cause)) if self.proxy is not None else None
        if refused is not None:
            return _of_proxy(f"{self.proxy.host}:{self.proxy.port}", str(self._tunnel_host), int(refused[1]))
        return NoConnection(in_words(cause))

    def getresponse(self) -> Any:
        self.limits = Limits(monotonic() + self.timeout)
        self.response_class = partial(_TimedResponse, self.limits)
        return super().getresponse()  # type: ignore[misc]


class Plain(_Timed, HTTPConnection):
    """A connection without TLS."""


class Secure(_Timed, HTTPSConnection):
    """A connection with TLS."""


@dataclass(slots=True)
class Limits:
    """When an answer must be whole, and how many seconds each read may take."""

    deadline: float
    idle: float = math.inf

    def left(self) -> float:
        """Seconds that the next read may take."""
        left = self.deadline - monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        return min(left, self.idle)


class _TimedResponse(http.client.HTTPResponse):
    def __init__(self, limits: Limits, sock: socket.socket, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self._reader = _TimedReader(self.fp.detach(), sock, limits)
        self.fp = io.BufferedReader(self._reader)

    def begin(self) -> None:
        super().begin()
        if self._reader.ended:  # http.client takes headers that were cut for all there are
            raise http.client.IncompleteRead(b"")


class _TimedReader(io.RawIOBase):
    """Reads from a socket within the limits."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, limits: Limits) -> None:
        self.ended = False
        self._fresh = True  # the socket's time-out has just been set
        self._raw = raw
        self._sock = sock
        self._limits = limits

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._limits.left()
        if not self._fresh:
            self._sock.settimeout(left)
        self._fresh = False
        count = self._raw.readinto(buffer)
        self.ended = count == 0
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()
