"""Payloads of a flow's own buttons: they come back with a tap, to start a flow or as a signal."""

from typing import Any

import pytest

from tests.talk import BOT, Talk, problems_of

REMIND = """
flow: remind
start: {pattern: 'remind (?P<id>[0-9]+)'}
interrupted: resume
vars: {id: integer}
steps:
  due:
    template: {name: due, language: en, body: ["{{ id }}"]}
    replies: {Pay: {payload: "PAY:{{ id }}", then: now}, Later: end}
    timeout: {after: 1h, then: end}
  now: {say: "You pay {{ id }} at once.", then: end}
---
flow: pay
start: {payload: "PAY:{id}"}
vars: {id: {type: integer, max: 99}}
steps: {paid: {say: "You pay {{ id }}.", then: end}}
---
flow: shop
start: {words: [shop]}
INTERRUPTED
steps: {what: {ask: What?, then: end}}
"""
SHOP = REMIND.replace("INTERRUPTED", "interrupted: resume")


def reminded(talk: Talk, number: int) -> str:
    talk.user(f"remind {number}")
    message: Any = talk.sent[-1]
    payload: str = message.replies[0]
    assert payload.endswith(f"/PAY:{number}") and len(payload) <= 256
    return payload


def test_a_tap_goes_to_the_template_that_waits_and_afterwards_starts_a_flow_by_its_payload() -> None:
    talk = Talk(SHOP)
    assert talk.tap_id(reminded(talk, 17), "Pay") == ["You pay 17 at once."]
    first = reminded(talk, 18)
    talk.wait("2h")
    reminded(talk, 19)
    assert talk.tap_id(first, "Pay") == ["You pay 18.", ["due", "19"]]
    talk.wait("2h")
    assert talk.tap_id(first, "Pay") == ["You pay 18."]
    assert talk.turn is not None and talk.turn.trace.rule == "start of pay"


def test_a_payload_interrupts_only_a_flow_that_lets_others_interrupt_it() -> None:
    talk = Talk(SHOP)
    first = reminded(talk, 17)
    talk.wait("2h")
    talk.user("shop")
    assert talk.tap_id(first, "Pay") == ["You pay 17.", "What?"]
    closed = Talk(REMIND.replace("INTERRUPTED\n", ""))
    first = reminded(closed, 17)
    closed.wait("2h")
    closed.user("shop")
    assert closed.tap_id(first, "Pay") == ["That was an earlier question.", "What?"]


@pytest.mark.parametrize("comes", ["tap", "text", "tap without a title"])
def test_the_payload_of_a_broadcasts_template_starts_the_flow_however_it_comes(comes: str) -> None:
    talk = Talk(SHOP)
    said = talk.user("PAY:5") if comes == "text" else talk.tap_id("PAY:5", "Pay" if comes == "tap" else "")
    assert said == ["You pay 5."]


def test_a_message_without_words_starts_nothing_by_a_payload() -> None:
    talk = Talk(SHOP.replace("{words: [shop]}", "{otherwise: true}"))
    assert talk.photo() == ["What?"]


def test_a_payload_that_does_not_fit_starts_nothing_and_the_trace_says_why() -> None:
    talk = Talk(SHOP)
    for payload, why in (("PAY:all", "PAY:{id}: pay was not started: id: "), ("PAY:100", "PAY:{id}: pay was not")):
        assert talk.tap_id(payload, "Pay") == []
        assert talk.turn is not None and talk.turn.trace.rule == "no flow starts by this"
        assert talk.turn.trace.notes[0].startswith(why), talk.turn.trace.notes
    assert talk.tap_id("PAY:", "Pay") == [] == talk.tap_id("XPAY:5", "Pay")


def test_values_end_where_the_next_sign_comes() -> None:
    talk = Talk("""
flow: vote
start: {payload: "V:{poll}:{choice}!"}
vars: {poll: text, choice: text}
steps: {counted: {say: "{{ poll }}, {{ choice }}", then: end}}
""")
    assert talk.tap_id("V:spring:yes / no!") == ["spring, yes / no"]
    assert talk.tap_id("V:spring!") == []
    assert talk.tap_id("V" + ":a" * 120) == [], "in no time"


@pytest.mark.parametrize(
    ("payload", "problem"),
    [
        ("'{id}'", "is no payload (begin with a word"),
        ("'P:{ID}'", "is no payload"),
        ("'P:{id'", "is no payload"),
        ("'P:{id}{id}'", "nobody can tell the values"),
        ("'P:{id}:{id}'", "nobody can tell the values"),
        ("'P:{other}'", 'no variable "other"'),
    ],
)
def test_a_payload_of_a_start_is_read_in_one_way(payload: str, problem: str) -> None:
    flow = f"flow: f\nstart: {{payload: {payload}}}\nvars: {{id: text}}\nsteps: {{a: {{say: x, then: end}}}}\n"
    (found,) = problems_of(flow)
    assert problem in found


