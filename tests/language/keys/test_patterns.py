"""What flow files say of how a text is matched."""

import pytest

from bot.language.keys.declared_keys import STRINGS, KeySet, KeySpec
from bot.language.keys.fields import Fields
from bot.language.keys.patterns import MATCH, PATTERN
from bot.language.source.problems import Problems
from bot.language.source.text_patterns import matches
from bot.language.source.yaml_tree import read


def fields_of(text: str, problems: Problems) -> Fields:
    (node,) = read("x.yml", text.encode(), problems)
    return KeySet(MATCH, PATTERN, KeySpec("words", STRINGS, "Words.")).open(node, problems, "start")


def test_words_are_matched_whole_unless_something_else_is_said() -> None:
    assert MATCH.read(fields_of("words: [x]", Problems())) == "whole"
    assert MATCH.read(fields_of("match: anywhere", Problems())) == "anywhere"


def test_an_unknown_way_is_a_problem() -> None:
    problems = Problems()
    assert MATCH.read(fields_of("match: anywere", problems)) == "whole"
    (problem,) = problems.sorted()
    assert str(problem) == 'x.yml:1:8: E109 start: match: "anywere" is not known (did you mean "anywhere"?)'


@pytest.mark.parametrize(
    ("written", "reason"), [("'(a'", "missing )"), ("'" + "a" * 501 + "'", "501 characters"), ("'(a{999}){999}'", "too much")]
)  # fmt: skip
def test_a_pattern_that_cannot_be_used_is_a_problem(written: str, reason: str) -> None:
    problems = Problems()
    assert PATTERN.read(fields_of(f"pattern: {written}", problems)) is None
    (problem,) = problems.sorted()
    assert problem.code == "E305"
    assert reason in problem.what


def test_a_pattern_matches_in_full() -> None:
    pattern = PATTERN.read(fields_of(r"pattern: '[A-Z]{2}\d{3}'", Problems()))
    assert matches(pattern, "AB123")
    assert not matches(pattern, "AB1234")


def test_a_pattern_that_takes_too_long_does_not_match() -> None:
    pattern = PATTERN.read(fields_of("pattern: '(.*a){12}b'", Problems()))
    assert not matches(pattern, "a" * 4000)
