"""An alarm names the session that holds up a store, in a real PostgreSQL."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest

from bot.core.alarms import Alarms
from bot.core.clock import SystemClock
from bot.store import lock_watch
from bot.store.database import PendingStatement, PostgresAddress
from bot.store.lock_watch import watches_locks
from bot.store.opening import engine_writer, log_writer
from tests.patience import PATIENCE, wait_for
from tests.postgres import Postgres, new_database

APPEND = "INSERT INTO log (event_id, name, received_at, body, readable) VALUES ('e', '', '', ''::bytea, 1)"


@pytest.fixture
def address(postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresAddress]:
    monkeypatch.setattr(lock_watch, "LOOK_SECONDS", 0.01)
    with new_database(postgres, tmp_path) as made:
        yield made


@contextmanager
def dba_locks(address: PostgresAddress, table: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(address.url, application_name="nightly report") as dba:
        dba.execute(f"LOCK TABLE {table}")
        yield dba


def test_the_session_that_holds_a_lock_has_its_name_in_the_alarm_until_it_lets_go(address: PostgresAddress) -> None:
    alarms = Alarms(SystemClock())
    with (
        closing(log_writer(address)) as database,
        ThreadPoolExecutor() as threads,
        watches_locks({"no event is accepted": database}, alarms, waited=0),
    ):
        with dba_locks(address, "inbox.log") as dba:
            kept = threads.submit(database.write_each, [PendingStatement(APPEND, ())])
            wait_for(lambda: bool(alarms.current()))
            (alarm,) = alarms.current()
            pid = dba.info.backend_pid
            assert alarm.name == "store-locked" and alarm.advice.endswith(f"SELECT pg_terminate_backend({pid})")
            assert alarm.what.startswith(f"no event is accepted: the session {pid} (nightly report, user bot, ")
            assert "holds a lock, in a transaction since 20" in alarm.what
            dba.rollback()
        kept.result(PATIENCE)
        wait_for(lambda: not alarms.current())


def test_a_session_that_itself_waits_for_the_lock_is_not_blamed(address: PostgresAddress) -> None:
    with closing(log_writer(address)) as first, closing(log_writer(address)) as second, ThreadPoolExecutor() as threads:
        with dba_locks(address, "inbox.log") as dba:
            threads.submit(first.write_each, [PendingStatement(APPEND, ())])
            wait_for(lambda: first.held_up(0) is not None)
            threads.submit(
                second.write_each, [PendingStatement(APPEND, ())]
            )  # it waits for the first, which waits for the DBA
            wait_for(lambda: second.held_up(0) is not None)
            assert f"the session {dba.info.backend_pid} (nightly report" in (second.held_up(0) or ("", ""))[0]


def test_without_a_lock_nobody_is_blamed(address: PostgresAddress) -> None:
    with closing(engine_writer(address)) as database:
        assert database.held_up(0) is None
        with database.transaction():
            assert database.held_up(0) is None
