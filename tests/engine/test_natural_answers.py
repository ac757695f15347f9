"""Answers as people write them: a reason behind a yes or no, what is missing, marks, codes and spoken addresses."""

from datetime import date

import pytest

from tests.talk import BOT, Talk

SURE = """
flow: order
start: {words: [order], otherwise: true}
interrupted: resume
steps:
  sure: {ask: "Two teas?", buttons: {"Yes, please": done, Another drink: other, Cancel: {words: ["no"], then: cancelled}}}
  other: {say: Which?, then: end}
  done: {say: On its way., then: end}
  cancelled: {say: No tea., then: end}
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("yes, I am in a hurry", "On its way."),
        ("yep we have a voucher", "On its way."),
        ("nope", "No tea."),
        ("no, it is too expensive", "No tea."),
        ("nah i'm good", "No tea."),
        ("ok great, another drink", "Which?"),
    ],
)
def test_a_yes_or_a_no_may_have_a_reason_and_a_title_a_yes_before_it(text: str, said: str) -> None:
    talk = Talk(SURE)
    talk.user("order")
    assert talk.user(text) == [said]


@pytest.mark.parametrize(
    "text",
    [
        "yes but make it three",
        "no make it juice",
        "yes I have a question",
        "no, I have 3 guests",
        "yes or no",
        "no I'm not sure",
    ],
)
def test_a_yes_or_a_no_beside_a_wish_a_value_or_a_doubt_is_asked_again(text: str) -> None:
    talk = Talk(SURE)
    talk.user("order")
    talk.user(text)
    assert talk.session.frame is not None and talk.session.frame.step == "sure"


FORM = """
flow: form
start: {words: [form], otherwise: true}
vars:
  photo: {type: media, kinds: [image]}
  email: {type: email, optional: true}
  stars: {type: integer, min: 1, max: 5}
  code: {type: text, pattern: '[A-Z]{2}[0-9]{4}'}
  note: text
steps:
  photo: {ask: A photo?, save: photo, skip: ["no"]}
  email: {ask: Your email?, save: email, skip: ["no"]}
  stars: {ask: How many stars?, save: stars}
  code: {ask: Your code?, save: code}
  note: {ask: A note?, save: note, skip: ["no"]}
  done: {say: "{{ email }}, {{ stars }}, {{ code }}, {{ note }}", then: end}
"""


def test_what_is_missing_is_skipped_and_values_are_read_as_people_write_them() -> None:
    talk = Talk(FORM)
    talk.user("form")
    assert talk.user("i dont have a pic")[-1] == "Your email?"
    assert talk.user("it's Ann.Smith at shop dot example")[-1] == "How many stars?"
    talk.user("10/10")
    assert talk.user("4 out of 5") == ["Your code?"]
    assert talk.user("not AB1234") == ["Your code?"]
    assert talk.user("it is ab 1234, thanks") == ["A note?"]
    assert talk.user("i dont have sugar here") == ["Ann.Smith@shop.example, 4, AB1234, i dont have sugar here"]


def test_a_missing_email_is_skipped_but_no_sentence_with_a_value_or_a_question() -> None:
    talk = Talk(FORM)
    talk.user("form")
    talk.user("no")
    assert talk.user("don't have one") == ["How many stars?"]
    assert Talk(FORM).user("form") == ["A photo?"]
    talk = Talk(FORM)
    talk.user("form")
    talk.user("I don't have 2 photos")
    assert talk.session.frame is not None and talk.session.frame.step == "photo"


@pytest.mark.parametrize("text", ["nothing else, thanks", "I changed my mind", "not interested, sorry"])
def test_who_wants_nothing_is_let_go(text: str) -> None:
    talk = Talk(SURE.replace(', Cancel: {words: ["no"], then: cancelled}', ""))
    talk.user("order")
    assert talk.user(text) == ["All right. See you!"]


@pytest.mark.parametrize("text", ["nothing", "none of those", "neither"])
def test_words_that_may_be_an_answer_to_the_question_are_no_goodbye(text: str) -> None:
    talk = Talk(SURE.replace(', Cancel: {words: ["no"], then: cancelled}', ""))
    talk.user("order")
    (said, *_) = talk.user(text)[0]
    assert said.endswith("Two teas?")


COFFEE = """\
flow: main
start: {words: [hi]}
vars: {drink: text}
steps:
  drink: {ask: What would you like?, buttons: {Coffee: {value: coffee}, Tea: {value: tea}, "No": {value: none}}, save: drink}
  done: {say: "{{ drink }}", then: end}
