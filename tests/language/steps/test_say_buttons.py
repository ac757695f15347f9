"""Buttons of a `say`: the step goes on at once, and a tap counts at any time."""

from typing import Any

import pytest

from bot.checker.run_rules import run_rules
from bot.core.events import SendEnded
from tests.checker.proved import library, sources
from tests.talk import CONTACT, Talk, problems_of

DOSES = """
flow: dose
start: {pattern: 'dose (?P<drug>[a-z]+)'}
vars: {drug: text}
steps:
  due:
    say: "Time for {{ drug }}."
    header: Reminder
    buttons: {Taken: taken, Skip: {say: "No {{ drug }} today.", then: end}}
    valid: 12h
    tag: reminded
  sent: {say: Sent., then: end}
  taken: {say: "{{ drug }} is taken.", then: end}
---
flow: shop
start: {words: [shop]}
interrupted: resume
steps: {what: {ask: What?, buttons: {Taken: end, Free: end}}}
"""


def dose(talk: Talk, drug: str) -> str:
    assert talk.user(f"dose {drug}") == [[f"Time for {drug}.", "Taken", "Skip"], "Sent."]
    message: Any = talk.sent[-2]
    assert message.header == "Reminder"
    id: str = message.buttons[0].id
    return id


def test_each_tap_counts_for_its_own_message_at_any_time() -> None:
    talk = Talk(DOSES)
    first, second = dose(talk, "iron"), dose(talk, "zinc")
    assert talk.at is None
    assert talk.tap_id(first, "Taken") == ["iron is taken."]
    assert talk.tap_id(second, "Taken") == ["zinc is taken."]
    assert talk.tap_id(first.replace("/0/", "/1/"), "Skip") == ["That was an earlier question."], (
        "another button's hash"
    )
    talk.user("shop")
    assert talk.tap_id(first, "Taken") == ["iron is taken.", ["What?", "Taken", "Free"]]
    assert talk.at == "shop/what"
    talk.wait("12h")
    assert talk.tap_id(first, "Taken")[0] == "That was an earlier question."


def test_a_tap_does_what_the_button_says_and_not_what_the_step_says() -> None:
    talk = Talk(DOSES)
    first = dose(talk, "iron")
    assert talk.session.tags == ("reminded",)
    talk.session.tags = ()
    (skip,) = (choice for choice in talk.shown if choice.title == "Skip")
    assert talk.tap_id(skip.id, "Skip") == ["No iron today."]
    assert talk.session.tags == ()
    assert talk.turn is not None
    assert [each[3:] for each in talk.turn.results] == [("entered", ""), ("answered", "[Skip]")]
    assert talk.tap_id(first, "Taken") == ["iron is taken."], "as often as it is tapped"


def test_a_title_alone_counts_if_only_one_message_has_it() -> None:
    talk = Talk(DOSES)
    dose(talk, "iron")
    assert talk.tap_id("", "Taken") == ["iron is taken."]
    assert talk.user("Skip") == ["No iron today."]
    dose(talk, "zinc")
    assert talk.user("Taken") == [], "of which?"


def test_a_tap_on_a_say_answers_no_question_with_such_a_button() -> None:
    talk = Talk(DOSES.replace("interrupted: resume\n", ""))
    first = dose(talk, "iron")
    talk.user("shop")
    assert talk.tap_id(first, "Taken") == ["That was an earlier question.", ["What?", "Taken", "Free"]]
    assert talk.tap_id("", "Taken") == [] and talk.at is None, "a title alone is for the question"


def test_buttons_that_the_gateway_refuses_go_as_a_plain_text() -> None:
    talk = Talk(DOSES)
    dose(talk, "iron")
    refused = SendEnded("s1", CONTACT, talk.now, "x#0", "refused", "why", talk.sent[-2])
    assert talk.take(refused) == ["Reminder\n\nTime for iron.\n\n• Taken\n• Skip"]
    assert talk.user("Taken") == ["iron is taken."]


def test_buttons_that_come_after_a_template_count_as_well() -> None:
    talk = Talk(
        DOSES.replace("    tag: reminded\n", "    window_closed: {template: {name: due, language: en}, wait: true}\n")
    )
    talk.start("dose", drug="iron")
    assert talk.user("yes") == [["Time for iron.", "Taken", "Skip"]]
    assert talk.send_ended("sent") == ["Sent."]
    assert talk.tap("Taken") == ["iron is taken."]


PAYLOADS = """
flow: invoice
start: {pattern: 'invoice (?P<id>[0-9]+)'}
vars: {id: integer}
steps: {due: {say: "Invoice {{ id }}.", buttons: {Pay: {payload: "PAY:{{ id }}"}}, then: end}}
---
flow: pay
start: {payload: "PAY:{id}"}
vars: {id: integer}
steps: {paid: {say: "You pay {{ id }}.", then: end}}
"""


