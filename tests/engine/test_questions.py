"""What questions offer and take: several answers, hidden choices, pages, numbers, wider matching, other languages."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.messages import Buttons, ListMessage, TextMessage, violations
from bot.language.flow.documents import Source
from bot.language.flow.library import load
from bot.language.python.gathered import extensions_in
from tests.searches import tries
from tests.talk import Talk, problems_of, said, sources_of

MANY = """
flow: main
start: {otherwise: true}
vars: {got: {type: list}}
steps:
  drinks:
    ask: What would you like?
    MANY
    save: got
    skip: [nothing]
    retry: {say: Sorry?}
  done: {say: "{{ got | join('+') }}.", then: end}
  none: {say: "None, {{ got | join('+') }}.", then: end}
"""
DRINKS = "options: {Tea: {value: tea}, Coffee: {value: coffee}, 'Salt, pepper': {value: salt}, Milk: {value: milk}}"


def many(keys: str = f"many: true\n    {DRINKS}") -> Talk:
    """A conversation at the question, and what it said last."""
    talk = Talk(MANY.replace("MANY", keys))
    talk.user("hi")
    return talk


def tap(talk: Talk, title: str) -> list[Any]:
    """Tap the newest button or row of this title."""
    choice = next(choice for choice in reversed(talk.shown) if choice.title == title)
    return talk.tap_id(choice.id, title)


def last(talk: Talk) -> Any:
    assert violations(talk.sent[-1]) == []
    return said(talk.sent[-1])


# -- several answers


def test_a_list_for_many_answers_comes_again_with_the_chosen_marked_and_ends_by_its_last_row() -> None:
    talk = many()
    assert last(talk) == ["What would you like?", "Tea", "Coffee", "Salt, pepper", "Milk"]
    assert tap(talk, "Milk") == [["What would you like?\n\n✓ Milk", "Tea", "Coffee", "Salt, pepper", "✓ Milk", "Done"]]
    assert tap(talk, "Tea") == [
        ["What would you like?\n\n✓ Tea, Milk", "✓ Tea", "Coffee", "Salt, pepper", "✓ Milk", "Done"]
    ]
    assert tap(talk, "Done") == ["milk+tea."]


def test_a_second_pick_takes_the_first_back() -> None:
    talk = many()
    tap(talk, "Tea"), tap(talk, "Milk")
    tap(talk, "✓ Tea")
    assert tap(talk, "Done") == ["milk."]


def test_many_answers_of_two_are_buttons() -> None:
    talk = many("many: true\n    options: [Tea, Milk]")
    assert last(talk) == ["What would you like?", "Tea", "Milk"]
    assert tap(talk, "Tea") == [["What would you like?", "✓ Tea", "Milk", "Done"]]
    assert isinstance(talk.sent[-1], Buttons)
    assert tap(talk, "Done") == ["Tea."]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("tea, coffee", "tea+coffee."),
        ("salt, pepper, tea", "salt+tea."),
        ("Milk and tea and milk", "milk+tea."),
        ("tea & milk", "tea+milk."),
        ("Tea und Coffee", "tea+coffee."),
        ("tea, done", "tea."),
    ],
)
def test_many_answers_in_one_text_are_taken_at_once(text: str, answer: str) -> None:
    assert many().user(text) == [answer]


NUMBERED = f"many: true\n    show: numbers\n    {DRINKS}"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("1, 3 and 4", "tea+salt+milk."),
        ("4 1", "milk+tea."),
        ("1-3", "tea+coffee+salt."),
        ("tea, 4", "tea+milk."),
    ],
)
def test_numbers_that_are_shown_are_many_answers_in_one_text(text: str, answer: str) -> None:
    assert many(NUMBERED).user(text) == [answer]
    assert many().user(text) == ["Sorry?"], "no number is shown"


@pytest.mark.parametrize(
    "text", ["tea and cake", "5", "9 and 1", "and", "done", "x" * 5000, "1-99", "not tea, milk", "1.3", "€2", "3%, 4"]
)
def test_a_text_with_anything_else_in_it_is_no_answer(text: str) -> None:
    assert many().user(text) == ["Sorry?"]
    if text not in ("5", "done"):  # they end the question where something is picked
        assert many(NUMBERED).user(text) == ["Sorry?"]


def test_one_answer_that_is_written_is_taken_like_a_tap() -> None:
    talk = many()
    talk.user("tea")
    assert talk.user("salt, pepper") == [
        ["What would you like?\n\n✓ Tea, Salt, pepper", "✓ Tea", "Coffee", "✓ Salt, pepper", "Milk", "Done"]
    ]
    assert talk.user("DONE") == ["tea+salt."]


def test_what_is_written_adds_to_what_was_picked() -> None:
    talk = many()
    tap(talk, "Milk")
    assert talk.user("tea, coffee") == ["milk+tea+coffee."]


def test_with_match_anywhere_other_words_may_stand_between_many_answers() -> None:
    talk = many(f"many: true\n    match: anywhere\n    {DRINKS}")
    assert talk.user("I would like a tea, please, and some milk") == ["tea+milk."]
    assert many(f"many: true\n    match: anywhere\n    {DRINKS}").user("no idea") == ["Sorry?"]


def test_with_match_close_slips_in_many_answers_are_understood() -> None:
    assert many(f"many: true\n    match: close\n    {DRINKS}").user("cofee, mil and salt peper") == [
        "coffee+milk+salt."
    ]
    assert many(f"many: true\n    match: close\n    {DRINKS}").user("cofee and soup") == ["Sorry?"]


def test_the_end_of_many_answers_is_offered_when_there_are_enough_and_comes_by_itself_at_the_most() -> None:
    talk = many(f"many: {{min: 2, max: 3, done: That is all}}\n    {DRINKS}")
    assert "That is all" not in tap(talk, "Tea")[0]
    assert "That is all" in tap(talk, "Coffee")[0]
    assert tap(talk, "Milk") == ["tea+coffee+milk."]
    for text, answer in (("tea", None), ("tea, coffee", "tea+coffee."), ("tea, coffee, milk, salt, pepper", "Sorry?")):
        heard = many(f"many: {{min: 2, max: 3, done: That is all}}\n    {DRINKS}").user(text)
        assert answer is None or heard == [answer]


def test_no_answer_at_all_may_be_one_of_many() -> None:
    talk = many(f"many: {{min: 0}}\n    {DRINKS}")
    assert tap(talk, "Done") == ["."]
    assert many().user("nothing") == ["."]


def test_a_choice_with_a_target_is_the_whole_answer() -> None:
    talk = many("many: true\n    options: {Tea: {value: tea}, Neither: none}")
    tap(talk, "Tea")
    assert tap(talk, "Neither") == ["None, ."]
    talk = many("many: true\n    options: {Tea: {value: tea}, Neither: {value: no, then: none}}")
    assert talk.user("tea, neither") == ["Sorry?"]
    assert talk.user("neither") == ["None, no."]


def test_what_was_picked_stays_so_when_the_question_is_put_again() -> None:
    talk = Talk(MANY.replace("MANY", f"many: true\n    {DRINKS}").replace("{say: Sorry?}", "{ask: Which ones?}"))
    talk.user("hi")
    tap(talk, "Tea")
    assert talk.user("hm")[0][:2] == ["Which ones?\n\n✓ Tea", "✓ Tea"]
    assert tap(talk, "Done") == ["tea."]


def test_a_fresh_visit_starts_with_nothing_picked() -> None:
    talk = many(f"many: true\n    {DRINKS}\n    words: {{anew: drinks}}")
    tap(talk, "Tea")
    assert talk.user("anew") == [["What would you like?", "Tea", "Coffee", "Salt, pepper", "Milk"]]


def test_an_end_that_is_tapped_after_all_was_taken_back_asks_again() -> None:
    talk = many()
    tap(talk, "Tea")
    done = talk.shown[-1].id
    tap(talk, "✓ Tea")
    assert talk.tap_id(done) == [["What would you like?", "Tea", "Coffee", "Salt, pepper", "Milk"]]


def test_many_answers_can_be_made_at_run_time() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
vars: {slots: {type: list, value: [{id: 1, t: "09:00"}, {id: 2, t: "11:00"}]}, got: {type: list}}
steps:
  q: {ask: When?, many: true, options: {from: slots, title: "{{ it.t }}", value: "{{ it.id }}"}, save: got}
  done: {say: "{{ got | join('+') }}", then: end}
""")
    talk.user("hi")
    tap(talk, "11:00")
    assert tap(talk, "09:00") == [["When?", "✓ 09:00", "✓ 11:00", "Done"]]
    assert tap(talk, "Done") == ["2+1"]


