"""The whole path, from a signed webhook to a sent reply: what only shows when all parts work together."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.core.clock import MovableClock
from bot.loading.folder import read_folder
from bot.loading.program import load_program
from bot.testing.emulator.request_rules import CODES
from bot.testing.simulation.phone import ShownMessage
from bot.testing.simulation.simulation import Simulation

START = datetime(2030, 5, 6, 10, 0, tzinfo=UTC)
BOT = """
name: Test
words: {stop: {say: Bye!, then: end}}
defaults:
  timeout: {after: 3d, then: end}
  window_closed: {template: {name: come_back, language: en, body: ["{{ contact.id }}"]}}
"""
FLOWS = """
flow: main
start: {otherwise: true}
vars: {name: {type: text}, greeting: {type: text}}
steps:
  name: {ask: Your name?, save: name, remind: {after: 25h, say: Still there?}}
  greet: {call: greet, with: {name: "{{ name }}"}, save: greeting, within: 5s, errors: {Rude: rude, else: broken}}
  hello: {ask: "{{ greeting }}"}
  bye: {say: Bye., then: end}
  rude: {say: How rude., then: end}
  broken: {say: Something broke., then: end}
---
flow: person
start: {words: [person]}
steps: {h: {handoff: {team: sales, say: One moment.}, closed: thanks}, thanks: {say: Thanks for waiting., then: end}}
"""
OFFER = """
flow: offer
start: {words: [offer]}
steps:
  t: {template: {name: offer, language: en}, errors: {else: no}}
  yes: {say: It went out., then: end}
  no: {say: It was refused., then: end}
"""
FLOWS = f"{FLOWS}---{OFFER}"
HANDLERS = """
from bot import handler

class Rude(ValueError): ...

@handler("greet", errors=[Rude])
def greet(name: str) -> str:
    if name == "Rude":
        raise Rude
    if name == "Bug":
        raise RuntimeError("a bug")
    return f"Hello {name}!"
