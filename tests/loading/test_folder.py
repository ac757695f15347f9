import errno
import os
from pathlib import Path

import pytest

from bot.loading.folder import (
    MOST_FILE,
    NoBot,
    Watch,
    env_files,
    find_bot,
    fingerprint,
    read_file,
    read_folder,
    unpacked,
)

MOST_DOCUMENT = 2 * 1024 * 1024


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def paths(folder: Path) -> list[str]:
    return [source.path for source in read_folder(folder).sources]


def test_every_yaml_file_below_belongs_to_the_bot(tmp_path: Path) -> None:
    write(tmp_path, {"bot.yml": "name: A", "flows/b.yml": "", "flows/deep/a.yaml": "", "readme.md": "", "x.py": ""})
    assert paths(tmp_path) == ["bot.yml", "flows/b.yml", "flows/deep/a.yaml"]


def test_a_folder_with_a_bot_yml_of_its_own_is_another_bot(tmp_path: Path) -> None:
    write(tmp_path, {"bot.yml": "", "other/bot.yml": "", "other/flows/a.yml": "", "flows/a.yml": ""})
    assert paths(tmp_path) == ["bot.yml", "flows/a.yml"]


def test_hidden_files_and_caches_are_left_alone(tmp_path: Path) -> None:
    write(tmp_path, {"bot.yml": "", ".git/a.yml": "", ".draft.yml": "", "__pycache__/a.yml": ""})
    assert paths(tmp_path) == ["bot.yml"]


def test_handlers_are_a_module_or_a_folder_beside_bot_yml(tmp_path: Path) -> None:
    write(tmp_path, {"bot.yml": "", "handlers/__init__.py": "", "handlers/a.py": "", "tests/handlers.py": ""})
    assert [source.path for source in read_folder(tmp_path).code] == ["handlers/__init__.py", "handlers/a.py"]


def test_name_and_settings_are_read_from_bot_yml(tmp_path: Path) -> None:
    write(tmp_path, {"bot.yml": "name: Acme\nsettings: {port: 8100, channel_id: abc}"})
    assert read_folder(tmp_path).name == "Acme"
    assert read_folder(tmp_path).settings() == {"port": "8100", "channel_id": "abc"}


def test_the_names_of_secrets_are_read_from_bot_yml(tmp_path: Path) -> None:
    assert read_folder(write(tmp_path, {"bot.yml": "secrets: [CRM_KEY, CRM_URL]"})).secrets() == ("CRM_KEY", "CRM_URL")
    assert read_folder(write(tmp_path, {"bot.yml": "secrets: CRM_KEY"})).secrets() == ("CRM_KEY",)
    assert read_folder(write(tmp_path, {"bot.yml": "secrets: {a: b}"})).secrets() == ()


@pytest.mark.parametrize("text", ["", "[]", "name: [", "settings: x", "- a\n- b", "\x00"])
def test_a_broken_bot_yml_has_no_settings_and_the_folders_name(tmp_path: Path, text: str) -> None:
    folder = read_folder(write(tmp_path, {"bot.yml": text}))
    assert (folder.settings(), folder.name) == ({}, tmp_path.name)


def test_the_bot_is_the_folder_given_or_this_one_or_flows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NoBot, match=r"there is no bot\.yml here or in flows/"):
        find_bot(None)
    write(tmp_path, {"flows/bot.yml": ""})
    assert find_bot(None) == Path("flows")
    write(tmp_path, {"bot.yml": ""})
    assert find_bot(None) == Path()
    assert find_bot("flows") == Path("flows")
    with pytest.raises(NoBot, match=r"there is no folder nowhere: "):
        find_bot("nowhere")
    with pytest.raises(NoBot, match=r"flows/bot\.yml is no folder: name the folder that bot\.yml lies in"):
        find_bot("flows/bot.yml")
    (tmp_path / "empty").mkdir()
    with pytest.raises(NoBot, match=r"there is no bot\.yml in empty: a bot is a folder with one"):
        find_bot("empty")


def test_what_is_no_regular_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    write(tmp_path, {"bot.yml": ""})
    os.mkfifo(tmp_path / "pipe.yml")
    with pytest.raises(NoBot, match=r"pipe\.yml is no regular file"):
        read_folder(tmp_path)


def test_a_file_that_cannot_be_read_is_said_in_words(tmp_path: Path) -> None:
    write(tmp_path, {"bot.yml": ""})
    (tmp_path / "gone.yml").symlink_to("nowhere.yml")
    with pytest.raises(NoBot, match=r"gone\.yml cannot be read: No such file or directory"):
        read_folder(tmp_path)


def test_the_fingerprint_changes_with_a_file_that_is_saved_added_or_removed(tmp_path: Path) -> None:
    write(tmp_path, {"bot.yml": "a", "note.csv": ""})
    seen = [fingerprint(tmp_path)]
    os.utime(tmp_path / "bot.yml", ns=(1, 1))
    seen.append(fingerprint(tmp_path))
    write(tmp_path, {"flows/a.yml": ""})
    seen.append(fingerprint(tmp_path))
    (tmp_path / "bot.yml").unlink()
    seen.append(fingerprint(tmp_path))
    assert len(set(seen)) == 4
    write(tmp_path, {"note.csv": "changed"})
    assert fingerprint(tmp_path) == seen[-1]


