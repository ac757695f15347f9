"""What `clear` takes back."""

import pytest

from tests.talk import Talk, problems_of

ORDER = """
flow: order
start: {words: [order]}
vars: {size: {type: text, value: small}, cart: {type: list, value: [bag]}, town: {type: text, keep: true}}
words: {reset: {say: "Not {{ size }}.", clear: all, set: {cart: "{{ cart }}"}, then: ask}}
steps:
  fill: {set: {size: large, cart: [tea], town: Rome}}
  ask: {ask: "{{ size }}, {{ cart }}, {{ town }}", options: {Size: {clear: size, then: ask}, All: none, Out: end}, timeout: {after: 1h, then: end}}
  none: {clear: all, then: ask}
"""


def test_a_variable_gets_the_value_that_it_was_declared_with() -> None:
    talk = Talk(ORDER)
    assert talk.user("order")[0][0] == "large, tea, Rome"
    assert talk.user("Size")[0][0] == "small, tea, Rome"
    assert talk.user("All")[0][0] == "small, bag, "
    assert talk.session.kept_variables["town"] is None


def test_what_is_set_beside_it_is_worked_out_before_and_not_cleared() -> None:
    talk = Talk(ORDER)
    talk.user("order")
    said, asked = talk.user("reset")
    assert said == "Not large."
    assert asked[0] == "small, tea, "


def test_it_happens_when_the_step_ends_with_success() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
vars: {n: {type: integer, value: 1}}
steps:
  fill: {set: {n: 2}}
  q: {ask: "{{ n }}?", buttons: {Go: see}, clear: n, other: {say: "still {{ n }}", then: again}}
  see: {ask: "{{ n }}!"}
""")
    talk.user("hi")
    assert talk.user("what") == ["still 2", ["2?", "Go"]]
    assert talk.user("Go") == ["1!"]


def test_a_step_that_fails_has_cleared_nothing() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
vars: {n: {type: integer, value: 1}, t: text}
steps:
  fill: {set: {n: 2, t: many}}
  q: {clear: all, tag: "{{ t + 1 }}", errors: {else: see}}
  see: {ask: "{{ n }} {{ t }}"}
""")
    assert talk.user("hi") == ["2 many"]


def test_a_word_in_no_flow_clears_what_the_flow_that_it_opens_keeps() -> None:
    bot = """
name: T
words: {new: {clear: [town], then: /main}, old: /main}
defaults: {timeout: {after: 20h, then: end}}
"""
    talk = Talk(
        """
flow: main
start: {words: [main]}
vars: {town: {type: text, keep: true, value: Oslo}, name: {type: text, keep: true}}
steps:
  show: {say: "{{ town }} {{ name }}"}
  fill: {set: {town: Rome, name: Ann}, then: end}
""",
        bot,
    )
    assert talk.user("main") == ["Oslo "]
    assert talk.user("old") == ["Rome Ann"]
    assert talk.user("new") == ["Oslo Ann"]


def test_answers_given_ahead_are_forgotten_with_their_variable() -> None:
    talk = Talk("""
flow: main
start: {words: [table]}
slots: [guests, day]
vars: {guests: integer, day: date}
steps:
  sure: {ask: A table?, buttons: {"Yes": guests}, words: {fresh: {clear: all, then: guests}}}
  guests: {ask: How many?, save: guests}
  day: {ask: When?, save: day}
  done: {ask: "{{ guests }} {{ day }}"}
""")
    talk.user("table")
    talk.user("for 3 tomorrow")
    assert talk.session.frame is not None and set(talk.session.frame.ahead) == {"guests", "day"}
    assert talk.user("fresh") == ["How many?"]


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        ("{clear: [szie], then: end}", '10:17: E301 no variable "szie" in flow order (did you mean "size"?)'),
        (
            "{ask: Which?, save: size, clear: all, then: end}",
            'E123 step "bad": "clear" takes back what the step gives to "size"'
            ' (list the others under `clear`, or keep the value: set: {size: "{{ size }}"})',
        ),
        ("{clear: language, then: end}", 'E301 clear: "language" is the contact\'s'),
        ("{clear: {size: big}, then: end}", "E106"),
    ],
)
def test_what_cannot_be_cleared_is_reported(step: str, problem: str) -> None:
    bot = "name: T\nlanguages: [en, de]\ndefaults: {timeout: {after: 20h, then: end}}\n"
    (found,) = problems_of(f"{ORDER}  bad: {step}\n", bot)
    assert problem in found


def test_a_variable_that_is_called_all_cannot_be_meant() -> None:
    found = problems_of(ORDER.replace("town", "all"))
    assert 'E306 variable "all": at flows/test.yml:5:48 "all" means every variable' in found[0]


def test_bot_yml_clears_what_some_flow_has() -> None:
    bot = "name: T\nwords: {new: {clear: [towm], then: end}}\ndefaults: {timeout: {after: 20h, then: end}}\n"
    (found,) = problems_of(ORDER, bot)
    assert found == 'bot.yml:2:23: E301 no flow has a variable "towm" (did you mean "town"?)'
