"""The topics by which a flow starts: known by their words, in every language, before the words of other flows."""

import pytest

from bot.language.answers.topics import PERSON, topics_in
from tests.talk import BOT, Talk, problems_of

FLOWS = """
flow: main
start: {words: [hi], otherwise: true}
steps: {menu: {ask: What would you like?, buttons: {Order a coffee: /order, Book a table: /book}}}
---
flow: order
start: {words: [coffee, order, espresso], match: anywhere}
interrupted: resume
vars: {drink: text}
steps: {drink: {ask: Which drink?, options: [Espresso, Tea], save: drink}, done: {say: "{{ drink }}!", then: end}}
---
flow: book
start: {words: [book, reservation], match: anywhere}
steps: {day: {ask: For which day?, then: end}}
---
flow: urgent
start: {topics: crisis}
steps: {now: {say: Call 112., then: end}}
---
flow: sorry
start: {topics: complaint}
steps: {sorry: {say: Sorry to hear that., then: end}}
---
flow: where
start: {topics: place}
steps: {where: {say: At the harbour., then: end}}
---
flow: counter
start: {topics: [existing, person, question]}
steps: {counter: {say: One moment., then: end}}
"""
MENU = ["What would you like?", "Order a coffee", "Book a table"]
DRINKS = ["Which drink?", "Espresso", "Tea"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("My coffee was cold", "Sorry to hear that."),
        ("my latte was lukewarm and the girl at the till was rude to me", "Sorry to hear that."),
        ("My espresso this morning was ice cold", "Sorry to hear that."),
        ("der Kaffee war wirklich sehr kalt", "Sorry to hear that."),
        ("oh great, thanks a lot for nothing", "Sorry to hear that."),
        ("wonderful, wrong again", "Sorry to hear that."),
        ("danke für nichts", "Sorry to hear that."),
        ("gracias por nada", "Sorry to hear that."),
        ("wheres your place excatly", "At the harbour."),
        ("whats ur address", "At the harbour."),
        ("how do I get there to drink a coffee", "At the harbour."),
        ("wo seid ihr?", "At the harbour."),
        ("where is my coffee", "One moment."),
        ("running 10 min late, sorry!!", "One moment."),
        ("i took a lot of pills", "Call 112."),
        ("wrong order!!! I asked for tea", "Sorry to hear that."),
        ("☕☕", [*DRINKS]),
        ("2 ☕ pls", [*DRINKS]),
        ("i dont want any esspresso", [f"Sorry, I didn't understand that.\n\n{MENU[0]}", *MENU[1:]]),
        ("i never orderd an esspresso", [f"Sorry, I didn't understand that.\n\n{MENU[0]}", *MENU[1:]]),
        ("my esspresso was lovely", [f"Sorry, I didn't understand that.\n\n{MENU[0]}", *MENU[1:]]),
        ("der Kaffee war kalt, ich will mein Geld zurück", "Sorry to hear that."),
        ("I need to cancel my reservation", "One moment."),
        ("is my order ready yet", "One moment."),
        ("can I speak to a human", "One moment."),
        ("do you have oat milk", "One moment."),
        ("Hi! Is the terrace open?", "One moment."),
        ("I dont want to live anymore", "Call 112."),
        ("aku mau bunuh diri", "Call 112."),
        ("no, I am not suicidal", "Call 112."),
        ("could someone make me a coffee", DRINKS),
        ("two coffees please", DRINKS),
        ("a coffe please", DRINKS),
        ("book me a table with someone nice", "For which day?"),
    ],
)
def test_a_topic_is_heard_in_a_first_message_and_at_the_menu(text: str, said: str | list[str]) -> None:
    assert Talk(FLOWS).user(text)[-1] in (said, ["Espresso", "Tea"])
    talk = Talk(FLOWS)
    talk.user("hi")
    assert talk.user(text)[-1] == said


def test_a_text_of_no_topic_gets_the_menu_with_a_reason_and_a_greeting_without() -> None:
    assert Talk(FLOWS).user("xyzzy plugh") == [[f"Sorry, I didn't understand that.\n\n{MENU[0]}", *MENU[1:]]]
    assert Talk(FLOWS).user("hello, good morning") == [MENU]
    assert Talk(FLOWS).user("what?") == [[f"Sorry, I didn't understand that.\n\n{MENU[0]}", *MENU[1:]]]


