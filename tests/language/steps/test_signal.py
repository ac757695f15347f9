"""``signal``: another contact's conversation hears of something. How it is heard: tests/engine/test_signals.py."""

from bot.core.effects import EmitEvent
from bot.core.events import SignalReceived
from tests.talk import BOT, CONTACT, Talk, problems_of

SIGNALS = BOT + "signals: {paid: {amount: number}, arrived: {}}\n"


def test_it_goes_to_the_other_contact_with_its_data() -> None:
    talk = Talk(
        "flow: a\nstart: {otherwise: true}\nvars: {asks: {type: phone, value: '6281234567895'}}\n"
        'steps: {s: {signal: paid, contact: "{{ asks }}", with: {amount: 3}, then: end}}',
        SIGNALS,
    )
    talk.user("hi")
    assert talk.effects == [EmitEvent(SignalReceived("e1#0", "6281234567895", talk.now, "paid", {"amount": 3}, "a/s"))]


def test_it_may_go_to_several_and_to_oneself() -> None:
    talk = Talk(
        "flow: a\nstart: {otherwise: true}\n"
        "steps: {s: {signal: arrived, each: '[contact.id]', contact: '{{ it }}', then: end}}",
        SIGNALS,
    )
    talk.user("hi")
    assert [effect.event.contact for effect in talk.effects if isinstance(effect, EmitEvent)] == [CONTACT]


def test_a_signal_gets_what_it_needs() -> None:
    flow = "flow: a\nstart: {otherwise: true}\nsteps: {s: {signal: paid, contact: '6281234567890'%s, then: end}}"
    needed = BOT + "signals: {paid: {amount: {type: number, needed: true}}}\n"
    (problem,) = problems_of(flow % "", needed)
    assert 'E105 signal "paid" needs "amount" (add with: {amount: ...})' in problem
    assert problems_of(flow % ", with: {amount: 3}", needed) == []
    (problem,) = problems_of(flow % ", with: {amonut: 3}", needed)
    assert 'E301 signal "paid" has no "amonut"' in problem


def test_the_signal_and_its_data_are_declared() -> None:
    flow = "flow: a\nstart: {otherwise: true}\nsteps: {s: {signal: %s, contact: '6281234567890', then: end}}"
    assert problems_of(flow % "paid, with: {amount: 3}", SIGNALS) == []
    assert 'E109 no signal "payed"' in problems_of(flow % "payed", SIGNALS)[0]
    assert 'E301 signal "paid" has no "sum"' in problems_of(flow % "paid, with: {sum: 3}", SIGNALS)[0]
    assert "E303" in problems_of(flow % "paid, with: {amount: {a: 1}}", SIGNALS)[0]
