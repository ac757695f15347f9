"""Weekdays and times of day as flow files write them, and the moments at which a clock shows them."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from bot.language.source.wall_clock import days_in, later, minutes_in, on_the_clock

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("mon", {0}),
        ("Monday", {0}),
        ("mon-fri", {0, 1, 2, 3, 4}),
        ("fri-mon", {4, 5, 6, 0}),
        ("sun-sun", {6}),
        ("mon, wed-thu ,sat", {0, 2, 3, 5}),
    ],
)
def test_days(text: str, days: set[int]) -> None:
    assert {*(days_in(text) or ())} == days


@pytest.mark.parametrize("text", ["", "mo", "mon-", "-fri", "mon-fri-sun", "mon,", "today"])
def test_no_days(text: str) -> None:
    assert days_in(text) is None


@pytest.mark.parametrize(("text", "minutes"), [("9:00", 540), ("09:05", 545), ("0:00", 0), (" 24:00 ", 1440)])
def test_times_of_day(text: str, minutes: int) -> None:
    assert minutes_in(text) == minutes


@pytest.mark.parametrize("text", ["", "9", "9:0", "24:01", "25:00", "9:60", "09:00:00", "٩:00"])
def test_no_times_of_day(text: str) -> None:
    assert minutes_in(text) is None


def test_a_clock_shows_a_time_at_one_moment_also_where_it_skips_it_or_shows_it_twice() -> None:
    assert on_the_clock(date(2030, 5, 6), 540, BERLIN) == datetime(2030, 5, 6, 7, 0, tzinfo=UTC)
    skipped = on_the_clock(date(2030, 3, 31), 150, BERLIN)
    assert f"{skipped.astimezone(BERLIN):%H:%M %Z}" == "03:30 CEST"
    twice = on_the_clock(date(2030, 10, 27), 150, BERLIN)
    assert f"{twice.astimezone(BERLIN):%H:%M %Z}" == "02:30 CEST"
    assert on_the_clock(date(2030, 5, 6), 1560, BERLIN) == on_the_clock(date(2030, 5, 7), 120, BERLIN)


@pytest.mark.parametrize("minutes", [-30, 5, 30, 90, 180])
@pytest.mark.parametrize("hour", [0, 1])
def test_a_duration_is_as_long_in_an_hour_that_clocks_show_twice(hour: int, minutes: int) -> None:
    moment, by = datetime(2030, 10, 27, hour, 30, tzinfo=UTC), timedelta(minutes=minutes)  # 2:30, and 2:30 again
    assert later(moment.astimezone(BERLIN), by, BERLIN).astimezone(UTC) == moment + by
