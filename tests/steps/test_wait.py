"""How long a pause lasts."""

from datetime import timedelta

from tests.talk import Talk


def test_wait_goes_on_by_itself() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
steps: {a: {say: First.}, b: {wait: 3d}, c: {say: Second., then: end}}
""")
    assert talk.user("a") == ["First."]
    assert talk.user("hello?") == []
    assert talk.wait("71h") == []
    assert talk.wait("1h") == ["Second."]


def test_a_wait_that_leads_to_itself_waits_as_long_again() -> None:
    talk = Talk("flow: main\nstart: {otherwise: true}\nsteps: {w: {wait: 1h, then: again}}\n")
    talk.user("a")
    for _ in range(3):
        assert talk.turn is not None
        assert talk.turn.wake_at == talk.now + timedelta(hours=1)
        talk.wait("1h")
