"""Numbers in people's words."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.language.answers.readers import Reading, read_number


def value_of(reading: Reading[Any] | None) -> Any:
    """The value that is proposed; None where the answer is asked again."""
    return None if reading is None else reading.value


@pytest.mark.parametrize(
    ("text", "number"),
    [("5 kg", "5"), ("5kg", "5"), ("20%", "20"), ("€20", "20"), ("$ 12.50", "12.5"), ("1,234.5 EUR", "1234.5"),
     ("3 people", "3"), ("-3", "-3"), ("\u22123", "-3"), ("+3", "3"), (".5", "0.5"), ("1'000", "1000"), ("١٢", "12"),
     ("five", "5"), ("Twenty-five", "25"), ("a dozen", "12"), ("two dozen pieces", "24"), ("two hundred and ten", "210"),
     ("three thousand five hundred people", "3500"), ("one million", "1000000"), ("hundred", "100")],
)  # fmt: skip
def test_it_is_a_number(text: str, number: str) -> None:
    assert value_of(read_number(text)) == Decimal(number)


@pytest.mark.parametrize(
    "text",
    ["", "a", "and", "1e3", "nan", "5-6", "3 or 4", "12 a b", "not 3", "two three", "one of them", "dozens", "1.2.3", ".",
     "9" * 100],
)  # fmt: skip
def test_it_is_no_number(text: str) -> None:
    assert value_of(read_number(text)) is None


@pytest.mark.parametrize(
    ("language", "text", "number"),
    [("en", "1.000", "1"), ("en", "1,000", "1000"), ("de", "1.000", "1000"), ("de", "1,000", "1"), ("id", "Rp 20.000", "20000"),
     ("pt-BR", "1.000", "1000"), ("es-MX", "1.000", "1"), ("es", "1.000", "1000"), ("de", "3.5", "3.5"), ("de", "1.234,5", "1234.5"),
     ("de", "1,234.5", "1234.5"), ("de", "five", "5"), ("xx", "1,000", "1000")],
)  # fmt: skip
def test_a_language_decides_what_a_thousand_looks_like(language: str, text: str, number: str) -> None:
    assert value_of(read_number(text, language)) == Decimal(number)


@pytest.mark.parametrize(
    ("text", "number"),
    [("just me", "1"), ("me and my wife", "2"), ("my husband and me please", "2"), ("my wife, my son and me", "3"), ("1 for me and 1 for my mom", "2"), ("two for me and one for my friend", "3")],
)  # fmt: skip
def test_people_who_are_named_one_by_one_are_counted_together(text: str, number: str) -> None:
    assert value_of(read_number(text, whole=True)) == Decimal(number)


@pytest.mark.parametrize(
    ("language", "text", "number"),
    [("de", "meine Frau und ich", "2"), ("pt", "eu e minha esposa", "2"),
     ("fr", "ma femme et moi", "2"), ("nl", "mijn vrouw en ik", "2"), ("id", "saya dan istri saya", "2")],
)  # fmt: skip
def test_people_are_counted_together_in_several_languages(language: str, text: str, number: str) -> None:
    assert value_of(read_number(text, language, whole=True)) == Decimal(number)


@pytest.mark.parametrize(
    "text",
    ["me", "my wife", "me or my wife", "2 adults and 2 kids", "me and 2 or 3 friends", "me and 3 friends", "2 adults and some kids",
     "me and", "1 for me and 1 tea", "2 adults and 2 kids on 5 May", "not me and my wife"],
)  # fmt: skip
def test_people_whose_number_is_unsure_are_not_counted(text: str) -> None:
    assert value_of(read_number(text, whole=True)) is None


@given(st.text(max_size=70), st.sampled_from(("en", "de", "xx", None)))
def test_no_text_raises(text: str, language: str | None) -> None:
    read_number(text, language)
