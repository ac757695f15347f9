"""Slots: one message answers several questions, and corrects earlier answers. The pure engine."""

from typing import Any

import pytest

from tests.talk import BOT, Talk, problems_of

ORDER = """
flow: order
start: {words: [order], pattern: '(?i)order .*'}
slots: [size, cups, day]
vars: {size: text, cups: {type: integer, min: 1, max: 9}, day: {type: date, after: today}, name: text}
steps:
  size: {ask: Which size?, options: [Small, Large], save: size, retry: {say: "Small or large?"}}
  cups: {ask: How many?, save: cups}
  day: {ask: For which day?, save: day}
  name: {ask: And your name?, save: name}
  done: {say: "{{ cups }} {{ size }} for {{ day | date }}, {{ name }}.", then: end}
"""


def test_what_the_first_message_says_is_not_asked() -> None:
    talk = Talk(ORDER)  # Monday, 6 May 2030
    assert talk.user("order two large ones for Friday") == ["And your name?"]
    assert talk.user("Ann") == ["2 Large for 10 May 2030, Ann."]


@pytest.mark.parametrize(
    "text",
    [
        "order large ones, my party is friday so the day before",
        "order large ones for my son, he turns 6",
        "order large, friday, a day before",
    ],
)
def test_a_day_that_others_count_from_and_an_age_are_no_answer(text: str) -> None:
    talk = Talk(ORDER)
    assert talk.user(text) == ["How many?"]
    assert talk.user("two") == ["For which day?"]


@pytest.mark.parametrize(
    "when", [", be there in five", " to go, be there in ten", " in 5 min", " in 5", ", in 8 minutes!", ", in 3 boxes"]
)
def test_the_minutes_until_the_contact_comes_are_no_other_number(when: str) -> None:
    talk = Talk(ORDER)
    assert talk.user(f"order two large ones{when}") == ["For which day?"]
    talk.user("friday")
    assert talk.user("Ann") == ["2 Large for 10 May 2030, Ann."]


@pytest.mark.parametrize("text", ["allergic to large ones", "I'm allergic to large", "alergico a large"])
def test_what_the_contact_is_allergic_to_is_no_choice(text: str) -> None:
    talk = Talk(ORDER)
    talk.user("order")
    assert talk.user(text) == ["Small or large?"]


@pytest.mark.parametrize(
    "text",
    [
        *("room 4", "page 4", "flat 3", "bus 7", "gate 5 please", "at 3"),
        *("5%", "£4", "8 km away", "7 minuten", "2 euros?", "I'm 8", "I have 2 kids with me"),
    ],
)
def test_a_number_of_something_else_is_no_count(text: str) -> None:
    talk = Talk(ORDER)
    talk.user("order large")
    assert talk.user(text) == ["A number, please, for example 4.\n\nHow many?"]


@pytest.mark.parametrize(
    "text", ["cups 4", "4 of them", "large 4", "we want 4", "make it 4", "4 for friday", "4 cups!"]
)
def test_a_number_of_what_is_asked_for_is_the_count(text: str) -> None:
    talk = Talk(ORDER)
    talk.user("order large")
    assert talk.user(text) != ["A number, please, for example 4.\n\nHow many?"]
    assert talk.session.frame is not None
    assert talk.session.frame.step != "cups"


def test_in_another_language_the_same_word_may_stand_before_a_count() -> None:
    talk = Talk(ORDER.replace("'(?i)order .*'", "'(?i)siamo .*'"), BOT + "languages: [it]\n")
    talk.user("siamo in 4")
    talk.user("large")
    assert talk.user("domani") == ["And your name?"]


def test_two_choices_beside_each_other_are_no_answer() -> None:
    talk = Talk(ORDER.replace("[Small, Large]", "[Small, Medium, Large]"))
    talk.user("order")
    assert talk.user("2 small and large")[0] == "Small or large?"


