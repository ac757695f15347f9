"""``start``: a flow starts for other contacts. The whole way to them, by the store, is tried by examples/dispatch."""

from bot.core.effects import EmitEvent
from bot.core.events import StartRequested
from tests.talk import CONTACT, Talk, problems_of

DISPATCH = """
flow: dispatch
start: {words: [taxi]}
vars: {drivers: {type: list, value: ["6281234567891", "6281234567892"]}}
steps:
  ask:
    start: /offer/ask
    each: drivers
    contact: "{{ it }}"
    with: {place: "{{ loop.index }} of {{ loop.length }}", asks: "{{ contact.id }}"}
    busy: interrupt
  done: {say: Asked., then: end}
---
flow: offer
vars: {place: text, asks: phone}
steps: {ask: {ask: Free?}}
"""


def test_it_starts_for_each_of_several_contacts() -> None:
    talk = Talk(DISPATCH)
    assert talk.user("taxi") == ["Asked."]
    events = [effect.event for effect in talk.effects if isinstance(effect, EmitEvent)]
    assert [event.contact for event in events] == ["6281234567891", "6281234567892"]
    data = {"place": "1 of 2", "asks": CONTACT}
    first = StartRequested("e1#0", "6281234567891", talk.now, "offer/ask", data, "interrupt", "dispatch/ask")
    assert events[0] == first


def test_what_is_no_number_is_a_mismatch() -> None:
    talk = Talk(DISPATCH.replace('value: ["6281234567891"', 'value: ["the driver"'))
    assert talk.user("taxi") == []
    assert talk.turn is not None and "dispatch/ask: mismatch" in talk.turn.trace.notes[0]
    assert talk.effects == []


def test_the_flow_and_its_variables_are_there() -> None:
    flow = "flow: a\nstart: {otherwise: true}\nvars: {x: text}\nsteps: {s: {start: %s, contact: '6281234567890', then: end}}"
    assert problems_of(flow % "/a, with: {x: b}") == []
    assert "E103" in problems_of(flow % "/b")[0]
    assert "E102" in problems_of(flow % "/a/t")[0]
    assert "E301" in problems_of(flow % "/a, with: {y: b}")[0]
