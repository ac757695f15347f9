"""What the number of an answer measures."""

import pytest

from bot.language.answers.measures import measures_another, without_counted, without_first_of


@pytest.mark.parametrize(
    ("answer", "question", "language"),
    [
        ("5%", "How many?", "en"),
        ("£4", "How many?", "en"),
        ("2 euros", "How many lessons would you like?", "en"),
        ("10km", "How many?", "en"),
        ("3 nights", "How many guests will there be?", "en"),
        ("10 menit", "How many?", "en"),
        ("at 3", "How many?", "en"),
        ("about at three", "How many?", "en"),
        ("I'm 12", "How many?", "en"),
        ("at 3", "What was it worth?", "en"),
        ("am 3.", "Wie viele Tage?", "de"),
        ("el día 3", "¿Cuántos días?", "es"),
        ("I have 2 kids with me", "For how many people?", "en"),
        ("70 kg", "How old are you?", "en"),
        ("150 pounds", "What is your weight, in kilos?", "en"),
        ("$20", "What was it worth in pounds?", "en"),
        ("20 kilos", "What was it worth?", "en"),
        ("6 Euro", "Wie viele Kinder?", "de"),
        ("um 3", "Wie viele Kinder?", "de"),
        ("a las 3", "¿Cuántos días?", "es"),
        ("alle 3", "Quanti biglietti?", "it"),
        ("5000 dólares", "Quanto você ganha por mês, em reais?", "pt"),
        ("ze is 6", "Hoeveel kinderen wilt u opgeven?", "nl"),
        ("50 ribu rupiah", "Sudah berapa kilometer?", "id"),
    ],
)
def test_another_measure_than_the_question_asks_for(answer: str, question: str, language: str) -> None:
    assert measures_another(answer, question, language)


@pytest.mark.parametrize(
    ("answer", "question", "language"),
    [
        ("5%", "What share?", "en"),
        ("20 euros", "What can you put aside each month?", "en"),
        ("2 kg", "How much flour?", "en"),
        ("20 quid", "What was it worth in pounds?", "en"),
        ("150 pounds", "What is your weight?", "en"),
        ("R$ 5.000", "Quanto você ganha por mês, em reais?", "pt"),
        ("12 kilos", "How many kilos do you need?", "en"),
        ("at 12", "At what age did you start? How many years ago?", "en"),
        ("I'm 34", "How old are you?", "en"),
        ("I'm 70", "How many kilos do you weigh?", "en"),
        ("4 this night", "How many of you?", "en"),
        ("4 personas esta noche", "¿Cuántas personas?", "es"),
        ("alle 3", "Wie viele Kinder?", "de"),
        ("um die 20", "Wie viele Kinder?", "de"),
        ("20 euro", "Hoeveel heeft u betaald?", "nl"),
        ("70 kilos", "¿Cuál es tu peso?", "es"),
        ("12 guests", "How many?", "en"),
    ],
)
def test_what_the_question_asks_for(answer: str, question: str, language: str) -> None:
    assert not measures_another(answer, question, language)


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        ("10 croissants", "10"),
        ("ten croissants, please", "ten please"),
        ("a croissant for 5", "a croissant for 5"),
        ("croissant 5", "croissant 5"),
        ("10 baguettes", "10 baguettes"),
        ("2 or 3 croissants", "2 or 3"),
    ],
)
def test_a_word_of_the_question_behind_a_number_is_what_it_counts(answer: str, left: str) -> None:
    assert without_counted(answer, "How many croissants would you like?", "en") == left


@pytest.mark.parametrize(
    ("answer", "question", "language", "left"),
    [
        ("depuis hier", "Depuis quel jour ?", "fr", "hier"),
        ("From Friday", "From which day?", "en", "Friday"),
        ("before Friday", "From which day?", "en", "before Friday"),
        ("not Friday", "Not on Friday?", "en", "not Friday"),
        ("on Friday", "On which day?", "en", "on Friday"),
    ],
)
def test_the_preposition_of_the_question_may_begin_the_answer(
    answer: str, question: str, language: str, left: str
) -> None:
    assert without_first_of(answer, question, language) == left
