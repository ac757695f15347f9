"""Days in people's words, seen from Monday, 6 May 2030."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.language.answers.readers import Reading, read_date

TODAY = date(2030, 5, 6)


def value_of(reading: Reading[Any] | None) -> Any:
    """The value that is proposed; None where the answer is asked again."""
    return None if reading is None else reading.value


@pytest.mark.parametrize(
    ("text", "day"),
    [("2030-05-12", date(2030, 5, 12)), ("2030/5/12", date(2030, 5, 12)), ("12.5.2030", date(2030, 5, 12)),
     ("12/5/2030", date(2030, 5, 12)), ("12.5.30", date(2030, 5, 12)), ("12.5.", date(2030, 5, 12)),
     ("12 May", date(2030, 5, 12)), ("12 may!", date(2030, 5, 12)), ("May 12 2030", date(2030, 5, 12)),
     ("May 12th", date(2030, 5, 12)), ("the 12th of May", date(2030, 5, 12)), ("1 Sept", date(2030, 9, 1)),
     ("6 May", date(2030, 5, 6)), ("5 May", date(2031, 5, 5)), ("29 Feb", date(2032, 2, 29)),
     ("today", TODAY), ("Tomorrow", date(2030, 5, 7)), ("the day after tomorrow", date(2030, 5, 8)),
     ("Friday", date(2030, 5, 10)), ("on fri", date(2030, 5, 10)), ("next Friday", date(2030, 5, 10)),
     ("Monday", date(2030, 5, 13)), ("Friday, 10 May", date(2030, 5, 10)), ("yesterday", date(2030, 5, 5)),
     ("last Friday", date(2030, 5, 3)), ("in 3 days", date(2030, 5, 9)), ("in a week", date(2030, 5, 13)),
     ("two weeks ago", date(2030, 4, 22)), ("in 1 month", date(2030, 6, 6)), ("3 days from now", date(2030, 5, 9)),
     ("٣ May", date(2031, 5, 3)), ("12 May please", date(2030, 5, 12)), ("5/13/2030", date(2030, 5, 13)), ("the 3rd", date(2030, 6, 3)),
     ("the third", date(2030, 6, 3)), ("on the first", date(2030, 6, 1)), ("Friday the tenth", date(2030, 5, 10))],
)  # fmt: skip
def test_it_is_a_day(text: str, day: date) -> None:
    assert value_of(read_date(text, TODAY)) == day


@pytest.mark.parametrize(
    "text",
    ["", "may", "1", "12", "31.4.", "32 May", "29 Feb 2031", "Friday 12 May", "12 Mayonnaise", "12 m",
     "May May", "12 Maybe", "2030-05-12T10:00", "1 2 3 4", "0.0.", "1" * 500, "tomorrow tomorrow",
     "hmm wait I need to ask my wife first", "I need to see my boss first", "first"],
)  # fmt: skip
def test_it_is_none(text: str) -> None:
    assert value_of(read_date(text, TODAY)) is None


LANGUAGES = ("ar", "de", "en", "es", "fr", "hi", "id", "it", "ja", "nl", "pt-BR", "ru", "tr", "zh", "xx")


@pytest.mark.parametrize(
    ("language", "text", "day"),
    [("id", "besok", date(2030, 5, 7)), ("id", "lusa", date(2030, 5, 8)), ("id", "hari Jumat", date(2030, 5, 10)),
     ("id", "Senin depan", date(2030, 5, 13)), ("id", "12 Mei", date(2030, 5, 12)), ("id", "3 hari lagi", date(2030, 5, 9)),
     ("es", "pasado mañana", date(2030, 5, 8)), ("es", "el 12 de mayo de 2030", date(2030, 5, 12)),
     ("es", "el viernes", date(2030, 5, 10)), ("pt-BR", "depois de amanhã", date(2030, 5, 8)),
     ("pt-BR", "na sexta", date(2030, 5, 10)), ("fr", "aujourd’hui", TODAY), ("fr", "le 1er juin", date(2030, 6, 1)),
     ("de", "übermorgen", date(2030, 5, 8)), ("de", "am Sonntag, 12. Mai", date(2030, 5, 12)),
     ("it", "dopodomani", date(2030, 5, 8)), ("nl", "volgende maandag", date(2030, 5, 13)),
     ("tr", "gelecek cuma", date(2030, 5, 10)), ("ru", "в пятницу", date(2030, 5, 10)), ("ru", "12-го мая", date(2030, 5, 12)),
     ("ar", "بعد غد", date(2030, 5, 8)), ("hi", "3 दिन में", date(2030, 5, 9)), ("zh", "2030年5月12日", date(2030, 5, 12)),
     ("ja", "5月12日", date(2030, 5, 12)), ("ja", "金曜日", date(2030, 5, 10)),
     ("id", "tomorrow", date(2030, 5, 7)), ("xx", "in two weeks", date(2030, 5, 20))],
)  # fmt: skip
def test_it_is_a_day_in_the_contacts_language(language: str, text: str, day: date) -> None:
    assert value_of(read_date(text, TODAY, language)) == day


@pytest.mark.parametrize(
    ("language", "text"),
    [("id", "mei"), ("id", "minggu depan"), ("id", "Jumat 12 Mei"), ("es", "a"), ("fr", "un"), ("de", "Freitag, 12. Mai"),
     ("de", "morgen oder übermorgen"), ("ja", "12日"), ("en", "one"), ("en", "3 days"),
     ("en", "in may"), ("en", "next week"), ("es", "la semana que viene"), ("fr", "la semaine prochaine"), ("en", "last month"), ("en", "in 3 hours"), ("en", "in 999 years and 12 days")],
)  # fmt: skip
def test_every_language_is_read_as_strictly(language: str, text: str) -> None:
    assert value_of(read_date(text, TODAY, language)) is None


@pytest.mark.parametrize(
    ("text", "day"),
    [("12 April", date(2030, 4, 12)), ("12 May", date(2029, 5, 12)), ("6 May", TODAY), ("Monday", date(2030, 4, 29)),
     ("Friday", date(2030, 5, 3)), ("7.5.85", date(1985, 5, 7)), ("7.5.28", date(2028, 5, 7)), ("29 Feb", date(2028, 2, 29))],
)  # fmt: skip
def test_where_the_past_is_meant_it_is_the_last_such_day(text: str, day: date) -> None:
    assert value_of(read_date(text, TODAY, past=True)) == day


@pytest.mark.parametrize("past", [True, False])
@pytest.mark.parametrize(
    ("text", "days"),
    [("I paid on Friday", [date(2030, 5, 3)]), ("I will pay on Friday", [date(2030, 5, 10)]),
     ("I booked Friday", [date(2030, 5, 3), date(2030, 5, 10)]), ("I was going to pay Friday", [date(2030, 5, 3), date(2030, 5, 10)])],
)  # fmt: skip
def test_the_tense_of_a_sentence_comes_before_that_of_the_question(text: str, days: list[date], past: bool) -> None:
    found = read_date(text, TODAY, past=past)
    assert found is not None
    assert sorted((found.value, *found.others)) == days


def test_a_wish_in_the_past_tense_is_none() -> None:
    assert value_of(read_date("I was hoping for Friday", TODAY)) == date(2030, 5, 10)


@given(st.text(max_size=50), st.dates(max_value=date(9990, 1, 1)), st.sampled_from(LANGUAGES), st.booleans())
def test_no_text_raises(text: str, today: date, language: str, past: bool) -> None:
    read_date(text, today, language, past=past)


WORDS = (
    "12",
    "5",
    "2030",
    "may",
    "friday",
    "in",
    "day",
    "ago",
    "lusa",
    "besok",
    "el",
    "mayo",
    "月",
    "日",
    ".",
    "-",
    "999",
)


@given(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), st.sampled_from(LANGUAGES))
def test_no_words_of_days_raise(text: str, language: str) -> None:
    read_date(text, TODAY, language)
