"""Where transitions lead: next, again, back, end, route, a step of a flow, and a flow that returns."""

import pytest

from tests.talk import BOT, Talk, problems_of

FLOWS = """\
flow: main
start: {otherwise: true}
vars: {name: {type: text}, colour: {type: text}, shade: {type: text, value: light}}
steps:
  name: {ask: Name?, save: name}
  menu:
    ask: What now?
    options:
      Skip: next
      Once more: {say: Gladly., then: again}
      Pay: /pay/card
      Paint: paint
      Ask: /faq
      Leave: end
  after: {ask: And then?, options: {Back: back}}
  paint: {run: /pick, with: {shade: dark}, save: {colour: chosen}, expired: late, errors: {mismatch: menu}}
  done: {say: "{{ colour }}, and our own shade is {{ shade }}."}
  end_: {say: Bye., then: end}
  late: {say: Too late., then: menu}
---
flow: pay
vars: {name: {type: text}}
steps:
  amount: {ask: How much?}
  card: {ask: "Which card, {{ name }}?"}
---
flow: pick
vars: {shade: {type: choice, of: [dark, light]}, chosen: {type: text}}
steps:
  q: {ask: "Which {{ shade }} colour?", save: chosen, timeout: {after: 1h, then: end}}
---
flow: faq
steps:
  topic: {ask: About what?, options: {Prices: prices}, other: back}
  prices: {say: See the wall., then: back}
"""


def at_menu(flows: str = FLOWS) -> Talk:
    chat = Talk(flows)
    chat.user("hi"), chat.user("Ann")
    assert chat.at == "main/menu"
    return chat


MENU = ["What now?", "Skip", "Once more", "Pay", "Paint", "Ask", "Leave"]


def test_next_is_the_step_below() -> None:
    assert at_menu().user("skip") == [["And then?", "Back"]]


def test_again_puts_the_question_once_more_and_its_buttons_stay_good() -> None:
    chat = at_menu()
    before = chat.shown[1].id
    assert chat.user("once more") == ["Gladly.", MENU]
    assert chat.tap_id(before) == ["Gladly.", MENU]


def test_a_flow_is_entered_at_a_step_and_the_variables_come_along() -> None:
    chat = at_menu()
    assert chat.user("pay") == ["Which card, Ann?"]
    assert [frame.flow for frame in chat.session.frames] == ["pay"]


def test_end_ends_this_flow() -> None:
    chat = at_menu()
    assert chat.user("leave") == []
    assert chat.at is None


def test_back_where_nothing_was_left_and_nothing_lies_below_ends_the_flow() -> None:
    chat = at_menu()
    chat.user("skip")
    assert chat.user("back") == []
    assert chat.at is None


def test_back_is_for_a_question_that_was_left_without_an_answer() -> None:
    flows = FLOWS.replace("      Leave: end\n", "      Leave: end\n    other: /faq\n")
    chat = at_menu(flows)
    assert chat.user("what does it cost?") == [["About what?", "Prices"]]
    assert chat.user("prices") == ["See the wall.", MENU]
    assert chat.user("pay") == ["Which card, Ann?"]


def test_other_that_leads_back_leads_to_the_question_before_and_not_to_itself() -> None:
    chat = at_menu(FLOWS.replace("      Leave: end\n", "      Leave: end\n    other: /faq\n"))
    chat.user("what does it cost?")
    assert chat.user("never mind") == [MENU]


def test_what_is_run_has_variables_of_its_own_and_brings_its_results() -> None:
    chat = at_menu()
    assert chat.user("paint") == ["Which dark colour?"]
    assert chat.user("red") == ["red, and our own shade is light.", "Bye."]
    assert chat.at is None


def test_what_silence_ended_has_expired() -> None:
    chat = at_menu()
    chat.user("paint")
    assert chat.wait("1h") == ["Too late.", MENU]
    assert chat.vars["colour"] is None


def test_expired_leads_where_then_does_unless_it_is_written() -> None:
    chat = at_menu(FLOWS.replace("expired: late, ", ""))
    chat.user("paint")
    assert chat.wait("1h") == [", and our own shade is light.", "Bye."]