def test_where_the_menu_has_an_other_that_leads_on_the_text_goes_there() -> None:
    flows = FLOWS.replace("Book a table: /book}}", "Book a table: /book}, other: /counter}")
    assert Talk(flows).user("xyzzy plugh") == ["One moment."]


def test_the_words_of_a_flow_that_say_more_than_the_topic_win() -> None:
    flows = FLOWS.replace("reservation]", "cancel my reservation]")
    assert Talk(flows).user("I want to cancel my reservation please") == ["For which day?"]


def test_a_question_at_choices_goes_to_the_flow_for_questions_and_back() -> None:
    talk = Talk(FLOWS)
    talk.user("order")
    assert talk.user("what does it taste like") == ["One moment.", DRINKS]
    assert talk.user("is the tea hot?") == ["One moment.", DRINKS]
    assert talk.user("whats in an espresso") == ["One moment.", DRINKS]
    assert talk.user("tea you said?") == [[f"Sorry, I didn't understand that.\n\n{DRINKS[0]}", *DRINKS[1:]]]
    assert talk.user("tea") == ["Tea!"]


TYPED = """
flow: typed
start: {words: [typed]}
interrupted: resume
vars: {n: {type: integer, max: 9}, day: date, name: name, sure: boolean, photo: media}
steps:
  n: {ask: N?, save: n}
  day: {ask: Day?, save: day}
  name: {ask: Name?, save: name}
  sure: {ask: Sure?, save: sure}
  photo: {ask: Photo?, save: photo}
---
"""


@pytest.mark.parametrize(
    ("text", "is_called"),
    [
        ("a human please", True),
        ("can somebody ring me", True),
        ("ich möchte mit einem Menschen reden", True),
        ("my staff card is blue", False),
        ("could someone look at the lamp", False),
        ("a cake for one person", False),
        ("the chef is lovely", False),
        ("untuk 4 orang", False),
    ],
)
def test_a_person_is_called_by_a_text_that_asks_for_contact_or_ends_with_one(text: str, is_called: bool) -> None:
    assert (PERSON in topics_in(text)) == is_called


@pytest.mark.parametrize("answers", [["4", "tomorrow", "Ann", "yes"][:number] for number in range(5)])
def test_a_question_at_an_answer_with_a_type_goes_there_too(answers: list[str]) -> None:
    talk = Talk(TYPED + FLOWS)
    for text in ("typed", *answers):
        asked = talk.user(text)
    assert talk.user("how much does a large cake cost?") == ["One moment.", *asked]


@pytest.mark.parametrize("text", ["what?", "why", "could I have between 3 and 5?"])
def test_a_question_about_the_answer_gets_what_it_takes(text: str) -> None:
    talk = Talk(TYPED + FLOWS)
    talk.user("typed")
    (said,) = talk.user(text)
    assert said.endswith("N?") and "One moment" not in said


VALUES = """
flow: order
start: {words: [order]}
interrupted: resume
vars: {cups: {type: integer, min: 1, max: 9}, day: date, name: name, email: email, note: text}
steps:
  cups: {ask: How many?, save: cups}
  day: {ask: Which day?, save: day}
  name: {ask: Your name?, save: name}
  email: {ask: Your email?, save: email}
  note: {ask: A note?, save: note}
  done: {say: "{{ note }}!", then: end}
---
flow: counter
start: {topics: question}
steps: {counter: {say: One moment., then: end}}
"""


def test_a_question_at_a_number_a_day_a_name_or_an_address_goes_there_too_and_a_free_text_is_kept() -> None:
    talk = Talk(VALUES)
    talk.user("order")
    assert talk.user("how big are they?") == ["One moment.", "How many?"]
    assert talk.user("do you mean 4 or 5?") == ["A number, please, for example 4.\n\nHow many?"]
    assert talk.user("4") == ["Which day?"]
    assert talk.user("do you deliver") == ["One moment.", "Which day?"]
    assert talk.user("tomorrow") == ["Your name?"]
    assert talk.user("do I have to give my real name?") == ["One moment.", "Your name?"]
    assert talk.user("Ann") == ["Your email?"]
    assert talk.user("what do you need it for") == ["One moment.", "Your email?"]
    assert talk.user("ann@shop.example") == ["A note?"]
    assert talk.user("is it hot?") == ["is it hot?!"]