def test_two_flows_do_not_start_by_the_same_payload() -> None:
    flow = "flow: NAME\nstart: {payload: 'P:{id}'}\nvars: {id: text}\nsteps: {a: {say: x, then: end}}\n"
    (found,) = problems_of(f"{flow.replace('NAME', 'f')}---\n{flow.replace('NAME', 'g')}")
    assert "E312" in found and 'the payload "P:{id}" is taken: it starts flow f' in found


def test_a_payload_gives_what_a_start_needs() -> None:
    flow = "flow: f\nstart: {payload: 'P:GIVEN'}\nvars: {id: {type: text, needed: true}}\nsteps: {a: {say: x, then: end}}\n"
    assert problems_of(flow.replace("GIVEN", "{id}")) == []
    assert "E105" in problems_of(flow.replace("GIVEN", "x"))[0]


def test_a_payload_has_at_most_90_characters() -> None:
    flow = """
flow: f
start: {words: [hi]}
vars: {long: {type: text, max: 200, value: ab}}
steps:
  t: {template: {name: n, language: en}, replies: {A: {payload: "PAYLOAD", then: end}}, errors: {failed: bad}}
  bad: {say: Bad., then: end}
"""
    assert "payload has 91 characters, 90 are allowed" in problems_of(flow.replace("PAYLOAD", "x" * 91))[0]
    talk = Talk(flow.replace("PAYLOAD", "{{ long }}{{ long }}").replace("ab", "x" * 50))
    assert talk.user("hi") == ["Bad."]


VOTES = BOT + "signals: {voted: {payload: 'VOTE:{choice}', choice: {type: choice, of: ['yes', 'no']}}, paid: {}}\n"
VOTE = """
flow: board
start: {words: [board]}
interrupted: resume
steps:
  asked: {template: {name: vote, language: en}, replies: {In favour: {payload: "VOTE:yes", then: end}}, timeout: {after: 1h, then: end}}
---
flow: wait
start: {words: [wait]}
interrupted: resume
steps:
  until: {wait: 3d, signals: {voted: {say: "Counted: {{ event.choice }}."}}, then: end}
---
flow: hours
start: {words: [hours]}
steps: {all: {ask: Always. Fine?, then: end}}
"""


def test_a_tap_is_a_signal_by_its_payload() -> None:
    talk = Talk(VOTE, VOTES)
    talk.user("board")
    own: Any = talk.sent[-1]
    talk.wait("2h")
    talk.user("wait")
    assert talk.tap_id(own.replies[0], "In favour") == ["Counted: yes."]
    assert talk.turn is not None and talk.turn.trace.rule == "signal voted"
    assert talk.tap_id("VOTE:no", "Against") == ["Counted: no."]
    assert talk.user("VOTE:yes") == ["Counted: yes."]
    assert talk.tap_id("VOTE:maybe", "Perhaps") == []
    assert talk.turn.trace.notes[0].startswith('VOTE:{choice}: signal "voted": choice: ')


def test_a_signal_by_a_tap_waits_for_the_flow_that_was_interrupted() -> None:
    talk = Talk(VOTE, VOTES)
    talk.user("wait"), talk.user("hours")
    assert talk.tap_id("VOTE:yes", "In favour") == []
    assert talk.turn is not None and talk.turn.trace.rule == "signal voted: waits"
    assert talk.user("fine") == []
    assert talk.wait("1s") == ["Counted: yes."]


def test_a_signal_by_a_tap_that_nobody_waits_for_is_a_tap_like_any_other() -> None:
    talk = Talk(VOTE, VOTES)
    talk.user("hours")
    assert talk.tap_id("VOTE:yes", "In favour") == ["That was an earlier question.", "Always. Fine?"]
    assert talk.turn is not None and talk.turn.trace.notes == ["signal voted: nobody waits for it"]


@pytest.mark.parametrize(
    ("signal", "problem"),
    [
        ("{payload: 'V:{other}', choice: text}", '"other" is none of its data'),
        ("{payload: 'V:x', choice: {type: text, needed: true}}", 'needs "choice", which its payload does not give'),
        ("{payload: '{choice}', choice: text}", "is no payload"),
    ],
)
def test_a_signals_payload_fits_its_data(signal: str, problem: str) -> None:
    (found,) = problems_of(VOTE.split("---")[2], f"{BOT}signals: {{voted: {signal}}}\n")
    assert problem in found


def test_a_payload_waits_until_a_model_has_answered() -> None:
    talk = Talk(
        SHOP
        + """
---
flow: advice
start: {words: [help]}
interrupted: resume
steps:
  talk: {ai: Help., exits: {done: {when: They are done., then: end}}, turns: {max: 9, else: end}, errors: {else: end}}
"""
    )
    first = reminded(talk, 17)
    talk.wait("2h")
    assert talk.user("help") == []
    assert talk.tap_id(first, "Pay") == []
    assert talk.turn is not None and talk.turn.parks_message is not None
    assert talk.model("Gladly.")[:2] == ["Gladly.", "You pay 17."]
