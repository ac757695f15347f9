"""The words above a question that is asked again: that a reply was not understood, and what the question takes."""

import re
from itertools import pairwise
from typing import Any

import pytest

from bot.language.source.languages import WORDINGS
from tests.searches import over
from tests.talk import BOT, Talk

SORRY = "Sorry, I didn't understand that.\n\nWell?"
LANGUAGES = tuple(WORDINGS["yes"])
FLOW = """\
flow: main
start: {otherwise: true}
vars: {answer: {TYPE}}
steps:
  question: {ask: Well?, save: answer}
  done: {say: "Noted.", then: end}
"""


def at_question(type: str, keys: str = "", bot: str = BOT) -> Talk:
    talk = Talk(FLOW.replace("{TYPE}", type).replace("ask: Well?", f"ask: Well?{keys}"), bot)
    talk.user("hi")
    return talk


def wrong(talk: Talk, times: int, text: str = "xyzzy") -> list[list[Any]]:
    return [talk.user(text) for _ in range(times)]


@pytest.mark.parametrize(
    ("type", "text"),
    [
        ("integer", "A number, please, for example 4."),
        ("number", "A number, please, for example 4."),
        ("{type: integer, min: 10, max: 20}", "A number, please, for example 10."),
        ("date", "A date, please, for example 12 May."),
        ("{type: date, within: 3d}", "A date, please, for example 7 May."),
        ("{type: date, before: today}", "A date, please, for example 12 May."),
        ("time", "A time of day, please, for example 15:30."),
        ('{type: time, min: "9:00", max: "12:00"}', "A time of day, please, for example 09:00."),
        ("datetime", "A date and a time, please, for example 12 May 15:30."),
        ("boolean", "Please answer yes or no."),
        ("phone", "A phone number with its country code, please."),
        ("email", "An e-mail address, please, for example ann@example.com."),
        ("{type: media, kinds: [image]}", "A photo, please."),
        ("media", "A file, please."),
        ("location", "Please share a location."),
        ("{type: choice, of: [S, M, L]}", "Please choose one of these: S, M or L."),
        ("{type: text, max: 3}", "At most 3 characters, please."),
        ("{type: text, pattern: '[A-Z]{2}[0-9]', example: AB1}", "Please write it like this: AB1."),
    ],
)
def test_a_wrong_reply_is_told_what_the_question_takes(type: str, text: str) -> None:
    talk = at_question(type)
    again = f"{text}\n\nWell?"
    assert wrong(talk, 4) == [[again], ["Well?"], [again], ["Well?"]]


@pytest.mark.parametrize(
    ("type", "reply", "text"),
    [
        ("{type: integer, min: 1, max: 60}", "99", "From 1 to 60, please."),
        ("{type: integer, min: 1, max: 60}", "0", "From 1 to 60, please."),
        ("{type: integer, max: 1500}", "2000", "At most 1,500, please."),
        ("{type: number, min: 0.5}", "0.25", "At least 0.5, please."),
        ('{type: time, min: "9:00", max: "18:00"}', "7 am", "From 09:00 to 18:00, please."),
        ('{type: time, min: "9:00"}', "7 am", "Not before 09:00, please."),
        ("{type: date, within: 3d}", "12 May", "From 6 May 2030 to 9 May 2030, please."),
        ("{type: date, after: today}", "6 May 2030", "Not before 7 May 2030, please."),
        ("{type: date, after: 9999-12-31}", "today", "Not before 31 December 9999, please."),
        ("{type: date, before: today}", "tomorrow", "Not after 5 May 2030, please."),
        ("{type: date, after: today, within: 3d}", "today", "From 7 May 2030 to 9 May 2030, please."),
        ("{type: datetime, after: now}", "5 May 2030 8:00", "Not before 6 May 2030, 10:00, please."),
    ],
)
def test_a_value_beyond_its_bounds_is_told_them(type: str, reply: str, text: str) -> None:
    assert wrong(at_question(type), 2, reply) == [[f"{text}\n\nWell?"], ["Well?"]]


@over(4, "language", LANGUAGES)
@pytest.mark.parametrize("type", ["{type: integer, max: 3}", "{type: integer, min: 10}", "{type: integer, min: 6, max: 8}",
                                  "{type: date, after: 2030-05-20}", "{type: date, before: 2030-05-07}"])  # fmt: skip
def test_bounds_are_told_in_every_language(language: str, type: str) -> None:
    talk = at_question(type, bot=BOT + f"languages: [{language}]\n")
    ((said),) = wrong(talk, 1, "2030-05-09" if "date" in type else "5" if "min: 10" in type else "9")[0]
    bound = "2030" if "date" in type else re.findall(r"\d+", type)[-1]
    assert bound in said and ("please" in said) == (language == "en")


def test_a_question_without_a_letter_is_asked_again_as_it_is() -> None:
    talk = Talk(FLOW.replace("{TYPE}", "integer").replace("Well?", '"?"'))
    talk.user("hi")
    assert wrong(talk, 2) == [["?"], ["?"]]


@pytest.mark.parametrize("keys", ["", ", buttons: [Tea, Milk]"])
def test_no_two_wrong_replies_in_a_row_get_the_same(keys: str) -> None:
    said = wrong(at_question("text" if keys else "integer", keys), 6)
    assert all(one != other for one, other in pairwise(said))


def test_a_menu_is_not_repeated_without_a_reason() -> None:
    assert wrong(at_question("text", ", buttons: [Tea, Milk]"), 1) == [[[SORRY, "Tea", "Milk"]]]


