"""A wish in other words than those that start a flow reaches it where nothing else takes the message."""

import pytest

from tests.talk import Talk

BIKES = """
flow: main
start: {words: [hi], otherwise: true}
steps:
  menu: {ask: What do you need?, options: {Book a check-up: /book, "Rent a bike": /rent, Opening times: {words: [times], then: /times}}}
---
flow: book
start: {words: [book]}
vars: {day: {type: date, after: today}}
steps:
  day: {ask: Which day?, save: day}
  done: {say: "See you on {{ day | date }}.", then: end}
---
flow: rent
steps: {rent: {say: The red one is free., then: end}}
---
flow: times
steps: {times: {say: From 9 to 18., then: end}}
---
flow: repair
start: {words: [repair], unless: [screen]}
steps: {repair: {say: Bring it in., then: end}}
---
flow: note
start: {words: [note]}
interrupted: resume
vars: {note: text, size: {type: integer}}
steps:
  size: {ask: How large?, save: size}
  note: {ask: Your note?, save: note}
  done: {say: "Noted: {{ note }}", then: end}
"""
MENU = ["What do you need?", "Book a check-up", "Rent a bike", "Opening times"]
SORRY = [f"Sorry, I didn't understand that.\n\n{MENU[0]}", *MENU[1:]]


def test_a_wish_starts_the_flow_and_its_message_answers_the_first_question() -> None:
    talk = Talk(BIKES)
    assert talk.user("can you squeeze me in on Friday?") == ["See you on 10 May 2030."]
    assert talk.turn is not None
    assert talk.turn.trace.rule == 'start of book: wish to book, "squeeze me in": answers day "Friday"'


def test_a_wish_is_heard_at_the_menu() -> None:
    talk = Talk(BIKES)
    talk.user("hi")
    assert talk.user("my brakes are not working, can you help?") == ["Bring it in."]


def test_a_menu_that_leaves_other_texts_to_a_model_leaves_wishes_to_it() -> None:
    flows = BIKES.replace("Opening times: {words: [times], then: /times}}}", "Times: /times}, other: /ai}")
    talk = Talk(
        flows
        + "---\nflow: ai\nsteps: {talk: {ai: Be brief., exits: {done: {when: they are done, then: end}}, turns: {max: 3, else: end}, errors: {else: end}}}\n"
    )
    talk.user("hi")
    assert talk.user("can you squeeze me in?") == [] and len(talk.asked) == 1


def test_a_first_message_is_left_to_the_model_that_takes_everything_else() -> None:
    flows = """
flow: visit
start: {words: [appointment]}
steps: {day: {ask: "Which day?", then: end}}
---
flow: ai
start: {otherwise: true}
steps: {talk: {ai: Be brief., exits: {done: {when: they are done, then: end}}, turns: {max: 3, else: end}, errors: {else: end}}}
"""
    talk = Talk(flows)
    assert talk.user("can you squeeze me in?") == [] and len(talk.asked) == 1
    assert Talk(flows).user("appointment") == ["Which day?"]


@pytest.mark.parametrize(
    "text",
    [
        "I don't want an appointment",
        "I booked an appointment, and it was awful",
        "I need to cancel my appointment",
        "my screen is cracked",
        "can you deliver the moon",
    ],
)
def test_a_wish_is_asked_back_if_it_is_denied_told_about_something_else_or_forbidden(text: str) -> None:
    assert Talk(BIKES).user(text) == [SORRY]


def test_two_flows_with_one_wish_are_asked_for() -> None:
    other = "\n---\nflow: table\nstart: {words: [reservation]}\nsteps: {table: {say: The table., then: end}}\n"
    assert Talk(BIKES + other).user("can you squeeze me in?") == [SORRY]


def test_a_wish_interrupts_no_other_flow() -> None:
    talk = Talk(BIKES)
    talk.user("note")
    assert talk.user("can you squeeze me in?") == ["A number, please, for example 4.\n\nHow large?"]
    talk.user("3")
    assert talk.user("can you squeeze me in?") == ["Noted: can you squeeze me in?"]


def test_newcomers_are_welcomed_before_a_wish_for_what_others_start_with() -> None:
    flows = """
flow: welcome
start: {otherwise: true, contact: first}
steps: {welcome: {say: Welcome!, then: end}}
---
flow: quiz
start: {words: [quiz], otherwise: true}
steps: {quiz: {say: The first question., then: end}}
"""
    talk = Talk(flows)
    assert talk.user("let's play a game") == ["Welcome!"]
    assert talk.user("let's play a game") == ["The first question."]


def test_a_word_that_may_stand_anywhere_is_heard_with_another_ending() -> None:
    flows = (
        BIKES
        + "---\nflow: pain\nstart: {words: [bleeding, cant sleep], match: anywhere}\nsteps: {a: {say: Ouch!, then: end}}\n"
    )
    assert Talk(flows).user("my knee bleeds, please") == ["Ouch!"]
    assert Talk(flows).user("it never bleeds") == [SORRY]


CODES = """
flow: track
start: {words: [track]}
vars: {order: {type: text, pattern: '[A-Z]{2}[0-9]{4}', example: AB1234}}
steps:
  order: {ask: Which order?, save: order}
  found: {say: "{{ order }} is on its way.", then: end}
"""


@pytest.mark.parametrize("text", ["where's my parcel, order nr AB1234?", "ab1234 has not arrived, when will it arrive"])
def test_a_number_with_a_pattern_is_read_also_in_a_question_that_starts_the_flow(text: str) -> None:
    assert Talk(CODES).user(text) == ["AB1234 is on its way."]


def test_a_question_for_a_pattern_without_figures_is_asked() -> None:
    flows = CODES.replace("'[A-Z]{2}[0-9]{4}', example: AB1234", "'[A-Za-z]+', example: Ann")
    assert Talk(flows).user("where's my parcel?") == ["Which order?"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("i wnat to rnet a bkie for tomorow", ["The red one is free."]),
        ("pls rentt a bicke", ["The red one is free."]),
        ("i dont want to rnet a bkie", SORRY),
        ("a bkie", SORRY),
        ("a rest on a bake", SORRY),
        ("bkie bkie", SORRY),
        ("the rnet of my bkie was too high, i want my money back", SORRY),
    ],
)
def test_two_words_of_a_title_with_slips_name_its_flow(text: str, said: list[str]) -> None:
    assert Talk(BIKES).user(text)[0] in (said, said[0])
