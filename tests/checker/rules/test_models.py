"""W901 and W902: a model's failure that says nothing, and a tool that changes something without a yes."""

from collections.abc import Callable
from typing import Any

import pytest

from bot import handler
from bot.checker.graph import Graph
from bot.checker.rules.model_steps import find_silent_failures, find_unasked_tools
from tests.talk import BOT, library_of

FLOW = """\
flow: a
start: {otherwise: true}
steps:
  talk: {ai: Talk., exits: {done: {when: all is said, then: bye}}, errors: {else: TARGET}MORE}
  bye: {say: Bye., then: end}
  person: {handoff: support, closed: end}
  told: {handoff: {team: support, say: Ann will answer.}, closed: end}
  rest: {wait: 1h, then: bye}
  set: {tag: sad, branch: [{if: contact.name, then: end}, {else: bye}]}
  look: {call: look, then: bye, errors: {else: bye}}
  lose: {call: look, then: end, errors: {else: bye}}
"""


@handler("look")
def look(number: str = "") -> str:
    """Look something up."""
    return number


@handler("cancel")
def cancel(number: str) -> None:
    """Cancel something."""


@handler("pay")
def pay(number: str, idempotency_key: str) -> str:
    """Pay something."""
    return number + idempotency_key


HANDLERS: dict[str, Callable[..., Any]] = {"look": look, "cancel": cancel, "pay": pay}


def silent(target: str, more: str = "", bot: str = BOT) -> list[str]:
    flow = FLOW.replace("TARGET", target).replace("MORE", more)
    return [finding.what for finding in find_silent_failures(Graph(library_of(flow, bot, HANDLERS)))]


@pytest.mark.parametrize("target", ["end", "person", "rest", "set", "lose", "{tag: sad, then: end}"])
def test_a_way_on_which_nothing_may_be_said_is_found(target: str) -> None:
    assert silent(target) == [
        'step "talk": `errors.else` says nothing, so the contact gets "Sorry, I can\'t answer that right now."'
    ]


@pytest.mark.parametrize(
    "target", ["bye", "told", "look", "back", "talk", "{say: Sorry., then: end}", "{say: Sorry., then: person}"]
)
def test_a_way_on_which_something_is_said_is_not(target: str) -> None:
    assert silent(target) == []


def test_a_bound_counts_like_an_error() -> None:
    assert "`turns.else` says nothing" in silent("bye", ", turns: {max: 3, else: end}")[0]


def test_a_bot_with_words_of_its_own_has_none_and_one_finding_stands_for_all_steps() -> None:
    assert silent("end", bot=BOT + "ai: {sorry: Not now.}\n") == []
    two = "}\n  more: {ai: More., exits: {done: {when: all is said, then: bye}}, errors: {else: end}"
    assert silent("end", two)[0].startswith('step "talk" and 1 more: ')


@pytest.mark.parametrize(
    ("tools", "found"),
    [("[look]", []), ("[cancel]", ["cancel"]), ("[look, pay]", ["pay"]), ("{call: cancel, confirm: false}", ["cancel"]),
     ("[{call: cancel, confirm: true}, {call: pay, confirm: 'Pay {{ it.number }}?'}]", [])],
)  # fmt: skip
def test_a_handler_that_takes_a_key_or_returns_nothing_is_to_be_confirmed(tools: str, found: list[str]) -> None:
    flow = FLOW.replace("TARGET", "bye").replace("MORE", f", tools: {tools}")
    findings = find_unasked_tools(Graph(library_of(flow, BOT, HANDLERS)))
    assert [finding.what.split('"')[3] for finding in findings] == found


def test_a_request_that_is_no_get_is_to_be_confirmed() -> None:
    flow = "flow: a\nstart: {otherwise: true}\nsteps:\n  t:\n    ai: Help.\n    tools:\n"
    flow += "".join(
        f"      - {{http: {method} https://a.example/x, name: {name}, about: x{more}}}\n"
        for method, name, more in (("GET", "see", ""), ("POST", "do", ""), ("POST", "do_asked", ", confirm: true"))
    )
    flow += "    exits: {x: end}\n    errors: {else: end}\n"
    (finding,) = find_unasked_tools(Graph(library_of(flow, BOT, HANDLERS)))
    assert finding.what.split('"')[3] == "do"
    assert finding.fix == "write confirm: true beside it; a request that changes nothing is a GET"
