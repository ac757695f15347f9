"""The page on drawings: its picture is what the command makes today."""

import re
from pathlib import Path

import pytest

from bot.checker.drawing.drawing_model import BoxKind
from tests.cli.terminal import call
from tests.docs.test_docs import ROOT

TEXT = (ROOT / "docs" / "graph.md").read_text()


def test_the_picture_is_up_to_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (command,) = re.findall(r"^    \$ bot (graph .*) -o docs/graph\.svg$", TEXT, re.MULTILINE)
    monkeypatch.chdir(ROOT)
    assert call(*command.split(), "-o", tmp_path / "graph.svg").code == 0
    assert (tmp_path / "graph.svg").read_text() == (ROOT / "docs" / "graph.svg").read_text(), (
        f"bot {command} -o docs/graph.svg"
    )


def test_a_command_prints_what_the_page_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    shown = re.findall(r"^    (?!\$)(.*)$", TEXT, re.MULTILINE)
    assert call("graph", "examples/shop", "--mermaid").lines[: len(shown)] == shown


def test_every_kind_of_step_is_explained() -> None:
    kinds = [look.value for look in BoxKind if look not in (BoxKind.START, BoxKind.END, BoxKind.FLOW)]
    assert re.findall(r"^\| \w+: ([a-z ]+) \|", TEXT, re.MULTILINE) == kinds
