"""Slots that a model fills: one question for each message, about what its readers have not found. The pure engine."""

import json
from typing import Any

import pytest

from bot.core.events import ConversationAssigned
from bot.core.turn import ENTERED
from bot.language.python.decorators import handler
from tests.talk import BOT, CONTACT, Talk, library_of, problems_of

ORDER = """
flow: order
start: {words: [order], pattern: '(?i)order .*'}
slots: {fill: [size, cups, day], model: true}
vars: {size: text, cups: {type: integer, min: 1, max: 9}, day: {type: date, after: today}, name: text}
steps:
  size: {ask: Which size?, options: [Small, Large], save: size, retry: {say: "Small or large?"}}
  cups: {ask: How many?, save: cups}
  day: {ask: For which day?, save: day, retry: {say: "A day, please."}}
  name: {ask: And your name?, save: name}
  done: {say: "{{ cups }} {{ size }} for {{ day | date }}, {{ name }}.", then: end}
"""
SIZE = ["Which size?", "Small", "Large"]
PLAIN = ORDER.replace("{fill: [size, cups, day], model: true}", "[size, cups, day]")
BIRTHDAY = "order the biggest, for us both, for my birthday"
ANSWER = '{"size": "Large", "cups": 2, "day": "2030-05-10"}'


def asked_for(chat: Talk) -> list[str]:
    """The questions of the newest question to the model, without their texts."""
    lines = chat.prompt[0]["content"].splitlines()
    return [line.partition(":")[0] for line in lines if line.partition(":")[0] in ("size", "cups", "day", "name")]


def notes(chat: Talk) -> list[str]:
    assert chat.turn is not None
    return chat.turn.trace.notes


# -- when a model is asked ------------------------------------------------------------------------------------


def test_what_the_first_message_says_is_not_asked() -> None:
    chat = Talk(ORDER)  # Monday, 6 May 2030
    assert chat.user(BIRTHDAY) == []
    assert chat.model(ANSWER) == ["And your name?"]
    assert chat.user("Ann") == ["2 Large for 10 May 2030, Ann."]
    assert len(chat.asked) == 1


def test_the_model_is_given_the_open_questions_and_the_message_apart() -> None:
    chat = Talk(ORDER)
    chat.user("order the big ones for Friday")
    system, user = chat.prompt
    assert "size: (text) Which size? • Small • Large\ncups: (integer) How many?" in system["content"]
    assert "it is Monday, 2030-05-06 10:00" in system["content"]
    assert asked_for(chat) == ["size", "cups"], "the day was found by its own reader"
    assert user == {"role": "user", "content": "order the big ones for Friday"}


def test_what_readers_and_the_model_find_counts_together() -> None:
    chat = Talk(ORDER)
    chat.user("order the big ones for Friday")
    assert chat.model('{"size": "large", "cups": null}') == ["How many?"]
    assert chat.user("3") == ["And your name?"]


@pytest.mark.parametrize("text", ["order", "order two large ones for Friday"])
def test_a_start_word_and_a_message_that_leaves_nothing_open_ask_no_model(text: str) -> None:
    chat = Talk(ORDER)
    chat.user(text)
    assert chat.asked == []


def test_a_message_of_which_the_readers_understand_each_word_asks_no_model() -> None:
    chat = Talk(ORDER)
    chat.user("order")
    chat.user("large 2")
    assert chat.asked == []
    assert chat.at == "order/day"


def test_a_whole_answer_asks_no_model_and_neither_does_a_tap() -> None:
    chat = Talk(ORDER)
    chat.user("order")
    chat.tap("Small")
    chat.user("2")
    assert chat.asked == []
    assert chat.at == "order/day"


def test_a_reply_without_any_answer_of_the_readers_is_given_to_the_model() -> None:
    chat = Talk(ORDER)
    chat.user("order")
    assert chat.user("the biggest you have, for my birthday") == []
    assert chat.model('{"size": "Large", "day": "2030-05-10"}') == ["How many?"]
    assert chat.turn is not None and chat.turn.trace.rule.startswith("result: done")
    assert chat.user("2") == ["And your name?"]


