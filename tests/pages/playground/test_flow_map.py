"""The map of a program."""

from pathlib import Path

import pytest

from bot.cli.shared.flow_reloader import BotFiles
from bot.pages.playground.flow_map import FlowMap, UnreadableTests
from bot.pages.playground.shared_findings import SharedFindings
from tests.cli.terminal import make_bot
from tests.patience import PATIENCE

FLOWS = """
flow: main
start: {otherwise: true}
steps:
  first:
    ask: One?

    # of two
    buttons: {A: end}
  last: {say: Never, then: end}
"""


@pytest.fixture
def flow_map(tmp_path: Path) -> FlowMap:
    files = BotFiles(make_bot(tmp_path, FLOWS))
    return FlowMap(files.load(), files.folder, SharedFindings())


def test_a_steps_lines_are_those_below_its_name(flow_map: FlowMap) -> None:
    written = flow_map.written("main", "first")
    assert (written.path, written.line) == ("flows/main.yml", 5)
    assert written.text == "first:\n  ask: One?\n\n  # of two\n  buttons: {A: end}"
    assert flow_map.written("main", "last").text == "last: {say: Never, then: end}"
    with pytest.raises(KeyError):
        flow_map.written("main", "other")


def test_what_the_checks_find_is_drawn_once_they_are_done(flow_map: FlowMap) -> None:
    before = flow_map.drawing("main")
    assert "W101" not in before and flow_map.findings("main", "last") == ()
    flow_map.check()
    assert flow_map.checked.is_set() and "W101" in flow_map.drawing("main")
    assert [found.code for found in flow_map.findings("main", "last")] == ["W101"]


def test_checks_that_find_nothing_change_no_drawing(tmp_path: Path) -> None:
    files = BotFiles(
        make_bot(tmp_path, "flow: main\nstart: {otherwise: true}\nsteps:\n  first: {say: One., then: end}\n")
    )
    flow_map = FlowMap(files.load(), files.folder, SharedFindings())
    before = flow_map.drawing("main")
    flow_map.check()
    assert flow_map.drawing("main") is before


def test_a_drawing_has_places_and_ends_for_the_page_and_no_style(flow_map: FlowMap) -> None:
    drawing = flow_map.drawing("main")
    assert 'data-place="main/first"' in drawing and "data-ends=" in drawing and "<style" not in drawing
    assert 'data-place="main"' in flow_map.drawing()


def test_tests_that_cannot_be_run_are_no_tests_that_run_for_ever(
    flow_map: FlowMap, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr("bot.testing.conversations.transcript_reader.load_with_tests", full)
    with pytest.raises(UnreadableTests, match="`bot test` says why"):
        flow_map.tests_at("main", "first")  # which begins to run them, and may know already
        assert flow_map.tested.wait(PATIENCE)
        flow_map.tests_at("main", "first")
