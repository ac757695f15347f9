"""The bots that come with the project are clean, and their own tests and evaluations pass."""

from pathlib import Path

from bot.loading.folder import read_folder
from bot.testing.conversations.evaluation import replay
from bot.testing.conversations.model_sources import Recordings
from bot.testing.conversations.transcript_reader import load_with_tests
from bot.testing.conversations.transcript_run import run
from tests.searches import over

ROOT = Path(__file__).parent.parent.parent
BOTS = [ROOT / "flows", *sorted(file.parent for file in (ROOT / "examples").glob("*/bot.yml"))]


@over(9, "path", BOTS)
def test_it_is_clean_and_its_tests_pass(path: Path) -> None:
    folder = read_folder(path)
    loaded = load_with_tests(folder)
    assert [str(problem) for problem in loaded.problems] == []
    assert loaded.program is not None
    tests = [transcript for transcript in loaded.transcripts if transcript.tries is None]
    assert len(tests) > 1
    assert [failure for t in tests if (failure := run(t, loaded.program, folder)) is not None] == []


def test_the_evaluations_of_the_shop_hold_with_what_is_recorded() -> None:
    """After a change of the prompts, record the answers again: `python -m tests.testing.conversations.recorded_shop`."""
    folder = read_folder(ROOT / "examples" / "shop")
    loaded, recordings = load_with_tests(folder), Recordings(folder.path)
    assert loaded.program is not None
    evaluations = [transcript for transcript in loaded.transcripts if transcript.tries is not None]
    held = [
        replay(evaluation, loaded.program, folder, model, tries)
        for evaluation in evaluations
        for model, tries in recordings.of(evaluation).items()
    ]
    assert [(each.stale, each.failures()) for each in held] == [("", [])] * len(evaluations)
    assert len(evaluations) > 1
