"""The cookbook is one clean bot; the tests on the page pass, and take all of it."""

from bot.language.flow.documents import Source
from bot.loading.folder import Folder
from bot.testing.conversations.coverage import Coverage
from bot.testing.conversations.transcript_reader import load_with_tests
from bot.testing.conversations.transcript_run import run
from tests.docs.test_docs import ROOT, blocks, named_blocks

PAGE = ROOT / "docs" / "language" / "cookbook.md"


def test_its_bot_is_clean_and_its_tests_take_all_of_it() -> None:
    files = {"bot.yml": blocks(PAGE, "yaml bot")[0]} | {
        f"{n:02}.yml": text for n, text in enumerate(blocks(PAGE, "yaml"))
    }
    documents = tuple(Source(name, text.encode()) for name, text in named_blocks(PAGE, "md"))
    folder = Folder(PAGE.parent, tuple(Source(name, text.encode()) for name, text in files.items()), (), documents)
    loaded = load_with_tests(folder)
    assert [str(problem) for problem in loaded.problems] == []
    assert loaded.program is not None
    coverage = Coverage(loaded.program.library)
    assert [
        why for test in loaded.transcripts if (why := run(test, loaded.program, folder, coverage)) is not None
    ] == []
    assert (coverage.percent, coverage.missed()) == (100, [])
