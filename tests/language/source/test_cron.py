"""Times that come again and again, by the clock of a zone."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.language.source.wall_clock import next_after, read_every

BERLIN, NEW_YORK = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")


@pytest.mark.parametrize(
    ("written", "fields"),
    [
        ("day at 9:00", "0 9 * * *"),
        ("mon-fri at 9:05", "5 9 * * 1,2,3,4,5"),
        ("Sunday at 18:30", "30 18 * * 0"),
        ("sat-mon at 0:00", "0 0 * * 1,6,0"),
        ("mon, wed at 07:15", "15 7 * * 1,3"),
        ("0 9 1 * *", "0 9 1 * *"),
        ("*/15  8-17 * * MON-FRI", "*/15 8-17 * * mon-fri"),
        ("0 9 l * *", "0 9 l * *"),
    ],
)
def test_plain_words_and_five_fields_are_read(written: str, fields: str) -> None:
    assert read_every(written) == fields


@pytest.mark.parametrize(
    "written",
    [
        *("", "9:00", "day", "day at 25:00", "day at 24:00", "someday at 9:00", "@daily", "0 9 * *", "0 9 * * * *"),
        *("61 * * * *", "R * * * *", "H 9 * * *", "0 0 30 2 *", "day at 9:00 or so", "0 9 * * mon" * 20),
    ],
)
def test_what_never_comes_or_comes_by_chance_is_not_read(written: str) -> None:
    assert read_every(written) is None


def next_five(every: str, start: datetime) -> list[str]:
    found = []
    for _ in range(5):
        start = next_after(every, start).astimezone(start.tzinfo)
        found.append(f"{start:%d %H:%M %Z}")
    return found


def test_nine_stays_nine_when_summer_begins_and_when_it_ends() -> None:
    before = datetime(2030, 3, 29, 12, 0, tzinfo=BERLIN)
    assert next_five("0 9 * * *", before)[:3] == ["30 09:00 CET", "31 09:00 CEST", "01 09:00 CEST"]
    before = datetime(2030, 10, 25, 12, 0, tzinfo=BERLIN)
    assert next_five("0 9 * * *", before)[:3] == ["26 09:00 CEST", "27 09:00 CET", "28 09:00 CET"]
    before = datetime(2030, 3, 8, 12, 0, tzinfo=NEW_YORK)
    assert next_five("0 9 * * *", before)[:3] == ["09 09:00 EST", "10 09:00 EDT", "11 09:00 EDT"]


def test_a_time_that_the_clock_skips_comes_when_it_has_gone_on() -> None:
    assert next_five("30 2 * * *", datetime(2030, 3, 30, 3, 0, tzinfo=BERLIN))[:2] == ["31 03:30 CEST", "01 02:30 CEST"]


def test_a_time_that_the_clock_shows_twice_comes_once() -> None:
    assert next_five("30 2 * * *", datetime(2030, 10, 26, 3, 0, tzinfo=BERLIN))[:2] == ["27 02:30 CEST", "28 02:30 CET"]
    between = datetime(2030, 10, 27, 2, 10, tzinfo=BERLIN, fold=1)
    assert next_five("30 2 * * *", between)[:1] == ["28 02:30 CET"]


def test_all_times_that_the_clock_skips_come_when_it_has_gone_on() -> None:
    before = datetime(2030, 3, 31, 0, 0, tzinfo=BERLIN)
    assert next_five("0,30 2 * * *", before)[:3] == ["31 03:00 CEST", "31 03:30 CEST", "01 02:00 CEST"]
    assert next_five("*/30 * * * *", before.replace(hour=1)) == [
        *("31 01:30 CET", "31 03:00 CEST", "31 03:30 CEST", "31 04:00 CEST", "31 04:30 CEST"),
    ]


def test_what_comes_every_hour_or_oftener_comes_both_times() -> None:
    before = datetime(2030, 10, 27, 1, 45, tzinfo=BERLIN)
    both = ["27 02:00 CEST", "27 02:30 CEST", "27 02:00 CET", "27 02:30 CET"]
    assert next_five("*/30 * * * *", before) == [*both, "27 03:00 CET"]
    assert next_five("*/30 0-2 * * *", before) == [*both, "28 00:00 CET"]
    assert next_five("0 * * * *", before)[:3] == ["27 02:00 CEST", "27 02:00 CET", "27 03:00 CET"]
    assert next_five("*/30 2 * * *", before)[:3] == ["27 02:00 CEST", "27 02:30 CEST", "28 02:00 CET"]
    assert next_five("0 */2 * * *", before)[:2] == ["27 02:00 CEST", "27 04:00 CET"]


@pytest.mark.parametrize("zone", [BERLIN, NEW_YORK, ZoneInfo("Australia/Lord_Howe")])
@pytest.mark.parametrize(
    "day", [datetime(2030, 3, 10), datetime(2030, 3, 31), datetime(2030, 4, 7), datetime(2030, 10, 27)]
)
def test_what_comes_every_ten_minutes_does_so_through_every_change_of_the_clocks(zone: ZoneInfo, day: datetime) -> None:
    at = day.replace(tzinfo=zone).astimezone(UTC)
    for _ in range(36):
        found = next_after("*/10 * * * *", at.astimezone(zone))
        assert found == at + timedelta(minutes=10)
        at = found


@given(
    st.sampled_from(["*/7 * * * *", "30 2 * * *", "0 0 * * *", "0 9 * * 1", "59 23 l * *"]),
    st.sampled_from([BERLIN, NEW_YORK, ZoneInfo("Asia/Jakarta"), ZoneInfo("Australia/Lord_Howe")]),
    st.datetimes(datetime(2029, 1, 1), datetime(2032, 1, 1)),
)
def test_the_next_time_is_always_later_and_on_the_way_none_is_left_out(
    every: str, zone: ZoneInfo, moment: datetime
) -> None:
    at = moment.replace(tzinfo=UTC).astimezone(zone)
    found = next_after(every, at)
    assert found > at
    just_before = (found - timedelta(microseconds=1)).astimezone(zone)
    assert next_after(every, just_before) == found