def test_a_long_question_leaves_room_for_what_was_picked() -> None:
    talk = Talk(MANY.replace("MANY", f"many: true\n    {DRINKS}").replace("What would you like?", "x" * 1020))
    talk.user("hi")
    tap(talk, "Tea")
    (message,) = [message for message in talk.sent[-1:] if isinstance(message, ListMessage)]
    assert message.body.endswith("…\n\n✓ Tea")
    assert violations(message) == []


# -- choices that are hidden

HIDDEN = """
flow: main
start: {otherwise: true}
vars: {n: {type: integer, value: 2}, got: {type: choice, of: [a, b, c]}}
steps:
  q:
    ask: Which?
    options: {A: {value: a}, B: {value: b, if: n > 2}, C: {value: c, if: n < 9}}
    save: got
    words: {more: {set: {n: 3}, then: again}, hold: {set: {n: 3}, say: Fine.}}
  done: {say: "{{ got }}", then: end}
"""


def test_a_choice_is_shown_and_heard_where_its_condition_holds() -> None:
    talk = Talk(HIDDEN)
    assert talk.user("hi") == [["Which?", "A", "C"]]
    assert talk.user("b") == [["Sorry, I didn't understand that.\n\nWhich?", "A", "C"]]
    assert talk.user("c") == ["c"]


def test_the_numbers_are_those_of_the_choices_that_are_shown() -> None:
    talk = Talk(HIDDEN.replace("ask: Which?", "ask: Which?\n    show: numbers"))
    assert talk.user("hi") == ["Which?\n\n1. A\n2. C"]
    assert talk.user("hold") == ["Fine."]
    assert talk.user("2") == ["c"]
    talk.user("hi"), talk.user("more")
    assert talk.user("2") == ["b"]


def test_conditions_are_looked_at_whenever_the_question_is_put() -> None:
    talk = Talk(HIDDEN)
    talk.user("hi")
    assert talk.user("more") == [["Which?", "A", "B", "C"]]
    assert talk.user("b") == ["b"]


def test_an_answer_means_what_was_shown_although_conditions_have_changed_since() -> None:
    talk = Talk(HIDDEN)
    talk.user("hi")
    assert talk.user("hold") == ["Fine."]
    assert talk.user("b") == [["Sorry, I didn't understand that.\n\nWhich?", "A", "B", "C"]]
    assert talk.user("c") == ["c"]


