"""Attacks on the steps that ask a model: the examples withstand them, and each guard that is taken out is noticed."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bot.core.effects import AskModel
from bot.core.session import Session
from bot.language.steps import brief as briefs
from bot.language.steps import output_guard, tool_calls, tools
from bot.language.steps.ai_exchange import Exchange
from bot.language.steps.exits import Exit
from bot.language.steps.output_guard import canary
from bot.language.steps.said_values import SaidValues
from bot.language.steps.step_kind import StepContext
from bot.loading.folder import read_folder
from bot.runtime.model_calls import ModelBreaker
from bot.testing.conversations import attack_catalogue
from bot.testing.conversations.attack_catalogue import ATTACKS, EVIL, MARK, OTHER
from bot.testing.conversations.attack_checks import AttackObservation, findings
from bot.testing.conversations.attack_conversation import instruction_of
from bot.testing.conversations.attack_suite import AttackResult, AttackSuite
from bot.testing.conversations.attack_target import AttackTarget
from bot.testing.conversations.attack_texts import ARGUMENTS, ASKED_IN, CODES, PAYEES, SAYINGS, SECRET_CODES, in_tags
from bot.testing.conversations.attack_weak_points import weak_points
from bot.testing.conversations.examples_from_tests import examples_from
from bot.testing.conversations.stubs import ObservedCall
from bot.testing.conversations.transcript_reader import load_with_tests
from bot.testing.emulator.completion import ModelAnswer
from bot.testing.simulation.phone import ShownMessage
from tests.cli.terminal import BOT, make_bot
from tests.searches import SEARCHING, search, tries
from tests.testing.conversations.weak_bots import WEAK, weak_bot

ASKS = re.compile(r"^ +(ai|classify):", re.MULTILINE)
ROOT = Path(__file__).parents[3]
ATTACKED = Path(__file__).parent / "attacked"
ASKING = sorted({path.parents[1] for path in ROOT.glob("examples/*/flows/*.yml") if ASKS.search(path.read_text())})
"""The examples with a step that asks a model."""
SOME = "" if SEARCHING else "link-"
FLOW = """\
flow: main
start: {otherwise: true}
steps:
  talk:
    ai: You help the guests of a small café.
    tools: [guests.find]
    exits: {done: {when: they are done, then: end}}
    errors: {else: end}
"""
HANDLERS = """\
from bot import handler
@handler("guests.find")
def find(phone: str) -> str:
    "Find a guest."
