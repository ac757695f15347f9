"""The files: private, locked, migrated, and in words when something is wrong with them."""

import os
import re
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.core.clock import MovableClock
from bot.store.engine_store import EngineStore
from bot.store.files import (
    FileLock,
    StoreDamaged,
    StoreLocked,
    StoreMissing,
    StoreOutdated,
    StoreTooNew,
    StoreUnavailable,
    inbox_path,
)
from bot.store.inbox import InboxReader, InboxWriter
from bot.store.sqlite_database import WAL_BYTES_KEPT
from bot.store.sqlite_schema import migrate
from bot.store.store_reader import StoreReader
from bot.store.store_schema import MIGRATIONS, Migration
from tests.patience import PATIENCE
from tests.store.store_kit import START, append, sqlite

DOCS = Path(__file__).parents[2] / "docs" / "store.md"


def test_every_file_is_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        migrate(tmp_path / "bot.db")
        inbox = InboxWriter(tmp_path / "bot.db", MovableClock(START), patience=PATIENCE)
        append(inbox, "evt_1")
        store = EngineStore(tmp_path / "bot.db")
        store.runs.begin()
        names = {file.name for file in tmp_path.iterdir()}
        assert {"bot.db", "bot.db-wal", "bot.db-shm", "bot.db.lock", "bot.inbox.db", "bot.inbox.db-wal"} <= names
        assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o600}
    finally:
        os.umask(before)
    store.close()
    inbox.close()


@pytest.mark.parametrize("name", ["bot.db", "bot", "my.bot.sqlite"])
def test_a_damaged_file_names_the_restore_of_that_file(name: str, tmp_path: Path) -> None:
    store = tmp_path / name
    assert "`bot restore BACKUP --keep-inbox`" in StoreDamaged(store, "bad page").advice
    assert "`bot restore --new-inbox`" in StoreDamaged(inbox_path(store), "bad page").advice


def test_a_file_that_others_could_read_is_made_private(tmp_path: Path) -> None:
    path = tmp_path / "bot.db"
    migrate(path)
    path.chmod(0o644)
    migrate(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_of_another_user_is_named_and_what_to_do(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, mode: int) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "chmod", refuse)  # which the tests' own user may be allowed
    with pytest.raises(StoreUnavailable, match="belongs to another user: give the bot's user the right to write it"):
        migrate(path)


def test_commits_are_full_and_logged_ahead(path: Path, inbox: InboxWriter) -> None:
    store = EngineStore(path)
    for connection in (sqlite(inbox), sqlite(store)):
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    store.close()


def test_contacts_data_are_in_no_temporary_file(path: Path, inbox: InboxWriter) -> None:
    store = EngineStore(path)
    for connection in (sqlite(inbox), sqlite(store)):
        assert connection.execute("PRAGMA temp_store").fetchone() == (2,)
    store.close()


def test_a_second_process_is_refused_in_words(path: Path) -> None:
    program = "import sys; from pathlib import Path; from bot.store.engine_store import EngineStore; EngineStore(Path(sys.argv[1]))"
    store = EngineStore(path)
    other = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True)
    assert other.returncode == 1
    assert "bot.db is in use by another process: one bot runs on one store" in other.stderr
    store.close()
    assert subprocess.run([sys.executable, "-c", program, str(path)]).returncode == 0


def test_a_running_server_keeps_migrations_away(path: Path, inbox: InboxWriter) -> None:
    with pytest.raises(StoreLocked):
        migrate(path)


def test_migrating_twice_changes_nothing(path: Path) -> None:
    before = EngineStore(path)
    store_id = before.store_id
    before.close()
    migrate(path)
    after = EngineStore(path)
    assert after.store_id == store_id
    after.close()