def test_the_trace_names_the_topic_and_the_words() -> None:
    talk = Talk(FLOWS)
    talk.user("My coffee was cold")
    assert talk.turn is not None and talk.turn.trace.rule == 'start of sorry: topic complaint, "was cold"'
    talk.user("order")
    talk.user("it was cold")
    assert talk.turn.trace.rule == 'interrupted by sorry: topic complaint, "was cold"'


def test_an_unknown_topic_and_a_topic_of_two_flows_are_problems() -> None:
    (problem,) = problems_of(FLOWS.replace("topics: complaint", "topics: complaints"))
    assert "complaint" in problem
    (problem,) = problems_of(FLOWS.replace("topics: crisis", "topics: complaint"))
    assert "the topic complaint is taken" in problem


@pytest.mark.parametrize("text", ["stop it", "please stop", "ok stop, thanks"])
def test_a_word_is_heard_beside_words_that_change_nothing(text: str) -> None:
    talk = Talk(FLOWS, BOT + "words: {stop: {say: All right., then: end}}\n")
    talk.user("order")
    assert talk.user(text) == ["All right."]


def test_a_word_within_another_sentence_is_none() -> None:
    talk = Talk(FLOWS, BOT + "words: {stop: {say: All right., then: end}}\n")
    talk.user("order")
    assert talk.user("I can't stop laughing") != ["All right."]


@pytest.mark.parametrize(
    "text",
    [
        *("stop sending me messages", "please unsubscribe me", "no more messages please", "pls no more polls"),
        *("please dont send me these surveys any more", "Do not contact me again.", "don't send me any more reminders"),
        *(
            "schickt mir bitte nichts mehr",
            "no me envíen más encuestas",
            "ne m'envoyez plus rien",
            "non mandatemi più nulla",
        ),
        *("não me mandem mais nada", "stuur me niets meer", "больше не присылайте мне опросы", "artık göndermeyin"),
    ],
)
def test_opting_out_is_heard_in_other_words(text: str) -> None:
    bot = BOT + "opt_out: {words: [stop], say: No more., back: [start]}\n"
    talk = Talk(FLOWS, bot)
    talk.user("hi")
    assert talk.user(text) == ["No more."]
    for other in (
        "could you stop sending me to the menu?",
        "don't send me the cake today",
        "schickt mir bitte keine Tüte",
    ):
        assert Talk(FLOWS, bot).user(other) != ["No more."]


TEMPLATE = """
flow: main
start: {otherwise: true}
steps:
  invite: {template: {name: invite, language: en}, replies: {With pleasure: yes, Not now: no}}
  yes: {say: Great!, then: end}
  no: {say: Another time., then: end}
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("yes please", "Great!"),
        ("sure", "Great!"),
        ("with pleasure, thanks", "Great!"),
        ("no thanks", "Another time."),
        ("who knows", "Please choose one of these: With pleasure or Not now."),
    ],
)
def test_a_template_takes_a_yes_and_says_what_it_takes(text: str, said: str) -> None:
    talk = Talk(TEMPLATE)
    talk.user("hi")
    assert talk.user(text) == [said]


CAKES = """
flow: main
start: {words: [cakes], otherwise: true}
vars: {cake: text, note: text}
steps:
  cake: {ask: Which?, options: [Almond cake, Carrot cake, My own], save: cake}
  sure: {ask: "{{ cake }}?", buttons: {"Yes, please": note, Another: cake}}
  note: {ask: A note?, save: note, skip: ["no"]}
  done: {say: "{{ note | default('none') }}", then: end}
