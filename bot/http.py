"""HTTP to one peer: pooled connections, a deadline over the whole exchange, and errors that say what is certain.

Of requests, the certificates that it trusts and the pool that lies under it: urllib3's, at a third of the cost
of a `requests.Session` for each request.
"""

import http.client
import io
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

import urllib3
from requests.utils import DEFAULT_CA_BUNDLE_PATH
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.util import Retry, Timeout

from bot.core.errors import BotError

CONNECT_SECONDS = 10.0
_NO_RETRY = Retry(False)


class HttpError(BotError):
    """A request without a usable answer."""


class NotSent(HttpError):
    """There was no connection (refused, no such host, time-out, TLS), so the request certainly did not leave."""


class Ambiguous(HttpError):
    """The request may have left, and no whole answer came (reset, time-out, cut or oversized body)."""


@dataclass(frozen=True, slots=True)
class Response:
    """A whole answer. Header names are found in any case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Http:
    """Sends requests to one peer. No redirects, no cookies, no proxies, no retries: those are the caller's decisions.

    ``seconds`` is the time for a whole exchange, from connecting to the last byte; ``connections`` is how many
    are kept open; ``body_limit`` is in bytes. Looking up the host's name has the system's own time-out.
    """

    def __init__(self, url: str, *, seconds: float = 30.0, connections: int = 128, body_limit: int = 1 << 20) -> None:
        parts = urlsplit(url)
        self._prefix = parts.path.rstrip("/")
        self._peer = parts.netloc.rpartition("@")[2]
        self._body_limit = body_limit
        timeout = Timeout(connect=min(CONNECT_SECONDS, seconds), total=seconds)
        if parts.scheme == "https":
            trusted = DEFAULT_CA_BUNDLE_PATH  # the system may have none
            self._pool = urllib3.connection_from_url(url, maxsize=connections, timeout=timeout, ca_certs=trusted)
            self._pool.ConnectionCls = _Secure
        else:
            self._pool = urllib3.connection_from_url(url, maxsize=connections, timeout=timeout)
            self._pool.ConnectionCls = _Plain

    def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> Response:
        """Send a POST and read the whole answer, whatever its status. Raises `NotSent` or `Ambiguous`."""
        try:
            answer = self._pool.urlopen(
                "POST",
                self._prefix + path,
                body,
                headers,
                retries=_NO_RETRY,
                redirect=False,
                assert_same_host=False,
                preload_content=False,
                decode_content=False,
            )
            content = answer.read(self._body_limit)
            excess = answer.read(1)  # only the read after the last byte tells a cut body from a whole one
        except _NoConnection as error:
            raise NotSent(f"no connection to {self._peer}: {_reason(error)}") from error
        except (urllib3.exceptions.HTTPError, http.client.HTTPException, OSError) as error:
            raise Ambiguous(f"no whole answer from {self._peer}: {_reason(error)}") from error
        if excess:
            answer.close()
            raise Ambiguous(f"no whole answer from {self._peer}: it has more than {self._body_limit} bytes")
        answer.release_conn()
        return Response(answer.status, answer.headers, content)

    def close(self) -> None:
        """Close the connections that nobody uses."""
        self._pool.close()


class _NoConnection(Exception):
    """Connecting failed. It passes through urllib3 untouched, which a mere OSError would not."""


class _Timed:
    """What both kinds of connection do beyond urllib3's: they tell where it failed, and read until a deadline.

    A socket's time-out is per read, so a peer that drips bytes could hold a request for ever. Head and body of
    a request leave together: with many threads, each call into the system costs more than its work.
    """

    response_class: Any
    _parts: list[bytes] | None = None

    def request(self, *args: Any, **options: Any) -> None:
        self._parts = []
        super().request(*args, **options)  # type: ignore[misc]
        parts, self._parts = self._parts, None
        super().send(b"".join(parts))  # type: ignore[misc]

    def send(self, data: Any) -> None:
        assert self._parts is not None
        self._parts.append(data)

    def connect(self) -> None:
        try:
            super().connect()  # type: ignore[misc]
        except (urllib3.exceptions.HTTPError, http.client.HTTPException, OSError, ValueError) as error:
            raise _NoConnection from error

    def getresponse(self) -> Any:
        self.response_class = partial(_TimedResponse, monotonic() + self.timeout)  # type: ignore[attr-defined]
        return super().getresponse()  # type: ignore[misc]


class _Plain(_Timed, HTTPConnection):
    """A connection without TLS."""


class _Secure(_Timed, HTTPSConnection):
    """A connection with TLS."""


class _TimedResponse(http.client.HTTPResponse):
    def __init__(self, deadline: float, sock: socket.socket, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self._reader = _TimedReader(self.fp.detach(), sock, deadline)
        self.fp = io.BufferedReader(self._reader)

    def begin(self) -> None:
        super().begin()
        if self._reader.ended:  # http.client takes headers that were cut for all there are
            raise http.client.IncompleteRead(b"")


class _TimedReader(io.RawIOBase):
    """Reads from a socket with the time that is left until the deadline."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, deadline: float) -> None:
        self.ended = False
        self._fresh = True  # the socket's time-out has just been set
        self._raw = raw
        self._sock = sock
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._deadline - monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        if not self._fresh:
            self._sock.settimeout(left)
        self._fresh = False
        count = self._raw.readinto(buffer)
        self.ended = count == 0
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


def _reason(error: BaseException) -> str:
    """The innermost cause in words: urllib3's own texts quote objects and addresses."""
    while error.__cause__ is not None or (isinstance(error, urllib3.exceptions.ProtocolError) and len(error.args) > 1):
        error = error.__cause__ or error.args[1]
    if isinstance(error, TimeoutError | urllib3.exceptions.TimeoutError):
        return "timed out"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return type(error).__name__
