"""What the number of an answer measures."""

import pytest

from bot.language.answers.measures import measures_another, numbered, without_counted, without_first_of, without_scale


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
        ("2 rooms", "How many guests?", "en"),
        ("2 rooms", "How many nights?", "en"),
        ("3 personas", "¿Cuántas noches?", "es"),
        ("2 dogs", "How many guests?", "en"),
        ("3 people", "Which floor would you like?", "en"),
        ("2 quartos", "Para quantas pessoas?", "pt"),
        ("10 pessoas", "Quantos dias vai ficar?", "pt"),
        ("3 Stunden", "Wie viele Tage?", "de"),
        ("2 комнаты", "Сколько человек придёт?", "ru"),
        ("3 orang", "Di lantai berapa?", "id"),
        ("3 कमरे", "कितने लोग हैं?", "hi"),
        ("10%", "¿Cuánto dinero quieres dar?", "es"),
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
        ("4 adults", "How many guests?", "en"),
        ("4 adults", "How many tickets?", "en"),
        ("4 people", "How many tickets do you need for your table?", "en"),
        ("3 nights", "How many nights?", "en"),
        ("4 people", "How many plates of soup?", "en"),
        ("2 double rooms", "How many rooms?", "en"),
        ("2 dogs", "How many pets do you have?", "en"),
        ("1 table for 4 people", "How many tables?", "en"),
        ("3", "Which floor is your room on?", "en"),
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


@pytest.mark.parametrize(
    ("answer", "question", "language", "number"),
    [
        ("floor 3", "Which floor do you live on?", "en", 3),
        ("on the 3rd floor, please", "Which floor do you live on?", "en", 3),
        ("class 4", "Which class is your child in?", "en", 4),
        ("3rd class", "Which class is your child in?", "en", 3),
        ("im dritten Stock", "In welchem Stock wohnen Sie?", "de", 3),
        ("piso 3", "¿En qué piso vive?", "es", 3),
        ("lantai 3", "Lantai berapa?", "id", 3),
        ("3rd", "Which floor do you live on?", "en", 3),
        ("the third, please", "Which floor do you live on?", "en", 3),
        ("au 3e", "À quel étage livrer ?", "fr", 3),
        ("troisième étage", "À quel étage livrer ?", "fr", 3),
        ("el segundo", "¿En qué piso vive?", "es", 2),
        ("o terceiro", "Em qual andar você mora?", "pt", 3),
        ("beşinci sınıf", "Kaçıncı sınıf?", "tr", 5),
        ("yang kedua", "Di lantai berapa?", "id", 2),
        ("the second or the third", "Which floor do you live on?", "en", None),
        ("not the third", "Which floor do you live on?", "en", None),
        ("one second", "Which floor do you live on?", "en", None),
        ("3 people", "Which floor do you live on?", "en", None),
        ("floor 2 or 3", "Which floor do you live on?", "en", None),
        ("floor 2.5", "Which floor do you live on?", "en", None),
        ("not floor 2", "Which floor do you live on?", "en", None),
        ("room 4", "Which floor do you live on?", "en", None),
        ("lesson 3", "How many lessons?", "en", None),
        ("third lesson", "How many lessons?", "en", None),
    ],
)
def test_the_thing_that_is_asked_for_may_be_named_by_its_number(
    answer: str, question: str, language: str, number: int | None
) -> None:
    assert numbered(answer, question, language) == number


@pytest.mark.parametrize(
    ("answer", "most", "left"),
    [
        ("8 out of 10", None, "8"),
        ("I'd say 8/10!", None, "I'd say 8"),
        ("eight of ten", None, "eight"),
        ("8 sur 20", 20.0, "8"),
        ("8 out of 20", None, "8 out of 20"),
        ("2 of them", None, "2 of them"),
    ],
)
def test_the_end_of_the_scale_is_no_part_of_the_answer(answer: str, most: float | None, left: str) -> None:
    assert without_scale(answer, "How was it, from 1 to 10?", most, "en") == left


def test_signs_behind_a_scale_are_passed_at_once() -> None:
    text = f"8 out of {'!' * 100_000} x"
    assert without_scale(text, "How was it, from 1 to 10?", None, "en") == text
    assert without_scale("8 out of 10! .", "How was it, from 1 to 10?", None, "en") == "8"
