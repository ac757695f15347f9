"""A stopped store is copied to a file or to a database, whole or not at all, and the copy is the same store."""

import os
import re
import resource
import select
import signal
import socket
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg
import pytest

from bot.core.errors import BotError
from bot.store import store_copy, store_schema
from bot.store.database import PostgresAddress, StoreAddress, WholeStore
from bot.store.engine_store import EngineStore
from bot.store.files import (
    StoreDamaged,
    StoreExists,
    StoreLocked,
    StoreMissing,
    StoreOutdated,
    StoreTooNew,
    StoreUnavailable,
    inbox_path,
    server_lock,
)
from bot.store.inbox import _APPEND, InboxReader
from bot.store.kept_files import kept_files
from bot.store.opening import engine_reader, engine_writer, log_writer, signal_key
from bot.store.postgres_copy import stopped_database
from bot.store.sqlite_schema import migrate, tables
from bot.store.store_copy import CannotCopy, copy_store
from bot.store.store_schema import MIGRATIONS, Migration
from bot.store.store_setup import prepare
from tests.patience import PATIENCE
from tests.postgres import Postgres, new_database
from tests.s3_store import BUCKET, s3_store
from tests.store.store_kit import contact_files

APPEND = _APPEND.format("")
ANN = "6281234567890"
TABLES = [table.name for table in tables()]
TEXTS = ["", "a\0b", "\\u0000 \\x00 '\"? $1 %s", "é😀\u202e\x7f\r\n"]
NUMBERS = [0, 2**63 - 1, -(2**63)]
FITTING = {"status": "read", "what": "send", "state": "running", "way": "entered", "message_ids": "[]"}
ROWS = 25  # of each table: more than are copied at once here


