"""Small talk: answered where nothing else takes it, without a step being left and without a wrong answer."""

import pytest

from tests.talk import BOT, Talk, problems_of

FLOWS = """
flow: main
start: {words: [start], otherwise: true}
steps:
  menu:
    ask: What would you like?
    options: {Tea: cups, Hours: {words: [opening hours], then: hours}}
  hours: {say: We are always open., then: end}
  cups: {ask: How many cups?, save: cups}
  name: {ask: Your name?, save: name}
  done: {say: "{{ cups }} for {{ name }}.", then: end}
vars: {cups: {type: integer, min: 1, max: 9}, name: text}
---
flow: order
start: {words: [order]}
steps: {a: {say: Ordered., then: end}}
"""
HOURS = 'hours: {shop: {mon-sat: "8:00-19:00"}}\n'
MENU = ["What would you like?", "Tea", "Hours"]


def at_cups(bot: str = BOT + HOURS) -> Talk:
    talk = Talk(FLOWS, bot)
    talk.user("hello")
    talk.user("tea")
    return talk


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("thanks!", "You're welcome!"),
        ("ok thank you so much", "You're welcome!"),
        ("gracias", "You're welcome!"),
        ("Hello?", "Hello!"),
        ("😊", "🙂"),
    ],
)
def test_small_talk_at_a_question_is_answered_above_it_and_is_no_wrong_answer(text: str, said: str) -> None:
    talk = at_cups()
    assert talk.user(text) == [f"{said}\n\nHow many cups?"]
    assert talk.session.frame is not None and talk.session.frame.question.retries == 0
    assert talk.user("2") == ["Your name?"]


@pytest.mark.parametrize("text", ["when are you open?", "are you open on sunday?", "wann habt ihr auf?", "jam buka"])
def test_the_opening_hours_are_said_and_then_the_question(text: str) -> None:
    assert at_cups().user(text) == ["Mon-Sat 8:00-19:00. Now open until 19:00.", "How many cups?"]


PERSON = "---\nflow: person\nstart: {topics: person}\nsteps: {call: {say: One moment., then: end}}\n"


@pytest.mark.parametrize(("text", "first"), [("on saturday", "Mon-Sat 8:00-19:00."), ("now", "One moment.")])
def test_the_question_when_a_person_is_there_on_a_day_is_one_about_the_hours(text: str, first: str) -> None:
    talk = Talk(FLOWS + PERSON, BOT + HOURS)
    assert talk.user(f"when can I reach a real person {text}")[0].startswith(first)


def test_without_hours_it_calls_for_a_person() -> None:
    assert Talk(FLOWS + PERSON).user("when can I reach a real person on saturday") == ["One moment."]


def test_the_opening_hours_of_a_bot_without_any_are_a_wrong_answer() -> None:
    talk = at_cups(BOT)
    talk.user("are you open?")
    assert talk.session.frame is not None and talk.session.frame.question.retries == 1


def test_several_hours_have_their_names_and_the_contacts_language_decides() -> None:
    hours = 'hours: {shop: {mon-fri: "8:00-18:00", sat: "8:00-13:00"}, late_bar: {fri-sun: "20:00-2:00"}}\n'
    talk = Talk(FLOWS, BOT + "languages: [de]\n" + hours)
    (said,) = talk.user("wann habt ihr offen")
    assert said == (
        "Shop: Mo.-Fr. 8:00-18:00; Sa. 8:00-13:00. Jetzt geöffnet bis 18:00.\n"
        "Late bar: Fr.-So. 20:00-2:00. Jetzt geschlossen, wieder geöffnet: Freitag 20:00."
    )


def test_help_says_what_the_question_takes_and_which_words_work() -> None:
    bot = BOT + 'words: {stop: {say: Bye!, then: end}, staff: {if: "1 == 2", then: end}}\n'
    talk = at_cups(bot)
    assert talk.user("help me please") == [
        "A number, please, for example 4.\nYou can write: stop.",
        "How many cups?",
    ]


def test_a_word_an_answer_a_start_and_a_question_for_free_text_come_first() -> None:
    talk = Talk(FLOWS, BOT + HOURS + "words: {thanks: {say: No problem.}}\n")
    assert talk.user("thanks") == ["No problem."]
    talk.user("start")
    assert talk.user("opening hours") == ["We are always open."]
    talk = at_cups()
    talk.user("3")
    assert talk.user("thanks") == ["3 for thanks."]


def test_outside_of_all_flows_a_greeting_starts_the_flow_with_otherwise_and_thanks_do_not() -> None:
    talk = Talk(FLOWS, BOT + HOURS)
    assert talk.user("thanks") == ["You're welcome!"]
    assert talk.user("are you open?") == ["Mon-Sat 8:00-19:00. Now open until 19:00."]
    assert talk.session.frame is None
    assert talk.user("good morning") == [MENU]
    talk.user("hours")
    assert talk.user("👍") == ["🙂"], "it does not start anew"
    assert talk.user("help") == ["You can write: order.", MENU]


def test_a_question_about_hours_starts_no_flow_by_a_word_in_it_and_chooses_nothing() -> None:
    flows = FLOWS.replace("words: [order]", "words: [order, coffee], match: anywhere")
    said = "Mon-Sat 8:00-19:00. Now open until 19:00."
    assert flows != FLOWS
    assert Talk(flows, BOT + HOURS).user("Tell me until what time I can come for a coffee today?") == [said]
    assert Talk(flows, BOT + HOURS).user("a coffee please, are you open on sunday?") != [said]