def test_a_tap_on_a_choice_that_came_later_in_the_list_is_good_still_when_others_are_shown_too() -> None:
    talk = Talk(HIDDEN)
    talk.user("hi")
    first = talk.shown[-1].id
    talk.user("more")
    assert talk.tap_id(first) == ["c"]


def test_elements_of_a_list_can_be_left_out() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
vars: {slots: {type: list, value: [{t: "09:00", free: false}, {t: "11:00", free: true}]}, slot: {type: object}}
steps:
  q: {ask: When?, list: {rows: {from: slots, title: "{{ it.t }}", if: it.free}, extra: {Never: end}}, save: slot}
  done: {say: "{{ slot.t }}", then: end}
""")
    assert talk.user("hi") == [["When?", "11:00", "Never"]]
    assert talk.user("9:00") == [["Sorry, I didn't understand that.\n\nWhen?", "11:00", "Never"]]
    assert talk.user("11:00") == ["11:00"]


def test_choices_made_at_run_time_are_called_by_their_own_words() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
vars:
  teas: {type: list, value: [{name: Sencha, code: 1s, also: [green, japanese]}, {name: Assam, code: 2a, also: null}]}
  tea: {type: text}
steps:
  q:
    ask: Which tea?
    options: {from: teas, title: "{{ it.name }}", value: "{{ it.code }}", words: ["{{ it.also }}", "no {{ it.code }}"]}
    save: tea
    retry: {}
  done: {say: "{{ tea }}", then: end}
""")
    for text, saved in {"Green!": "1s", "japanese": "1s", "no. 2a": "2a", "assam": "2a"}.items():
        assert talk.user("hi") == [["Which tea?", "Sencha", "Assam"]]
        assert talk.user(text) == [saved]


@pytest.mark.parametrize("way", ["skip: [nothing]", "other: late"])
def test_where_all_choices_are_hidden_a_question_that_leads_on_otherwise_is_put_as_a_text(way: str) -> None:
    chat = Talk(
        "flow: main\nstart: {words: [hi]}\nsteps:\n"
        f"  q: {{ask: Which?, options: {{A: {{then: end, if: 1 > 2}}}}, {way}, then: late}}\n  late: {{say: Later., then: end}}\n"
    )
    assert chat.user("hi") == ["Which?"]
    assert chat.user("nothing") == ["Later."]


def test_where_all_choices_are_hidden_the_step_fails() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
steps:
  q: {ask: Which?, options: {A: {if: false, then: end}}, errors: {else: sorry}}
  sorry: {say: Nothing left., then: end}
""")
    assert talk.user("hi") == ["Nothing left."]


ALL_HIDDEN = """
flow: main
start: {otherwise: true}
vars: {slots: {type: list, value: []}, got: GOT}
steps:
  q: {ask: Which?, header: Ours, OFFER, accepts: text, save: got, retry: {say: Again?}, errors: {else: sorry}}
  done: {say: "{{ got }}", then: end}
  sorry: {say: Nothing left., then: end}
"""


@pytest.mark.parametrize("offer", ["buttons: {A: {value: a, if: false}}", "buttons: {from: slots}"])
def test_where_nothing_is_shown_a_question_that_takes_other_answers_is_put_without_choices(offer: str) -> None:
    talk = Talk(ALL_HIDDEN.replace("GOT", "text").replace("OFFER", offer))
    assert talk.user("hi") == ["Which?"]
    assert talk.user("something else") == ["something else"]


def test_a_choice_that_is_not_shown_is_no_answer_to_a_question_without_choices_either() -> None:
    talk = Talk(ALL_HIDDEN.replace("GOT", "text").replace("OFFER", "buttons: {A: {value: a, if: false}}"))
    talk.user("hi")
    assert talk.user("a") == ["Again?"]


@pytest.mark.parametrize(
    ("declared", "offer"),
    [
        ("{type: choice, of: [a]}", "buttons: {A: {value: a, if: false}}"),
        ("object", "buttons: {from: slots}"),
        ("text", "buttons: {from: slots}"),
    ],
)
def test_where_nothing_is_shown_and_nothing_else_can_be_an_answer_the_step_fails(declared: str, offer: str) -> None:
    accepts = "accepts: text, " if declared.startswith("{") else ""
    flow = ALL_HIDDEN.replace("accepts: text, ", accepts)
    talk = Talk(flow.replace("GOT", declared).replace("OFFER", offer))
    assert talk.user("hi") == ["Nothing left."]


# -- more than one page

PAGES = """
flow: main
start: {otherwise: true}
vars: {dates: {type: list, value: DAYS}, day: {type: text}}
steps:
  q:
    ask: Which day?
    list: {button: Days, rows: {from: dates}, extra: {Never: never}}
    save: day
    words: {again: again}
  done: {say: "{{ day }}", then: end}
  never: {say: Never., then: end}
