"""Seals short texts for addresses: nobody else can read them, make one, or tell which of two comes first.

Synthetic IV: a tag of the content is the nonce of its encryption. Only HMAC-SHA256 is used.
"""

import hmac
from hashlib import sha256

_TAG = 16  # bytes


class Seal:
    """Encrypts and authenticates short contents, for a purpose, with keys that are made of a secret."""

    def __init__(self, secret: bytes) -> None:
        self._tags, self._streams = (hmac.digest(secret, what, sha256) for what in (b"tags", b"streams"))

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
        blocks = (hmac.digest(self._streams, tag + n.to_bytes(4), sha256) for n in range(len(content) // 32 + 1))
        return bytes(a ^ b for a, b in zip(content, b"".join(blocks), strict=False))