def test_what_a_reply_leaves_open_is_looked_for_in_it_and_then_the_waiting_question_goes_on() -> None:
    chat = Talk(ORDER)
    chat.user("order")
    assert chat.user("large, please, and as many as I have hands") == []
    assert asked_for(chat) == ["cups", "day"]
    assert chat.model('{"cups": 2}') == ["For which day?"]


def test_an_answer_to_another_question_is_kept_and_the_waiting_one_put_again() -> None:
    chat = Talk(ORDER)
    chat.user("order")
    chat.user("it is for my birthday")
    assert chat.model('{"day": "2030-05-10"}') == [SIZE]
    assert chat.session.frames[0].question.retries == 0
    chat.user("Small")
    assert chat.user("4") == ["And your name?"]


def test_an_answer_of_the_models_is_corrected_like_any_other() -> None:
    chat = Talk(ORDER)
    chat.user("order the biggest, for us both")
    assert chat.model('{"size": "Large", "cups": 2}') == ["For which day?"]
    assert chat.user("actually, make it five") == ["For which day?"]
    assert chat.turn is not None and chat.turn.trace.rule == "corrects cups"
    assert chat.vars["cups"] == 5
    assert len(chat.asked) == 1, "a correction asks no model"


def test_a_step_before_the_first_slot_is_taken_first_and_the_model_is_asked_when_a_slot_comes() -> None:
    chat = Talk(
        ORDER.replace(
            "steps:\n", "steps:\n  hello: {say: Hello.}\n  look: {ask: Here or away?, options: [Here, Away]}\n"
        )
    )
    assert chat.user(BIRTHDAY) == ["Hello.", ["Here or away?", "Here", "Away"]]
    assert chat.asked == []
    assert chat.user("Here") == []
    assert chat.prompt[1]["content"] == BIRTHDAY
    assert chat.model(ANSWER) == ["And your name?"]


def test_a_message_about_a_flow_fills_its_slots() -> None:
    chat = Talk(ORDER.replace("{words: [order], pattern: '(?i)order .*'}", "{about: they want coffee}"))
    chat.user("the biggest, for us both, on my birthday")
    assert chat.model("order 90") == []
    assert chat.model(ANSWER) == ["And your name?"]


def test_nothing_is_asked_where_there_is_no_model() -> None:
    chat = Talk(library_of(ORDER).without_model())
    assert chat.user(BIRTHDAY) == [SIZE]
    assert chat.user("the biggest") == ["Small or large?"]
    assert chat.asked == []


def test_a_picture_asks_no_model() -> None:
    chat = Talk(ORDER)
    chat.user("order")
    chat.photo()
    assert chat.asked == []


def test_what_is_asked_is_judged_and_bounded_like_every_question() -> None:
    @handler("judge")
    def judge(text: str) -> bool:
        return True

    chat = Talk(ORDER, BOT + "ai: {moderate: judge, budget: {contact: 500}}\n", {"judge": judge})
    chat.user(BIRTHDAY)
    _, complete = chat.asked[-1]
    made = complete.heard, complete.fresh, complete.budget.contact, complete.flow, complete.temperature
    assert made == ("judge", (1,), 500, "slot_filling", 0)


# -- what comes back --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        ANSWER,
        f"```json\n{ANSWER}\n```",
        f"Here it is: {ANSWER}",
        '{"size": ["Large"], "cups": "two", "day": "10 May", "name": "Bob", "x": {"y": 1}}',
    ],
)
def test_an_answer_is_read_tolerantly(answer: str) -> None:
    chat = Talk(ORDER)
    chat.user(BIRTHDAY)
    assert chat.model(answer) == ["And your name?"]


