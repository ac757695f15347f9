"""Signals: something happens outside, and the step that waits hears of it. The pure engine, by the clock."""

from datetime import timedelta

import pytest

from bot import handler
from bot.core.events import ConversationAssigned, HandoffClosed, TimeReached
from bot.engine.scheduled_flows import objections, signal_objections
from tests.talk import BOT, CONTACT, Talk, problems_of

SIGNALS = BOT + "signals: {paid: {amount: number, reference: text}, arrived: {}}\n"
ORDER = """
flow: order
start: {words: [order]}
interrupted: resume
vars: {total: {type: number, value: 12.5}, reference: text}
steps:
  pay:
    ask: Please pay 12.50.
    signals:
      paid: {if: event.amount >= total, set: {reference: "{{ event.reference }}"}, then: thanks}
      arrived: {say: "It is on its way, {{ reference | default('unpaid') }}."}
  late: {say: Too late., then: end}
  thanks: {say: "Thank you for {{ reference }}.", then: end}
---
flow: hours
start: {words: [hours]}
steps: {which: {ask: Which day?}, told: {say: Nine to six., then: end}}
"""


@handler("look")
def look() -> int:
    return 1


def ordering() -> Talk:
    talk = Talk(ORDER, SIGNALS)
    assert talk.user("order") == ["Please pay 12.50."]
    return talk


def rule(talk: Talk) -> str:
    assert talk.turn is not None
    return talk.turn.trace.rule


def test_the_step_that_waits_for_it_goes_on_with_its_data() -> None:
    talk = ordering()
    assert talk.signal("paid", amount="12.50", reference="A7") == ["Thank you for A7."]
    assert rule(talk) == "signal paid"
    assert talk.at is None


def test_its_data_have_the_types_that_are_declared() -> None:
    talk = Talk(
        "flow: a\nstart: {otherwise: true}\nvars: {sum: number}\n"
        'steps: {w: {wait: 1h, signals: {paid: {set: {sum: "{{ event.amount + 1 }}"}, then: end}}}}',
        SIGNALS,
    )
    talk.user("hi")
    talk.signal("paid", amount="3.5")
    assert talk.turn is not None and talk.turn.trace.steps[0].outcome == "signals.paid"
    assert talk.turn.failure is None


def test_without_a_target_the_question_stays_and_is_not_repeated() -> None:
    talk = ordering()
    assert talk.signal("arrived") == ["It is on its way, unpaid."]
    assert talk.at == "order/pay"
    assert talk.user("paid it") == ["Too late."]


def test_of_a_list_the_first_whose_condition_holds_is_taken_and_the_trace_shows_the_conditions() -> None:
    talk = Talk(
        """
flow: order
start: {words: [order]}
vars: {paid: {type: number, value: 0}}
steps:
  pay:
    ask: Please pay.
    signals:
      paid:
        - {if: event.amount >= 12, then: thanks}
        - {if: event.amount > 0, set: {paid: "{{ event.amount }}"}, say: "Only {{ event.amount }}."}
        - none
  none: {say: Nothing?, then: end}
  thanks: {say: Thank you., then: end}
""",
        SIGNALS,
    )
    talk.user("order")
    assert talk.signal("paid", amount=3) == ["Only 3."]
    assert talk.turn is not None and talk.turn.trace.steps[0].outcome == "signals.paid 2"
    assert talk.turn.trace.steps[0].conditions == [("event.amount >= 12", False), ("event.amount > 0", True)]
    assert (talk.at, talk.vars["paid"]) == ("order/pay", 3)
    assert talk.signal("paid", amount=12) == ["Thank you."]
    talk.user("order")
    assert talk.signal("paid", amount=0) == ["Nothing?"]


def test_a_list_goes_no_further_than_a_transition_without_a_condition() -> None:
    flow = "flow: a\nstart: {words: [a]}\nsteps:\n  w: {wait: 1h, signals: {%s: [end, {if: event.amount > 1, then: end}]}}\n"
    assert problems_of(flow % "paid", SIGNALS) == [
        'flows/test.yml:4:39: E122 signal "paid": transition 2 comes after one without `if` (put the one without `if` last)'
    ]
    assert [
        problem.split(" (")[0]
        for problem in problems_of(flow.replace("end, {if", "{if: event.amount > 2, then: end}, {if") % "piad", SIGNALS)
    ] == ['flows/test.yml:4:34: E109 no signal "piad"']