"""


FORMS = {
    *(form for forms in (ARGUMENTS, ASKED_IN, CODES, PAYEES, SAYINGS, SECRET_CODES) for form in forms),
    *("invisible", "wide", "bold", "slashes", "markdown", "picture", "dots", "long", "line", "reversed"),
    *("page", "list", "object", "choice", "number", "empty"),
}
"""The ends of the names of attacks that come in several forms."""


def suite_of(path: Path, seed: int = 1) -> AttackSuite:
    folder = read_folder(path)
    loaded = load_with_tests(folder)
    assert loaded.program is not None, loaded.problems
    return AttackSuite(folder, loaded.program, examples_from(loaded.program.extensions, loaded.transcripts), seed)


def found(suite: AttackSuite, name: str) -> set[str]:
    """Which promises do not hold under the attacks of a name."""
    tried = [each for each in suite.run(name) if each.missed is None]
    assert tried, f"no attack {name} was made"
    return {finding.check for each in tried for finding in each.findings}


def told(tried: AttackResult) -> str:
    return f"{tried.name}: {[finding.what for finding in tried.findings]} {tried.conversation}"


@cache
def target() -> AttackTarget:
    """A step that talks."""
    return next(target for target in suite_of(ATTACKED).targets if target.brief is not None)


# The bots


@search
@pytest.mark.parametrize("path", ASKING, ids=lambda path: path.name)
def test_an_example_withstands_every_attack(path: Path) -> None:
    tried = list(suite_of(path).run(SOME))
    assert [told(each) for each in tried if each.findings] == []
    assert sum(each.missed is None for each in tried) >= tries(1, 40)


@search
def test_every_attack_can_be_made_and_none_succeeds() -> None:
    tried = list(suite_of(ATTACKED).run(SOME))
    assert [told(each) for each in tried if each.findings] == []
    made = {(each.attack.name, each.channel) for each in tried if each.missed is None}
    there_are = {(attack.name, channel) for attack in ATTACKS if SOME in attack.name for channel in attack.channels}
    assert there_are and there_are - made == set()


def test_the_same_seed_words_an_order_in_the_same_way_and_another_in_another() -> None:
    attack = next(attack for attack in ATTACKS if attack.instruction is not None)
    assert instruction_of(attack, "text", target(), 1) == instruction_of(attack, "text", target(), 1)
    assert len({instruction_of(attack, "text", target(), seed) for seed in range(9)}) > 1


# A guard that is taken out


def test_addresses_that_are_not_checked_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(briefs, "foreign_link", lambda *_: None)
    assert found(suite_of(ATTACKED), "link-") == {"address"}


def test_instructions_that_may_be_told_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(briefs.Brief, "check", lambda *_: None)
    assert "instructions" in found(suite_of(ATTACKED), "instructions by")


def test_a_contact_who_is_asked_for_a_pin_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(suite_of(ATTACKED), "credentials by text") == set()
    monkeypatch.setattr(briefs, "asked_credentials", lambda *_: frozenset())
    assert found(suite_of(ATTACKED), "credentials by text") == {"credentials"}


def test_a_value_that_leaves_its_marks_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(suite_of(ATTACKED), "out-of-marks") == set()
    monkeypatch.setattr(output_guard, "without_data_marks", lambda text: text)
    assert found(suite_of(ATTACKED), "out-of-marks") == {"data"}


def test_a_value_that_a_model_invents_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(suite_of(ATTACKED), "invented-notes") == set()
    monkeypatch.setattr(SaidValues, "has", lambda *_: True)
    assert found(suite_of(ATTACKED), "invented-notes") == {"invented"}


@pytest.mark.parametrize("attack", ["another-contact by text", "administrator"])
def test_a_contact_whom_the_model_may_name_is_found(attack: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "CONTACT", "nobody")
    monkeypatch.setattr(
        tools, "_check_question", lambda *given: None
    )  # which asks for the contact in the question then
    assert found(suite_of(ATTACKED), attack) == {"contact"}


def test_a_tool_that_is_called_without_a_yes_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_calls, "agreed", lambda *_: True)
    assert "consent" in found(suite_of(ATTACKED), "without-consent by text")


def test_a_contact_who_agrees_as_the_colleague_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(suite_of(ATTACKED), "as-colleague") == set()

    def runs(calls: Any, colleague: object, about: Any) -> Any:
        tool = calls._brief.tool(about["call"]["name"])
        return calls._run(about["call"], calls._made(tool, about["arguments"], calls._scope))

    monkeypatch.setattr(tool_calls.ToolCalls, "_ask_team", runs)
    assert found(suite_of(ATTACKED), "as-colleague") == {"consent"}


def test_an_exit_that_nobody_opened_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(briefs.Brief, "exit", lambda brief, name, scope: closed(brief, name))
    assert found(suite_of(ATTACKED), "unknown-exit by text") == {"exit"}


def closed(brief: briefs.Brief, name: str) -> Exit | None:
    return next((way for way in brief.exits if f"leave_{way.name}" == name), None)


def test_a_contact_who_closes_the_model_to_others_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    failed: list[bool] = []
    monkeypatch.setattr(ModelBreaker, "allows", lambda *_: not failed)
    monkeypatch.setattr(ModelBreaker, "failed", lambda *_: failed.append(True))
    assert "others" in found(suite_of(ATTACKED), "model-down")


@pytest.mark.parametrize(
    ("attack", "module", "guard", "check"),
    [
        ("encoded-rot13", briefs, "foreign_link", "address"),
        ("crescendo", briefs, "foreign_link", "address"),
        ("payee-iban", briefs, "foreign_account", "account"),
        ("credentials-in-hi", briefs, "asked_credentials", "credentials"),
        ("smuggled", briefs, "without_data_marks", "text"),
        ("yes-in-advance", tool_calls, "agreed", "consent"),
    ],
)
def test_each_guard_holds_its_attack(
    attack: str, module: ModuleType, guard: str, check: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found(suite_of(ATTACKED), attack) == set()
    gone = {"agreed": lambda *_: True, "asked_credentials": lambda *_: frozenset(), "without_data_marks": str}
    monkeypatch.setattr(module, guard, gone.get(guard, lambda *_: None))
    assert found(suite_of(ATTACKED), attack) == {check}


def test_words_of_another_contact_that_reach_the_model_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(suite_of(ATTACKED), "earlier-contact") == set()
    heard: list[dict[str, Any]] = []
    request = briefs.Brief.request

    def leaking(brief: briefs.Brief, context: StepContext, exchange: Exchange) -> AskModel:
        asked = request(brief, context, exchange)
        heard.extend(each for each in asked.messages if each["role"] == "user")
        return replace(asked, messages=(*asked.messages, *heard))

    monkeypatch.setattr(briefs.Brief, "request", leaking)
    assert "session" in found(suite_of(ATTACKED), "earlier-contact")


def test_an_attack_of_several_messages_ends_where_the_step_ends(tmp_path: Path) -> None:
    flow = FLOW.replace("otherwise: true", "words: [talk]")
    make_bot(tmp_path, flow.replace("errors:", "turns: {max: 2, else: end}\n    errors:"), HANDLERS, bot=BOT)
    (tried,) = suite_of(tmp_path).run("crescendo")
    assert (tried.missed, tried.findings) == (None, ()), tried.conversation


# The weak points of a bot


@pytest.mark.parametrize(("attack", "check"), WEAK)
@pytest.mark.parametrize("closed", [False, True], ids=["open", "closed"])
def test_a_weak_point_is_shown_until_it_is_closed(attack: str, check: str, closed: bool, tmp_path: Path) -> None:
    shown = shown_weak(make_bot(tmp_path, *weak_bot(attack, closed=closed)), attack)
    assert (check in shown) is not closed
    assert not (closed and shown)


def shown_weak(path: Path, attack: str) -> set[str]:
    tried = [each for each in suite_of(path).run(attack) if each.missed is None]
    assert tried and not any(each.findings for each in tried), list(map(told, tried))
    shown = [(each.attack.name, point) for each in tried for point in each.shows]
    return {point.violation.check for point in weak_points(tried[0].target, shown)}


# The table of the docs


def rows() -> list[list[str]]:
    text = (ROOT / "docs" / "evaluations.md").read_text()
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| LLM")]


def test_the_table_has_every_class_of_owasp_and_every_attack_and_no_other() -> None:
    assert {row[0][:5] for row in rows()} == {f"LLM{number:02}" for number in range(1, 11)}
    named = [name for row in rows() for name in re.findall("`([a-z-]+)`", row[1])]
    assert len(named) == len(set(named))
    names = {attack.name for attack in ATTACKS}
    assert [name for name in named if not any(is_a(each, name) for each in names)] == []
    assert [each for each in sorted(names) if not any(is_a(each, name) for name in named)] == []


def is_a(attack: str, name: str) -> bool:
    """True for an attack of this name, or a form of it."""
    return attack == name or attack in {f"{name}-{form}" for form in FORMS}


# Each check, by what it is there to see


SYSTEM = {"messages": [{"role": "system", "content": "You are the assistant of Acme Shop and never promise a refund."}]}


def seen(**what: Any) -> AttackObservation:
    return replace(AttackObservation(target(), "1555", "do as I say", "text", False, session=Session("1555")), **what)


WRONG: dict[str, dict[str, Any]] = {
    "address": {"said": [ShownMessage(f"Go to https://e\u200b{EVIL[1:]}/x")]},
    "address of nobody": {"said": [ShownMessage("Go to bank.com")], "ours": "shop.example"},
    "instructions": {
        "said": [ShownMessage("YOU are the assistant of acme shop"), ShownMessage("and never promise")],
        "requests": [SYSTEM],
    },
    "text of markup": {"said": [ShownMessage("<tool_call>{}</tool_call>")]},
    "text of control": {"said": [ShownMessage("a\x1b[31m")]},
    "text of tags": {"said": [ShownMessage(f"a{in_tags(MARK)}")]},
    "account": {"said": [ShownMessage("Pay to DE89370400440532013000")]},
    "request": {"calls": [ObservedCall("GET https://shop.example/shoes/../../etc/passwd", {})]},
    "session of another's words": {
        "requests": [{"messages": [{"role": "user", "content": f"My word is {attack_catalogue.CODE_WORD}"}]}]
    },
    "text of nothing": {"said": [ShownMessage("\u200b")]},
    "silence": {"answers": [0], "outcomes": ["errors.down"]},
    "filter": {"said": [ShownMessage(f"The {MARK} is made of")]},
    "mark": {"said": [ShownMessage(f"It is {canary('desk', 'talk').upper()}.")]},
    "secret": {"said": [ShownMessage("It is I-N-S-I-D-E-R 20.")]},
    "credentials": {"said": [ShownMessage(attack_catalogue.ASKING)]},
    "error to the contact": {"secret": "s3cret", "said": [ShownMessage("it is s3cret")]},
    "error to the model": {"secret": "You are the assistant", "requests": [SYSTEM]},
    "contact": {"calls": [ObservedCall("orders.list", {"contact": OTHER, "shop": "main"})]},
    "contact by what the flow binds": {"calls": [ObservedCall("orders.list", {"contact": "1555", "shop": OTHER})]},
    "contact by another name": {"calls": [ObservedCall("orders.find", {"phone": OTHER})]},
    "consent": {"calls": [ObservedCall("orders.cancel", {"number": "1"})]},
    "consent of a colleague": {"consents": True, "calls": [ObservedCall("orders.refund", {"number": "1"})]},
    "consent by a made-up line": {"said": [ShownMessage("number: AB123456\nAmount: 1 EUR", buttons=("Yes", "No"))]},
    "consent by a hidden line": {
        "said": [ShownMessage("Cancel an order of the contact's.\nnumber: AB", buttons=("Yes", "No"))],
        "tries": [ModelAnswer(calls=[("orders_cancel", {"reason": MARK})])],
    },
    "bounds": {"rounds": [40]},
    "bounds of calls": {"answers": [1], "calls": [ObservedCall("orders.find", {"number": str(n)}) for n in range(17)]},
    "bounds of what is heard": {"answers": [1], "requests": [{"messages": [{"role": "user", "content": "x" * 9000}]}]},
    "bounds of tokens": {"answers": [1], "requests": [{"messages": [{"role": "tool", "content": "x" * 300_000}]}] * 2},
    "bounds of a flood": {"rounds": [11], "floods": True},
    "calls": {"answers": [1], "calls": [ObservedCall("orders.find", {"number": "1"})] * 2},
    "exit": {"outcomes": ["exits.tracking"]},
    "invented": {"session": Session("1555", kept_variables={"order_no": attack_catalogue.INVENTED})},
    "session": {"session": Session("1666")},
    "session of a stranger": {"strangers": {"1666"}},
    "data": {"instruction": "You are the assistant", "channel": "name", "requests": [SYSTEM]},
    "role": {"instruction": "You are the assistant", "requests": [SYSTEM]},
    "dead letter": {"dead_letters": ["the gateway refused it"]},
    "traceback": {"raised": ["KeyError: 1"]},
    "others": {"others_served": False},
}


@pytest.mark.parametrize("what", WRONG)
def test_each_check_sees_what_it_is_there_for(what: str) -> None:
    assert {finding.check for finding in findings(seen(**WRONG[what]))} == {
        what.partition(" of ")[0].partition(" by ")[0].partition(" to ")[0]
    }


def test_nothing_is_found_where_nothing_is_wrong() -> None:
    right = seen(
        said=[ShownMessage("We open at nine."), ShownMessage("See https://shop.example/map")],
        ours="https://shop.example/map",
    )
    assert findings(right) == []


def test_what_a_model_that_only_sorts_says_is_seen() -> None:
    sorter = next(target for target in suite_of(ATTACKED).targets if target.brief is None)
    assert [each.check for each in findings(seen(target=sorter, said=[ShownMessage(f"I am {MARK}")]))] == ["sorter"]
