"""Taps on buttons that no step has shown: their titles choose nothing here."""

from typing import Any

import pytest

from tests.talk import Talk

OLD = "That was an earlier question."


WAITING = """
flow: main
start: {otherwise: true}
steps:
  ready: {template: {name: ready, language: en}, replies: {"Yes": {words: [YES_17], then: done}, "No": end}}
  done: {say: Done., then: end}
"""


def test_a_yes_to_another_template_confirms_no_template_that_waits() -> None:
    talk = Talk(WAITING)
    talk.user("x")
    assert talk.tap_id("NEWS", "Yes") == [OLD, ["ready"]]
    assert talk.at == "main/ready"
    assert talk.tap_id("YES_17", "Ja") == ["Done."], "the payload is one of the reply's words"


@pytest.mark.parametrize("id", ["", "Yes", "yes"])
def test_a_title_alone_confirms_the_template_that_waits(id: str) -> None:
    talk = Talk(WAITING)
    talk.user("x")
    assert talk.tap_id(id, "Yes") == ["Done."]


@pytest.mark.parametrize(
    "question",
    [
        "{ask: Sure?, buttons: {'Yes': done, 'No': end}}",
        "{ask: Sure?, options: ['Yes', 'No'], save: said, then: done}",
        "{ask: Sure?, save: said, then: done}",
        "{ask: Sure?, save: agreed, then: done}",
        "{ask: Sure?, skip: ['yes'], save: agreed, then: done}",
    ],
)
def test_a_yes_to_another_template_answers_no_question(question: str) -> None:
    talk = Talk(f"""
flow: main
start: {{otherwise: true}}
vars: {{said: text, agreed: boolean}}
steps:
  sure: {question}
  done: {{say: Done., then: end}}
""")
    talk.user("x")
    said = talk.tap_id("NEWS", "Yes")
    assert said[0] == OLD and talk.at == "main/sure"
    assert talk.turn is not None and talk.turn.trace.rule == "tap on another button: explain"
    assert talk.user("yes") == ["Done."]


@pytest.mark.parametrize("id", ["", "Yes", "yes"])
@pytest.mark.parametrize(
    "question", ["save: said", "save: agreed", "skip: ['yes'], save: agreed", "gather: 3s, save: said"]
)
def test_a_tap_of_which_only_the_title_comes_answers_no_question_that_has_no_such_button(
    id: str, question: str
) -> None:
    talk = Talk(f"""
flow: main
start: {{otherwise: true}}
vars: {{said: text, agreed: boolean}}
steps:
  sure: {{ask: Sure?, {question}, then: done}}
  done: {{say: Done., then: end}}
""")
    talk.user("x")
    assert talk.tap_id(id, "Yes") == [OLD, "Sure?"]
    assert talk.at == "main/sure"


def test_a_title_alone_fills_no_slot() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
slots: [size, day]
vars: {size: {type: text}, day: {type: date}}
steps:
  size: {ask: Size?, options: [Small, Large], save: size}
  day: {ask: Day?, save: day}
  done: {say: Done., then: end}
""")
    talk.user("x")
    assert talk.tap_id("Small tomorrow", "Small tomorrow")[0] == OLD
    assert talk.session.frames[-1].vars == {"size": None, "day": None}


def test_a_tap_on_another_button_fills_no_slot_and_agrees_to_nothing() -> None:
    talk = Talk("""
flow: main
start: {words: [go]}
slots: [size, day]
interrupted: ask
vars: {size: {type: text}, day: {type: date}}
steps:
  size: {ask: Size?, options: [Small, Large], save: size}
  day: {ask: Day?, save: day}
  done: {say: Done., then: end}
---
flow: hours
start: {words: [hours]}
steps: {all: {say: Always., then: end}}
""")
    talk.user("go")
    assert talk.tap_id("NEWS", "Large tomorrow")[0] == OLD
    assert talk.session.frames[-1].vars == {"size": None, "day": None}
    talk.user("hours")
    assert talk.tap_id("NEWS", "No")[0] == OLD, "the question whether to go on"
    assert talk.at == "main/size"


def test_a_tap_on_another_button_is_a_word_and_a_start_by_its_title() -> None:
    talk = Talk(
        """
flow: main
start: {otherwise: true}
interrupted: resume
steps: {name: {ask: Name?, then: end}}
---
flow: news
start: {words: [tell me more]}
steps: {all: {say: News., then: end}}
""",
        "name: T\nwords: {help: {say: Just write.}}\ndefaults: {timeout: {after: 20h, then: end}}\n",
    )
    talk.user("x")
    assert talk.tap_id("NEWS", "Tell me more") == ["News.", "Name?"]
    assert talk.tap_id("NEWS", "Help") == ["Just write."]


@pytest.mark.parametrize(("policy", "expected"), [("ignore", []), ("message", ["Buttons!"]), ("reopen", [])])
def test_old_taps_decides_about_a_tap_on_another_button(policy: str, expected: list[Any]) -> None:
    talk = Talk(
        "flow: main\nstart: {otherwise: true}\n"
        f"defaults: {{old_taps: {policy}, retry: {{say: Buttons!}}}}\n"
        "steps: {sure: {ask: Sure?, buttons: {'Yes': end}}}\n"
    )
    talk.user("x")
    assert talk.tap_id("NEWS", "Yes") == expected
    assert talk.at == "main/sure"


def test_a_tap_on_another_button_replies_to_no_earlier_template() -> None:
    talk = Talk("""
flow: main
start: {words: [remind]}
steps:
  sure: {template: {name: sure, language: en}, replies: {"Yes": done}, valid: 5d, timeout: {after: 1h, then: end}}
  done: {say: Done., then: end}
""")
    talk.user("remind")
    talk.wait("2h")
    assert talk.tap_id("NEWS", "Yes") == []
    assert talk.tap_id("", "Yes") == ["Done."]
