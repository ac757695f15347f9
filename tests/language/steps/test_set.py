"""What `set` assigns."""

from tests.talk import Talk


def test_set_reads_the_values_from_before_it() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
vars: {a: {type: integer, value: 1}, b: {type: integer, value: 2}}
steps:
  swap: {set: {a: "{{ b }}", b: "{{ a }}"}}
  q: {ask: "{{ a }} {{ b }}", tag: seen, buttons: {Go: end}}
""")
    assert talk.user("x") == [["2 1", "Go"]]
    assert list(talk.session.tags) == []
    talk.tap("Go")
    assert list(talk.session.tags) == ["seen"]
