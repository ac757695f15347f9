"""Words beside an answer in a sentence: how near one must be to speak against it."""

import pytest

from bot.language.answers.sentences import Reach, is_denied, is_meant, places_of, undisturbed, words_in


def furthest(sentence: str, answer: str, language: str = "en") -> Reach | None:
    """The shortest reach at which a word speaks against an answer; None if none does. Each longer reach agrees."""
    words = words_in(sentence)
    (span,) = places_of(answer, words)
    against = [reach for reach in Reach if not is_meant(words, span, language, reach)]
    assert against == [reach for reach in Reach if against and reach >= against[0]]
    return against[0] if against else None


@pytest.mark.parametrize(
    ("sentence", "answer", "reach"),
    [
        ("not small please", "small", Reach.BEFORE),
        ("not the small one", "small", Reach.BEFORE),
        ("I don't want the small one", "small", Reach.BEFORE),
        ("small or what you have", "small", Reach.BESIDE),
        ("no milk for small", "small", Reach.UP_TO),
        ("small cake without milk", "small", Reach.CLAUSE),
        ("small? no", "small", Reach.CLAUSE),
        ("small, I don't", "small", Reach.CLAUSE),
        ("small, no?", "small", None),
        ("small, not for me", "small", None),
        ("small, not today", "small", None),
        ("not today. Small", "small", None),
        ("small\nno milk", "small", None),
        ("small for the whole family", "small", None),
    ],
)
def test_a_word_speaks_against_an_answer_within_its_reach(sentence: str, answer: str, reach: Reach | None) -> None:
    assert furthest(sentence, answer) is reach


@pytest.mark.parametrize("language", ["es", "de", "hi"])
def test_a_word_that_the_language_does_not_know_is_read_as_english(language: str) -> None:
    assert furthest("without small", "small", language) is Reach.BEFORE


def test_a_phrase_of_several_words_speaks_against_an_answer() -> None:
    assert furthest("order number 5", "5") is Reach.BEFORE
    assert undisturbed(words_in("order number 5 for 2"), [(2, 3), (4, 5)], "en") == [False, True]


@pytest.mark.parametrize(
    ("sentence", "sure"),
    [
        ("2 large ones", [True, True]),
        ("no milk for 2 large", [True, True]),
        ("not 2 but large", [False, False]),
        ("2, not large", [True, False]),
        ("2 or large", [False, False]),
        ("3 2 large", [False, True]),
        ("next 2 large", [False, True]),
        ("2 large may", [True, False]),
    ],
)
def test_of_several_answers_those_are_sure_that_nothing_beside_them_speaks_against(
    sentence: str, sure: list[bool]
) -> None:
    words = words_in(sentence)
    spans = [next(places_of(answer, words)) for answer in ("2", "large")]
    assert undisturbed(words, spans, "en") == sure


def test_what_stands_behind_the_words_of_a_topic_does_not_deny_it() -> None:
    assert is_denied("I don't want to order", "order", "en")
    assert not is_denied("order without milk", "order", "en")
    assert not is_denied("no sugar\norder", "order", "en")
