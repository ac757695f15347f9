"""Text from outside: read tolerantly, and made fit to be kept."""

import pytest

from bot.core.text import clean, digits, json_object, line


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
