"""The first message of a conversation answers the first questions, and choices hear the starts of their flows."""

from typing import Any

import pytest

from tests.talk import BOT, Talk, problems_of

CLINIC = """
flow: main
start: {words: [hi, hello], otherwise: true}
steps:
  menu:
    ask: What do you need?
    options: {Book a visit: /book, Opening hours: /hours, The front desk: /desk}
---
flow: book
start: {words: [book, appointment]}
vars: {service: {type: choice, of: [checkup, cleaning]}, day: {type: date, after: today}}
steps:
  service: {ask: Which service?, options: {Check-up: {value: checkup}, Cleaning: {value: cleaning}}, save: service}
  day: {ask: Which day?, save: day}
  done: {say: "{{ service }} on {{ day | date }}.", then: end}
---
flow: hours
start: {words: [hours, when are you open]}
steps: {hours: {say: From 9 to 18., then: end}}
---
flow: desk
steps: {desk: {say: The desk., then: end}}
"""
MENU = ["What do you need?", "Book a visit", "Opening hours", "The front desk"]
SERVICE = ["Which service?", "Check-up", "Cleaning"]


SORRY = "Sorry, I didn't understand that.\n\n"


def not_understood(question: list[str]) -> list[str]:
    """The question as it is asked after a text that is no answer."""
    return [f"{SORRY}{question[0]}", *question[1:]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Book a visit", SERVICE),
        ("I need an appointment", SERVICE),
        ("book a check-up", "Which day?"),
        ("book a check-up for Friday", "checkup on 10 May 2030."),
        ("book a cleaning on 12 June please", "cleaning on 12 June 2030."),
        ("book a check-up for Friday or Saturday", "Which day?"),
        ("a check-up or a cleaning, I need an appointment", SERVICE),
        ("I need an appointment, not a cleaning", SERVICE),
        ("so, when are you open?", "From 9 to 18."),
        ("what are your opening hours", "From 9 to 18."),
        ("Hi", MENU),
        ("hello there", MENU),
        ("I don't need an appointment", not_understood(MENU)),
        ("I need to cancel my appointment", not_understood(MENU)),
        ("My appointment was a disaster", not_understood(MENU)),
        ("appointment hours", not_understood(MENU)),
        ("something else", not_understood(MENU)),
    ],
)
def test_the_first_message_answers_the_first_questions_or_they_are_asked(text: str, said: Any) -> None:
    assert Talk(CLINIC).user(text) == [said]


def test_the_trace_says_what_the_first_message_has_answered() -> None:
    talk = Talk(CLINIC)
    talk.user("book a check-up for Friday")
    assert talk.turn is not None
    assert talk.turn.trace.rule == (
        'start of book: wish to book, "book": answers service "check-up": answers day "Friday"'
    )


@pytest.mark.parametrize("text", ["I need an appointment", "an appointment for Friday please"])
def test_a_choice_hears_the_words_that_start_its_flow(text: str) -> None:
    talk = Talk(CLINIC)
    talk.user("Hi")
    assert talk.user(text) == [SERVICE]


@pytest.mark.parametrize("text", ["an appointment in your opening hours", "no appointment", "my appointment was bad"])
def test_a_choice_is_asked_for_again_where_two_are_named_or_a_word_speaks_against_it(text: str) -> None:
    talk = Talk(CLINIC)
    talk.user("Hi")
    assert talk.user(text) == [not_understood(MENU)]


CAFE = """
flow: order
start: {otherwise: true}
vars: {drink: text, cups: {type: integer, min: 1, max: 12}, sugars: {type: integer, min: 0}, note: text}
steps:
  drink: {ask: Which drink?, options: [Cappuccino, Tea], save: drink}
  cups: {ask: How many?, save: cups}
  note: {ask: Anything else?, save: note}
  done: {say: "{{ cups }} {{ drink }}: {{ note }}", then: end}
"""


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Small cappuccino please", "How many?"),
        ("Can I have a cappuccino?", "How many?"),
        ("two cappuccino please", "How many?"),
        ("How much is a cappuccino", ["Which drink?", "Cappuccino", "Tea"]),
        ("Is the cappuccino hot?", ["Which drink?", "Cappuccino", "Tea"]),
        ("The cappuccino was cold", ["Which drink?", "Cappuccino", "Tea"]),
        ("cappuccino, no, tea", ["Which drink?", "Cappuccino", "Tea"]),
        ("anything but tea", ["Which drink?", "Cappuccino", "Tea"]),
        ("Ok", ["Which drink?", "Cappuccino", "Tea"]),
    ],
)
def test_a_choice_is_named_in_the_first_message(text: str, question: Any) -> None:
    assert Talk(CAFE).user(text) == [question]


