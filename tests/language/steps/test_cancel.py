"""A step that only cancels what is scheduled."""

from tests.talk import Talk


def test_a_scheduled_flow_is_cancelled() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
steps:
  on: {say: On., schedule: {flow: main, after: 2h}}
  ask: {ask: Still?, buttons: {Yes: end, No: off}, timeout: never}
  off: {cancel: main}
  bye: {say: Bye., then: end}
""")
    talk.user("hi")
    assert [plan.flow for plan in talk.session.plans] == ["main"]
    assert talk.user("No") == ["Bye."]
    assert talk.session.plans == ()
