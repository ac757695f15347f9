"""What counts as the same words, and which option a text means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.language.source.word_matching import ANYWHERE, CLOSE, EXACT, WAYS, Option, by_number, match, normalise


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
    [("Our shop", 1), ("our shop!", 1), ("HUMAN", 2), ("where?", 0), ("2", None),
     ("shop", None), ("", None), ("   ", None), ("Our shop please", None), ("x" * 10_000, None)],
)  # fmt: skip
def test_a_text_means_an_option_by_title_or_words(text: str, index: int | None) -> None:
    assert match(text, TITLES) == index


def test_a_title_as_written_wins_over_one_that_is_only_normalised() -> None:
    assert match("yes", [Option("Yes"), Option("yes")]) == 1


def test_a_title_wins_over_the_words_of_an_option_before_it() -> None:
    assert match("shop", [Option("Help", ("shop",)), Option("Shop")]) == 1


@pytest.mark.parametrize(
    ("text", "index"), [("2", 1), ("3", 2), ("4", None), ("0", None), ("", None), ("two", None), ("2" * 999, None)]
)
def test_a_number_names_a_place_in_a_list_of_three(text: str, index: int | None) -> None:
    assert by_number(text, 3) == index


def test_the_minus_of_a_number_counts_and_no_other_dash() -> None:
    assert match("-1", [Option("1"), Option("-1")]) == 1
    assert match("−1", [Option("1"), Option("-1")]) == 1
    assert match("9 -12", [Option("-12"), Option("9–12")]) == 1
    assert match("- 1", [Option("-1"), Option("1")]) == 1


def test_exactly_is_as_written_but_for_upper_and_lower_case() -> None:
    options = [Option("C", ("sea",)), Option("C++")]
    assert match("c++ ", options, EXACT) == 1
    assert match("Sea", options, EXACT) == 0
    assert match("c.", options, EXACT) is None
    assert match("", options, EXACT) is None


@given(st.lists(st.text("abc é!", min_size=1, max_size=8).filter(str.strip), min_size=1, max_size=5), st.data())
def test_a_title_that_is_sent_back_is_always_understood(titles: list[str], data: st.DataObject) -> None:
    title = data.draw(st.sampled_from(titles))
    found = match(title, [Option(title) for title in titles])
    assert found is not None
    assert normalise(titles[found]) == normalise(title)


@pytest.mark.parametrize(
    ("text", "index"),
    [("So, where is it?", 0), ("please talk to a person now", 2), ("I WANT A HUMAN!", 2), ("inhuman", None),
     ("where is our shop", 1), ("our shop", 1), ("2", None), ("", None), ("our own shop", None),
     (" ".join(["please"] * 100) + " a human", 2)],
)  # fmt: skip
def test_a_text_may_have_a_phrase_anywhere_in_it_and_the_longest_counts(text: str, index: int | None) -> None:
    assert match(text, TITLES, ANYWHERE) == index


@pytest.mark.parametrize(
    ("text", "phrase"), [("我要订单", "订单"), ("สวัสดีครับ", "สวัสดี"), ("みききた", "きき"), ("donde esta mi pedido", "mi pedido")]
)  # fmt: skip
def test_words_end_where_their_script_ends_them(text: str, phrase: str) -> None:
    assert match(text, [Option(phrase)], ANYWHERE) == 0


@pytest.mark.parametrize(("text", "phrase"), [("カメラ", "カメ"), ("reorder", "order"), ("orderly", "order")])
def test_a_part_of_a_word_is_no_word(text: str, phrase: str) -> None:
    assert match(text, [Option(phrase)], ANYWHERE) is None


@pytest.mark.parametrize(
    ("text", "phrase"),
    [("trak my ordr", "Track my order"), ("oder", "order"), ("cancle", "cancel"), ("appointmnet", "appointment"),
     ("Zahlungg", "Zahlung")],
)  # fmt: skip
def test_a_text_may_come_close_to_a_phrase(text: str, phrase: str) -> None:
    assert match(text, [Option(phrase)]) is None
    assert match(text, [Option(phrase)], CLOSE) == 0


@pytest.mark.parametrize(
    ("text", "phrase"),
    [("unsubscribe", "subscribe"), ("disable", "able"), ("room 103", "room 101"), ("12 May", "13 May"),
     ("yess", "yes"), ("my order please", "order"), ("where", "there"), ("older one", "order")],
)  # fmt: skip
def test_what_is_another_word_or_number_is_not_close(text: str, phrase: str) -> None:
    assert match(text, [Option(phrase)], CLOSE) is None


def test_the_closest_phrase_counts_and_of_equals_the_first() -> None:
    options = [Option("Tomorrow morning"), Option("Tomorrow evening"), Option("Later", ("tomorrow evenings",))]
    assert match("tomorow evening", options, CLOSE) == 1
    assert match("bookin", [Option("booking", ("bookings",)), Option("Booking?")], CLOSE) == 0


def test_what_is_meant_as_a_whole_wins_over_what_is_meant_more_widely() -> None:
    options = [Option("Track my order"), Option("My order", ("track",))]
    assert match("track", options, ANYWHERE) == 1
    assert match("my order", options, CLOSE) == 1


@given(st.text(max_size=60), st.lists(st.text(max_size=12), max_size=4), st.sampled_from(WAYS))
def test_no_text_and_no_titles_make_matching_raise(text: str, titles: list[str], how: str) -> None:
    found = match(text, [Option(title) for title in titles], how)
    assert found is None or found < len(titles)


@given(st.sampled_from(("order", "where is it", "talk to a person")), st.text("abc xyz,!", max_size=20))
def test_a_phrase_between_other_words_is_found(phrase: str, other: str) -> None:
    assert match(f"{other} {phrase} {other}", [Option(phrase)], ANYWHERE) == 0
