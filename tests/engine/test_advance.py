"""The rules of the language, one fact each, on the pure engine."""

import gc
import sys
from traceback import walk_stack
from typing import Any

import pytest

from bot.core.session import Session
from tests.talk import BOT, Talk

MENU = """
flow: main
start: {words: [hi], otherwise: true}
steps:
  menu:
    ask: How can we help?
    buttons: {Order: order, Stop here: end}
  order:
    ask: How many?
    save: count
    retry: {say: A number please., max: 2, else: sorry}
    remind: {after: 1h, say: Still there?}
  done:
    say: "{{ count }} it is."
    then: end
  sorry:
    say: Sorry.
    then: end
vars: {count: {type: integer, min: 1}}
"""


def test_a_word_starts_its_flow_and_a_tap_chooses() -> None:
    talk = Talk(MENU)
    assert talk.user("Hi!") == [["How can we help?", "Order", "Stop here"]]
    assert talk.tap("Order") == ["How many?"]
    assert talk.user("3") == ["3 it is."]
    assert talk.at is None


def test_anything_else_starts_the_flow_for_everything_else() -> None:
    assert Talk(MENU).user("something else") == [["How can we help?", "Order", "Stop here"]]


def test_a_choice_can_be_written_by_its_title() -> None:
    for text in ("order", "ORDER.", "I'd like to order, please"):
        talk = Talk(MENU)
        talk.user("hi")
        assert talk.user(text) == ["How many?"], text


def test_a_wrong_reply_is_answered_by_retry_and_then_by_its_else() -> None:
    talk = Talk(MENU)
    talk.user("hi"), talk.user("order")
    assert talk.user("lots") == ["A number please."]
    assert talk.user("0") == ["A number please."]
    assert talk.user("none") == ["Sorry."]
    assert talk.at is None


def test_a_photo_is_no_answer_to_a_question_for_text() -> None:
    talk = Talk(MENU)
    talk.user("hi"), talk.user("order")
    assert talk.photo() == ["A number please."]


def test_silence_is_reminded_once_and_then_ends() -> None:
    talk = Talk(MENU)
    talk.user("hi"), talk.user("order")
    assert talk.wait("1h") == ["Still there?"]
    assert talk.wait("19h") == []
    assert talk.at == "main/order"
    assert talk.wait("1h") == []
    assert talk.at is None


def test_a_reply_starts_the_clock_of_silence_anew() -> None:
    talk = Talk(MENU)
    talk.user("hi"), talk.user("order")
    talk.wait("50m"), talk.user("?")
    assert talk.wait("50m") == []
    assert talk.wait("10m") == ["Still there?"]


def test_a_fixed_time_out_counts_from_entry() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
steps:
  name: {ask: Name?, timeout: {after: 1h, fixed: true, say: Too late., then: end}, retry: {say: Hm?}, save: n}
vars: {n: {type: text, pattern: 'x+'}}
""")
    talk.user("a")
    talk.wait("50m"), talk.user("b")
    assert talk.wait("10m") == ["Too late."]


def test_without_retry_the_question_is_put_again() -> None:
    talk = Talk("flow: main\nstart: {otherwise: true}\nsteps: {q: {ask: Sure?, buttons: {Sure: end}}}")
    talk.user("a")
    assert talk.user("b") == [["Sorry, I didn't understand that.\n\nSure?", "Sure"]]


OTHER = """
flow: main
start: {otherwise: true}
steps:
  q: {ask: Tea?, buttons: [Yes, No], save: tea, other: {say: I did not get that.}}
  end_: {say: "{{ tea }}", then: end}
