"""HTTP to one peer: pooled connections, a deadline over the whole exchange, and errors that say what is certain.

Of requests, the certificates that it trusts and the pool that lies under it: urllib3's, at a third of the cost
of a `requests.Session` for each request.
"""

import http.client
import os
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from queue import LifoQueue
from time import monotonic
from typing import Any, Protocol
from urllib.parse import urlencode, urlsplit

import urllib3
from requests.utils import (
    DEFAULT_CA_BUNDLE_PATH,
    get_auth_from_url,
    get_environ_proxies,
    select_proxy,
)
from urllib3.util import Retry, Timeout, make_headers

from bot.connections import CONNECT_SECONDS, NoConnection, Plain, Secure, in_words, innermost, is_this_machine
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


class Reach(Protocol):
    """Hears whether a peer answers, from many threads."""

    def failed(self, what: str, advice: str) -> None:
        """There was no answer: why, and what the operator can do."""
        ...

    def answered(self) -> None:
        """An answer has begun."""
        ...


class Http:
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
        reach: Reach | None = None,
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
        if proxy is not None and parts.scheme == "http":  # such a proxy is told the whole address
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
    """The connections to a peer; None where the proxy is none that can be used."""
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