"""


def pages(days: int) -> Talk:
    return Talk(PAGES.replace("DAYS", str([f"day {n}" for n in range(1, days + 1)])))


def rows(*days: int) -> list[str]:
    return [f"day {n}" for n in days]


def test_ten_rows_are_one_page() -> None:
    assert pages(9).user("hi") == [["Which day?", *rows(*range(1, 10)), "Never"]]


def test_more_than_ten_rows_come_in_pages_with_the_extra_ones_on_each() -> None:
    talk = pages(20)
    assert talk.user("hi") == [["Which day?", *rows(*range(1, 9)), "Never", "More …"]]
    assert tap(talk, "More …") == [["Which day?", *rows(*range(9, 16)), "Never", "Back", "More …"]]
    assert tap(talk, "More …") == [["Which day?", *rows(*range(16, 21)), "Never", "Back"]]
    assert tap(talk, "Back") == [["Which day?", *rows(*range(9, 16)), "Never", "Back", "More …"]]
    assert tap(talk, "day 12") == ["day 12"]


def test_pages_are_turned_in_writing_too() -> None:
    talk = pages(20)
    talk.user("hi")
    assert talk.user("more")[0][1] == "day 9"
    assert talk.user("back")[0][1] == "day 1"


def test_titles_and_numbers_of_all_pages_are_answers() -> None:
    for text, answer in (("day 19", "day 19"), ("17", "day 17"), ("never", "Never.")):
        talk = pages(20)
        talk.user("hi")
        assert talk.user(text) == [answer]


def test_a_row_of_an_earlier_page_is_good_still() -> None:
    talk = pages(20)
    talk.user("hi")
    first = talk.shown[0].id
    tap(talk, "More …"), tap(talk, "More …")
    assert talk.tap_id(first) == ["day 1"]


def test_turning_a_page_is_the_same_visit_and_uses_up_no_retry() -> None:
    talk = pages(20)
    talk.user("hi")
    visit = talk.session.visit
    tap(talk, "More …")
    assert talk.session.visit == visit
    assert talk.session.frame is not None and talk.session.frame.question.retries == 0


def test_the_question_put_again_shows_the_page_where_the_contact_was() -> None:
    talk = pages(20)
    talk.user("hi")
    tap(talk, "More …")
    assert talk.user("again")[0][1] == "day 9"


@pytest.mark.parametrize("days", [10, 11, 17, 18, 25, 99, 130])
def test_every_row_is_on_one_page_whatever_their_number(days: int) -> None:
    talk = pages(days)
    (page,) = talk.user("hi")
    seen = page[1:]
    while "More …" in page:
        (page,) = tap(talk, "More …")
        assert violations(talk.sent[-1]) == []
        assert len(page) <= 11
        seen += page[1:]
    assert [row for row in seen if row.startswith("day")] == rows(*range(1, min(days, 99) + 1))


def test_sections_that_the_gateway_takes_in_one_list_are_shown_whole() -> None:
    sections = ", ".join(f"S{n}: [{', '.join(f'r{n}{k}' for k in range(4))}]" for n in range(5))
    talk = Talk(f"""
flow: main
start: {{otherwise: true}}
steps: {{q: {{ask: Which?, list: {{sections: {{{sections}}}}}}}}}
""")
    talk.user("hi")
    (message,) = [message for message in talk.sent if isinstance(message, ListMessage)]
    assert [len(section.rows) for section in message.sections] == [4] * 5


@pytest.mark.parametrize(
    ("written", "shown"),
    [("{Tea: b, Coffee: {value: c, about: Black}}", ["Tea", "Coffee"]), ("[Tea, Coffee]", ["Tea", "Coffee"]),
     ('{from: l, title: "No. {{ it }}"}', ["No. 1", "No. 2"]), ("{Rows of seats: {value: r}, Button: b}", ["Rows of seats", "Button"])],
)  # fmt: skip
def test_a_list_may_be_written_like_buttons(written: str, shown: list[str]) -> None:
    vars = "vars: {a: text, l: {type: list, value: [1, 2]}}"
    talk = Talk(
        f"flow: main\nstart: {{otherwise: true}}\n{vars}\nsteps: {{a: {{ask: Which?, list: {written}, save: a}}, b: {{say: B}}}}"
    )
    talk.user("hi")
    (message,) = [message for message in talk.sent if isinstance(message, ListMessage)]
    assert [row.title for section in message.sections for row in section.rows] == shown


def test_a_key_of_a_list_that_is_misspelt_is_not_taken_for_a_row() -> None:
    (problem,) = problems_of("flow: f\nsteps: {a: {ask: x, list: {row: [Tea, Coffee]}}}")
    assert problem.endswith('list: unknown key "row" (did you mean "rows"?)')


def test_many_answers_are_picked_over_several_pages() -> None:
    flow = PAGES.replace("DAYS", str(rows(*range(1, 21)))).replace("save: day", "save: day\n    many: true")
    talk = Talk(flow.replace("{type: text}", "{type: list}").replace("{{ day }}", "{{ day | join('+') }}"))
    talk.user("hi")
    tap(talk, "day 2"), tap(talk, "More …")
    assert tap(talk, "day 9") == [
        ["Which day?\n\n✓ day 2, day 9", "day 8", "✓ day 9", *rows(*range(10, 14)), "Never", "Back", "More …", "Done"]
    ]
    assert tap(talk, "Done") == ["day 2+day 9"]


def test_a_choice_of_the_same_name_as_what_leads_on_comes_first() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
vars: {got: {type: text}}
steps:
  q: {ask: Where?, options: [Back, Front, a, b, c, d, e, f, g, h, i], save: got}
  done: {say: "{{ got }}", then: end}
""")
    talk.user("hi")
    assert tap(talk, "More …")[0][-1] == "Back (2)"
    assert talk.user("back") == ["Back"]


