"""Passwords: hashed with argon2id (the library's parameters, which are those of RFC 9106) and compared."""

import secrets
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from bot.core.errors import BotError

SHORTEST, LONGEST = 12, 1000  # characters
PATIENCE = 20.0  # seconds: as many callers as there are connections have a turn


class TooManyLogins(BotError):
    """Too many passwords are being compared; this one was not."""


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
    """Compares passwords with hashes, one at a time: a comparison takes 64 MB and some hundredths of a second.

    Callers take turns, so that many tries of one hold up nobody else; and those who are known come before all
    strangers.
    """

    def __init__(self) -> None:
        self._hasher = PasswordHasher()
        self._nobodys = _nobodys_hash()
        self._change = threading.Condition()
        self._busy = False
        self._known: dict[str, deque[object]] = {}  # who waits, by caller; the callers in the order of their turns
        self._strangers: dict[str, deque[object]] = {}

    def fits(self, password: str, hash: str | None, caller: str = "", *, known: bool = False) -> bool:
        """True if a password has this hash. Without a hash, for an unknown user, it takes as long.

        Raises `TooManyLogins`.
        """
        with self._turn(caller, self._known if known else self._strangers):
            try:
                return self._hasher.verify(hash or self._nobodys, password[: LONGEST + 1]) and hash is not None
            except (VerificationError, InvalidHashError):
                return False

    @contextmanager
    def _turn(self, caller: str, waiting: dict[str, deque[object]]) -> Iterator[None]:
        me = object()
        with self._change:
            waiting.setdefault(caller, deque()).append(me)
            came = self._change.wait_for(lambda: not self._busy and self._first() is me, PATIENCE)
            self._busy |= came
            others = waiting.pop(caller)
            others.remove(me)
            if others:
                waiting[caller] = others  # behind the other callers
            self._change.notify_all()
        if not came:
            raise TooManyLogins("many people log in at this moment: try again in a few seconds")
        try:
            yield
        finally:
            with self._change:
                self._busy = False
                self._change.notify_all()

    def _first(self) -> object:
        return next(iter((self._known or self._strangers).values()))[0]