"""


@pytest.mark.parametrize("text", ["the almond one", "almond", "almond cakes", "almondcake"])
def test_a_choice_is_named_by_the_words_by_which_it_differs(text: str) -> None:
    talk = Talk(CAKES)
    talk.user("cakes")
    assert talk.user(text)[0][0] == "Almond cake?"
    assert talk.user("ok do it") == ["A note?"]
    assert talk.user("nope, thanks") == ["none"]


REPAIRS = """
flow: repairs
start: {otherwise: true}
steps: {day: {ask: Which day?}}
---
flow: person
start: {topics: question}
steps: {now: {say: A colleague answers., then: end}}
"""


def test_a_request_in_the_form_of_a_question_is_no_question() -> None:
    assert Talk(REPAIRS).user("could somebody come on thursday?") == ["Which day?"]
    assert Talk(REPAIRS).user("do you come on sundays?") == ["A colleague answers."]


@pytest.mark.parametrize("text", ["nope, all good", "no, that's all", "that's all, thanks", "nothing else"])
def test_a_goodbye_and_a_no_with_small_talk_skip_a_question_for_a_note(text: str) -> None:
    talk = Talk(CAKES)
    for each in ("cakes", "almond", "yes"):
        talk.user(each)
    assert talk.user(text) == ["none"]


@pytest.mark.parametrize("text", ["no nuts, all good otherwise", "no sugar", "all good things"])
def test_a_note_that_begins_with_a_no_is_a_note(text: str) -> None:
    talk = Talk(CAKES)
    for each in ("cakes", "almond", "yes"):
        talk.user(each)
    assert talk.user(text) == [text]


@pytest.mark.parametrize(
    ("text", "said"),
    [("none of those work for me", "Fresh."), ("no, neither of these", "Fresh.")],
)
def test_a_refusal_of_the_choices_means_the_one_for_something_else(text: str, said: str) -> None:
    flow = "flow: a\nstart: {words: [hi]}\nsteps:\n  time:\n    ask: When?\n    options: {9 am: end, 10 am: end, Another day: day}\n  day: {say: Fresh., then: end}\n"
    talk = Talk(flow)
    talk.user("hi")
    assert talk.user(text) == [said]


@pytest.mark.parametrize("text", ["cake", "not almond", "almond or carrot"])
def test_no_choice_is_named_by_what_two_have_or_is_denied(text: str) -> None:
    talk = Talk(CAKES)
    talk.user("cakes")
    assert talk.user(text)[0][0].startswith("Sorry")


@pytest.mark.parametrize(
    "text", ["The icing was all melted", "it was both cold and stale", "my coffee and the cake too, all melted"]
)
def test_a_word_of_number_does_not_deny_a_topic(text: str) -> None:
    assert Talk(FLOWS).user(text) == ["Sorry to hear that."]


@pytest.mark.parametrize("text", ["it was not cold, and never stale", "no, not a complaint"])
def test_a_not_before_a_topic_denies_it(text: str) -> None:
    assert Talk(FLOWS).user(text) != ["Sorry to hear that."]


@pytest.mark.parametrize("text", ["the coffee was amazing, thank you so much!!", "your espresso was great. thanks"])
def test_praise_with_thanks_orders_nothing(text: str) -> None:
    assert Talk(FLOWS).user(text) == ["You're welcome!"]


@pytest.mark.parametrize(
    "text", ["the coffee was amazing", "The coffee we had on Saturday was half frozen, not amused"]
)
def test_what_is_told_without_thanks_starts_no_order(text: str) -> None:
    chat = Talk(FLOWS)
    chat.user(text)
    assert chat.at == "main/menu"


def test_a_was_in_another_clause_tells_nothing_of_what_is_ordered() -> None:
    chat = Talk(FLOWS)
    chat.user("the coffee please, it was for two")
    assert chat.at == "order/drink"


@pytest.mark.parametrize(
    "text",
    [
        "my cake was supposed to be ready at 8 and its still not there!!",
        "I sent the form last week and nobody has got back to me",
        "thank you for nothing",
        "niemand antwortet mir",
        "nadie responde",
    ],
)
def test_what_has_not_come_and_who_has_not_answered_is_a_complaint(text: str) -> None:
    assert Talk(FLOWS).user(text) == ["Sorry to hear that."]


def test_a_word_that_forbids_a_start_forbids_it_by_a_topic_too() -> None:
    flows = FLOWS.replace("{topics: complaint}", "{topics: complaint, unless: [poem]}")
    assert Talk(flows).user("my coffee was cold") == ["Sorry to hear that."]
    assert Talk(flows).user("a poem on how the coffee was cold") != ["Sorry to hear that."]


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("I don't order coffee", False),
        ("we never order espresso", False),
        ("no tea, a coffee", True),
        ("I order a coffee", True),
    ],
)
def test_a_word_behind_a_denied_word_of_the_same_flow_starts_nothing(text: str, starts: bool) -> None:
    assert (Talk(FLOWS).user(text) == [[*DRINKS]]) is starts
