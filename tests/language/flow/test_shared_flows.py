"""A shared flow only works with values, and a step says at which record it runs."""

import pytest

from bot.language.flow.library import load
from bot.language.python.gathered import Extensions
from tests.talk import sources_of

MAIN = """\
flow: main
start: {otherwise: true}
steps:
  go: {run: /count, OF errors: {else: end}, then: end}
---
flow: count
shared: circle
vars: {number: {type: integer, value: 0, keep: true}}
steps:
  STEP
"""
COUNT = 'one: {set: {number: "{{ number + 1 }}"}, then: end}'


def problems(of: str = "of: north,", step: str = COUNT) -> list[str]:
    flows = MAIN.replace("OF", of).replace("STEP", step)
    return [f"{each.code} {each.what}" for each in load(sources_of(flows), Extensions()).problems]


def test_a_shared_flow_that_works_with_values_has_no_problems() -> None:
    assert problems() == []


@pytest.mark.parametrize(
    ("step", "what"),
    [
        ("one: {say: Hello, then: end}", "E121 flow count is shared, so it cannot `say`"),
        ("one: {ask: Hello?, then: end}", "E121 flow count is shared, so it cannot `ask`"),
        ("one: {wait: 1h, then: end}", "E121 flow count is shared, so it cannot `wait`"),
        (
            "one: {set: {number: 1}, tag: vip, then: end}",
            "E121 flow count is shared, so it has no tags and no schedules",
        ),
    ],
)
def test_a_shared_flow_says_nothing_waits_for_nothing_and_has_no_tags(step: str, what: str) -> None:
    assert what in problems(step=step)


def test_the_step_names_the_record() -> None:
    assert problems(of="") == ['E105 flow count is shared: "of" is missing, which says at which circle it runs']


def test_a_flow_that_is_not_shared_takes_no_record() -> None:
    flows = MAIN.replace("OF", "of: north,").replace("STEP", COUNT).replace("shared: circle\n", "")
    found = load(sources_of(flows), Extensions()).problems
    assert [each.what for each in found] == ['"of" has no effect: flow count is not shared']


def test_a_shared_flow_is_no_target() -> None:
    flows = MAIN.replace("OF", "of: north,").replace("STEP", COUNT).replace("then: end}\n---", "then: /count}\n---")
    assert "E110" in [each.code for each in load(sources_of(flows), Extensions()).problems]
