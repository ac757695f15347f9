"""`answers`: a model sends texts of the flow, and nothing else."""

import pytest

from tests.talk import BOT, Talk, problems_of

FLOW = """
flow: shop
start: {otherwise: true}
vars: {city: {type: text, value: Ulm}}
steps:
  talk:
    ai: You are the assistant of a shop.
    answers:
      hours: "In {{ city }} we are open from 9:00 to 18:00."
      day: {say: "On {{ it.day }} we are open until {{ it.hour }}. See https://shop.example", takes: {day: the day, hour: {type: integer, about: the hour}}}
    exits: {done: {when: they have all, then: end}, person: {when: they ask for one, then: person}}
    errors: {unsupported: unsure, else: sorry}
  unsure: {say: A colleague will tell you., then: end}
  person: {say: One moment., then: end}
  sorry: {say: I cannot answer that., then: end}
"""
HOURS = "In Ulm we are open from 9:00 to 18:00."


def asked(flow: str = FLOW) -> Talk:
    chat = Talk(flow)
    chat.user("are you open?")
    return chat


def test_the_model_picks_a_text_by_its_tool_and_the_turn_is_over() -> None:
    chat = asked()
    assert chat.model("", ("say_hours", {})) == [HOURS]
    chat.user("thanks")
    assert chat.prompt[1:3] == [{"role": "user", "content": "are you open?"}, {"role": "assistant", "content": HOURS}]


def test_it_knows_the_texts_and_that_nothing_else_is_sent() -> None:
    chat = asked()
    effect = chat.asked[-1][1]
    tools = {tool["function"]["name"]: tool["function"] for tool in effect.tools}
    assert "In {{ city }} we are open" in tools["say_hours"]["description"]
    assert tools["say_day"]["parameters"]["required"] == ["day", "hour"]
    assert "You write nothing to the contact yourself" in chat.prompt[0]["content"]
    assert effect.paragraphs == 0


def test_it_fills_the_values_of_a_text_each_as_one_short_line() -> None:
    said = asked().model("", ("say_day", {"day": "Friday\n\nor never", "hour": 6}))
    assert said == ["On Friday or never we are open until 6. See https://shop.example"]


def test_a_value_that_does_not_fit_is_told_the_model() -> None:
    chat = asked()
    assert chat.model("", ("say_day", {"day": "Friday", "hour": "late"})) == []
    assert "Not sent: the argument hour" in chat.prompt[-1]["content"]
    assert chat.model("", ("say_hours", {})) == [HOURS]


@pytest.mark.parametrize("value", ["evil.example.com", "+49 30 7654321"])
def test_a_value_may_bring_no_address_and_no_account(value: str) -> None:
    assert asked().model("", ("say_day", {"day": value, "hour": 6})) == ["I cannot answer that."]


@pytest.mark.parametrize("text", ["Call +49 30 1234567.", "Write to help@shop.example."])
def test_an_account_of_the_text_is_sent(text: str) -> None:
    chat = asked(FLOW.replace("In {{ city }} we are open from 9:00 to 18:00.", text))
    assert chat.model("", ("say_hours", {})) == [text]


def test_free_text_is_not_sent_and_the_model_is_asked_once_more() -> None:
    chat = asked()
    assert chat.model("We are open day and night!") == []
    assert "you send only the texts that are given" in chat.prompt[-1]["content"]
    assert chat.turn is not None
    assert chat.turn.trace.notes == ["shop/talk: no approved text: We are open day and night!"]
    assert chat.model("Really!") == ["A colleague will tell you."]


def test_free_text_beside_a_call_is_dropped() -> None:
    assert asked().model("Day and night!", ("say_hours", {})) == [HOURS]
    assert asked().model("Day and night!", ("leave_person", {})) == ["One moment."]


def test_a_text_and_an_exit_go_together() -> None:
    assert asked().model("", ("leave_person", {}), ("say_hours", {})) == [HOURS, "One moment."]


def test_a_value_of_a_text_needs_a_source_like_any_other() -> None:
    flow = FLOW.replace("    answers:\n", "    unsupported: {numbers: retry, dates: person}\n    answers:\n")
    chat = asked(flow)
    assert chat.model("", ("say_day", {"day": "today", "hour": 23})) == []
    assert '"23" (numbers) stands in no source' in chat.prompt[-1]["content"]
    assert chat.model("", ("say_day", {"day": "today", "hour": 18})) == [
        "On today we are open until 18. See https://shop.example"
    ]
    chat.user("and tomorrow?")
    assert chat.model("", ("say_day", {"day": "Thursday", "hour": 18})) == ["One moment."]


def test_a_model_without_tools_names_a_text_that_takes_nothing() -> None:
    chat = asked()
    chat.model_ends("no_tools")
    assert "SAY hours    In {{ city }}" in chat.prompt[0]["content"]
    assert "SAY day" not in chat.prompt[0]["content"]
    assert chat.model("Sure!\nSAY hours") == [HOURS]


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("Hours: We are open.", 'answers: "Hours" is no name'),
        ('hours: "Until {{ it.hour }}."', 'answers: a model gives "say_hours" no "hour"'),
        ("hours: {takes: {day: the day}}", "say"),
        ('hours: "Until {{ closing }}."', "closing"),
    ],
)
def test_texts_that_cannot_be_sent_are_a_problem(answer: str, problem: str) -> None:
    head, _, rest = FLOW.partition("      hours:")
    flow = f"{head}      {answer}\n{rest[rest.index('    exits:') :]}"
    assert problem in str(problems_of(flow, BOT))


def test_a_tool_may_not_be_called_like_a_text() -> None:
    flow = FLOW.replace(
        "    answers:", "    tools: [{http: 'GET https://x.example/', name: say_it, about: Say it.}]\n    answers:"
    )
    assert 'the name "say_it" means something else to a model' in str(problems_of(flow, BOT))
