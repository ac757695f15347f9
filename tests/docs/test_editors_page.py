"""The page on editors: its settings are those that a new bot has."""

import json
from pathlib import Path

from tests.cli.terminal import call
from tests.docs.test_docs import ROOT, blocks

PAGE = ROOT / "docs" / "editors.md"


def test_its_settings_are_those_of_a_new_bot(tmp_path: Path) -> None:
    call("new", tmp_path / "bot")
    (settings,) = blocks(PAGE, "json")
    assert json.loads(settings) == json.loads((tmp_path / "bot" / ".vscode" / "settings.json").read_text())