vars: {tea: {type: text, pattern: 'Yes|No'}}
"""


def test_other_takes_every_reply_that_is_no_answer() -> None:
    talk = Talk(OTHER)
    talk.user("a")
    assert talk.user("hm") == ["I did not get that."]
    assert talk.photo() == ["I did not get that."]
    assert talk.tap("No") == ["No"]


def test_an_option_in_a_plain_list_saves_its_title_and_a_value_saves_the_value() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
steps:
  q: {ask: Which?, options: {Small: {value: 1}, Large: {value: 2, words: [big]}}, save: size}
  r: {ask: "{{ size + 1 }}?", buttons: [Yes], save: t}
vars: {size: {type: integer}, t: {type: text}}
""")
    talk.user("a")
    assert talk.user("big") == [["3?", "Yes"]]


def test_an_old_tap_never_chooses_something_else() -> None:
    talk = Talk(MENU)
    talk.user("hi")
    old = talk.shown[0].id
    talk.user("order"), talk.user("2"), talk.user("hi")
    assert talk.tap_id(old) == ["That was an earlier question.", ["How can we help?", "Order", "Stop here"]]
    assert talk.at == "main/menu"


def test_old_taps_are_treated_as_declared() -> None:
    for policy, expected in {
        "ignore": [],
        "message": ["Other."],
        "reopen": [["How can we help?", "Order"]],
    }.items():
        talk = Talk(
            """
flow: main
start: {otherwise: true}
steps:
  menu: {ask: How can we help?, buttons: {Order: q}}
  q: {ask: Well?, buttons: {X: end}, other: {say: Other.}}
""",
            f"name: T\ndefaults: {{timeout: {{after: 1h, then: end}}, old_taps: {policy}}}",
        )
        talk.user("a"), talk.tap("Order")
        assert talk.tap_id(talk.shown[0].id) == expected, policy


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("ignore", []),
        ("explain", ["That was an earlier question."]),
        ("message", ["Write hi."]),
        ("reopen", [["How can we help?", "Order"]]),
    ],
)
def test_old_taps_of_who_is_in_no_flow_are_treated_as_declared(policy: str, expected: list[object]) -> None:
    talk = Talk(
        """
flow: main
start: {words: [hi]}
steps: {menu: {ask: How can we help?, buttons: {Order: end}}}
---
flow: rest
start: {otherwise: true}
steps: {s: {say: Write hi., then: end}}
""",
        f"name: T\ndefaults: {{timeout: {{after: 1h, then: end}}, old_taps: {policy}}}",
    )
    talk.user("hi"), talk.tap("Order")
    assert talk.at is None
    assert talk.tap_id(talk.shown[0].id, "Order") == expected


def test_an_id_that_somebody_types_opens_no_step_without_buttons() -> None:
    talk = Talk(
        """
flow: main
start: {otherwise: true}
steps:
  menu: {ask: How can we help?, buttons: {Order: pay}}
  pay: {ask: "Which card?", then: paid}
  paid: {say: "It is paid: {{ 'code' }}", then: end}
""",
        "name: T\ndefaults: {timeout: {after: 1h, then: end}, old_taps: reopen}",
    )
    talk.user("a")
    menu = talk.shown[0].id
    forged = menu.replace("menu", "paid")
    assert forged != menu
    assert talk.tap_id(forged) == []
    assert talk.at == "main/menu"


@pytest.mark.parametrize("id", ["", "Order", "order", "ORDER", "_order"])
def test_a_tap_of_which_only_the_title_comes_counts_as_its_title(id: str) -> None:
    talk = Talk(MENU)
    talk.user("hi")
    assert talk.tap_id(id, "Order") == ["How many?"]


WORDS = (
    "name: T\nwords: {stop: {say: Bye!, then: end}, help: {say: Just answer.}, home: /main}\n" + BOT.split("\n", 1)[1]
)


def test_the_bots_words_are_heard_before_the_answer() -> None:
    talk = Talk(MENU, WORDS)
    talk.user("hi"), talk.user("order")
    assert talk.user("Help") == ["Just answer."]
    assert talk.at == "main/order"
    assert talk.user("home") == [["How can we help?", "Order", "Stop here"]]
    assert talk.user("stop") == ["Bye!"]
    assert talk.at is None