ANYTHING = """
flow: main
start: {otherwise: true}
vars: {n: {type: integer, value: 0}, dates: {type: list, value: DAYS}, got: {type: list}}
steps:
  q:
    ask: Which?
    many: {min: 2, max: 4}
    HOW
    save: got
    skip: [skip]
    words: {more of them: {set: {n: "{{ n + 1 }}"}, then: again}, anew: q}
    retry: {ask: Which ones?, max: 3, else: next}
  done: {ask: "So: {{ got | default([]) | join('+') }}", then: q}
"""
FORMS = (
    "list: {rows: {from: dates, if: it != 'day 3' or n > 0}, extra: {Never: {value: never}, Other: q}}",
    "options: {from: dates}\n    show: numbers",
    "match: anywhere\n    options: {day 1: {value: day 1}, day 2: {value: day 2, if: n > 1}, day 3: {value: day 3}, Other: q}",
)
SAYINGS = (
    "1",
    "12",
    "1, 2",
    "2 and 3 and 7",
    "day 3",
    "more",
    "back",
    "done",
    "more of them",
    "anew",
    "skip",
    "1-9",
    "hm",
)


@settings(max_examples=tries(12, 60))
@given(st.sampled_from(FORMS), st.lists(st.one_of(st.sampled_from(SAYINGS), st.integers(0, 40)), max_size=25))
def test_whatever_is_tapped_and_written_many_answers_are_those_that_were_offered(
    form: str, said: list[str | int]
) -> None:
    talk = Talk(ANYTHING.replace("DAYS", str(rows(*range(1, 26)))).replace("HOW", form))
    talk.user("hi")
    for what in said:
        if isinstance(what, str):
            talk.user(what)
        elif talk.shown:
            talk.tap_id(talk.shown[-1 - what % len(talk.shown)].id)
        got = talk.vars["got"] or []
        assert talk.turn is not None and talk.turn.failure is None
        assert talk.at in ("main/q", "main/done")
        assert not got or (2 <= len(got) <= 4 and {*got} <= {*rows(*range(1, 26)), "never"} and len({*got}) == len(got))
    assert [broken for message in talk.sent for broken in violations(message)] == []


# -- numbers instead of buttons

NUMBERS = """
flow: main
start: {otherwise: true}
vars: {got: {type: text}}
steps:
  q:
    ask: Which?
    show: numbers
    options: {Check-up: {value: up, about: 30 minutes, words: [teeth]}, A title that is longer than what any row of a list takes: {value: long}}
    save: got
  done: {say: "{{ got }}", then: end}
"""


def test_choices_can_be_shown_as_a_text_with_numbers() -> None:
    talk = Talk(NUMBERS)
    text = "Which?\n\n1. Check-up – 30 minutes\n2. A title that is longer than what any row of a list takes"
    assert talk.user("hi") == [text]
    assert talk.user("2.") == ["long"]
    for answer in ("1", "check up", "Teeth"):
        talk.user("hi")
        assert talk.user(answer) == ["up"]


def test_written_numbers_mean_what_they_stand_at_but_for_a_title_that_is_one() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
vars: {got: {type: text}}
steps:
  q: {ask: How many?, show: numbers, options: ["2", "10", "20"], save: got}
  done: {say: "{{ got }}", then: end}
""")
    for text, answer in (("2", "2"), ("3", "20"), ("10", "10"), ("1", "2")):
        talk.user("hi")
        assert talk.user(text) == [answer]


def test_many_answers_by_number() -> None:
    talk = many(f"many: true\n    show: numbers\n    {DRINKS}")
    assert talk.user("2") == ["What would you like?\n\n1. Tea\n2. ✓ Coffee\n3. Salt, pepper\n4. Milk\n5. Done"]
    assert talk.user("5") == ["coffee."]
    assert many(f"many: true\n    show: numbers\n    {DRINKS}").user("1, 3 and 4") == ["tea+salt+milk."]


def test_more_numbered_lines_than_a_message_takes_go_on_in_the_next() -> None:
    titles = [f"{n} {'x' * 90}" for n in range(60)]
    talk = Talk(f"""
flow: main
start: {{otherwise: true}}
vars: {{titles: {{type: list, value: {titles}}}, got: {{type: text}}}}
steps:
  q: {{ask: Which?, show: numbers, options: {{from: titles}}, save: got}}
  done: {{say: "{{{{ got }}}}", then: end}}
""")
    texts = talk.user("hi")
    assert len(texts) == 2
    assert all(isinstance(message, TextMessage) and violations(message) == [] for message in talk.sent)
    assert "\n".join(texts).count("x" * 90) == 60
    assert talk.user("60") == [titles[59]]


# -- wider matching


@pytest.mark.parametrize("text", ["not at 10:30 if it rains", "anything but the 10:30 slot"])
def test_a_title_with_a_colon_that_is_denied_is_asked_for_again(text: str) -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
steps:
  q: {ask: When?, match: anywhere, buttons: ["10:30", "11:30"], retry: {say: Sorry?}}
  done: {say: Noted., then: end}
""")
    talk.user("hi")
    assert talk.user(text) == ["Sorry?"]


def test_an_answer_may_stand_anywhere_in_a_text_or_come_close() -> None:
    flow = """
flow: main
start: {otherwise: true}
vars: {got: {type: choice, of: [Cleaning, Check-up]}}
steps:
  q: {ask: Which?, match: HOW, options: [Cleaning, Check-up], save: got, retry: {say: Sorry?}}
  done: {say: "{{ got }}", then: end}
"""
    for how, text, answer in (
        ("whole", "a cleaning please", "Cleaning"),
        ("whole", "a cleaning for my teeth", "Sorry?"),
        ("anywhere", "a cleaning for my teeth", "Cleaning"),
        ("anywhere", "a cleaning, not for me", "Cleaning"),
        ("anywhere", "not a cleaning", "Sorry?"),
        ("anywhere", "cleaning teeth\nno pain", "Cleaning"),
        ("anywhere", "a check-up and a cleaning", "Sorry?"),
        ("anywhere", "a claening for my teeth", "Cleaning"),
        ("whole", "claening", "Sorry?"),
        ("close", "claening", "Cleaning"),
        ("close", "chek up", "Check-up"),
        ("close", "a cleaning please", "Cleaning"),
        ("close", "a cleaning for my teeth", "Sorry?"),
        ("close", "no cleaning", "Sorry?"),
    ):
        talk = Talk(flow.replace("HOW", how))
        talk.user("hi")
        assert talk.user(text) == [answer], (how, text)


