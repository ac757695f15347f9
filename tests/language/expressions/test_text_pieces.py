"""A text in its pieces: what is written out, and the values between."""

import pytest

from bot.language.expressions.templates import pieces_of
from bot.language.source.problems import Mark, Problems

MARK = Mark("flows/f.yml", 3, 7)


def pieces(source: str) -> list[str] | None:
    """The pieces, each value as it is written."""
    found = pieces_of(source, MARK, Problems())
    return None if found is None else [piece if isinstance(piece, str) else piece.source for piece in found]


def test_each_value_is_a_piece_of_its_own() -> None:
    assert pieces("/a/{{ b }}{{ c | upper }}?d={{ e }}") == ["/a/", "{{ b }}", "{{ c | upper }}", "?d=", "{{ e }}"]
    assert pieces("/a") == ["/a"]
    assert pieces("") == []


def test_braces_inside_of_a_value_end_nothing() -> None:
    assert pieces('{{ "}}" ~ a }}/{{ "{{" }}') == ['{{ "}}" ~ a }}', "/", '{{ "{{" }}']


def test_a_piece_keeps_the_type_of_its_value() -> None:
    (piece,) = pieces_of("{{ 1 + 1 }}", MARK, Problems()) or ()
    assert not isinstance(piece, str)
    assert piece.value({}) == 2


@pytest.mark.parametrize(
    ("source", "code"),
    [("{% if a %}b{% endif %}", "E203"), ("a{# b #}", "E203"), ("{{ a", "E201"), ("{{ a.b() }}", "E203")],
)  # fmt: skip
def test_what_is_more_than_values_is_a_problem(source: str, code: str) -> None:
    problems = Problems()
    assert pieces_of(source, MARK, problems) is None
    assert [(problem.code, problem.line) for problem in problems.sorted()] == [(code, 3)]
