"""`bot intents`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.testing.emulator.completion import CompletionService
from tests.cli.terminal import call, make_bot

FLOWS = """
flow: order
start: {about: they want pizza, examples: [two margheritas, I am hungry, is it too late]}
steps: {a: {say: Which?, then: end}}
---
flow: hours
start: {about: when we are open, examples: [when do you close]}
steps: {a: {say: From 9., then: end}}
"""
ANSWERS = {
    "two margheritas": "order 90",
    "I am hungry": "order 50\nhours 40",
    "is it too late": "hours 90",
    "when do you close": "none 80",
}


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CompletionService]:
    make_bot(tmp_path, FLOWS)
    monkeypatch.chdir(tmp_path)
    with CompletionService(models=("acme/swift",), threads=2) as emulated:
        emulated.answer_with(lambda body: ANSWERS[body["messages"][-1]["content"]])
        for name, value in {"URL": emulated.url, "KEY": emulated.key, "MODEL": "acme/swift"}.items():
            monkeypatch.setenv(f"BOT_AI_{name}", value)
        yield emulated


def test_a_table_shows_what_is_taken_for_what(service: CompletionService) -> None:
    held = call("intents")
    assert held.code == 1
    assert held.lines[:-1] == [
        "acme/swift  order  hours  none  asks",
        "order           1      1     ·     1",
        "hours           ·      ·     1     ·",
        'flows/main.yml:3: order: "is it too late" is taken for hours (hours 90 %)',
        'flows/main.yml:7: hours: "when do you close" is taken for none (none 80 %)',
        "acme/swift: 4 examples, 2 wrong.",
    ]
    assert held.lines[-1].endswith(" of 500,000 tokens used up.")


def test_an_example_is_left_out_of_the_question_about_it(service: CompletionService) -> None:
    seen: list[tuple[str, str]] = []

    def speak(body: dict[str, Any]) -> str:
        system, user = (message["content"] for message in body["messages"])
        seen.append((system, user))
        return ANSWERS[user]

    service.answer_with(speak)
    call("intents", "-k", "order")
    assert [user for _, user in seen] == ["two margheritas", "I am hungry", "is it too late"]
    assert all(f'"{user}"' not in system and '"when do you close"' in system for system, user in seen)


def test_all_right_is_no_failure_and_a_program_reads_each(service: CompletionService) -> None:
    service.answer_with(lambda body: "hours 90" if "close" in body["messages"][-1]["content"] else "order")
    held = call("intents", "--json")
    found = json.loads(held.out)
    assert (held.code, found["stopped"]) == (0, [])
    assert found["intents"][-1] == {
        "model": "acme/swift", "flow": "hours", "example": "when do you close", "found": "hours",
        "percent": {"hours": 90}, "fails": "", "passed": True,
    }  # fmt: skip


def test_a_run_that_stops_says_why(service: CompletionService) -> None:
    held = call("intents", "--budget", "10")
    assert held.code == 1
    assert held.lines[0] == "0 of 10 tokens used up."  # and no table of nothing
    assert "allow more with --budget, or ask less with -k" in held.lines[-1]


def test_a_model_that_refuses_an_example_is_not_taken_for_one_that_names_no_flow(service: CompletionService) -> None:
    service.fail("content_filter", 400)
    held = call("intents", "-k", "hours")
    assert held.code == 1
    assert held.lines[2].endswith('hours: "when do you close" is taken for none (the model fails: content_filter)')


def test_a_name_that_no_flow_has_is_said(service: CompletionService) -> None:
    held = call("intents", "-k", "pizza")
    assert (held.code, held.lines) == (1, ['No flow with examples has "pizza" in its name: there are order, hours.'])


def test_a_bot_without_examples_says_where_they_are_written(tmp_path: Path) -> None:
    make_bot(tmp_path / "plain", "flow: main\nstart: {words: [hi]}\nsteps: {a: {say: Hi., then: end}}\n")
    held = call("intents", tmp_path / "plain")
    assert (held.code, "about" in held.out) == (1, True)
