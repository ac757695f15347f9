"""What a call waits for, and what its results and errors lead to."""

from typing import Any

from bot import handler
from tests.talk import Talk


class NotFound(LookupError):
    pass


@handler("find", errors=[NotFound])
def find(number: int) -> dict[str, Any]:
    return {}


CALL = """
flow: main
start: {otherwise: true}
vars: {number: {type: integer}, found: {type: object}}
steps:
  ask: {ask: Number?, save: number}
  look: {call: find, with: {number: "{{ number }}"}, save: found, errors: {NotFound: unknown, else: broken}}
  show: {say: "It is {{ found.state }}.", then: end}
  unknown: {say: Not there., then: ask, visits: {max: 1, else: broken}}
  broken: {say: Broken., then: end}
"""


def test_a_call_waits_for_its_result_and_saves_it() -> None:
    talk = Talk(CALL, handlers={"find": find})
    talk.user("a")
    assert talk.user("7") == []
    assert talk.session.busy
    assert talk.calls[-1][1].arguments == {"number": 7}
    assert talk.returns({"state": "here"}) == ["It is here."]


def test_a_declared_error_is_an_outcome_and_others_take_else() -> None:
    talk = Talk(CALL, handlers={"find": find})
    talk.user("a"), talk.user("7")
    assert talk.fails("NotFound") == ["Not there.", "Number?"]
    talk.user("8")
    assert talk.fails("timeout") == ["Broken."]


def test_a_result_that_does_not_fit_its_variable_is_a_mismatch() -> None:
    talk = Talk(CALL, handlers={"find": find})
    talk.user("a"), talk.user("7")
    assert talk.returns("no object") == ["Broken."]


def test_a_late_result_is_dropped() -> None:
    talk = Talk(CALL, handlers={"find": find})
    talk.user("a"), talk.user("7"), talk.reset()
    assert talk.returns({"state": "here"}) == []
    assert talk.at is None


def test_visits_bound_the_entries_of_a_step() -> None:
    talk = Talk(CALL, handlers={"find": find})
    talk.user("a"), talk.user("7"), talk.fails("NotFound"), talk.user("8")
    assert talk.fails("NotFound") == ["Broken."]
