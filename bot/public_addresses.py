"""Checks addresses that a contact may have chosen: none of them may lead into our own network.

A host is looked up once, and only the address that was looked at is connected to: the next answer could be another one.
"""

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Self
from urllib.parse import urljoin, urlsplit

from bot.core.errors import BotError
from bot.http_client import CONNECT_SECONDS, NotFound, is_this_machine, look_up

MOST_REDIRECTS = 3
REDIRECTS = (301, 302, 303, 307, 308)
_HOST = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]+(%[a-z0-9]+)?")
_PUBLIC_6 = IPv6Network("2000::/3")  # so neither mapped IPv4 nor local addresses
_SPECIAL_4 = tuple(map(IPv4Network, (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
    "224.0.0.0/4", "240.0.0.0/4",
)))  # fmt: skip
_SPECIAL_6 = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")))


class BadAddress(BotError):
    """An invalid address, or one that must not be connected to."""


class NotPublic(BadAddress):
    """An address that leads into a private network."""


class HostUnknown(BotError):
    """Nobody knows the host, now at least."""


@dataclass(frozen=True, slots=True)
class WebAddress:
    """An http or https address in its parts; ``target`` is path and query."""

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
        return cls(origin, host, port, (parts.path or "/") + (f"?{parts.query}" if parts.query else ""))

    @property
    def server(self) -> str:
        """What two addresses of the same server have in common: the loopback interface has several names."""
        scheme = self.origin.partition(":")[0]
        return f"{scheme}://localhost:{self.port}" if is_this_machine(self.host) else self.origin

    def public_address(self, seconds: float) -> str:
        """An IP address of the host that is public: the one to connect to.

        Raises `NotPublic`, and `HostUnknown` after ``seconds`` at the latest.
        """
        try:
            found = look_up(self.host, self.port, min(seconds, CONNECT_SECONDS), foreign=True)
        except NotFound as error:
            raise HostUnknown(str(error)) from error
        public = (str(entry[4][0]) for entry in found if is_public(str(entry[4][0])))
        address = next(public, None)
        if address is None:
            raise NotPublic(f"{self.host} is no public address")
        return address


def redirected_to(url: str, location: str) -> str:
    """The address that a redirect leads to. Raises `BadAddress`."""
    try:
        return urljoin(url, location)
    except ValueError:
        raise BadAddress("it was led to no address that can be read") from None


def is_public(address: str) -> bool:
    """Whether an IP address is one of the Internet, and neither of a private network nor kept for special uses."""
    match ip_address(address):
        case IPv4Address() as ip:
            return not any(ip in network for network in _SPECIAL_4)
        case IPv6Address() as ip:
            return ip in _PUBLIC_6 and not any(ip in network for network in _SPECIAL_6)
