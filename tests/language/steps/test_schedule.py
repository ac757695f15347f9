"""A step that only schedules, and the mistakes beside step options without another verb."""

import pytest

from tests.talk import Talk, problems_of


def test_a_flow_is_scheduled_and_the_contact_tagged_without_a_word() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
steps:
  later: {schedule: {flow: reminder, after: 2h}, tag: waits, then: end}
---
flow: reminder
steps: {say: {say: Here I am., then: end}}
""")
    assert talk.user("hi") == []
    assert talk.session.tags == ("waits",)
    assert [plan.flow for plan in talk.session.plans] == ["reminder"]


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        ("{aks: Who?, tag: vip}", '4:6: E107 step "a" has no verb, it begins with "aks" (did you mean "ask"?)'),
        ("{tag: vip, aks: Who?}", '4:17: E107 step "a": "aks" is no verb (did you mean "ask"?)'),
        ("{tga: vip}", '4:6: E107 step "a" has no verb, it begins with "tga" (did you mean "tag"?)'),
        ("{tag: vip, options: [x]}", '4:17: E104 step "a": unknown key "options" (it belongs to ask, not to tag)'),
    ],
)
def test_a_misspelt_verb_beside_step_options_is_found(step: str, problem: str) -> None:
    flow = f"flow: main\nstart: {{otherwise: true}}\nsteps:\n  a: {step}\n"
    assert problems_of(flow) == [f"flows/test.yml:{problem}"]


def test_a_schedule_beside_a_step_is_to_be_indented() -> None:
    flow = "flow: main\nstart: {otherwise: true}\nsteps:\n  a:\n    say: x\n  schedule: {flow: main, after: 1d}\n"
    (problem,) = problems_of(flow)
    assert problem.startswith('flows/test.yml:6:3: E106 "schedule" stands beside step "a"')
