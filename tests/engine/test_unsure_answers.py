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
  day: {ask: Which day?, save: day, KEYS, retry: {say: "A day, please.", max: 2, else: lost}}
  done: {say: "{{ day }}", then: end}
  lost: {say: Lost., then: end}
"""
DAY = "{type: date, after: today}"
ASKED_BACK = ["Did you mean Friday, 10 May 2030?", "Yes", "No"]


def visit(declared: str = DAY, keys: str = "", confirm: str = ", confirm: unsure") -> Talk:
    """A conversation at the question. It is Monday, 6 May 2030, 10:00."""
    talk = Talk(VISIT.replace("DECLARED", declared).replace(", KEYS", f"{keys}{confirm}"))
    talk.user("hi")
    return talk


def test_the_contact_is_asked_whether_the_first_value_is_meant() -> None:
    talk = visit()
    assert talk.user("next Friday") == [ASKED_BACK]
    assert talk.turn is not None
    assert talk.turn.trace.notes == ["main/day: the answer may mean several values"]
    assert talk.tap("Yes") == ["2030-05-10"]


@pytest.mark.parametrize("yes", ["yes", "Yes please!", "ok", "👍"])
def test_it_may_be_agreed_to_in_words(yes: str) -> None:
    talk = visit()
    talk.user("next Friday")
    assert talk.user(yes) == ["2030-05-10"]


@pytest.mark.parametrize("tapped", [True, False])
def test_a_no_puts_the_question_again_and_is_no_wrong_reply(tapped: bool) -> None:
    talk = visit()
    talk.user("next Friday")
    assert (talk.tap("No") if tapped else talk.user("no")) == ["Which day?"]
    assert talk.session.frame is not None and talk.session.frame.question.retries == 0
    assert talk.user("yes") == ["A day, please."], "nothing is asked about any more"
    assert talk.user("17 May") == ["2030-05-17"]


def test_any_other_text_is_a_new_answer() -> None:
    talk = visit()
    talk.user("next Friday")
    assert talk.user("hm") == ["A day, please."]
    assert talk.user("next Saturday") == [["Did you mean Saturday, 11 May 2030?", "Yes", "No"]]
    assert talk.user("the 17th") == ["2030-05-17"]


def test_a_yes_below_an_earlier_value_does_not_agree_to_a_later_one() -> None:
    talk = visit()
    talk.user("next Friday")
    early = talk.shown[0].id
    talk.user("next Saturday")
    late = talk.shown[2].id
    assert talk.tap_id(early, "Yes") == ["That was an earlier question.", "Which day?"]
    assert talk.user("next Saturday")[0][0] == "Did you mean Saturday, 11 May 2030?"
    assert talk.tap_id(late, "Yes") == ["2030-05-11"]


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
    talk = visit(confirm=", confirm: never")
    assert talk.user("7/5") == ["A day, please."]
    assert talk.user("Friday next week") == ["2030-05-17"]


def test_without_the_key_only_a_day_in_figures_is_asked_back() -> None:
    talk = visit(confirm="")
    assert talk.user("next Friday") == ["A day, please."]
    assert talk.user("7/5") == [["Did you mean Tuesday, 7 May 2030?", "Yes", "No"]]
    assert talk.tap("Yes") == ["2030-05-07"]


CHOICES = ', options: {Tomorrow: {value: "{{ today + days(1) }}"}, Friday: {value: 2030-05-10}}, accepts: text'


def test_beside_choices_it_is_asked_back_too_and_the_choices_still_count() -> None:
    talk = visit(keys=CHOICES)
    assert talk.user("next Saturday") == [["Did you mean Saturday, 11 May 2030?", "Yes", "No"]]
    assert talk.user("tomorrow") == ["2030-05-07"]
    talk.user("hi")
    talk.user("next Saturday")
    assert talk.user("no") == [["Which day?", "Tomorrow", "Friday"]]


@pytest.mark.parametrize("keys", ["", CHOICES])
def test_refused_buttons_are_asked_back_as_a_plain_text(keys: str) -> None:
    talk = visit(keys=keys)
    talk.user("next Saturday")
    assert isinstance(talk.sent[-1], Buttons)
    assert refused(talk) == ["Did you mean Saturday, 11 May 2030?\n\n• Yes\n• No"]
    assert talk.user("yes") == ["2030-05-11"]


def test_a_slot_does_not_take_it_ahead_but_asks_back() -> None:
    talk = Talk("""
flow: order
start: {words: [order], pattern: '(?i)order .*'}
slots: [cups, day]
vars: {cups: integer, day: {type: date, after: today}}
steps:
  cups: {ask: How many?, save: cups}
  day: {ask: For which day?, save: day, confirm: unsure}
  done: {say: "{{ cups }} for {{ day }}.", then: end}
""")
    assert talk.user("order two, for next Friday") == [ASKED_BACK]
    assert talk.tap("Yes") == ["2 for 2030-05-10."]
