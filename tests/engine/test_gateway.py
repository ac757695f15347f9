"""What the gateway says of contacts and conversations, as the engine takes it; flows that such events start."""

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.core.effects import PutContact, ReadContact
from bot.core.events import (
    ContactChanged,
    ConversationAssigned,
    ConversationOpened,
    Event,
    HandoffClosed,
    StatusReported,
)
from tests.talk import CONTACT, START, Talk, problems_of

FLOW = """\
flow: main
start: {words: [hi]}
steps:
  name: {ask: Your name?, save: name, timeout: {after: 1h, then: late}}
  thanks: {say: "Thanks, {{ name }}.", tag: named, then: end}
  late: {say: Too late., then: end}
vars: {name: {type: text}}
---
flow: welcome
start: {event: conversation.opened}
steps:
  a: {say: "Welcome, {{ contact.name }}!", then: end}
"""


def changed(chat: Talk, event: str = "contact.updated", **fields: object) -> ContactChanged:
    return ContactChanged(chat.next_id(), CONTACT, chat.now, event, **fields)  # type: ignore[arg-type]


def assigned(chat: Talk) -> ConversationAssigned:
    return ConversationAssigned(chat.next_id(), CONTACT, chat.now, "conv_1", "Ann", "Budi")


def test_a_contacts_name_and_email_are_the_gateways() -> None:
    chat = Talk(FLOW.replace("Your name?", "'Your name, {{ contact.email }}?'"))
    chat.take(changed(chat, name="Ann", email="ann@mail.example"))
    assert chat.user("hi") == ["Your name, ann@mail.example?"]
    chat.take(changed(chat))
    assert (chat.session.name, chat.session.email) == ("Ann", "ann@mail.example")


def test_tags_of_both_sides_are_merged_and_the_gateway_is_told() -> None:
    chat = Talk(FLOW)
    chat.take(changed(chat, tags=("vip", "old"), described=True))
    chat.user("hi")
    chat.user("Ann")
    assert chat.effects[-1] == PutContact(CONTACT, None, ("vip", "old", "named"))
    chat.take(changed(chat, tags=("vip", "named", "new"), described=True))
    assert chat.session.tags == ("vip", "named", "new"), "what the gateway took away is gone"
    assert not chat.effects, "it knows them already"


def test_a_change_that_says_what_changed_leaves_the_rest_known_and_one_that_does_not_has_it_read_again() -> None:
    chat = Talk(FLOW)
    chat.take(changed(chat, name="Ann", tags=("vip",), described=True))
    chat.take(changed(chat, name="Anna"))
    assert chat.session.described
    chat.take(changed(chat))
    assert not chat.session.described
    chat.user("hi")
    chat.user("Ann")
    assert chat.effects[-1] == ReadContact()


def test_a_tag_may_be_worked_out_from_variables() -> None:
    chat = Talk("""
flow: main
start: {otherwise: true}
vars: {size: {type: text, value: small}}
steps: {s: {say: Hi., tag: "size_{{ size }}", then: end}}
""")
    chat.user("hi")
    assert chat.session.tags == ("size_small",)


def test_a_turn_that_changes_no_tags_tells_nothing() -> None:
    chat = Talk(FLOW)
    chat.user("hi")
    assert not any(isinstance(effect, PutContact) for effect in chat.effects)


def test_an_event_starts_the_flow_that_waits_for_it() -> None:
    chat = Talk(FLOW)
    said = chat.take(ConversationOpened(chat.next_id(), CONTACT, chat.now, "conv_1", "Ann"))
    assert said == ["Welcome, Ann!"]
    assert chat.turn is not None and chat.turn.trace.rule == "start of welcome: conversation.opened"
    assert chat.session.conversation == "conv_1"


def test_an_event_starts_nothing_for_a_contact_who_is_in_a_flow() -> None:
    chat = Talk(FLOW)
    chat.user("hi")
    assert chat.take(ConversationOpened(chat.next_id(), CONTACT, chat.now, "conv_1", "Ann")) == []
    assert chat.at == "main/name"


@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("message.read", StatusReported("e", CONTACT, START, "read", ("m1",))),
        ("message.failed", StatusReported("e", CONTACT, START, "failed", ("m1",))),
        ("contact.created", ContactChanged("e", CONTACT, START, "contact.created", "Ann")),
        ("contact.updated", ContactChanged("e", CONTACT, START, "contact.updated", "Ann")),
        ("conversation.resolved", HandoffClosed("e", CONTACT, START)),
    ],
)
def test_any_event_may_start_a_flow(name: str, event: Event) -> None:
    chat = Talk(f"flow: a\nstart: {{event: {name}}}\nsteps:\n  a: {{say: I saw it., then: end}}\n")
    assert chat.take(event) == ["I saw it."]


def test_any_message_may_start_a_flow_as_an_event() -> None:
    chat = Talk("flow: a\nstart: {event: message.inbound}\nsteps:\n  a: {say: I saw it., then: end}\n")
    assert chat.user("anything") == ["I saw it."]


def test_an_unknown_event_is_found_by_the_check() -> None:
    (problem,) = problems_of("flow: a\nstart: {event: message.seen}\nsteps:\n  a: {say: x, then: end}\n")
    assert 'no event "message.seen" (did you mean "message.sent"?)' in problem


