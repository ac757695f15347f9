"""Times of day and moments in people's words, seen from Monday, 6 May 2030, 10:00 in Jakarta."""

from datetime import datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.language.answers.readers import Reading, read_moment, read_time

ZONE = ZoneInfo("Asia/Jakarta")
NOW = datetime(2030, 5, 6, 10, 0, tzinfo=ZONE)
LANGUAGES = ("de", "en", "es", "fr", "id", "ja", "ru", "xx")


def value_of(reading: Reading[Any] | None) -> Any:
    """The value that is proposed; None where the answer is asked again."""
    return None if reading is None else reading.value


@pytest.mark.parametrize(
    ("language", "text", "clock"),
    [("en", "15:00", time(15)), ("en", "9:30", time(9, 30)), ("en", "15.30", time(15, 30)), ("en", "3pm", time(15)), ("en", "3 PM.", time(15)),
     ("en", "3:30 p.m.", time(15, 30)), ("en", "12am", time(0)), ("en", "9am", time(9)), ("en", "12 pm", time(12)), ("en", "3 in the afternoon", time(15)),
     ("en", "15h", time(15)), ("en", "15h30", time(15, 30)), ("de", "15 Uhr", time(15)), ("de", "um 15", time(15)), ("id", "jam 3 sore", time(15)),
     ("id", "pukul 15.30", time(15, 30)), ("es", "a las 3 de la tarde", time(15)), ("en", "15時30分", time(15, 30)), ("en", "9 o'clock", time(9)),
     ("en", "at noon", time(12)), ("en", "midnight", time(0)), ("en", "0:05", time(0, 5)), ("en", "15:00 please", time(15)), ("en", "8 pm every day", time(20)),
     ("en", "every evening at half past six", time(18, 30)), ("en", "15:00:00", time(15)),
     ("en", "after dinner, about half past 8", time(20, 30)), ("en", "after work, at 6", time(18))],
)  # fmt: skip
def test_it_is_a_time_of_day(language: str, text: str, clock: time) -> None:
    assert value_of(read_time(text, language)) == clock


@pytest.mark.parametrize(
    "text",
    ["", "3", "15", "25:00", "9:60", "12.5.", "15:00 - 16:00", "a", "1:5", "9" * 500,
     "tomorrow"],
)  # fmt: skip
def test_it_is_no_time_of_day(text: str) -> None:
    assert value_of(read_time(text)) is None


@pytest.mark.parametrize(
    ("language", "text", "moment"),
    [("en", "weds after lunch, say 2pm", "2030-05-08 14:00"), ("en", "the day after tomorow at 3pm", "2030-05-08 15:00"),
     ("en", "12 May at 3pm", "2030-05-12 15:00"), ("en", "tomorrow 9:30", "2030-05-07 09:30"),
     ("en", "15:00 on Friday", "2030-05-10 15:00"), ("en", "noon tomorrow", "2030-05-07 12:00"),
     ("en", "12.05.2030 15.30", "2030-05-12 15:30"), ("en", "12.5. 15:00", "2030-05-12 15:00"),
     ("en", "today 9:00", "2030-05-06 09:00"), ("en", "9:00", "2030-05-07 09:00"), ("en", "3pm", "2030-05-06 15:00"),
     ("en", "in 2 hours", "2030-05-06 12:00"), ("en", "in 90 minutes", "2030-05-06 11:30"),
     ("en", "2030-05-12T15:00", "2030-05-12 15:00"), ("en", "2030-05-12 15:00Z", "2030-05-12 22:00"),
     ("id", "besok jam 3 sore", "2030-05-07 15:00"), ("id", "Jumat pukul 15.30", "2030-05-10 15:30"),
     ("es", "el viernes a las 3 de la tarde", "2030-05-10 15:00"), ("fr", "demain à 15h", "2030-05-07 15:00"),
     ("fr", "dans 2 heures", "2030-05-06 12:00"), ("de", "morgen um 15 Uhr", "2030-05-07 15:00"),
     ("de", "12:30 am Freitag", "2030-05-10 12:30"), ("en", "12:30 am Friday", "2030-05-10 00:30"),
     ("de", "15 Uhr am Freitag", "2030-05-10 15:00"), ("ja", "明日15時", "2030-05-07 15:00"),
     ("ru", "завтра в 15:00", "2030-05-07 15:00")],
)  # fmt: skip
def test_it_is_a_moment(language: str, text: str, moment: str) -> None:
    assert value_of(read_moment(text, NOW, language)) == datetime.fromisoformat(moment).replace(tzinfo=ZONE)


@pytest.mark.parametrize(
    "text",
    ["", "tomorrow", "12 May", "12.05", "5 12:30", "1 2 3:00 4", "30 minutes", "2030-13-01T10:00",
     "Friday, 12 May at 3pm", "15:00 - 16:00"],
)  # fmt: skip
def test_it_is_no_moment(text: str) -> None:
    assert value_of(read_moment(text, NOW, "en")) is None


@pytest.mark.parametrize("text", ["1.1.0001 0:00", "0001-01-01T00:00", "in 999 years at 12:00", "31.12.9999 23:00"])
def test_what_is_beyond_the_calendar_raises_nothing(text: str) -> None:
    for zone in ("Asia/Jakarta", "America/Denver"):
        read_moment(text, NOW.astimezone(ZoneInfo(zone)))


def test_where_the_past_is_meant_it_is_the_last_such_time() -> None:
    assert value_of(read_moment("9:00", NOW, past=True)) == NOW - timedelta(hours=1)
    assert value_of(read_moment("11:00", NOW, past=True)) == NOW - timedelta(hours=23)
    assert value_of(read_moment("Friday 9:00", NOW, past=True)) == datetime(2030, 5, 3, 9, tzinfo=ZONE)


def test_a_time_that_the_clocks_leave_out_is_an_hour_later() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    before = datetime(2030, 3, 30, 12, tzinfo=berlin)
    found = value_of(read_moment("tomorrow 2:30", before))
    assert found is not None and found.isoformat() == "2030-03-31T03:30:00+02:00"


def test_hours_go_by_the_clock_through_the_night_when_summer_begins() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    found = value_of(read_moment("in 2 hours", datetime(2030, 3, 31, 1, 30, tzinfo=berlin)))
    assert found is not None and found.isoformat() == "2030-03-31T04:30:00+02:00"


@given(st.text(max_size=70), st.sampled_from(LANGUAGES), st.booleans())
def test_no_text_raises(text: str, language: str, past: bool) -> None:
    read_time(text, language)
    read_moment(text, NOW, language, past=past)


WORDS = (
    "12",
    "5",
    "2030",
    "may",
    "friday",
    "in",
    "hours",
    "at",
    "3pm",
    "15:00",
    "15.30",
    "um",
    "uhr",
    "besok",
    "jam",
    "am",
    ":",
)


@given(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), st.sampled_from(LANGUAGES))
def test_no_words_of_times_raise(text: str, language: str) -> None:
    read_time(text, language)
    read_moment(text, NOW, language)