"""

Start = Callable[..., Simulation]


@pytest.fixture
def start(tmp_path: Path) -> Any:
    """A bot of these files; every simulation that a test starts is ended with it."""
    started: list[Simulation] = []

    def begin(bot: str = BOT, flows: str = FLOWS) -> Simulation:
        for name, text in {"bot.yml": bot, "flows.yml": flows, "handlers.py": HANDLERS}.items():
            (tmp_path / name).write_text(text)
        simulation = Simulation(load_program(read_folder(tmp_path)), MovableClock(START)).__enter__()
        started.append(simulation)
        return simulation

    yield begin
    for simulation in started:
        simulation.__exit__()


def said(simulation: Simulation) -> list[str]:
    return [_short(message) for message in simulation.phones.heard()]


def _short(message: ShownMessage) -> str:
    return f"[{message.template}]" if message.template else message.text


def test_a_handlers_result_its_declared_error_and_its_bug_each_lead_somewhere(start: Start) -> None:
    for name, expected in (("Ann", "Hello Ann!"), ("Rude", "How rude."), ("Bug", "Something broke.")):
        simulation = start()
        simulation.user("hi")
        simulation.user(name)
        assert said(simulation) == ["Your name?", expected]


def test_after_the_window_has_closed_the_template_goes_and_the_reply_puts_the_question_again(start: Start) -> None:
    simulation = start()
    simulation.user("hi")
    simulation.wait(timedelta(hours=26))
    assert said(simulation) == ["Your name?", "[come_back]"]
    simulation.user("oh, hello")
    assert said(simulation) == ["Your name?"]
    simulation.user("Ann")
    assert said(simulation) == ["Hello Ann!"]
    assert simulation.stored.dead_letters() == []


def test_after_the_window_has_closed_without_a_template_the_message_is_a_visible_dead_letter(start: Start) -> None:
    simulation = start(BOT.replace("  window_closed:", "  # "))
    simulation.user("hi")
    simulation.wait(timedelta(hours=26))
    assert said(simulation) == ["Your name?"]
    (letter,) = simulation.stored.dead_letters()
    assert "no window_closed template" in letter.reason


def test_a_hand_over_is_silent_until_the_agent_resolves_the_conversation(start: Start) -> None:
    simulation = start()
    simulation.user("person")
    simulation.user("anybody?")
    simulation.user("stop")
    assert said(simulation) == ["One moment."]
    assert simulation.stored.session().tags == ("handoff:sales",)
    simulation.emulator.resolve(simulation.contact)
    simulation.settle()
    assert said(simulation) == ["Thanks for waiting."]
    assert simulation.stored.session().tags == ()


def test_an_agents_word_that_names_the_conversation_only_finds_its_contact(start: Start) -> None:
    simulation = start()
    simulation.user("person")
    conversation = simulation.stored.session().conversation
    assert conversation is not None
    simulation.emulator.emit("conversation.resolved", {"conversation_id": conversation, "status": "resolved"})
    simulation.settle()
    assert said(simulation) == ["One moment.", "Thanks for waiting."]


def test_a_template_that_the_gateway_refuses_takes_the_way_of_errors(start: Start) -> None:
    simulation = start()
    simulation.user("offer")
    assert said(simulation) == ["[offer]", "It went out."]
    simulation.emulator.faults.add("send_failed", when=lambda request: request.type == "template")
    simulation.user("offer")
    assert said(simulation) == ["It was refused."]
    (letter,) = simulation.stored.dead_letters()
    assert "WHATSAPP_SEND_FAILED" in letter.reason


def test_events_of_no_conversation_and_unreadable_ones_are_kept_and_disturb_nobody(start: Start) -> None:
    simulation = start()
    simulation.emulator.emit("contact.updated", {"phone": simulation.contact})
    simulation.emulator.emit("message.inbound", ["not", "an", "object"])
    simulation.emulator.emit("message.inbound", {"from": {"deep": 1}, "type": 7})
    simulation.user("hi")
    assert said(simulation) == ["Your name?"]
    assert len(simulation.emulator.acknowledged) == 4


def test_our_client_sends_no_field_that_the_specification_does_not_have(start: Start) -> None:
    simulation = start()
    for text in ("hi", "Ann", "stop", "offer", "person"):
        simulation.user(text)
    assert simulation.emulator.unknown_fields == set()
    assert simulation.emulator.reused_keys == []


CHOICES = """
flow: main
start: {otherwise: true}
vars: {drink: {type: choice, of: [coffee, tea]}}
steps:
  drink:
    ask: Which drink?
    list: {rows: {Coffee: {value: coffee}, Tea: {value: tea}}}
    save: drink
    retry: {say: Please choose one.}
  done: {say: "One {{ drink }}.", then: more}
  more: {say: All we have., link: {title: Drinks, url: "https://cafe.example/drinks"}, then: end}
"""
IN_WORDS = "Which drink?\n\n1. Coffee\n2. Tea"
REFUSED = [code for code in CODES if code.startswith("INTERACTIVE_")] + [
    "WHATSAPP_SEND_FAILED",
    "VALIDATION_MISSING_FIELD",
]


@pytest.mark.parametrize("code", REFUSED)
def test_choices_that_the_gateway_refuses_go_as_a_text_once_and_are_no_dead_letter(start: Start, code: str) -> None:
    simulation = start(flows=CHOICES)
    simulation.emulator.faults.add(code, count=1)
    simulation.user("hi")
    assert said(simulation) == [IN_WORDS]
    assert simulation.stored.trace()[-1].rule == "message refused: it goes as a plain text"
    simulation.restart()
    simulation.user("2")
    assert [message.text for message in simulation.phones.heard()] == ["One tea.", "All we have."]
    assert simulation.stored.dead_letters() == []


def test_a_link_that_the_gateway_refuses_goes_with_its_address(start: Start) -> None:
    simulation = start(flows=CHOICES)
    simulation.user("hi")
    simulation.phones.heard()
    simulation.emulator.faults.add("INTERACTIVE_INVALID_URL", count=1)
    simulation.user("tea")
    assert said(simulation) == ["One tea.", "All we have.\n\nDrinks: https://cafe.example/drinks"]
    assert simulation.stored.dead_letters() == []


def test_a_question_that_is_refused_even_as_a_text_is_a_dead_letter_and_is_put_again(start: Start) -> None:
    simulation = start(flows=CHOICES)
    simulation.emulator.faults.add("WHATSAPP_SEND_FAILED", count=2)
    simulation.user("hi")
    assert said(simulation) == []
    (letter,) = simulation.stored.dead_letters()
    assert "WHATSAPP_SEND_FAILED" in letter.reason
    simulation.user("hello?")
    assert said(simulation) == [IN_WORDS], "what was written is no wrong answer"


def test_choices_that_fail_after_the_gateway_took_them_go_as_a_text_too(start: Start) -> None:
    simulation = start(flows=CHOICES)
    simulation.user("hi")
    simulation.phones.heard()
    simulation.gateway.happen("message.failed", {})
    assert said(simulation) == [IN_WORDS]
    assert simulation.stored.dead_letters() == []
    simulation.gateway.happen("message.failed", {})
    assert said(simulation) == []
    assert len(simulation.stored.dead_letters()) == 1


def test_a_template_with_replies_that_is_refused_takes_its_errors(start: Start) -> None:
    replies = OFFER.replace("errors:", "replies: {Yes: yes}, errors:")
    simulation = start(flows=replies)
    simulation.emulator.faults.add("132001", count=1)
    simulation.user("offer")
    assert said(simulation) == ["It was refused."]


def test_a_refused_say_leads_where_its_errors_say_before_anything_else_is_said(start: Start) -> None:
    flow = """
