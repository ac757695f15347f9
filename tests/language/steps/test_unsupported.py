"""`unsupported`: a value of a model's answer without a source is not sent."""

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import pytest

from bot.language.python.decorators import handler
from tests.talk import BOT, Talk, problems_of

FACTS = "Open daily from 9:00 to 18:00. Returns within 30 days with the receipt."
FLOW = """
flow: shop
start: {otherwise: true}
steps:
  talk:
    ai: You are the assistant of a shop that gives a refund for broken things.
    facts: facts.md
    tools: [orders.find]
    exits: {done: {when: they have all, then: end}}
    products: [Runner, Trail Walker]
    unsupported: retry
    errors: {unsupported: unsure, else: sorry}
  unsure: {say: A colleague will tell you., then: end}
  sorry: {say: I cannot answer that., then: end}
"""


@dataclass
class Order:
    total: int
    eta: date


@handler("orders.find")
def find(number: str) -> Order:
    """Find an order."""
    return Order(30, date(2030, 5, 12))


def talk(flow: str = FLOW, bot: str = BOT) -> Talk:
    return Talk(flow, bot, {"orders.find": find}, documents={"flows/facts.md": FACTS})


def asked(text: str = "until when are you open?", flow: str = FLOW) -> Talk:
    chat = talk(flow)
    chat.user(text)
    return chat


@pytest.mark.parametrize(
    "text",
    [
        "Until six in the evening.",
        "You can return it within thirty days.",
        "A broken one gets a refund.",
        "One moment, there are two ways.",
    ],
)
def test_what_a_source_says_is_sent_in_other_words(text: str) -> None:
    assert asked().model(text) == [text]


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("Until 19:00.", '"19:00" (times)'),
        ("Return it within 60 days.", '"60 days" (numbers)'),
        ("It comes on Friday, 10 May.", '"friday, 10 may" (dates)'),
        ("It costs 25 euros.", '"25 euros" (prices)'),
        ("Your order is AB123456.", '"AB123456" (codes)'),
        ("We give you a discount.", '"discount" (promises)'),
        ("Take the Trail Walker.", '"Trail Walker" (products)'),
    ],
)
def test_a_value_without_a_source_is_not_sent_and_the_model_is_asked_once_more(text: str, held: str) -> None:
    chat = asked()
    assert chat.model(text) == []
    assert held in chat.prompt[-1]["content"]
    assert chat.prompt[-2] == {"role": "assistant", "content": text}
    assert chat.turn is not None
    assert f"{held} has no source in: {text}" in chat.turn.trace.notes[0]
    assert chat.model("I don't know.") == ["I don't know."]


def test_a_second_answer_without_a_source_goes_the_way_of_its_error() -> None:
    chat = asked()
    chat.model("Until 19:00.")
    assert chat.model("Until 20:00.") == ["A colleague will tell you."]


def test_the_next_turn_may_be_asked_again_too() -> None:
    chat = asked()
    chat.model("Until 19:00.")
    chat.model("I don't know.")
    chat.user("and on sunday?")
    assert chat.model("Until 20:00.") == []
    assert chat.model("Until 18:00.") == ["Until 18:00."]


def test_what_was_sent_before_stays_and_a_paragraph_that_is_held_is_written_again() -> None:
    chat = asked()
    assert chat.paragraph("We are open daily.") == ["We are open daily."]
    assert chat.paragraph("Until 19:00.") == []
    assert chat.paragraph("Come any time.", nth=0) == []
    assert chat.prompt[-2] == {"role": "assistant", "content": "We are open daily.\n\nUntil 19:00."}
    assert chat.model("Until 18:00.") == ["Until 18:00."]


def test_the_contacts_words_are_a_source_but_not_for_prices_and_promises() -> None:
    chat = asked("Is AB123456 for 4 people? You promised me 50 euros and free delivery")
    assert chat.model("AB123456 is for 4 people.") == ["AB123456 is for 4 people."]
    chat.user("and my money?")
    assert chat.model("Yes, 50 euros.") == []
    assert chat.model("Delivery is free.") == ["A colleague will tell you."]


def test_a_tools_result_is_a_source_and_later_what_the_bot_said_of_it() -> None:
    chat = asked("AB123456")
    chat.model("", ("orders_find", {"number": "AB123456"}))
    chat.returns({"total": 30, "eta": "2030-05-12"})
    assert chat.model("It costs 30 euros and comes on Sunday.") == ["It costs 30 euros and comes on Sunday."]
    chat.user("really?")
    assert chat.model("Yes, 31 euros.") == []
    assert chat.model("Yes, 30 euros.") == ["Yes, 30 euros."]


def with_rules(rules: str) -> str:
    return FLOW.replace("unsupported: retry", f"unsupported: {rules}")


def test_only_the_kinds_that_are_named_need_a_source() -> None:
    chat = asked(flow=with_rules("{prices: retry}"))
    assert chat.model("Until 19:00.") == ["Until 19:00."]
    chat.user("how much?")
    assert chat.model("It costs 25 euros.") == []


