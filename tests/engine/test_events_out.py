"""What a bot delivers to the address under ``events_to``: decided in the turn, as effects."""

import json
from typing import Any

import pytest

from bot.core.effects import Publish
from bot.core.events import ContactChanged
from bot.language.flow.event_receiver import EVENTS
from bot.runtime.event_calls import body_of
from tests.talk import BOT, CONTACT, START, Talk, problems_of

EVENTS_TO = f"secrets: [CRM]\nevents_to: {{url: 'https://crm.example/bot', secret: CRM, on: [{', '.join(EVENTS)}]}}\n"
OWN = f"{BOT}{EVENTS_TO}opt_out: {{words: [stop], back: [start]}}\n"
FLOWS = """
flow: survey
start: {words: [survey]}
vars: {stars: {type: integer}, day: {type: date}, price: {type: number}}
steps:
  stars: {ask: How was it?, buttons: {Good: {value: 5}, Bad: {value: 1}}, save: stars, report: rating}
  more: {ask: Anything else?, timeout: {after: 1h, then: end}, tag: [asked, warm], untag: cold}
  bye: {say: Bye., set: {day: "{{ today }}", price: "{{ 1.5 }}"}, then: end}
---
flow: person
start: {words: [person]}
steps: {a: {handoff: {team: sales, note: Hot., say: Wait.}, closed: end}}
---
flow: broken
start: {words: [broken]}
steps: {a: {say: "{{ 1 / 0 }}", then: end}}
"""


def published(talk: Talk) -> list[tuple[str, dict[str, Any]]]:
    """The events of a talk since the last call, in order."""
    events = [(each.name, each.data) for each in talk.effects if isinstance(each, Publish)]
    talk.effects.clear()
    return events


def test_results_tags_and_the_end_are_delivered_in_order() -> None:
    talk = Talk(FLOWS, OWN)
    talk.user("survey")
    rating = {"flow": "survey", "report": "rating"}
    assert published(talk) == [("result", {**rating, "way": "entered", "outcome": ""})]
    talk.tap("Good")
    assert published(talk) == [("result", {**rating, "way": "answered", "outcome": "Good"})]
    talk.user("no")
    (tags, told), (end, ended) = published(talk)
    assert (tags, told) == ("tags", {"added": ["asked", "warm"], "removed": [], "tags": ["asked", "warm"]})
    assert (end, ended["flow"], ended["expired"], ended["vars"]["stars"]) == ("end", "survey", False, 5)


def test_a_hand_over_an_error_and_an_opt_out_are_delivered() -> None:
    talk = Talk(FLOWS, OWN)
    talk.user("person")
    assert ("handoff", {"flow": "person", "step": "a", "team": "sales", "note": "Hot."}) in published(talk)
    talk.closed()
    talk.user("broken")
    assert [name for name, _ in published(talk)][-2:] == ["error", "end"]
    talk.user("stop")
    assert published(talk) == [("opt_out", {"opted_out": True})]
    talk.user("stop")
    assert published(talk) == []
    talk.user("start")
    assert published(talk) == [("opt_out", {"opted_out": False})]


def test_only_what_is_named_is_delivered_and_without_a_receiver_nothing() -> None:
    only = OWN.replace(f"on: [{', '.join(EVENTS)}]", "on: tags")
    for bot, names in ((only, ["tags"]), (BOT, [])):
        talk = Talk(FLOWS, bot)
        talk.user("survey")
        talk.tap("Good")
        talk.user("no")
        assert [name for name, _ in published(talk)] == names


def test_events_move_no_message_and_hooks_get_what_they_got() -> None:
    with_events, without = Talk(FLOWS, OWN), Talk(FLOWS, BOT)
    for talk in (with_events, without):
        talk.user("survey")
        talk.tap("Good")
        talk.user("no")
    assert [each for each in with_events.effects if not isinstance(each, Publish)] == without.effects
    assert with_events.session == without.session


def test_tags_that_change_at_the_gateway_are_delivered() -> None:
    talk = Talk(FLOWS, OWN)
    talk.take(ContactChanged("e1", CONTACT, START, "contact.updated", "Ann", None, ("vip",)))
    assert published(talk) == [("tags", {"added": ["vip"], "removed": [], "tags": ["vip"]})]


def test_what_goes_over_the_wire_is_plain_json() -> None:
    talk = Talk(FLOWS, OWN)
    talk.user("survey")
    talk.tap("Good")
    talk.user("no")
    end = next(each for each in talk.effects if isinstance(each, Publish) and each.name == "end")
    body = json.loads(body_of(end, "k1", CONTACT))
    assert (body["id"], body["event"], body["timestamp"]) == ("k1", "end", int(START.timestamp()))
    assert body["data"]["vars"] == {"stars": 5, "day": "2030-05-06", "price": 1.5}
    assert body["data"]["contact"] == CONTACT


@pytest.mark.parametrize(
    "written, code, words",
    [
        (
            "{url: crm, secret: CRM, on: [end]}",
            "E405",
            "this is no address (write one like https://crm.example/hooks/bot)",
        ),
        ("{url: 'https://crm.example', secret: CRN, on: [end]}", "E509", 'no secret "CRN" (did you mean "CRM"?)'),
        ("{url: 'https://crm.example/{{ secret.X }}', secret: CRM, on: [end]}", "E509", 'no secret "X"'),
        ("{url: 'http://10.0.0.5/hooks', secret: CRM, on: [end]}", "E510", "url: 10.0.0.5 is in a private network"),
        ("{url: 'https://crm.example/{{ name }}', secret: CRM, on: [end]}", "E301", '"name" means nothing here'),
        ("{url: 'https://crm.example', secret: CRM, on: [ends]}", "E109", 'did you mean "end"?'),
        ("{url: 'https://crm.example', secret: CRM, on: []}", "E105", "on: no event goes there (write some of result,"),
        ("{url: 'https://crm.example', secret: CRM}", "E105", '"on"'),
        ("{url: 'https://crm.example', on: [end]}", "E105", '"secret"'),
        ("https://crm.example", "E106", "{url: https://crm.example/bot, secret: CRM_SECRET, on: end}"),
    ],
)
def test_a_receiver_that_cannot_be_is_refused_with_what_to_write(written: str, code: str, words: str) -> None:
    bot = f"{BOT}secrets: [CRM]\nevents_to: {written}\n"
    (problem,) = problems_of("flow: a\nsteps: {a: {say: Hi, then: end}}\nstart: {otherwise: true}\n", bot)
    assert f" {code} " in problem and words in problem
