"""Exits that are there only where their condition holds."""

import pytest

from tests.talk import Talk, problems_of

AI = """
flow: main
start: {otherwise: true}
vars: {big: {type: boolean, value: BIG}, total: {type: integer}}
steps:
  talk:
    ai: Help.
    fill: {total: how much they want to spend}
    exits:
      discount: {when: they ask for one, if: big, then: cheap}
      luxury: {when: they want the best, if: total != none and total > 100, then: best}
      done: {when: all is said, then: end}
    errors: {else: end}
  cheap: {say: Ten percent., then: end}
  best: {say: The best., then: end}
"""
CLASSIFY = """
flow: main
start: {otherwise: true}
vars: {big: {type: boolean, value: BIG}}
steps:
  sort: {classify: What?, exits: {discount: {if: big, then: cheap}, done: end}, other: hm, errors: {else: end}}
  cheap: {say: Ten percent., then: end}
  hm: {say: Hm., then: end}
"""


def tools(talk: Talk) -> list[str]:
    return [tool["function"]["name"] for tool in talk.asked[-1][1].tools]


def test_a_model_has_only_the_exits_whose_condition_holds() -> None:
    talk = Talk(AI.replace("BIG", "true"))
    talk.user("hi")
    assert tools(talk) == ["remember", "leave_discount", "leave_done"]
    assert talk.model("", ("leave_discount", {})) == ["Ten percent."]


def test_an_exit_that_is_not_there_cannot_be_taken() -> None:
    talk = Talk(AI.replace("BIG", "false"))
    talk.user("hi")
    assert tools(talk) == ["remember", "leave_done"]
    assert talk.model("", ("leave_discount", {})) == []
    assert talk.prompt[-1]["content"] == "There is no such tool."


def test_a_condition_sees_what_was_noted_in_the_same_answer() -> None:
    talk = Talk(AI.replace("BIG", "false"))
    talk.user("hi, I have 200")
    assert talk.model("", ("remember", {"total": "200"}), ("leave_luxury", {})) == ["The best."]


def test_a_model_without_tools_is_told_of_the_exits_that_are_there() -> None:
    talk = Talk(AI.replace("BIG", "false"))
    talk.user("hi")
    talk.model_ends("no_tools")
    assert "LEAVE done" in talk.prompt[0]["content"]
    assert "LEAVE discount" not in talk.prompt[0]["content"]


@pytest.mark.parametrize(("big", "answer"), [("true", "Ten percent."), ("false", "Hm.")])
def test_what_is_sorted_goes_by_the_exits_that_are_there(big: str, answer: str) -> None:
    talk = Talk(CLASSIFY.replace("BIG", big))
    talk.user("hi")
    assert ("discount:" in talk.prompt[0]["content"]) == (big == "true")
    assert talk.model("discount") == [answer]


def test_a_condition_that_fails_is_a_failure_of_the_step() -> None:
    talk = Talk(CLASSIFY.replace("if: big", "if: big > 3").replace("BIG", "null").replace("{else: end}", "{else: hm}"))
    assert talk.user("hi") == ["Hm."]


def test_names_in_a_condition_are_checked() -> None:
    (problem,) = problems_of(CLASSIFY.replace("if: big", "if: bgi").replace("BIG", "true"))
    assert 'E301 no variable "bgi" (did you mean "big"?)' in problem
