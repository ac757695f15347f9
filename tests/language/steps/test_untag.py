"""A step that only removes tags."""

from tests.talk import Talk


def test_the_contact_loses_the_tags() -> None:
    steps = "  a: {tag: [vip, new]}\n  b: {untag: new}\n  c: {say: Hi., then: end}\n"
    talk = Talk(f"flow: main\nstart: {{otherwise: true}}\nsteps:\n{steps}")
    assert talk.user("hi") == ["Hi."]
    assert talk.session.tags == ("vip",)
