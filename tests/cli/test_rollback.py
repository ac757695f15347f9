"""``bot rollback`` where no server runs; `tests/server/process/test_publish.py` has those that do."""

from pathlib import Path

import pytest

from tests.cli.keeping import FLOWS, HANDLERS, kept
from tests.cli.terminal import call


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A bot with two versions, of which the second has another name for the step where a contact waits."""
    with kept(tmp_path) as bot:
        bot.user("hi", "2")
    call("publish", tmp_path)
    renamed = FLOWS.replace("  sure: {ask", "  agreed: {renamed_from: sure, ask").replace("else: sure", "else: agreed")
    (tmp_path / "flows" / "main.yml").write_text(renamed.replace("Hello", "Good day"))
    call("publish", tmp_path)
    return tmp_path


def test_the_last_version_that_differs_is_published_again_and_back(folder: Path) -> None:
    back = call("rollback", "--bot", folder)
    assert back.lines == [
        "1 conversation under way: 1 goes on unchanged, nobody is dropped.",
        "Version 3 is published: the next `bot serve` serves it.",
    ]
    assert call("rollback", "1", "--bot", folder).out == (
        "Nothing is published: version 3 has the same files, and is served already.\n"
    )
    call("publish", folder, "--follow-files")
    assert call("rollback", "2", "--bot", folder, "--note", "the new step").code == 0
    assert [line.split("  ")[-1] for line in call("versions", "--bot", folder).lines[:2]] == [
        "(served)",
        "each server follows its own files",
    ]


def test_a_version_that_is_not_there_is_named(folder: Path) -> None:
    assert (
        call("rollback", "7", "--bot", folder).err == "there is no version 7 with files (`bot versions` lists them)\n"
    )


def test_without_another_version_there_is_nothing_to_go_back_to(tmp_path: Path) -> None:
    with kept(tmp_path):
        pass
    assert (
        call("rollback", "--bot", tmp_path).err == "there is no version with other files: `bot versions` lists them\n"
    )


def test_a_version_that_cannot_be_loaded_here_is_not_published(folder: Path) -> None:
    handlers, needs = (
        folder / "handlers.py",
        "from pathlib import Path\nassert (Path(__file__).parent / 'licence').exists()\n",
    )
    (folder / "licence").touch()
    handlers.write_text(HANDLERS + needs)
    assert call("publish", folder).code == 0
    handlers.write_text(HANDLERS)
    assert call("publish", folder).code == 0
    (folder / "licence").unlink()
    refused = call("rollback", "--bot", folder)
    assert refused.code == 1 and "E505 importing it raises AssertionError" in refused.err
    assert len(call("versions", "--bot", folder).lines) == 4