@pytest.fixture(autouse=True)
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_copy, "_AT_ONCE", 10)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with rows in each table, of which the last were deleted, and a kept file."""
    store = tmp_path_factory.mktemp("full") / "bot.db"
    migrate(store)
    for part, file in (("engine", store), ("inbox", inbox_path(store))):
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            connection.execute("BEGIN")
            for table in tables():
                if table.name.startswith(part) and not table.name.endswith(".meta"):
                    fill(connection, table.name.partition(".")[2])
                    if table.has_ids:
                        connection.execute(f"DELETE FROM {table.name.partition('.')[2]} WHERE {table.key[0]} = {ROWS}")
            connection.execute("COMMIT")
    with closing(sqlite3.connect(store)) as engine, engine:
        engine.executemany("INSERT INTO aliases VALUES (?, '')", [("a\0b",), ("a1",)])  # PostgreSQL has the other order
        engine.execute("UPDATE meta SET cursor = 20, last_event = '20', last_send = 4711, set_back = 3, taking = 'x'")
    with closing(sqlite3.connect(inbox_path(store))) as inbox, inbox:
        inbox.execute("UPDATE log SET event_id = '20' WHERE seq = 20")
    photo = contact_files(store, ANN) / "photo.jpg"
    photo.parent.mkdir(parents=True)
    photo.write_bytes(os.urandom(10_000))
    with closing(sqlite3.connect(store)) as engine, engine:
        engine.execute("UPDATE sessions SET state = ? WHERE contact LIKE '1 %'", [f'{{"file":"{photo}"}}'])
    return store


def fill(connection: sqlite3.Connection, table: str) -> None:
    columns = connection.execute(f"PRAGMA table_info({table})").fetchall()

    def value(number: int, name: str, kind: str, needed: bool, in_key: bool) -> Any:
        if in_key and kind == "INTEGER":
            return number
        if (not needed and not in_key and number % 2) or (table, name) == ("broadcasts", "flow"):
            return None
        if kind == "INTEGER":
            return number if name in ("send_id", "sent_id") else NUMBERS[number % len(NUMBERS)]
        if kind == "BLOB":
            return bytes(range(256)) * (number % 3)
        return FITTING.get(name, f"{number} {name} {TEXTS[number % len(TEXTS)]}")

    numbers = range(1, ROWS + 1)
    rows = [[value(n, name, kind, needed, bool(key)) for _, name, kind, needed, _, key in columns] for n in numbers]
    if table == "broadcasts":
        place = [column[1] for column in columns].index("template")
        for number, row in enumerate(rows):
            row[place] = f"template {number}"
    connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})", rows)


@pytest.fixture
def empty(postgres: Postgres, tmp_path: Path) -> Iterator[PostgresAddress]:
    """A database without tables."""
    with new_database(postgres, tmp_path, "template0") as made:
        yield made


@pytest.fixture
def database(postgres: Postgres, tmp_path: Path) -> Iterator[PostgresAddress]:
    """A database with the tables of a store."""
    with new_database(postgres, tmp_path) as made:
        yield made


def photos(store: StoreAddress) -> list[bytes]:
    with closing(engine_reader(store)) as reader:
        (state,) = reader.one("SELECT state FROM sessions WHERE contact LIKE '1 %'")
    files = kept_files(store)
    with files.local(state.split('"')[3]) as named, files.local(*files.of(ANN)) as found:
        return [Path(named).read_bytes(), Path(found).read_bytes()]


def test_a_store_is_the_same_there_and_back_and_goes_on_with_the_next_ids(
    full: Path, empty: PostgresAddress, postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[tuple[int, int]] = []
    with new_database(postgres, tmp_path, "template0") as second, s3_store(tmp_path / "objects") as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        other = PostgresAddress(second.url, second.beside, f"s3://{BUCKET}/cafe")
        places: list[StoreAddress] = [full, empty, other, tmp_path / "back.db", tmp_path / "again.db"]
        copies = [copy_store(*pair, lambda *step: steps.append(step)) for pair in pairwise(places)]
        counts = {table.name: table.rows for table in copies[0].tables}
        assert set(counts.values()) == {1, ROWS - 1, ROWS, ROWS + 2} and list(counts) == TABLES
        without_paths = [{t.name: t.hash for t in copy.tables if t.name != "engine.sessions"} for copy in copies]
        assert without_paths == without_paths[:1] * 4
        assert steps[-1] == (2 * copies[0].rows, 2 * copies[0].rows)
        photo = photos(full)
        assert len({signal_key(store) for store in places}) == 1
        for store in places[1:]:
            assert photos(store) == photo
            with (
                closing(EngineStore(store)) as engine,
                closing(log_writer(store)) as log,
                closing(InboxReader(store)) as reader,
            ):
                assert (engine.cursor, engine.ids.last["messages"], engine.set_back) == (20, 4711, 3)
                log.write((APPEND, [(None, id, "x", None, "2030", b"", 1, None) for id in ("20", "new")]))
                assert reader.last_seq() >= ROWS
                engine.database.write(
                    ("INSERT INTO parked (contact, event, parked_at) VALUES (?, ?, ?)", [("1", "", "")])
                )
                assert engine.database.one("SELECT max(id) FROM parked")[0] == ROWS + 1


@pytest.mark.parametrize("kind", ["a file", "a database"])
def test_what_holds_something_already_is_not_copied_to(
    full: Path, kind: str, database: PostgresAddress, tmp_path: Path
) -> None:
    target: StoreAddress = tmp_path / "bot.db" if kind == "a file" else database
    prepare(target)
    with pytest.raises(StoreExists, match=r"holds a store already.*: name "):
        copy_store(full, target)


def test_a_folder_of_files_of_another_store_is_not_copied_to(full: Path, empty: PostgresAddress) -> None:
    kept_files(empty).copy("another.jpg", full)
    with pytest.raises(StoreExists, match=r"has files that are not of this store, such as another\.jpg: .* BOT_FILES"):
        copy_store(full, empty)
    with pytest.raises(StoreMissing):
        engine_reader(empty)


def test_the_same_store_twice_is_refused(full: Path, database: PostgresAddress) -> None:
    for store in (full, database):
        with pytest.raises(CannotCopy, match="is the same store twice"):
            copy_store(store, store)
    with pytest.raises(StoreExists):  # by another address
        copy_store(database, PostgresAddress(database.url + "&connect_timeout=9", database.beside, database.files))


def test_a_store_that_was_copied_may_be_written_though_its_session_has_not_ended_yet(
    database: PostgresAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as as_a_slow_server, ExitStack() as at_end:
        as_a_slow_server.setattr(psycopg.Connection, "close", lambda session: at_end.callback(session.pgconn.finish))
        with stopped_database(database):
            pass
        engine_writer(database).close()
        engine_writer(database).close()


def test_a_store_in_use_is_not_copied(
    full: Path, database: PostgresAddress, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.store.postgres_copy._LEAVES_SECONDS", 0.0)
    for opens in (EngineStore, log_writer):
        for store, error in (
            (full, "is in use by another process"),
            (database, "is in use.*: stop the bot on each machine"),
        ):
            with closing(opens(store)), pytest.raises(StoreLocked, match=error):
                copy_store(store, tmp_path / "new.db")
    lock = server_lock(full)
    with pytest.raises(CannotCopy, match=r"a server runs on .*bot\.db: stop it first"):
        copy_store(full, tmp_path / "new.db")
    lock.release()
    elsewhere = replace(database, url="postgresql://other/bot")  # of the same bot, which has one lock for both
    lock = server_lock(database)
    with pytest.raises(CannotCopy, match=rf"a server runs on {re.escape(str(database))}: stop it first"):
        copy_store(database, elsewhere)
    lock.release()


def test_a_store_of_another_version_is_not_copied(
    database: PostgresAddress, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "bot.db"
    migrate(file)
    later = (*MIGRATIONS, Migration("later"))
    monkeypatch.setattr(store_schema, "MIGRATIONS", later)
    for store in (file, database):
        with pytest.raises(StoreOutdated, match="start the server once"):
            copy_store(store, tmp_path / "new.db")
        prepare(store)
    monkeypatch.setattr(store_schema, "MIGRATIONS", MIGRATIONS)
    for store in (file, database):
        with pytest.raises(StoreTooNew, match="install that one"):
            copy_store(store, tmp_path / "new.db")
    with pytest.raises(StoreMissing, match="there is no store at"):
        copy_store(tmp_path / "none.db", tmp_path / "new.db")


def test_a_damaged_store_is_not_copied(full: Path, empty: PostgresAddress, tmp_path: Path) -> None:
    for file in (full, inbox_path(full)):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    with (tmp_path / "bot.db").open("r+b") as damaged:
        damaged.seek(40 * 2048)
        damaged.write(b"damage" * 300)
    with pytest.raises(StoreDamaged):
        copy_store(tmp_path / "bot.db", empty)
    with pytest.raises(StoreMissing):
        engine_reader(empty)


def test_a_row_that_the_other_database_cannot_keep_is_named(tmp_path: Path, empty: PostgresAddress) -> None:
    store = tmp_path / "bot.db"
    migrate(store)
    with closing(sqlite3.connect(store)) as connection, connection:
        long = "".join(chr(0x4E00 + number * 7919 % 20000) for number in range(9000))
        connection.execute("INSERT INTO aliases VALUES (?, '1')", [long])
    with pytest.raises(CannotCopy, match=r"engine\.aliases has a row that the other database cannot keep.*: delete it"):
        copy_store(store, empty)


def in_a_child(run: Callable[[], object]) -> int:
    """How a process ends that does this: with the number of a signal, 0, or 1 for an error in words."""
    if (pid := os.fork()) == 0:
        try:
            run()
            os._exit(0)
        except BotError:
            os._exit(1)
        except BaseException:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def not_there(store: StoreAddress) -> bool:
    with pytest.raises(StoreMissing):
        engine_reader(store)
    return True


@pytest.mark.parametrize("to_file", [False, True])
def test_a_copy_that_is_killed_at_any_table_leaves_no_store_and_can_be_begun_anew(
    full: Path, empty: PostgresAddress, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to_file: bool
) -> None:
    target: StoreAddress = tmp_path / "new.db" if to_file else empty
    insert = store_copy._insert
    for name in TABLES[to_file::2]:

        def killed(store: WholeStore, table: Any, rows: Any, at: str = name) -> None:
            insert(store, table, rows)
            if table.name == at:
                os.kill(os.getpid(), signal.SIGKILL)

        monkeypatch.setattr(store_copy, "_insert", killed)
        assert in_a_child(lambda: copy_store(full, target)) == -signal.SIGKILL
        assert not_there(target)
    monkeypatch.setattr(store_copy, "_insert", insert)
    copy_store(full, target)
    assert photos(target) == photos(full)


def test_on_a_disk_that_becomes_full_there_is_no_store(full: Path, tmp_path: Path) -> None:
    def copied() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        copy_store(full, tmp_path / "new.db")

    assert in_a_child(copied) == 1
    assert not_there(tmp_path / "new.db")


@pytest.mark.parametrize("lost", ["source", "target"])
def test_a_lost_connection_is_said_in_words_and_leaves_no_store(
    full: Path, empty: PostgresAddress, database: PostgresAddress, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    source, target = (database, empty) if lost == "source" else (full, empty)
    ended = database if lost == "source" else empty
    insert = store_copy._insert

    def cut(*arguments: Any) -> None:
        with psycopg.connect(ended.url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'bot-flows %'"
            )
        insert(*arguments)

    monkeypatch.setattr(store_copy, "_insert", cut)
    with pytest.raises(StoreUnavailable, match="cannot be used now"):
        copy_store(source, target)
    assert not_there(target)


@contextmanager
def cut_at_commit(postgres: Postgres, folder: Path) -> Iterator[None]:
    """A way to the server, by the socket in a folder, on which the first answer to a COMMIT is lost, with the connection."""

    def relay() -> None:
        for cuts in (True, False):
            near, far = listener.accept()[0], socket.socket(socket.AF_UNIX)
            with near, far:
                far.connect(f"{postgres.folder}/.s.PGSQL.5432")
                sent = b""
                while ready := select.select([near, far], [], [])[0]:
                    if not (data := ready[0].recv(65536)) or (cuts and ready[0] is far and b"COMMIT" in sent):
                        break
                    sent = data if ready[0] is near else sent
                    (far if ready[0] is near else near).sendall(data)

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder}/.s.PGSQL.5432")
        listener.listen()
        listener.settimeout(PATIENCE)
        with ThreadPoolExecutor() as threads:
            relayed = threads.submit(relay)
            yield
            relayed.result(PATIENCE)


def test_a_copy_whose_connection_is_lost_when_it_was_committed_is_there(
    full: Path, empty: PostgresAddress, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory() as folder, cut_at_commit(postgres, Path(folder)):
        there = replace(empty, url=empty.url.replace(str(postgres.folder), folder))
        assert copy_store(full, there).tables
    engine_reader(empty).close()


def test_a_copy_that_differs_is_refused(full: Path, empty: PostgresAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    insert = store_copy._insert
    monkeypatch.setattr(store_copy, "_insert", lambda store, table, rows: insert(store, table, rows[1:] or rows))
    with pytest.raises(CannotCopy, match="was not copied as it is"):
        copy_store(full, empty)
    assert not_there(empty)