def test_of_a_list_in_which_no_condition_holds_nothing_is_heard() -> None:
    talk = Talk(
        ORDER.replace(
            "arrived: {say",
            "arrived: [{if: total > 99, then: late}, {if: total > 50, then: late}]\n      paid_twice: {say",
        ),
        SIGNALS.replace("arrived: {}", "arrived: {}, paid_twice: {}"),
    )
    talk.user("order")
    assert talk.signal("arrived") == []
    assert talk.turn is not None and talk.turn.trace.notes == [
        "order/pay: not heard: total > 99 is not true",
        "order/pay: not heard: total > 50 is not true",
    ]


def test_a_condition_that_is_false_leaves_it_unheard() -> None:
    talk = ordering()
    assert talk.signal("paid", amount=3) == []
    assert (talk.at, rule(talk)) == ("order/pay", "signal paid: nobody waits for it")
    assert talk.turn is not None and talk.turn.trace.notes == [
        "order/pay: not heard: event.amount >= total is not true"
    ]


def test_a_condition_that_fails_is_noted() -> None:
    talk = ordering()
    assert talk.signal("paid") == []  # null has no order
    assert talk.turn is not None and "signals:" in talk.turn.trace.notes[0]
    assert talk.at == "order/pay"


def test_nobody_hears_it_outside_of_all_flows() -> None:
    talk = Talk(ORDER, SIGNALS)
    assert talk.signal("paid", amount=20) == []
    assert rule(talk) == "signal paid: nobody waits for it"


def test_a_signal_that_the_bot_does_not_know_is_refused_with_what_it_knows() -> None:
    talk = ordering()
    talk.signal("payed")
    assert talk.turn is not None and talk.turn.failure == 'there is no signal "payed": did you mean "paid"?'
    assert talk.at == "order/pay"


def test_data_that_are_not_declared_or_do_not_fit_are_refused() -> None:
    talk = ordering()
    talk.signal("paid", amout=3)
    assert talk.turn is not None and talk.turn.failure == 'signal "paid" has no "amout": did you mean "amount"?'
    talk.signal("paid", amount="much")
    assert talk.turn is not None and talk.turn.failure is not None
    assert talk.turn.failure.startswith('signal "paid": amount: ')


def test_a_wait_hears_it_before_its_time() -> None:
    talk = Talk(
        "flow: a\nstart: {otherwise: true}\nsteps:\n  w: {wait: 2d, signals: {arrived: here}, then: never}\n"
        "  never: {say: It never came., then: end}\n  here: {say: It is here., then: end}\n",
        SIGNALS,
    )
    talk.user("hi")
    assert talk.signal("arrived") == ["It is here."]
    talk.user("hi")
    assert talk.wait("2d") == ["It never came."]


def test_it_waits_while_a_call_has_not_ended_and_is_heard_by_the_step_behind_it() -> None:
    talk = Talk(
        "flow: a\nstart: {otherwise: true}\nsteps:\n  c: {call: look, errors: {else: end}}\n"
        "  q: {ask: Ready?, signals: {arrived: {say: Good., then: end}}}\n",
        SIGNALS,
        {"look": look},
    )
    talk.user("hi")
    assert talk.signal("arrived") == []
    assert rule(talk) == "signal arrived: waits"
    assert talk.returns() == ["Ready?"]
    assert talk.wait("1s") == ["Good."]


def test_it_waits_while_an_agent_has_the_conversation() -> None:
    talk = ordering()
    talk.take(ConversationAssigned("a", CONTACT, talk.now))
    assert talk.signal("paid", amount=20, reference="B") == []
    talk.take(HandoffClosed("b", CONTACT, talk.now))
    assert talk.wait("1s") == ["Thank you for B."]


def test_an_interrupted_flow_hears_it_when_the_conversation_has_returned() -> None:
    talk = Talk(ORDER.replace("ask: Please pay 12.50.", "ask: Please pay 12.50.\n    options: [Paid]"), SIGNALS)
    talk.user("order")
    assert talk.user("hours") == ["Which day?"]
    assert talk.signal("paid", amount=20, reference="D") == []
    assert rule(talk) == "signal paid: waits"
    assert talk.user("Monday") == ["Nine to six.", ["Please pay 12.50.", "Paid"]]
    assert talk.wait("1s") == ["Thank you for D."]


