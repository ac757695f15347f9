from pathlib import Path

import pytest

from tests.cli.terminal import call


def test_a_new_bot_passes_check_and_test_as_it_is(tmp_path: Path) -> None:
    made = call("new", tmp_path / "my-shop")
    assert made.code == 0
    assert f"bot chat {tmp_path / 'my-shop'}" in made.out
    checked = call("check", tmp_path / "my-shop")
    assert (checked.code, checked.out) == (0, "My shop: no problems in 2 flows, 7 steps and 3 tests.\n")
    tested = call("test", tmp_path / "my-shop")
    assert tested.code == 0
    assert tested.lines[-1].startswith("3 tests: all passed")


@pytest.mark.parametrize("name", ["a: b", "Müller's # 1", '"quoted"', "[x]"])
def test_any_folders_name_makes_a_bots_name(tmp_path: Path, name: str) -> None:
    assert call("new", tmp_path / name).code == 0
    checked = call("check", tmp_path / name)
    assert (checked.code, checked.out.partition(":")[0].casefold()[:1]) == (0, name[0].casefold())


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    assert call("new", tmp_path).code == 0
    assert (tmp_path / "bot.yml").is_file()


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    refused = call("new", tmp_path)
    assert refused.code == 1
    assert refused.err.startswith(f"{tmp_path} is not empty: nothing was written")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    refused = call("new", tmp_path / "notes.txt")
    assert refused.code == 1
    assert refused.err.startswith(f"{tmp_path / 'notes.txt'} is a file: nothing was written")


def test_a_place_that_cannot_be_written_is_said_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused = call("new", tmp_path / "file" / "bot")
    assert (refused.code, refused.err) == (1, f"{tmp_path / 'file' / 'bot'} cannot be written: Not a directory\n")
