"""Durations as flow files write them."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.language.source.wall_clock import duration_words, parse_duration, spoken_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("10m", 600), ("2h", 7200), ("5d", 432_000), ("1w", 604_800), ("2h30m", 9000), ("5d 2h", 439_200)],
)
def test_a_duration_is_a_number_and_a_unit_or_several(text: str, seconds: int) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "5", "h", "0s", "-5m", "1.5h", "5 minutes", "367d", "9" * 50 + "s", "1h" * 99])
def test_anything_else_is_none(text: str) -> None:
    assert parse_duration(text) is None


@given(st.text(max_size=200))
def test_no_text_raises(text: str) -> None:
    parse_duration(text)


@given(st.integers(1, 366), st.integers(0, 23))
def test_what_is_written_in_words_is_read_back(days: int, hours: int) -> None:
    duration = min(timedelta(days=days, hours=hours), timedelta(days=366))
    assert parse_duration(duration_words(duration)) == duration


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("3 hours", 3),
        ("1 hour", 1),
        ("2 days", 48),
        ("1 day and 2 hours", 26),
        ("90 min", 1.5),
        ("Tomorrow", 24),
        ("2h 30m", 2.5),
    ],
)
def test_a_person_writes_durations_in_words_at_a_clock(text: str, hours: float) -> None:
    assert spoken_duration(text) == timedelta(hours=hours)


@pytest.mark.parametrize("text", ["soon", "3 moons", "hours", "2 hours ago"])
def test_other_words_are_no_duration(text: str) -> None:
    assert spoken_duration(text) is None
