"""A save is checked once, whoever asks for its findings."""

from pathlib import Path
from unittest.mock import patch

import pytest

from bot.checker.run_rules import run_rules
from bot.cli.shared.flow_reloader import BotFiles
from bot.pages.playground import shared_findings
from bot.pages.playground.editing import TextEdit, TextEditor
from bot.pages.playground.flow_map import FlowMap
from bot.pages.playground.shared_findings import SharedFindings
from tests.cli.terminal import make_bot

ASK = '["", "main", "first", "ask", 0]'
FLOWS = """
flow: main
start: {otherwise: true}
steps:
  first: {ask: One?, buttons: {A: end}}
  last: {say: Never, then: end}
"""
HANDLERS = """
from bot import handler

@handler("price")
def price() -> int:
    return 1
"""


@pytest.mark.parametrize("code", ["", HANDLERS])
def test_a_saved_edit_is_proved_once(tmp_path: Path, code: str) -> None:
    folder, shared = make_bot(tmp_path, FLOWS, code), SharedFindings()
    files = BotFiles(folder)

    def mapped() -> FlowMap:
        drawn = FlowMap(files.load(), files.folder, shared)
        drawn.check()
        return drawn

    newest = mapped()
    editor = TextEditor(folder, lambda: (newest.program.extensions, newest.folder.code), shared)
    with patch.object(shared_findings, "run_rules", wraps=run_rules) as proves:
        editor.draft(("main", "first"), [TextEdit(ASK, "One?", "Two?")])
        editor.save(("main", "first"), [TextEdit(ASK, "One?", "Two?")])
        newest = mapped()
        editor.draft(("main", "first"), [TextEdit(ASK, "Two?", "Two?")])
        assert proves.call_count == 1
        editor.draft(("main", "first"), [TextEdit(ASK, "Two?", "Three?")])
        assert proves.call_count == 2
    assert [found.code for found in newest.findings("main", "last")] == ["W101"]
