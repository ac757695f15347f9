"""Emoji that stand for a thing."""

import pytest

from bot.language.answers.emoji import spelt_out


@pytest.mark.parametrize(
    ("text", "language", "words"),
    [
        ("☕☕", None, ("coffee",)),
        ("☕️", "en", ("coffee",)),
        ("2 ☕ please", "de", ("coffee", "kaffee")),
        ("🎂🍰", "en-GB", ("cake",)),
        ("☕🍰", None, ()),
        ("☕ please 🙏", None, ("coffee",)),
        ("☕️ x3", None, ("coffee",)),
        ("☕😊", None, ()),
        ("lovely ☕", None, ()),
        ("no ☕", None, ()),
        ("👍", None, ()),
        ("coffee", None, ()),
        ("", None, ()),
    ],
)
def test_a_message_of_one_thing_in_emoji_has_its_words(text: str, language: str | None, words: tuple[str, ...]) -> None:
    assert spelt_out(text, language) == words