# -- answers that do not fit

DAY = """
flow: main
start: {otherwise: true}
vars: {day: {type: date, after: today, error: "{{ it }} is no day to come.", check: "it.day != 13"}}
steps:
  q: {ask: Which day?, options: {Tomorrow: {value: "{{ today + days(1) }}"}}, accepts: text, save: day, retry: {say: Sorry?, max: 2, else: lost}}
  done: {say: "{{ day | date }}", then: end}
  lost: {say: Lost., then: end}
"""


def test_what_the_variable_says_to_an_answer_that_does_not_fit_comes_in_place_of_the_retry() -> None:
    talk = Talk(DAY)
    talk.user("hi")
    assert talk.user("1 May 2020") == ["1 May 2020 is no day to come."]
    assert talk.user("13 May") == ["13 May is no day to come."]
    assert talk.user("soon") == ["Lost."]


def test_beside_the_choices_stands_what_the_variable_takes() -> None:
    talk = Talk(DAY)
    talk.user("hi")
    assert talk.user("12 May") == ["12 May 2030"]
    talk.user("hi")
    assert talk.user("tomorrow") == ["7 May 2030"]


# -- what a question with choices takes beside them

CLOSED = """
flow: main
start: {otherwise: true}
vars: {got: TYPE}
steps:
  q: {ask: Which?, OFFER, save: got, retry: {say: Sorry?}}
  done: {say: "{{ got }}", then: end}
  dear: {say: "{{ got }}, the dear one", then: end}
---
flow: help
start: {words: [help]}
steps: {help: {say: A human comes., then: end}}
"""


@pytest.mark.parametrize(
    ("declared", "offer", "answers"),
    [
        (
            "text",
            "options: [Small, Large]",
            {"huge": "Sorry?", "large!": "Large", "the large one, please": "Large", "not the large one": "Sorry?"},
        ),
        ("text", "options: [Small, Large], accepts: text", {"huge": "huge", "2": "2"}),
        ("date", 'options: {Tomorrow: {value: "{{ today + days(1) }}"}}', {"12 May": "Sorry?", "7.5.": "2030-05-07"}),
        (
            "boolean",
            "buttons: {Fine: {value: true}, No way: {value: false}}",
            {"yes please": "true", "maybe": "Sorry?"},
        ),
        ("date", "options: {A day: {value: 2030-05-12}}", {"on 12 May": "2030-05-12"}),
        (
            "{type: choice, of: [s, l]}",
            "buttons: {Small: {value: s}, Large: {value: l, then: dear}}",
            {"L": "l, the dear one"},
        ),
        (
            "integer",
            "options: {A ten: {value: 10}, A five: {value: 5}}",
            {"5": "5", "5 pieces": "5", "2": "Sorry?", "7": "Sorry?"},
        ),
        (
            "integer",
            "options: {Ten: {value: 10}, Two: {value: 2}, One: {value: 1}}",
            {"2": "2", "1": "1", "3": "Sorry?"},
        ),
        ("integer", "options: {A few: {value: 3}, Many: {value: 30}}, accepts: text", {"2": "2", "many": "30"}),
        ("integer", "show: numbers, options: {A ten: {value: 1}, A five: {value: 2}, A lot: {value: 3}}", {"3": "3"}),
        (
            "integer",
            "show: numbers, options: {Ten: {value: 10}, Two: {value: 2}, One: {value: 1}}",
            {"2": "2", "1": "Sorry?", "3": "1"},
        ),
        (
            "integer",
            "options: {1 night: {value: 10}, 2 nights: {value: 20}, A week or more: {value: 70}}",
            {
                "2": "20",
                "the one with 2 nights": "20",
                "two nights": "20",
                "for 2 please": "20",
                "2 guests": "Sorry?",
                "3": "Sorry?",
                "10": "10",
            },
        ),
        (
            "text",
            "options: {Under 18: {value: child}, 18 to 64: {value: adult}}",
            {"18": "Sorry?", "64": "adult", "under 18": "child"},
        ),
        (
            "text",
            'options: ["A beard, 12 €", "A haircut, 30 €", "Curls (40)"]',
            {
                "beard please": "A beard, 12 €",
                "just the haircut": "A haircut, 30 €",
                "curls": "Curls (40)",
                "beard 12": "A beard, 12 €",
                "beard 30": "Sorry?",
                "no beard": "Sorry?",
                "beard and haircut": "Sorry?",
            },
        ),
        (
            "text",
            'options: ["10:30", "11:00", "14:15"]',
            {
                "half past ten": "10:30",
                "ten thirty please": "10:30",
                "10h30": "10:30",
                "11 am": "11:00",
                "2:15 pm": "14:15",
                "quarter past two": "14:15",
                "11 pm": "Sorry?",
                "half past ten or eleven": "Sorry?",
                "not eleven": "Sorry?",
            },
        ),
        ("time", 'options: ["10:30", "22:30"]', {"half past ten": "Sorry?", "10:30 pm": "22:30"}),
        (
            "text",
            'options: [Today, Fri 10 May, Mon 13 May, "Tue 14 May, 10:30"]',
            {
                "Friday please": "Fri 10 May",
                "the 13th": "Mon 13 May",
                "in a week": "Mon 13 May",
                "14 May at half past ten": "Tue 14 May, 10:30",
                "this Monday": "Sorry?",
                "Friday or Monday": "Sorry?",
                "after Friday": "Sorry?",
            },
        ),
    ],
)
def test_only_choices_are_answers_unless_the_question_accepts_texts(
    declared: str, offer: str, answers: dict[str, str]
) -> None:
    for text, answer in answers.items():
        talk = Talk(CLOSED.replace("TYPE", declared).replace("OFFER", offer))
        talk.user("hi")
        assert talk.user(text) == [answer], text


