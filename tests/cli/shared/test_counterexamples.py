"""`bot check` tells what it finds as a talk, and keeps the talks as tests."""

import json
from pathlib import Path

import pytest

from bot.checker.exploring.explorer import ExploredState, Explorer
from bot.checker.exploring.moves import Move
from bot.cli.shared.check_report import KeptCheck, report_on
from bot.loading.folder import read_folder
from tests.cli.terminal import call, make_bot

FLOWS = """
flow: order
start: {words: [order], otherwise: true}
vars: {name: {type: text}}
steps:
  name: {ask: Your name?, save: name, skip: ["no"], timeout: {after: 26h, say: Still there?, then: end}}
  thanks: {say: "Thank you, {{ name }}.", then: end}
  bye: {say: Bye.}
"""


@pytest.fixture(autouse=True)
def bot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return make_bot(tmp_path / "bot", FLOWS)


def test_a_finding_comes_with_the_talk_that_leads_there() -> None:
    lines = call("check", "bot").lines
    start = lines.index("  How to get there:")
    assert lines[start + 1 : start + 5] == [
        '    you write "order"',
        '    the bot asks "Your name?"',
        "    you wait 26 hours",
        '    the bot may not write "Still there?" any more: the last message from you is 26 hours old',
    ]


def test_a_program_reads_which_findings_were_seen() -> None:
    found = json.loads(call("check", "bot", "--json").out)
    assert [(each["code"], each["confirmed"]) for each in found] == [("W501", True), ("W301", True), ("W101", False)]
    assert found[1]["conversation"][-1] == 'nothing stands there for "name"'
    assert found[2]["conversation"] == []


def test_the_talks_are_kept_as_tests_that_fail_until_the_bot_is_mended(bot: Path) -> None:
    checked = call("check", "bot", "--write-tests", "bot/tests/found")
    assert checked.code == 1
    assert checked.err == "2 tests written to bot/tests/found.\n"
    assert sorted(path.name for path in Path("bot/tests/found").iterdir()) == [
        "W301_order_thanks.yml",
        "W501_order_name.yml",
    ]
    tested = call("test", "bot")
    assert tested.code == 1
    assert tested.lines[-1].startswith("2 tests: 2 failed, 0 passed")
    assert "      Went wrong: the 24-hour window is closed, and no window_closed template is declared" in tested.lines
    late = Path("bot/flows/main.yml")
    late.write_text(late.read_text().replace("26h", "20h"))
    assert call("test", "bot", "-k", "W501").lines[-3:] != tested.lines[-3:]


def test_tests_that_were_kept_before_are_left_alone() -> None:
    call("check", "bot", "--write-tests", "bot/tests/found")
    kept = Path("bot/tests/found/W301_order_thanks.yml")
    kept.write_text(kept.read_text() + "# looked into\n")
    again = call("check", "bot", "--write-tests", "bot/tests/found")
    assert "2 tests already there and unchanged" in again.err
    assert kept.read_text().endswith("# looked into\n")


def test_a_bot_without_findings_writes_nothing(bot: Path) -> None:
    (bot / "flows" / "main.yml").write_text("flow: a\nstart: {otherwise: true}\nsteps: {b: {say: B}}\n")
    checked = call("check", "bot", "--write-tests", "found")
    assert (checked.code, checked.err) == (0, "0 tests written to found.\n")
    assert not Path("found").exists()


UNSEEN = """
flow: safe
start: {otherwise: true}
vars: {code: {type: text}}
steps:
  code: {ask: The code?, save: code, timeout: {after: 10h, then: end}}
  right: {branch: [{if: "code[3:5] == 'zq' and code | length == 9", then: late}, {else: bye}]}
  late: {wait: 30h}
  hello: {say: Are you there?, then: end}
  bye: {say: Bye., then: end}
"""


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[Move]:
    """The moves that are tried."""
    moves: list[Move] = []
    take = Explorer.take

    def noted(explorer: Explorer, state: ExploredState, move: Move) -> ExploredState:
        moves.append(move)
        return take(explorer, state, move)

    monkeypatch.setattr(Explorer, "take", noted)
    return moves


def conversations(bot: Path, kept: KeptCheck | None = None) -> dict[str, tuple[str, ...]]:
    report = report_on(read_folder(bot), kept)
    return {entry.code: report.conversation(entry) for entry in report.entries}


def test_after_an_edit_a_talk_is_tried_again_and_no_other_is_searched(bot: Path, taken: list[Move]) -> None:
    kept, file = KeptCheck(), bot / "flows" / "main.yml"
    conversations(bot, kept)
    searched = len(taken)
    file.write_text("# a line more\n" + FLOWS.replace("Still there?", "Are you there?"))
    assert conversations(bot, kept)["W501"][-1].startswith('the bot may not write "Are you there?" any more')
    assert len(taken) - searched == 4  # two moves for each talk
    file.write_text(FLOWS.replace("steps:", "steps:\n  sure: {ask: Sure?, timeout: {after: 9h, then: end}}"))
    assert conversations(bot, kept) == conversations(bot)
    file.write_text(FLOWS.replace("26h", "20h"))
    assert "W501" not in conversations(bot, kept)


def test_a_talk_that_was_not_found_is_searched_again_once_its_finding_changes(bot: Path, taken: list[Move]) -> None:
    kept, file = KeptCheck(), bot / "flows" / "main.yml"
    file.write_text(UNSEEN)
    assert conversations(bot, kept)["W501"] == ()
    searched = len(taken)
    file.write_text("# a line more\n" + UNSEEN.replace("Bye.", "Good bye."))
    assert conversations(bot, kept)["W501"] == ()
    assert len(taken) == searched
    file.write_text(UNSEEN.replace("{if: \"code[3:5] == 'zq' and code | length == 9\"", "{if: \"code == 'zq'\""))
    assert conversations(bot, kept)["W501"] != ()
