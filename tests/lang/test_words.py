"""What counts as the same words, and which option a text means (LANGUAGE, Replies 5)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.lang.words import Option, match, normalise


@pytest.mark.parametrize(
    ("one", "other"),
    [("Yes!", "yes"), ("  Where   is my order? ", "where is my order"), ("Café", "cafe"), ("check-up", "check up"),
     ("Don't", "dont"), ("don’t", "dont"), ("STRASSE", "straße"), ("ＡＢＣ", "abc"), ("Ёлка", "елка"), ("👍🏽", "👍"), ("❤️", "❤"),
     ("Yes 👍", "yes"), ("مَرْحَبًا", "مرحبا")],
)  # fmt: skip
def test_these_are_the_same_words(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("yes", "no"), ("👍", "👎"), ("कि", "की"), ("क्या", "कया"), ("がき", "かき"), ("1", "2"), ("?", "!"), ("ไม่", "ไม")],
)
def test_these_are_not(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)


@given(st.text(max_size=200))
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


TITLES = (Option("Track my order", ("track", "where")), Option("Our shop"), Option("Talk to a person", ("human",)))


@pytest.mark.parametrize(
    ("text", "index"),
    [("Our shop", 1), ("our shop!", 1), ("HUMAN", 2), ("where?", 0), ("2", 1), (" 3. ", 2), ("4", None), ("0", None),
     ("shop", None), ("", None), ("   ", None), ("Our shop please", None), ("x" * 10_000, None)],
)  # fmt: skip
def test_a_text_means_an_option_by_title_words_or_number(text: str, index: int | None) -> None:
    assert match(text, TITLES) == index


def test_a_title_as_written_wins_over_one_that_is_only_normalised() -> None:
    assert match("yes", [Option("Yes"), Option("yes")]) == 1


def test_a_title_wins_over_the_words_of_an_option_before_it() -> None:
    assert match("shop", [Option("Help", ("shop",)), Option("Shop")]) == 1


def test_numbers_are_not_places_where_a_title_is_a_number() -> None:
    assert match("2", [Option("2"), Option("1")]) == 0
    assert match("2", [Option("10"), Option("20")]) is None


@given(st.lists(st.text("abc é!", min_size=1, max_size=8).filter(str.strip), min_size=1, max_size=5), st.data())
def test_a_title_that_is_sent_back_is_always_understood(titles: list[str], data: st.DataObject) -> None:
    title = data.draw(st.sampled_from(titles))
    found = match(title, [Option(title) for title in titles])
    assert found is not None
    assert normalise(titles[found]) == normalise(title)