"""


@pytest.mark.parametrize("text", ["no make it coffee", "no, make it coffee", "no, coffee"])
def test_a_no_that_goes_on_with_another_choice_is_asked_about(text: str) -> None:
    chat = Talk(COFFEE)
    chat.user("hi")
    chat.user(text)
    assert chat.at == "main/drink"


@pytest.mark.parametrize("text", ["no", "no thanks", "no coffee", "nope", "no thank you"])
def test_a_no_alone_is_the_choice_no(text: str) -> None:
    chat = Talk(COFFEE)
    chat.user("hi")
    assert chat.user(text) == ["none"]


CONFIRM = """
flow: main
start: {words: [hi]}
slots: [cups]
vars: {cups: {type: integer, max: 9}}
steps:
  cups: {ask: How many teas?, save: cups}
  sure: {ask: "{{ cups }} teas?", options: {"Yes, please": {words: ["yes"], then: done}, Another drink: done, Cancel: {words: ["no"], then: cancelled}}}
  done: {say: On its way., then: end}
  cancelled: {say: No tea., then: end}
"""


@pytest.mark.parametrize(
    ("text", "cups"),
    [("no, coffee instead", 2), ("yes, coffee instead", 2), ("make it 3 actually", 3), ("make it 3", 3)],
)
def test_a_correction_is_neither_a_plain_yes_or_no_nor_the_place_of_a_choice(text: str, cups: int) -> None:
    chat = Talk(CONFIRM)
    chat.user("hi")
    chat.user("2")
    (said, *_) = chat.user(text)[0]
    assert said.endswith(f"{cups} teas?")


PLACES = """
flow: main
start: {words: [hi], otherwise: true}
vars: {drink: {type: choice, of: [espresso, flat white, tea]}, cups: {type: integer, max: 9}}
slots: [drink, cups]
steps:
  menu: {ask: What would you like?, buttons: {Order: drink, Book a table: book}}
  drink: {ask: Which drink?, list: {rows: {Espresso: {value: espresso}, Flat white: {value: flat white}, Tea: {value: tea}}}, save: drink}
  cups: {ask: How many?, save: cups}
  size: {ask: Which size?, options: {First class: done, 2 beds: done, Tent: done}}
  done: {say: "{{ cups }} {{ drink }}", then: end}
  book: {say: The table., then: end}
"""


@pytest.mark.parametrize("text", ["the second one", "second", "2nd option please", "I'd like the second button", "2"])
def test_a_choice_of_a_menu_is_named_by_its_place(text: str) -> None:
    chat = Talk(PLACES)
    chat.user("hi")
    assert chat.user(text) == ["The table."]


@pytest.mark.parametrize("text", ["do you have tea?", "is there tea", "are there any teas?"])
def test_a_question_about_a_choice_chooses_nothing(text: str) -> None:
    chat = Talk(PLACES)
    for each in ("hi", "order", text):
        chat.user(each)
    assert chat.at == "main/drink"


@pytest.mark.parametrize("text", ["one week", "2 weeks", "3 people", "2 rooms"])
def test_a_week_is_no_number_of_nights(text: str) -> None:
    chat = Talk("""
flow: main
start: {words: [hi]}
vars: {nights: {type: integer, min: 1, max: 30}}
steps:
  nights: {ask: How many nights?, save: nights, retry: {say: Again.}, then: end}
""")
    chat.user("hi")
    assert chat.user(text) == ["Again."]


@pytest.mark.parametrize("text", ["the last one", "the last please"])
def test_the_last_choice_is_named_by_its_place(text: str) -> None:
    chat = Talk(PLACES)
    for each in ("hi", "order", text):
        chat.user(each)
    assert chat.at == "main/cups"


@pytest.mark.parametrize(("text", "at"), [("the third one", "main/cups"), ("option 3", "main/drink"), ("2", "main/drink"), ("the fourth one", "main/drink"),
                                          ("not the first one", "main/drink"), ("the first or the second", "main/drink")])  # fmt: skip
def test_a_number_alone_is_no_place_where_a_choice_is_a_value(text: str, at: str) -> None:
    chat = Talk(PLACES)
    chat.user("hi")
    chat.user("order")
    chat.user(text)
    assert chat.at == at


def test_no_place_is_meant_where_titles_have_numbers() -> None:
    chat = Talk(PLACES)
    for text in ("hi", "order", "tea", "3"):
        chat.user(text)
    chat.user("the third one")
    assert chat.at == "main/size"


NEEDED = """
flow: form
start: {words: [form], otherwise: true}
vars: {email: email, photo: {type: media, kinds: [image]}}
steps:
  email: {ask: Your email?, save: email, retry: {max: 3, else: desk}}
  photo: {ask: A photo?, save: photo, retry: {max: 3, else: next}, then: done}
  desk: {say: Somebody helps you., then: end}
  done: {say: Thank you., then: end}
