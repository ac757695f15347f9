"""What a turn counts for `bot report`: every visit of a step that begins, and every one that ends, by its way."""

from collections import Counter
from typing import Any

import pytest

from bot.core.events import Event
from bot.core.turn import ENTERED
from tests.talk import Talk, problems_of

SURVEY = """
flow: survey
start: {words: [survey]}
interrupted: resume
vars: {colour: {type: text}, age: {type: integer}}
steps:
  hello: {say: Hello!}
  colour:
    ask: Which colour?
    options: [Red, Blue]
    save: colour
    retry: {max: 1, say: Please choose., else: end}
    remind: {after: 1h, say: Still there?}
    words: {why: {say: To know you.}, no: {say: Fine., then: end}}
  age: {ask: How old are you?, save: age, report: birthday}
  thanks: {say: Thanks!, report: finished, then: end}
---
flow: hours
start: {words: [hours]}
steps:
  when: {ask: Which day?, then: end}
"""
TO_COLOUR = {"hello entered": 1, "hello answered then": 1, "colour entered": 1}


class Counting(Talk):
    """A talk that adds up what its turns count."""

    def __init__(self, flows: str, **more: Any) -> None:
        self.counted = Counter[tuple[str, ...]]()
        super().__init__(flows, **more)

    def take(self, event: Event) -> list[Any]:
        said = super().take(event)
        self.counted.update(() if self.turn is None else self.turn.results)
        return said

    def counts(self, flow: str = "survey", split: str = "") -> dict[str, int]:
        """``{"colour answered then": 1}``"""
        found = {row[1:]: count for row, count in self.counted.items() if row[0] == flow}
        return {
            " ".join((name, way, outcome)).strip(): n for (name, of, way, outcome), n in found.items() if of == split
        }


def test_each_step_is_entered_once_and_ends_by_its_outcome() -> None:
    talk = Counting(SURVEY)
    talk.user("survey")
    assert talk.counts() == TO_COLOUR
    talk.user("Red")
    talk.user("30")
    assert talk.counts() == TO_COLOUR | {
        "colour answered [Red]": 1,
        "birthday entered": 1,
        "birthday answered then": 1,
        "finished entered": 1,
        "finished answered then": 1,
    }


def test_a_visit_goes_on_through_wrong_answers_reminders_words_and_interruptions() -> None:
    talk = Counting(SURVEY)
    talk.user("survey")
    talk.user("green")
    talk.wait("2h")
    talk.user("why")
    talk.user("hours")
    talk.user("Monday")
    assert (talk.at, talk.counts()) == ("survey/colour", TO_COLOUR)
    assert talk.counts("hours") == {"when entered": 1, "when answered then": 1}


@pytest.mark.parametrize(
    ("act", "way"),
    [
        (lambda talk: talk.wait("21h"), "timed out timeout"),
        (lambda talk: talk.user("no"), 'left word "no"'),
        (lambda talk: (talk.user("green"), talk.user("green")), "left retry.else"),
        (lambda talk: talk.reset(), "left"),
        (lambda talk: talk.user("stop"), "left"),
        (lambda talk: talk.start("hours", busy="replace"), "left"),
    ],
)
def test_a_visit_ends_in_one_way(act: Any, way: str) -> None:
    bot = "name: B\nopt_out: {words: [stop]}\ndefaults: {timeout: {after: 20h, then: end}}\n"
    talk = Counting(SURVEY, bot=bot)
    talk.user("survey")
    act(talk)
    assert talk.counts() == TO_COLOUR | {f"colour {way}": 1}


def test_a_failure_is_counted_as_one() -> None:
    flows = """
flow: survey
start: {otherwise: true}
vars: {number: {type: integer}}
steps:
  half: {set: {number: "{{ message.text }}"}, errors: {else: sorry}}
  sorry: {say: Sorry., then: end}
"""
    talk = Counting(flows)
    talk.user("a")
    assert talk.counts() == {
        "half entered": 1,
        "half failed errors.else": 1,
        "sorry entered": 1,
        "sorry answered then": 1,
    }


SPLIT = """
flow: shop
start: {words: [shop]}
steps:
  hello: {say: Hello.}
  split: {branch: [{if: share("greeting") < 50, then: ask}, {else: ask}]}
  ask: {ask: What would you like?, then: pay}
  pay: {run: /pay, then: end}
---
flow: pay
steps:
  paid: {say: Paid., then: end}
"""


def test_what_follows_a_share_is_counted_for_each_of_its_ways() -> None:
    talk = Counting(SPLIT)
    talk.user("shop")
    talk.user("tea")
    (part,) = {split for _, _, split, _, _ in talk.counted if split}
    assert part in ('shop/split: if 1: share("greeting") < 50', "shop/split: else")
    assert talk.counts("shop", part) == {
        "ask entered": 1,
        "ask answered then": 1,
        "pay entered": 1,
        "pay answered then": 1,
    }
    assert talk.counts("pay", part) == {"paid entered": 1, "paid answered then": 1}
    assert talk.counts("shop").keys() > talk.counts("shop", part).keys()


def test_the_next_conversation_has_no_split_until_it_comes_to_one() -> None:
    talk = Counting(SPLIT)
    talk.user("shop")
    talk.user("tea")
    talk.counted.clear()
    talk.start("pay")
    assert talk.counts("pay") == {"paid entered": 1, "paid answered then": 1}
    assert {split for _, _, split, _, _ in talk.counted} == {""}


def test_what_back_returns_to_is_one_visit() -> None:
    bot = "name: B\nwords: {menu: /menu}\ndefaults: {timeout: {after: 20h, then: end}}\n"
    flows = """
flow: outer
start: {words: [outer]}
steps:
  inner: {run: /inner, then: end}
---
flow: inner
steps:
  name: {ask: Your name?, then: end}
---
flow: menu
steps:
  choose: {ask: Which?, buttons: {Back: back, Bye: end}, then: end}
"""
    talk = Counting(flows, bot=bot)
    talk.user("outer")
    talk.user("menu")
    talk.tap("Back")
    talk.user("Ann")
    assert talk.session.frames == ()
    assert talk.counts("outer") == {"inner entered": 1, "inner answered then": 1}
    assert sum(n for row, n in talk.counted.items() if row[3] == ENTERED) * 2 == talk.counted.total()


def test_a_report_is_not_the_name_of_another_step() -> None:
    flows = "flow: a\nsteps:\n  one: {say: A, report: two}\n  two: {say: B, then: end}\n"
    assert problems_of(flows) == [
        'flows/test.yml:3:3: E121 step "one": "report: two" is the name of another step '
        '(choose another name: without one the step is counted as "one")'
    ]


def test_a_new_name_for_the_report_asks_nothing_again() -> None:
    talk = Counting(SURVEY)
    talk.user("survey")
    talk.edit(SURVEY.replace("save: colour\n", "save: colour\n    report: favourite\n"))
    assert talk.user("Red") == ["How old are you?"]
    assert talk.counts()["favourite answered [Red]"] == 1


def test_an_answer_that_stays_ends_no_visit() -> None:
    flows = 'flow: survey\nstart: {otherwise: true}\nsteps:\n  age: {ask: Age?, buttons: {"A joke": stay, "30": end}}\n'
    talk = Counting(flows)
    talk.user("hi")
    talk.tap("A joke")
    assert talk.counts() == {"age entered": 1}
    talk.tap("30")
    assert talk.counts() == {"age entered": 1, "age answered [30]": 1}