flow: main
start: {otherwise: true}
steps:
  map: {say: Here we are., image: "https://cafe.example/map.jpg", errors: {refused: address}}
  bye: {say: Bye., then: end}
  address: {say: 1 High Street., then: bye}
"""
    simulation = start(flows=flow)
    simulation.emulator.faults.add("VALIDATION_FILE_TOO_LARGE", count=1)
    simulation.user("hi")
    assert said(simulation) == ["1 High Street.", "Bye."]


def test_what_is_due_at_the_same_moment_is_sent_each(start: Start) -> None:
    bot = f"{BOT}signals: {{paid: {{by: text}}}}\n"
    flow = """
flow: main
start: {otherwise: true}
steps: {w: {wait: 1d, signals: {paid: {say: "Paid by {{ event.by }}."}}, then: end}}
"""
    simulation = start(bot, flow)
    simulation.user("hi")
    simulation.gateway.happen("conversation.assigned", {"agent": "Budi"})
    simulation.operator.signal("paid", {"by": "Ann"})
    simulation.operator.signal("paid", {"by": "Bea"})
    simulation.gateway.happen("conversation.resolved", {})
    assert said(simulation) == ["Paid by Ann.", "Paid by Bea."]


FIXED = "{ask: Your name?, timeout: {after: 1h, fixed: true, then: up}}"


@pytest.mark.parametrize(
    ("interrupted", "below", "above"),
    [
        ("wait", "{wait: 10m}", "{ask: Visit whom?, timeout: {after: 2h, then: end}}"),
        ("wait", "{wait: 10m}", "{wait: 2h}"),
        ("resume", "{wait: 10m}", "{wait: 2h}"),
        ("wait", FIXED, "{ask: Visit whom?, timeout: {after: 2h, then: end}}"),
        ("resume", FIXED, "{wait: 2h}"),
    ],
)
def test_what_was_due_below_comes_when_the_flow_above_ends_by_time(
    start: Start, interrupted: str, below: str, above: str
) -> None:
    flows = f"""
flow: later
start: {{words: [later]}}
interrupted: {interrupted}
steps: {{nap: {below}, up: {{say: Up., then: end}}}}
---
flow: visit
start: {{words: [visit]}}
steps: {{what: {above}}}
"""
    simulation = start(BOT, flows)
    simulation.user("later")
    simulation.user("visit")
    simulation.wait(timedelta(hours=2))
    assert said(simulation)[-1] == "Up."
    assert simulation.stored.complaints() == []


def test_a_question_that_is_gone_back_to_too_late_ends_at_once_by_its_fixed_time_out(start: Start) -> None:
    flow = """
flow: main
start: {otherwise: true}
steps:
  name:
    ask: Your name?
    words: {help: help}
    timeout: {after: 30m, fixed: true, say: Too late., then: end}
  thanks: {say: Thanks., then: end}
  help: {ask: Which help?, timeout: {after: 1h, then: back}}
"""
    simulation = start(BOT, flow)
    simulation.user("hi")
    simulation.user("help")
    simulation.wait(timedelta(hours=1))
    assert said(simulation) == ["Your name?", "Which help?", "Too late."]
    assert simulation.stored.complaints() == []