def test_an_expression_that_fails_takes_the_error_outcome() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
vars: {found: {type: object}}
steps:
  show: {say: "It is {{ found.state.name }}.", errors: {else: sorry}, then: end}
  sorry: {say: Sorry., then: end}
""")
    assert talk.user("a") == ["Sorry."]


def test_a_failure_that_nobody_declared_ends_the_conversation_and_tells_the_operator() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
vars: {found: {type: object}}
steps: {show: {say: "It is {{ found.state.name }}.", then: end}}
""")
    assert talk.user("a") == []
    assert talk.at is None
    assert talk.turn is not None and talk.turn.failure is not None and "main/show" in talk.turn.failure


def test_another_flow_takes_the_variables_along_and_knows_where_one_came_from() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
vars: {name: {type: text}}
steps: {q: {ask: Name?, save: name, then: /greet}}
---
flow: greet
vars: {name: {type: text}}
steps: {g: {say: "{{ name }} from {{ came_from }}", then: end}}
""")
    talk.user("a")
    assert talk.user("Ann") == ["Ann from main"]


def test_a_question_that_was_replaced_by_a_template_is_put_again_by_the_next_reply() -> None:
    talk = Talk(MENU)
    talk.user("hi"), talk.user("order")
    talk.send_ended("replaced")
    assert talk.user("3") == ["How many?"]
    assert talk.user("3") == ["3 it is."]


def test_choices_made_at_run_time_mean_what_was_shown() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
vars: {slots: {type: list, value: [{t: "09:00", d: Lee}, {t: "11:00", d: Kim}]}, slot: {type: object}}
steps:
  q:
    ask: When?
    list: {button: Times, rows: {from: slots, title: "{{ it.t }}", about: "{{ it.d }}"}, extra: {Another day: other}}
    save: slot
  done: {say: "{{ slot.d }}", then: end}
  other: {say: Other., then: end}
""")
    assert talk.user("a") == [["When?", "09:00", "11:00", "Another day"]]
    assert talk.tap("11:00") == ["Kim"]
    talk.user("a")
    assert talk.user("another day") == ["Other."]


def test_skip_saves_nothing_and_goes_on() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
vars: {email: {type: email, value: old@example.org}}
steps:
  q: {ask: Email?, save: email, skip: [skip, no]}
  done: {say: "{{ email | default('none') }}", then: end}
