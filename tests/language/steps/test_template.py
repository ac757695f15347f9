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


BOOKED = """
flow: reminder
start: {pattern: 'remind (?P<appointment>[0-9]+)'}
vars: {appointment: {type: integer}}
steps:
  remind:
    template: {name: reminder, language: en, body: ["{{ appointment }}"]}
    replies: {Confirm: confirmed, Why: {say: "Because of {{ appointment }}.", then: sure}}
    valid: 14d
    timeout: {after: 1h, then: end}
  sure: {ask: Will you come?, then: confirmed}
  confirmed: {say: "{{ appointment }} is confirmed.", then: end}
---
flow: shop
start: {words: [shop]}
INTERRUPTED
steps: {what: {ask: What?, then: end}}
"""
SHOP = BOOKED.replace("INTERRUPTED", "interrupted: resume")


def _reminded(talk: Talk, number: int) -> str:
    talk.user(f"remind {number}")
    message: Any = talk.sent[-1]
    payload: str = message.replies[0]
    return payload


def test_each_template_is_confirmed_with_the_values_that_it_was_sent_with() -> None:
    talk = Talk(SHOP)
    first = _reminded(talk, 17)
    talk.wait("2h")
    second = _reminded(talk, 18)
    talk.wait("3d")
    assert talk.at is None
    assert talk.tap_id(first, "Confirm") == ["17 is confirmed."]
    assert talk.tap_id(second, "Confirm") == ["18 is confirmed."]
    assert talk.at is None


def test_a_tap_on_an_earlier_template_counts_while_a_newer_one_waits() -> None:
    talk = Talk(SHOP)
    first = _reminded(talk, 17)
    talk.wait("2h")
    second = _reminded(talk, 18)
    assert talk.tap_id(first, "Confirm") == ["17 is confirmed."]
    assert talk.tap_id(second, "Confirm") == ["18 is confirmed."]


def test_a_flow_that_may_be_interrupted_goes_on_after_a_reply_to_an_earlier_template() -> None:
    talk = Talk(SHOP)
    first = _reminded(talk, 17)
    talk.wait("2h")
    talk.user("shop")
    assert talk.tap_id(first, "Confirm") == ["17 is confirmed.", "What?"]


def test_a_flow_that_nothing_interrupts_keeps_the_contact() -> None:
    talk = Talk(BOOKED.replace("INTERRUPTED\n", ""))
    first = _reminded(talk, 17)
    talk.wait("2h")
    talk.user("shop")
    assert talk.tap_id(first, "Confirm") == ["That was an earlier question.", "What?"]
    assert talk.at == "shop/what"


def test_a_reply_counts_as_long_as_it_is_valid() -> None:
    talk = Talk(SHOP)
    first = _reminded(talk, 17)
    talk.wait("14d")
    assert talk.tap_id(first, "Confirm") == ["That was an earlier question."]


def test_a_reply_to_a_template_that_an_edit_removed_is_an_old_tap() -> None:
    talk = Talk(SHOP)
    first = _reminded(talk, 17)
    talk.wait("2h")
    for edited in (SHOP.replace("Confirm: confirmed", "Yes: confirmed"), SHOP.replace("remind:", "other:")):
        talk.library = Talk(edited).library
        assert talk.tap_id(first, "Confirm") == ["That was an earlier question."]


def test_a_conversation_that_has_gone_on_from_a_template_returns_to_it() -> None:
    talk = Talk(SHOP)
    first = _reminded(talk, 17)
    assert talk.user("why") == ["Because of 17.", "Will you come?"]
    assert talk.tap_id(first, "Confirm") == ["17 is confirmed."]
    assert talk.at is None


def test_a_title_alone_is_a_reply_to_the_only_template_that_offered_it() -> None:
    talk = Talk(SHOP)
    _reminded(talk, 17)
    talk.wait("2h")
    assert talk.user("Confirm") == ["17 is confirmed."]
    _reminded(talk, 18)
    talk.wait("2h")
    assert talk.user("Confirm") == []
    assert talk.at is None


def test_a_tap_that_comes_as_the_text_of_its_id_is_a_tap() -> None:
    talk = Talk(
        """
flow: asked
start: {words: [go], otherwise: true}
steps:
  which:
    template: {name: which, language: en}
    replies: {One: told}
  told: {say: "{{ message.tapped }} {{ message.text | default('unknown') }}", then: end}
"""
    )
    talk.user("go")
    message: Any = talk.sent[-1]
    assert talk.user(message.replies[0]) == ["true unknown"]


def test_a_reply_to_an_earlier_template_that_is_not_heard_changes_nothing() -> None:
    talk = Talk(SHOP.replace("Confirm: confirmed", "Confirm: {if: appointment != 17, then: confirmed}"))
    first = _reminded(talk, 17)
    talk.wait("2h")
    talk.user("shop")
    assert talk.tap_id(first, "Confirm") == ["That was an earlier question.", "What?"]
    assert talk.at == "shop/what"


REMINDER = """
flow: remind
start: {words: [remind]}
steps:
  remind: {template: {name: visit, language: en}, replies: {Confirm: thanks, Cancel: {say: Cancelled., then: end}}}
  thanks: {say: See you!, then: end}
---
flow: shop
start: {words: [shop]}
interrupted: resume
steps: {what: {ask: What?, then: end}}
"""


def test_one_reply_counts_on_the_day_after_a_time_out_that_is_not_its_own() -> None:
    for title, comes in (("Confirm", "tap"), ("Confirm", "text")):
        talk = Talk(REMINDER)
        talk.user("remind")
        message: Any = talk.sent[-1]
        talk.wait("43h")
        assert talk.at is None
        assert (talk.user(title) if comes == "text" else talk.tap_id(message.replies[0], title)) == ["See you!"]
        assert talk.tap_id(message.replies[1], "Cancel") == ["That was an earlier question."], "once"
    talk.user("remind")
    message = talk.sent[-1]
    talk.wait("20h")
    talk.user("shop")
    assert talk.tap_id(message.replies[1], "Cancel") == ["Cancelled.", "What?"]
    talk = Talk(REMINDER)
    talk.user("remind")
    message = talk.sent[-1]
    talk.wait("45h")
    assert talk.tap_id(message.replies[0], "Confirm") == ["That was an earlier question."], "two days later"


def test_no_reply_counts_after_a_time_out_that_is_its_own_or_does_something() -> None:
    own = REMINDER.replace("Cancelled., then: end}}", "Cancelled., then: end}}, timeout: {after: 20h, then: end}")
    does = BOT.replace("then: end", "tag: silent, then: end")
    for flows, bot in ((own, BOT), (REMINDER, does)):
        talk = Talk(flows, bot)
        talk.user("remind")
        message: Any = talk.sent[-1]
        talk.wait("30h")
        assert talk.tap_id(message.replies[0], "Confirm") == ["That was an earlier question."]


def test_a_reply_is_not_late_where_the_flow_that_ran_this_one_has_gone_on() -> None:
    talk = Talk(
        REMINDER.replace("start: {words: [remind]}\n", "")
        + "---\n"
        + """
flow: outer
start: {words: [remind]}
steps: {run: {run: /remind, expired: sorry}, done: {say: Done., then: end}, sorry: {say: Sorry., then: end}}
"""
    )
    talk.user("remind")
    message: Any = talk.sent[-1]
    assert talk.wait("30h") == ["Sorry."]
    assert talk.tap_id(message.replies[0], "Confirm") == ["That was an earlier question."]
