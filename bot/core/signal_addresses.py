"""Addresses for services that cannot be told a key: ``signal_url("paid")`` makes one for the run of a flow.

The address names the contact and the run, so nothing is stored; it is sealed, so that nobody else can read or make one.
Synthetic IV: a tag of the content is the nonce of its encryption. Only HMAC-SHA256 is used.
"""

import hmac
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Sequence
from hashlib import sha256

ADDRESS = r"https?://[^\s\"]+/signals/[a-z0-9_]+/[A-Za-z0-9_-]{40,}"
"""The form of an address, as a pattern."""

_TAG = 16  # bytes
_VISITS = struct.Struct(">QQ")


class SignalAddresses:
    """Makes and reads addresses below ``base``, the bot's public address, if it has one.

    They are made with the first of ``secrets``, and read with each: a webhook has two while its secret is changed.
    """

    def __init__(self, base: str | None, secrets: Sequence[str]) -> None:
        self._base = base
        self._seals = [_Seal(secret) for secret in secrets]

    def address(self, name: str, contact: str, first_visit: int, visit: int) -> str | None:
        """The address by which a signal reaches the run that began with ``first_visit``: one for each ``visit``."""
        if self._base is None or not self._seals:
            return None
        sealed = self._seals[0].sealed(name.encode(), _VISITS.pack(first_visit, visit) + contact.encode())
        return f"{self._base.rstrip('/')}/signals/{name}/{_token(sealed)}"

    def read(self, name: str, token: str) -> tuple[str, int] | None:
        """The contact and the first visit of an address' run; None where it is not one of ours.

        Each address has one spelling: base64 also reads others, by which one could pass for many.
        """
        try:
            raw = urlsafe_b64decode(token + "=" * (-len(token) % 4))
        except (Error, ValueError):
            return None
        if _token(raw) != token:
            return None
        found = next((content for seal in self._seals if (content := seal.opened(name.encode(), raw)) is not None), b"")
        if len(found) <= _VISITS.size:
            return None
        return found[_VISITS.size :].decode(), _VISITS.unpack_from(found)[0]


def _token(sealed: bytes) -> str:
    return urlsafe_b64encode(sealed).rstrip(b"=").decode()


class _Seal:
    """Encrypts and authenticates short contents, for a purpose, with keys that are made of a secret."""

    def __init__(self, secret: str) -> None:
        self._tags, self._streams = (
            hmac.digest(secret.encode(), what, sha256) for what in (b"signal tags", b"signal streams")
        )

    def sealed(self, purpose: bytes, content: bytes) -> bytes:
        """The tag, and behind it the encrypted content."""
        tag = self._tag(purpose, content)
        return tag + self._mixed(tag, content)

    def opened(self, purpose: bytes, raw: bytes) -> bytes | None:
        """The content; None where it was not sealed so."""
        tag, content = raw[:_TAG], self._mixed(raw[:_TAG], raw[_TAG:])
        return content if hmac.compare_digest(tag, self._tag(purpose, content)) else None

    def _tag(self, purpose: bytes, content: bytes) -> bytes:
        return hmac.digest(self._tags, purpose + b"\0" + content, sha256)[:_TAG]

    def _mixed(self, tag: bytes, content: bytes) -> bytes:
        blocks = (hmac.digest(self._streams, tag + bytes([n]), sha256) for n in range(len(content) // 32 + 1))
        return bytes(a ^ b for a, b in zip(content, b"".join(blocks), strict=False))


EXAMPLE = SignalAddresses("https://bot.example", ["example"])
"""The addresses of bots that nobody can reach from outside: in tests, in `bot chat`."""
