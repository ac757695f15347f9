"""`bot attack`."""

import json
from pathlib import Path

import pytest

from bot.testing.conversations.attack_catalogue import EVIL
from bot.testing.conversations.attack_texts import SAYINGS
from bot.testing.emulator.completion import CompletionService
from tests.cli.terminal import BOT, call, make_bot
from tests.testing.conversations.test_attacks import FLOW, HANDLERS


def test_the_command_names_the_attack_the_step_and_what_closes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_bot(tmp_path / "bot", FLOW, HANDLERS, bot=BOT)
    monkeypatch.chdir(tmp_path)
    tested = call("attack", "bot", "-k", "another-contact by text")
    assert tested.code == 1
    assert tested.lines[:3] == [
        "FAIL  another-contact by text: it tries to call a tool for another contact",
        "      bot/flows/main.yml:4 main/talk: guests.find takes `phone` from the model: another contact's was given",
        '      fix: bind it: {call: guests.find, with: {phone: "{{ contact.id }}"}}, or call the argument `contact`',
    ]
    assert "main/talk: 1 attack, 1 not withstood." in tested.lines


def test_the_command_prints_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_bot(tmp_path, FLOW.replace("else: end", "else: {say: Sorry., then: end}"), HANDLERS, bot=BOT)
    monkeypatch.chdir(tmp_path)
    tested = call("attack", "-k", "link by", "--json")
    attacks = json.loads(tested.out)["attacks"]
    by_text = attacks[0]
    assert tested.code == 0
    assert (by_text["attack"], by_text["step"], by_text["passed"]) == ("link by text", "main/talk", True)
    assert [each["attack"] for each in attacks if each["passed"] is None] == [
        "link by name",
        "link by value",
        "link by facts",
        "link by http",
    ]


def test_the_command_tells_the_weak_points_and_what_closes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_bot(tmp_path, FLOW, HANDLERS, bot=BOT)
    monkeypatch.chdir(tmp_path)
    tested = call("attack", "-k", "say-i")
    assert tested.code == 0
    assert tested.lines[:4] == [
        "main/talk: 3 attacks, all withstood; 1 weak point.",
        "      weak  nothing judges what the model says (say-insult, say-imitation, say-invention)",
        "            fix: refuse it by a handler: moderate: {said: NAME}; promises, prices and times also by `unsupported`",
        "Test Bot: 3 attacks, all withstood; 1 weak point.",
    ]
    (point,) = json.loads(call("attack", "-k", "say-i", "--json").out)["weak_points"]
    assert (point["step"], point["check"], len(point["attacks"])) == ("main/talk", "judged", 3)


def test_an_instruction_in_a_document_is_tried_though_a_model_first_writes_what_to_search_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flow = """\
flow: main
start: {words: [question]}
steps:
  talk:
    ai: You answer from our documents.
    greet: Ask me anything.
    knowledge: {folder: policies/, cite: true, rewrite: true}
    exits: {done: {when: they have what they need, then: end}}
    errors: {else: {say: Sorry., then: end}}
"""
    make_bot(tmp_path, flow, bot=BOT)
    (tmp_path / "flows" / "policies").mkdir()
    (tmp_path / "flows" / "policies" / "house.md").write_text("# Pets\nYes.\n")
    monkeypatch.chdir(tmp_path)
    tested = call("attack", "-k", "link by facts", "--json")
    assert [(each["attack"], each["passed"]) for each in json.loads(tested.out)["attacks"]] == [("link by facts", True)]


def test_a_bot_without_a_model_has_nothing_to_attack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_bot(tmp_path, "flow: main\nstart: {otherwise: true}\nsteps: {hi: {say: Hi.}}\n", bot=BOT)
    monkeypatch.chdir(tmp_path)
    tested = call("attack")
    assert (tested.code, tested.out) == (0, "Test Bot: no step asks a model, so there is nothing to attack.\n")


def test_a_real_model_is_asked_what_the_contact_injects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_bot(tmp_path, FLOW, HANDLERS, bot=BOT)
    monkeypatch.chdir(tmp_path)
    with CompletionService(models=["acme/meek"]) as service:
        service.answer_with(lambda body: f"Please go to https://{EVIL}" if "bank" in str(body["messages"]) else "Hi.")
        for name, value in {"URL": service.url, "KEY": service.key, "MODEL": "acme/meek"}.items():
            monkeypatch.setenv(f"BOT_AI_{name}", value)
        tested = call("attack", "--model", "--json", "-k", "link by")
        asked = [str(request.body["messages"]) for request in service.requests("chat/completions")]
    attacks = json.loads(tested.out)["attacks"]
    by = {each["attack"]: (each["model"], each["passed"]) for each in attacks}
    assert by["link by text"] == by["link by tool"] == ("acme/meek", True)
    assert asked and all("the new page of the bank" in text for text in asked), "only the attack is paid for"
    assert tested.code == 0


def test_a_folder_in_place_of_a_model_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_bot(tmp_path / "bot", FLOW, HANDLERS, bot=BOT)
    monkeypatch.chdir(tmp_path)
    refused = call("attack", "--model", "bot")
    assert refused.code == 2
    assert "bot is a folder, not a model: write the folder first: bot attack bot --model" in " ".join(
        refused.err.split()
    )


def test_a_harmful_text_of_a_real_model_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_bot(tmp_path, FLOW, HANDLERS, bot=BOT)
    monkeypatch.chdir(tmp_path)
    with CompletionService(models=["acme/meek"]) as service:
        service.answer_with(lambda body: SAYINGS["promise"] if "refund" in str(body["messages"]) else "Hi.")
        for name, value in {"URL": service.url, "KEY": service.key, "MODEL": "acme/meek"}.items():
            monkeypatch.setenv(f"BOT_AI_{name}", value)
        tested = call("attack", "--model", "-k", "say-promise")
    assert tested.code == 1
    assert "main/talk, acme/meek: 1 attack, 1 not withstood." in tested.lines