def test_a_kind_may_lead_elsewhere_at_once_with_the_contacts_message() -> None:
    flow = (
        with_rules("{promises: {say: I may not promise that., then: person}, times: retry}")
        + "  person: {ask: 'What else?', other: end}\n"
    )
    chat = asked(flow=flow)
    assert chat.model("You get a discount.") == ["I may not promise that.", "What else?"]


def test_sums_of_sourced_values_have_a_source_where_the_step_says_so() -> None:
    text = "Two cost 60 euros; you have 27 days left of 30 days."
    for rules, sent in (("{prices: retry, sums: true}", True), ("{prices: retry}", False)):
        chat = asked("AB123456", with_rules(rules))
        chat.model("", ("orders_find", {"number": "AB123456"}))
        chat.returns({"price": 30, "pieces": 2})
        assert (chat.model(text) == [text]) is sent


def test_a_step_takes_the_rules_of_the_bot_or_has_its_own() -> None:
    bot = BOT + "ai: {unsupported: {prices: retry}}\n"
    flow = FLOW.replace("    unsupported: retry\n", "")
    chat = talk(flow, bot)
    chat.user("how much?")
    assert chat.model("It costs 25 euros.") == []
    own = talk(FLOW.replace("unsupported: retry", "unsupported: {times: retry}"), bot)
    own.user("how much?")
    assert own.model("It costs 25 euros.") == ["It costs 25 euros."]


@pytest.mark.parametrize(
    ("rules", "problem"),
    [
        ("{}", "unsupported: nothing is checked"),
        ("{sums: true}", "unsupported: nothing is checked"),
        ("{price: retry}", "price"),
        ("sometimes", "retry"),
        ("{prices: nowhere}", "nowhere"),
    ],
)
def test_rules_that_cannot_be_read_are_a_problem(rules: str, problem: str) -> None:
    assert problem in str(problems(with_rules(rules)))


def test_products_need_their_names() -> None:
    flow = with_rules("{products: retry}").replace("    products: [Runner, Trail Walker]\n", "")
    assert "there are no names of products" in str(problems(flow))


def problems(flow: str) -> Any:
    return problems_of(flow, BOT, {"orders.find": find}, documents={"flows/facts.md": FACTS.encode()})


# A text that a model writes for another step

NOTED = """
flow: note
start: {otherwise: true}
vars: {said: {type: text}, note: {type: text}}
steps:
  said: {ask: What happened?, save: said}
  note: {write: "Summarise it. We answer within 3 days.", text: "{{ said }}", save: note, RULES, errors: {unsupported: unsure, else: end}}
  done: {say: "{{ note }}", then: end}
  unsure: {say: A colleague will read it., then: end}
"""


def noting(rules: str = "unsupported: retry", bot: str = BOT) -> Talk:
    chat = Talk(NOTED.replace("RULES, ", f"{rules}, " if rules else ""), bot)
    chat.user("hi")
    chat.user("I paid 50 euros for it on 3 May, and want a refund")
    return chat


def test_the_instructions_and_the_text_are_the_sources_of_a_text_that_is_written() -> None:
    right = "They paid €50 on May 3rd and ask for a refund; we answer within three days."
    assert noting().model(right) == [right]


def test_a_written_text_with_a_value_of_no_source_is_asked_for_once_more() -> None:
    chat = noting()
    assert chat.model("They paid 60 euros.") == []
    assert '"60 euros" (prices) stands in no source' in chat.prompt[-1]["content"]
    assert chat.model("They paid 50 euros.") == ["They paid 50 euros."]
    chat = noting()
    chat.model("They paid 60 euros.")
    assert chat.model("They paid 70 euros.") == ["A colleague will read it."]


@pytest.mark.parametrize(
    ("rules", "asks"), [("", 1), ("unsupported: retry", 2), ("unsupported: {prices: {then: end}}", 1)]
)
def test_a_text_that_may_be_asked_for_twice_is_waited_for_twice_as_long(rules: str, asks: int) -> None:
    kind = noting(rules).library.flows["note"].steps["note"].kind
    waits, spends = kind.facts().waits_for, kind.spends({})
    assert waits is not None and spends is not None
    assert (waits.longest, spends.asks, spends.repeats) == (timedelta(seconds=asks * 90), asks, asks == 2)


def test_a_written_text_may_lead_elsewhere_by_the_kind_of_its_value() -> None:
    chat = noting("unsupported: {prices: {say: No., then: unsure}}")
    assert chat.model("They paid 60 euros.") == ["No.", "A colleague will read it."]


def test_a_written_text_needs_sources_by_the_rules_of_the_bot() -> None:
    assert noting("", BOT + "ai: {unsupported: retry}\n").model("They paid 60 euros.") == []
    assert noting("").model("They paid 60 euros.") == ["They paid 60 euros."]


def test_a_record_is_not_checked_and_cannot_have_rules() -> None:
    flow = NOTED.replace("note: {type: text}", "note: {type: object, fields: {price: number}}")
    (problem,) = problems_of(flow.replace("RULES", "unsupported: retry"))
    assert "unsupported: a record has no sources" in problem
