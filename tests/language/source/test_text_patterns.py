"""The time that patterns may take. A text that is slow for a pattern is made up of its own letters."""

from bot.language.source.text_patterns import PatternTime, compiled, named_parts, takes_too_long

SLOW = compiled(r"([a-z]+\.?)+[0-9]")
SLOW_TEXT = "a" * 4096


class Pattern:
    """A pattern that takes so many seconds for every text, and matches none."""

    def __init__(self, takes: float) -> None:
        self.takes = takes
        self.allowed: list[float] = []

    def fullmatch(self, text: str, timeout: float) -> None:
        self.allowed.append(timeout)
        if self.takes > timeout:
            raise TimeoutError


def allowed(*takes: float) -> list[list[float]]:
    """How long these patterns are allowed to take in one turn."""
    patterns = [Pattern(each) for each in takes]
    with PatternTime():
        assert [named_parts(pattern, "x") for pattern in patterns] == [None] * len(patterns)
    return [pattern.allowed for pattern in patterns]


def test_a_text_that_takes_a_pattern_too_long_does_not_match() -> None:
    assert named_parts(SLOW, SLOW_TEXT) is None
    assert takes_too_long(SLOW, SLOW_TEXT)
    assert named_parts(SLOW, "abc.def7") == {}


def test_one_pattern_of_a_turn_may_take_50_ms_and_others_a_moment() -> None:
    assert allowed(0.001, 0.04, 0.001) == [[0.005], [0.005, 0.05], [0.005]]


def test_after_a_second_slow_pattern_none_is_tried_in_that_turn() -> None:
    assert allowed(0.04, 0.04, 0.001) == [[0.005, 0.05], [0.005], []]
    assert allowed(0.06, 0.001) == [[0.005, 0.05], []]


def test_the_next_turn_has_all_of_its_time() -> None:
    slow = Pattern(0.04)
    for _ in range(2):
        with PatternTime() as time:
            named_parts(slow, "x")
        assert not time.is_up
    assert slow.allowed == [0.005, 0.05, 0.005, 0.05]


def test_outside_a_turn_each_pattern_has_its_own_time() -> None:
    slow = Pattern(0.06)
    for _ in range(2):
        named_parts(slow, "x")
    assert slow.allowed == [0.005, 0.05, 0.005, 0.05]