def test_without_valid_a_tap_counts_by_its_payload() -> None:
    talk = Talk(PAYLOADS)
    talk.user("invoice 17"), talk.user("invoice 18")
    first, second = talk.shown
    talk.wait("30d")
    assert talk.tap_id(first.id, "Pay") == ["You pay 17."]
    assert talk.tap_id(second.id, "Pay") == ["You pay 18."]
    assert talk.user("Pay") == [], "a title alone names no invoice"
    assert talk.session.valid_replies == ()


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        ("{say: x, buttons: {A: end}}", 'E105 step "a": "A": a tap leads nowhere'),
        ("{say: x, buttons: {A: {payload: P, then: end}}}", 'E123 step "a": "A": what a tap does here never happens'),
        ("{say: x, buttons: {A: {payload: P, set: {n: 1}}}}", "E123"),
        ("{say: x, buttons: {A: end, B: end, C: end, D: end}, valid: 1d}", "E401"),
        ("{say: x, buttons: {" + "A" * 21 + ": end}, valid: 1d}", "E402"),
        ("{say: , buttons: {A: end}, valid: 1d}", "E105"),
        ("{say: x, buttons: {A: end}, valid: 1d, footer: y}", "E403"),
        ("{say: x, buttons: {A: end}, valid: 1d, image: 'https://a.example/a.jpg'}", "E121"),
        ("{say: x, valid: 1d}", '"valid" where there is no button to tap'),
        ("{ask: x, valid: 1d}", '"valid" where there is no button to tap'),
        ("{say: x, buttons: [A], valid: 1d}", "E1"),
    ],
)
def test_buttons_fit_what_the_gateway_takes_and_lead_somewhere(step: str, problem: str) -> None:
    problems = problems_of(f"flow: f\nstart: {{words: [hi]}}\nvars: {{n: integer}}\nsteps: {{a: {step}}}\n")
    assert len(problems) == 1 and problem in problems[0], problems


def test_a_tap_may_lead_back_to_the_message() -> None:
    talk = Talk("""
flow: f
start: {words: [hi]}
steps: {a: {say: Vote!, buttons: {Again: again, Up: a}, valid: 7d, then: end}}
""")
    for title in ("Again", "Up"):
        talk.user("hi")
        assert talk.tap_id(next(each.id for each in reversed(talk.shown) if each.title == title), title) == [
            ["Vote!", "Again", "Up"]
        ]


QUESTION = """
flow: rate
start: {pattern: 'rate (?P<film>[a-z]+)'}
vars: {film: text, stars: integer}
steps:
  stars: {ask: "{{ film }}?", options: [{{ 1 }}, {{ 2 }}], save: stars, valid: 3d, timeout: {after: 1h, then: end}}
  done: {say: "{{ film }}: {{ stars }}", then: end}
""".replace("[{{ 1 }}, {{ 2 }}]", "['1', '2']")


def test_a_question_stays_valid_with_the_values_of_its_time() -> None:
    talk = Talk(QUESTION)
    talk.user("rate jaws")
    first = talk.shown[0].id
    talk.wait("2h")
    talk.user("rate alien")
    assert talk.tap_id(first, "1") == ["jaws: 1"]
    talk.wait("2d")
    assert talk.tap_id(talk.shown[-1].id, "2") == ["alien: 2"]


def test_the_checker_knows_that_a_tap_comes_later() -> None:
    assert problems_of(DOSES) == []
    flows = DOSES.split("---")
    assert run_rules(library(*flows), sources(*flows)) == []


OPEN_DOSES = """
flow: dose
start: {busy: replace}
interrupted: resume
vars: {drug: text}
steps:
  due: {say: "Time for {{ drug }}.", buttons: {Taken: taken}, valid: 2d}
  pause: {wait: 1h}
  late: {say: "Do not forget {{ drug }}.", then: end}
  taken: {say: "{{ drug }} is taken.", then: end}
"""


def test_a_tap_ends_the_wait_of_its_own_message_and_no_other() -> None:
    talk = Talk(OPEN_DOSES)
    talk.user("hello")
    for drug in ("iron", "zinc"):
        assert talk.start("dose", drug=drug) == [[f"Time for {drug}.", "Taken"]]
        if drug == "iron":
            assert talk.wait("2h") == ["Do not forget iron."]
    iron, _ = talk.shown
    assert talk.tap_id(iron.id, "Taken") == ["iron is taken."]
    assert talk.tap_id(iron.id, "Taken") == ["iron is taken."]
    assert [(each.flow, each.step) for each in talk.session.frames] == [("dose", "pause")], "the other one waits on"
    assert talk.wait("1h") == ["Do not forget zinc."]
    talk.start("dose", drug="zinc")
    assert talk.tap_id(talk.shown[-1].id, "Taken") == ["zinc is taken."]
    assert talk.at is None, "its own has nothing to wait for any more"
