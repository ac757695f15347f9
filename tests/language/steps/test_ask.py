"""How a question can end: by `then` only where something beside its choices is an answer."""

import pytest

from tests.checker.proved import library
from tests.talk import Talk


@pytest.mark.parametrize(
    ("question", "ends"),
    [
        ("ask: Q?", True),
        ("ask: Q?, save: x", True),
        ("ask: Q?, buttons: [A, B]", False),
        ("ask: Q?, buttons: {A: end, B: end}", False),
        ("ask: Q?, buttons: [A, B], save: x", False),
        ("ask: Q?, buttons: [A, B], save: x, accepts: text", True),
        ("ask: Q?, options: [A, B], many: true, save: l", True),
    ],
)
def test_a_question_ends_by_then_where_something_beside_its_choices_is_an_answer(question: str, ends: bool) -> None:
    variables = "{x: {type: text}, l: {type: list}}"
    found = library(f"flow: a\nstart: {{words: [a]}}\nvars: {variables}\nsteps: {{q: {{{question}}}}}")
    assert ("then" in found.flows["a"].steps["q"].transitions) is ends


def test_choices_of_a_list_know_their_place() -> None:
    flow = """
flow: a
start: {words: [a]}
vars: {which: integer}
steps:
  q: {ask: Which?, options: {from: '["tea", "cake"]', title: "{{ loop.index }}. {{ it }}", value: "{{ loop.index }}"}, save: which}
  done: {say: "{{ which }}{{ ', the last' if which == 2 }}", then: end}
"""
    talk = Talk(flow)
    assert talk.user("a") == [["Which?", "1. tea", "2. cake"]]
    assert talk.tap("2. cake") == ["2, the last"]
