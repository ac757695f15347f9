"""Which flow a message starts, and which reply of a template it is."""

from typing import Any

import pytest

from bot.core.events import ContactChanged, MessageReceived
from tests.talk import BOT, CONTACT, Talk, problems_of


def starting(*starts: str, bot: str = BOT) -> Talk:
    """A bot with one flow a start: the flow f0 says f0, and so on."""
    flows = (f"flow: f{n}\nstart: {start}\nsteps: {{a: {{say: f{n}, then: end}}}}\n" for n, start in enumerate(starts))
    return Talk("---\n".join(flows), bot)


def test_a_word_starts_a_flow_when_it_is_all_that_is_written() -> None:
    chat = starting("{words: [weather, where is my umbrella]}", "{otherwise: true}")
    assert chat.user("Where is MY umbrella?") == ["f0"]
    assert chat.user("the weather please") == ["f1"]


def test_a_word_may_stand_anywhere() -> None:
    chat = starting("{words: [brella], match: anywhere}", "{otherwise: true}")
    assert chat.user("please, where is my brella?") == ["f0"]
    assert chat.user("I want an umbrella") == ["f1"]


def test_a_word_may_be_misspelt() -> None:
    chat = starting("{words: [appointment], match: close}", "{otherwise: true}")
    assert chat.user("apointment") == ["f0"]
    assert chat.user("point") == ["f1"]


def test_a_pattern_matches_what_is_written_in_full() -> None:
    chat = starting(r"{pattern: '[A-Z]{2}\d{6}'}", "{otherwise: true}")
    assert chat.user(" AB123456 ") == ["f0"]
    assert chat.user("it is AB123456") == ["f1"]


PARTS = """
flow: track
start: {pattern: '(?i)(track|where is) (?P<number>[a-z]{2}[0-9]+)( on (?P<day>.+?))?( x(?P<count>[0-9]+))?'}
vars: {number: {type: text}, day: {type: date}, count: {type: integer, max: 9, value: 1}}
interrupted: resume
steps: {a: {ask: "{{ number }}, {{ day | default('any day') }}, {{ count }}"}}
---
flow: main
start: {otherwise: true}
interrupted: resume
steps: {q: {ask: q?, buttons: {A: end}}}
"""


def test_the_named_parts_of_a_pattern_are_the_flows_variables() -> None:
    assert Talk(PARTS).user("Track ab12 on 12 May x3") == ["ab12, 2030-05-12, 3"]
    assert Talk(PARTS).user("where is AB12") == ["AB12, any day, 1"]


def test_a_part_that_fits_no_variable_is_left_out() -> None:
    assert Talk(PARTS).user("track ab12 on Mars x99") == ["ab12, any day, 1"]


def test_a_pattern_that_cuts_in_gives_its_parts_too() -> None:
    chat = Talk(PARTS)
    chat.user("hi")
    assert chat.user("track ab12") == ["ab12, any day, 1"]
    assert len(chat.session.frames) == 2


def test_whole_words_come_before_patterns_and_those_before_wider_matches() -> None:
    chat = starting(
        "{words: [order], match: close}", "{words: [my order], match: anywhere}", "{pattern: '.*ord.*'}", "{words: [my orders]}"
    )  # fmt: skip
    assert chat.user("my orders") == ["f3"]
    assert chat.user("my order") == ["f1"], "it is the whole of that flow's word"
    assert chat.user("so, my order") == ["f2"]
    assert chat.user("so my o r d e r") == []
    assert chat.user("oder") == ["f0"]


def test_of_words_anywhere_the_longest_counts_and_of_equals_the_first_flow() -> None:
    chat = starting("{words: [order], match: anywhere}", "{words: [track my order, hello], match: anywhere}",
                    "{words: [later], match: anywhere}")  # fmt: skip
    assert chat.user("can you track my order now") == ["f1"]
    assert chat.user("an order for later") == ["f0"]


def test_a_number_is_no_place_among_the_starts() -> None:
    assert starting("{words: [a], match: anywhere}", "{words: [b], match: close}").user("1") == []


def test_a_first_contact_may_have_a_flow_of_their_own() -> None:
    chat = starting("{otherwise: true}", "{otherwise: true, contact: first}", "{words: [hi], contact: returning}")
    assert chat.user("hi") == ["f1"]
    assert chat.user("hi") == ["f2"]
    assert chat.user("what?") == ["f0"]


def test_words_may_be_for_first_contacts_alone() -> None:
    chat = starting("{words: [hi], contact: first}", "{words: [hi]}")
    assert chat.user("hi") == ["f0"]
    assert chat.user("hi") == ["f1"]


def test_an_event_may_be_for_returning_contacts_alone() -> None:
    chat = starting("{event: contact.updated, contact: returning}", "{words: [hi]}")
    changed = [ContactChanged(f"u{n}", CONTACT, chat.now, "contact.updated") for n in range(2)]
    assert chat.take(changed[0]) == []
    chat.user("hi")
    assert chat.take(changed[1]) == ["f0"]


def test_a_reset_makes_nobody_a_first_contact_again() -> None:
    chat = starting("{otherwise: true}", "{otherwise: true, contact: first}")
    chat.user("hi"), chat.reset()
    assert chat.user("hi") == ["f0"]


def test_a_photo_starts_what_every_other_message_starts() -> None:
    assert starting("{pattern: '.*'}", "{otherwise: true}").photo() == ["f1"]