@pytest.mark.parametrize("text", ["order large ones, be there in five", "order large ones in 5 min"])
def test_the_minutes_until_the_contact_comes_are_no_answer(text: str) -> None:
    talk = Talk(ORDER)
    talk.user("order large")
    assert talk.user(text)[-1] == "How many?"


def test_the_trace_says_what_was_found_and_that_is_no_problem() -> None:
    talk = Talk(ORDER)
    talk.user("order two large ones for Friday")
    assert talk.turn is not None
    assert talk.turn.trace.rule == 'start of order: answers size "large", cups "two", day "Friday"'
    assert talk.turn.trace.notes == []
    talk = Talk(ORDER)
    talk.user("order")
    talk.user("for Friday, two")
    assert talk.turn is not None and talk.turn.trace.rule == 'answers cups "two", day "Friday"'


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("order two large ones, not for Friday", "For which day?"),
        ("order two large ones for Friday or Saturday", "For which day?"),
        ("order two large ones before Friday", "For which day?"),
        ("order two large ones for Friday and Saturday", "For which day?"),
        ("order at least two, large, for Friday", "How many?"),
        ("order two, either large or small, for Friday", ["Which size?", "Small", "Large"]),
        ("order two large ones but no milk for all of us, on Friday", "And your name?"),
    ],
)
def test_an_answer_is_asked_for_where_a_word_beside_it_says_something_else(text: str, question: Any) -> None:
    assert Talk(ORDER).user(text) == [question]


def test_an_answer_that_is_none_any_more_when_its_question_comes_is_asked() -> None:
    talk = Talk(ORDER)
    talk.user("order two for Friday")
    talk.edit(ORDER.replace("max: 9", "max: 1"))
    assert talk.user("Small") == ["How many?"]
    assert talk.turn is not None
    assert talk.turn.trace.notes == ["order/cups: asked, although it was answered before: that is no answer now"]


def test_only_what_is_missing_is_asked() -> None:
    talk = Talk(ORDER)
    assert talk.user("order something large, please") == ["How many?"]
    assert talk.user("3") == ["For which day?"]


def test_a_reply_may_answer_further_questions() -> None:
    talk = Talk(ORDER)
    assert talk.user("order") == [["Which size?", "Small", "Large"]]
    assert talk.user("large, please, for Friday") == ["How many?"]
    assert talk.user("2") == ["And your name?"]


def test_an_answer_to_another_question_is_kept_and_this_one_put_again() -> None:
    talk = Talk(ORDER)
    talk.user("order")
    assert talk.user("for Friday") == [["Which size?", "Small", "Large"]]
    assert talk.session.frames[0].question.retries == 0
    talk.user("Small")
    assert talk.user("4") == ["And your name?"]


def test_an_earlier_answer_is_corrected() -> None:
    talk = Talk(ORDER)
    talk.user("order two large ones")
    assert talk.user("actually, make it five") == ["For which day?"]
    assert talk.turn is not None and talk.turn.trace.rule == "corrects cups"
    talk.user("Friday")
    assert talk.user("Ann") == ["5 Large for 10 May 2030, Ann."]


def test_an_answer_that_holds_another_one_gives_both() -> None:
    talk = Talk(ORDER)
    talk.user("order")
    talk.user("Small")
    assert talk.user("two for Friday") == ["And your name?"]
    assert talk.user("Ann") == ["2 Small for 10 May 2030, Ann."]


def test_a_text_without_any_answer_is_a_wrong_one() -> None:
    talk = Talk(ORDER)
    talk.user("order")
    assert talk.user("I do not know") == ["Small or large?"]


def test_no_word_is_used_twice_and_longer_answers_come_first() -> None:
    talk = Talk(ORDER.replace("day: {type: date, after: today}", "day: {type: datetime, after: now}"))
    talk.user("order 3 small ones for 12 May at 3pm")
    assert talk.at == "order/name"
    frame = talk.session.frames[0]
    assert (frame.vars["cups"], f"{frame.vars['day']:%d %H:%M}") == (3, "12 15:00")