def test_documents_belong_to_the_bot_for_its_models(tmp_path: Path) -> None:
    files = {"flows/a/b.pdf": "%PDF", "flows/c.docx": "PK", "flows/facts.md": "Open daily.", "flows/prices.txt": "5"}
    write(tmp_path, {"bot.yml": "name: A", **files, "flows/picture.png": "x"})
    folder = read_folder(tmp_path)
    assert {source.path: source.text.decode() for source in folder.documents} == files
    assert unpacked(tmp_path, folder.packed()).digest == folder.digest
    before = fingerprint(tmp_path)
    write(tmp_path, {"flows/facts.md": "Closed."})
    assert fingerprint(tmp_path) != before


def test_a_text_file_that_is_too_large_is_said_to_be(tmp_path: Path) -> None:
    write(tmp_path, {"bot.yml": "name: A", "facts.md": "x" * (MOST_DOCUMENT + 1)})
    with pytest.raises(NoBot, match=r"facts\.md is larger than 2 MB"):
        read_folder(tmp_path)
    (tmp_path / "facts.md").rename(tmp_path / "facts.pdf")
    assert len(read_folder(tmp_path).documents) == 1


def test_a_watch_tells_of_a_change_once_when_it_is_over(tmp_path: Path) -> None:
    write(tmp_path, {"bot.yml": "name: A"})
    watch = Watch(tmp_path)
    assert not watch.changed()
    write(tmp_path, {"flows/a.yml": "1"})
    assert not watch.changed()
    write(tmp_path, {"flows/b.yml": "1"})
    assert [watch.changed() for _ in range(3)] == [False, True, False]


def test_the_env_file_of_the_bots_folder_is_one_where_one_stands_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_text("")
    assert env_files(tmp_path) == [tmp_path / ".env"]
    monkeypatch.chdir(tmp_path)
    assert len(env_files(tmp_path)) == len(env_files(Path())) == 1


def test_a_bot_file_with_another_ending_is_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bot.yaml").write_text("name: Cafe\n")
    with pytest.raises(NoBot, match=r"there is no bot\.yml in .*: rename bot\.yaml to bot\.yml"):
        find_bot(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NoBot, match=r"rename bot\.yaml to bot\.yml"):
        find_bot(None)


def test_whatever_lies_in_files_belongs_to_the_bot_and_is_nothing_else(tmp_path: Path) -> None:
    inside = {"menu.pdf": "%PDF", "a/photo.jpg": "x", "rules.txt": "No.", "old.yml": "flow: x", "tool.py": "1 / 0"}
    write(tmp_path, {"bot.yml": "name: A", **{f"files/{name}": text for name, text in inside.items()}})
    write(tmp_path, {"flows/files/photo.jpg": "x", "files/.hidden": "x", "files/__x/y.jpg": "x"})
    folder = read_folder(tmp_path)
    found = {source.path: source.text for source in folder.documents}
    assert found == {f"files/{name}": text.encode() for name, text in inside.items()}
    assert [source.path for source in (*folder.sources, *folder.code)] == ["bot.yml"]
    assert unpacked(tmp_path, folder.packed()).digest == folder.digest
    assert read_file(tmp_path, "a/photo.jpg") == b"x" and read_file(tmp_path, "gone.jpg") is None


def test_a_file_to_send_that_is_too_large_is_said_to_be(tmp_path: Path) -> None:
    write(tmp_path, {"bot.yml": "name: A", "files/film.txt": "x" * (MOST_DOCUMENT + 1)})
    assert len(read_folder(tmp_path).documents) == 1
    with (tmp_path / "files" / "film.mp4").open("wb") as film:
        film.truncate(MOST_FILE + 1)
    with pytest.raises(NoBot, match=r"film\.mp4 is larger than 16 MB: divide it, or keep it elsewhere"):
        read_folder(tmp_path)
    assert read_file(tmp_path, "film.mp4") is None


def test_a_bot_of_which_a_folder_cannot_be_listed_is_not_read_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bot.yml").write_text("name: Shop\n")
    (tmp_path / "flows").mkdir()
    (tmp_path / "flows" / "main.yml").write_text("flow: main\n")
    scandir, watch = os.scandir, Watch(tmp_path)

    def full(path: Path | str) -> object:
        if Path(path).name == "flows":
            raise OSError(errno.EMFILE, "Too many open files", str(path))
        return scandir(path)

    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", full)
        with pytest.raises(NoBot, match="flows cannot be listed: Too many open files"):
            read_folder(tmp_path)
        assert not watch.changed()
        assert watch.changed(), "who reads it then says why it cannot be read"
    assert [source.path for source in read_folder(tmp_path).sources] == ["bot.yml", "flows/main.yml"]