@pytest.mark.parametrize("written", ["Stop promotions", "stop_promo"])
def test_a_tap_on_a_templates_quick_reply_that_nobody_waits_for_starts_by_title_or_payload(written: str) -> None:
    chat = starting(f"{{words: [{written}]}}", "{otherwise: true}")
    assert chat.tap_id("STOP_PROMO", "Stop promotions") == ["f0"]


def test_such_a_tap_may_be_a_word_of_the_bots_too() -> None:
    chat = starting("{otherwise: true}", bot=BOT + "words: {stop promo: {say: No more., then: end}}\n")
    assert chat.tap_id("STOP_PROMO", "Fine") == ["No more."]


def test_an_empty_title_leaves_the_payload() -> None:
    assert starting("{words: [later]}").tap_id("LATER", "") == ["f0"]


STARTS = {
    "nothing that starts it": ("{contact: first}", "2:8: E105 flow \"f0\": start: there is nothing that starts the flow (add words, topics, a pattern, a payload, an event, a signal, about or otherwise: true)"),
    "a match without words": ("{otherwise: true, match: close}", '2:33: E105 flow "f0": start: "match" is for words (add words, or remove it)'),
    "an unknown contact": ("{otherwise: true, contact: fist}", '2:35: E109 flow "f0": start: contact: "fist" is not known (did you mean "first"?)'),
    "a part that is no variable": ("{pattern: '(?P<n>x)'}", "2:18: E301 flow \"f0\": start: no variable \"n\" (declare it under vars: n: {type: text})"),
    "a pattern that cannot be read": ("{pattern: '('}", "2:18: E305 flow \"f0\": start: pattern: it cannot be read: missing ) (write a regular expression, in single quotes)"),
}  # fmt: skip


@pytest.mark.parametrize("name", STARTS)
def test_a_mistake_in_a_start_is_found_where_it_is(name: str) -> None:
    start, expected = STARTS[name]
    found = problems_of(f"flow: f0\nstart: {start}\nsteps: {{a: {{say: x, then: end}}}}\n")
    assert found == [f"flows/test.yml:{expected}"]


TAKEN = {
    "a word": (("{words: [hi]}", "{words: [ho, HI!]}"), 'E312 "HI!" is taken: it starts flow f0'),
    "a pattern": (("{pattern: 'x+'}", "{pattern: 'x+'}"), "E312 the pattern x+ is taken: it starts flow f0"),
    "an event": (("{event: message.read}",) * 2, "E313 the event message.read is taken: it starts flow f0"),
    "the same for the same contacts": (
        ("{otherwise: true, contact: first}", "{otherwise: true, contact: first}"),
        "E313 `otherwise` is taken: it starts flow f0",
    ),
    "what others leave nothing of": (
        ("{words: [hi], contact: first}", "{words: [hi]}", "{words: [hi], contact: returning}"),
        'E312 "hi" is taken: it starts flow f0',
    ),
    "a word of the bot's": (("{words: [stop]}",), 'E312 "stop" is taken: it is a word of the bot'),
}


@pytest.mark.parametrize("name", TAKEN)
def test_a_start_that_nobody_can_make_is_a_problem(name: str) -> None:
    starts, expected = TAKEN[name]
    flows = "---\n".join(
        f"flow: f{n}\nstart: {start}\nsteps: {{a: {{say: x, then: end}}}}\n" for n, start in enumerate(starts)
    )
    (problem,) = problems_of(flows, BOT + "words: {stop: end}\n")
    assert expected in problem


def test_a_word_of_the_bots_that_is_heard_at_times_takes_no_start_away() -> None:
    flow = "flow: f0\nstart: {words: [stop]}\nsteps: {a: {say: x, then: end}}\n"
    assert problems_of(flow, BOT + "words: {stop: {if: contact.name == 'Ann', then: end}}\n") == []


def test_a_templates_reply_may_have_a_condition() -> None:
    chat = Talk("""
flow: f
start: {otherwise: true}
vars: {late: {type: boolean, value: true}}
steps:
  t: {template: {name: n, language: en}, replies: {Change: {if: not late, then: end}, Keep: end}, other: {say: Too late for that.}}
""")
    chat.user("x")
    assert chat.user("change") == ["Too late for that."]
    message: Any = chat.sent[0]
    assert chat.tap_id(message.replies[0], "Change") == ["Too late for that."]
    assert chat.at == "f/t"
    assert chat.user("2") == ["Too late for that."], "a number is no reply: the template shows none"
    assert chat.user("keep") == []
    assert chat.at is None


def test_a_quick_reply_is_understood_by_its_payload_too() -> None:
    chat = Talk("""
flow: f
start: {otherwise: true}
steps: {t: {template: {name: n, language: en}, replies: {Keep: {words: [KEEP_IT], then: end}}}}
""")
    chat.user("x")
    assert chat.tap_id("KEEP_IT", "Behalten") == []
    assert chat.at is None


def test_an_event_that_a_message_is_starts_a_flow_before_otherwise() -> None:
    chat = starting("{event: message.inbound}", "{otherwise: true}", "{words: [hi]}")
    assert chat.take(MessageReceived("m1", CONTACT, chat.now, chat.now, "text", "x")) == ["f0"]
    assert chat.turn is not None and chat.turn.trace.rule == "start of f0: message.inbound"
    assert chat.user("hi") == ["f2"]
