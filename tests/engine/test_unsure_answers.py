"""Answers by which people mean different values: the question asks back. The pure engine."""

import pytest

from bot.core.messages import Buttons
from tests.engine.test_refused import refused
from tests.talk import Talk

VISIT = """
flow: main
start: {otherwise: true}
vars: {day: DECLARED, note: text}
steps:
  day: {ask: Which day?, save: day, KEYS retry: {say: "A day, please.", max: 2, else: lost}}
  done: {say: "{{ day }}", then: end}
  lost: {say: Lost., then: end}
"""
DAY = "{type: date, after: today}"
ASKED_BACK = ["Did you mean one of these?", "Fri 10 May 2030", "Fri 17 May 2030"]
SATURDAYS = ["Did you mean one of these?", "Sat 11 May 2030", "Sat 18 May 2030"]


def visit(declared: str = DAY, keys: str = "") -> Talk:
    """A conversation at the question. It is Monday, 6 May 2030, 10:00."""
    talk = Talk(VISIT.replace("DECLARED", declared).replace("KEYS", f"{keys}," if keys else ""))
    talk.user("hi")
    return talk


@pytest.mark.parametrize(("title", "value"), [("Fri 10 May 2030", "2030-05-10"), ("Fri 17 May 2030", "2030-05-17")])
def test_the_contact_is_asked_which_value_is_meant(title: str, value: str) -> None:
    talk = visit()
    assert talk.user("next Friday") == [ASKED_BACK]
    assert talk.turn is not None
    assert talk.turn.trace.notes == ["main/day: the answer may mean several values"]
    assert talk.tap(title) == [value]


@pytest.mark.parametrize(
    ("declared", "answer", "reply", "value"),
    [
        (DAY, "next Friday", "the 17th", "2030-05-17"),
        (DAY, "next Friday", "10 May please", "2030-05-10"),
        (DAY, "next Friday", "the later one", "2030-05-17"),
        (DAY, "next Friday", "the first one", "2030-05-10"),
        (DAY, "friday or saturday", "saturday", "2030-05-11"),
        (DAY, "5/7", "5 July", "2030-07-05"),
        ("time", "at 7", "in the evening", "19:00"),
        ("time", "at 7", "pm", "19:00"),
        ("time", "7", "am please", "07:00"),
        ("time", "half past six", "18:30", "18:30"),
        ("datetime", "Friday at 3", "the afternoon", "2030-05-10 15:00"),
        ("integer", "3 or 4", "4", "4"),
        ("integer", "3 or 4", "make it 5", "5"),
        ("number", "1.500", "1500", "1500"),
    ],
)
def test_the_contact_may_say_which_in_words(declared: str, answer: str, reply: str, value: str) -> None:
    talk = visit(declared)
    assert talk.user(answer)[0][0] == "Did you mean one of these?"
    assert talk.user(reply) == [value]


@pytest.mark.parametrize(
    ("declared", "answer", "reply"),
    [
        (DAY, "next Friday", "not the 17th"),
        (DAY, "next Friday", "yes"),
        (DAY, "next Friday", "both"),
        (DAY, "friday or saturday", "not saturday"),
        ("time", "at 7", "not in the evening"),
        ("time", "at 7", "evening or morning"),
        ("integer", "3 or 4", "please"),
    ],
)
def test_words_that_pick_out_no_value_are_a_wrong_reply(declared: str, answer: str, reply: str) -> None:
    talk = visit(declared)
    talk.user(answer)
    assert talk.user(reply) == ["A day, please."]


@pytest.mark.parametrize(
    ("declared", "answer", "reply"),
    [
        (DAY, "friday or saturday", "the first"),
        (DAY, "friday or saturday", "the second"),
        ("datetime", "friday at 3", "3"),
        ("datetime", "friday at 3", "4pm"),
        ("datetime", "friday at 3", "at 4"),
        ("datetime", "next friday at 3pm", "4pm"),
    ],
)
def test_a_place_among_the_values_and_a_time_without_their_day_are_no_new_answer(
    declared: str, answer: str, reply: str
) -> None:
    talk = visit(declared)
    talk.user(answer)
    assert talk.user(reply) == ["A day, please."]


@pytest.mark.parametrize(
    ("answer", "reply", "values"),
    [("7 or 8", "8", ["08:00", "20:00"]), ("9 or 3", "at 3", ["03:00", "15:00"])],
)
def test_an_hour_that_two_of_the_values_have_is_asked_back(answer: str, reply: str, values: list[str]) -> None:
    talk = visit("time")
    talk.user(answer)
    assert talk.user(reply) == [["Did you mean one of these?", *values]]


@pytest.mark.parametrize(
    ("declared", "answer"), [("time", "at 7"), ("integer", "almost 3"), ("integer", "3 or 4"), ("number", "1.500")]
)
def test_the_same_answer_again_is_a_wrong_reply(declared: str, answer: str) -> None:
    talk = visit(declared)
    talk.user(answer)
    assert talk.user(answer) == ["A day, please."]


def test_four_values_are_a_list() -> None:
    talk = visit("datetime")
    assert talk.user("next Friday at 3") == [
        ["Did you mean one of these?", *(f"Fri {day} May, {time}" for day in (10, 17) for time in ("03:00", "15:00"))]
    ]
    assert talk.tap("Fri 17 May, 15:00") == ["2030-05-17 15:00"]


