"""Another flow cuts in, and the interrupted one goes on as it declares (LANGUAGE, Frames and variables)."""

import pytest

from tests.talk import Talk

BOT = "name: T\nwords: {stop: end}\ndefaults: {timeout: {after: 20h, then: end}}\n"
FLOWS = """\
flow: order
start: {words: [order]}
interrupted: POLICY
vars: {cups: {type: integer}}
steps:
  cups: {ask: How many?, save: cups, retry: {say: A number please., max: 2, else: end}, timeout: {after: 1h, then: end}}
  done: {say: "{{ cups }} cups.", then: end}
---
flow: hours
start: {words: [hours]}
interrupted: resume
steps:
  day: {ask: Which day?, buttons: {Today: open, Tomorrow: open}}
  open: {say: From 9 to 18., then: end}
---
flow: parking
start: {words: [parking]}
steps:
  a: {say: Behind the house., then: end}
"""


def talk(policy: str = "resume") -> Talk:
    return Talk(FLOWS.replace("POLICY", policy), BOT)


def test_a_flow_that_does_not_declare_it_is_not_interrupted() -> None:
    chat = Talk(FLOWS.replace("interrupted: POLICY\n", ""), BOT)
    chat.user("order")
    assert chat.user("parking") == ["A number please."]


def test_the_question_is_put_once_more_on_return() -> None:
    chat = talk()
    chat.user("order")
    assert chat.user("parking") == ["Behind the house.", "How many?"]
    assert chat.user("3") == ["3 cups."]


def test_an_interruption_may_ask_and_its_answers_are_its_own() -> None:
    chat = talk()
    chat.user("order")
    assert chat.user("hours") == [["Which day?", "Today", "Tomorrow"]]
    assert chat.at == "hours/day"
    assert chat.tap("Today") == ["From 9 to 18.", "How many?"]


def test_retries_are_untouched_by_a_digression() -> None:
    chat = talk()
    chat.user("order")
    chat.user("many")
    chat.user("parking")
    assert chat.user("many") == ["A number please."]
    chat.user("many")
    assert chat.at is None


def test_with_drop_nobody_returns() -> None:
    chat = talk("drop")
    chat.user("order")
    assert chat.user("parking") == ["Behind the house."]
    assert chat.at is None


def test_the_covered_clock_stops_and_starts_anew() -> None:
    chat = talk()
    chat.user("order")
    chat.wait("50m")
    chat.user("hours")
    chat.wait("10h")
    assert chat.tap("Today") == ["From 9 to 18.", "How many?"]
    chat.wait("59m")
    assert chat.at == "order/cups"
    chat.wait("1m")
    assert chat.at is None


def test_a_flows_own_trigger_never_interrupts_it() -> None:
    chat = talk()
    chat.user("order")
    assert chat.user("order") == ["A number please."]


def test_cutting_in_again_drops_the_older_copy() -> None:
    flows = FLOWS.replace("POLICY", "resume").replace("flow: parking\nstart: {words: [parking]}\n",
        "flow: parking\nstart: {words: [parking]}\ninterrupted: resume\n").replace(
        "  a: {say: Behind the house., then: end}", "  a: {ask: By car?, buttons: {Yes: end}}")  # fmt: skip
    chat = Talk(flows, BOT)
    chat.user("order")
    chat.user("hours")
    chat.user("parking")
    assert chat.user("hours") == [["Which day?", "Today", "Tomorrow"]]
    assert [frame.flow for frame in chat.session.frames] == ["order", "parking", "hours"]


def test_a_flow_that_asks_is_gone_on_with_after_a_yes() -> None:
    chat = talk("ask")
    chat.user("order")
    assert chat.user("parking") == ["Behind the house.", ["Go on with order?", "Yes", "No"]]
    assert chat.tap("Yes") == ["How many?"]
    assert chat.user("3") == ["3 cups."]


@pytest.mark.parametrize("text", ["yes", "Yes!", "ok"])
def test_it_may_be_agreed_to_in_words(text: str) -> None:
    chat = talk("ask")
    chat.user("order")
    chat.user("parking")
    assert chat.user(text) == ["How many?"]


def test_after_a_no_the_flow_is_over() -> None:
    chat = talk("ask")
    chat.user("order")
    chat.user("parking")
    assert chat.tap("No") == []
    assert chat.session.frames == ()


def test_anything_else_is_taken_as_if_it_had_gone_on() -> None:
    chat = talk("ask")
    chat.user("order")
    chat.user("parking")
    assert chat.user("3") == ["3 cups."]
    chat.user("order")
    chat.user("parking")
    assert chat.user("many") == ["A number please."]
    assert chat.user("yes") == ["A number please."], "the question whether to go on is over"


def test_while_it_is_asked_the_clocks_run_anew() -> None:
    chat = talk("ask")
    chat.user("order")
    chat.wait("50m")
    chat.user("parking")
    assert chat.wait("50m") == []
    assert chat.at == "order/cups"
    chat.wait("10m")
    assert chat.at is None


def test_an_old_yes_goes_on_with_nothing() -> None:
    chat = talk("ask")
    chat.user("order")
    chat.user("parking")
    chat.user("many")
    assert chat.tap("Yes") == ["That was an earlier question.", "How many?"]


def test_an_interrupted_interruption_is_dropped_where_it_says_so() -> None:
    chat = Talk(FLOWS.replace("POLICY", "resume").replace("interrupted: resume\nsteps:\n  day", "interrupted: drop\nsteps:\n  day"), BOT)  # fmt: skip
    chat.user("order")
    chat.user("hours")
    assert chat.user("parking") == ["Behind the house.", "How many?"]
    assert [frame.flow for frame in chat.session.frames] == ["order"]


def test_an_interruption_of_an_interruption_that_expires_ends_all_three() -> None:
    asks = FLOWS.replace("POLICY", "resume").replace("a: {say: Behind the house., then: end}", "a: {ask: Which house?}")
    chat = Talk(asks, BOT)
    chat.user("order")
    chat.user("hours")
    chat.user("parking")
    assert len(chat.session.frames) == 3
    assert chat.wait("20h") == []
    assert not chat.session.frames


def test_an_interruption_that_expires_takes_the_interrupted_flow_with_it() -> None:
    chat = talk()
    chat.user("order")
    chat.user("hours")
    chat.wait("20h")
    assert chat.at is None
    assert chat.session.frames == ()


def test_the_bots_words_end_everything() -> None:
    chat = talk()
    chat.user("order")
    chat.user("hours")
    chat.user("stop")
    assert chat.session.frames == ()


@pytest.mark.parametrize("answer", ["1", "12"])
def test_an_answer_comes_before_any_trigger(answer: str) -> None:
    chat = Talk(FLOWS.replace("POLICY", "resume").replace("words: [parking]", f"words: ['{answer}']"), BOT)
    chat.user("order")
    assert chat.user(answer) == [f"{answer} cups."]
