"""Checks addresses that a contact may have chosen: none of them may lead into our own network.

A host is looked up once, and only the address that was looked at is connected to: the next answer could be another one.
"""

import socket
import threading
from concurrent.futures import Future
from string import punctuation
from typing import Any, Self
from urllib.parse import quote, urljoin, urlsplit

from bot.core.defects import NoThread, guard, start_thread
from bot.core.errors import BotError
from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.core.networks import is_address, is_public, is_this_machine
from bot.services.http_client import CONNECT_SECONDS

MOST_REDIRECTS = 3
REDIRECTS = (301, 302, 303, 307, 308)
_HOST = lazy_pattern(r"[a-z0-9._-]+|[0-9a-f:.]+(%[a-z0-9]+)?")


class BadAddress(BotError):
    """The address is invalid, or must not be connected to."""


class NotPublic(BadAddress):
    """An address that leads into a private network."""


class HostUnknown(BotError):
    """The host's name could not be resolved now."""


MOST_LOOKUPS = 64  # at a time, of different names
_Found = list[tuple[Any, ...]]


class _Lookups:
    """Looks host names up on threads of their own: the system call has no time-out.

    All who ask for a name that is being looked up wait for the same answer, so that name servers that do not
    answer hold up one thread for each name.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begun: dict[tuple[str, int], tuple[threading.Thread, Future[_Found]]] = {}

    def ask(self, host: str, port: int, seconds: float) -> _Found:
        with self._lock:
            # a thread that a defect has ended, or that a child process does not have, keeps no room
            self._begun = {
                name: (thread, future)
                for name, (thread, future) in self._begun.items()
                if thread.is_alive() and not future.done()
            }
            _, future = self._begun.get((host, port)) or self._begin(host, port)
        return future.result(max(0.0, seconds))

    def _begin(self, host: str, port: int) -> tuple[threading.Thread, Future[_Found]]:
        if len(self._begun) >= MOST_LOOKUPS:
            raise TimeoutError
        future: Future[_Found] = Future()
        thread = threading.Thread(
            target=guard(self._look_up, ends_process=False), args=(host, port, future), name="name look-up", daemon=True
        )
        start_thread(thread)
        begun = self._begun[host, port] = thread, future
        return begun

    def _look_up(self, host: str, port: int, future: Future[_Found]) -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except Exception as error:  # its reader is on another thread
            future.set_exception(error)
        else:
            future.set_result(found)


_LOOKUPS = _Lookups()


def look_up(host: str, port: int, seconds: float) -> _Found:
    """The addresses of a host, as `socket.getaddrinfo` has them. However many look-ups hang, the others go on.

    Raises `HostUnknown`, after ``seconds`` at the latest.
    """
    try:
        if is_address(host):
            return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return _LOOKUPS.ask(host, port, seconds)
    except TimeoutError:
        raise HostUnknown(f"no name server has answered for {host} within {seconds:.0f} s") from None
    except socket.gaierror as error:
        why = "" if error.errno == socket.EAI_NONAME else f": {error.strerror}"
        raise HostUnknown(f"{host} is not found{why}") from error
    except NoThread as error:
        raise HostUnknown(f"{host} is not looked up: {error}") from error
    except (OSError, ValueError) as error:
        raise HostUnknown(f"{host} is not found") from error


@immutable
class WebAddress:
    """An http or https address in its parts; ``target`` is path and query, percent-encoded where that is missing."""

    origin: str
    host: str
    port: int
    target: str

    @classmethod
    def of(cls, url: str) -> Self:
        """Take an address apart. Raises `BadAddress`."""
        try:
            parts = urlsplit(url)
            port = parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError:
            raise BadAddress("it has no address that can be read") from None
        host = parts.hostname or ""
        if parts.scheme not in ("http", "https") or not _HOST.fullmatch(host) or parts.username is not None:
            raise BadAddress("it has no http or https address")
        origin = f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{port}"
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return cls(origin, host, port, quote(target, safe=punctuation, errors="surrogatepass"))

    @property
    def server(self) -> str:
        """A key that is equal for addresses of the same server: the loopback interface has several names."""
        scheme = self.origin.partition(":")[0]
        return f"{scheme}://localhost:{self.port}" if is_this_machine(self.host) else self.origin

    def public_address(self, seconds: float) -> str:
        """An IP address of the host that is public: the one to connect to.

        Raises `NotPublic`, and `HostUnknown` after ``seconds`` at the latest.
        """
        found = look_up(self.host, self.port, min(seconds, CONNECT_SECONDS))
        public = (str(entry[4][0]) for entry in found if is_public(str(entry[4][0])))
        address = next(public, None)
        if address is None:
            raise NotPublic(f"{self.host} is no public address")
        return address


def redirected_to(url: str, location: str) -> str:
    """The address that a redirect leads to. Raises `BadAddress`."""
    try:
        return urljoin(
            url, quote(location, safe=punctuation, encoding="latin-1")
        )  # the bytes that came, as browsers do it
    except ValueError:
        raise BadAddress("it was led to no address that can be read") from None
