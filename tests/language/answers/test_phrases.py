"""The files of phrases that all bots hear."""

import pytest

from bot.language.answers.credentials import CREDENTIALS
from bot.language.answers.emoji import THINGS
from bot.language.answers.measures import ASKED, COUNTED, MEASURES
from bot.language.answers.phrases import LANGUAGES, all_phrases, phrases
from bot.language.answers.promises import PROMISES
from bot.language.answers.topics import QUESTION, TOPICS, topics_in
from bot.language.answers.words import listed, read_words
from bot.language.source.languages import WORDINGS
from bot.language.source.word_matching import normalise
from bot.language.steps.small_talk_texts import TOPICS as SMALL_TALK

KEYS = ("people", "contact", "questions", "requests", "opting out", "calling off", "beside calling off",
        "reasons to call off", "declining", "praising", "wanting", "turning", "farewells", "degrees", "presence", "other days", "beside days",
        "around small talk", "asking", "entering", "elsewhere", "never", "breaks", "beside a name", "please", "calming", "conditions", "counting", "before a time", "before an age", "in place of a name", "with me", "allergic", "all but")  # fmt: skip
NOT_IN_ALL = {"out of", "thanking", "telling", "not called", "later", "no credentials", "no promises"}


def test_each_language_with_built_in_texts_has_a_file() -> None:
    assert {*LANGUAGES} == {*WORDINGS["yes"]}


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_language_has_the_same_keys(language: str) -> None:
    found = read_words(f"phrases/{language}.yml")
    assert {*found} - NOT_IN_ALL == {
        "topics",
        "small talk",
        "credentials",
        "promises",
        "emoji",
        "measures",
        "asked measures",
        "things",
        *KEYS,
    }
    assert [*found["topics"]] == [topic for topic in TOPICS if topic != QUESTION]
    assert {*found["small talk"]} == {*SMALL_TALK}
    assert [*found["credentials"]] == [*CREDENTIALS]
    assert [*found["promises"]] == [*PROMISES]
    assert [*found["emoji"]] == [*THINGS]
    assert {*found["measures"]} == frozenset().union(*MEASURES.values())
    assert [*found["asked measures"]] == [*ASKED]
    assert [*found["things"]] == [*COUNTED]


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_phrase_stands_twice(language: str) -> None:
    found = read_words(f"phrases/{language}.yml")
    lines = [found[key] for key in KEYS] + [*found["topics"].values()]
    for line in lines:
        written = [normalise(phrase) for phrase in listed(line)]
        assert sorted(written) == sorted(set(written))


def test_capitals_accents_and_signs_do_not_count() -> None:
    assert "wie viel kostet" in phrases("topics", "price")["de"]
    assert "cest combien" in phrases("topics", "price")["fr"]
    assert phrases("topics", "price")["en"][0] in all_phrases("topics", "price")


def test_a_word_before_people_counts_with_its_accent() -> None:
    assert "person" in topics_in("Kann ich eine Person sprechen?")
    assert "person" not in topics_in("Ein Kuchen für eine Person")
