"""HTTP to one peer: pooled connections, a deadline over the whole exchange, and errors that say what is certain.

Of requests, the certificates that it trusts and the pool that lies under it: urllib3's, at a third of the cost
of a `requests.Session` for each request.
"""

import http.client
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any
from urllib.parse import urlencode, urlsplit

import urllib3
from requests.utils import DEFAULT_CA_BUNDLE_PATH
from urllib3.util import Retry, Timeout

from bot.connections import NoConnection, Plain, Secure
from bot.core.errors import BotError

CONNECT_SECONDS = 10.0
TRUSTED = DEFAULT_CA_BUNDLE_PATH
"""The certificates that are trusted: requests' own, since the system may have none."""

_NO_RETRY = Retry(False)
_CHUNK = 1 << 16


class HttpError(BotError):
    """A request without a usable answer."""


class NotSent(HttpError):
    """There was no connection (refused, no such host, time-out, TLS), so the request certainly did not leave."""


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
    """An answer while it comes. ``chunks`` are the body's bytes, each as soon as it is there."""

    status: int
    headers: Mapping[str, str]
    chunks: Iterator[bytes]


class Http:
    """Sends requests to one peer. No redirects, no cookies, no proxies, no retries: those are the caller's decisions.

    ``seconds`` is the time for a whole exchange, from connecting to the last byte; ``connections`` is how many
    are kept open; ``body_limit`` is in bytes. Looking up the host's name has the system's own time-out. With
    ``address`` nothing is looked up: that IP address is connected to, as the host that the URL names.
    """

    def __init__(
        self,
        url: str,
        *,
        seconds: float = 30.0,
        connections: int = 128,
        body_limit: int = 1 << 20,
        address: str | None = None,
    ) -> None:
        parts = urlsplit(url)
        self._prefix = parts.path.rstrip("/")
        self._peer = parts.netloc.rpartition("@")[2]
        self._host = {} if address is None else {"Host": self._peer}
        self._body_limit = body_limit
        self._timeout = Timeout(connect=min(CONNECT_SECONDS, seconds), total=seconds)
        if address is not None:
            host = f"[{address}]" if ":" in address else address
            url = f"{parts.scheme}://{host}" + (f":{parts.port}" if parts.port else "")
        if parts.scheme == "https":
            names = {"ca_certs": TRUSTED, "server_hostname": parts.hostname}
            self._pool = urllib3.connection_from_url(url, maxsize=connections, **names)
            self._pool.ConnectionCls = Secure
        else:
            self._pool = urllib3.connection_from_url(url, maxsize=connections)
            self._pool.ConnectionCls = Plain

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
            yield Streamed(answer.status, answer.headers, chunks())
        finally:
            answer.close()

    def close(self) -> None:
        """Close the connections that nobody uses."""
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
        return self._pool.urlopen(
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

    @contextmanager
    def _certainty(self, deadline: float = 0.0) -> Iterator[None]:
        """Foreign errors become ours. A time-out before the ``deadline`` was a silence of the peer's."""
        try:
            yield
        except NoConnection as error:
            raise NotSent(f"no connection to {self._peer}: {_words(_innermost(error))}") from error
        except (urllib3.exceptions.HTTPError, http.client.HTTPException, OSError) as error:
            cause = _innermost(error)
            kind = _kind(cause, deadline)
            raise kind(f"no whole answer from {self._peer}: {_words(cause)}") from error

    def _oversized(self) -> Oversized:
        return Oversized(f"no whole answer from {self._peer}: it has more than {self._body_limit} bytes")


def _innermost(error: BaseException) -> BaseException:
    while error.__cause__ is not None or (isinstance(error, urllib3.exceptions.ProtocolError) and len(error.args) > 1):
        error = error.__cause__ or error.args[1]
    return error


def _kind(cause: BaseException, deadline: float) -> type[Ambiguous]:
    if not isinstance(cause, TimeoutError | urllib3.exceptions.TimeoutError):
        return Ambiguous
    return Silent if monotonic() < deadline else DeadlinePassed


def _words(cause: BaseException) -> str:
    """What happened, in words of our own: urllib3's texts quote objects and addresses."""
    if isinstance(cause, TimeoutError | urllib3.exceptions.TimeoutError):
        return "timed out"
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror
    return type(cause).__name__