""")
    talk.user("a")
    assert talk.user("SKIP") == ["none"]
    talk.user("a")
    assert talk.user("Ann@Example.org") == ["Ann@example.org"]


def test_an_edited_step_asks_again_in_its_new_form() -> None:
    talk = Talk(MENU)
    talk.user("hi"), talk.user("order")
    talk.edit(MENU.replace("How many?", "How many cups?"))
    assert talk.user("3") == ["How many cups?"]
    assert talk.user("3") == ["3 it is."]


def test_an_edit_elsewhere_changes_nothing_for_who_waits() -> None:
    talk = Talk(MENU)
    talk.user("hi"), talk.user("order")
    talk.edit(MENU.replace("it is.", "then."))
    assert talk.user("3") == ["3 then."]


RENAMED = MENU.replace("  order:\n", "  amount:\n    renamed_from: order\n").replace("Order: order", "Order: amount")


def test_a_renamed_question_takes_the_answer_that_it_waits_for() -> None:
    talk = Talk(MENU)
    talk.user("hi"), talk.user("order")
    talk.edit(RENAMED)
    assert talk.user("3") == ["3 it is."]


def test_a_renamed_question_that_says_something_else_is_put_again() -> None:
    talk = Talk(MENU)
    talk.user("hi"), talk.user("order")
    talk.edit(RENAMED.replace("How many?", "How many cups?"))
    assert talk.user("3") == ["How many cups?"]


def test_a_button_is_good_after_its_question_was_renamed() -> None:
    talk = Talk(MENU)
    talk.user("hi")
    talk.edit(MENU.replace("  menu:\n", "  start:\n    renamed_from: menu\n"))
    assert talk.tap("Order") == ["How many?"]


TWICE = RENAMED.replace("  amount:\n    renamed_from: order\n", "  number:\n    renamed_from: amount\n").replace(
    "Order: amount", "Order: number"
)


@pytest.mark.parametrize(
    ("edits", "arrives_after"),
    [
        ([RENAMED, MENU], 0),
        ([RENAMED, MENU], 1),
        ([RENAMED, TWICE, RENAMED, MENU], 1),
        ([RENAMED, TWICE, MENU], 0),
        ([RENAMED, MENU, RENAMED, MENU], 0),
    ],
)
def test_an_edit_that_is_taken_back_leaves_who_waits_at_a_renamed_question(
    edits: list[str], arrives_after: int
) -> None:
    talk = Talk(MENU)
    for number, edit in enumerate(edits):
        if number == arrives_after:
            talk.user("hi"), talk.user("order")
        talk.edit(edit)
        if arrives_after <= number < arrives_after + 2:  # as often as it may be wrong
            assert talk.user("lots") == ["A number please."]
    assert talk.user("3") == ["3 it is."]


def test_a_button_of_a_renamed_question_is_good_after_the_edit_was_taken_back() -> None:
    renamed = MENU.replace("  menu:\n", "  start:\n    renamed_from: menu\n")
    talk = Talk(renamed)
    talk.user("hi")
    talk.edit(MENU)
    assert talk.tap("Order") == ["How many?"]


def test_a_question_that_was_left_is_gone_back_to_after_the_edit_was_taken_back() -> None:
    flow = "flow: main\nstart: {words: [hi]}\nwords: {why: {then: why}}\nsteps:\n"
    why = "  why: {ask: Because. Go on?, options: {Go on: back}}\n"
    talk = Talk(flow + "  who: {renamed_from: name, ask: Name?}\n" + why)
    talk.user("hi"), talk.user("why")
    talk.edit(flow + "  name: {ask: Name?}\n" + why)
    assert talk.tap("Go on") == ["Name?"]


def test_a_former_name_that_another_step_has_is_not_where_somebody_goes_on() -> None:
    other = "  order: {ask: Something else?}\nvars:"
    both = RENAMED.replace("vars:", other)
    talk = Talk(both)
    talk.user("hi"), talk.user("order")
    gone = both.replace("  amount:\n    renamed_from: order\n", "  total:\n").replace("Order: amount", "Order: total")
    talk.edit(gone)
    assert talk.user("3") == [["How can we help?", "Order", "Stop here"]]


def test_a_question_that_was_left_is_gone_back_to_under_its_new_name() -> None:
    flow = "flow: main\nstart: {words: [hi]}\nwords: {why: {then: why}}\nsteps:\n"
    why = "  why: {ask: Because. Go on?, options: {Go on: back}}\n"
    talk = Talk(flow + "  name: {ask: Name?}\n" + why)
    talk.user("hi"), talk.user("why")
    talk.edit(flow + "  who: {renamed_from: name, ask: Name?}\n" + why)
    assert talk.tap("Go on") == ["Name?"]


def test_a_step_that_is_gone_starts_over() -> None:
    talk = Talk(MENU)
    talk.user("hi"), talk.user("order")
    talk.edit(RENAMED.replace("renamed_from: order", "tag: x"))
    assert talk.user("3") == [["How can we help?", "Order", "Stop here"]]


CORRECTED = """
flow: main
start: {otherwise: true}
vars: {name: {type: text}}
steps:
  name: {ask: Name?, save: name}
  sure: {ask: "{{ name }}?", options: {"Yes": end, "No": {correct: name}}}
