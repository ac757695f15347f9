"""`bot evaluate --compare`: models or versions side by side."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.cli.evaluate import RateRow
from bot.testing.emulator.completion import CompletionService
from tests.cli.terminal import call, make_bot

SWIFT, WISE = "acme/swift", "acme/wise"
FLOWS = """
flow: main
start: {otherwise: true}
steps: {talk: {ai: You greet., exits: {done: {when: they go, then: end}}, errors: {else: {say: Sorry., then: end}}}}
"""
TESTS = """evaluate: it greets
times: 5
pass: 20%
talk: [{user: hi}, {expect: {says: {contains: hello}}}]
---
evaluate: it is kind
times: 1
talk: [{user: hi}, {expect: {says: {without: idiot}}}]
"""


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[CompletionService]:
    with CompletionService(models=(SWIFT, WISE), threads=2) as emulated:
        emulated.answer_with(
            lambda body: "Go away" if body["model"] == WISE or "rude" in str(body["messages"]) else "Hello"
        )
        for name, value in {"URL": emulated.url, "KEY": emulated.key, "MODEL": SWIFT}.items():
            monkeypatch.setenv(f"BOT_AI_{name}", value)
        yield emulated


@pytest.fixture
def greeter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    make_bot(tmp_path / "now", FLOWS, tests=TESTS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_two_models_stand_side_by_side_with_all_tries(greeter: Path, service: CompletionService) -> None:
    held = call("evaluate", "now", "--model", f"{SWIFT},{WISE}", "--compare")
    assert held.code == 0
    head, greets, kind, total, tokens, seconds, meaning, used = held.lines
    assert head.split() == [SWIFT, WISE]
    assert " ".join(greets.split()) == "it greets 5 of 5 0 of 5 -"
    assert " ".join(kind.split()) == "it is kind 1 of 1 1 of 1"
    assert " ".join(total.split()) == "all 6 of 6 1 of 6 -"
    assert tokens.startswith("tokens ") and seconds.startswith("seconds an answer ")
    assert meaning == f"+ better, - worse than {SWIFT}, beyond chance."
    assert used.endswith(" of 500,000 tokens used up.")


def test_a_bot_that_is_worse_than_its_other_version_fails(greeter: Path, service: CompletionService) -> None:
    make_bot(greeter / "rude", FLOWS.replace("You greet.", "You are rude."), tests=TESTS)
    worse = call("evaluate", "rude", "--model", SWIFT, "--compare", "now", "--json", "-k", "greets")
    assert worse.code == 1
    compared = json.loads(worse.out)
    assert compared["compared"][0] == {
        "evaluate": "it greets",
        "bots": [
            {"name": "now", "passed": 5, "times": 5, "chance": 1.0},
            {"name": "rude", "passed": 0, "times": 5, "chance": 0.0079},
        ],
    }


def test_a_difference_counts_if_the_whole_table_has_it_by_chance_in_one_of_twenty() -> None:
    row = RateRow("it greets", ((18, 18), (11, 18), (18, 18)))
    assert [row.sign(place, 0.01) for place in range(3)] == ["", "-", ""]
    assert row.sign(1, 0.005) == ""
    assert RateRow("", ((1, 12), (9, 12))).sign(1, 0.01) == "+"


def test_what_is_not_compared_is_said(greeter: Path, service: CompletionService) -> None:
    one = call("evaluate", "now", "--model", SWIFT, "--compare")
    assert one.code == 2 and "name two models" in one.err
    itself = call("evaluate", "now", "--compare", "now")
    assert itself.code == 2 and "now is the bot itself" in itself.err
    make_bot(greeter / "other", FLOWS, tests=TESTS.replace("it ", "it never "))
    other = call("evaluate", "now", "--compare", "other")
    assert (other.code, other.err) == (1, "there is nothing to compare: no evaluation has the same name in both\n")
    make_bot(greeter / "broken", FLOWS.replace("start:", "stat:"))
    broken = call("evaluate", "now", "--compare", "broken")
    assert broken.code == 1 and broken.err.startswith("broken/flows/main.yml:3:1: E104 ")


def test_a_comparison_that_costs_too_much_stops_after_one_try(greeter: Path, service: CompletionService) -> None:
    make_bot(greeter / "now", FLOWS, tests=TESTS.replace("times: 5", "times: 99"))
    short = call("evaluate", "now", "--model", f"{SWIFT},{WISE}", "--compare", "--budget", "9000")
    assert short.code == 1 and short.lines[-1].startswith("2 of 2 evaluations are not compared: ")
    assert 'tokens are left, and the other tries of "it greets" may cost ' in short.lines[-1]
    assert len(service.requests("chat/completions")) == 1