def test_a_store_of_a_newer_version_is_refused(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO _sqlite_migrations (migration_set, name) VALUES ('bot-engine', '9 later')")
    connection.close()
    for opens in (migrate, StoreReader, EngineStore):
        with pytest.raises(StoreTooNew, match=r"bot\.db was written by a newer version"):
            opens(path)


@pytest.mark.parametrize("opens", [StoreReader, InboxReader, EngineStore])
def test_a_store_that_is_not_there_is_named(tmp_path: Path, opens: type) -> None:
    with pytest.raises(StoreMissing, match=r"there is no store at .*none.*\.db yet"):
        opens(tmp_path / "none.db")


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.write_text("shopping list, " * 500)
    for opens in (migrate, StoreReader):
        with pytest.raises(StoreDamaged, match=r"notes\.db is damaged .*: stop the bot, then `bot restore BACKUP"):
            opens(path)


def test_another_programs_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    sqlite3.connect(path).execute("CREATE TABLE t (a)").connection.close()
    with pytest.raises(StoreMissing, match="is no store of this program"):
        StoreReader(path)


@pytest.mark.parametrize(
    "opens", [StoreReader, InboxReader, EngineStore, lambda path: InboxWriter(path, MovableClock(START))]
)
def test_a_file_of_an_older_version_is_named_and_what_to_do(
    path: Path, opens: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.store.store_schema.MIGRATIONS", (*MIGRATIONS, Migration("later")))
    with pytest.raises(StoreOutdated, match=r"\.db is of an older version: start the server once"):
        opens(path)
    for file in (path, inbox_path(path)):
        FileLock(file).release()  # nobody holds it


def test_a_reader_cannot_write(path: Path, inbox: InboxWriter) -> None:
    reader = StoreReader(path)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        sqlite(reader).execute("DELETE FROM sessions")
    reader.close()


READS_ON = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("BEGIN")
connection.execute("SELECT count(*) FROM log").fetchone()
print("reads", flush=True)
sys.stdin.read()
"""


def test_a_reader_that_never_ends_keeps_no_writer_waiting_and_what_it_held_back_is_given_free(
    path: Path, inbox: InboxWriter
) -> None:
    append(inbox, "evt_0")
    wal = inbox_path(path).with_name("bot.inbox.db-wal")
    with subprocess.Popen(
        [sys.executable, "-c", READS_ON, str(inbox_path(path))], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"reads\n"
        for number in range(80):
            append(inbox, f"evt_{number + 1}", body=b"x" * 1_000_000)
        assert wal.stat().st_size > WAL_BYTES_KEPT
    for number in range(3):
        append(inbox, f"evt_later_{number}")
    assert wal.stat().st_size <= WAL_BYTES_KEPT


def schema(path: Path) -> dict[str, list[str]]:
    connection = sqlite3.connect(path)
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    ours = sorted(name for (name,) in tables if not name.startswith(("sqlite_", "_sqlite")))
    found = {name: sorted(row[1] for row in connection.execute(f"PRAGMA table_info({name})")) for name in ours}
    connection.close()
    return found


def documented(heading: str) -> dict[str, list[str]]:
    (part,) = re.findall(rf"^## {re.escape(heading)}.*?\n(.*?)(?=^## |\Z)", DOCS.read_text(), re.S | re.M)
    tables = re.findall(r"^### `(\w+)`.*?\n(.*?)(?=^### |\Z)", part, re.S | re.M)
    cells = {table: re.findall(r"^\* (`\w+`(?:, `\w+`)*): ", text, re.M) for table, text in sorted(tables)}
    return {table: sorted(re.findall(r"\w+", " ".join(names))) for table, names in cells.items()}


def test_every_table_and_column_is_documented_and_nothing_else(path: Path) -> None:
    assert documented("The engine's file") == schema(path)
    assert documented("The inbox") == schema(inbox_path(path))


def test_a_store_for_which_the_disk_has_no_room_is_named_when_it_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path) -> None:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    monkeypatch.setattr("bot.store.sqlite_schema.open_to_migrate", full)
    with pytest.raises(StoreUnavailable, match=r"bot\.db cannot be used now .*: make room on its disk"):
        migrate(tmp_path / "bot.db")