"""


@pytest.mark.parametrize(
    "text",
    ["I don't have an email", "i dont have email", "I don't use email", "sorry, i lost it", "I can't find it", "no email sorry",
     "i dont have it, my phone was stolen"],
)  # fmt: skip
def test_who_has_no_answer_is_not_asked_three_times(text: str) -> None:
    chat = Talk(NEEDED)
    chat.user("form")
    assert chat.user(text) == ["Somebody helps you."]


@pytest.mark.parametrize(
    "text",
    ["I don't have 2 emails", "don't you have my email?", "what if I have no email", "no", "no idea",
     "no evenings please", "no weekends", "no sundays", "I have no email, use ann@shop.example of my son"],
)  # fmt: skip
def test_a_question_a_value_or_a_bare_no_is_no_lack(text: str) -> None:
    chat = Talk(NEEDED)
    chat.user("form")
    chat.user(text)
    assert chat.at == "form/email"


CHECKED = """
flow: order
start: {words: [order], otherwise: true}
interrupted: resume
slots: [email, day]
vars: {email: email, day: {type: date, after: today}}
steps:
  email: {ask: Your email?, save: email}
  day: {ask: Which day?, save: day}
  right:
    ask: "{{ email }}, {{ day | date('d MMM') }}?"
    options: {Send it: {words: ["yes", looks good], then: sent}, Email: {correct: email}, Day: {correct: day}}
  sent: {say: Sent., then: end}
---
flow: sorry
start: {topics: complaint}
steps: {sorry: {say: Sorry., then: end}}
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("the email is wrong", "Your email?"),
        ("wrong day", "Which day?"),
        ("please change the day", "Which day?"),
        ("that's not the right email", "Your email?"),
        ("can we make it thursday instead", "ann@example.com, 9 May?"),
        ("thursday instead please", "ann@example.com, 9 May?"),
        ("yes send it please", "Sent."),
        ("looks good, send it", "Sent."),
        ("wrong mail! its lena.wolf@web.de", "lena.wolf@web.de, 10 May?"),
        ("wrong day, saturday please", "ann@example.com, 11 May?"),
        ("the coffee is wrong", "Sorry."),
    ],
)
def test_what_is_wrong_is_asked_again_and_another_value_takes_its_place(text: str, said: str) -> None:
    chat = Talk(CHECKED)
    for each in ("order", "ann@example.com", "friday"):
        chat.user(each)
    assert said in chat.user(text)[0]


def test_a_word_behind_a_reason_is_heard() -> None:
    chat = Talk(SURE, BOT + "words: {forget it: {say: All right., then: end}}\n")
    chat.user("order")
    assert chat.user("too expensive, forget it") == ["All right."]


TOPICS = """
flow: form
start: {words: [form, table], match: anywhere}
slots: [topic, guests]
vars: {topic: {type: choice, of: [advice, repair]}, guests: {type: integer, max: 9}}
steps:
  topic: {ask: About what?, match: anywhere, options: {Advice: {value: advice}, A repair: {value: repair, words: [terrible noise]}}, save: topic}
  guests: {ask: How many?, save: guests}
  done: {say: "{{ guests }}: {{ topic }}", then: end}
---
flow: desk
start: {topics: [question], otherwise: true}
steps: {desk: {say: The desk., then: end}}
"""


@pytest.mark.parametrize("text", ["I'd like some advise", "avdice please", "a terible noise"])
def test_a_longer_word_of_a_choice_may_have_a_slip(text: str) -> None:
    chat = Talk(TOPICS)
    chat.user("form")
    assert chat.user(text) == ["How many?"]


@pytest.mark.parametrize("text", ["device", "I despair", "nothing to repaint", "advise or repair"])
def test_another_word_is_no_slip(text: str) -> None:
    chat = Talk(TOPICS)
    chat.user("form")
    chat.user(text)
    assert chat.at == "form/topic"


CAKES = """
flow: cakes
start: {words: [cakes]}
vars: {cake: {type: text}}
steps:
  cake: {ask: Which cake?, match: close, options: [Almond cake, Orange cake], save: cake}
  done: {say: "{{ cake }}", then: end}
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("the ornage one", ["Orange cake"]),
        ("almnd", ["Almond cake"]),
        ("not the ornage one", None),
        ("ornage or almond", None),
    ],
)
def test_the_word_that_tells_a_choice_from_others_may_have_a_slip(text: str, said: list[str] | None) -> None:
    chat = Talk(CAKES)
    chat.user("cakes")
    answer = chat.user(text)
    assert answer == said if said else chat.at == "cakes/cake"


@pytest.mark.parametrize(
    "text",
    ["a table for three, for advice?", "is there a table free for three, for advice", "advice at a table for 3?"],
)
def test_a_wish_with_a_question_mark_answers_the_first_questions(text: str) -> None:
    assert Talk(TOPICS).user(text) == ["3: advice"]


def test_a_question_behind_the_word_that_starts_answers_nothing() -> None:
    assert Talk(TOPICS).user("what does a table for 3 with advice cost?")[0][0] == "About what?"


@pytest.mark.parametrize("text", ["order no is ab1234", "my booking number: AB1234", "ref AB 1234 please"])
def test_a_code_may_have_its_name_before_it(text: str) -> None:
    talk = Talk(FORM)
    for each in ("form", "no", "no", "4"):
        talk.user(each)
    assert talk.user(text) == ["A note?"]


@pytest.mark.parametrize(
    "text", ["the 12th I can't", "friday doesn't work", "the 12th is too early", "12 May is not good"]
)
def test_a_day_that_is_denied_behind_it_is_no_answer(text: str) -> None:
    talk = Talk(NAMED)
    for each in ("hi", "Ann Smith", "a@b.de", text):
        talk.user(each)
    assert talk.at == "visit/day"


def test_words_around_a_code_are_no_part_of_it() -> None:
    flow = "flow: c\nstart: {otherwise: true}\nvars: {c: {type: text, pattern: '[A-Z]{2,5}-?[0-9]{1,4}'}}\n"
    flow += 'steps: {c: {ask: Your code?, save: c}, done: {say: "{{ c }}", then: end}}'
    for text, said in (("code is dog-1", "DOG-1"), ("it is 1234", "Your code?"), ("AB 12", "AB12"), ("xy 12", "XY12")):
        talk = Talk(flow)
        talk.user("hi")
        assert talk.user(text)[0].endswith(said), text


LIKED = """
flow: survey
start: {words: [survey], otherwise: true}
interrupted: resume
vars: {good: list}
steps:
  good: {ask: What did you like?, many: true, match: anywhere, options: {The staff: {value: The staff, words: [staff]}, The food: {value: The food, words: [food]}, Nothing: end}, save: good}
  done: {say: "{{ good | join(', ') }}", then: end}
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("the staff were lovely", "The staff"),
        ("everything", "The staff, The food"),
        ("all of it!", "The staff, The food"),
    ],
)
def test_a_sentence_about_one_of_several_answers_is_the_whole_answer_and_so_is_everything(text: str, said: str) -> None:
    chat = Talk(LIKED)
    chat.user("survey")
    assert chat.user(text) == [said]


