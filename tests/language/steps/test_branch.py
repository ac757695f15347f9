"""Which condition a branch follows."""

from tests.talk import Talk


def test_branch_takes_the_first_condition_that_is_true_and_traces_them() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
vars: {n: {type: integer}}
steps:
  n: {ask: n?, save: n}
  b: {branch: [{if: n > 10, then: big}, {if: n > 5, then: middle}, {else: small}]}
  big: {say: big, then: end}
  middle: {say: middle, then: end}
  small: {say: small, then: end}
""")
    for number, expected in (("11", "big"), ("6", "middle"), ("1", "small")):
        talk.user("a")
        assert talk.user(number) == [expected]
    assert talk.turn is not None
    assert talk.turn.trace.steps[1].conditions == [("n > 10", False), ("n > 5", False)]
