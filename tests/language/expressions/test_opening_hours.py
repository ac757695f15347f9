"""When an office is open: by its days, its clock and its holidays."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from bot.language.expressions.opening_hours import Hours
from bot.language.source.wall_clock import minutes_in

BERLIN = ZoneInfo("Europe/Berlin")


def spans(*texts: str) -> tuple[tuple[int, int], ...]:
    found = []
    for text in texts:
        start, end = (minutes_in(part) or 0 for part in text.split("-"))
        found.append((start, end if end > start else end + 1440))
    return tuple(found)


WEEK = (spans("9:00-12:00", "13:00-18:00"),) * 5 + (spans("22:00-2:00"), ())
OFFICE = Hours("office", WEEK, {date(2030, 5, 8): (), date(2030, 5, 9): spans("10:00-11:00")}, BERLIN)


def at(day: int, clock: str, month: int = 5) -> datetime:
    hour, minute = map(int, clock.split(":"))
    return datetime(2030, month, day, hour, minute, tzinfo=BERLIN)


def opens(day: int, clock: str) -> str:
    found = OFFICE.opens(at(day, clock))
    assert found is not None
    return f"{found.astimezone(BERLIN):%a %d %H:%M}"


def test_it_opens_at_its_time_closes_for_lunch_and_is_shut_at_its_end() -> None:
    assert [
        OFFICE.is_open(at(6, clock)) for clock in ("8:59", "9:00", "11:59", "12:00", "13:00", "17:59", "18:00")
    ] == [*(False, True, True, False, True, True, False)]


def test_a_night_belongs_to_the_day_on_which_it_began() -> None:
    assert OFFICE.is_open(at(11, "23:00"))
    assert OFFICE.is_open(at(12, "1:59"))
    assert not OFFICE.is_open(at(12, "2:00"))


def test_it_opens_next_after_lunch_on_the_next_day_after_the_weekend_and_where_it_is_open_now() -> None:
    assert opens(6, "12:30") == "Mon 06 13:00"
    assert opens(6, "18:00") == "Tue 07 09:00"
    assert opens(12, "2:00") == "Mon 13 09:00"
    assert opens(6, "10:17") == "Mon 06 10:17"


def test_a_holiday_is_shut_or_has_its_own_times() -> None:
    assert not OFFICE.is_open(at(8, "10:00"))
    assert opens(7, "18:00") == "Thu 09 10:00"
    assert not OFFICE.is_open(at(9, "11:00"))
    assert opens(9, "11:00") == "Fri 10 09:00"


def test_a_day_without_a_time_is_open_if_it_opens_on_that_day() -> None:
    assert [day for day in range(6, 13) if OFFICE.is_open_on(date(2030, 5, day))] == [6, 7, 9, 10, 11]


def test_it_keeps_its_own_clock_when_summer_begins_and_ends() -> None:
    sunday = Hours("night", ((),) * 6 + (spans("0:00-4:00"),), {}, BERLIN)
    begins = datetime(2030, 3, 31, tzinfo=BERLIN).astimezone(UTC)
    ends = datetime(2030, 10, 27, tzinfo=BERLIN).astimezone(UTC)
    open_for = [sum(sunday.is_open(start + timedelta(minutes=n)) for n in range(600)) for start in (begins, ends)]
    assert open_for == [180, 300]


def test_what_never_opens_again_says_so() -> None:
    once = Hours("once", ((),) * 7, {date(2030, 5, 6): spans("9:00-10:00")}, BERLIN)
    assert once.opens(at(6, "8:00")) is not None
    assert once.opens(at(6, "10:00")) is None


@given(st.datetimes(datetime(2030, 1, 1), datetime(2031, 1, 1)))
def test_it_is_open_when_it_opens_and_shut_until_then(moment: datetime) -> None:
    now = moment.replace(tzinfo=UTC)
    found = OFFICE.opens(now)
    assert found is not None and found >= now
    assert OFFICE.is_open(found)
    assert OFFICE.is_open(now) or not OFFICE.is_open(found - timedelta(microseconds=1))