@pytest.mark.parametrize("text", ["the staff please", "the cake and the lovely staff"])
def test_one_of_several_answers_alone_or_beside_something_else_waits_for_more(text: str) -> None:
    chat = Talk(LIKED)
    chat.user("survey")
    chat.user(text)
    assert chat.at == "survey/good"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hang on asking my husband", "No hurry"),
        ("nothing thx", "All right"),
        ("no not now", "All right"),
        ("you are a robot?", "automatic"),
    ],
)
def test_small_talk_has_its_reason_and_its_no(text: str, said: str) -> None:
    chat = Talk(CHECKED)
    chat.user("order")
    assert said in chat.user(text)[0]


def test_who_wants_to_see_something_needs_no_time() -> None:
    chat = Talk(CHECKED)
    chat.user("order")
    assert "No hurry" not in chat.user("let me see the menu")[0]


def test_a_place_in_a_menu_chooses_nothing_where_it_leads() -> None:
    chat = Talk("""
flow: main
start: {words: [hi], otherwise: true}
steps: {menu: {ask: What would you like?, buttons: {Order: /order, Book: /book}}}
---
flow: order
start: {words: [order]}
vars: {drink: text}
steps: {drink: {ask: Which drink?, options: {Coffee: {value: coffee}, Tea: {value: tea}}, save: drink}, done: {say: "{{ drink }}", then: end}}
---
flow: book
start: {words: [book]}
steps: {book: {say: Booked., then: end}}
""")
    chat.user("hi")
    chat.user("the first one")
    assert chat.at == "order/drink"


STAY = """
flow: stay
start: {words: [hi]}
vars:
  nights: {type: integer, min: 1, max: 9}
  arrives: {type: date, after: today}
  room: {type: choice, of: [garden, sea]}
steps:
  nights: {ask: How many nights?, save: nights}
  arrives: {ask: From which day?, save: arrives}
  room: {ask: Which room?, options: {Garden: {value: garden}, Sea: {value: sea}}, save: room}
  sure: {ask: "All right?", buttons: {"Yes": done, Change: nights}}
  done: {say: "Booked.", then: end}
"""


@pytest.mark.parametrize(
    "text",
    [
        "4, or 5",
        "4, no wait",
        "4, but not in June",
        "4, scratch that",
        "4, just kidding",
        "4, plus the baby",
        "4, oops",
        "4, my sister said",
    ],
)
def test_an_answer_before_other_words_is_asked_again(text: str) -> None:
    chat = Talk(STAY)
    chat.user("hi")
    chat.user(text)
    assert chat.at == "stay/nights"


@pytest.mark.parametrize(
    "text", ["sea, yuck", "garden, is too dark", "sea. my wife hates the sea", "sea, i was told, is full"]
)
def test_a_choice_before_other_words_is_asked_again(text: str) -> None:
    chat = Talk(STAY)
    for each in ("hi", "4", "friday", text):
        chat.user(each)
    assert chat.at == "stay/room"


def test_a_yes_before_a_remark_agrees_to_nothing() -> None:
    chat = Talk(STAY)
    for text in ("hi", "4", "friday", "sea", "ok, I ask my wife first"):
        chat.user(text)
    assert chat.at == "stay/sure"


