"""Logins, in the memory of this process, and the limits on tries of passwords."""

import secrets
import threading
from dataclasses import field
from typing import Any

from bot.core.clock import Clock
from bot.core.immutable import immutable, mutable
from bot.core.seal import Seal
from bot.pages.console.users import User

IDLE_SECONDS, LONGEST_SECONDS = 30 * 60.0, 12 * 3600.0
MOST_FORMS = 1000
UNKNOWN = "an unknown address"
_MOST_COUNTED = 1000  # before those are forgotten that have all their tries again


@immutable
class TryLimit:
    """A limit: so many tries at once, then one each ``seconds``."""

    tries: int
    seconds: float


TRIES, TRIES_FROM_ADDRESS, TRIES_FOR_NAME = TryLimit(5, 12.0), TryLimit(20, 3.0), TryLimit(50, 3.0)


@mutable
class Login:
    """A user who is logged in.

    ``token`` is in each form that the pages send back; ``said`` are notes for the next page.
    """

    user: User
    began: float
    seen: float
    token: str = field(default_factory=secrets.token_urlsafe)
    said: list[str] = field(default_factory=list)
    drafts: dict[str, Any] = field(default_factory=dict)  # messages that could not be sent, by contact
    forms: set[tuple[str, ...]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _seal: Seal = field(default_factory=lambda: Seal(secrets.token_bytes(32)))

    def pop_messages(self) -> list[str]:
        """Return the notes for the next page, and forget them."""
        said, self.said = self.said, []
        return said

    def is_new(self, form: tuple[str, ...]) -> bool:
        """True if this form has not come before: a second click sends it twice."""
        with self._lock:
            if form in self.forms:
                return False
            if len(self.forms) >= MOST_FORMS:
                self.forms.clear()
            self.forms.add(form)
            return True

    def sealed(self, text: str) -> str:
        """The code in addresses for a number, a name or a place in a list that the user may not see.

        It ends with the login.
        """
        return self._seal.sealed(b"address", text.encode()).hex()

    def unsealed(self, sealed: str) -> str | None:
        """The text that was `sealed` for this login; None for any other."""
        try:
            found = self._seal.opened(b"address", bytes.fromhex(sealed))
        except ValueError:
            return None
        return None if found is None else found.decode()


class Logins:
    """All logins, by the secret of their cookie.

    A login ends by itself after `IDLE_SECONDS` or `LONGEST_SECONDS`.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._logins: dict[str, Login] = {}

    def begin(self, user: User) -> str:
        """Log a user in. Returns the cookie's secret."""
        secret, now = secrets.token_urlsafe(32), self._clock.elapsed()
        with self._lock:
            self._logins = {key: login for key, login in self._logins.items() if not self._is_over(login)}
            self._logins[secret] = Login(user, now, now)
        return secret

    def find(self, secret: str, *, seen: bool = True) -> Login | None:
        """The login of a cookie, if there is one. ``seen``: its user has done something, so the login is prolonged."""
        with self._lock:
            login = self._logins.get(secret)
            if login is None or self._is_over(login):
                self._logins.pop(secret, None)
                return None
            login.seen = self._clock.elapsed() if seen else login.seen
            return login

    def end(self, secret: str) -> None:
        """Log out."""
        with self._lock:
            self._logins.pop(secret, None)

    def _is_over(self, login: Login) -> bool:
        now = self._clock.elapsed()
        return now - login.seen > IDLE_SECONDS or now - login.began > LONGEST_SECONDS


class LoginTries:
    """Limits how often a password can be tried: for one name from one address, from one address, and for one name.

    So one attacker on a name delays nobody at other addresses; and many attackers on a name delay no user who has
    logged in from the same address before. A browser in which the user has logged in before (`known_browser`) has tries
    of its own, so nobody delays it, even if all come from one address. An unknown name is treated like any other, so
    that nobody learns which names exist.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._full_at: dict[tuple[str, str], float] = {}  # when all tries are there again
        self._known: set[tuple[str, str]] = set()

    def knows(self, name: str, address: str) -> bool:
        """True if the user has logged in from this address before."""
        return (address, name) in self._known

    def wait(self, name: str, address: str, browser: str | None = None) -> float:
        """Use up one try. ``browser`` is a `known_browser` of the user's.

        Returns the seconds until the next try; 0 if there is one now.
        """
        now = self._clock.elapsed()
        limits = {(address, name): TRIES, (address, ""): TRIES_FROM_ADDRESS}
        if not self.knows(name, address):
            limits["", name] = TRIES_FOR_NAME
        if browser is not None:
            limits = {(browser, name): TRIES}
        with self._lock:
            if len(self._full_at) > _MOST_COUNTED:
                self._full_at = {key: full for key, full in self._full_at.items() if full > now}
            full_at = {key: max(now, self._full_at.get(key, now)) + limit.seconds for key, limit in limits.items()}
            wait = max(full_at[key] - now - limit.tries * limit.seconds for key, limit in limits.items())
            if wait > 0:
                return wait
            self._full_at |= full_at
            return 0.0

    def forget(self, name: str, address: str, browser: str | None = None) -> None:
        """Give the name all its tries from this address or browser again: the right password was written."""
        with self._lock:
            self._full_at.pop((browser or address, name), None)
            if len(self._known) >= _MOST_COUNTED:
                self._known.clear()
            if address != UNKNOWN:
                self._known.add((address, name))


def new_browser(user: User) -> str:
    """The cookie by which `known_browser` recognises a browser in which a user has logged in.

    A new password makes it invalid.
    """
    return Seal(user.hash.encode()).sealed(user.name.encode(), secrets.token_bytes(16)).hex()


def known_browser(user: User | None, kept: str) -> str | None:
    """The name of the browser with a cookie from `new_browser` for this user; None for any other cookie."""
    try:
        known = None if user is None else Seal(user.hash.encode()).opened(user.name.encode(), bytes.fromhex(kept))
    except ValueError:
        return None
    return None if known is None else known.hex()
