"""Connections for `bot.http`: urllib3's, which tell why there is none, and connect and read until a deadline."""

import http.client
import io
import math
import re
import socket
import ssl
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address
from time import monotonic
from typing import Any

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection

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
    """Looks host names up on threads of their own: the system cannot be told when to give up.

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
