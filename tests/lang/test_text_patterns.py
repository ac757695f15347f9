"""The time that patterns may take. A text that is slow for a pattern is made up of its own letters."""

import pytest

from bot.lang import text_patterns
from bot.lang.text_patterns import PatternTime, compiled, named_parts

SLOW = compiled(r"([a-z]+\.?)+[0-9]")
SLOW_TEXT = "a" * 4096


class Seconds:
    """A clock of seconds that stands still but for what a pattern takes of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.allowed: list[float] = []
        self.now = 0.0
        monkeypatch.setattr(text_patterns, "monotonic", lambda: self.now)

    def pattern(self, takes: float) -> "Seconds.Pattern":
        return Seconds.Pattern(self, takes)

    class Pattern:
        def __init__(self, clock: "Seconds", takes: float) -> None:
            self.clock, self.takes = clock, takes

        def fullmatch(self, text: str, timeout: float) -> None:
            self.clock.allowed.append(round(timeout, 6))
            self.clock.now += min(self.takes, timeout)
            if self.takes > timeout:
                raise TimeoutError


def test_a_text_that_takes_a_pattern_too_long_does_not_match() -> None:
    assert named_parts(SLOW, SLOW_TEXT) is None
    assert named_parts(SLOW, "abc.def7") == {}


def test_the_patterns_of_one_turn_share_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Seconds(monkeypatch)
    with PatternTime() as time:
        for takes in (0.03, 0.01, 1.0, 0.001):
            assert named_parts(clock.pattern(takes), "x") is None
    assert clock.allowed == [0.05, 0.02, 0.01]  # the last pattern is not even tried
    assert time.is_up


def test_the_next_turn_has_all_of_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Seconds(monkeypatch)
    for _ in range(2):
        with PatternTime() as time:
            named_parts(clock.pattern(0.04), "x")
        assert not time.is_up
    assert clock.allowed == [0.05, 0.05]


def test_outside_a_turn_each_pattern_has_its_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Seconds(monkeypatch)
    for _ in range(2):
        named_parts(clock.pattern(1.0), "x")
    assert clock.allowed == [0.05, 0.05]