def test_a_question_for_a_text_is_always_asked() -> None:
    talk = Talk("flow: a\nstart: {otherwise: true}\nvars: {x: text}\nsteps: {x: {ask: Say it., save: x}}")
    assert talk.user("Small cappuccino please") == ["Say it."]


def test_a_yes_or_no_is_not_read_in_a_first_message() -> None:
    flow = """
flow: a
start: {otherwise: true}
vars: {sure: boolean}
steps: {sure: {ask: Are you sure?, save: sure}, say: {say: "{{ sure }}", then: end}}
"""
    for text in ("yes", "Ok, I would like it", "no one is here"):
        assert Talk(flow).user(text) == ["Are you sure?"]


@pytest.mark.parametrize(("text", "said"), [("for 4", "Which time?"), ("at 4 pm", "16:00")])
def test_a_number_alone_answers_only_a_question_for_a_number(text: str, said: str) -> None:
    flow = """
flow: a
start: {otherwise: true}
vars: {at: time}
steps: {at: {ask: Which time?, save: at}, say: {say: "{{ at }}", then: end}}
"""
    assert Talk(flow).user(text) == [said]
    assert Talk(flow).user("at 4") == [["Did you mean one of these?", "04:00", "16:00"]]
    count = flow.replace("time}", "integer}")
    assert Talk(count).user("for 4 please") == ["4"]


def test_the_slots_of_a_flow_that_a_menu_leads_to_are_filled() -> None:
    flows = CLINIC.replace("start: {words: [book, appointment]}", "start: {words: [book]}\nslots: [service, day]")
    assert Talk(flows).user("book me on Friday for a check-up") == ["checkup on 10 May 2030."]


def test_a_model_looks_for_slots_in_a_sentence_at_the_menu_and_not_in_a_title() -> None:
    flows = CLINIC.replace(
        "start: {words: [book, appointment]}", "start: {words: [book]}\nslots: {fill: [service, day], model: true}"
    )
    talk = Talk(flows)
    talk.user("Hi")
    assert talk.user("book me for my birthday") == [] and len(talk.asked) == 1
    talk = Talk(flows)
    talk.user("Hi")
    assert talk.user("Book a visit") == [SERVICE] and talk.asked == []


def test_a_flow_that_interrupts_hears_the_text_as_well() -> None:
    flows = """
flow: order
start: {words: [order]}
interrupted: resume
vars: {cups: integer}
steps: {cups: {ask: How many?, save: cups}}
---
flow: book
start: {words: [book], match: anywhere}
vars: {day: date}
steps: {day: {ask: Which day?, save: day}, done: {say: "{{ day | date }}", then: end}}
"""
    talk = Talk(flows, BOT)
    talk.user("order")
    assert talk.user("book me for Friday") == ["10 May 2030", "How many?"]


def test_at_the_menu_of_the_bot_the_words_that_start_other_flows_are_heard() -> None:
    flows = CLINIC.replace("Opening hours: /hours, ", "")
    talk = Talk(flows)
    talk.user("Hi")
    assert talk.user("hours") == ["From 9 to 18."]
    assert talk.session.frames == ()


def test_an_answer_at_the_menu_comes_before_a_start() -> None:
    flows = CLINIC.replace("Opening hours: /hours", "Hours: /desk")
    talk = Talk(flows)
    talk.user("Hi")
    assert talk.user("hours") == ["The desk."]


def test_no_start_is_heard_at_a_question_that_saves_or_leads_nowhere() -> None:
    talk = Talk(f"{CAFE}---\nflow: hours\nstart: {{words: [hours]}}\nsteps: {{hours: {{say: From 9., then: end}}}}")
    talk.user("Hi")
    assert talk.user("hours") == [not_understood(["Which drink?", "Cappuccino", "Tea"])]


