"""What keeps forwarded events from being lost, doubled or passed: each guard holds, and is missed where it is taken out."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psycopg
import pytest

from bot.core.engine_requests import StartFlow
from bot.core.events import Event, Forwarded, StartRequested
from bot.engine.advance import advance
from bot.runtime import batch
from bot.runtime.batch import Batch
from bot.store import engine_store, postgres_database
from bot.store.commit import Commit
from bot.store.database import PendingStatement, PostgresAddress, shards_of, whole_of
from bot.store.engine_store import EngineStore, StoreShards
from bot.store.files import ConnectionLost, StoreUnavailable
from bot.store.inbox import InboxReader, append_statement
from bot.store.opening import log_writer, serves_others
from bot.store.postgres_database import PostgresDatabase, connect
from tests.postgres import Postgres, divided_database
from tests.runtime.engine_kit import START
from tests.runtime.test_forwarding import ANN, ANNS_OTHER, BOB, LIBRARY, SHARDS, learn, running
from tests.store.test_postgres_guards import AT_ONCE, Shared, half_a_commit


def forwards(store: EngineStore, key: str = "a", contact: str = BOB) -> Commit:
    """A commit of shard 0's engine that forwards something to shard 1."""
    commit = Commit(store.cursor, START)
    commit.move_cursor(store.cursor + 1, key)
    commit.forward(1, Forwarded(StartRequested(key, contact, START, "offer", {})), key, contact)
    return commit


@contextmanager
def log_of_shard_1(shared: Shared) -> Iterator[InboxReader]:
    with closing(InboxReader(shards_of(shared.address)[1])) as reader:
        yield reader


# What the guards are for


def an_event_of_an_alias_is_its_contact_s(shared: Shared) -> None:
    with running(shared.address) as machine:
        learn(machine)
        written = machine.say(ANNS_OTHER, "here I am")
        assert machine.taken(ANN)[-1:] == [written]
        assert machine.rows("SELECT contact FROM engine_1.sessions") == []


def no_event_is_passed(shared: Shared) -> None:
    """Web's commit takes long, and the other engine's is there before it, behind it in the log: both are read."""
    shard = shards_of(shared.address)[1]
    with (
        closing(log_writer(shared.address)) as web,
        closing(EngineStore(shards_of(shared.address)[0])) as engine,
        log_of_shard_1(shared) as log,
        ThreadPoolExecutor() as threads,
        connect(shared.address, "inbox") as holder,
    ):
        holder.execute("SELECT pg_advisory_lock(1)")
        row = (None, "slow", "x", None, "2026-01-01", b"", 1, None)
        slow = [
            PendingStatement(append_statement(shard), row, shard=1),
            PendingStatement("SELECT pg_advisory_xact_lock(1)", (), shard=1),
        ]
        commits: list[Any] = [threads.submit(web.write_each, slow)]
        assert shared.comes(lambda: shared.waiting() == 1)
        commits.append(threads.submit(engine.write, forwards(engine)))
        assert shared.comes(lambda: shared.waiting() == 2 or commits[1].done())
        read = log.after(0, 10)
        holder.execute("SELECT pg_advisory_unlock(1)")
        for commit in commits:
            commit.result(shared.patience)
        read += log.after(read[-1].seq if read else 0, 10)
    assert {row.event_id for row in read} == {"slow", "moved:a"}


def an_event_is_forwarded_once(shared: Shared) -> None:
    with closing(EngineStore(shards_of(shared.address)[0])) as engine, log_of_shard_1(shared) as log:
        for _ in range(2):
            engine.write(forwards(engine))
        assert [row.event_id for row in log.after(0, 10)] == ["moved:a"]