@pytest.mark.parametrize("closes", [True, False])
def test_a_step_that_runs_a_flow_hears_it_and_ends_that_flow(closes: bool) -> None:
    then = ", then: over" if closes else ""
    talk = Talk(
        "flow: a\nstart: {otherwise: true}\nsteps:\n"
        f"  r: {{run: /b, signals: {{arrived: {{say: News!{then}}}}}}}\n"
        "  next_one: {say: After b., then: end}\n  over: {say: It is over., then: end}\n---\n"
        "flow: b\nsteps: {q: {ask: How many?}}\n",
        SIGNALS,
    )
    talk.user("hi")
    if closes:
        assert talk.signal("arrived") == ["News!", "It is over."]
        assert talk.at is None
    else:
        assert talk.signal("arrived") == ["News!"]
        assert talk.at == "b/q"
        assert talk.user("3") == ["After b."]


def test_flows_and_the_bot_have_defaults_for_all_their_steps_and_a_steps_own_comes_first() -> None:
    talk = Talk(
        "flow: a\nstart: {otherwise: true}\ndefaults: {signals: {paid: {say: Flow., then: end}}}\nsteps:\n"
        "  q: {ask: One?}\n  r: {ask: Two?, signals: {paid: {say: Step., then: end}}}\n",
        SIGNALS.replace("defaults: {", "defaults: {signals: {arrived: {say: Bot.}}, "),
    )
    talk.user("hi")
    assert talk.signal("arrived") == ["Bot."]
    assert talk.signal("paid") == ["Flow."]
    talk.user("hi")
    talk.user("1")
    assert talk.signal("paid") == ["Step."]


def test_one_for_a_run_of_a_flow_is_heard_by_that_run_alone() -> None:
    talk = ordering()
    visit = talk.session.frames[0].first_visit
    assert talk.signal("paid", first_visit=visit + 1, amount=20) == []
    assert talk.at == "order/pay"
    assert talk.signal("paid", first_visit=visit, amount=20, reference="C") == ["Thank you for C."]
    assert talk.signal("paid", first_visit=visit, amount=20, reference="C") == []


def test_what_else_a_service_sends_to_its_address_is_left_out() -> None:
    talk = ordering()
    visit = talk.session.frames[0].first_visit
    assert talk.signal("paid", first_visit=visit, amount=20, reference="C", currency="EUR") == ["Thank you for C."]


def test_back_returns_to_the_question_that_it_interrupted() -> None:
    talk = Talk(
        "flow: a\nstart: {otherwise: true}\nsteps:\n  q: {ask: One?, signals: {arrived: news}}\n"
        "  done: {say: Done., then: end}\n  news: {say: News!, then: back}\n",
        SIGNALS,
    )
    talk.user("hi")
    assert talk.signal("arrived") == ["News!", "One?"]


# -- what `bot check` finds --------------------------------------------------------------------------


def test_every_signal_and_each_of_its_data_is_declared() -> None:
    flow = "flow: a\nstart: {{otherwise: true}}\nsteps: {{q: {{ask: One?, signals: {{{}}}}}}}"
    assert problems_of(flow.format("paid: end"), SIGNALS) == []
    (unknown,) = problems_of(flow.format("payed: end"), SIGNALS)
    assert 'E109 no signal "payed"' in unknown and 'did you mean "paid"?' in unknown
    (field,) = problems_of(flow.format("paid: {if: event.amout > 3, then: end}"), SIGNALS)
    assert 'E301 signal "paid" has no "amout"' in field and 'did you mean "amount"?' in field


def test_a_step_that_does_not_wait_hears_nothing() -> None:
    (problem,) = problems_of(
        "flow: a\nstart: {otherwise: true}\nsteps: {s: {say: Hi., signals: {paid: end}, then: end}}", SIGNALS
    )
    assert "E123" in problem and '"signals" has no effect' in problem


def test_event_is_known_in_signals_alone() -> None:
    (problem,) = problems_of(
        'flow: a\nstart: {otherwise: true}\nsteps: {s: {say: "{{ event.amount }}", then: end}}', SIGNALS
    )
    assert 'E301 no variable "event"' in problem


@pytest.mark.parametrize("errors", ["", ", errors: {else: after}"])
def test_a_signal_that_fails_leaves_no_tag_of_the_hand_over_above(errors: str) -> None:
    flows = """
flow: main
start: {otherwise: true}
vars: {n: {type: integer, value: 0}}
steps:
  go: {run: /help, signals: {paid: {set: {n: "{{ 1 / n }}"}}}ERRORS}
  after: {ask: What else?}
---
flow: help
steps: {help: {handoff: sales, closed: end}}
"""
    talk = Talk(flows.replace("ERRORS", errors), SIGNALS)
    talk.user("hi")
    assert talk.session.tags == ("handoff:sales",)
    talk.signal("paid", amount=1)
    assert not talk.session.tags