def test_a_message_does_not_lead_twice_to_the_flow_that_it_has_started() -> None:
    flows = (
        CLINIC
        + """
---
flow: where
start: {words: [address], match: anywhere}
steps: {where: {say: In Rua Nova., then: /main}}
"""
    )
    flows = flows.replace("The front desk: /desk", "Where are you?: /where")
    assert Talk(flows).user("your address please")[0] == "In Rua Nova."
    assert len(Talk(flows).user("your address please")) == 2


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("I want to order", True),
        ("I can't login, order please", True),
        ("I can't find the order page", True),
        ("I don't want to order", False),
        ("do not order anything", False),
        ("no order please", False),
    ],
)
def test_a_phrase_that_is_denied_starts_no_flow(text: str, starts: bool) -> None:
    flows = """
flow: order
start: {words: [order], match: anywhere}
steps: {what: {ask: What?}}
---
flow: main
start: {otherwise: true}
steps: {hello: {say: Hello.}}
"""
    assert Talk(flows).user(text) == (["What?"] if starts else ["Hello."])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("thank you, amazing coffee as always ❤️", ["You're welcome!"]),
        ("thanks, the coffee was lovely", ["You're welcome!"]),
        ("thanks, a coffee please", ["Which size?"]),
    ],
)
def test_thanks_for_a_thing_order_none_of_it(text: str, said: list[str]) -> None:
    flows = """
flow: order
start: {words: [coffee], match: anywhere}
steps: {size: {ask: "Which size?"}}
---
flow: main
start: {otherwise: true}
steps: {menu: {ask: "Yes?"}}
"""
    assert Talk(flows).user(text) == said


UNLESS = """
flow: cake
start: {words: [cake], match: anywhere, unless: [dry, complaint], about: they want a cake}
steps: {size: {ask: "Which size?", options: {Small: end, Large: end}}}
---
flow: main
start: {otherwise: true}
steps: {menu: {ask: "Yes?", options: {A cake: /cake, Something else: /desk}}}
---
flow: desk
steps: {desk: {say: The desk., then: end}}
"""


def test_a_flow_does_not_start_by_a_message_with_a_word_that_forbids_it() -> None:
    for library in (Talk(UNLESS).library, Talk(UNLESS).library.without_model()):
        assert Talk(library).user("a cake please") == [["Which size?", "Small", "Large"]]
    menu = ["Yes?", "A cake", "Something else"]
    without = Talk(UNLESS).library.without_model()
    assert Talk(without).user("The cake is so dry") == [not_understood(menu)]
    talk = Talk(without)
    talk.user("Hi")
    assert talk.user("The cake is so dry") == [not_understood(menu)]
    assert talk.user("cake") == [["Which size?", "Small", "Large"]]


def test_words_that_forbid_a_start_belong_to_words() -> None:
    (problem,) = problems_of("flow: a\nstart: {otherwise: true, unless: [dry]}\nsteps: {a: {say: A., then: end}}")
    assert 'E105 flow "a": start: "unless" is for words, topics and about (add one of them, or remove it)' in problem


@pytest.mark.parametrize("before", [(), ("Hi",)])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a check-up please", "Which day?"),
        ("a check-up on Friday", "checkup on 10 May 2030."),
        ("I need an appointment on Friday for a cleaning", "cleaning on 10 May 2030."),
        ("no check-up", MENU),
        ("how long does a check-up take", MENU),
        ("I had a cleaning", MENU),
    ],
)
def test_a_menu_hears_the_answers_of_the_flows_that_it_leads_to(before: tuple[str, ...], text: str, said: Any) -> None:
    talk = Talk(CLINIC)
    for each in before:
        talk.user(each)
    assert talk.user(text) == [not_understood(said) if said is MENU else said]


def test_menus_that_lead_to_each_other_ask_at_last() -> None:
    flows = """
flow: main
start: {otherwise: true}
steps: {menu: {ask: "One?", options: {To two: /two, Else: /two}}}
---
flow: two
start: {words: [two]}
steps: {menu: {ask: "Two?", options: {To one: /main, Two: /main}}}
"""
    assert Talk(flows).user("so, two please") == [not_understood(["One?", "To two", "Else"])]
    flows = flows.replace("Else: /two", "Else: end")
    assert Talk(flows).user("so, two please") == [not_understood(["One?", "To two", "Else"])]


def test_a_greeting_that_starts_a_flow_answers_none_of_its_questions() -> None:
    talk = Talk("flow: main\nstart: {otherwise: true}\nsteps:\n  q: {ask: Which?, buttons: {Hello: end, Bye: end}}\n")
    assert talk.user("hello") == [["Which?", "Hello", "Bye"]]


VISIT = """
flow: visit
start: {otherwise: true}
vars: {day: date}
steps:
  day: {ask: Which day?, save: day}
  done: {say: "{{ day }}", then: end}
"""