def a_commit_that_is_cut_off_has_forwarded_nothing(shared: Shared) -> None:
    """The engine dies while it forwards. The next one takes the event anew."""
    first = shards_of(shared.address)[0]
    with ExitStack() as held, ThreadPoolExecutor() as threads, log_of_shard_1(shared) as log:
        holder = held.enter_context(connect(shared.address, "inbox"))
        holder.execute(postgres_database.in_order(1).replace("xact_", ""))
        with closing(EngineStore(first)) as dying:
            commit = threads.submit(dying.write, forwards(dying))
            assert shared.comes(lambda: shared.waiting() == 1)
            shared.ask("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
            assert isinstance(commit.exception(shared.patience), ConnectionLost)
        held.close()
        with closing(EngineStore(first)) as engine:
            assert engine.cursor == 0 and log.after(0, 10) == []
            engine.write(forwards(engine))
            assert [row.event_id for row in log.after(0, 10)] == ["moved:a"]


def a_machine_that_is_paused_while_it_appends_stops_no_engine(shared: Shared) -> None:
    """An engine that waits for the lock of that log is the one that has to end the silent session."""
    briefly = engine_store._WAIT_BRIEFLY.replace("2s", "200ms")
    with (
        patch.object(engine_store, "_WAIT_BRIEFLY", briefly),
        closing(EngineStore(shards_of(shared.address)[0])) as engine,
        ThreadPoolExecutor() as threads,
        closing(log_writer(shared.address)) as paused,
    ):
        assert isinstance(paused, PostgresDatabase)

        def write() -> None:
            for _ in range(30):
                with suppress(StoreUnavailable):
                    engine.write(forwards(engine))
                    return

        with suppress(psycopg.OperationalError), half_a_commit(shared, paused, postgres_database.in_order(1)):
            written = threads.submit(write)
            assert shared.comes(lambda: shared.waiting() == 1 or written.done())
            threads.submit(engine.database.require)
            ended = shared.comes(written.done)
    assert ended


def what_two_shards_disagree_on_becomes_a_dead_letter(shared: Shared) -> None:
    """Each takes the other one for Bob's shard."""
    with (
        running(shared.address) as machine,
        patch.object(StoreShards, "elsewhere", lambda shards, contact: 1 - shards.this),
    ):
        machine.say(BOB, "hello")
        assert [(contact, reason.split(",")[0]) for contact, reason in machine.letters()] == [
            (BOB, "another shard has forwarded it")
        ]


def what_goes_round_ends(shared: Shared) -> None:
    with (
        running(shared.address, partial(advance, LIBRARY)) as machine,
        ExitStack() as listening,
    ):
        for world, shard in zip(machine.worlds, shards_of(shared.address), strict=True):
            listening.enter_context(serves_others(shard, world.turns.wake, lambda request: None))
        data = {"here": ANN, "there": BOB}
        machine.worlds[0].turns.operate(StartFlow(ANN, "round_and_round", data))
        shared.comes(lambda: machine.letters() or len(machine.turns(ANN)) > 12)
        assert machine.letters()


# The guards, and how each is taken out

TakenOut = Callable[[PostgresAddress], AbstractContextManager[object]]


def without(owner: object, name: str, value: object) -> TakenOut:
    return lambda address: patch.object(owner, name, value)


@contextmanager
def unique_in_nothing(address: PostgresAddress) -> Iterator[None]:
    with connect(address, "inbox") as connection:
        connection.execute("ALTER TABLE inbox_1.log DROP CONSTRAINT log_event_id_key")
    yield


def in_a_commit_of_its_own(store: EngineStore, commit: Commit) -> Iterator[Any]:
    """What is forwarded is appended before the commit, by another connection."""
    with closing(log_writer(shards_of(whole_of(store.address))[1])) as other:
        for shard, rows in commit.forwarded.items():
            other.write((append_statement(store.shards.addresses[shard]), rows))
    yield postgres_database.in_order(1), [()]


def goes_further(batch: Batch, event: Event, *shards: int) -> None:
    batch._forward(Forwarded(event), *shards)


GUARDS: dict[str, tuple[Callable[[Shared], None], TakenOut]] = {
    "what concerns another shard is forwarded": (
        an_event_of_an_alias_is_its_contact_s,
        without(StoreShards, "elsewhere", lambda shards, contact: None),
    ),
    "the lock under which places in the log are drawn": (
        no_event_is_passed,
        without(postgres_database, "in_order", lambda shard: "SELECT 1" if shard == 1 else "SELECT 2"),
    ),
    "an id is unique in a log": (an_event_is_forwarded_once, unique_in_nothing),
    "the cursor and what is forwarded are one commit": (
        a_commit_that_is_cut_off_has_forwarded_nothing,
        without(EngineStore, "_appends", in_a_commit_of_its_own),
    ),
    "an engine does not wait for a log's lock for long": (
        a_machine_that_is_paused_while_it_appends_stops_no_engine,
        without(engine_store, "_WAIT_BRIEFLY", "SELECT 1"),
    ),
    "what was forwarded goes no further": (
        what_two_shards_disagree_on_becomes_a_dead_letter,
        without(Batch, "forward", goes_further),
    ),
    "how many led there goes along": (
        what_goes_round_ends,
        without(batch, "Forwarded", lambda event, hops=0, caused=0: Forwarded(event)),
    ),
}


@pytest.fixture
def shared(postgres: Postgres, tmp_path: Path) -> Iterator[Shared]:
    with (
        divided_database(postgres, tmp_path, SHARDS) as divided,
        patch.object(postgres_database, "END_SILENT", AT_ONCE),
    ):
        yield Shared(divided)


@pytest.mark.parametrize("guard", GUARDS)
def test_it_holds(shared: Shared, guard: str) -> None:
    check, _ = GUARDS[guard]
    check(shared)


@pytest.mark.parametrize("guard", GUARDS)
def test_it_is_missed(shared: Shared, guard: str) -> None:
    check, taken_out = GUARDS[guard]
    shared.patience = 3.0
    with taken_out(shared.address), pytest.raises(AssertionError):
        check(shared)