def test_a_step_whose_other_leads_elsewhere_gets_what_is_no_courtesy() -> None:
    other = FLOWS.replace("save: cups}", "save: cups, other: name}")
    talk = Talk(other, BOT)
    talk.user("hello"), talk.user("tea")
    assert talk.user("thanks") == ["You're welcome!\n\nHow many cups?"]
    assert talk.user("are you open?") == ["Your name?"]
    says = FLOWS.replace("save: cups}", "save: cups, other: {say: Numbers only.}}")
    talk = Talk(says, BOT)
    talk.user("hello"), talk.user("tea")
    assert talk.user("thanks") == ["You're welcome!\n\nHow many cups?"]


@pytest.mark.parametrize("text", ["I need time!", "one moment please", "hold on", "un momento por favor", "brb"])
def test_who_needs_time_is_not_asked_again(text: str) -> None:
    talk = at_cups()
    assert talk.user(text) == ["No hurry, take your time."]
    assert talk.user("2") == ["Your name?"]


def test_who_asks_whom_they_write_to_is_told_the_bots_name() -> None:
    said = "This is Test, an automatic assistant."
    assert at_cups().user("are you a bot?") == [f"{said}\n\nHow many cups?"]
    assert Talk(FLOWS, BOT).user("who is this?") == [said, MENU]


@pytest.mark.parametrize("text", ["bye!", "never mind", "sorry, wrong number", "that's all thanks"])
def test_a_goodbye_in_no_flow_starts_nothing(text: str) -> None:
    assert Talk(FLOWS, BOT).user(text) in (["All right. See you!"], ["You're welcome!"])


def test_a_bot_hears_the_topics_that_it_names_and_has_its_own_words() -> None:
    talk = at_cups(BOT + "small_talk: [thanks]\nwordings: {welcome: Any time!}\n")
    assert talk.user("thx") == ["Any time!\n\nHow many cups?"]
    talk.user("hello")
    assert talk.session.frame is not None and talk.session.frame.question.retries == 1
    talk = at_cups(BOT + "small_talk: []\n")
    talk.user("thx")
    assert talk.session.frame is not None and talk.session.frame.question.retries == 1


def test_an_unknown_topic_is_a_problem() -> None:
    (problem,) = problems_of(FLOWS, BOT + "small_talk: [thank]\n")
    assert "thanks" in problem


@pytest.mark.parametrize("text", ["thanks, but I want tea", "?", "hello I need a table for two on Friday"])
def test_a_message_that_says_more_is_no_small_talk(text: str) -> None:
    talk = at_cups()
    talk.user(text)
    assert talk.session.frame is not None and talk.session.frame.question.retries == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("thank u for the lovely breakfast on sunday 🌞", "You're welcome!"),
        ("we had a brilliant time, thank you all!", "You're welcome!"),
        ("you guys are awesome", "Thank you! That is good to hear."),
    ],
)
def test_thanks_and_praise_with_words_of_their_own_start_nothing(text: str, said: str) -> None:
    assert Talk(FLOWS, BOT).user(text) == [said]
    talk = Talk(FLOWS, BOT)
    talk.user("hello")
    assert talk.user(text) == [[f"{said}\n\nWhat would you like?", "Tea", "Hours"]]


def test_praise_begins_a_survey_whose_answers_praise() -> None:
    survey = "flow: main\nstart: {otherwise: true}\nsteps: {stars: {ask: How was it?, options: [Wonderful, Amazing, Poor]}}\n"
    talk = Talk(survey, BOT)
    talk.user("you guys are awesome")
    assert talk.at == "main/stars"


def test_a_bot_that_hears_crises_leaves_thanks_in_many_words_to_its_flows() -> None:
    crisis = FLOWS + "---\nflow: urgent\nstart: {topics: crisis}\nsteps: {a: {say: Call 112., then: end}}\n"
    assert "You're welcome!" not in Talk(crisis, BOT).user("thank you for everything, I loved you all")


def test_a_first_goodbye_to_a_bot_that_hears_crises_starts_its_flow() -> None:
    crisis = FLOWS + "---\nflow: urgent\nstart: {topics: crisis}\nsteps: {a: {say: Call 112., then: end}}\n"
    talk = Talk(crisis, BOT)
    talk.user("goodbye")
    assert talk.at == "main/menu"
    assert Talk(FLOWS, BOT).user("goodbye") == ["All right. See you!"]


@pytest.mark.parametrize("text", ["have to check with my mum, brb", "im at work, ask me tonight", "not now, later"])
def test_who_puts_it_off_with_a_reason_is_not_asked_again(text: str) -> None:
    assert at_cups().user(text) == ["No hurry, take your time."]


@pytest.mark.parametrize(
    "text",
    [
        *("2 teas, one moment please", "I want tea, one sec", "let me see the menu"),
        *("one moment, three teas", "hold on, it's two", "no time limits"),
    ],
)
def test_a_wish_or_a_figure_beside_a_request_for_time_is_no_small_talk(text: str) -> None:
    assert at_cups().user(text) != ["No hurry, take your time."]


@pytest.mark.parametrize(
    ("text", "is_reminded"), [("bye", False), ("not today", False), ("thanks!", True), ("one moment", True)]
)
def test_a_farewell_ends_the_reminders_of_its_question(text: str, is_reminded: bool) -> None:
    reminded = 'save: cups, remind: {after: 1h, max: 2, say: "Still there?"}}'
    talk = Talk(FLOWS.replace("save: cups}", reminded), BOT + HOURS)
    talk.user("hello")
    talk.user("tea")
    talk.user(text)
    assert (talk.wait("61m") == ["Still there?"]) is is_reminded
    assert talk.user("2") == ["Your name?"]