EVERYTHING = """
flow: order
start: {words: [order]}
slots: {fill: [gift, extras, at, price, colour, milk], model: true}
vars:
  gift: boolean
  extras: list
  at: {type: datetime, after: now}
  price: number
  colour: object
  milk: {type: choice, of: [oat, soy]}
  rows: {type: list, value: [{n: Red, id: 1}, {n: Blue, id: 2}]}
steps:
  gift: {ask: A gift?, save: gift}
  extras: {ask: Which?, many: true, options: [Milk, Sugar, Honey], save: extras}
  at: {ask: When?, save: at}
  price: {ask: At most?, save: price}
  colour: {ask: Colour?, options: {from: rows, title: "{{ it.n }}"}, save: colour}
  milk: {ask: Milk?, save: milk}
  done: {ask: Done?}
"""


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_value_of_any_type_is_an_answer_in_every_language(language: str) -> None:
    chat = Talk(EVERYTHING, f"{BOT}languages: [{language}]\n")
    chat.user("order")
    chat.user("well, you know")
    assert "colour: (object) Colour? • Red • Blue\nmilk: (oat, soy) Milk?" in chat.prompt[0]["content"]
    found = {
        "gift": True,
        "extras": ["Milk", "Honey"],
        "at": "2030-05-10 18:30",
        "price": 1.125,
        "colour": "Blue",
        "milk": "soy",
    }
    assert chat.model(json.dumps(found)) == ["Done?"]
    taken = {name: str(value) for name, value in chat.vars.items() if name in found}
    assert taken == {
        "gift": "True",
        "extras": "['Milk', 'Honey']",
        "at": "2030-05-10 18:30:00+00:00",
        "price": "1.1250",
        "colour": "{'n': 'Blue', 'id': 2}",
        "milk": "soy",
    }


def test_a_value_that_its_question_does_not_take_is_dropped_and_the_question_asked() -> None:
    chat = Talk(ORDER)
    chat.user(BIRTHDAY)
    assert chat.model('{"size": "Huge", "cups": 12, "day": "2030-05-10", "name": "Bob"}') == [SIZE]
    assert "order/cups: not taken, it is no answer: 12" in notes(chat)
    assert chat.turn is not None and chat.turn.trace.rule == 'result: done: answers day "2030-05-10"'
    assert "slot_filling/look: name: not taken: it was not asked for" in notes(chat)
    chat.tap("Small")
    assert chat.user("2") == ["And your name?"]


@pytest.mark.parametrize(
    "answer", ["", "Large", "[]", "{", '{"size": }', '{"cups": NaN}', "{}", '{"a":' * 9000, '{"size": {"a": 1}}']
)
def test_nonsense_is_as_if_no_model_had_been_asked(answer: str) -> None:
    chat, plain = Talk(ORDER), Talk(PLAIN)
    chat.user(BIRTHDAY)
    assert chat.model(answer) == plain.user(BIRTHDAY) == [SIZE]
    chat.user("the biggest")
    assert chat.model(answer) == plain.user("the biggest") == ["Small or large?"]
    assert chat.session.frames[0].question.retries == plain.session.frames[0].question.retries == 1


@pytest.mark.parametrize("outcome", ["down", "timeout", "quota", "refused", "unsafe", "empty", "over_budget"])
def test_a_failure_is_as_if_no_model_had_been_asked(outcome: str) -> None:
    chat = Talk(ORDER)
    chat.user(BIRTHDAY)
    assert chat.model_ends(outcome) == [SIZE]
    chat.user("the biggest")
    assert chat.model_ends(outcome) == ["Small or large?"]
    assert chat.turn is not None and chat.turn.failure is None
    assert f"slot_filling/look: the model: {outcome}" in notes(chat)


def test_after_a_failure_what_the_readers_have_found_counts() -> None:
    chat = Talk(ORDER)
    chat.user("order")
    chat.user("large ones for Friday, for us both")
    assert asked_for(chat) == ["cups"]
    assert chat.model_ends("down") == ["How many?"]
    assert chat.user("2") == ["And your name?"]


def test_after_nonsense_another_model_is_asked_what_the_message_is_about() -> None:
    flows = (
        ORDER.replace("vars:", "interrupted: resume\nvars:")
        + "---\nflow: hours\nstart: {about: when we are open}\nsteps: {a: {say: From 9., then: end}}\n"
    )
    chat = Talk(flows)
    chat.user("order")
    chat.user("how long are you there")
    assert chat.model("{}") == []
    assert chat.model("hours 90") == ["From 9.", SIZE]


