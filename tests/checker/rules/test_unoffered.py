"""W304: choices that no option gives."""

import pytest

from bot.checker.graph import Graph
from bot.checker.rules.constant_conditions import find_unoffered
from tests.checker.proved import library

HEAD = "flow: a\nstart: {words: [a]}\nvars: {size: {type: choice, of: [S, M, L]}}\nsteps:\n"


def reported(*steps: str, head: str = HEAD) -> list[str]:
    """The findings about a flow with these steps."""
    lines = "\n".join(f"  s{number}: {step}" for number, step in enumerate(steps))
    return [finding.what for finding in find_unoffered(Graph(library(head + lines)))]


def test_a_choice_that_no_question_shows_is_found() -> None:
    assert reported("{ask: Q, options: [S, M], save: size}") == [
        'no option gives "L" of the variable "size", nor does any step'
    ]
    assert reported("{ask: Q, options: {Small: {value: S}, Other: end}, save: size}") == [
        'no option gives "M", "L" of the variable "size", nor does any step'
    ]


@pytest.mark.parametrize(
    "other",
    ["{ask: Q, options: [L], save: size}", "{set: {size: L}}", "{ask: Q, save: size}", "{set: {size: '{{ message.text }}'}}",
     "{ask: Q, options: {A: {set: {size: L}, then: end}}}", "{ask: Q, options: {A: {value: '{{ message.text }}'}}, save: size}",
     "{http: 'GET https://x.example/', save: size}", "{ask: Q, options: {from: '[message.text]'}, save: size}"],
)  # fmt: skip
def test_what_something_else_gives_is_not(other: str) -> None:
    assert reported("{ask: Q, options: [S, M], save: size}", other) == []


def test_where_nothing_is_to_choose_from_all_is_offered() -> None:
    assert reported("{ask: Q, save: size}") == []
    assert reported("{say: Q}") == []


def test_what_the_variable_starts_at_is_given() -> None:
    assert (
        reported("{ask: Q, options: [S, M], save: size}", head=HEAD.replace("[S, M, L]", "[S, M, L], value: L")) == []
    )
