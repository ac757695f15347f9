"""What the store asks in the words of PostgreSQL: every query is understood there, and both kinds of stores have the same tables."""

import importlib
import pkgutil
import re
import sqlite3
from collections.abc import Generator, Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import psycopg
import pytest

import bot.store
from bot.core.clock import SystemClock
from bot.core.errors import BotError
from bot.store import postgres_database
from bot.store.database import Database, PendingStatement, PostgresAddress
from bot.store.engine_store import EngineStore
from bot.store.files import StoreLocked, StoreMissing, StoreUnavailable, inbox_path
from bot.store.inbox import _APPEND, InboxBusy, InboxReader, InboxWriter
from bot.store.opening import (
    DriverMissing,
    engine_reader,
    engine_writer,
    log_writer,
    other_engines,
    works_elsewhere,
)
from bot.store.postgres_database import PostgresDatabase, connect, translated
from bot.store.postgres_schema import migrate
from bot.store.sqlite_schema import migrate as migrate_files
from bot.store.store_backup import back_up, restore
from tests.patience import PATIENCE, wait_for
from tests.postgres import QUICK, Postgres, new_database, postgres_server
from tests.store.store_kit import START

APPEND = _APPEND.format("")
OF_FILES = {"files", "integrity", "store_backup", "store_schema"}
OF_THE_LOG = {"inbox"}
A_QUERY = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE)\b")
A_PATTERN = re.compile(r"\{\w*\}")


@pytest.fixture
def address(postgres: Postgres, tmp_path: Path) -> Iterator[PostgresAddress]:
    with new_database(postgres, tmp_path) as made:
        yield made


def queries() -> Iterator[tuple[str, str]]:
    """Each query that a module of the store has as a constant, with the name of the module."""
    for found in pkgutil.iter_modules(bot.store.__path__):
        if found.name not in OF_FILES and not found.name.startswith(("sqlite", "postgres")):
            for value in vars(importlib.import_module(f"bot.store.{found.name}")).values():
                values = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else [value]
                for sql in values:
                    if isinstance(sql, str) and A_QUERY.match(sql) and not A_PATTERN.search(sql):
                        yield found.name, sql


def test_postgresql_understands_every_query(address: PostgresAddress) -> None:
    asked = [*queries()]
    assert len(asked) > 150
    for schema in ("engine", "inbox"):
        with connect(address, schema) as connection:
            connection.prepare_threshold = None
            for module, sql in asked:
                if (module in OF_THE_LOG) == (schema == "inbox") and "pg_" not in sql:
                    connection.execute(f"PREPARE asked AS {translated(sql)}")
                    connection.execute("DEALLOCATE asked")


def test_both_kinds_of_stores_have_the_same_columns(address: PostgresAddress, tmp_path: Path) -> None:
    migrate_files(tmp_path / "bot.db")
    parts: tuple[tuple[Literal["engine", "inbox"], Path], ...] = (
        ("engine", tmp_path / "bot.db"),
        ("inbox", inbox_path(tmp_path / "bot.db")),
    )
    for schema, file in parts:
        with closing(sqlite3.connect(file)) as connection:
            tables = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')").fetchall()
            names = [name for (name,) in tables if "sqlite" not in name]
            files = {name: [column[1] for column in connection.execute(f"PRAGMA table_info({name})")] for name in names}
        with connect(address, schema) as other:
            found = other.execute(
                "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = $1 ORDER BY ordinal_position",
                [schema],
            ).fetchall()
        assert files == {name: [column for table, column in found if table == name] for name in files}


def test_one_engine_at_a_time_writes_and_any_number_of_web_processes(address: PostgresAddress) -> None:
    with closing(engine_writer(address)), closing(log_writer(address)), closing(log_writer(address)):
        with pytest.raises(StoreLocked, match="one at a time writes a store"):
            engine_writer(address)
    for _ in range(20):  # a closed one holds nothing any more, also where its session takes a moment to end
        engine_writer(address).close()


