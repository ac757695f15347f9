import json
from pathlib import Path

import pytest

from tests.cli.terminal import call, make_bot

FLOWS = "flow: main\nstart: {otherwise: true}\nsteps:\n  ask: {ask: Tea?, buttons: {Sure: yes_, Never: end}}\n"
FLOWS += "  yes_: {say: Coming}\n"
TESTS = """test: tea is brought
talk:
  - user: hi
  - bot: {says: Tea?, buttons: [Sure, Never]}
  - tap: Sure
  - bot: Coming
---
test: no tea
talk:
  - user: hi
  - bot: {says: Tee?, buttons: [Sure]}
"""


def test_a_failure_shows_the_talk_and_what_differs_at_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_bot(tmp_path / "bot", FLOWS, tests=TESTS)
    monkeypatch.chdir(tmp_path)
    tested = call("test", "bot")
    assert tested.code == 1
    assert tested.lines[:-1] == [
        "ok    tea is brought",
        "FAIL  no tea",
        "      bot/flows/tests.yml:11: the bot says something else",
        "",
        "      user   hi",
        "",
        "      expected               got",
        "      Tee?                 ≠ Tea?",
        "      [Sure]               ≠ [Sure] [Never]",
        "",
    ]
    assert tested.lines[-1].startswith("2 tests: 1 failed, 1 passed, in ")


def test_coverage_names_each_step_and_outcome_that_no_test_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_bot(tmp_path, FLOWS, tests=TESTS.split("---")[0])
    monkeypatch.chdir(tmp_path)
    tested = call("test", "--coverage")
    assert tested.code == 0
    assert tested.lines[2:] == [
        "",
        "Never reached:",
        "  bot.yml:2 defaults: retry",
        "  bot.yml:2 defaults: retry.else",
        "  bot.yml:2 defaults: timeout",
        "  flows/main.yml:4 main/ask: [Never]",
        "42 % of the steps and outcomes are reached, 3 of 7.",
    ]


def test_too_little_coverage_fails_and_enough_does_not(tmp_path: Path) -> None:
    bot = make_bot(tmp_path, FLOWS, tests=TESTS.split("---")[0])
    tested = call("test", bot, "--min-coverage", "90")
    assert tested.code == 1
    assert tested.lines[-1].endswith("; 90 % are required.")
    assert call("test", bot, "--min-coverage", "42").code == 0


def test_a_program_reads_the_results_as_json(tmp_path: Path) -> None:
    tested = call("test", make_bot(tmp_path, FLOWS, tests=TESTS), "--json", "--coverage")
    assert tested.code == 1
    found = json.loads(tested.out)
    passed, failed = found["tests"]
    assert (passed["test"], passed["passed"], passed["line"]) == ("tea is brought", True, 1)
    assert failed["failure"]["what"] == "the bot says something else"
    assert failed["failure"]["line"] == 11
    assert failed["failure"]["differences"][0] == {"what": "says", "expected": "Tee?", "got": "Tea?"}
    coverage = found["coverage"]
    assert coverage["total"] - coverage["taken"] == len(coverage["missed"])
    assert {"path", "line", "what"} == coverage["missed"][0].keys()
    assert json.loads(call("test", tmp_path, "--json").out)["coverage"] is None


def test_problems_are_no_part_of_the_json(tmp_path: Path) -> None:
    tested = call("test", make_bot(tmp_path, FLOWS, tests="test: odd\ntalk: [{usr: hi}]\n"), "--json")
    assert (tested.code, tested.out) == (1, "")
    assert "E601" in tested.err


def test_all_pass(tmp_path: Path) -> None:
    tested = call("test", make_bot(tmp_path, FLOWS, tests=TESTS.split("---")[0]))
    assert (tested.code, tested.lines[0]) == (0, "ok    tea is brought")
    assert tested.lines[-1].startswith("1 test: all passed, in ")


def test_k_chooses_by_a_part_of_the_name(tmp_path: Path) -> None:
    make_bot(tmp_path, FLOWS, tests=TESTS)
    assert call("test", tmp_path, "-k", "BROUGHT").lines[0] == "ok    tea is brought"
    none = call("test", tmp_path, "-k", "coffee")
    assert (none.code, none.out) == (1, 'Test Bot has no test with "coffee" in its name.\n')


def test_a_bot_without_tests_does_not_pass(tmp_path: Path) -> None:
    tested = call("test", make_bot(tmp_path, FLOWS))
    assert tested.code == 1
    assert tested.out.startswith("Test Bot has no tests: ")


def test_no_test_is_run_while_there_are_problems(tmp_path: Path) -> None:
    tested = call("test", make_bot(tmp_path, FLOWS, tests=TESTS + "---\ntest: odd\ntalk: [{usr: hi}]\n"))
    assert tested.code == 1
    assert "E601" in tested.out
    assert tested.lines[-1] == "1 problem, nothing was run."


def test_the_bot_that_comes_with_the_project_passes_its_tests() -> None:
    tested = call("test", Path(__file__).parents[2] / "flows")
    assert tested.code == 0, tested.out
