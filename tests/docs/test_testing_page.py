"""The pages on testing and evaluations: their bot is clean, their tests pass, and each line has an example there."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bot.language.source.yaml_tree import Map, Node, Scalar
from bot.loading.folder import read_folder
from bot.services.gateway.gateway_answers import BY_CODE
from bot.testing.conversations.coverage import Coverage
from bot.testing.conversations.expectation_reader import EXPECTED, MESSAGE
from bot.testing.conversations.judged_cases import read_cases
from bot.testing.conversations.transcript import KnownNames
from bot.testing.conversations.transcript_reader import FAULTS, WORD_LINES, line_keys, load_with_tests
from bot.testing.conversations.transcript_run import run
from bot.testing.emulator.completion import CompletionService, ModelAnswer
from bot.testing.emulator.event_payloads import SAMPLES
from bot.testing.simulation.gateway_events import GATEWAY_EVENTS
from tests.cli.terminal import call
from tests.docs.test_docs import ROOT, blocks, named_blocks

PAGE, EVALUATIONS = (ROOT / "docs" / name for name in ("testing.md", "evaluations.md"))
TEXT = PAGE.read_text() + EVALUATIONS.read_text()


@pytest.fixture
def cafe(tmp_path: Path) -> Path:
    """The pages' bot with its tests, in a folder."""
    folder = tmp_path / "cafe"
    (folder / "tests").mkdir(parents=True)
    (folder / "tests" / "cat.png").write_bytes(SAMPLES["image"])
    (folder / "tests" / "large.png").write_bytes(SAMPLES["image"] + bytes(1024))
    (bot,) = blocks(PAGE, "yaml bot")
    (folder / "bot.yml").write_text(bot)
    for number, text in enumerate(blocks(PAGE, "yaml") + blocks(EVALUATIONS, "yaml")):
        (folder / f"{number:02}.yml").write_text(text)
    ((name, code),) = [named for named in named_blocks(PAGE, "python") if named[0] == "handlers.py"]
    (folder / name).write_text(code)
    return folder


def test_its_bot_is_clean_and_its_tests_pass(cafe: Path) -> None:
    folder = read_folder(cafe)
    loaded = load_with_tests(folder)
    assert [str(problem) for problem in loaded.problems] == []
    assert loaded.program is not None
    coverage, tests = Coverage(loaded.program.library), [t for t in loaded.transcripts if t.tries is None]
    assert [why for t in tests if (why := run(t, loaded.program, folder, coverage)) is not None] == []
    assert (coverage.percent, coverage.missed()) == (100, [])


GUEST = {
    "(The chat begins.)": "question",
    "Hello! What can I do for you?": "cost?",
    "One coffee is 2.50 euros.": "one, please",
}
"""What a simulated guest answers."""


def seller(body: dict[str, Any]) -> ModelAnswer | str:
    """A model that does what the evaluation asks for."""
    last = body["messages"][-1]
    if body["messages"][0]["content"].startswith("You judge"):
        return "Yes, it is."
    if body["messages"][0]["content"].startswith("You play"):
        return GUEST.get(last["content"], "DONE")
    if last["role"] == "tool":
        return "One coffee is 2.50 euros."
    if "cost" in last["content"]:
        return ModelAnswer(calls=[("shop_price", {"drink": "coffee", "cups": 1})])
    if "one, please" in last["content"]:
        return ModelAnswer("With pleasure.", calls=[("remember", {"wish": "coffee"}), ("leave_order", {})])
    return "Hello! What can I do for you?"


def test_its_evaluation_holds_with_a_model(cafe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with CompletionService(models=None, threads=2) as service:
        service.answer_with(seller)
        for name, value in {"URL": service.url, "KEY": service.key, "MODEL": "acme/swift"}.items():
            monkeypatch.setenv(f"BOT_AI_{name}", value)
        held = call("evaluate", cafe)
    assert held.code == 0, held.out
    assert "8 of 8, 63-100 %, with acme/swift" in held.out
    assert "2 of 2, 16-100 %, with acme/swift" in held.out


def test_its_verdicts_can_be_read(tmp_path: Path) -> None:
    (text,) = blocks(EVALUATIONS, "yaml verdicts")
    (tmp_path / "verdicts.yml").write_text(text)
    cases, problems = read_cases(tmp_path / "verdicts.yml")
    assert (len(cases), problems) == (1, [])


def test_its_python_passes(cafe: Path) -> None:
    ((name, code),) = [named for named in named_blocks(PAGE, "python") if named[0] != "handlers.py"]
    (cafe.parent / name).write_text(code)
    (cafe.parent / "pytest.ini").write_text("[pytest]\nbot_folder = cafe\n")
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "bot.testing.conversations.pytest_plugin", "--strict-markers"],
        cwd=cafe.parent,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "2 passed" in ended.stdout


def test_every_line_and_every_expectation_has_an_example(cafe: Path) -> None:
    loaded = load_with_tests(read_folder(cafe))
    assert loaded.program is not None
    talks = [node.get("talk") for node in loaded.program.tests]
    lines = [line for talk in talks for line in getattr(talk, "items", ())]
    used = {key.text for line in lines if isinstance(line, Map) for key, _ in line.entries}
    words = {line.text for line in lines if isinstance(line, Scalar)}
    assert {*line_keys(KnownNames()), "late"} - used - {"pick"} == set()
    assert words == {*WORD_LINES}
    assert {*EXPECTED.names} - keys_under("expect", lines) == set()


def keys_under(verb: str, lines: list[Node]) -> set[str]:
    found = (line.get(verb) for line in lines if isinstance(line, Map))
    return {key.text for node in found if isinstance(node, Map) for key, _ in node.entries}


def test_every_line_and_every_key_is_described() -> None:
    assert all(f"| `{verb}: " in TEXT for verb in line_keys(KnownNames()))
    assert all(f"| `{word}` " in TEXT for word in WORD_LINES)
    named = {*re.findall(r"`([^`\s]+)`", TEXT)}
    assert {*MESSAGE.names, *EXPECTED.names, *GATEWAY_EVENTS, *FAULTS} - named - BY_CODE.keys() == set()
