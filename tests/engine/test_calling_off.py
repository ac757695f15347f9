"""A message that calls off: it leads where the bot's own word or choice for that leads."""

import pytest

from tests.talk import BOT, Talk

FLOWS = """\
flow: main
start: {words: [hi], otherwise: true}
interrupted: resume
vars: {cups: {type: integer, max: 9}, name: name}
steps:
  cups: {ask: How many?, save: cups}
  name: {ask: Your name?, save: name, words: {cancel: {say: No tea., then: end}}}
  sure: {ask: Shall we?, buttons: {"Yes": end, Call it off: {say: Called off., then: end}}}
---
flow: lost
start: {words: [drop everything]}
steps: {a: {say: Dropped., then: end}}
"""
WORDS = BOT + "words: {stop: {say: Bye!, then: end}, help: {say: Write stop.}}\n"


def at(step: str, bot: str = WORDS, flows: str = FLOWS) -> Talk:
    chat = Talk(flows, bot)
    for each in {"cups": ["hi"], "name": ["hi", "2"], "sure": ["hi", "2", "Ann"]}[step]:
        chat.user(each)
    assert chat.at == f"main/{step}"
    return chat


@pytest.mark.parametrize("text", ["something came up, forget it", "quit", "let's stop here", "stop texting me pls"])
def test_it_says_the_bots_word_that_leads_away(text: str) -> None:
    chat = at("cups")
    assert chat.user(text) == ["Bye!"]
    assert chat.turn is not None and (chat.at, chat.turn.trace.rule) == (None, 'word "stop"')


def test_answers_before_it_do_not_count() -> None:
    chat = Talk(FLOWS.replace("vars:", "slots: [cups]\nvars:"), WORDS)
    chat.user("hi")
    assert chat.user("2 please, no wait, forget it") == ["Bye!"]


def test_a_word_of_the_step_comes_first_and_a_name_is_no_such_word() -> None:
    assert at("name").user("quit") == ["No tea."]


def test_a_choice_for_it_counts_if_it_stands_in_the_message() -> None:
    assert at("sure").user("my wife has bought some, call it off") == ["Called off."]
    assert at("sure").user("never mind, too expensive") == ["Bye!"]


def test_a_word_that_leads_elsewhere_counts_if_it_stands_in_the_message() -> None:
    words = BOT + "words: {scrap that: /lost}\n"
    assert at("cups", words).user("too expensive, never mind") == ["All right. See you!"]
    assert at("cups", words).user("my wife has bought some, scrap that") == ["Dropped."]


def test_without_a_word_it_is_a_goodbye_and_the_question_is_not_asked_again() -> None:
    chat = at("cups", BOT)
    assert chat.user("something came up, forget it") == ["All right. See you!"]
    assert chat.user("3") == ["Your name?"]


@pytest.mark.parametrize("text", ["drop one", "please drop just one", "stop one"])
def test_a_word_beside_a_number_may_mean_a_part_and_is_asked_again(text: str) -> None:
    chat = at("cups", BOT + "words: {drop: {say: Bye!, then: end}, stop: {say: Bye!, then: end}}\n")
    chat.user(text)
    assert chat.at == "main/cups"


@pytest.mark.parametrize("text", ["don't forget it", "forget it, make it 3 or 4", "I can't stop now"])
def test_what_calls_nothing_off_is_asked_again(text: str) -> None:
    chat = at("cups")
    chat.user(text)
    assert chat.at == "main/cups"


def test_a_word_that_starts_another_flow_comes_first() -> None:
    assert (
        at("cups", flows=FLOWS.replace("drop everything", "cancel everything")).user("cancel everything")[0]
        == "Dropped."
    )


def test_a_step_whose_other_leads_elsewhere_gets_it() -> None:
    chat = at("cups", flows=FLOWS.replace("save: cups}", "save: cups, other: name}"))
    assert chat.user("something came up, forget it") == ["Your name?"]


def test_a_bot_that_hears_crises_hears_its_own_words_alone() -> None:
    crisis = FLOWS + "---\nflow: urgent\nstart: {topics: crisis}\nsteps: {a: {say: Call 112., then: end}}\n"
    chat = at("cups", flows=crisis)
    chat.user("I don't want this anymore")
    assert chat.at == "main/cups"
    chat.user("please make it stop")
    assert chat.at == "main/cups"
    assert chat.user("stop") == ["Bye!"]
    assert chat.user("i want it to stop") == ["How many?"]


def test_in_no_flow_only_a_wish_for_no_more_messages_counts() -> None:
    assert Talk(FLOWS, WORDS).user("please stop texting me") == ["Bye!"]
    assert Talk(FLOWS, WORDS).user("something came up, cancel it") == ["How many?"]
