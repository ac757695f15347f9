"""`classify`: a model picks one of the declared transitions, and says nothing."""

import pytest

from bot.language.python.decorators import handler
from tests.talk import BOT, Talk

FLOW = """\
flow: front
start: {otherwise: true}
steps:
  sort:
    classify: What is this message about?
    exits:
      order: {when: an order or a parcel, then: order}
      person: {when: they want a person, then: person}
    other: route
    errors: {else: broken}
  order: {say: About an order., then: end}
  person: {ai: Talk., exits: {x: end}, errors: {else: end}}
  broken: {say: Broken., then: end}
---
flow: hours
start: {words: [hours]}
steps:
  a: {say: From 9., then: end}
"""


def test_the_model_is_given_the_transitions_and_the_message_apart() -> None:
    chat = Talk(FLOW)
    chat.user("where is my parcel")
    system, user = chat.prompt
    assert "order: an order or a parcel" in system["content"]
    assert user == {"role": "user", "content": "where is my parcel"}
    assert chat.model("order") == ["About an order."]


@pytest.mark.parametrize(
    "answer", [" Order.", "**order**", "`ORDER`", '"order"', "„order“", "(order)\n", "ord\u200ber"]
)
def test_the_whole_answer_names_the_transition(answer: str) -> None:
    chat = Talk(FLOW)
    chat.user("parcel")
    assert chat.model(answer) == ["About an order."]


def test_what_the_contact_wrote_is_left_to_the_next_step() -> None:
    chat = Talk(FLOW)
    chat.user("a human please")
    chat.model("person")
    assert chat.prompt[-1] == {"role": "user", "content": "a human please"}


@pytest.mark.parametrize(
    "answer",
    ["none", "something", "", "order or person", "order\nperson", "The answer is: order", "no order", "not an order",
     "none: this is not about an order", "!order", "~~order~~", "order?", "reorder", "❌ order"],
)  # fmt: skip
def test_what_is_no_transition_as_a_whole_is_other(answer: str) -> None:
    chat = Talk(FLOW.replace("other: route", "other: broken"))
    chat.user("hm")
    assert chat.model(answer) == ["Broken."]


def test_what_is_sorted_is_judged_like_all_that_a_model_reads() -> None:
    @handler("judge")
    def judge(text: str) -> bool:
        return True

    chat = Talk(FLOW.replace("errors: {else: broken}", "errors: {unsafe: broken, empty: broken, else: order}"),
                BOT + "ai: {moderate: judge}\n", {"judge": judge})  # fmt: skip
    chat.user("hm")
    _, complete = chat.asked[-1]
    assert ([complete.messages[place]["content"] for place in complete.fresh], complete.heard) == (["hm"], "judge")
    assert chat.model_ends("unsafe") == ["Broken."]


def test_a_failure_leads_where_the_flow_says() -> None:
    chat = Talk(FLOW)
    chat.user("hm")
    assert chat.model_ends("down") == ["Broken."]