@pytest.mark.parametrize(
    ("declared", "answer", "asked"),
    [
        ("integer", "almost 3", "3"),
        ("integer", "3ish", "3"),
        ("integer", "at least 3", "3"),
        ("{type: integer, max: 3}", "3 or 4", "3"),
        ("datetime", "weds after 6pm is best", "Wednesday, 8 May 2030, 18:00"),
        ("datetime", "wednesday after work, 7ish", "Wednesday, 8 May 2030, 19:00"),
    ],
)
def test_words_that_leave_one_value_open_are_asked_about(declared: str, answer: str, asked: str) -> None:
    assert visit(declared).user(answer) == [[f"Did you mean {asked}?", "Yes", "No"]]


@pytest.mark.parametrize(("yes", "said"), [("yes", "3"), ("Yes please!", "3"), ("👍", "3"), ("4", "4")])
def test_one_value_may_be_agreed_to_in_words_or_replaced(yes: str, said: str) -> None:
    talk = visit("integer")
    talk.user("almost 3")
    assert talk.user(yes) == [said]


@pytest.mark.parametrize("answer", ["every one of us", "3 or", "or", "almost", "not almost 3", "between 3 and 4"])
def test_other_words_beside_a_value_are_a_wrong_reply(answer: str) -> None:
    assert visit("integer").user(answer) == ["A day, please."]


def test_a_no_puts_the_question_again_and_is_no_wrong_reply() -> None:
    for declared, answer in ((DAY, "next Friday"), ("integer", "almost 3")):
        talk = visit(declared)
        talk.user(answer)
        assert talk.user("no") == ["Which day?"]
        assert talk.session.frame is not None and talk.session.frame.question.retries == 0
        assert talk.user("yes") == ["A day, please."], "nothing is asked about any more"


def test_any_other_text_is_a_new_answer() -> None:
    talk = visit()
    talk.user("next Friday")
    assert talk.user("hm") == ["A day, please."]
    assert talk.user("next Saturday") == [SATURDAYS]
    assert talk.user("19 May") == ["2030-05-19"]


def test_a_value_of_an_earlier_answer_does_not_count_any_more() -> None:
    talk = visit()
    talk.user("next Friday")
    early = talk.shown[0].id
    talk.user("next Saturday")
    late = talk.shown[2].id
    assert talk.tap_id(early, "Fri 10 May 2030") == ["That was an earlier question.", "Which day?"]
    assert talk.user("next Saturday") == [SATURDAYS]
    assert talk.tap_id(late, "Sat 11 May 2030") == ["2030-05-11"]


@pytest.mark.parametrize(
    ("declared", "text", "value"),
    [
        ("{type: date, after: today, before: 2030-05-13}", "next Friday", "2030-05-10"),
        ("{type: date, after: 2030-05-13}", "next Friday", "2030-05-17"),
        ("{type: date, check: it.day > 12}", "next Friday", "2030-05-17"),
        ("{type: time, min: '9:00', max: '18:00'}", "at 3", "15:00"),
        ("{type: datetime, after: now}", "today at 9", "2030-05-06 21:00"),
    ],
)
def test_where_limits_and_checks_leave_one_value_it_is_the_answer(declared: str, text: str, value: str) -> None:
    assert visit(declared).user(text) == [value]


@pytest.mark.parametrize(
    "declared", ["{type: date, before: 2030-05-07, after: today}", "{type: date, check: it.day > 20}"]
)
def test_where_they_leave_none_it_is_a_wrong_answer(declared: str) -> None:
    assert visit(declared).user("next Friday") == ["A day, please."]


def test_confirm_never_makes_it_a_wrong_answer() -> None:
    talk = visit(keys="confirm: never")
    assert talk.user("7/5") == ["A day, please."]
    assert talk.user("Friday next week") == ["2030-05-17"]


CHOICES = 'options: {Tomorrow: {value: "{{ today + days(1) }}"}, Friday: {value: 2030-05-10}}, accepts: text'


def test_beside_choices_it_is_asked_back_too_and_the_choices_still_count() -> None:
    talk = visit(keys=CHOICES)
    assert talk.user("next Saturday") == [SATURDAYS]
    assert talk.user("tomorrow") == ["2030-05-07"]
    talk.user("hi")
    talk.user("next Saturday")
    assert talk.user("no") == [["Which day?", "Tomorrow", "Friday"]]


@pytest.mark.parametrize("keys", ["", CHOICES])
def test_refused_buttons_are_asked_back_as_a_plain_text(keys: str) -> None:
    talk = visit(keys=keys)
    talk.user("next Saturday")
    assert isinstance(talk.sent[-1], Buttons)
    assert refused(talk) == ["Did you mean one of these?\n\n• Sat 11 May 2030\n• Sat 18 May 2030"]
    assert talk.user("Sat 11 May") == ["2030-05-11"]


CUPS = """
flow: order
start: {words: [order], pattern: '(?i)order .*'}
slots: [cups, day]
vars: {cups: integer, day: {type: date, after: today}}
steps:
  cups: {ask: How many?, save: cups}
  day: {ask: For which day?, save: day}
  done: {say: "{{ cups }} for {{ day }}.", then: end}
"""


def test_a_slot_does_not_take_it_ahead_but_asks_back() -> None:
    talk = Talk(CUPS)
    assert talk.user("order two, for next Friday") == [ASKED_BACK]
    assert talk.tap("Fri 10 May 2030") == ["2 for 2030-05-10."]


def test_a_slot_takes_no_place_among_the_values_for_a_new_answer() -> None:
    talk = Talk(CUPS)
    assert talk.user("order two, for next Friday") == [ASKED_BACK]
    talk.user("the first")
    assert talk.at == "order/day"