def test_what_is_none_of_the_choices_may_start_another_flow() -> None:
    flow = (
        CLOSED.replace("TYPE", "text")
        .replace("OFFER", "options: [Small]")
        .replace("vars:", "interrupted: resume\nvars:")
    )
    talk = Talk(flow)
    talk.user("hi")
    assert talk.user("help") == ["A human comes.", ["Which?", "Small"]]


@pytest.mark.parametrize(
    ("declared", "offer", "problem"),
    [
        ("text", "accepts: text", 'E123 step "q": "accepts" without choices'),
        (
            "text",
            "options: [A], accepts: [text, image]",
            'E109 step "q": accepts: a question takes only text beside its choices',
        ),
        ("list", "many: true, options: [A], accepts: text", 'E121 step "q": "accepts" beside "many"'),
        ("object", "options: {from: '[1]'}, accepts: text", 'E303 step "q": nobody can write an answer of type object'),
        ("text", "options: {A: done, B: dear}", 'E123 step "q": "save": no choice has a value'),
    ],
)
def test_what_is_accepted_for_nothing_is_a_problem(declared: str, offer: str, problem: str) -> None:
    (found,) = problems_of(CLOSED.replace("TYPE", declared).replace("OFFER", offer))
    assert problem in found


# -- numbers


@pytest.mark.parametrize("text", ["-2", "−2", "2,5", "2 €", "1.2"])
def test_a_number_with_a_sign_or_a_unit_chooses_nothing(text: str) -> None:
    talk = Talk(CLOSED.replace("TYPE", "text").replace("OFFER", "show: numbers, options: [A, B]"))
    talk.user("hi")
    assert talk.user(text) == ["Sorry?"]


@pytest.mark.parametrize("text", ["2", " 2. ", "#2", "(2)", "２", "*2*", "two", "number 2 please", "B"])
def test_a_number_that_is_shown_chooses(text: str) -> None:
    for show, answer in (("show: numbers, ", "B"), ("", "B" if text == "B" else "Sorry?")):
        talk = Talk(CLOSED.replace("TYPE", "text").replace("OFFER", f"{show}options: [A, B]"))
        talk.user("hi")
        assert talk.user(text) == [answer], show


def test_a_negative_number_is_none_of_many_answers() -> None:
    talk = Talk(CLOSED.replace("TYPE", "list").replace("OFFER", "many: true, show: numbers, options: [A, B, C]"))
    talk.user("hi")
    assert [talk.user(text) for text in ("-2", "1, -3", "A and -3")] == [["Sorry?"]] * 3
    assert talk.user("1-2") == ["A, B"]


def test_an_exact_match_takes_titles_and_words_as_they_are_written_and_no_numbers() -> None:
    offer = "match: exact, options: {C: {value: c, words: [Sea]}, C++: {value: cpp}}"
    for text, answer in {"c++": "cpp", "sea": "c", "C!": "Sorry?", "1": "Sorry?", "cpp": "Sorry?"}.items():
        talk = Talk(CLOSED.replace("TYPE", "{type: choice, of: [c, cpp]}").replace("OFFER", offer))
        talk.user("hi")
        assert talk.user(text) == [answer], text


def test_beside_an_exact_match_the_numbers_count_that_are_shown() -> None:
    for options, text, answer in (
        ("C, C++", "2", "C++"),
        ("C, C++", "3", "Sorry?"),
        ("2, 1", "1", "1"),
        ("C, 1", "2", "Sorry?"),
    ):
        offer = f"match: exact, show: numbers, options: [{options}]"
        talk = Talk(CLOSED.replace("TYPE", "text").replace("OFFER", offer))
        talk.user("hi")
        assert talk.user(text) == [answer], (options, text)


def test_no_place_counts_among_many_answers_where_a_title_has_a_number_of_its_own() -> None:
    offer = "many: true, show: numbers, options: [2 nights, 1 night]"
    talk = Talk(CLOSED.replace("TYPE", "list").replace("OFFER", offer))
    talk.user("hi")
    assert [talk.user(text) for text in ("1", "1, 2", "3")] == [["Sorry?"]] * 3
    assert talk.user("1 night, 2 nights") == ["1 night, 2 nights"]


def test_an_exact_match_of_many_answers_takes_one_at_a_time() -> None:
    talk = Talk(CLOSED.replace("TYPE", "list").replace("OFFER", "match: exact, many: true, options: [C, C++]"))
    talk.user("hi")
    assert talk.user("1, 2") == ["Sorry?"]
    assert talk.user("c++") == [["Which?", "C", "✓ C++", "Done"]]
    assert talk.user("done") == ["C++"]


# -- other languages