def test_two_flows_for_one_event_are_found_by_the_check() -> None:
    flow = "flow: {0}\nstart: {{event: message.read}}\nsteps:\n  a: {{say: x, then: end}}\n"
    (problem,) = problems_of(flow.format("one") + "---\n" + flow.format("two"))
    assert "E313" in problem
    assert "the event message.read is taken: it starts flow one" in problem


def test_while_an_agent_has_the_conversation_the_bot_is_silent() -> None:
    chat = Talk(FLOW)
    chat.user("hi")
    chat.take(assigned(chat))
    assert chat.user("Ann") == []
    assert chat.wait("5h") == [], "nor does time pass for it"
    assert chat.at == "main/name"


def test_the_bot_is_silent_also_where_the_flow_that_starts_with_the_agent_is_broken() -> None:
    chat = Talk("""
flow: a
start: {event: conversation.assigned}
vars: {o: {type: object}}
steps: {a: {say: "{{ o.a.b }}", then: end}}
""")
    chat.take(assigned(chat))
    assert chat.turn is not None and chat.turn.failure is not None
    assert (chat.session.agent, chat.session.taken_at) == ("Budi", START)


def test_once_resolved_the_question_is_put_again_to_the_next_message() -> None:
    chat = Talk(FLOW)
    chat.user("hi")
    chat.take(assigned(chat))
    chat.wait("5h")
    assert chat.closed() == []
    assert chat.user("Ann") == ["Your name?"]
    assert chat.user("Ann") == ["Thanks, Ann."]


def test_an_agent_who_takes_a_step_that_an_edit_has_made_another_kind_answers_alone() -> None:
    flow = "flow: main\nstart: {otherwise: true}\nsteps: {a: {handoff: {team: x}, closed: end}}\n"
    chat = Talk(flow)
    chat.user("hi")
    chat.edit(flow.replace("handoff: {team: x}, closed: end", "say: Hello., then: end"))
    assert chat.take(ConversationAssigned(chat.next_id(), CONTACT, chat.now, "c", None, "Budi")) == []
    assert chat.session.agent == "Budi"


def test_what_a_model_said_before_an_agent_who_answers_in_its_place_is_not_said_afterwards() -> None:
    flow = """flow: main
start: {otherwise: true}
steps: {a: {ai: Be nice., exits: {done: {when: done, then: end}}, errors: {else: end}}}
"""
    chat = Talk(flow)
    assigned = ConversationAssigned("a", CONTACT, chat.now, "c", None, "Budi")
    chat.user("hi")
    chat.edit(flow.replace("ai: Be nice., exits: {done: {when: done, then: end}}", "http: GET https://x.example"))
    chat.take(assigned)
    chat.model("Hello!")
    chat.edit(flow)
    chat.take(assigned)
    assert chat.closed() == []


def test_an_agent_who_takes_over_before_the_gateway_has_said_what_became_of_a_message_has_it_alone() -> None:
    flow = """flow: main
start: {otherwise: true}
steps:
  a: {say: One., errors: {refused: b}}
  b: {say: Two., then: end}
"""
    chat = Talk(flow)
    assert chat.user("hi") == ["One."]
    assert chat.take(assigned(chat)) == []
    assert chat.send_ended("sent") == []
    assert chat.closed() == ["Two."]


def test_a_delivery_that_comes_after_a_newer_one_changes_nothing_of_who_has_the_conversation() -> None:
    chat = Talk(FLOW)
    chat.user("hi")
    taken, resolved, again = (START + timedelta(minutes=minutes) for minutes in (1, 2, 3))
    first = ConversationAssigned("a", CONTACT, chat.now, "c", None, "Budi", taken)
    chat.take(HandoffClosed("b", CONTACT, chat.now, "c", occurred_at=resolved))
    chat.take(first)
    assert chat.session.agent is None
    assert chat.turn is not None and chat.turn.trace.rule == "assigned: older than what is known"
    chat.take(replace(first, id="d", occurred_at=again))
    chat.take(HandoffClosed("e", CONTACT, chat.now, "c", occurred_at=resolved))
    assert chat.session.agent == "Budi"
    chat.closed()
    assert chat.session.agent is None, "somebody here gives it back whenever"


def test_the_trace_says_what_became_of_an_agents_conversation() -> None:
    chat = Talk(FLOW)
    chat.user("hi")
    chat.take(assigned(chat))
    chat.closed()
    assert chat.turn is not None and chat.turn.trace.rule == "closed"


def test_after_the_agent_the_clock_of_silence_starts_anew() -> None:
    chat = Talk(FLOW)
    chat.user("hi")
    chat.take(assigned(chat))
    chat.wait("5h")
    chat.closed()
    assert chat.wait("59m") == []
    assert chat.wait("1m") == ["Too late."]


def test_an_agent_may_take_a_contact_who_is_in_no_flow() -> None:
    chat = Talk(FLOW)
    chat.take(assigned(chat))
    assert chat.user("hi") == []
    chat.closed()
    assert chat.user("hi") == ["Your name?"]