def test_an_input_that_does_not_fit_is_a_mismatch_and_the_flow_is_not_opened() -> None:
    chat = at_menu(FLOWS.replace("with: {shade: dark}", "with: {shade: '{{ name }}'}"))
    assert chat.user("paint") == [MENU]
    assert [frame.flow for frame in chat.session.frames] == ["main"]


def test_a_result_that_does_not_fit_is_a_mismatch() -> None:
    chat = at_menu(FLOWS.replace("colour: {type: text}", "colour: {type: integer}"))
    chat.user("paint")
    assert chat.user("red") == [MENU]


def test_route_gives_up_where_the_contact_was_and_starts_what_the_message_starts() -> None:
    chat = at_menu(FLOWS.replace("      Leave: end\n", "      Leave: end\n    other: route\n"))
    assert chat.user("anything") == ["Name?"], "it starts the flow for everything else"


def test_a_message_that_is_handed_on_for_ever_ends_in_a_failure() -> None:
    chat = Talk("flow: f\nstart: {otherwise: true}\nsteps: {a: {say: x}, b: {branch: [{if: now, then: route}]}, c: {ask: c?}}\n", BOT)  # fmt: skip
    chat.user("x")
    assert chat.turn is not None and "leads to itself" in str(chat.turn.failure)
    assert chat.at is None


SILENT = """\
flow: main
start: {otherwise: true}
vars: {first: {type: text}, name: {type: text}}
steps:
  note: {set: {first: "{{ message.text }}"}}
  name: {ask: Name?, save: name, timeout: {after: 1h, then: nudge}}
  thanks: {say: "{{ name }} wrote {{ first }} and {{ message.text }}.", then: end}
  nudge:
    template: {name: nudge, language: en}
    replies: {Go on: back, Stop: end}
"""


def test_back_leads_to_the_question_that_was_left_for_silence() -> None:
    talk = Talk(SILENT)
    talk.user("hello there")
    assert talk.wait("1h") == [["nudge"]]
    assert talk.user("go on") == ["Name?"]
    assert talk.user("Ann") == ["Ann wrote hello there and Ann."]


def test_the_message_is_known_in_its_own_turn_only() -> None:
    flows = """
flow: main
start: {otherwise: true}
steps:
  said: {say: "[{{ message.text }}]"}
  pause: {wait: 1h}
  later: {say: "[{{ message.text }}]"}
"""
    talk = Talk(flows)
    assert talk.user("hello") == ["[hello]"]
    assert talk.wait("1h") == ["[]"]
    assert talk.photo() == ["[]"]


def test_a_flow_can_tell_a_tap_on_an_old_button_from_a_text_and_a_text_from_a_file() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
steps:
  first: {ask: One?, buttons: [Red, Blue]}
  second: {ask: Two?, buttons: [Tea, Coffee], other: what}
  what: {branch: [{if: message.tapped, then: old}, {if: message.kind == "image", then: photo}, {else: text}]}
  old: {say: "That was {{ message.text }}, {{ message.kind }}.", then: back}
  photo: {say: A photo., then: back}
  text: {say: "You wrote {{ message.text }}.", then: back}
""")
    talk.user("hi")
    red = talk.shown[0].id
    talk.tap("Red")
    question = ["Two?", "Tea", "Coffee"]
    assert talk.tap_id(red, "Red") == ["That was Red, text.", question]
    assert talk.user("Red") == ["You wrote Red.", question]
    assert talk.photo() == ["A photo.", question]


@pytest.mark.parametrize("source", ["message", "message.txt", "message | upper", 'message["text"]'])
def test_a_message_is_read_by_its_fields(source: str) -> None:
    (problem,) = problems_of(f"flow: main\nstart: {{otherwise: true}}\nsteps: {{a: {{say: '{{{{ {source} }}}}'}}}}\n")
    assert (
        'E203 "message" has several parts (write message.text, message.kind, message.tapped, message.file)' in problem
    )


STAY = """
flow: main
start: {words: [hi]}
vars: {size: {type: choice, of: [s, l]}, photo: {type: media, kinds: [image], keep: true}}
steps:
  size:
    ask: Which size?
    options: {Small: {value: s}, Medium: {say: Sold out., value: l, then: stay}}
    save: size
    retry: {say: One of these., max: 2, else: lost}
  photo:
    ask: A photo?
    save: photo
    errors: {TooLarge: {say: Too large., then: stay}, WrongType: {say: No photo., then: stay}, else: lost}
    retry: {max: 1, else: lost}
  done: {say: "Done {{ size }}.", then: end}
  lost: {say: Lost., then: end}