@pytest.mark.parametrize(
    ("slots", "problem"),
    [
        ("[size, milk]", 'E102 slots: no step "milk" in flow order (flow order asks size, cups, day, name)'),
        ("[size, cup]", 'E102 slots: no step "cup" in flow order (did you mean "cups"?)'),
        ("[name]", 'E110 slots: question "name" takes every text'),
        ("[name]  # short", 'E110 slots: question "name" takes every text (let a model fill it'),
        ("[done]", 'E110 slots: step "done" asks nothing that is saved'),
    ],
)
def test_a_slot_is_a_question_whose_answer_can_be_found(slots: str, problem: str) -> None:
    (found,) = problems_of(ORDER.replace("[size, cups, day]", slots))
    assert problem in found


@pytest.mark.parametrize(
    "text",
    [
        "order 3 large ones and a small one for Friday",
        "order a small and two large ones",
        "order small, large",
        "order 2 large ones and 3 tiny ones",
        "order 1 large one for me and 1 for my mother",
    ],
)
def test_of_a_message_with_two_answers_to_a_question_nothing_is_taken(text: str) -> None:
    assert Talk(ORDER).user(text) == [["Which size?", "Small", "Large"]]


@pytest.mark.parametrize(
    "text", ["2 for me, 1 for him", "1 for me, 1 for him", "6 plus a baby", "6 people plus a baby"]
)
def test_a_number_that_is_only_a_part_of_a_sum_is_no_count(text: str) -> None:
    talk = Talk(ORDER)
    assert talk.user(f"order large, {text}, for Friday") == [["Which size?", "Small", "Large"]]
    assert talk.user("large") == ["How many?"]
    assert talk.user(text) == ["A number, please, for example 4.\n\nHow many?"]


def test_a_choice_that_is_denied_is_no_second_one() -> None:
    assert Talk(ORDER).user("order not small ones, two large ones") == ["For which day?"]


PRICED = """
flow: order
start: {words: [order], otherwise: true}
slots: [drink, cups]
vars: {drink: text, cups: {type: integer, min: 1, max: 9}, text: text}
steps:
  drink: {ask: Which drink?, options: [Tea, Juice], save: drink}
  cups: {ask: How many?, save: cups}
  price: {set: {text: "{{ cups }} x {{ drink }} for {{ cups * 2 }}"}}
  any: {branch: [{if: cups < 9, then: sure}]}
  sure: {ask: "{{ text }}?", buttons: {"Yes, please": done, Cancel: end}}
  done: {say: "{{ text }}!", then: end}
"""


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("actually make that 3", "3 x Tea for 6?"),
        ("juice please", "2 x Juice for 4?"),
        ("4 juices please", "4 x Juice for 8?"),
    ],
)
def test_what_was_worked_out_of_an_answer_is_worked_out_again_when_it_is_corrected(text: str, question: str) -> None:
    talk = Talk(PRICED)
    assert talk.user("two teas")[0][0] == "2 x Tea for 4?"
    assert talk.user(text) == [[question, "Yes, please", "Cancel"]]
    assert talk.user("yes please") == [f"{question[:-1]}!"]


def test_a_number_before_a_thing_that_no_question_knows_is_taken() -> None:
    talk = Talk(PRICED)
    assert talk.user("two glasses of tea")[0][0] == "2 x Tea for 4?"


@pytest.mark.parametrize("text", ["how much is a large one?", "what is a large one for", "the large one was bad"])
def test_a_message_that_asks_or_tells_something_answers_nothing(text: str) -> None:
    talk = Talk(ORDER)
    talk.user("order")
    talk.user(text)
    assert talk.user("small") == ["How many?"]


def test_a_number_that_may_be_an_hour_is_none() -> None:
    assert Talk(ORDER).user("order large, friday around 7") == ["How many?"]
    assert Talk(ORDER).user("order large, friday, around 7 cups") == ["And your name?"]