"""


@pytest.mark.parametrize(
    ("edited", "said"),
    [
        ("right: {renamed_from: sure, ask: 'Is it {{ name }}?', options: {Fine: end}}", [["Is it Bob?", "Fine"]]),
        ("other: {say: 'Thank you, {{ name }}.', then: end}", ["Thank you, Bob."]),
    ],
)
def test_an_answer_that_is_corrected_leads_back_also_after_an_edit(edited: str, said: list[Any]) -> None:
    talk = Talk(CORRECTED)
    talk.user("hi"), talk.user("Ann"), talk.user("no")
    talk.edit(CORRECTED[: CORRECTED.index("sure")] + edited)
    assert talk.user("Bob") == said


def test_a_loop_that_the_checks_do_not_see_ends_in_a_failure() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
steps: {a: {say: x, then: b, visits: {max: 1000, else: end}}, b: {say: y, then: a}}
""")
    talk.user("a")
    assert talk.turn is not None and "without waiting" in str(talk.turn.failure)
    assert talk.at is None


def test_route_hands_the_message_on_as_a_new_one() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
steps: {q: {ask: Well?, buttons: {X: end}, other: route}}
---
flow: hours
start: {words: [hours]}
steps: {h: {say: 9 to 5., then: end}}
""")
    talk.user("a")
    assert talk.user("hours") == ["9 to 5."]
    assert talk.at is None


def test_what_a_contact_wrote_is_data_and_never_source() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
vars: {t: {type: text}}
steps: {q: {ask: Say., save: t}, r: {say: "You said {{ t }}", then: end}}
""")
    talk.user("a")
    assert talk.user("{{ 7 * 7 }}{% raw %}") == ["You said {{ 7 * 7 }}{% raw %}"]


def test_the_session_survives_the_way_to_the_store_and_back() -> None:
    talk = Talk(MENU)
    talk.user("hi"), talk.user("order")
    assert isinstance(talk.session, Session)
    assert talk.vars == {"count": None}


def test_a_number_is_an_answer_and_not_the_first_word_of_skip() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
vars: {n: {type: integer}}
steps: {q: {ask: n?, save: n, skip: [skip]}, r: {say: "n={{ n }}", then: end}}
""")
    talk.user("a")
    assert talk.user("1") == ["n=1"]


def test_the_value_of_a_choice_is_a_template_that_keeps_its_type() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
vars: {n: {type: integer, value: 4}, t: {type: text}}
steps:
  q: {ask: q?, buttons: {More: {value: "{{ n + 1 }}"}}, save: n}
  r: {ask: "{{ n + 1 }}?", buttons: ["{{ n }} cups"], save: t}
  s: {say: "{{ t }}.", then: end}
""")
    talk.user("a")
    assert talk.tap("More") == [["6?", "5 cups"]]
    assert talk.tap("5 cups") == ["5 cups."]


def test_a_transition_that_fails_takes_the_error_outcome_and_leaves_nothing_behind() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
vars: {o: {type: object}, t: {type: text}}
steps:
  q: {ask: q?, save: t, accepts: text, tag: seen, buttons: {Go: {set: {t: x}, say: "{{ o.a.b }}", then: end}}, errors: {else: sorry}}
  sorry: {ask: "Sorry ({{ t | default('nothing') }})."}
""")
    talk.user("a")
    assert talk.tap("Go") == ["Sorry (nothing)."]
    assert talk.session.tags == ()


def test_an_error_transition_that_fails_itself_ends_the_conversation() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
vars: {o: {type: object}}
steps: {q: {say: "{{ o.a.b }}", errors: {else: {say: "{{ o.a.b }}", then: end}}}}
""")
    talk.user("a")
    assert talk.turn is not None and talk.turn.failure is not None
    assert talk.at is None


def test_an_ask_where_there_is_no_question_is_only_said() -> None:
    bot = BOT + "words: {help: {ask: Patience.}}"
    talk = Talk("flow: main\nstart: {otherwise: true}\nsteps: {w: {wait: 2h}, q: {ask: Well?}}", bot)
    assert talk.user("help") == ["Patience."]
    talk.user("a")
    assert talk.user("help") == ["Patience."]
    assert talk.wait("2h") == ["Well?"]


