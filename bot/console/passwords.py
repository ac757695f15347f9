"""Passwords: how they are hashed (argon2id, with the library's parameters, which are those of RFC 9106) and compared."""

import secrets
import threading
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from bot.core.errors import BotError

SHORTEST, LONGEST = 12, 1000  # characters
PATIENCE = 5.0  # seconds


class TooManyLogins(BotError):
    """So many passwords are being compared that this one has not had its turn."""


class BadPassword(BotError):
    """A password that cannot be used; the text says why."""


def read_password(text: str) -> str:
    """A new password. Raises `BadPassword` for one that is too short or too long."""
    if not SHORTEST <= len(text) <= LONGEST:
        raise BadPassword(f"a password has {SHORTEST} to {LONGEST} characters, and this one {len(text)}")
    return text


def hashed(password: str) -> str:
    """The hash of a password, as a setting has it."""
    return PasswordHasher().hash(password)


@cache
def _nobodys_hash() -> str:
    return PasswordHasher().hash(secrets.token_hex())


class Passwords:
    """Compares passwords with hashes, one at a time: a comparison takes 64 MB and some hundredths of a second."""

    def __init__(self) -> None:
        self._hasher = PasswordHasher()
        self._nobodys = _nobodys_hash()
        self._one = threading.Lock()

    def fits(self, password: str, hash: str | None) -> bool:
        """Whether a password has this hash. None, of a user who is not known, takes as long. Raises `TooManyLogins`."""
        if not self._one.acquire(timeout=PATIENCE):
            raise TooManyLogins("many people log in at this moment: try again in a few seconds")
        try:
            return self._hasher.verify(hash or self._nobodys, password[: LONGEST + 1]) and hash is not None
        except (VerificationError, InvalidHashError):
            return False
        finally:
            self._one.release()