@pytest.mark.parametrize(
    ("text", "at"), [("yes 2", "ten/same"), ("2", "ten/no"), ("ok 2", "ten/same"), ("yes 1", "ten/yes")]
)
def test_a_yes_and_the_place_of_a_no_are_asked_again(text: str, at: str) -> None:
    chat = Talk(
        """
flow: ten
start: {words: [hi]}
steps:
  same: {ask: "Is it ten?", buttons: {"Yes": yes, "No": no}}
  "no": {ask: Where are you?, then: end}
  "yes": {ask: Which day?, then: end}
"""
    )
    chat.user("hi")
    chat.user(text)
    assert chat.at == at


CLOCK = """
flow: clock
start: {words: [hi]}
vars:
  where: {type: choice, of: [bali, london]}
  day: {type: date, after: today}
  guests: {type: integer, max: 9}
steps:
  same: {ask: "Is it ten?", buttons: {"Yes": day, "No": where}}
  where: {ask: Where are you?, options: {Bali: {value: bali}, London: {value: london}}, save: where}
  day: {ask: Which day?, save: day}
  guests: {ask: How many?, save: guests}
  done: {say: "Noted.", then: end}
"""


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("no im in Bali", "clock/day"),
        ("no, I'm in London", "clock/day"),
        ("no, I'm on the road", "clock/where"),
        ("no", "clock/where"),
        ("yes, because of the summer", "clock/day"),
    ],
)
def test_the_words_behind_a_yes_or_no_answer_the_next_question(text: str, at: str) -> None:
    chat = Talk(CLOCK)
    chat.user("hi")
    chat.user(text)
    assert chat.at == at


NAMED = """
flow: visit
start: {words: [hi]}
slots: [email, day]
vars: {name: name, email: email, day: {type: date, after: today}}
steps:
  name: {ask: What is your name?, save: name}
  email: {ask: Your email?, save: email}
  day: {ask: Which day?, save: day}
  done: {say: "{{ name }}, {{ email }}, {{ day | date }}", then: end}
"""


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("I'm Marek, marek@example.org", "visit/day"),
        ("marek@example.org, Marek Novak", "visit/day"),
        ("Marek Novak marek@example.org", "visit/day"),
        ("my mail is marek@example.org", "visit/name"),
        ("not yet, but marek@example.org", "visit/name"),
        ("Marek, marek@example.org", "visit/day"),
        ("Mail: marek@example.org", "visit/name"),
        ("E-Mail marek@example.org", "visit/name"),
        ("marek@example.org urgent", "visit/name"),
        ("ASAP marek@example.org", "visit/name"),
        ("Danke", "visit/name"),
        ("private", "visit/name"),
        ("none of your business", "visit/name"),
        ("geht dich nichts an", "visit/name"),
    ],
)
def test_a_name_is_taken_beside_other_answers(text: str, at: str) -> None:
    chat = Talk(NAMED)
    chat.user("hi")
    chat.user(text)
    assert chat.at == at
    if at == "visit/day":
        assert chat.user("friday")[0].startswith("Marek")


TIMES = """
flow: main
start: {words: [hi], otherwise: true}
interrupted: resume
vars: {at: text}
steps:
  at: {ask: When?, list: {rows: {"11:00": {value: "11"}, "14:00": {value: "14"}, "17:30": {value: "17"}}, extra: {Another day: other}}, save: at, retry: {say: Which?}}
  done: {say: "{{ at }}", then: end}
  other: {say: Another day., then: end}
"""


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("the earliest please", "11"),
        ("the first one", "11"),
        ("asap", "11"),
        ("the latest you have", "17"),
        ("the last one, please", "17"),
    ],
)
def test_the_earliest_and_the_latest_of_times_are_named_without_the_time(text: str, at: str) -> None:
    chat = Talk(TIMES)
    chat.user("hi")
    assert chat.user(text) == [at]


@pytest.mark.parametrize(
    "text",
    [
        "not the earliest", "the earliest after 12", "the first two", "earliest or latest", "the second earliest", "something later",
        "the later one", "what is the earliest?", "earliest?", "the earliest is too late", "last time", "the cheapest", "11 at the latest or so",
    ],
)  # fmt: skip
def test_other_words_beside_the_earliest_name_no_time(text: str) -> None:
    chat = Talk(TIMES)
    chat.user("hi")
    chat.user(text)
    assert chat.at == "main/at"


def test_the_first_one_is_not_read_where_the_times_are_in_no_order() -> None:
    chat = Talk(TIMES.replace("14:00", "08:00"))
    chat.user("hi")
    assert chat.user("the first one") == ["Which?"]
    assert chat.user("the earliest") == ["14"]


@pytest.mark.parametrize(
    ("text", "plan"), [("the cheapest", "basic"), ("most expensive one please", "gold"), ("the earliest", None)]
)
def test_the_cheapest_of_prices_is_named_without_its_name(text: str, plan: str | None) -> None:
    chat = Talk("""
flow: main
start: {words: [hi], otherwise: true}
vars: {plan: text}
steps:
  plan: {ask: Which?, options: {"Plus, 25 €": {value: plus}, "Basic, 9 €": {value: basic}, "Gold, 60 €": {value: gold}}, save: plan, retry: {say: Which plan?}}
  done: {say: "{{ plan }}", then: end}
""")
    chat.user("hi")
    assert chat.user(text) == [plan or "Which plan?"]


