"""What a trace shows of events: of a model never the whole prompt, of an operator's act no raw data."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.core.effects import AskModel, HttpRequest
from bot.core.events import CallEnded, ContactChanged, SendEnded, Tapped
from bot.core.session import Plan
from bot.testing.simulation.turn_words import effect_in_words, event_in_words, plan_in_words

CONTACT = "6281234567890"
AT = datetime(2030, 5, 6, 10, 0, tzinfo=UTC)


def answer(**more: Any) -> str:
    value = {"text": "", "said": 0, "calls": [], "finish": "stop", "model": "acme/large", "tokens": 31, **more}
    return event_in_words(CallEnded("e", CONTACT, AT, "x#0", "done", value))


def test_a_question_names_its_models_and_tools_and_counts_its_messages() -> None:
    prompt = ({"role": "system", "content": "Be kind. " * 500}, {"role": "user", "content": "hi"})
    tools = tuple({"type": "function", "function": {"name": name}} for name in ("orders_find", "leave_done"))
    asked = AskModel(prompt, tools, models=("acme/large", "acme/small"))
    assert effect_in_words(asked) == "ask acme/large or acme/small: 2 messages, with orders_find, leave_done"
    assert effect_in_words(AskModel(prompt)) == "ask the model: 2 messages"


def test_a_request_is_its_method_and_its_address() -> None:
    request = HttpRequest("POST", "crm:/orders/17", {"X-Own": "1"}, "{}")
    assert effect_in_words(request) == "request POST crm:/orders/17"
    ended = CallEnded("e", CONTACT, AT, "x#0", "404", {"status": 404, "answer": None}, "POST crm:/x answered 404")
    assert event_in_words(ended) == "the call ended with 404: POST crm:/x answered 404"


def test_an_answer_is_its_text_its_calls_and_its_tokens() -> None:
    assert answer(text="From 9\n to 18.") == 'acme/large answered "From 9 to 18.", 31 tokens'
    calls = [{"id": "c", "name": "orders_find", "arguments": '{"number": "AB123456"}'}]
    assert answer(calls=calls) == 'acme/large answered, calls orders_find({"number": "AB123456"}), 31 tokens'
    assert answer(text="We are", finish="length") == 'acme/large answered "We are", cut short, 31 tokens'


def test_what_went_wrong_before_an_answer_stands_behind_it() -> None:
    value = {"text": "Yes.", "calls": [], "finish": "stop", "model": "acme/wise", "tokens": 31}
    ended = CallEnded("e", CONTACT, AT, "x#0", "done", value, 'model "acme/swift": provider_error')
    assert event_in_words(ended) == 'acme/wise answered "Yes.", 31 tokens (model "acme/swift": provider_error)'


def test_a_long_answer_is_one_short_line() -> None:
    assert len(answer(text="word " * 1000)) < 150


def test_a_handlers_result_is_shown_as_it_is() -> None:
    ended = CallEnded("e", CONTACT, AT, "x#0", "done", {"text": "x", "model": "y"})
    assert event_in_words(ended) == "the call returned {text: x, model: y}"


@pytest.mark.parametrize(
    ("act", "words"),
    [
        ({"do": "broadcast", "name": "Spring offer"}, 'the broadcast "Spring offer"'),
        ({"do": "pause", "name": "Spring offer"}, 'the broadcast "Spring offer" was paused'),
        ({"do": "resume", "name": "Spring offer", "by": "olga"}, 'olga resumed the broadcast "Spring offer"'),
        ({"do": "stop", "name": "Spring offer", "by": "olga"}, 'olga stopped the broadcast "Spring offer"'),
        ({"do": "edit", "name": "Spring offer"}, 'an operator began to correct the broadcast "Spring offer"'),
        ({"do": "send", "by": "abel"}, "abel sent a message"),
        ({"do": "retry", "id": 5, "attempts": 1, "by": "operator"}, "an operator retried dead letter 5"),
        ({"do": "drop", "id": 5, "attempts": 1, "by": "olga"}, "olga dropped dead letter 5"),
        ({"call": "price", "try": 2}, "try 2 of price failed"),
        ({"dropped": Tapped("e", CONTACT, AT, AT, "main/a", "Yes")}, 'tapped "Yes", which was dropped'),
    ],
)
def test_what_was_no_event_is_said_in_words(act: dict[str, Any], words: str) -> None:
    assert event_in_words(act) == words


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (Plan("evening", "survey", AT), "survey (evening)"),
        (Plan("evening", "survey", AT, after=timedelta(hours=2)), "survey (evening)"),
        (Plan("survey", "survey", AT), "survey"),
        (Plan("start:broadcast:spring:628#0", "survey", AT, after=timedelta()), "survey"),
        (Plan("operator:7c1", "survey", AT, after=timedelta()), "survey"),
        (Plan("evt-1#0", "survey", AT, after=timedelta()), "survey"),
        (Plan("signal:7", "", AT, signal="paid"), "signal paid"),
    ],
)
def test_a_plan_is_its_flow_with_the_name_that_its_author_gave_it(plan: Plan, words: str) -> None:
    assert plan_in_words(plan) == words


def test_a_tap_is_the_buttons_title_alone() -> None:
    assert (
        event_in_words(Tapped("e", CONTACT, AT, AT, "main/sure/0/19/23d518a6", "Yes, please")) == 'tapped "Yes, please"'
    )


@pytest.mark.parametrize(
    ("outcome", "detail", "words"),
    [
        ("sent", "", "the message was sent"),
        ("refused", "132001: no such template", "the message was refused: 132001: no such template"),
        ("unknown", "", "the message may have been sent, or not"),
    ],
)
def test_what_became_of_a_message_is_said_in_words(outcome: str, detail: str, words: str) -> None:
    assert event_in_words(SendEnded("e", CONTACT, AT, "x#0", outcome, detail)) == words


@pytest.mark.parametrize(
    ("event", "words"),
    [
        ("contact.created", "the gateway has made the contact"),
        ("contact.updated", "the gateway has changed the contact's data"),
        ("contact.listed", "the contact's data came from the gateway's list"),
        ("contact.moved", "contact.moved"),
    ],
)
def test_what_the_gateway_did_with_a_contact_is_said_in_words(event: str, words: str) -> None:
    assert event_in_words(ContactChanged("e", CONTACT, AT, event)) == words
