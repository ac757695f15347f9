"""What keeps machines that share a store from harming each other: each guard holds, and is missed where it is taken out."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from unittest.mock import patch

import psycopg
import pytest

from bot.store import postgres_database
from bot.store.database import PendingStatement, PostgresAddress
from bot.store.files import ConnectionLost
from bot.store.inbox import _APPEND, InboxReader
from bot.store.opening import engine_reader, engine_writer, log_writer, other_engines
from bot.store.postgres_database import PostgresDatabase, connect
from tests.patience import PATIENCE
from tests.postgres import Postgres, new_database

APPEND = _APPEND.format("")
SET_CURSOR = "UPDATE meta SET cursor = $1"
AT_ONCE = postgres_database.END_SILENT.replace("secs => 5", "secs => 0")
"""Who is silent is silent for too long."""


@dataclass
class Shared:
    """A store, and how many seconds something may take there."""

    address: PostgresAddress
    patience: float = PATIENCE

    def comes(self, what: Callable[[], object]) -> bool:
        until = monotonic() + self.patience
        while not what():
            if monotonic() > until:
                return False
            sleep(0.005)
        return True

    def ask(self, sql: str) -> int:
        with connect(self.address, "engine") as connection:
            return int((connection.execute(sql, prepare=False).fetchone() or (0,))[0])

    def waiting(self) -> int:
        return self.ask("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")

    def cursor(self) -> int:
        return self.ask("SELECT cursor FROM meta")


def append(event_id: str, delivery: str | None = None) -> PendingStatement:
    return PendingStatement(APPEND, (delivery, event_id, "x", None, "2026-01-01", b"", 1, None))


@contextmanager
def half_a_commit(store: Shared, database: PostgresDatabase, sql: str, *parameters: object) -> Iterator[None]:
    """A machine that is paused while it sends a commit, and sends the rest of it at the end of the block."""
    connection = database._open
    assert connection is not None
    with connection.pipeline():
        connection.execute("BEGIN")
        connection.execute(sql, parameters)
        connection.execute("SELECT octet_length($1)", ["x" * 20_000])
        connection.pgconn.flush()
        arrived = (
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'ClientRead' AND query LIKE '%octet_length($1)'"
        )
        assert store.comes(lambda: store.ask(arrived))
        yield
        connection.execute("COMMIT")


def test_a_session_in_the_middle_of_a_commit_is_in_no_state_that_has_a_time_out(shared: Shared) -> None:
    """Which is why `END_SILENT` does not ask for it."""
    with closing(log_writer(shared.address)) as database:
        assert isinstance(database, PostgresDatabase)
        with half_a_commit(shared, database, postgres_database.in_order(None)):
            assert shared.ask(
                "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND wait_event = 'ClientRead'"
            )


def test_a_copy_of_the_store_may_be_silent(shared: Shared) -> None:
    with connect(shared.address, "engine") as copy, other_engines(shared.address, lambda: True) as others_run:
        copy.execute(postgres_database.alone(None))
        assert others_run()
        assert copy.execute(postgres_database.alone(None)).fetchone() == (True,)


def test_only_engines_end_silent_sessions(shared: Shared) -> None:
    """A web server cannot take over: an engine that is only slow works on."""
    with closing(engine_writer(shared.address)) as slow, closing(engine_reader(shared.address)) as web:
        web.require()
        slow.write((SET_CURSOR.replace("$1", "?"), [(1,)]))
    assert shared.cursor() == 1


# What the guards are for


def no_event_is_passed(store: Shared) -> None:
    """An event whose commit takes long is read, too, although later ones were committed before it."""
    with (
        closing(log_writer(store.address)) as slow,
        closing(log_writer(store.address)) as quick,
        closing(InboxReader(store.address)) as reader,
        ThreadPoolExecutor() as threads,
        connect(store.address, "inbox") as holder,
    ):
        holder.execute("SELECT pg_advisory_lock(1)")
        commits = [
            threads.submit(slow.write_each, [append("slow"), PendingStatement("SELECT pg_advisory_xact_lock(1)", ())])
        ]
        assert store.comes(lambda: store.waiting() == 1)
        commits.append(threads.submit(quick.write_each, [append("quick")]))
        assert store.comes(lambda: store.waiting() == 2 or commits[1].done())
        read = reader.after(0, 10)
        holder.execute("SELECT pg_advisory_unlock(1)")
        for commit in commits:
            commit.result(PATIENCE)
        read += reader.after(read[-1].seq if read else 0, 10)
    assert {row.event_id for row in read} == {"slow", "quick"}


def an_event_is_kept_once(store: Shared) -> None:
    """Both machines get the same event, known by its own id or by its delivery's: it is kept once."""
    with closing(log_writer(store.address)) as one, closing(log_writer(store.address)) as two:
        one.write_each([append("event 1", "delivery 1")])
        two.write_each(
            [append("event 1", "delivery 2"), append("event 2", "delivery 1"), append("event 3", "delivery 3")]
        )
    with closing(InboxReader(store.address)) as reader:
        assert [row.event_id for row in reader.after(0, 10)] == ["event 1", "event 3"]


