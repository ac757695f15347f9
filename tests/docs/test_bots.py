"""The bots that come with the project are clean, and their own tests pass."""

from pathlib import Path

import pytest

from bot.folder import read_folder
from bot.testing.loading import load_with_tests
from bot.testing.run import run

ROOT = Path(__file__).parent.parent.parent
BOTS = [ROOT / "flows", *sorted(file.parent for file in (ROOT / "examples").glob("*/bot.yml"))]


@pytest.mark.parametrize("path", BOTS, ids=lambda path: path.name)
def test_it_is_clean_and_its_tests_pass(path: Path) -> None:
    folder = read_folder(path)
    loaded = load_with_tests(folder)
    assert [str(problem) for problem in loaded.problems] == []
    assert loaded.program is not None
    tests = [transcript for transcript in loaded.transcripts if transcript.tries is None]
    assert len(tests) > 1
    assert [failure for t in tests if (failure := run(t, loaded.program, folder)) is not None] == []
