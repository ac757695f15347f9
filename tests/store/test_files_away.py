"""Files of a store that are deleted or replaced while a bot runs, and a ``-wal`` that grows behind a reader."""

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.core.alarms import Alarms
from bot.core.clock import SystemClock
from bot.server.doctor import store_state
from bot.store import lock_watch, sqlite_database
from bot.store.files import StoreUnavailable, inbox_path
from bot.store.inbox import _APPEND, InboxReader
from bot.store.lock_watch import watches_locks
from bot.store.sqlite_database import SqliteDatabase
from bot.store.sqlite_schema import migrate
from tests.patience import wait_for
from tests.postgres import about_files

pytestmark = about_files
READS = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('BEGIN'); c.execute('SELECT * FROM meta').fetchall(); print(flush=True); sys.stdin.read()"


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    migrate(tmp_path / "bot.db")
    return inbox_path(tmp_path / "bot.db")


@pytest.fixture
def database(inbox: Path) -> Iterator[SqliteDatabase]:
    with closing(SqliteDatabase.writer(inbox)) as opened:
        yield opened


def append(database: SqliteDatabase, event_id: str, body: bytes = b"") -> None:
    database.write(
        (_APPEND.format(""), [(None, event_id, "x", None, "2026-01-01T00:00:00.000000+00:00", body, 1, None)])
    )


def test_nothing_is_acknowledged_in_a_file_that_was_deleted_until_it_is_back(
    inbox: Path, database: SqliteDatabase
) -> None:
    append(database, "before")
    away = inbox.rename(inbox.with_name("away"))
    with pytest.raises(StoreUnavailable, match=r"inbox\.db was deleted or replaced while the bot runs: put the same"):
        append(database, "lost")
    away.rename(inbox)
    append(database, "after")
    assert [id for (id,) in database.all("SELECT event_id FROM log ORDER BY seq")] == ["before", "after"]


def test_nothing_is_acknowledged_in_a_file_that_was_replaced(inbox: Path, database: SqliteDatabase) -> None:
    copy = Path(shutil.copy(inbox, inbox.with_name("copy")))
    copy.replace(inbox)
    with pytest.raises(StoreUnavailable, match="was deleted or replaced"):
        append(database, "lost")
    with pytest.raises(StoreUnavailable, match="was deleted or replaced"), database.transaction():
        pass


@pytest.mark.parametrize("end", ["-wal", "-shm"])
def test_what_was_acknowledged_before_a_file_of_sqlites_own_was_deleted_survives_a_kill(
    inbox: Path, database: SqliteDatabase, end: str
) -> None:
    append(database, "before")
    inbox.with_name(inbox.name + end).unlink()
    with pytest.raises(StoreUnavailable, match=f"{end} was deleted or replaced .* stop the bot and start it again"):
        append(database, "lost")
    killed = inbox.with_name("killed.inbox.db")
    shutil.copy(inbox, killed)  # what the next process finds
    with closing(sqlite3.connect(killed)) as found:
        assert found.execute("SELECT event_id FROM log").fetchall() == [("before",)]


def test_a_wal_that_grows_behind_a_reader_is_an_alarm_and_a_finding_with_the_readers_process(
    inbox: Path, database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_database, "_GROWN_BYTES", 1 << 20)
    monkeypatch.setattr(lock_watch, "LOOK_SECONDS", 0.01)
    alarms, store = Alarms(SystemClock()), inbox.with_name("bot.db")
    with watches_locks({"no event is accepted": database}, alarms):
        with subprocess.Popen(
            [sys.executable, "-c", READS, str(inbox)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as reader:
            assert reader.stdin is not None and reader.stdout is not None
            reader.stdout.readline()
            assert not alarms.current()
            append(database, "large", b"x" * (2 << 20))
            database.connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
            wait_for(lambda: bool(alarms.current()))
            (alarm,) = alarms.current()
            assert alarm.name == "store-grows" and "end that program" in alarm.advice
            grows = f"MB and grows, because the process {reader.pid} ("
            assert alarm.what.startswith(f"{inbox}-wal has ") and grows in alarm.what
            assert [one for one in store_state(store, datetime.now(UTC)) if grows in one.what]
            reader.stdin.close()
        database.wipe()
        wait_for(lambda: not alarms.current())
    with closing(InboxReader(store)) as log:
        assert log.has("large")
