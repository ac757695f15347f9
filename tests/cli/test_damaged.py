"""Commands on a store that is damaged, in whatever way: words and an exit code, never a traceback."""

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from bot.store.files import inbox_path
from tests.cli.keeping import CONTACT, kept
from tests.cli.terminal import call
from tests.store.test_integrity import DAMAGES

COMMANDS = (
    ("queue",),
    ("queue", "drop", "1", "--yes"),
    ("sessions",),
    ("sessions", CONTACT),
    ("sessions", "reset", CONTACT),
    ("trace", CONTACT),
    ("usage",),
    ("report",),
    ("replay",),
    ("contacts", "export", CONTACT),
    ("contacts", "erase", CONTACT, "--yes"),
    ("webhook", "show"),
    ("send", CONTACT, "hello"),
    ("start", "main", CONTACT),
)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bot with a conversation, something that waits to be sent and something that was given up."""
    folder = tmp_path_factory.mktemp("sound")
    with kept(folder) as bot:
        bot.user("hi", "9", "hello")
        bot.emulator.faults.add("unauthorized")
        bot.user("again")
    return folder


def rows(data: bytes) -> bytes:
    """Here and there a byte within the pages, so that SQLite finds the rows and they say nonsense."""
    found, dice = bytearray(data), random.Random(3)
    for place in range(8192, len(found)):
        if found[place] in b'"{}:[]0123' and dice.random() < 0.2:
            found[place] = 0xFF
    return bytes(found)


def copied(sound: Path, folder: Path) -> Path:
    for file in (*sound.glob("*.yml"), *sound.glob("*/*.yml"), *sound.glob("*.py"), *sound.glob("bot*.db")):
        (folder / file.relative_to(sound)).parent.mkdir(exist_ok=True)
        (folder / file.relative_to(sound)).write_bytes(file.read_bytes())
    return folder


def test_a_folder_in_the_place_of_the_store_is_refused_in_words(sound: Path, tmp_path: Path) -> None:
    folder = copied(sound, tmp_path)
    (folder / "bot.db").unlink()
    (folder / "bot.db").mkdir()
    for arguments in set(COMMANDS) - {("webhook", "show")}:  # which reads the log alone
        refused = call(*arguments, "--bot", folder)
        assert (refused.code, "bot.db is a folder: name a file with BOT_STORE" in refused.err) == (1, True), arguments


@pytest.mark.parametrize("damage", [*DAMAGES, rows])
@pytest.mark.parametrize("which", [lambda path: path, inbox_path], ids=["engine", "inbox"])
def test_no_command_ends_with_a_traceback(
    sound: Path, tmp_path: Path, which: Callable[[Path], Path], damage: Callable[[bytes], bytes]
) -> None:
    folder = copied(sound, tmp_path)
    file = which(folder / "bot.db")
    harmed = damage(file.read_bytes())
    for arguments in COMMANDS:
        file.write_bytes(harmed)
        for left in folder.glob("bot.*-*"):
            left.unlink()
        outcome = call(*arguments, "--bot", folder)  # an error that is nobody's words would be raised here
        assert outcome.code in (0, 1), arguments
        if outcome.code == 1:
            assert outcome.err.strip(), arguments
    backup = call("backup", tmp_path / "copy", "--bot", folder)
    doctor = call("doctor", folder)
    assert {backup.code, doctor.code} == {1} or damage is rows
    assert ("bot restore" in backup.err and "bot restore" in doctor.out) or damage is rows


def test_what_the_doctor_says_of_files_that_do_not_belong_together(sound: Path, tmp_path: Path) -> None:
    folder = copied(sound, tmp_path)
    with closing(sqlite3.connect(inbox_path(folder / "bot.db"))) as log, log:
        log.execute("UPDATE meta SET store_id = 'another'")
    assert "are not of one store" in call("doctor", folder).out
