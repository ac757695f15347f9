"""How problems are collected and printed."""

import pytest

from bot.language.source.problems import Mark, Problems, did_you_mean, nearest


def test_a_problem_prints_as_place_code_words_and_fix() -> None:
    problems = Problems()
    problems.add("E102", Mark("flows/order.yml", 14, 9), 'no step "pya"', 'did you mean "pay"?')
    problems.add("E105", Mark("bot.yml", 1, 1), "a name is missing")
    assert [str(problem) for problem in problems.sorted()] == [
        "bot.yml:1:1: E105 a name is missing",
        'flows/order.yml:14:9: E102 no step "pya" (did you mean "pay"?)',
    ]


def test_problems_are_in_the_order_of_lines_and_each_stands_once() -> None:
    problems = Problems()
    for line in (10, 9, 100, 9):
        problems.add("E104", Mark("f.yml", line, 1), "x")
    assert [problem.line for problem in problems.sorted()] == [9, 10, 100]
    assert len(problems) == 3


def test_an_unknown_code_is_a_mistake_of_ours() -> None:
    with pytest.raises(KeyError):
        Problems().add("no such code", Mark("f.yml", 1, 1), "x")


def test_the_nearest_name_is_suggested_whatever_its_case() -> None:
    assert nearest("PYA", ["order", "pay"]) == "pay"
    assert nearest("notfound", ["NotFound"]) == "NotFound"
    assert nearest("munber", ["sort", "number"]) == "number"
    assert nearest("zebra", ["order", "pay"]) is None
    assert did_you_mean("ordr", ["order"], "add it") == 'did you mean "order"?'
    assert did_you_mean("zebra", ["order"], "add it") == "add it"
    assert did_you_mean("format", ["sort"], "add it") == "add it"


def test_what_other_tools_call_it_is_suggested_where_it_is_known_by_its_name_here() -> None:
    assert did_you_mean("goto", ["then", "to"]) == 'did you mean "then"?'
    assert did_you_mean("GoTo", ["goat"]) == 'did you mean "goat"?'
