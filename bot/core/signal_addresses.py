"""Addresses for services that cannot be told a key: ``signal_url("paid")`` makes one for the run of a flow.

The address names the contact and the run, so nothing is stored; it is sealed, so that nobody else can read or make one.
"""

import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error

from bot.core.seal import Seal

ADDRESS = r"https?://[^\s\"]+/signals/[a-z0-9_.]+/[A-Za-z0-9_-]{40,}"
"""The form of an address, as a pattern."""

_VISITS = struct.Struct(">QQ")


class SignalAddresses:
    """Makes and reads addresses below ``base``, the bot's public address, if it has one.

    ``key`` seals them: that of the store, which all machines, a backup and a copy have.
    """

    def __init__(self, base: str | None, key: str) -> None:
        self._base = base
        self._seal = Seal(key.encode())

    def address(self, name: str, contact: str, first_visit: int, visit: int) -> str | None:
        """The address by which a signal reaches the run that began with ``first_visit``: one for each ``visit``."""
        if self._base is None:
            return None
        sealed = self._seal.sealed(name.encode(), _VISITS.pack(first_visit, visit) + contact.encode())
        return f"{self._base.rstrip('/')}/signals/{name}/{_token(sealed)}"

    def read(self, name: str, token: str) -> tuple[str, int] | None:
        """The contact and the first visit of an address' run; None where it is not one of ours.

        Each address has one spelling: base64 also reads others, by which one could pass for many.
        """
        try:
            raw = urlsafe_b64decode(token + "=" * (-len(token) % 4))
        except (Error, ValueError):
            return None
        found = self._seal.opened(name.encode(), raw) if _token(raw) == token else None
        if found is None or len(found) <= _VISITS.size:
            return None
        return found[_VISITS.size :].decode(), _VISITS.unpack_from(found)[0]


def _token(sealed: bytes) -> str:
    return urlsafe_b64encode(sealed).rstrip(b"=").decode()


EXAMPLE = SignalAddresses("https://bot.example", "example")
"""The addresses of bots that nobody can reach from outside: in tests, in `bot chat`."""
