"""Days in people's words, seen from Monday, 6 May 2030."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.lang.dates import read_date

TODAY = date(2030, 5, 6)


@pytest.mark.parametrize(
    ("text", "day"),
    [("2030-05-12", date(2030, 5, 12)), ("2030/5/12", date(2030, 5, 12)), ("12.5.2030", date(2030, 5, 12)),
     ("12/5/2030", date(2030, 5, 12)), ("12.5.30", date(2030, 5, 12)), ("12.5.", date(2030, 5, 12)),
     ("12 May", date(2030, 5, 12)), ("12 may!", date(2030, 5, 12)), ("May 12 2030", date(2030, 5, 12)),
     ("May 12th", date(2030, 5, 12)), ("the 12th of May", date(2030, 5, 12)), ("1 Sept", date(2030, 9, 1)),
     ("6 May", date(2030, 5, 6)), ("5 May", date(2031, 5, 5)), ("29 Feb", date(2032, 2, 29)),
     ("today", TODAY), ("Tomorrow", date(2030, 5, 7)), ("the day after tomorrow", date(2030, 5, 8)),
     ("Friday", date(2030, 5, 10)), ("on fri", date(2030, 5, 10)), ("next Friday", date(2030, 5, 10)),
     ("Monday", date(2030, 5, 13)), ("Friday, 10 May", date(2030, 5, 10))],
)  # fmt: skip
def test_it_is_a_day(text: str, day: date) -> None:
    assert read_date(text, TODAY) == day


@pytest.mark.parametrize(
    "text",
    ["", "may", "1", "12", "31.4.", "32 May", "29 Feb 2031", "5/13/2030", "Friday 12 May", "12 Mayonnaise", "12 m",
     "May May", "12 May please", "2030-05-12T10:00", "1 2 3 4", "٣ May", "0.0.", "1" * 500, "tomorrow tomorrow"],
)  # fmt: skip
def test_it_is_none(text: str) -> None:
    assert read_date(text, TODAY) is None


@given(st.text(max_size=50), st.dates(max_value=date(9990, 1, 1)))
def test_no_text_raises(text: str, today: date) -> None:
    read_date(text, today)
