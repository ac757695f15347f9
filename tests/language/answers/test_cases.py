"""The project's own cases of answers, language by language: `benchmarks/answers/*.tsv`."""

from collections import Counter
from pathlib import Path

import pytest

import bot.language.answers.words
from benchmarks.answers_understood import FOLDER, cases, result, understood
from bot.language.answers.words import Kind, words_of
from tests.searches import over

WORDS = Path(bot.language.answers.words.__file__).with_name("words")
LANGUAGES = ("ar", "de", "en", "es", "fr", "hi", "id", "it", "nl", "pt", "ru", "tr")
FEWEST, LEAST = 250, 0.97  # cases of a language, and the share of them that is right


@over(4, "language", LANGUAGES)
def test_nothing_is_misread_and_nearly_all_is_understood(language: str) -> None:
    found = [(case, understood(case)) for case in cases([FOLDER / f"{language}.tsv"])]
    results = Counter(result(case, value) for case, value in found)
    assert [case for case, value in found if result(case, value) == "wrong"] == []
    assert results.total() >= FEWEST
    assert results["right"] / results.total() >= LEAST


@pytest.mark.parametrize("path", sorted(WORDS.glob("*.yml")), ids=lambda path: path.stem)
def test_no_word_that_changes_nothing_is_a_value(path: Path) -> None:
    if path.stem == "all":
        return
    values = {Kind.NUMBER, Kind.MULTIPLE, Kind.MONTH, Kind.WEEKDAY, Kind.DAY, Kind.AGAINST}
    words = words_of(path.stem)
    both = {
        " ".join(phrase)
        for phrases in words.phrases.values()
        for phrase, kind, _ in phrases
        if kind is Kind.HARMLESS and any(other in values and same == phrase for same, other, _ in phrases)
    }
    assert both == set()