BILINGUAL = "name: T\nlanguages: [en, id]\nwords: {bahasa: {set: {language: id}}}\ndefaults: {timeout: {after: 20h, then: end}}\n"
DRINK = """
flow: main
start: {otherwise: true}
vars: {got: {type: list}, one: {type: choice, of: [Tea, Coffee]}}
steps:
  one: {ask: One?, options: [Tea, Coffee], save: one}
  many: {ask: Which?, many: true, show: numbers, options: {Tea: {value: t}, Coffee: {value: c}}, save: got}
  done: {say: "{{ one }} {{ got | join('+') }}", then: end}
"""
LOCALE = """
main:
  one: {ask: Satu?, options: {Tea: Teh, Coffee: Kopi}}
  many: {ask: Yang mana?, options: {Tea: Teh, Coffee: Kopi}}
"""


def bilingual() -> Talk:
    sources = [*sources_of(DRINK, BILINGUAL), Source("locales/id.yml", LOCALE.encode())]
    loaded = load(sources, extensions_in([{}]))
    assert loaded.library is not None, "\n".join(map(str, loaded.problems))
    return Talk(loaded.library)


def test_a_title_is_understood_and_saved_alike_in_every_language() -> None:
    talk = bilingual()
    talk.user("hi")
    assert talk.user("kopi") == ["Which?\n\n1. Tea\n2. Coffee"]
    assert talk.user("teh, kopi") == ["Coffee t+c"]


def test_a_button_is_good_after_a_change_of_language() -> None:
    talk = bilingual()
    talk.user("hi")
    assert talk.user("bahasa") == []
    assert tap(talk, "Tea") == ["Yang mana?\n\n1. Teh\n2. Kopi"]
    assert talk.vars["one"] == "Tea"


def test_what_was_picked_is_so_after_a_change_of_language() -> None:
    talk = bilingual()
    talk.user("hi"), talk.user("tea"), talk.user("coffee")
    talk.user("bahasa")
    assert talk.user("teh") == ["Yang mana?\n\n1. ✓ Teh\n2. ✓ Kopi\n3. Selesai"]
    assert talk.user("selesai") == ["Tea c+t"]


# -- what the checks find

WRONG = {
    "many answers to a question for text": (
        "q: {ask: x, many: true}",
        'E123 step "q": "many" where there is nothing to choose from (add `options`)',
    ),
    "matching where there is nothing to choose from": (
        "q: {ask: x, match: close}",
        'E123 step "q": "match" where there is nothing to choose from (add `options`)',
    ),
    "numbers beside a list": (
        "q: {ask: x, show: numbers, list: {rows: [A]}}",
        'E121 step "q": "show" beside "list" (write the choices under `options`)',
    ),
    "another way to show choices": (
        "q: {ask: x, show: number, options: [A]}",
        'E109 step "q": show: "number" is not known (did you mean "numbers"?)',
    ),
    "many answers saved as a text": (
        "q: {ask: x, many: true, options: [A, B], save: t}",
        'E303 step "q": many answers are a list, and "t" is of type text (declare it as t: {type: list})',
    ),
    "more answers than choices": (
        "q: {ask: x, many: {min: 3}, options: [A, B], save: l}",
        'E307 step "q": many: 3 at least, and there are 2 to choose from (write a smaller `min`, or add choices)',
    ),
    "bounds the wrong way round": (
        "q: {ask: x, many: {min: 2, max: 1}, options: [A, B], save: l}",
        'E307 step "q": many: 1 at most, and 2 at least (write a `max` of 2 or more)',
    ),
    "three buttons and the one that ends": (
        "q: {ask: x, many: true, buttons: [A, B, C], save: l}",
        'E401 step "q": buttons: 3 buttons, 2 are allowed beside the one that ends many answers (write `options` in place of `buttons`: what does not fit on buttons is shown as a list)',
    ),
    "one of many that tags": (
        "q: {ask: x, many: true, options: {A: {value: a, tag: a}, B: {value: b}}, save: l}",
        'E131 step "q": "A" leads nowhere, being one answer of many '
        "(add `then`, so that it is the whole answer, or only its value)",
    ),
    "a title without room for the mark": (
        f"q: {{ask: x, many: true, list: {{rows: [{'x' * 23}]}}, save: l}}",
        f'E402 step "q": "{"x" * 23}" has 23 characters, 22 are allowed (shorten it)',
    ),
    "too many extra rows": (
        "q: {ask: x, list: {rows: [A], extra: [B, C, D, E, F, G, H]}, save: t}",
        'E401 step "q": list: extra: 7 choices, 6 are allowed, since each page shows them (write them among the rows)',
    ),
    "a misspelt name in a condition": (
        "q: {ask: x, options: {A: {if: nn > 1, then: end}, B: end}}",
        'E301 no variable "nn" (did you mean "n"?)',
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_it_is_found(name: str) -> None:
    step, problem = WRONG[name]
    head = "flow: main\nstart: {otherwise: true}\nvars: {t: {type: text}, l: {type: list}, n: {type: integer}}\n"
    found = [line.split(": ", 1)[1] for line in problems_of(f"{head}steps:\n  {step}\n  done: {{say: x, then: end}}\n")]
    assert found == [problem]


def test_four_buttons_of_which_some_are_hidden_are_allowed() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
vars: {n: {type: integer, value: 2}}
steps:
  q: {ask: Which?, header: H, buttons: {A: end, B: {if: n > 2, then: end}, C: {if: n <= 2, then: end}, D: end}}
""")
    assert talk.user("hi") == [["Which?", "A", "C", "D"]]
    assert isinstance(talk.sent[0], Buttons) and talk.sent[0].header == "H"