RECEIPT = """
flow: receipt
start: {signal: paid}
vars: {amount: number, reference: text}
steps:
  got: {ask: "We got {{ amount }} ({{ reference | default('?') }}). A receipt?", buttons: {Yes: end, No: end}, timeout: {after: 1h, then: end}}
---
"""


def test_a_signal_that_no_step_takes_starts_a_flow_with_its_data() -> None:
    talk = Talk(RECEIPT + ORDER, SIGNALS)
    assert talk.signal("paid", amount="3.5")[0][0] == "We got 3.5 (?). A receipt?"
    assert rule(talk) == "start of receipt: signal paid"
    assert talk.at == "receipt/got"


def test_the_step_that_waits_for_a_signal_comes_before_the_flow_that_it_starts() -> None:
    talk = Talk(RECEIPT + ORDER, SIGNALS)
    talk.user("order")
    assert talk.signal("paid", amount="12.5", reference="A7") == ["Thank you for A7."]


def test_a_signal_for_a_busy_contact_starts_its_flow_when_the_contact_is_free() -> None:
    talk = Talk(RECEIPT + ORDER, SIGNALS)
    talk.user("hours")
    assert talk.signal("paid", amount="3") == []
    assert rule(talk) == "signal paid: start of receipt: waits"
    assert talk.user("Monday") == ["Nine to six."]
    assert talk.wait("1s")[0][0] == "We got 3 (?). A receipt?"


def test_a_flow_that_a_signal_starts_can_interrupt() -> None:
    talk = Talk(RECEIPT.replace("paid}", "paid, busy: interrupt}") + ORDER, SIGNALS)
    talk.user("hours")
    assert talk.signal("paid", amount="3")[0][0] == "We got 3 (?). A receipt?"


def test_a_signal_starts_a_flow_for_first_or_returning_contacts_alone() -> None:
    talk = Talk(RECEIPT.replace("paid}", "paid, contact: returning}") + ORDER, SIGNALS)
    assert talk.signal("paid", amount="3") == []
    assert rule(talk) == "signal paid: nobody waits for it"
    talk.user("hours")
    talk.user("Monday")
    assert talk.signal("paid", amount="3")[0][0] == "We got 3 (?). A receipt?"


def test_a_signal_starts_no_flow_for_a_contact_who_has_opted_out() -> None:
    talk = Talk(RECEIPT + ORDER, SIGNALS)
    talk.session.tags = ("opted_out",)
    assert talk.signal("paid", amount="3") == []
    assert rule(talk) == "no start of receipt by signal paid: the contact has opted out"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("signal: paid", "signal: piad", 'E109 no signal "piad" (did you mean "paid"?)'),
        (
            "amount: number",
            "amount: {type: number, needed: true}",
            'E105 signal "paid" may come without "amount" '
            "(declare it in bot.yml: signals: {paid: {amount: {type: ..., needed: true}}})",
        ),
        (
            "amount: number",
            "amount: date",
            'E303 variable "amount" is of type date, and signal "paid" gives number '
            "(declare the same type in both places, or use another name)",
        ),
    ],
)
def test_what_starts_a_flow_is_declared_and_fits(old: str, new: str, problem: str) -> None:
    found = problems_of((RECEIPT + ORDER).replace(old, new, 1), SIGNALS)
    assert [each.partition(" ")[2] for each in found] == [problem]


KEPT = BOT + "signals: {paid: {keep: 1d, amount: number, reference: text}, arrived: {}}\n"


def test_a_signal_that_comes_early_is_kept_until_a_step_has_it() -> None:
    talk = Talk(ORDER, KEPT)
    assert talk.signal("paid", amount="12.5", reference="A7") == []
    assert rule(talk) == "signal paid: kept until a step has it"
    talk.wait("23h")
    talk.user("order")
    assert talk.wait("1s") == ["Thank you for A7."]
    assert talk.session.plans == ()


def test_a_kept_signal_that_no_step_takes_in_time_is_dropped_and_the_trace_says_so() -> None:
    talk = Talk(ORDER, KEPT)
    talk.signal("paid", amount="12.5")
    talk.wait("25h")
    assert rule(talk) == "signal paid: kept until now, and no step has taken it"
    assert talk.session.plans == ()
    assert talk.user("order") == ["Please pay 12.50."]
    assert talk.wait("1s") == []


