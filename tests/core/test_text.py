"""Text from outside: read tolerantly, and made fit to be kept."""

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from bot.core.text import as_meant, clean, digits, head, in_one_form, json_object, line, other_form, printable


def test_a_text_is_kept_without_nuls_and_halves_of_characters_and_within_its_limit() -> None:
    assert clean("a\0b\ud83d!", 4) == "ab\ufffd"
    assert clean("\ud83d\ude42 Grüße") == "🙂 Grüße"


def test_a_line_is_one_without_what_cannot_be_seen() -> None:
    assert line(" two\r\n\tlines \u202eand\x1b[31m more ", 100) == "two lines and[31m more"
    assert line("x" * 50, 10) == "x" * 10


@pytest.mark.parametrize("value", [None, 7, "", " \n", "\u202e", ["text"]])
def test_what_is_no_text_or_an_empty_one_is_no_line(value: object) -> None:
    assert line(value, 10) is None


@pytest.mark.parametrize("value", ["+62 812-3456.7890", "(62)8123456\u00a07890", 6281234567890, "6281234567890"])
def test_a_number_is_its_digits_whatever_stands_between_them(value: object) -> None:
    assert digits(value) == "6281234567890"


@pytest.mark.parametrize("value", [None, True, "", "Ann", "62812x", "6" * 16, 1.5])
def test_anything_else_is_no_number(value: object) -> None:
    assert digits(value) is None


def test_an_object_is_read_from_bytes_and_text() -> None:
    assert json_object(b'{"a": 1}') == json_object('{"a": 1}') == {"a": 1}


@pytest.mark.parametrize(
    "content", ["", "[1]", "null", '{"a":', b"\xff", b"[" * 100_000, b'{"a":' + b"9" * 5000 + b"}"]
)
def test_anything_else_is_an_empty_object(content: bytes | str) -> None:
    assert json_object(content) == {}


FAMILY, FLAG, ACCENT, THUMB = "👨‍👩‍👧", "🇮🇩", "e\u0301", "👍🏽"


@pytest.mark.parametrize("whole", [FAMILY, FLAG, ACCENT, THUMB, "1️⃣", "किं", "각"])
def test_what_a_reader_sees_as_one_character_is_cut_off_whole(whole: str) -> None:
    for limit in range(8, 8 + len(whole)):
        assert head(f"Grüße, a{whole}!", limit) == "Grüße, a"[:limit]
    assert head(f"Grüße, a{whole}!", 8 + len(whole)) == f"Grüße, a{whole}"
    assert head(whole * 3, 3 * len(whole) - 1) == whole * 2


def test_flags_are_told_apart_by_their_pairs() -> None:
    assert head(FLAG * 5, 7) == FLAG * 3


def test_a_heap_of_accents_that_is_longer_than_the_limit_is_cut() -> None:
    heap = "e" + "\u0301" * 50
    assert head(heap, 10) == heap[:10]
    assert head(f"ab {heap}", 10) == "ab "


@given(
    st.text(st.sampled_from(["a", " ", "\n", "\u0301", "\u200d", "👨", "🇮", "🇩", "़", "각", "\ufe0f", "ß"])),
    st.integers(0, 12),
)
def test_a_cut_is_the_longest_that_cuts_no_character(text: str, limit: int) -> None:
    begun = head(text, limit)
    ends = [0, *(found.end() for found in regex.finditer(r"\X", text))]
    fits = max(end for end in ends if end <= limit)
    assert begun == text[: fits or limit]


def test_names_and_lines_from_outside_are_cut_so_too() -> None:
    assert clean(f"Grüße {FAMILY}", 9) == "Grüße "
    assert line(f"Ann {FLAG}{FLAG}", 7) == f"Ann {FLAG}"
    assert printable(f"{FAMILY}\x1b[2J") == f"{FAMILY}[2J"


@pytest.mark.parametrize(
    ("number", "other", "one"),
    [
        ("5521987654321", "552187654321", "5521987654321"),  # Rio, with the 9 and without
        ("552187654321", "5521987654321", "5521987654321"),
        ("5215512345678", "525512345678", "525512345678"),  # Mexico City, with the 1 and without
        ("525512345678", "5215512345678", "525512345678"),
        ("552127654321", None, "552127654321"),  # a landline in Rio
        ("6281234567890", None, "6281234567890"),
        ("5212", None, "5212"),
    ],
)
def test_a_brazilian_and_a_mexican_mobile_number_has_two_forms(number: str, other: str | None, one: str) -> None:
    assert (other_form(number), in_one_form(number)) == (other, one)
    assert other is None or (other_form(other), in_one_form(other)) == (number, one)


def test_blanks_within_a_long_text_are_passed_at_once() -> None:
    text = "a" + " " * 100_000 + "x"
    assert as_meant(f" {text}\u200d \n") == text
