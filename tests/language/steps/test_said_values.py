"""Values that a model notes: which of them a conversation says."""

from datetime import date, time
from decimal import Decimal
from typing import Any

import pytest

from bot.language.steps.said_values import MOST_READINGS
from bot.language.types.date_types import DateVariable
from bot.language.types.type_registry import Answer
from tests.talk import BOT, Talk

FLOW = """\
flow: table
start: {otherwise: true}
vars:
  wish: text
  guests: integer
  price: number
  day: date
  at: time
  phone: {type: phone, country: ID}
  mail: email
  name: name
  inside: boolean
  size: {type: choice, of: [small, large]}
steps:
  talk:
    ai: You take wishes.
    fill: {wish: w, guests: g, price: p, day: d, at: a, phone: n, mail: m, name: n, inside: i, size: s}
    exits: {done: {when: it is said, then: end}}
    errors: {else: end}
"""


def noted(said: str, name: str, value: Any, bot: str = BOT) -> Any:
    """What the variable holds after the contact has said this, and the model has noted that."""
    chat = Talk(FLOW, bot)
    chat.user(said)
    chat.model("Fine.", ("remember", {name: value}))
    return chat.vars[name]


@pytest.mark.parametrize(
    ("said", "name", "value", "kept"),
    [
        ("I'd like a window table for two please", "wish", "a table for two, window", ...),
        ("two flat whites and no sugar", "wish", "flat white", ...),
        ("it's ref AB-12 34", "wish", "AB1234", ...),
        ("we're a dozen people", "guests", 12, 12),
        ("we are 4, thanks!", "guests", 4, 4),
        ("我们4个人", "guests", 4, 4),
        ("我想要靠窗的桌子", "wish", "靠窗的桌子", ...),
        ("about 1,250 dollars", "price", 1250, Decimal(1250)),
        ("can we come on Friday evening?", "day", "2030-05-10", date(2030, 5, 10)),
        ("on 12/05/2030", "day", "2030-05-12", date(2030, 5, 12)),
        ("at half past nine in the morning", "at", "09:30", time(9, 30)),
        ("no onions please", "wish", "no onions", ...),
        ("I am from Berlin", "wish", "Berlin", ...),
        ("no I am from Berlin", "wish", "Berlin", ...),
        ("not from Rome but from Berlin", "wish", "Berlin", ...),
        ("a latte without sugar", "wish", "latte", ...),
        ("it is order no AB123456", "wish", "AB123456", ...),
        ("call 0812 3456 7890", "phone", "+6281234567890", "6281234567890"),
        ("write to Ann@shop.example", "mail", "ann@shop.example", ...),
        ("Hi, I am Ann Smith", "name", "Ann Smith", ...),
        ("it is too cold out there", "inside", True, True),
        ("the little one", "size", "small", "small"),
    ],
)
def test_a_value_that_is_said_in_any_words_is_noted(said: str, name: str, value: Any, kept: Any) -> None:
    assert noted(said, name, value) == (value if kept is ... else kept)


@pytest.mark.parametrize(
    ("said", "name", "value"),
    [
        ("I'd like a table", "wish", "a table by the window"),
        ("onions, please", "wish", "no onions"),
        ("no onions", "wish", "onions"),
        ("I don't like onions", "wish", "onions"),
        ("a burger without onions and garlic", "wish", "garlic"),
        ("not on Friday", "day", "2030-05-10"),
        ("we are not 4 but 5", "guests", 4),
        ("a table for me and my wife", "guests", 4),
        ("it costs too much", "price", 20),
        ("can we come on Friday?", "day", "2030-05-11"),
        ("in the evening", "at", "19:00"),
        ("call me", "phone", "+6281234567899"),
        ("write to ann@shop.example", "mail", "bob@shop.example"),
        ("hello", "name", "Ann"),
    ],
)
def test_a_value_that_nobody_said_is_not_noted(said: str, name: str, value: Any) -> None:
    assert noted(said, name, value) is None


@pytest.mark.parametrize(
    ("language", "said", "value"),
    [
        ("de", "Ich mag Zwiebeln nicht", "Zwiebeln"),
        ("de", "bitte keine Zwiebeln", "Zwiebeln"),
        ("es", "sin cebolla", "cebolla"),
        ("fr", "je n'aime pas les oignons", "oignons"),
        ("pt", "sem cebola", "cebola"),
        ("it", "senza cipolle", "cipolle"),
        ("nl", "geen uien", "uien"),
        ("id", "tanpa bawang", "bawang"),
        ("ru", "без лука", "лука"),
        ("tr", "soğan istemiyorum", "soğan"),
        ("ar", "بدون بصل", "بصل"),
        ("hi", "प्याज नहीं चाहिए", "प्याज"),
    ],
)
def test_what_is_denied_in_a_language_is_not_noted(language: str, said: str, value: str) -> None:
    assert noted(said, "wish", value, BOT + f"languages: [{language}]\n") is None


def test_no_is_a_word_like_others_in_portuguese() -> None:
    assert noted("no sábado", "wish", "sábado", BOT + "languages: [pt]\n") == "sábado"


def test_what_the_contact_wrote_before_the_step_counts_where_the_model_is_given_it() -> None:
    flow = FLOW.replace("steps:\n", "steps:\n  ask: {ask: How many?, save: wish}\n").replace(
        "You take wishes.", '"Take wishes. Said: {{ history }}"'
    )
    chat = Talk(flow)
    chat.user("hello")
    chat.user("we are 4")
    chat.user("hm")
    chat.model("Fine.", ("remember", {"guests": 4}))
    assert chat.vars["guests"] == 4


def test_a_long_conversation_is_read_for_a_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    read, accept = [], DateVariable.accept

    def reads(variable: DateVariable, answer: Answer, *more: Any) -> Any:
        read.append(answer.text)
        return accept(variable, answer, *more)

    monkeypatch.setattr(DateVariable, "accept", reads)
    monkeypatch.setattr(Talk, "checks", False)  # which takes each turn twice
    assert noted("many words of some idle talk " * 130, "day", "2030-05-11") is None
    assert len(read) == 1 + MOST_READINGS
