"""W601: turns that send more than a minute allows."""

from bot.checker.graph import Graph
from bot.checker.rules.load import Load
from tests.checker.proved import findings, library

BEGIN = "flow: a\nstart: {words: [a]}\n"


def most(*flows: str) -> int:
    """The most messages of any turn."""
    return Load(Graph(library(*flows))).most


def test_a_turn_sends_what_its_steps_and_doors_say_until_one_waits() -> None:
    steps = "steps:\n  b: {say: B}\n  c: {say: C, then: {say: Then, then: q}}\n  q: {ask: Q, then: d}\n  d: {say: D}"
    assert most(BEGIN + steps) == 4
    assert most(BEGIN + "steps:\n  q: {ask: Q, retry: {say: No}}") == 1
    assert most(BEGIN + "steps:\n  b: {say: See, location: {latitude: 1, longitude: 2}}") == 2


def test_a_bound_on_visits_bounds_a_circle() -> None:
    assert most(BEGIN + "steps:\n  b: {say: B, visits: {max: 7, else: end}}\n  c: {say: C, then: b}") == 14


def test_a_flow_that_is_run_for_each_element_sends_a_hundred_times_as_much() -> None:
    each = (
        BEGIN + "vars: {all: {type: list}}\nsteps:\n  r: {run: /one, each: all, with: {it_: '{{ it }}'}}\n  b: {say: B}"
    )
    one = "flow: one\nvars: {it_: {type: text}}\nsteps:\n  said: {say: '{{ it_ }}'}"
    (finding,) = [finding for finding in findings(each, one) if finding.code == "W601"]
    assert finding.what == 'step "r" can send 101 messages in one turn, and the gateway takes 60 a minute'
    asking = one.replace("{say: '{{ it_ }}'}", "{ask: '{{ it_ }}'}")
    assert most(each, asking) == 1


def test_a_flow_that_is_run_counts_where_it_returns_in_the_same_turn() -> None:
    parent = BEGIN + "steps:\n  r: {run: /one}\n  b: {say: B}"
    assert most(parent, "flow: one\nsteps:\n  x: {say: X}\n  y: {say: Y}") == 3
    assert most(parent, "flow: one\nsteps:\n  x: {say: X}\n  y: {wait: 1h}") == 1
