"""W310: patterns that some texts keep busy."""

import pytest

from bot.checker.graph import Graph
from bot.checker.rules.slow_patterns import find_slow_patterns
from tests.checker.proved import BOT
from tests.talk import library_of


def found(variables: str, step: str = "{ask: Q?, save: x, then: end}", start: str = "words: [a]") -> list[str]:
    library = library_of(f"flow: a\nstart: {{{start}}}\nvars: {{x: {variables}}}\nsteps:\n  x: {step}\n", BOT)
    return [finding.what for finding in find_slow_patterns(Graph(library))]


@pytest.mark.parametrize(
    "pattern",
    [r"([a-z]+\.?)+[0-9]", "(a|aa)+b", "(x+x+)+y", r"(?i)ref ([a-z0-9]+[- ]?)+!", "((ab)+)+c", r"([a-z]+\.?){1,3}"],
)  # fmt: skip
def test_something_repeats_within_what_repeats(pattern: str) -> None:
    (what,) = found(f"{{type: text, pattern: '{pattern}'}}")
    assert what.startswith(f"the pattern {pattern} can take too long for texts like ")


@pytest.mark.parametrize(
    "pattern",
    [r"[a-z]+(\.[a-z]+)*[0-9]", r"([a-z]+\.)+[0-9]", r"[A-Z]{2}\d{6}", ".*order.*", r"(\d{3}-?)+", "(.+,)+x", r"\p{L}+"],
)  # fmt: skip
def test_other_repetitions_are_right(pattern: str) -> None:
    assert found(f"{{type: text, pattern: '{pattern}'}}") == []


def test_a_text_that_is_short_enough_is_read_in_time() -> None:
    assert found(r"{type: text, pattern: '([a-z]+\.?)+[0-9]', max: 12}") == []


def test_patterns_of_starts_and_of_matches_are_looked_at_too() -> None:
    assert len(found("text", start="pattern: '(a|aa)+b'")) == 1
    assert len(found("text", step="{say: \"{{ x | matches('(a|aa)+b') }}\", then: end}")) == 1