@pytest.mark.parametrize(
    "text",
    [
        "a table on Friday for 4",
        "a table for 4 on Friday",
        "a table for 2 this Friday",
        "could you book me in for Friday? 3 of us",
        "we'd be five persons, Friday 10 May",
        "a table for Friday 10 May, five persons",
        "table for Friday lunch, we're hungry",
        "20 pieces, for the 10th if thats possible",
        "20 pieces, for the 10th if it's possible",
        "8 pcs for Friday pls, if poss",
        "a table for 4, Friday 8pm",
        "a table for 4 people this friday 7.30pm",
        "8pm Friday, 4 people",
        "the white one for Friday pls",
        "lunch with my wife and our son on Friday",
    ],
)
def test_a_day_is_taken_beside_a_number_of_something_else(text: str) -> None:
    assert Talk(VISIT).user(text) == ["2030-05-10"]


@pytest.mark.parametrize(("text", "day"), [("a table for two tomorrow", "07"), ("table for 2 tonight", "06")])
def test_a_number_right_before_a_relative_day_is_none_of_a_month(text: str, day: str) -> None:
    assert Talk(VISIT).user(text) == [f"2030-05-{day}"]


@pytest.mark.parametrize(
    "text",
    [
        "a table on Friday or the 15",
        "a table on Friday, the 15",
        "a table, Friday 15",
        "the table for the 15 Friday",
        "a table for Friday, 12 May",
        "a table in 2 weeks on Friday",
        "a table 2 days after Friday",
        "a table for 2, not on Friday",
        "a table for 2, Friday if we're well",
        "they were here on Friday",
        "we were 4 on Friday",
        "a table on Friday 8",
        "for me and not on Friday",
        "Friday for me and Saturday for my wife",
    ],
)
def test_a_day_is_asked_for_where_a_number_may_change_it(text: str) -> None:
    assert Talk(VISIT).user(text) == ["Which day?"]


DINNER = """
flow: dinner
start: {otherwise: true}
slots: [day, guests]
vars: {day: date, guests: {type: integer, max: 9}}
steps:
  day: {ask: Which day?, save: day}
  guests: {ask: How many?, save: guests}
  done: {say: "{{ guests }} on {{ day }}", then: end}
"""


@pytest.mark.parametrize(
    "text", ["a table for 2 next friday", "next friday, a table for 2 please", "2 people, next friday"]
)
def test_a_day_in_the_first_message_that_may_be_one_of_two_is_asked_back(text: str) -> None:
    talk = Talk(DINNER)
    assert talk.user(text) == [["Did you mean one of these?", "Fri 10 May 2030", "Fri 17 May 2030"]]
    assert talk.user("the 10th") == ["2 on 2030-05-10"]


def test_people_who_are_named_are_counted_in_the_first_message() -> None:
    assert Talk(DINNER).user("a table for my mother and me on Friday") == ["2 on 2030-05-10"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a table for 30 people on Friday", "From 1 to 9, please.\n\nHow many?"),
        ("Friday, we are thirty", "From 1 to 9, please.\n\nHow many?"),
        ("a table on Friday", "How many?"),
        ("a table on Friday for 3 or 4", "How many?"),
    ],
)
def test_a_number_out_of_bounds_in_the_first_message_is_refused_with_a_reason(text: str, said: str) -> None:
    assert Talk(DINNER.replace("max: 9", "min: 1, max: 9")).user(text) == [said]


DRINKS = """
flow: order
start: {words: [order, please], match: anywhere, otherwise: true}
vars: {drink: text}
steps:
  drink: {ask: Which drink?, options: {Tea: {value: t}, Green tea: {value: g}, Coffee: {value: c, words: [latte]}}, save: drink}
  done: {say: "{{ drink }}.", then: end}
"""


@pytest.mark.parametrize(
    ("text", "above"),
    [
        ("one tea and a latte please", "Please choose one of these: Tea or Coffee."),
        ("2 green teas and 3 coffees", "Please choose one of these: Green tea or Coffee."),
        ("tea, green tea or coffee, please", None),
        ("no tea, no coffee please", None),
    ],
)
def test_several_choices_of_which_one_is_asked_are_said_above_the_question(text: str, above: str | None) -> None:
    choices = ["Tea", "Green tea", "Coffee"]
    assert Talk(DRINKS).user(text) == [[f"{above}\n\nWhich drink?" if above else "Which drink?", *choices]]
    talk = Talk(DRINKS)
    talk.user("order")
    assert talk.user(text) == [[f"{above}\n\nWhich drink?" if above else f"{SORRY}Which drink?", *choices]]