def test_a_value_that_may_not_be_said_is_not_taken() -> None:
    flows = ORDER.replace("day: {type: date, after: today}", "day: {type: text, pattern: '[a-z:/.]{12,}'}")
    flows = flows.replace("{{ day | date }}", "{{ day }}")
    chat = Talk(flows)
    chat.user("order")
    chat.user("whatever is good")
    assert chat.model('{"day": "https://evil.example/x"}') == ["Small or large?"]
    assert any("day: not taken: links" in note for note in notes(chat))


def test_the_trace_says_what_was_asked_and_what_was_taken() -> None:
    chat = Talk(ORDER)
    chat.user("order")
    chat.user("the biggest")
    assert chat.turn is not None and chat.turn.trace.rule == "a model looks for size, cups, day"
    chat.model('{"size": "Large", "cups": 2}')
    assert chat.turn.trace.rule == 'result: done: answers size "Large", cups "2"'
    assert next((each.flow, each.outcome) for each in chat.turn.trace.steps) == ("slot_filling", "found.order")


def test_each_question_is_counted_as_entered_once() -> None:
    chat = Talk(ORDER)
    chat.user(BIRTHDAY)
    assert chat.turn is not None
    counted = list(chat.turn.results)
    chat.model('{"size": "Large"}')
    counted += chat.turn.results
    entered = [each[1] for each in counted if each[0] == "order" and each[3] == ENTERED]
    assert entered == ["size", "cups"]


# -- free texts ---------------------------------------------------------------------------------------------------

CARD = """
flow: card
start: {words: [card], pattern: '(?i)card .*'}
slots: {fill: [cups, name, note], model: true}
vars: {cups: {type: integer, min: 1, max: 9}, name: {type: text, max: 12}, note: {type: answer, accepts: [text, image]}}
steps:
  cups: {ask: How many?, save: cups}
  name: {ask: For whom?, save: name}
  note: {ask: What shall it say?, save: note}
  done: {say: "{{ name }}: {{ note.text }}", then: end}
"""


@pytest.mark.parametrize(
    ("said", "answer", "name"),
    [
        ("card for Ann  Lee, 2", "ann lee", "Ann  Lee"),
        ("card for Ann, 2", "Ann.", "Ann"),
        ("card für 田中さん, 2", "田中さん", "田中さん"),
        ("card for Annabel, 2", "Ann", None),  # a part of a word
        ("card for my wife, 2", "Unknown", None),
        ("card for Ann Elizabeth Lee, 2", "Ann Elizabeth Lee", None),  # too long
        ("card for Ann, 2", "", None),
    ],
)
def test_a_free_text_must_be_words_of_the_message(said: str, answer: str, name: str | None) -> None:
    chat = Talk(CARD)
    chat.user(said)
    assert "name: (text, word for word as the message says it) For whom?" in chat.prompt[0]["content"]
    assert chat.model(json.dumps({"name": answer})) == (["For whom?"] if name is None else ["What shall it say?"])
    assert chat.vars["name"] == name


def test_words_that_answer_two_questions_answer_neither() -> None:
    chat = Talk(CARD)
    chat.user("card for Ann, 2")
    assert chat.model('{"name": "Ann", "note": "ann"}') == ["For whom?"]
    assert "card/name: not taken, another question has the same answer: Ann" in notes(chat)


def test_what_is_written_where_a_free_text_is_asked_for_is_the_whole_answer() -> None:
    chat = Talk(CARD)
    chat.user("card 2")
    assert chat.model("{}") == ["For whom?"]
    assert chat.user("3 friends") == ["What shall it say?"]
    assert (chat.vars["cups"], chat.vars["name"], len(chat.asked)) == (2, "3 friends", 1)