@pytest.mark.parametrize(
    ("language", "text", "found"),
    [
        ("de", "den frühesten bitte", "11"), ("es", "lo antes posible", "11"), ("fr", "le plus tard", "17"), ("pt", "o mais cedo possível", "11"),
        ("id", "yang paling pagi", "11"), ("de", "nicht der früheste", None), ("es", "no el más temprano", None), ("de", "spätestens 12", None),
    ],
)  # fmt: skip
def test_the_earliest_and_the_latest_are_named_in_other_languages(language: str, text: str, found: str | None) -> None:
    chat = Talk(TIMES, f"{BOT}languages: [{language}]\n")
    chat.user("hi")
    chat.user(text)
    assert (chat.at is None) is (found is not None)


def test_the_earliest_is_no_choice_where_any_other_day_is_an_answer() -> None:
    chat = Talk("""
flow: main
start: {words: [hi], otherwise: true}
vars: {day: {type: date, after: today}}
steps:
  day: {ask: When?, options: {Tomorrow: {value: 2030-05-07}, In a week: {value: 2030-05-13}}, accepts: text, save: day, retry: {say: Which day?}}
  done: {say: "{{ day }}", then: end}
""")
    chat.user("hi")
    assert chat.user("the earliest please") == ["Which day?"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sure, see u next week", "On its way."),
        ("yes thanks, bye", "On its way."),
        ("no thanks, have a nice day", "No tea."),
        ("better not, my mum might pick up", "No tea."),
        ("no, my dad could be home", "No tea."),
    ],
)
def test_a_yes_or_a_no_may_have_a_farewell_and_a_no_somebody_else_behind_it(text: str, said: str) -> None:
    talk = Talk(SURE)
    talk.user("order")
    assert talk.user(text) == [said]


@pytest.mark.parametrize(
    "text",
    [
        "sure, see you never", "better not, or maybe", "better not, my mum says yes", "yes, my mum does not",
        "no my friend, just kidding", "yes my mum does", "better not be late", "yes, see you next week at 5", "yes, but please call first",
    ],
)  # fmt: skip
def test_a_farewell_or_somebody_else_beside_a_doubt_is_asked_again(text: str) -> None:
    talk = Talk(SURE)
    talk.user("order")
    talk.user(text)
    assert talk.session.frame is not None and talk.session.frame.step == "sure"


@pytest.mark.parametrize(
    ("text", "is_over"), [("nothing at all", True), ("none of them", True), ("nothing but the food", False)]
)
def test_nothing_is_the_choice_that_says_so(text: str, is_over: bool) -> None:
    chat = Talk(LIKED)
    chat.user("survey")
    chat.user(text)
    assert (chat.session.frame is None) == is_over


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("didnt take any pics", "Your email?"),
        ("dont have any", "Your email?"),
        ("nothing to show", "Your email?"),
        ("haven't taken any yet", "A photo?"),
        ("didn't take long, here it comes", "A photo?"),
        ("i didn't take it, wait", "A photo?"),
    ],
)
def test_a_photo_that_was_not_taken_is_skipped_and_one_that_comes_is_not(text: str, asked: str) -> None:
    chat = Talk(FORM)
    chat.user("form")
    assert chat.user(text)[-1].endswith(asked)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0812 3456 7890 but pls dont tell anyone", "6281234567890"),
        ("0812 3456 7890, thanks a lot", "6281234567890"),
        ("don't call 0812 3456 7890", "Which?"),
        ("0812 3456 7890 but please not after 6", "Which?"),
    ],
)
def test_a_wish_for_secrecy_changes_no_number(text: str, number: str) -> None:
    chat = Talk("""
flow: main
start: {words: [hi], otherwise: true}
vars: {phone: {type: phone, country: ID}}
steps: {phone: {ask: Your number?, save: phone, retry: {say: Which?}}, done: {say: "{{ phone }}", then: end}}
""")
    chat.user("hi")
    assert chat.user(text) == [number]


def test_an_earlier_answer_that_is_called_wrong_is_corrected_at_once() -> None:
    chat = Talk(CHECKED)
    chat.user("order")
    chat.user("ann.smit@example.com")
    assert chat.user("the email is wrong, its ann.smith@example.com") == ["Which day?"]
    assert chat.user("friday")[0][0] == "ann.smith@example.com, 10 May?"
    assert chat.user("the coffee is wrong, I asked for tea")[0] == "Sorry."


BAKERY = """
flow: order
start: {words: [cake], match: anywhere}
vars: {pieces: {type: integer}}
steps:
  pieces: {ask: How many pieces?, save: pieces}
  done: {say: "{{ pieces }}", then: end}
---
flow: main
start: {otherwise: true}
steps:
  what: {ask: What would you like?, buttons: {A cake: /order, A person: end}}
"""


