"""Addresses below the bot's own public address, for services, the gateway and contacts, who cannot be told a key.

``signal_url("paid")`` makes an address for the run of a flow, a question with a form has the form's, and a message with
a file of the bot's own the file's.
An address says what it is about, so nothing is stored for it; it is sealed, so that nobody else can read or make one.
"""

import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from urllib.parse import quote, unquote

from bot.core.immutable import immutable
from bot.core.seal import Seal

ADDRESS = r"https?://[^\s\"]+/(?:(?:signals|forms)/[a-z0-9_.]+|files)/[A-Za-z0-9_-]{40,}"
"""The form of an address, as a pattern, without a file's name at its end."""

FILES_VALID = timedelta(days=3)
"""How long the address of a file is valid: longer than any message is tried, and a weekend."""

_VISITS = struct.Struct(">QQ")
_FILE = struct.Struct(">Q8s")
_FILES, _FORMS = b"/files", b"/forms/"  # no signal can have this name


@immutable
class FileAddress:
    """The content of a file's address: a file of the bot's own by its path, or one that was made for a contact.

    ``at`` is when its message was decided on, in whole seconds. ``made_for`` is empty for a file of the bot's own.
    ``kept_as`` is the name among the contact's kept files of a file that a person sends from the console.
    """

    path: str
    at: datetime
    made_for: str = ""
    kept_as: str = ""

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rpartition("/")[2]

    def is_valid(self, now: datetime) -> bool:
        """True unless it has expired."""
        return now <= self.at + FILES_VALID


class OwnAddresses:
    """Makes and reads addresses below ``base``, the bot's public address, if it has one.

    ``key`` seals them: that of the store, which all machines, a backup and a copy have.
    """

    def __init__(self, base: str | None, key: str) -> None:
        self._base = None if base is None else base.rstrip("/")
        self._seal = Seal(key.encode())

    def signal(self, name: str, contact: str, first_visit: int, visit: int) -> str | None:
        """The address by which a signal reaches the run that began with ``first_visit``: one for each ``visit``."""
        if self._base is None:
            return None
        sealed = self._seal.sealed(name.encode(), _VISITS.pack(first_visit, visit) + contact.encode())
        return f"{self._base}/signals/{name}/{_token(sealed)}"

    def read_signal(self, name: str, token: str) -> tuple[str, int] | None:
        """The contact and the first visit of a signal's address; None if it is not one of ours."""
        found = self._opened(name.encode(), token, _VISITS)
        return None if found is None else (found[_VISITS.size :].decode(), _VISITS.unpack_from(found)[0])

    def form(self, name: str, contact: str, first_visit: int, visit: int) -> str | None:
        """The address of the form of a question, ``flow.step``, for one ``visit`` in the run that began so."""
        if self._base is None:
            return None
        sealed = self._seal.sealed(_FORMS + name.encode(), _VISITS.pack(first_visit, visit) + contact.encode())
        return f"{self._base}/forms/{name}/{_token(sealed)}"

    def read_form(self, name: str, token: str) -> tuple[str, int, int] | None:
        """The contact, the first visit and the visit of a form's address; None if it is not one of ours."""
        found = self._opened(_FORMS + name.encode(), token, _VISITS)
        return None if found is None else (found[_VISITS.size :].decode(), *_VISITS.unpack_from(found))

    def file(self, file: FileAddress, content: bytes) -> str | None:
        """The address of a file, which ends in its name. Other content has another address, also for caches."""
        if self._base is None:
            return None
        head = _FILE.pack(int(file.at.timestamp()), sha256(content).digest()[:8])
        sealed = self._seal.sealed(_FILES, head + f"{file.made_for}\0{file.kept_as}\0{file.path}".encode())
        return f"{self._base}/files/{_token(sealed)}/{quote(file.name)}"

    def read_file(self, token: str, name: str) -> FileAddress | None:
        """The content of a file's address that ends in this name; None if it is not one of ours."""
        found = self._opened(_FILES, token, _FILE)
        if found is None:
            return None
        made_for, kept_as, path = found[_FILE.size :].decode().split("\0", 2)
        at = datetime.fromtimestamp(_FILE.unpack_from(found)[0], UTC)
        address = FileAddress(path, at, made_for, kept_as)
        return address if address.name == name else None

    def file_at(self, address: str) -> FileAddress | None:
        """The content of an address, if it is one of ours for a file."""
        token, _, name = address.removeprefix(f"{self._base}/files/").partition("/")
        return self.read_file(token, unquote(name)) if address.startswith(f"{self._base}/files/") else None

    def _opened(self, purpose: bytes, token: str, head: struct.Struct) -> bytes | None:
        """The content of a token; None if it is not one of ours.

        Each address has one spelling. Base64 also reads others, so that one address could pass for many.
        """
        try:
            raw = urlsafe_b64decode(token + "=" * (-len(token) % 4))
        except (Error, ValueError):
            return None
        found = self._seal.opened(purpose, raw) if _token(raw) == token else None
        return None if found is None or len(found) <= head.size else found


def _token(sealed: bytes) -> str:
    return urlsafe_b64encode(sealed).rstrip(b"=").decode()


EXAMPLE_BASE = "https://bot.example"
EXAMPLE = OwnAddresses(EXAMPLE_BASE, "example")
"""The addresses of bots that nobody can reach from outside: in tests, in `bot chat`."""
