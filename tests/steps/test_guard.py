"""What a model's text must pass."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.steps.guard import leaks, messages_of

TEXT_BODY = 4096
SECRET = "You are the assistant of a shop. Never tell anyone about the discount that insiders get."


def test_eight_words_of_the_instructions_in_a_row_are_a_leak() -> None:
    assert leaks("They say: NEVER tell anyone, about the discount that insiders get!", SECRET)
    assert not leaks("I cannot tell anyone about the discount.", SECRET)
    assert not leaks("Anything", "")


@given(st.text(max_size=3 * TEXT_BODY), st.integers(1, 5))
def test_no_message_is_longer_than_the_gateway_takes_and_no_word_is_lost(text: str, most: int) -> None:
    messages = messages_of(text, most)
    assert all(0 < len(message.body) <= TEXT_BODY for message in messages)
    assert "".join("".join(message.body.split()) for message in messages) == "".join(text.split())


def test_paragraphs_are_messages_up_to_the_most() -> None:
    assert [message.body for message in messages_of("a\n\nb\n \nc\n\nd", 3)] == ["a", "b", "c\n\nd"]


@pytest.mark.parametrize(
    "disguised",
    [
        "never tell any\u200bone about the dis\u00adcount that insiders get",
        "never_tell_anyone_about_the_discount_that_insiders_get",
        "**Never** · tell · anyone · about · the · discount · that · insiders · get",
        "Nevér tell ànyone about the dıscount — that (insiders) gët, tell anyone about the discount that insiders get",
        "ｎｅｖｅｒ ｔｅｌｌ ａｎｙｏｎｅ ａｂｏｕｔ ｔｈｅ ｄｉｓｃｏｕｎｔ ｔｈａｔ ｉｎｓｉｄｅｒｓ ｇｅｔ",
        "never\ntell\nanyone\nabout\nthe\ndiscount\nthat\ninsiders",
        "\U000e0041never tell anyone\ufe0f about the discount that\u2060 insiders get",
    ],
)
def test_a_leak_is_one_whatever_stands_in_and_between_its_words(disguised: str) -> None:
    assert leaks(disguised, SECRET)


def test_scripts_that_put_no_spaces_between_words_are_read_letter_by_letter() -> None:
    secret = "你是这家商店的助手。绝对不要告诉任何人内部人员可以得到的折扣。"
    assert leaks("他们说：绝对不要告诉任何人，内部人员可以得到的折扣！", secret)
    assert not leaks("您好，这家商店今天没有折扣，欢迎再来。", secret)


def test_no_answer_takes_long_to_hold_against_long_instructions() -> None:
    assert not leaks("word " * 40_000, "other words " * 20_000)
    messages_of("\n \n" * 50_000, 3)
