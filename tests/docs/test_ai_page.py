"""The page on AI turns: its tests pass."""

from pathlib import Path

from bot.folder import read_folder
from bot.testing.coverage import Coverage
from bot.testing.transcript_reader import load_with_tests
from bot.testing.transcript_run import run
from tests.docs.test_docs import ROOT, blocks, named_blocks

PAGE = ROOT / "docs" / "language" / "ai.md"


def test_the_tests_of_the_page_pass(tmp_path: Path) -> None:
    (bot,) = blocks(PAGE, "yaml bot")
    (code,) = blocks(PAGE, "python")
    files = {"bot.yml": bot, "handlers.py": code, **dict(named_blocks(PAGE, "md"))}
    files |= {f"{number}.yml": text for number, text in enumerate(blocks(PAGE, "yaml"))}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    folder = read_folder(tmp_path)
    loaded = load_with_tests(folder)
    assert loaded.program is not None and len(loaded.transcripts) == 2, loaded.problems
    coverage = Coverage(loaded.program.library)
    assert [
        why for test in loaded.transcripts if (why := run(test, loaded.program, folder, coverage)) is not None
    ] == []