def test_a_word_between_two_wrong_replies_begins_anew() -> None:
    talk = at_question("integer", bot=f"{BOT}\nwords: {{once more: {{then: again}}}}")
    again = ["A number, please, for example 4.\n\nWell?"]
    assert wrong(talk, 1) == [again]
    assert talk.user("once more") == ["Well?"]
    assert wrong(talk, 1) == [again]


def test_choices_are_named_and_shown_again() -> None:
    talk = at_question("text", ", buttons: [Tea, Coffee, Milk]")
    buttons = ["Tea", "Coffee", "Milk"]
    first, second = wrong(talk, 2)
    assert first == [[SORRY, *buttons]]
    assert second == [["Please choose one of these: Tea, Coffee or Milk.\n\nWell?", *buttons]]
    assert talk.user("Tea") == ["Noted."]


def test_of_many_choices_the_first_ones_are_named() -> None:
    talk = at_question("text", ", options: [A, B, C, D, E, F, G, H, I, J, K]")
    _, ((text, *_),) = wrong(talk, 2)
    assert text == "Please choose one of these: A, B, C, D, E, F, G, H, I, J …\n\nWell?"


def test_a_question_that_takes_a_value_beside_its_choices_asks_for_the_value() -> None:
    talk = at_question("date", ", buttons: {Today: {value: 2030-05-06}}, accepts: text")
    (((text, *_),),) = wrong(talk, 1)
    assert text == "A date, please, for example 12 May.\n\nWell?"


def test_a_file_for_words_is_asked_for_in_words() -> None:
    talk = at_question("text")
    assert [talk.photo(), talk.photo()] == [["Please write it as a text.\n\nWell?"], ["Well?"]]


@pytest.mark.parametrize("retry", ["say: Sorry?", "say: Sorry?, then: again", "ask: A number?", "then: end"])
def test_a_retry_with_words_or_a_target_of_its_own_says_them_alone(retry: str) -> None:
    talk = at_question("integer", f", retry: {{{retry}}}")
    assert not any("please" in str(text) for said in wrong(talk, 3) for text in said)


def test_a_retry_that_only_counts_has_the_built_in_words() -> None:
    bot = BOT.replace("{timeout", "{retry: {max: 2, else: end}, timeout")
    talk = at_question("integer", bot=bot)
    assert wrong(talk, 3) == [["A number, please, for example 4.\n\nWell?"], ["Well?"], []]


def test_the_variables_own_words_come_before() -> None:
    talk = at_question("{type: integer, error: Digits!}")
    assert wrong(talk, 3) == [["Digits!"]] * 3


def test_where_no_example_is_an_answer_the_question_stands_alone() -> None:
    talk = at_question('{type: integer, check: {if: "it > 1000"}}')
    assert wrong(talk, 3) == [["Well?"], ["Well?"], ["Well?"]]


def test_the_bots_own_wording_comes_first() -> None:
    talk = at_question("integer", bot=BOT + 'wordings: {please_number: "Digits, like {{ value }}!"}\n')
    assert wrong(talk, 1) == [["Digits, like 4!\n\nWell?"]]


def test_a_long_question_stands_alone() -> None:
    question = "Well? " + "x" * 1000
    flow = FLOW.replace("{TYPE}", "text").replace("ask: Well?", f'ask: "{question}", buttons: [A, B]')
    talk = Talk(flow)
    talk.user("hi")
    assert wrong(talk, 2)[1] == [[question, "A", "B"]]


@over(4, "language", LANGUAGES)
@pytest.mark.parametrize("type", ["integer", "date", "time", "datetime", "email"])
def test_an_example_is_an_answer_in_every_language(language: str, type: str) -> None:
    talk = at_question(type, bot=BOT + f"languages: [{language}]\n")
    ((text),) = talk.user("xyzzy")
    hint = text.removesuffix("\n\nWell?")
    assert hint != text
    before, after = (
        WORDINGS[{"datetime": "please_date_and_time", "integer": "please_number"}.get(type, f"please_{type}")][language]
        .replace("ann@example.com", "{value}")
        .split("{value}")
    )
    example = hint.removeprefix(before).removesuffix(after)
    assert talk.user(example) == ["Noted."]


ASKED = ("integer", "date", "time", "datetime", "boolean", "phone", "email", "name", "location", "media", "text",
         "{type: media, kinds: [image]}", "{type: choice, of: [S, M, L]}", "{type: text, max: 3}",
         "{type: text, pattern: '[A-Z]{2}[0-9]', example: AB1}")  # fmt: skip


@over(5, "type", ASKED)
def test_in_every_language_no_two_wrong_replies_in_a_row_get_the_same(type: str) -> None:
    first = set()
    for language in LANGUAGES:
        talk = at_question(type, bot=BOT + f"languages: [{language}]\n")
        replies = [talk.user("xyzzy?") if type != "text" else talk.photo("https://files.example/1") for _ in range(4)]
        assert all(one != other for one, other in pairwise(replies)), language
        first.add(str(replies[0]))
    assert len(first) == len(LANGUAGES), "each in its own words"


def test_a_question_for_any_text_takes_the_longest_message_and_says_its_own_bound() -> None:
    longest = "word " * 13_107 + "."
    assert len(longest) == 65_536
    talk = Talk(FLOW.replace("{TYPE}", "text").replace('say: "Noted."', "ask: More?"))
    talk.user("hi")
    assert talk.user(longest) == ["More?"] and talk.vars["answer"] == longest
    talk = at_question("{type: text, max: 60}")
    assert wrong(talk, 1, longest) == [["At most 60 characters, please.\n\nWell?"]]
