"""What customers wish for, in many words."""

import pytest

from bot.language.answers.stems import _STEMMERS
from bot.language.answers.wishes import WISHES, wished, wishes_in
from bot.language.answers.words import words_of


@pytest.mark.parametrize("language", _STEMMERS)
def test_each_language_has_each_wish(language: str) -> None:
    assert {*words_of(language).wishes} - {"none"} == {*WISHES}


@pytest.mark.parametrize(
    ("text", "language", "wish"),
    [
        ("Can you squeeze me in tomorrow?", "en", "book"),
        ("any bookings left?", "en", "book"),
        ("my toaster doesn't heat", "en", "repair"),
        ("¿Puedo pedir una cita?", "es", "book"),
        ("ich brauche einen Rückruf", "de", "call"),
        ("хочу записаться к врачу", "ru", "book"),
        ("I need an appointment", "id", "book"),
    ],
)
def test_a_wish_is_known_by_any_of_its_phrases_in_the_language_and_in_english(
    text: str, language: str, wish: str
) -> None:
    assert next(iter(wished(text, language))) == wish


def test_what_is_done_to_something_counts_before_the_thing() -> None:
    assert list(wishes_in("cancel my order", "en")) == ["cancel", "order"]
    assert list(wished("cancel my order", "en")) == ["cancel"]


@pytest.mark.parametrize(
    "text",
    [
        "I don't want to book",
        "my appointment was awful",
        "I booked and never got an appointment",
        "of course",
        "can I keep my book?",
        "I want to die, I can't book a thing",
    ],
)
def test_a_text_that_denies_or_tells_wishes_nothing(text: str) -> None:
    assert not wished(text, "en")
