"""Yes and no."""

from typing import Any

import pytest

from bot.language.answers.readers import Reading, read_yes_no
from bot.language.source.languages import WORDINGS


def value_of(reading: Reading[Any] | None) -> Any:
    """The value that is proposed; None where the answer is asked again."""
    return None if reading is None else reading.value


@pytest.mark.parametrize(
    ("language", "text", "said"),
    [(None, "Yes, please!", True), (None, "no thanks", False), ("id", "Iya", True), ("id", "nggak", False), ("id", "yes", True),
     ("pt-BR", "não", False), ("pt-BR", "nao", False), ("de", "Ja gerne", True), ("ru", "Да!", True), ("ja", "いいえ", False),
     ("fr", "👍🏽", True), ("xx", "nope", False), (None, "ja", None), ("id", "mungkin", None), ("en", "yes but no", None),
     ("en", "not necessary", False), ("en", "unfortunately not", False), ("en", "i can't", False), ("en", "don't bother", False),
     ("en", "unfortunately yes", True), ("en", "i'd like that", True), ("en", "it does", True), ("en", "it's not closed", None),
     ("en", "i can't wait", None), ("en", "i want it tomorrow", None), ("en", "no more than two", None),
     ("en", "", None)],
)  # fmt: skip
def test_it_says_yes_or_no_in_the_contacts_language_or_in_english(
    language: str | None, text: str, said: bool | None
) -> None:
    assert value_of(read_yes_no(text, language)) is said


@pytest.mark.parametrize("language", WORDINGS["yes"])
def test_what_the_bots_own_buttons_say_is_understood(language: str) -> None:
    assert value_of(read_yes_no(WORDINGS["yes"][language], language)) is True
    assert value_of(read_yes_no(WORDINGS["no"][language], language)) is False