def test_a_pooler_that_shares_sessions_is_refused(address: PostgresAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    """There each engine gets the lock that the other one has."""
    with connect(address, "engine") as session:
        monkeypatch.setattr("bot.store.postgres_database.connect", lambda *_: session)
        with pytest.raises(StoreUnavailable, match="gives several connections one session"):
            engine_writer(address)


def test_web_is_refused_there_too(address: PostgresAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another's settings and prepared statements would be its own: an event would get into another table."""
    with connect(address, "inbox") as session:
        monkeypatch.setattr("bot.store.postgres_database.connect", lambda *_: session)
        with pytest.raises(StoreUnavailable, match="gives several connections one session"):
            log_writer(address)


def test_a_database_without_tables_is_no_store_yet(postgres: Postgres, tmp_path: Path) -> None:
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE empty")
    empty = PostgresAddress(postgres.url("empty"), tmp_path / "bot", tmp_path)
    with pytest.raises(StoreMissing, match="`bot serve` makes one"):
        engine_reader(empty)
    for _ in range(2):  # the second machine finds what the first has made
        migrate(empty)
    engine_reader(empty).close()


def test_what_a_role_sets_for_its_sessions_does_not_end_or_change_those_of_the_bot(
    postgres: Postgres, address: PostgresAddress
) -> None:
    disturbing = {
        "default_transaction_isolation": "serializable",
        "statement_timeout": "100ms",
        "lock_timeout": "100ms",
        "idle_session_timeout": "100ms",
        "standard_conforming_strings": "off",
    }
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS disturbed; CREATE ROLE disturbed LOGIN SUPERUSER")
        for name, value in disturbing.items():
            connection.execute(f"ALTER ROLE disturbed SET {name} = '{value}'")
    of_role = PostgresAddress(address.url.replace("bot@", "disturbed@"), address.beside, address.files)
    with connect(of_role, "engine") as session:
        found = {name: (session.execute(f"SHOW {name}").fetchone() or ("",))[0] for name in disturbing}
    timeouts = {name: "0" for name in disturbing if name.endswith("timeout")}
    assert found == {**timeouts, "default_transaction_isolation": "read committed", "standard_conforming_strings": "on"}


def test_times_sort_as_they_read_and_texts_with_a_nul_are_kept(address: PostgresAddress) -> None:
    with closing(engine_writer(address)) as database:
        database.write(("INSERT INTO aliases (alias, contact) VALUES (?, ?)", [("b", "a\0b"), ("B", "2"), ("a", "3")]))
        rows = database.all("SELECT alias, contact FROM aliases ORDER BY alias")
    assert rows == [("B", "2"), ("a", "3"), ("b", "a\\u0000b")]


@pytest.mark.parametrize(
    ("stored", "read"),
    [
        (r"a\u0000b", r"a\u0000b"),  # as they are in a column of their own
        (r"a\ud83d", r"a\ud83d"),
        (r"\ud800\u0000", r"\ud800\u0000"),
        (r"\\u0000", r"\u0000"),
        (r"\\\u0000", r"\\u0000"),
        (r"\u0007", "\a"),
        ("é😀", "é😀"),
    ],
)
def test_json_with_what_postgresql_does_not_read_in_it_is_read(
    address: PostgresAddress, stored: str, read: str
) -> None:
    with closing(engine_reader(address)) as database:
        assert database.all("SELECT value FROM json_each(?)", f'["{stored}"]') == [(read,)]
        asked = (
            "SELECT body ->> 'text', CAST(body ->> 'attempts' AS BIGINT) FROM (SELECT CAST(? AS TEXT) AS body) AS one"
        )
        assert database.one(asked, f'{{"text": "{stored}", "attempts": 2}}') == (read, 2)


@pytest.mark.parametrize("before", ["我的号码是", "é", "\\", "\\1", "\0", "\x7f", " "])
def test_a_number_in_an_event_without_a_contact_is_found_whatever_stands_before_it(
    address: PostgresAddress, before: str
) -> None:
    with closing(log_writer(address)) as database:
        for body in (f"{before}6281234567890é".encode(), b"\xff6281234567890", b"16281234567890"):
            database.write((APPEND, [(None, body.hex(), "x", None, "2026-01-01", body, 0, None)]))
    with closing(InboxReader(address)) as inbox:
        assert inbox.of_contact("6281234567890", 10) == ([2] if before == "\\1" else [1, 2])


REFUSES = """
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN RAISE EXCEPTION 'not now' USING ERRCODE = '{}'; END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON log FOR EACH ROW EXECUTE FUNCTION refuse();
"""


@pytest.mark.parametrize("code", ["53100", "40P01", "57014", "55P03", "XX001", "XX000", "25P03", "0A000", "42501"])
def test_whatever_is_wrong_with_the_server_the_sender_sends_again_and_later_events_are_kept(
    address: PostgresAddress, code: str
) -> None:
    with connect(address, "inbox") as other, closing(InboxWriter(address, SystemClock(), patience=PATIENCE)) as inbox:
        other.execute(REFUSES.format(code), prepare=False)
        for _ in range(2):
            with pytest.raises(InboxBusy, match="not now"):
                inbox.append(inbox.event(None, "1", "x", None, SystemClock().now(), b"", True))
            with pytest.raises(InboxBusy, match="not now"):
                inbox.check()
        other.execute("DROP TRIGGER refuse ON log")
        inbox.check()
        assert not inbox.append(inbox.event(None, "1", "x", None, SystemClock().now(), b"", True)).duplicate


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        ("53100", "make room on the disk of PostgreSQL"),
        ("25006", "set default_transaction_read_only = off, or let BOT_STORE lead to the primary"),
        ("42501", "give its user this right, or let it own the tables"),
        ("42P05", "set the pooler before it (PgBouncer, for example) to session mode, or leave it out (BOT_STORE)"),
        ("26000", "set the pooler before it (PgBouncer, for example) to session mode, or leave it out (BOT_STORE)"),
        ("57014", "see whether PostgreSQL runs, takes more connections, and lets this machine in (BOT_STORE)"),
    ],
)
def test_trouble_with_the_server_has_advice_that_is_right_for_it(
    address: PostgresAddress, code: str, advice: str
) -> None:
    with connect(address, "inbox") as other, closing(log_writer(address)) as database:
        other.execute(REFUSES.format(code), prepare=False)
        with pytest.raises(StoreUnavailable) as refused:
            database.write((APPEND, [(None, "1", "x", None, "2026-01-01", b"", 0, None)]))
    assert refused.value.advice == advice


