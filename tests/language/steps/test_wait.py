"""How long a pause lasts."""

from datetime import timedelta

import pytest

from tests.talk import BOT, Talk, problems_of


def test_wait_goes_on_by_itself() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
steps: {a: {say: First.}, b: {wait: 3d}, c: {say: Second., then: end}}
""")
    assert talk.user("a") == ["First."]
    assert talk.user("and?") == []
    assert talk.wait("71h") == []
    assert talk.wait("1h") == ["Second."]


def test_a_wait_that_leads_to_itself_waits_as_long_again() -> None:
    talk = Talk("flow: main\nstart: {otherwise: true}\nsteps: {w: {wait: 1h, then: again}}\n")
    talk.user("a")
    for _ in range(3):
        assert talk.turn is not None
        assert talk.turn.wake_at == talk.now + timedelta(hours=1)
        talk.wait("1h")


HEARD = """
flow: main
start: {words: [hi]}
vars: {text: {type: text}}
words: {where: {say: In the oven.}}
steps:
  oven: {wait: 2h, other: OTHER}
  ready: {say: Ready., then: end}
  asked: {say: "You asked.", then: end}
"""


@pytest.mark.parametrize(
    ("other", "sent", "at"),
    [
        ("{say: Two hours.}", ["Two hours."], "main/oven"),
        ("{say: Two hours., then: again}", ["Two hours."], "main/oven"),
        ("asked", ["You asked."], None),
    ],
)
def test_a_message_during_a_wait_is_heard_where_the_step_has_other(other: str, sent: list[str], at: str | None) -> None:
    talk = Talk(HEARD.replace("OTHER", other))
    talk.user("hi")
    talk.pass_time(timedelta(hours=1))
    assert talk.user("where") == ["In the oven."]
    assert talk.user("and when?") == sent
    assert talk.photo() == ([*sent] if at else [])
    assert talk.at == at
    assert talk.wait("1h") == (["Ready."] if at else [])


def test_a_wait_until_hours_whose_other_comes_back_to_it_is_no_circle() -> None:
    bot = BOT + "hours: {desk: {mon-fri: '9:00-18:00'}}\n"
    flow = "flow: main\nsteps: {open: {wait: {until: desk}, other: {say: Closed., then: again}}}"
    assert problems_of(flow, bot) == []
