"""A step that only adds tags."""

from tests.talk import Talk


def test_the_contact_gets_the_tags() -> None:
    talk = Talk("flow: main\nstart: {otherwise: true}\nsteps:\n  a: {tag: [vip, new]}\n  b: {say: Hi., then: end}\n")
    assert talk.user("hi") == ["Hi."]
    assert talk.session.tags == ("vip", "new")