def an_engine_that_was_away_writes_no_more(store: Shared) -> None:
    """Another may have written meanwhile, and have ended."""
    with closing(engine_writer(store.address)) as away:
        store.ask(f"SELECT pg_terminate_backend(pid) {postgres_database._LOCKED}")
        assert store.comes(lambda: not store.ask(f"SELECT count(*) {postgres_database._LOCKED}"))
        with closing(engine_writer(store.address)) as other:
            other.write(("UPDATE meta SET cursor = ?", [(2,)]))
        for _ in range(2):
            with suppress(ConnectionLost):
                away.write(("UPDATE meta SET cursor = ?", [(1,)]))
        assert store.cursor() == 2


def an_engine_that_is_paused_in_a_commit_is_relieved(store: Shared) -> None:
    """And nothing of that commit is kept."""
    with closing(engine_writer(store.address)) as paused, other_engines(store.address, lambda: True) as others_run:
        assert isinstance(paused, PostgresDatabase)
        with suppress(psycopg.OperationalError), half_a_commit(store, paused, SET_CURSOR, 1):
            assert store.comes(lambda: not others_run())
            with closing(engine_writer(store.address)) as other:
                other.write(("UPDATE meta SET cursor = ?", [(2,)]))
        assert store.cursor() == 2


def a_machine_that_is_paused_while_it_appends_holds_up_no_other(store: Shared) -> None:
    """The engine sees to that, where none waits for its turn."""
    with (
        closing(engine_writer(store.address)) as engine,
        closing(log_writer(store.address)) as other,
        ThreadPoolExecutor() as threads,
        closing(log_writer(store.address)) as paused,
    ):
        assert isinstance(paused, PostgresDatabase)
        with suppress(psycopg.OperationalError), half_a_commit(store, paused, postgres_database.in_order(None)):
            append_there = threads.submit(other.write_each, [append("event 1")])
            engine.require()
            assert store.comes(append_there.done)


# The guards, and how each is taken out


def otherwise(name: str, value: object) -> Callable[[PostgresAddress], AbstractContextManager[object]]:
    return lambda address: patch.object(postgres_database, name, value)


def connecting_again(address: PostgresAddress) -> AbstractContextManager[object]:
    real = PostgresDatabase._connection

    def connection(database: PostgresDatabase) -> postgres_database.Connection:
        if database._open is not None and database._open.closed:
            database._open = None
        return real(database)

    return patch.object(PostgresDatabase, "_connection", connection)


@contextmanager
def unique_in_nothing(address: PostgresAddress) -> Iterator[None]:
    with connect(address, "inbox") as connection:
        connection.execute("ALTER TABLE log DROP CONSTRAINT log_delivery_key, DROP CONSTRAINT log_event_id_key")
    yield


ONLY_IDLE = AT_ONCE + " AND state = 'idle'"
GUARDS: dict[str, tuple[Callable[[Shared], None], Callable[[PostgresAddress], AbstractContextManager[object]]]] = {
    "the lock under which places in the log are drawn": (
        no_event_is_passed,
        otherwise("in_order", lambda shard: "SELECT 1"),
    ),
    "the ids of events and deliveries are unique": (an_event_is_kept_once, unique_in_nothing),
    "an engine never connects again": (an_engine_that_was_away_writes_no_more, connecting_again),
    "a silent engine's session is ended": (
        an_engine_that_is_paused_in_a_commit_is_relieved,
        otherwise("END_SILENT", ONLY_IDLE),
    ),
    "a silent web process's session is ended": (
        a_machine_that_is_paused_while_it_appends_holds_up_no_other,
        otherwise("END_SILENT", ONLY_IDLE),
    ),
}


@pytest.fixture
def shared(postgres: Postgres, tmp_path: Path) -> Iterator[Shared]:
    with new_database(postgres, tmp_path) as address, patch.object(postgres_database, "END_SILENT", AT_ONCE):
        yield Shared(address)


@pytest.mark.parametrize("guard", GUARDS)
def test_it_holds(shared: Shared, guard: str) -> None:
    check, _ = GUARDS[guard]
    check(shared)


@pytest.mark.parametrize("guard", GUARDS)
def test_it_is_missed(shared: Shared, guard: str) -> None:
    check, taken_out = GUARDS[guard]
    shared.patience = 0.5
    with taken_out(shared.address), pytest.raises(AssertionError):
        check(shared)
