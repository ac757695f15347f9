"""Places in a list, in languages whose days have no other ordinal than "first"."""

from datetime import date

import pytest

from bot.language.answers.readers import read_date
from bot.language.answers.titles import place_in

TODAY = date(2030, 5, 6)


@pytest.mark.parametrize(
    ("text", "language", "place"),
    [
        ("el segundo", "es", 2),
        ("la primera, por favor", "es", 1),
        ("la tercera opción", "es", 3),
        ("o segundo", "pt", 2),
        ("a terceira", "pt", 3),
        ("le deuxième", "fr", 2),
        ("la 3e", "fr", 3),
        ("la seconda", "it", 2),
        ("ikincisi", "tr", 2),
        ("el segundo o el tercero", "es", None),
        ("no el segundo", "es", None),
        ("pas le deuxième", "fr", None),
        ("a segunda", "pt", None),
    ],
)
def test_a_place_in_a_list(text: str, language: str, place: int | None) -> None:
    assert place_in(text, language) == place


@pytest.mark.parametrize(
    ("text", "language", "day"),
    [("le 2e", "fr", None), ("el segundo", "es", None), ("segunda", "pt", date(2030, 5, 13))],
)
def test_a_place_is_no_day(text: str, language: str, day: date | None) -> None:
    read = read_date(text, TODAY, language)
    assert (None if read is None else read.value) == day
