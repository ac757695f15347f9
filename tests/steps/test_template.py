"""Templates that a step sends: their replies, and the gateway's answer."""

from typing import Any

from tests.talk import BOT, Talk

WORDS = (
    "name: T\nwords: {stop: {say: Bye!, then: end}, help: {say: Just answer.}, home: /main}\n" + BOT.split("\n", 1)[1]
)


TEMPLATE = """
flow: main
start: {otherwise: true}
steps:
  t:
    template: {name: nudge, language: en, body: ["{{ contact.name | default('there') }}"]}
    replies: {Continue: a, Stop: end}
  a: {say: Going on., then: end}
"""


def test_a_templates_replies_come_as_taps_or_as_text() -> None:
    talk = Talk(TEMPLATE)
    assert talk.user("x") == [["nudge", "there"]]
    message: Any = talk.sent[-1]
    assert talk.tap_id(message.replies[0], "Continue") == ["Going on."]
    talk.user("x")
    assert talk.user("continue") == ["Going on."]
    talk.user("x")
    assert talk.user(talk.sent[-1].replies[1]) == []  # type: ignore[union-attr]
    assert talk.at is None


def test_a_templates_reply_is_heard_before_the_bots_words() -> None:
    talk = Talk(TEMPLATE, WORDS)
    talk.user("x")
    assert talk.user("Stop") == []
    assert talk.at is None


REFUSED = """
flow: main
start: {otherwise: true}
steps:
  t: {template: {name: nudge, language: en}, errors: {else: b}}
  a: {say: Sent., then: end}
  b: {say: Refused., then: end}
"""


def test_a_template_with_errors_waits_for_the_gateways_word() -> None:
    for outcome, expected in (("sent", "Sent."), ("failed", "Refused.")):
        talk = Talk(REFUSED)
        talk.user("x")
        assert talk.session.busy
        assert talk.send_ended(outcome) == [expected]
