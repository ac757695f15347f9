"""The tests on the pages of the language pass."""

from pathlib import Path

import pytest

from bot.loading.folder import read_folder
from bot.testing.conversations.transcript_reader import load_with_tests
from bot.testing.conversations.transcript_run import run
from tests.docs.test_docs import BOT, HANDLER, OF_THE_LANGUAGE, blocks, named_blocks

PAGES = [page for page in OF_THE_LANGUAGE if any(text.startswith("test:") for text in blocks(page, "yaml"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_tests_of_a_page_pass(page: Path, tmp_path: Path) -> None:
    files = {"bot.yml": (*blocks(page, "yaml bot"), BOT)[0]}
    files["handlers.py"] = "\n".join(blocks(page, "python") or [HANDLER])
    files |= {name: text for kind in ("md", "txt", "json") for name, text in named_blocks(page, kind)}
    files |= {f"{number}.yml": text for number, text in enumerate(blocks(page, "yaml"))}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    folder = read_folder(tmp_path)
    loaded = load_with_tests(folder)
    assert loaded.program is not None and loaded.transcripts, loaded.problems
    assert [why for test in loaded.transcripts if (why := run(test, loaded.program, folder)) is not None] == []


def test_several_pages_have_tests() -> None:
    assert {"ai", "cookbook", "questions"} <= {page.stem for page in PAGES}
