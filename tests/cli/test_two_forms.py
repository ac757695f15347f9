"""A Brazilian or Mexican number in either form means the same contact, in each command that names one."""

from pathlib import Path

import pytest

from tests.cli.keeping import kept
from tests.cli.terminal import call

WRITES_FROM, IN_THE_BOOK = "552187654321", "5521987654321"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with kept(tmp_path) as bot:
        bot.user("hi", contact=WRITES_FROM)
        bot.start("main", IN_THE_BOOK)
        assert {sent.to for sent in bot.emulator.sent} == {WRITES_FROM}, "the gateway knows this form"
    return tmp_path


@pytest.mark.parametrize("command", [("trace",), ("sessions",), ("replay",), ("contacts", "export")], ids=" ".join)
def test_it_is_found_by_both_forms(folder: Path, command: tuple[str, ...]) -> None:
    written, listed = (call(*command, number, "--bot", folder) for number in (WRITES_FROM, IN_THE_BOOK))
    assert (written.code, listed.code) == (0, 0), listed.err
    assert written.lines[0] == listed.lines[0]


def test_it_is_erased_by_the_other_form(folder: Path) -> None:
    assert call("contacts", "erase", IN_THE_BOOK, "--bot", folder, "--yes").code == 0
    assert call("sessions", WRITES_FROM, "--bot", folder).code == 1
    assert not any(WRITES_FROM.encode() in file.read_bytes() for file in folder.glob("bot*.db"))


def test_it_is_in_a_file_of_contacts_once(folder: Path) -> None:
    (folder / "people.csv").write_text(f"phone\n{WRITES_FROM}\n{IN_THE_BOOK}\n")
    refused = call("contacts", "push", folder / "people.csv", "--bot", folder)
    assert f"people.csv:3: {IN_THE_BOOK} is in line 2 already" in refused.err