def test_a_word_sets_values_on_the_way_into_a_flow() -> None:
    talk = Talk(
        "flow: main\nvars: {t: {type: text}}\nsteps: {q: {ask: 'Hello {{ t }}'}}",
        BOT + "words: {hi: {set: {t: Ann}, then: /main}, bye: {set: {t: Ann}, then: end}}",
    )
    assert talk.user("bye") == []
    assert talk.user("hi") == ["Hello Ann"]


def test_a_word_that_leads_to_a_flow_below_goes_back_to_it_and_piles_up_nothing() -> None:
    talk = Talk(
        """
flow: main
start: {otherwise: true}
steps: {a: {ask: Go?, buttons: {Go: p}}, p: {run: /pick}, done: {say: Done., then: end}}
---
flow: pick
steps: {q: {ask: Which?}}
""",
        BOT + "words: {menu: /main}",
    )
    talk.user("x")
    for _ in range(12):
        assert talk.user("go") == ["Which?"]
        assert talk.user("menu") == [["Go?", "Go"]]
    assert len(talk.session.frames) == 1


def test_a_reminder_wins_a_tie_and_a_fixed_time_out_follows_at_once() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
steps: {q: {ask: q?, remind: {after: 1h, say: Still?}, timeout: {after: 1h, fixed: true, say: Over., then: end}}}
""")
    talk.user("a")
    assert talk.wait("1h") == ["Still?", "Over."]


def test_a_fixed_time_out_that_asks_again_counts_anew() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
steps: {q: {ask: q?, timeout: {after: 1h, fixed: true, then: again}}}
""")
    talk.user("a")
    assert talk.wait("150m") == ["q?", "q?"]


def test_what_a_step_adds_to_an_inherited_transition_keeps_the_inherited_words() -> None:
    talk = Talk(
        "flow: main\nstart: {otherwise: true}\nsteps: {q: {ask: q?, buttons: {X: end}, retry: {tag: lost}}}",
        BOT.replace("{timeout", "{retry: {say: Hm?}, timeout"),
    )
    talk.user("a")
    assert talk.user("b") == ["Hm?"]
    assert talk.session.tags == ("lost",)