def test_a_machine_that_is_paused_in_a_commit_does_not_keep_the_others_from_theirs(address: PostgresAddress) -> None:
    with connect(address, "inbox") as paused, closing(InboxWriter(address, SystemClock(), patience=PATIENCE)) as inbox:
        assert paused.execute("SHOW idle_in_transaction_session_timeout").fetchone() == ("10s",)
        paused.execute("SET idle_in_transaction_session_timeout = 50")
        with pytest.raises(psycopg.errors.IdleInTransactionSessionTimeout), paused.transaction():
            paused.execute("SELECT pg_advisory_xact_lock(7031, 1)")
            assert not inbox.append(inbox.event(None, "1", "x", None, SystemClock().now(), b"", True)).duplicate
            paused.execute("SELECT 1")


def test_a_sender_is_answered_before_the_engines_of_other_machines_are_woken(
    address: PostgresAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    with closing(InboxWriter(address, SystemClock(), patience=PATIENCE)) as inbox:
        monkeypatch.setattr(PostgresDatabase, "wake", lambda database, shards: done.append("woken"))
        event = inbox.event(None, "1", "x", None, SystemClock().now(), b"", True)
        inbox.hand_over([event], lambda: done.append("answered"))
        wait_for(lambda: len(done) == 2)
    assert done == ["answered", "woken"]


def test_the_database_wakes_engines_only_where_the_web_process_wakes_none(address: PostgresAddress) -> None:
    woken: list[int] = []
    with connect(address, "inbox") as beside:
        beside.execute(f"LISTEN {postgres_database.events_channel(None)}")
        for wake, notices in (woken.extend, 0), (None, 1):
            with closing(InboxWriter(address, SystemClock(), patience=PATIENCE, wake=wake)) as inbox:
                inbox.append(inbox.event(None, str(notices), "x", None, SystemClock().now(), b"", True))
            beside.execute("SELECT 1")
            assert len([*beside.notifies(timeout=notices * PATIENCE, stop_after=1)]) == notices
    assert woken == [0]


def plans(database: Database) -> list[str]:
    """The server's plans for all that a connection has asked so far."""
    assert isinstance(database, PostgresDatabase) and database._open is not None
    found = []
    for name in (name.decode() for name in database._statements._names.values()):
        [(count,)] = database._open.execute(
            "SELECT cardinality(parameter_types) FROM pg_prepared_statements WHERE name = $1", [name]
        ).fetchall()
        given = f"({', '.join(['0'] * count)})" if count else ""
        found.append("\n".join(line for (line,) in database._open.execute(f"EXPLAIN EXECUTE {name}{given}")))
    return found


def test_what_a_cycle_asks_does_not_take_longer_in_longer_tables(address: PostgresAddress) -> None:
    """Nor where the server has made its plan while they were short."""
    with closing(InboxReader(address)) as log, closing(EngineStore(address)) as store:
        for _ in range(10):  # from the sixth time on, it keeps the plan
            assert not (log.after(0, 1) or log.has("1") or log.has_after(0) or log.last_seq() or log.stale()[0])
            store.sessions.known(["1"])
            store.sessions.contacts_of_aliases(["1"])
            store.sessions._read_due(START, 1)
            assert not (store.messages.pending(0, 1) or store.messages.sent("1") or store.parked.rows("1"))
        of_log, of_store = plans(log.database), plans(store.database)
        assert not [plan for plan in of_log if "Sort" in plan or "JIT" in plan]
        for plan in chain(of_log, of_store):
            assert {*re.findall(r"Seq Scan on (\w+)", plan)} <= {"meta", "events_out"}, plan  # one row; is there any?


def test_a_commit_is_one_exchange_with_the_server(address: PostgresAddress, tmp_path: Path) -> None:
    """The server says after each exchange that it is ready for the next."""
    trace = tmp_path / "trace"
    with closing(log_writer(address)) as log, closing(engine_writer(address)) as engine:
        for database in (log, engine):
            assert isinstance(database, PostgresDatabase) and database._open is not None
            with trace.open("a") as file:
                database._open.pgconn.trace(file.fileno())
                if database is log:
                    database.write_each([PendingStatement(APPEND, (None, "1", "x", None, "2026-01-01", b"", 1, None))])
                else:
                    database.write(("UPDATE meta SET cursor = ?", [(1,)]), ("UPDATE meta SET taking = NULL", [()]))
                database._open.pgconn.untrace()
    assert trace.read_text().count("ReadyForQuery") == 2


def test_the_rows_of_a_commit_are_sent_together(address: PostgresAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not each by itself, after a look whether the connection takes it: that wakes the server as often."""
    looks = list[object]()

    def watched(waiting: Generator[object, object, object]) -> Generator[object, object, object]:
        ready: object = None
        try:
            while True:
                looks.append(ready)
                ready = yield waiting.send(ready)
        except StopIteration as end:
            return end.value

    with closing(engine_writer(address)) as engine:
        assert isinstance(engine, PostgresDatabase) and engine._open is not None
        wait: Any = engine._open.wait
        monkeypatch.setattr(engine._open, "wait", lambda waiting, *given: wait(watched(waiting), *given))
        engine.write(("UPDATE meta SET cursor = ?", [(number,) for number in range(100)]))
        assert len(looks) < 10
        assert engine.one("SELECT cursor FROM meta") == (99,)


def test_what_fails_at_the_end_of_a_commit_is_no_commit(address: PostgresAddress) -> None:
    """The server checks some rules only there, and says so after the last statement's result."""
    with closing(engine_writer(address)) as engine:
        with engine.transaction() as execute:
            execute("CREATE TABLE once (it BIGINT UNIQUE DEFERRABLE INITIALLY DEFERRED)")
        engine.write(("INSERT INTO once VALUES (?)", [(1,)]))
        with pytest.raises(psycopg.errors.UniqueViolation):
            engine.write(("INSERT INTO once VALUES (?)", [(2,), (1,)]), ("UPDATE meta SET cursor = ?", [(1,)]))
        engine.write(("INSERT INTO once VALUES (?)", [(3,)]))
        assert engine.all("SELECT it, cursor FROM once, meta") == [(1, 0), (3, 0)]


def test_an_exchange_that_is_cut_off_is_not_continued(
    address: PostgresAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An inbox goes on after it had no memory."""

    def has_no_memory(*given: object) -> None:
        raise MemoryError

    cut_off, write = (PendingStatement(APPEND, (None, id, "x", None, "2026-01-01", b"", 1, None)) for id in ("1", "2"))
    with closing(log_writer(address)) as database:
        assert isinstance(database, PostgresDatabase) and database._open is not None
        monkeypatch.setattr(database._open, "wait", has_no_memory)
        with pytest.raises(MemoryError):
            database.write_each([cut_off])
        database.write_each([write])
    assert write.rows_changed == 1


def test_a_text_that_no_index_takes_is_refused_alone_and_blocks_no_commit(address: PostgresAddress) -> None:
    long = "".join(chr(0x4E00 + number * 7919 % 20000) for number in range(9000))
    writes = [
        PendingStatement(APPEND, (None, id, "x", None, "2026-01-01", b"", 1, None)) for id in (long, "short", "e" * 300)
    ]
    with closing(log_writer(address)) as database:
        database.write_each(writes)
        assert [write.error is None for write in writes] == [False, True, True]
        with pytest.raises(psycopg.errors.ProgramLimitExceeded):  # not StoreUnavailable, which is tried for ever
            database.write((APPEND, [writes[0].parameters]))


def test_a_database_without_rights_or_of_another_encoding_is_refused_in_words(
    postgres: Postgres, tmp_path: Path
) -> None:
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as connection:
        connection.execute("CREATE ROLE weak LOGIN")
        for encoding in ("LATIN1", "SQL_ASCII"):
            connection.execute(f"CREATE DATABASE {encoding} TEMPLATE template0 ENCODING '{encoding}' LOCALE 'C'")
    weak = postgres.url(postgres.template(1)).replace("bot@", "weak@")
    with pytest.raises(StoreUnavailable, match="permission denied for schema bot"):
        engine_reader(PostgresAddress(weak, tmp_path / "bot", tmp_path))
    weak = postgres.url("postgres").replace("bot@", "weak@")
    with pytest.raises(StoreUnavailable, match="permission denied for database postgres"):
        migrate(PostgresAddress(weak, tmp_path / "bot", tmp_path))
    for encoding in ("LATIN1", "SQL_ASCII"):
        with pytest.raises(StoreUnavailable, match=f"has the encoding {encoding}.*ENCODING 'UTF8'"):
            migrate(PostgresAddress(postgres.url(encoding.lower()), tmp_path / "bot", tmp_path))


def test_no_query_has_a_question_mark_or_dollar_in_a_text_of_its_own(address: PostgresAddress) -> None:
    """It would be taken for a placeholder."""
    for _, sql in queries():
        texts = re.findall(r"'[^']*'", sql)
        assert not [text for text in texts if "?" in text or re.search(r"\$\d", text)]


def test_a_machine_that_is_silent_does_not_serve(address: PostgresAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_database, "gethostname", lambda: "paused")
    monkeypatch.setattr(postgres_database, "_SERVER_NAME", "0001")
    with closing(PostgresDatabase(address, "inbox", role="web")):
        monkeypatch.setattr(postgres_database, "gethostname", lambda: "alive")
        monkeypatch.setattr(postgres_database, "_SERVER_NAME", "0002")
        with closing(PostgresDatabase(address, "engine", role="standby")) as alive:
            assert [str(machine) for machine in alive.machines()] == ["alive waits", "paused accepts events"]
            at_once = postgres_database._SESSIONS.replace("secs => 5", "secs => 0")
            monkeypatch.setattr(postgres_database, "_SESSIONS", at_once)
            wait_for(
                lambda: [str(machine) for machine in alive.machines()] == ["alive waits"]
            )  # the other's backend may be busy yet


def test_an_engine_that_could_not_take_over_is_not_shown_as_one_that_waits(address: PostgresAddress) -> None:
    able = [True]
    with closing(engine_reader(address)) as database, other_engines(address, lambda: able[0]) as others_run:
        assert not others_run()
        assert [machine.engine for machine in database.machines()] == ["waits"]
        able[0] = False
        assert not others_run()
        assert database.machines() == []


def test_an_engine_whose_session_only_lingers_works_no_more(address: PostgresAddress) -> None:
    """PostgreSQL ends a session a moment after its connection is closed, and the next part of a command is asked at once."""
    with closing(engine_writer(address)):
        assert works_elsewhere(address)
    with connect(address, "engine", "engine"):
        assert not works_elsewhere(address)


def test_a_backup_of_a_database_names_what_makes_one(tmp_path: Path) -> None:
    store = PostgresAddress("postgresql://bot:secret@db/bot", tmp_path / "bot", tmp_path)
    for refuses in (lambda: back_up(store, tmp_path / "new"), lambda: restore(store, tmp_path, START)):
        with pytest.raises(BotError, match=r"^postgresql://bot@db/bot is .*such as pg_basebackup or pgBackRest"):
            refuses()


def test_without_its_driver_it_says_what_to_install(address: PostgresAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.store.opening.find_spec", lambda name: None)
    with pytest.raises(DriverMissing, match=r"pip install 'bot-flows\[postgres\]'"):
        engine_reader(address)


def test_the_server_notices_a_machine_that_has_vanished(
    tmp_path: Path, free_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while an answer is on its way to it, when no keepalives are sent."""
    monkeypatch.setenv("PGPORT", str(free_port))
    with postgres_server((*QUICK, "listen_addresses=127.0.0.1")):
        address = PostgresAddress(f"postgresql://bot@127.0.0.1:{free_port}/postgres", tmp_path / "bot", tmp_path)
        with connect(address, "engine") as connection:
            names = "tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count", "tcp_user_timeout"
            settings = [
                connection.execute(f"SELECT setting FROM pg_settings WHERE name = '{name}'").fetchone()
                for name in names
            ]
    assert settings == [("5",), ("1",), ("5",), ("10000",)]
