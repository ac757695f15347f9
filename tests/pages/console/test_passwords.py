"""Comparing passwords takes time: strangers who send many of them hold up nobody who is known, and each other in turn."""

import threading

import pytest

from bot.pages.console import passwords
from bot.pages.console.passwords import Passwords, TooManyLogins
from tests.patience import PATIENCE


class _Hasher:
    """Compares when it is let, and notes the order."""

    def __init__(self) -> None:
        self.compared: list[str] = []
        self.let = threading.Semaphore(0)

    def verify(self, hash: str, password: str) -> bool:
        assert self.let.acquire(timeout=PATIENCE)
        self.compared.append(password)
        return True


class _Callers:
    """Passwords that wait: each caller is there before the next one comes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.hasher = _Hasher()
        self.passwords = Passwords()
        monkeypatch.setattr(self.passwords, "_hasher", self.hasher)
        self._threads: list[threading.Thread] = []

    def call(self, password: str, caller: str, *, known: bool = False) -> None:
        asked = threading.Thread(target=self.passwords.fits, args=(password, "hash", caller), kwargs={"known": known})
        asked.start()
        self._threads.append(asked)
        with self.passwords._change:
            assert self.passwords._change.wait_for(lambda: self._arrived() == len(self._threads), PATIENCE)

    def _arrived(self) -> int:
        """Those who wait, and the one whose password is compared."""
        queues = (*self.passwords._known.values(), *self.passwords._strangers.values())
        return sum(map(len, queues)) + self.passwords._busy

    def all(self) -> list[str]:
        for _ in self._threads:
            self.hasher.let.release()
        for each in self._threads:
            each.join(PATIENCE)
        return self.hasher.compared


def test_callers_take_turns_and_those_who_are_known_come_before_strangers(monkeypatch: pytest.MonkeyPatch) -> None:
    callers = _Callers(monkeypatch)
    for number in range(5):
        callers.call(f"stranger {number}", "198.51.100.7")
    callers.call("anna at a new place", "203.0.113.1")
    callers.call("olga", "her browser", known=True)
    assert callers.all() == [
        "stranger 0",
        "olga",
        "stranger 1",
        "anna at a new place",
        "stranger 2",
        "stranger 3",
        "stranger 4",
    ]


def test_a_caller_who_has_had_no_turn_in_time_leaves_the_others_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    callers = _Callers(monkeypatch)
    callers.call("first", "a")
    monkeypatch.setattr(passwords, "PATIENCE", 0)
    with pytest.raises(TooManyLogins):
        callers.passwords.fits("second", "hash", "b")
    monkeypatch.setattr(passwords, "PATIENCE", PATIENCE)
    callers.call("third", "c")
    assert callers.all() == ["first", "third"]
