"""`bot import`: the files are read, the system is recognised, and a mistake is told in a line."""

from pathlib import Path

import pytest

from bot.cli.importing.export_files import read_export
from tests.cli.terminal import call


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("bot.json", '{"a": }', "bot.json:1:7: this is no JSON: Expecting value (export it again)"),
        ("bot.json", "[1, 2]", "name the files that Typebot, RapidPro, Twilio Studio, Rasa export with their flows"),
        ("bot.json", '{"nodes": [{"id": "1", "type": "start"}]}', "this is no export that is recognised"),
        ("bot.yml", "a: [", "bot.yml:1:5: this is no YAML"),
        ("bot.yml", "a: &x [*x]\nb: *y", "bot.yml:2:4: this is no YAML"),
        ("bot.json", "[" * 100_000, "bot.json cannot be read: it is damaged, or nested too deeply"),
        ("bot.yml", "[" * 100_000, "bot.yml cannot be read: it is damaged, or nested too deeply"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(name: str, text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    outcome = call("import", tmp_path / name, tmp_path / "new")
    assert outcome.code == 1 and told in outcome.err
    assert not (tmp_path / "new").exists()


def test_a_file_that_does_not_exist_is_named(tmp_path: Path) -> None:
    outcome = call("import", tmp_path / "bot.json", tmp_path / "new")
    assert outcome.code == 1 and "bot.json cannot be read: No such file" in outcome.err


def test_a_folder_with_files_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "bot.json").write_text("{}")
    outcome = call("import", tmp_path / "bot.json", tmp_path)
    assert outcome.code == 1 and "is not empty: nothing was written" in outcome.err


def test_words_and_dates_of_an_export_stay_texts(tmp_path: Path) -> None:
    (tmp_path / "domain.yml").write_text("a: yes\nb: 2030-05-06\nc: true\nd: off\n")
    (file,) = read_export([tmp_path])
    assert file.data == {"a": "yes", "b": "2030-05-06", "c": True, "d": "off"}