@pytest.mark.parametrize("text", ["everybody loved the cake!", "we really enjoyed your cake", "my kids liked the cake"])
def test_who_tells_that_they_liked_a_thing_orders_none(text: str) -> None:
    chat = Talk(BAKERY)
    chat.user(text)
    assert chat.at != "order/pieces"


@pytest.mark.parametrize("text", ["I loved it, one more cake please", "we liked it. a cake please"])
def test_a_wish_behind_praise_counts(text: str) -> None:
    chat = Talk(BAKERY)
    chat.user(text)
    assert chat.at == "order/pieces"


@pytest.mark.parametrize(("text", "said"), [("rather not", "No!"), ("I'd rather not say", "Will you come?")])
def test_who_declines_to_answer_says_no_no(text: str, said: str) -> None:
    chat = Talk("""
flow: main
start: {words: [hi], otherwise: true}
vars: {comes: boolean}
steps: {comes: {ask: Will you come?, save: comes}, done: {say: "{% if comes %}Yes{% else %}No{% endif %}!", then: end}}
""")
    chat.user("hi")
    assert said in chat.user(text)[0]


@pytest.mark.parametrize(
    "text", ["no need to cancel", "cancel? no, go on", "cancel? no", "there is no reason to cancel"]
)
def test_who_does_not_want_a_choice_is_asked_again(text: str) -> None:
    talk = Talk(SURE)
    talk.user("order")
    talk.user(text)
    assert talk.at == "order/sure"


@pytest.mark.parametrize("text", ["the order was wrong, on friday", "the bill is wrong, friday"])
def test_something_else_that_is_called_wrong_corrects_no_answer(text: str) -> None:
    chat = Talk(CHECKED)
    chat.user("order")
    chat.user(text)
    assert chat.user("ann.smith@example.com") == ["Which day?"]


TEAS = """
flow: teas
start: {words: [teas]}
slots: [cups, day]
vars: {cups: {type: integer}, day: {type: date}}
steps:
  cups: {ask: How many?, save: cups}
  day: {ask: When?, save: day}
  done: {say: "{{ cups }}", then: end}
"""


@pytest.mark.parametrize("text", ["2, no wait, 3", "two, i mean 3", "one, wait, no, two", "2 no 3"])
def test_an_answer_that_is_taken_back_is_asked_again(text: str) -> None:
    chat = Talk(TEAS)
    chat.user("teas")
    chat.user(text)
    assert chat.at == "teas/cups"


@pytest.mark.parametrize("text", ["two, no sugar", "2 on Friday", "two, please"])
def test_an_answer_beside_something_else_is_taken(text: str) -> None:
    chat = Talk(TEAS)
    chat.user("teas")
    chat.user(text)
    assert chat.at != "teas/cups"


VISIT = """
flow: main
start: {words: [visit]}
slots: [day, at]
vars: {day: date, at: time, email: email}
steps:
  day: {ask: Which day?, save: day}
  at: {ask: When?, save: at, options: {"10:00": {value: "10:00"}, "11:00": {value: "11:00"}, "15:30": {value: "15:30"}}}
  email: {ask: Your email?, save: email, skip: ["no"]}
  done: {say: "{{ day }} {{ at }}", then: end}
"""


@pytest.mark.parametrize("text", ["the second", "lovely, the second", "ok the 2nd please"])
def test_a_place_where_choices_are_shown_is_no_day_of_another_question(text: str) -> None:
    chat = Talk(VISIT)
    for each in ("visit", "tomorrow", text):
        chat.user(each)
    assert (chat.at, chat.vars["day"]) == ("main/at", date(2030, 5, 7))


def test_a_place_that_no_choice_has_is_a_day() -> None:
    chat = Talk(VISIT)
    for each in ("visit", "tomorrow", "the 12th please"):
        chat.user(each)
    assert (chat.at, chat.vars["day"]) == ("main/at", date(2030, 5, 12))


@pytest.mark.parametrize("text", ["wrong", "my email is wrong", "the time is wrong"])
def test_what_is_wrong_skips_nothing(text: str) -> None:
    chat = Talk(VISIT)
    for each in ("visit", "tomorrow", "10:00", text):
        chat.user(each)
    assert chat.at == "main/email"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("yes, I have no time", None),
        ("no no no yes", None),
        ("ya tidak", None),
        ("no thanks", "No tea."),
        ("no, cancel", "No tea."),
    ],
)
def test_a_yes_and_a_no_are_no_choice_by_one_of_them(text: str, said: str | None) -> None:
    talk = Talk(SURE)
    talk.user("order")
    answer = talk.user(text)
    assert answer == [said] if said else talk.at == "order/sure"


