"""Words that leave a value open, and the values that are left."""

import pytest

from bot.language.answers.doubts import values_left_open


@pytest.mark.parametrize(
    ("text", "language", "values"),
    [
        ("almost 3", "en", ["3"]),
        ("3ish", "en", ["3"]),
        ("3 or 4 people", "en", ["3 people", "4 people"]),
        ("tomorrow at 5 or 6 pm", "en", ["tomorrow at 5 pm", "tomorrow at 6 pm"]),
        ("friday, maybe saturday", "en", ["friday", "saturday"]),
        ("fast 3", "de", ["3"]),
        ("3 o 4", "es", ["3", "4"]),
        ("3 atau 4", "id", ["3", "4"]),
        ("almost 3", "de", ["3"]),
        ("about 3", "en", []),
        ("wednesday after work", "en", []),
        ("every one of us", "en", []),
    ],
)
def test_words_between_and_beside_values_are_left_out(text: str, language: str, values: list[str]) -> None:
    ways = values_left_open(text, language)
    assert (ways[0] if ways else []) == values