"""


def test_stay_waits_on_without_asking_again_and_counts_as_a_wrong_answer() -> None:
    talk = Talk(STAY)
    assert talk.user("hi") == [["Which size?", "Small", "Medium"]]
    assert talk.tap("Medium") == ["Sold out."]
    assert (talk.at, talk.vars["size"]) == ("main/size", None)
    assert talk.user("huge") == ["One of these."]
    assert talk.user("medium") == ["Sold out.", "Lost."]
    talk.user("hi")
    talk.user("medium")
    assert talk.user("small") == ["A photo?"]


def test_one_bound_holds_for_several_kinds_of_failure() -> None:
    talk = Talk(STAY)
    talk.user("hi")
    talk.user("small")
    talk.photo()
    assert talk.fails("TooLarge") == ["Too large."]
    talk.photo()
    assert talk.fails("WrongType") == ["No photo.", "Lost."]


@pytest.mark.parametrize(
    "step",
    [
        "{say: A, then: stay}",
        "{ask: A, retry: {max: 1, else: stay}}",
        "{ask: A, remind: {after: 1h, then: stay}}",
        "{ask: A, timeout: {after: 1h, then: stay}}",
        "{ask: A, words: {b: stay}}",
        "{branch: [{if: now, then: stay}]}",
        "{ask: A, visits: {max: 1, else: stay}}",
    ],
)
def test_stay_belongs_to_an_answer(step: str) -> None:
    (problem,) = problems_of(f"flow: main\nsteps: {{a: {step}}}")
    assert "E110" in problem
    assert '"stay" leads nowhere' in problem


COUNTED = """
flow: main
start: {otherwise: true}
steps:
  q: {ask: Which?, reset: try, other: {then: try}}
  try: {say: Trying., visits: {max: 1, else: over}, then: q}
  over: {say: Over., then: end}
"""


def test_an_answer_has_the_visits_of_other_steps_counted_from_the_beginning() -> None:
    talk = Talk(COUNTED.replace(", other: {then: try}", ""))
    talk.user("x")
    for _ in range(3):
        assert talk.user("a") == ["Trying.", "Which?"]


def test_without_an_answer_visits_are_counted_on() -> None:
    talk = Talk(COUNTED.replace("ask: Which?", "ask: Which?, buttons: {Go: try}"))
    talk.user("x")
    assert talk.user("a")[0] == "Trying."
    assert talk.user("a") == ["Over."]


def test_visits_are_counted_on_where_the_answer_fails() -> None:
    flow = COUNTED.replace("ask: Which?", 'ask: Which?, save: n, set: {n: "{{ n + 1 }}"}, errors: {else: try}')
    talk = Talk(flow.replace("steps:", "vars: {n: text}\nsteps:").replace(", other: {then: try}", ""))
    talk.user("x")
    assert talk.user("a")[0] == "Trying."
    assert talk.user("a") == ["Over."]


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        ("ask: Which?, reset: tyr", 'E102 no step "tyr" in flow main (did you mean "try"?)'),
        ("ask: Which?, reset: over", 'E123 step "q": "reset" has no effect: step "over" has no `visits`'),
        (
            "say: Hm., reset: try",
            'E123 step "q": "reset" has no effect: only the answer to a question has visits counted',
        ),
        (  # while the window is open it waits for nobody, and the circle would have no end
            "say: Hm., window_closed: {template: {name: x, language: en}, wait: true}, reset: try",
            'E123 step "q": "reset" has no effect: only the answer to a question has visits counted',
        ),
    ],
)
def test_a_reset_without_effect_is_reported(step: str, problem: str) -> None:
    (found,) = problems_of(COUNTED.replace("ask: Which?, reset: try, other: {then: try}", step))
    assert problem in found
