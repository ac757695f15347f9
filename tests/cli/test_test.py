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
        "        user  hi",
        "        bot   Tea?",
        "              [Sure] [Never]",
        "",
        "      says: expected  Tee?",
        "            there is  Tea?",
        "",
        "      buttons: expected  Sure",
        "               there is  Sure | Never",
        "",
    ]
    assert tested.lines[-1].startswith("2 tests: 1 failed, 1 passed, in ")


def test_a_difference_of_several_lines_stands_below_its_first(tmp_path: Path) -> None:
    tested = call("test", make_bot(tmp_path, FLOWS, tests='test: long\ntalk: [user: hi, bot: "Tea?\\nOr not?"]\n'))
    at = tested.lines.index("      says: expected  Tea?")
    assert tested.lines[at + 1 : at + 3] == ["                      Or not?", "            there is  Tea?"]


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
    assert tested.lines[-1] == "1 problem, no test was run."


def test_the_bot_that_comes_with_the_project_passes_its_tests() -> None:
    tested = call("test", Path(__file__).parents[2] / "flows")
    assert tested.code == 0, tested.out
