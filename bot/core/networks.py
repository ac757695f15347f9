"""Hosts and IP addresses: which are this machine, which lie in a private network."""

from contextlib import suppress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

_PUBLIC_6 = IPv6Network("2000::/3")  # so neither mapped IPv4 nor local addresses
_SPECIAL_4 = tuple(map(IPv4Network, (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
    "224.0.0.0/4", "240.0.0.0/4",
)))  # fmt: skip
_SPECIAL_6 = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")))


def is_address(host: str) -> bool:
    """True if a host is given by its IP address, so that no name server is asked."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def is_this_machine(host: str) -> bool:
    """True if a host is the loopback interface, by its name or by one of its addresses."""
    return host == "localhost" or (is_address(host) and ip_address(host).is_loopback)


def is_public(address: str) -> bool:
    """True if an IP address is on the Internet: neither in a private network nor reserved for special uses."""
    match ip_address(address):
        case IPv4Address() as ip:
            return not any(ip in network for network in _SPECIAL_4)
        case IPv6Address() as ip:
            return ip in _PUBLIC_6 and not any(ip in network for network in _SPECIAL_6)


def private_host(url: str) -> str | None:
    """The host of an address that is written as one of a private network, like ``127.0.0.1`` or ``localhost``."""
    with suppress(ValueError):
        host = urlsplit(url).hostname or ""
        if is_this_machine(host) or (is_address(host) and not is_public(host)):
            return host
    return None
