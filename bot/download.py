"""Getting files from addresses that somebody else gave, without being led into our own network by them.

A host is looked up once, only a public address is connected to, and each redirect is looked at in the same way.
"""

import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from time import monotonic
from urllib.parse import urljoin, urlsplit

from bot.core.errors import BotError
from bot.http import Http, HttpError, Oversized, Streamed

MOST_REDIRECTS = 3
IDLE_SECONDS = 15.0
_REDIRECTS = (301, 302, 303, 307, 308)
_PASSING = (408, 425, 429)
_PUBLIC_6 = IPv6Network("2000::/3")  # so neither mapped IPv4 nor local addresses
_SPECIAL_4 = tuple(map(IPv4Network, (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
    "224.0.0.0/4", "240.0.0.0/4",
)))  # fmt: skip
_SPECIAL_6 = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")))


class NotFetched(BotError):
    """The file could not be got. ``again``: another try may help."""

    def __init__(self, reason: str, *, again: bool = False) -> None:
        super().__init__(reason)
        self.again = again


class TooLarge(BotError):
    """The file has more bytes than are taken."""


class Downloads:
    """Gets files by http and https. Safe to use from many threads.

    What the gateway's own host serves is got wherever that is, inside our network too: the operator named it.
    """

    def __init__(self, gateway_url: str) -> None:
        self._gateway = _Place.of(gateway_url).origin

    @contextmanager
    def open(self, url: str, *, most: int, seconds: float) -> Iterator[Iterator[bytes]]:
        """A file's bytes while they come, ``most`` of them at most and in ``seconds`` at most, redirects included.

        Raises `NotFetched` and `TooLarge`, first of all itself, then from the bytes.
        """
        deadline = monotonic() + seconds
        inside = True
        try:
            for _ in range(MOST_REDIRECTS + 1):
                place = _Place.of(url)
                inside = inside and place.origin == self._gateway  # nobody leads back in from outside
                address = None if inside else _public_address(place)
                with _answer(place, address, most, deadline) as answer:
                    if answer.status not in _REDIRECTS:
                        yield _checked(answer, place, most)
                        return
                    url = _led_to(url, answer)
        except Oversized as error:
            raise TooLarge(f"it has more than {most} bytes") from error
        except HttpError as error:
            raise NotFetched(str(error), again=True) from error
        raise NotFetched(f"more than {MOST_REDIRECTS} redirects")


@dataclass(frozen=True, slots=True)
class _Place:
    """An address in its parts; ``target`` is path and query."""

    origin: str
    host: str
    port: int
    target: str

    @classmethod
    def of(cls, url: str) -> "_Place":
        try:
            parts = urlsplit(url)
            port = parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError:
            raise NotFetched("it has no address that can be read") from None
        host = parts.hostname or ""
        if parts.scheme not in ("http", "https") or not host or not host.isascii() or parts.username is not None:
            raise NotFetched("it has no http or https address")
        origin = f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{port}"
        return cls(origin, host, port, (parts.path or "/") + (f"?{parts.query}" if parts.query else ""))


@contextmanager
def _answer(place: _Place, address: str | None, most: int, deadline: float) -> Iterator[Streamed]:
    left = deadline - monotonic()
    if left <= 0:
        raise NotFetched("it was not there in time", again=True)
    with closing(Http(place.origin, seconds=left, connections=1, body_limit=most, address=address)) as http:
        accepting = {"Accept": "*/*"}
        with http.stream("GET", place.target, None, accepting, idle_seconds=IDLE_SECONDS, seconds=left) as answer:
            yield answer


def _led_to(url: str, answer: Streamed) -> str:
    try:
        return urljoin(url, answer.headers.get("location", ""))
    except ValueError:
        raise NotFetched("it was led to no address that can be read") from None


def _checked(answer: Streamed, place: _Place, most: int) -> Iterator[bytes]:
    if answer.status != 200:
        again = answer.status in _PASSING or answer.status >= 500
        raise NotFetched(f"{place.host} answered {answer.status}", again=again)
    length = answer.headers.get("content-length", "")
    if length.isascii() and length.isdigit() and int(length[:18]) > most:
        raise TooLarge(f"it has more than {most} bytes")
    return answer.chunks


def _public_address(place: _Place) -> str:
    """An address of the host that is public. It alone is connected to: the next answer could be another one."""
    try:
        found = socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NotFetched(f"{place.host} is not found", again=True) from error
    public = (str(entry[4][0]) for entry in found if is_public(str(entry[4][0])))
    address = next(public, None)
    if address is None:
        raise NotFetched(f"{place.host} is no public address")
    return address


def is_public(address: str) -> bool:
    """Whether an IP address is one of the Internet, and neither of a private network nor kept for special uses."""
    match ip_address(address):
        case IPv4Address() as ip:
            return not any(ip in network for network in _SPECIAL_4)
        case IPv6Address() as ip:
            return ip in _PUBLIC_6 and not any(ip in network for network in _SPECIAL_6)