COUNTED = """
flow: order
start: {words: [order], otherwise: true}
slots: [drink, cups]
vars: {drink: text, cups: {type: integer, min: 1, max: 30}, nights: integer, lasts: integer, age: {type: integer, error: "Your age, please."}}
steps:
  drink: {ask: Which?, options: {Tea: {value: tea}, Orange cake: {value: orange}, Almond cake: {value: almond}}, save: drink}
  cups: {ask: "Our {{ drink }}: how many?", save: cups, retry: {say: A number.}}
  nights: {ask: For how many days?, save: nights}
  lasts: {ask: How long will you stay?, save: lasts}
  age: {ask: "{{ nights }} days, {{ lasts }}. How many years?", save: age}
  done: {say: Done., then: end}
"""


def test_a_number_with_a_unit_of_time_counts_only_that_time() -> None:
    talk = Talk(COUNTED)
    talk.user("order")
    talk.user("tea")
    for text in ("in ten minutes", "5 min", "for two hours"):
        assert talk.user(text)[0][0].startswith("Did you mean"), text
    assert talk.user("no") == ["Our tea: how many?"]
    assert talk.user("2") == ["For how many days?"]
    assert talk.user("3 weeks")[0].endswith("For how many days?")
    assert talk.user("for 3 days") == ["How long will you stay?"]
    assert talk.user("2 hours") == ["3 days, 2. How many years?"]
    assert talk.user("18 months") == ["Your age, please."]
    assert talk.user("18 years") == ["Done."]


@pytest.mark.parametrize(
    ("question", "text", "value"),
    [
        ("Would you like a refund?", "no refund", False),
        ("Would you like a refund? Otherwise we send it again.", "not a refund please", False),
        ("Would you like a refund? Otherwise we send it again.", "no sending", None),
        ("Would you like a refund or a voucher?", "no refund", None),
        ("Shall we slice it?", "Don't slice it", False),
        ("Did you get a tattoo?", "no tattoos", False),
        ("Did you get a tattoo?", "no tattoo?", None),
        ("Shall we not slice it?", "don't slice it", None),
        ("Shall we fix the problem?", "no problem", None),
        ("Do you wait, or is that a problem?", "no problem", True),
    ],
)
def test_a_not_before_what_is_asked_is_a_no(question: str, text: str, value: bool | None) -> None:
    talk = Talk(
        "flow: yes\nstart: {otherwise: true}\nvars: {sure: boolean}\n"
        f'steps: {{sure: {{ask: "{question}", save: sure}}, more: {{ask: More?}}}}'
    )
    talk.user("hi")
    talk.user(text)
    assert talk.session.frame is not None and talk.session.frame.vars.get("sure") is value


PERSON = """
flow: person
start: {words: [person], otherwise: true}
vars: {name: name, age: {type: integer, min: 0, max: 120}, lessons: {type: integer, max: 40}, day: {type: date, after: today}}
steps:
  name: {ask: What is your name?, save: name}
  age: {ask: How old are you?, save: age}
  lessons: {ask: How many lessons would you like?, save: lessons}
  day: {ask: "When, after {{ lessons }} lessons?", save: day}
  done: {say: "{{ name }}, {{ age }}, {{ day }}.", then: end}
"""


def test_what_a_number_measures_has_to_be_what_the_question_asks_for() -> None:
    talk = Talk(PERSON)
    talk.user("person")
    for text in ("Keine Ahnung", "ni idea", "Hola", "ty"):
        assert talk.user(text)[0].endswith("What is your name?"), text
    assert talk.user("Ty") == ["How old are you?"]
    for text in ("6 months", "70 kg", "50%", "35 euros"):
        assert talk.user(text)[0].endswith("How old are you?"), text
    assert talk.user("I'm 34") == ["How many lessons would you like?"]
    for text in ("5%", "2 euros?", "I'm 12", "at 3", "10 menit", "I have 2 kids with me"):
        assert talk.user(text)[0].endswith("How many lessons would you like?"), text
    assert talk.user("ten lessons please") == ["When, after 10 lessons?"]
    assert talk.user("on Wednesday at 5")[0].endswith("When, after 10 lessons?")
    assert talk.user("Wednesday") == ["Ty, 34, 2030-05-08."]


@pytest.mark.parametrize(
    "text",
    ["the orange juice", "almond milk", "orange ice cream", "tea pot", "orange cake but smaller", "was the tea good?"],
)
def test_a_word_behind_a_choice_makes_another_thing_of_it(text: str) -> None:
    talk = Talk(COUNTED)
    talk.user("order")
    talk.user(text)
    assert talk.at == "order/drink"


@pytest.mark.parametrize(
    ("question", "answer", "value"),
    [
        ("Which floor do you live on?", "on the 3rd floor", "3"),
        ("How was it, from 1 to 10?", "8 out of 10", "8"),
        ("How many boxes?", "I'm taking 3", "3"),
        ("How old is your dog?", "he's 3", "3"),
    ],
)
def test_a_number_is_taken_with_the_words_of_its_question(question: str, answer: str, value: str) -> None:
    talk = Talk(
        "flow: count\nstart: {otherwise: true}\nvars: {count: integer}\n"
        f'steps: {{ask: {{ask: "{question}", save: count}}, told: {{say: "{{{{ count }}}}"}}}}'
    )
    talk.user("hi")
    assert talk.user(answer) == [value]
