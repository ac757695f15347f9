"""`bot judge`."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.testing.emulator.completion import CompletionService
from tests.cli.terminal import call, make_bot

SWIFT, WISE = "acme/swift", "acme/wise"
CASES = """- talk: [user: hi, bot: Hello!]
  question: Is the contact greeted?
  verdict: yes
- talk: [user: hi, bot: Open daily.]
  facts: Open daily.
  question: Is the contact greeted?
  verdict: no
- talk: [user: hi, bot: Hey you]
  question: Is it polite?
  verdict: yes
"""


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[CompletionService]:
    with CompletionService(models=(SWIFT, WISE), threads=2) as emulated:
        emulated.answer_with(lambda body: "Yes." if "Hello" in str(body["messages"]) else "No, it is curt.")
        for name, value in {"URL": emulated.url, "KEY": emulated.key, "MODEL": f"{SWIFT},{WISE}"}.items():
            monkeypatch.setenv(f"BOT_AI_{name}", value)
        yield emulated


@pytest.fixture
def verdicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    make_bot(tmp_path / "bot", "flow: main\nstart: {otherwise: true}\nsteps: {a: {say: hi, then: end}}\n")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "judged.yaml").write_text(CASES)
    return tmp_path / "judged.yaml"


def test_agreement_kappa_and_disagreements_are_printed(verdicts: Path, service: CompletionService) -> None:
    judged = call("judge", verdicts.name, "bot")
    assert judged.code == 0
    assert judged.lines[:3] == [
        "judged.yaml:8: Is it polite?",
        f"      person: yes, {WISE}: no: it is curt.",
        f"{WISE} agrees on 2 of 3, 9-99 %; kappa 0.40.",
    ]
    _, told, _ = service.requests("chat/completions")
    assert (
        told.body["model"] == WISE
        and '"told to the chatbot": [\n  "Open daily."\n ]' in told.body["messages"][1]["content"]
    )


def test_a_program_reads_the_agreement(verdicts: Path, service: CompletionService) -> None:
    found = json.loads(call("judge", verdicts.name, "bot", "--judge", SWIFT, "--json").out)
    assert (found["judge"], found["questions"], found["agreed"]) == (SWIFT, 3, 2)
    assert found["disagreements"] == [
        {
            "path": "judged.yaml",
            "line": 8,
            "question": "Is it polite?",
            "verdict": "yes",
            "judge": "no: it is curt.",
        }
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "1:1: E601 there are no verdicts in this file (write a list of {talk: "),
        ("- {talk: [user: hi], question: Is it?}", '1:3: E105 this verdict: "verdict" is missing '),
        ("- {talk: [user: hi], question: Is it?, verdict: maybe}", '1:49: E109 this verdict: verdict: "maybe" '),
        ("- {talk: [says: hi], question: Is it?, verdict: no}", "1:11: E601 talk: this is not a line (write who says "),
    ],
)
def test_a_mistake_in_the_file_is_named_and_nothing_is_asked(
    verdicts: Path, service: CompletionService, text: str, problem: str
) -> None:
    verdicts.write_text(text)
    refused = call("judge", verdicts.name, "bot")
    assert refused.code == 1
    assert refused.lines[0].startswith(f"judged.yaml:{problem}"), refused.lines
    assert service.requests("chat/completions") == []