def test_an_old_tap_goes_to_other_where_nothing_is_said_of_old_taps() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
steps: {a: {ask: a?, buttons: {Go: b}}, b: {ask: b?, buttons: {X: end}, other: {say: Other.}}}
""")
    talk.user("x"), talk.tap("Go")
    assert talk.tap_id(talk.shown[0].id) == ["Other."]


def test_a_tap_on_a_question_that_was_edited_asks_again_whatever_is_said_of_old_taps() -> None:
    bot = BOT.replace("{timeout", "{old_taps: ignore, timeout")
    flow = "flow: main\nstart: {otherwise: true}\nsteps: {a: {ask: a?, buttons: {Go: end}}}"
    talk = Talk(flow, bot)
    talk.user("x")
    talk.edit(flow.replace("a?", "A?"), bot)
    assert talk.tap("Go") == [["A?", "Go"]]


def test_an_edit_to_another_kind_of_step_enters_it_anew() -> None:
    flow = "flow: main\nstart: {otherwise: true}\nsteps: {a: {%s}, b: {ask: b?}}"
    for before in ("ask: a?", "wait: 1h", "handoff: x, closed: end"):
        for after in ("ask: A?", "say: a!", "wait: 1h", "set: {}"):
            talk = Talk(flow % before)
            talk.user("x")
            talk.edit(flow % after)
            talk.user("y"), talk.wait("1h")
            assert talk.turn is not None and talk.turn.wake_at is not None, (before, after)
            assert talk.session.tags == ()


def test_who_waits_at_a_step_that_is_gone_is_told_where_they_are_led() -> None:
    bot = BOT.replace("{timeout", "{gone: {say: We have moved., then: /new}, timeout")
    old = "flow: main\nstart: {otherwise: true}\nsteps: {h: {handoff: x, closed: end}}"
    new = "\n---\nflow: new\nsteps: {q: {ask: New?}}"
    for edit in (old.replace("h:", "i:") + new, new.removeprefix("\n---\n")):
        talk = Talk(old + new, bot)
        talk.user("x")
        talk.edit(edit, bot)
        assert talk.user("y") == ["We have moved.", "New?"]
        assert talk.session.tags == ()


@pytest.mark.parametrize("gone", ["{set: {n: 3}, then: /new}", "{ask: We have moved., set: {n: 3}, then: /new}"])
@pytest.mark.parametrize("should_yield", ["its step", "its flow"])
def test_a_gone_target_may_ask_and_set(gone: str, should_yield: str) -> None:
    bot = BOT.replace("{timeout", f"{{gone: {gone}, timeout")
    old = "flow: main\nstart: {otherwise: true}\nsteps: {q: {ask: x}}"
    new = "\n---\nflow: new\nvars: {n: {type: integer}}\nsteps: {q: {ask: '{{ n }}?'}}"
    talk = Talk(old + new, bot)
    talk.user("x")
    talk.edit(old.replace("q:", "r:") + new if should_yield == "its step" else new.removeprefix("\n---\n"), bot)
    assert talk.user("y") == [*(["We have moved."] if "ask" in gone else []), "3?"]


def test_a_variable_that_an_edit_brings_has_its_value() -> None:
    talk = Talk("flow: main\nstart: {otherwise: true}\nsteps: {a: {ask: a?}, b: {say: b., then: end}}")
    talk.user("x")
    talk.edit(
        "flow: main\nstart: {otherwise: true}\nvars: {n: {type: integer, value: 1}}\n"
        "steps: {a: {ask: a?}, b: {say: '{{ n + 1 }}', then: end}}"
    )
    assert talk.user("y") == ["2"]


def test_a_value_that_does_not_fit_the_next_flows_variable_stays_behind() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
vars: {x: {type: text, value: many}}
steps: {a: {say: a, then: /two}}
---
flow: two
vars: {x: {type: integer, value: 1}}
steps: {b: {say: "{{ x + 1 }}", then: end}}
""")
    assert talk.user("go") == ["a", "2"]


def test_a_question_that_could_not_be_sent_is_put_again_by_the_next_reply() -> None:
    talk = Talk(MENU)
    talk.user("hi"), talk.user("order")
    talk.send_ended("failed")
    assert talk.user("3") == ["How many?"]


def test_a_text_that_only_looks_like_a_reply_id_is_a_text() -> None:
    for text in ("a/b/99999999999/1/x", "main/a/٣/٣/12345678", "3/4/5/6/7", "////"):
        talk = Talk(
            "flow: main\nstart: {otherwise: true}\nvars: {t: {type: text}}\nsteps: {q: {ask: q?, save: t}, r: {say: '{{ t }}'}}"
        )
        talk.user("a")
        assert talk.user(text) == [text]


def test_a_hundred_steps_in_a_turn_do_not_pile_up() -> None:
    steps = "".join(f"  s{n}: {{run: /x}}\n" for n in range(49))
    talk = Talk(
        f"flow: main\nstart: {{otherwise: true}}\nsteps:\n{steps}  z: {{ask: z?}}\n---\nflow: x\nsteps: {{a: {{say: x}}}}"
    )
    depths = []

    def watch(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            depths.append(sum(1 for _ in walk_stack(frame)))

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        assert talk.user("a") == [*["x"] * 49, "z?"]
    finally:
        sys.setprofile(before)
    assert max(depths) - min(depths) < 60


def test_a_plain_turn_leaves_nothing_for_the_garbage_collection() -> None:
    for talk in (Talk(MENU), Talk(MENU)):  # the first reads templates and words for the first time
        gc.collect(0)  # a whole collection would look through all that earlier tests have left
        talk.user("hi")
        talk.tap("Order")
        talk.user("many")
        talk.user("3 please")
    assert gc.collect(0) == 0