def test_an_answer_that_is_too_long_for_its_question_may_hold_a_shorter_one() -> None:
    chat = Talk(CARD)
    chat.user("card")
    chat.user("2")
    assert chat.user("the name of my friend is Ann") == []
    assert chat.model('{"name": "Ann"}') == ["What shall it say?"]
    assert chat.vars["name"] == "Ann"


def test_a_free_text_is_not_corrected_by_a_later_message() -> None:
    chat = Talk(CARD)
    chat.user("card for Ann, 2")
    chat.model('{"name": "Ann"}')
    assert chat.user("actually, for Bob") == ["Ann: actually, for Bob"]


# -- what happens meanwhile -----------------------------------------------------------------------------------------


def test_an_agent_who_takes_over_answers_instead() -> None:
    chat = Talk(ORDER)
    chat.user("order")
    chat.user("the biggest")
    chat.take(ConversationAssigned("a1", CONTACT, chat.now, agent="Ann"))
    assert chat.at == "order/size"
    assert chat.model(ANSWER) == []
    assert chat.turn is not None and chat.turn.trace.rule == "late result: dropped"
    chat.closed()
    assert chat.user("hello?") == [SIZE]


def test_an_answer_after_the_end_of_the_conversation_is_dropped() -> None:
    chat = Talk(ORDER)
    chat.user(BIRTHDAY)
    chat.reset()
    assert chat.model(ANSWER) == []
    assert chat.at is None


@pytest.mark.parametrize(
    ("edit", "said", "at"),
    [
        (("ask: Which size?", "ask: What size?"), [["What size?", "Small", "Large"]], "order/size"),
        (("size: {ask", "kind: {ask"), [], None),
        (("  name: {ask: And your name?, save: name}\n", ""), [["Which size?", "Small", "Large"]], "order/size"),
        (("{fill: [size, cups, day], model: true}", "[size, cups, day]"), ["Small or large?"], "order/size"),
        (("slots: {fill: [size, cups, day], model: true}\n", ""), ["Small or large?"], "order/size"),
    ],
)  # fmt: skip
def test_an_edit_meanwhile_loses_nothing(edit: tuple[str, str], said: list[Any], at: str | None) -> None:
    chat = Talk(ORDER)
    chat.user("order")
    chat.user("for my birthday")
    edited = ORDER.replace(*edit)
    if edit[0].startswith("size:"):
        edited = edited.replace("[size, cups", "[kind, cups")
    if "name" in edit[0]:
        edited = edited.replace(", {{ name }}", "")
    chat.edit(edited)
    assert chat.model('{"day": "2030-05-10"}') == said
    assert chat.at == at


def test_a_start_without_a_model_meanwhile_is_as_if_none_had_been_asked() -> None:
    chat = Talk(ORDER)
    chat.user(BIRTHDAY)
    chat.library = library_of(ORDER).without_model()
    assert chat.model_ends("down") == [SIZE]


def test_a_message_of_which_a_model_was_asked_what_it_is_about_is_not_lost_without_that_model() -> None:
    flows = "flow: hours\nstart: {about: when we are open}\nsteps: {a: {say: From 9., then: end}}\n---\nflow: other\nstart: {otherwise: true}\nsteps: {a: {say: Sorry?, then: end}}\n"
    chat = Talk(flows)
    chat.user("how long are you there")
    chat.library = library_of(flows).without_model()
    assert chat.model_ends("down") == ["Sorry?"]


# -- what is written ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (("fill: [size, cups, day], ", ""), 'E105 flow "order": slots: "fill" is missing'),
        (("model: true", "model: perhaps"), "perhaps"),
        (("[size, cups, day]", "[size, cup]"), 'E102 slots: no step "cup" in flow order (did you mean "cups"?)'),
        (("flow: order", "flow: slot_filling"), 'flow "slot_filling": flows that have `slots: {model: true}` or `understand: model` make a flow'),
    ],
)  # fmt: skip
def test_what_is_wrong_with_slots_is_a_problem(edit: tuple[str, str], problem: str) -> None:
    found = problems_of(ORDER.replace(*edit))
    assert any(problem in each for each in found), found