def test_a_signal_whose_conditions_are_false_at_the_step_is_not_kept() -> None:
    talk = Talk(ORDER, KEPT)
    talk.signal("paid", amount="1")
    talk.user("order")
    assert talk.wait("1s") == []
    assert talk.session.plans == ()
    assert talk.at == "order/pay"


def test_a_contact_has_a_bounded_number_of_kept_signals() -> None:
    talk = Talk(ORDER, KEPT)
    for _ in range(20):
        talk.signal("paid", amount="1")
    assert talk.turn is not None and talk.turn.failure is None
    talk.signal("paid", amount="1")
    assert talk.turn.failure is not None and "more than 20 signals are kept" in talk.turn.failure
    assert len(talk.session.plans) == 20


def test_a_kept_signal_is_kept_no_longer_where_the_clock_steps_back() -> None:
    talk = Talk(ORDER, KEPT)
    talk.signal("paid", amount="12.5", reference="A7")
    talk.pass_time(timedelta(days=-3))
    talk.take(TimeReached(talk.next_id(), CONTACT, talk.now))
    (kept,) = talk.session.plans
    assert kept.at <= talk.now + timedelta(days=1)


def test_a_signal_may_have_dots_in_its_name() -> None:
    talk = Talk(
        "flow: a\nstart: {signal: invoice.paid}\nsteps: {w: {wait: 1h, signals: {invoice.paid: {say: Twice?, then: end}}}}",
        BOT + "signals: {invoice.paid: {}}\n",
    )
    assert talk.signal("invoice.paid") == []
    assert rule(talk) == "start of a: signal invoice.paid"
    assert talk.signal("invoice.paid") == ["Twice?"]


def test_a_signals_keep_is_a_duration() -> None:
    (problem,) = problems_of(ORDER, KEPT.replace("keep: 1d", "keep: {type: text}"))
    assert "keep" in problem


NAMED = """
name: Test
signals:
  complained: {message_of: {type: text, sent_as: message, needed: true}, pay: {type: text, sent_as: payload}}
defaults: {timeout: {after: 20h, then: end}}
"""
COMPLAINT = """
flow: complaint
start: {signal: complained}
vars: {message_of: {type: text, sent_as: message, needed: true}, customer: {type: text, sent_as: customerId}}
steps: {told: {say: "{{ message_of }} ({{ customer }})"}, wait: {wait: 1d, signals: {complained: {say: "{{ event.message_of }} {{ event.pay }}"}}}}
---
flow: other
start: {words: [other]}
steps: {tell: {signal: complained, contact: "6281234567891", with: {message_of: It is late.}}}
"""


def test_a_value_may_have_another_name_in_a_programs_data() -> None:
    talk = Talk(COMPLAINT, NAMED)
    assert talk.signal("complained", message="It is cold.") == ["It is cold. ()"]
    assert talk.signal("complained", message="It is dry.", payload="A7") == ["It is dry. A7"]
    assert Talk(COMPLAINT, NAMED).start("complaint", message="It is wet.", customerId="7") == ["It is wet. (7)"]


def test_a_step_names_a_value_as_the_bot_does() -> None:
    talk = Talk(COMPLAINT, NAMED)
    assert talk.signal("complained", message_of="It is cold.") == ["It is cold. ()"]


def test_a_program_is_told_the_names_that_it_sends() -> None:
    talk = Talk(COMPLAINT, NAMED)
    library = talk.library
    assert signal_objections(library, "complained", {}, False)["data"] == 'signal "complained" needs message'
    assert signal_objections(library, "complained", {"message": "x", "x": 1}, False)["data"].endswith(
        "it has message, payload"
    )
    assert objections(library, "complaint", {})["data"] == "complaint was not started: it needs message"
    assert "message" in objections(library, "complaint", {"mesage": "x"})["data"]
    twice = {"message": "x", "message_of": "y"}
    assert 'no variable "message"' in objections(library, "complaint", twice)["data"], "none of them is lost"


def test_two_values_have_no_name_in_common() -> None:
    for taken in ("message_of", "message"):
        flow = COMPLAINT.replace("sent_as: customerId", f"sent_as: {taken}")
        (problem,) = problems_of(flow, NAMED)
        assert f'E306 variable "customer": "{taken}" is the name of "message_of"' in problem


def test_a_reserved_name_says_how_a_program_can_send_it() -> None:
    problem = problems_of(ORDER, BOT + "signals: {complained: {message: text}}\n")[0]
    assert 'E306 variable "message": the name "message" is reserved' in problem
    assert "if programs send it so, add sent_as: message" in problem
