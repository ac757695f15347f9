"""What a model was asked and answered, as a trace shows it: never the whole prompt."""

from datetime import UTC, datetime
from typing import Any

from bot.core.effects import Complete, HttpRequest
from bot.core.events import CallEnded
from bot.simulation.turn_words import effect_in_words, event_in_words

CONTACT = "6281234567890"
AT = datetime(2030, 5, 6, 10, 0, tzinfo=UTC)


def answer(**more: Any) -> str:
    value = {"text": "", "said": 0, "calls": [], "finish": "stop", "model": "acme/large", "tokens": 31, **more}
    return event_in_words(CallEnded("e", CONTACT, AT, "x#0", "done", value))


def test_a_question_names_its_models_and_tools_and_counts_its_messages() -> None:
    prompt = ({"role": "system", "content": "Be kind. " * 500}, {"role": "user", "content": "hi"})
    tools = tuple({"type": "function", "function": {"name": name}} for name in ("orders_find", "leave_done"))
    asked = Complete(prompt, tools, models=("acme/large", "acme/small"))
    assert effect_in_words(asked) == "ask acme/large or acme/small: 2 messages, with orders_find, leave_done"
    assert effect_in_words(Complete(prompt)) == "ask the model: 2 messages"


def test_a_request_is_its_method_and_its_address() -> None:
    request = HttpRequest("POST", "crm:/orders/17", {"X-Own": "1"}, "{}")
    assert effect_in_words(request) == "request POST crm:/orders/17"
    ended = CallEnded("e", CONTACT, AT, "x#0", "404", {"status": 404, "answer": None}, "POST crm:/x answered 404")
    assert event_in_words(ended) == "the call ended: 404 POST crm:/x answered 404"


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
    assert event_in_words(ended) == "the call ended: done {text: x, model: y}"
