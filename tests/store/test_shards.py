"""A store in PostgreSQL that is divided into shards: each has tables of its own, and who reads the whole store reads all of them."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import pytest

from bot.core.clock import MovableClock
from bot.core.effects import Send
from bot.core.messages import TextMessage
from bot.store import call_rows, dead_letter_rows, message_rows, postgres_database
from bot.store.broadcast_rows import (
    EDITING,
    FINISHED,
    PAUSED,
    RUNNING,
    SCHEDULED,
    STOPPED,
    TRYING,
    Broadcast,
    FlowToStart,
)
from bot.store.commit import Commit
from bot.store.database import PostgresAddress, ServingMachine, StoreAddress, shard_number, shards_of, whole_of
from bot.store.engine_store import EngineStore
from bot.store.files import ShardsDiffer
from bot.store.inbox import InboxReader, InboxWriter
from bot.store.opening import engine_reader, engine_writer, signal_key, works_elsewhere
from bot.store.postgres_database import PostgresDatabase, connect, translated
from bot.store.postgres_schema import migrate
from bot.store.rows import LAST_ID, REPLY, OutboxRow
from bot.store.session_rows import ALL_SESSION_STATES, SESSION_SUMMARIES
from bot.store.store_reader import StoreReader
from tests.postgres import Postgres, divided_database

NOON = datetime(2030, 5, 1, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
SHARDS = 3
CONTACTS = [f"62812345678{number:02}" for number in range(20)]


@pytest.fixture
def store(postgres: Postgres, tmp_path: Path) -> Iterator[PostgresAddress]:
    with divided_database(postgres, tmp_path, SHARDS) as divided:
        yield divided


def append(store: StoreAddress, *contacts: str | None) -> list[set[int]]:
    """Append an event of each contact, one commit after the other. Returns which shards were woken by each."""
    woken: list[set[int]] = []
    with closing(InboxWriter(store, MovableClock(NOON), wake=lambda shards: woken.append({*shards}))) as inbox:
        for number, contact in enumerate(contacts):
            inbox.append(inbox.event(None, f"{contact} {number}", "message", contact, NOON, b"{}", True))
    return woken


def test_a_shard_and_the_whole_store_know_each_other(store: PostgresAddress) -> None:
    shards = shards_of(store)
    assert [str(shard)[-9:] for shard in shards] == ["(shard 0)", "(shard 1)", "(shard 2)"]
    assert {whole_of(shard) for shard in shards} == {store}
    assert len({shard.beside for shard in store.divided()}) == SHARDS


def test_a_store_that_is_not_divided_is_its_only_shard(tmp_path: Path) -> None:
    for store in (tmp_path / "bot.db", PostgresAddress("postgresql://db/bot", tmp_path / "bot", tmp_path)):
        assert shards_of(store) == (store,) and whole_of(store) == store


def test_contacts_are_divided_evenly_and_for_ever() -> None:
    numbers = [shard_number(f"6281234{number:06}", 4) for number in range(4000)]
    assert all(900 < numbers.count(shard) < 1100 for shard in range(4))
    assert [shard_number(contact, 64) for contact in CONTACTS[:5]] == [40, 62, 4, 18, 49]
    assert shard_number(None, 64) == shard_number("", 64) == 0


def test_an_event_is_in_the_log_of_its_contact_s_shard_alone(store: PostgresAddress) -> None:
    woken = append(store, *CONTACTS, None)
    assert woken == [{shard_number(contact, SHARDS)} for contact in (*CONTACTS, None)]
    for number, shard in enumerate(shards_of(store)):
        with closing(InboxReader(shard)) as log:
            rows = log.after(0, 100)
        assert [row.seq for row in rows] == [*range(1, len(rows) + 1)]
        assert [row.contact for row in rows] == [c for c in (*CONTACTS, None) if shard_number(c, SHARDS) == number]


def test_each_shard_has_one_engine(store: PostgresAddress) -> None:
    with ExitStack() as opened:
        engines = [opened.enter_context(closing(engine_writer(shard))) for shard in shards_of(store)]
        ids = {database.one("SELECT store_id, signal_key FROM meta") for database in engines}
    assert len(ids) == 1, "one store: a message has the same key in each shard, and so has an address of a signal"
    assert {key for _, key in ids} == {signal_key(store)}


def test_the_machines_of_a_store_say_on_which_shards_their_engines_work(
    store: PostgresAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    def of(machine: str, server: str) -> None:
        monkeypatch.setattr(postgres_database, "gethostname", lambda: machine)
        monkeypatch.setattr(postgres_database, "_SERVER_NAME", server)

    first, second, third = store.divided()
    with ExitStack() as opened:
        of("two", "0002")
        for shard in (first, third):
            opened.enter_context(closing(engine_writer(shard)))
        opened.enter_context(closing(PostgresDatabase(second, "engine", role="standby")))
        of("one", "0001")
        opened.enter_context(closing(PostgresDatabase(store, "inbox", role="web")))
        opened.enter_context(closing(PostgresDatabase(first, "engine", role="standby")))
        whole = opened.enter_context(closing(engine_reader(store)))
        assert whole.machines() == [
            ServingMachine("one", "waits", waits_for=(0,), is_this=True),
            ServingMachine("two", "works", (0, 2), waits_for=(1,), lately=(0, 2)),
        ]
        assert [str(machine) for machine in whole.machines()] == ["one waits", "two works on shards 0 and 2"]
        assert [works_elsewhere(shard) for shard in (store, first, second)] == [True, True, False]
        at_once = postgres_database._SESSIONS.replace("secs => 5", "secs => 0")
        monkeypatch.setattr(postgres_database, "_SESSIONS", at_once)
        (found,) = whole.machines()
        assert (found.name, found.lately) == ("one", ()) and found.waits_for == (), "its session is silent"


def test_a_shard_was_taken_lately_if_all_sessions_of_its_engine_are_new() -> None:
    sessions = [("engine", "2", False), ("engine", "2", True), ("engine", "0", True), ("web", "", False)]
    assert postgres_database._serving("one", sessions, False) == ServingMachine("one", "works", (0, 2), lately=(0,))


def test_an_id_is_given_once_in_all_shards(store: PostgresAddress) -> None:
    drawn: list[int] = []
    for _ in range(2):
        for shard in shards_of(store):
            with closing(EngineStore(shard)) as engine:
                ids = engine.ids.new("messages")
                own = [next(ids) for _ in range(100)]
                assert own == sorted(own)
                drawn += own
    assert len({*drawn}) == len(drawn)


def test_what_one_shard_writes_changes_the_version_of_the_whole(store: PostgresAddress) -> None:
    with closing(engine_reader(store)) as whole, closing(engine_writer(shards_of(store)[1])) as engine:
        before = whole.version()
        engine.write(("UPDATE meta SET cursor = ?", [(1,)]))
        assert whole.version() != before


def test_another_number_of_shards_is_refused(store: PostgresAddress) -> None:
    two = replace(store, shards=2)
    for use in (migrate, engine_reader):
        for address in (two, replace(two, shard=0)):
            with pytest.raises(ShardsDiffer, match=r"\d has 3 shards, and BOT_SHARDS says 2: set BOT_SHARDS=3"):
                use(address)


def test_whoever_reads_the_whole_sees_the_columns_that_a_shard_has(store: PostgresAddress) -> None:
    columns = """
        SELECT table_name, column_name FROM information_schema.columns
        WHERE table_schema = ? ORDER BY table_name, ordinal_position
    """
    with closing(engine_reader(store)) as database:
        for part in ("engine", "inbox"):
            assert database.all(columns, part) == database.all(columns, f"{part}_1") != []


def test_the_newest_event_is_that_of_all_logs(store: PostgresAddress) -> None:
    clock = MovableClock(NOON)
    with closing(InboxWriter(store, clock)) as inbox, closing(InboxReader(store)) as log:
        assert log.last_received() is None
        first = next(contact for contact in CONTACTS if shard_number(contact, SHARDS) == 0)
        for number in range(3):
            inbox.append(inbox.event(None, f"early {number}", "message", first, NOON, b"{}", True))
        other = next(contact for contact in CONTACTS if shard_number(contact, SHARDS) == 1)
        inbox.append(inbox.event(None, "late", "message", other, NOON + HOUR, b"{}", True))
        assert log.last_received() == NOON + HOUR


def test_what_only_a_shard_has_is_not_asked_of_the_whole(store: PostgresAddress) -> None:
    with closing(StoreReader(store)) as whole, pytest.raises(AssertionError):
        whole.cursor()
    with closing(StoreReader(shards_of(store)[1])) as shard:
        assert shard.cursor() == 0


def message(id: int, at: datetime, contact: str = CONTACTS[0]) -> OutboxRow:
    return OutboxRow(
        id, f"evt_{id}#0", "key", contact, Send(TextMessage("hi")), REPLY, None, at, 0, at, at + HOUR, None
    )


def test_all_engines_have_ended_properly_or_one_has_not(store: PostgresAddress) -> None:
    with closing(StoreReader(store)) as whole, closing(EngineStore(shards_of(store)[2])) as engine:
        assert whole.ended_clean()
        engine.runs.begin()
        assert not whole.ended_clean()
        engine.runs.end()
        assert whole.ended_clean()


def test_a_clock_that_was_set_back_is_measured_by_the_last_commit_of_all(store: PostgresAddress) -> None:
    for shard, at in zip(shards_of(store), (NOON, NOON + HOUR, NOON), strict=True):
        with closing(EngineStore(shard)) as engine:
            commit = Commit(0, at)
            commit.move_cursor(1, "evt")
            commit.messages.add(row := message(next(engine.ids.new("messages")), at))
            commit.messages.end(row, "sent", (), 1, "", at)
            engine.write(commit)
    with closing(StoreReader(store)) as whole:
        assert sorted(whole.messages.requests(NOON)) == [(0, 1), (3600, 2)]


def test_a_contact_s_messages_are_found_though_other_shards_gave_later_ids_before(
    store: PostgresAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_rows, "_FEW_MESSAGES", 0)
    contact = next(contact for contact in CONTACTS if shard_number(contact, SHARDS) == 1)
    with closing(EngineStore(shards_of(store)[0])) as first, closing(EngineStore(shards_of(store)[1])) as second:
        for engine, at, count in ((first, NOON, 1), (second, NOON, 1), (first, NOON + HOUR, 40)):
            commit = Commit(0, at)
            for id in islice(engine.ids.new("messages"), count):
                commit.messages.add(message(id, at, contact))
            engine.write(commit)
    with closing(StoreReader(store)) as whole:
        assert whole.messages._made(contact, [NOON]) == [(65, 65)]


def test_results_of_all_shards_are_one_count(store: PostgresAddress) -> None:
    for shard in shards_of(store)[:2]:
        with closing(engine_writer(shard)) as engine:
            engine.write(
                ("INSERT INTO results VALUES ('2030-05-01', 'main', ?, '', 'entered', '', 2)", [("a",), (str(shard),)])
            )
    with closing(StoreReader(store)) as whole:
        assert sorted(each.count for each in whole.results(NOON)) == [2, 2, 4]


@pytest.fixture
def broadcast(store: PostgresAddress) -> PostgresAddress:
    """A store with a broadcast whose recipients are in all shards."""
    add = "INSERT INTO recipients (broadcast, contact, body, added_at, edit) VALUES ('sale', ?, '[]', '', 0)"
    for number, shard in enumerate(shards_of(store)):
        with closing(EngineStore(shard)) as engine:
            begins, commit = NOON + number * HOUR, Commit(0, NOON)
            commit.broadcasts.set(None, Broadcast("sale", FlowToStart("main"), RUNNING, begins_at=begins))
            engine.write(commit)
            engine.database.write((add, [(c,) for c in CONTACTS if shard_number(c, SHARDS) == number]))
    return store


def in_states(store: PostgresAddress, *states: str) -> None:
    for shard, state in zip(shards_of(store), states, strict=True):
        with closing(engine_writer(shard)) as engine:
            ended = "2030-05-01T13:00:00.000000+00:00" if state == FINISHED else None
            engine.write(("UPDATE broadcasts SET state = ?, ended_at = ?", [(state, ended)]))


@pytest.mark.parametrize(
    ("states", "one"),
    [
        ((RUNNING, PAUSED, FINISHED), PAUSED),
        ((RUNNING, STOPPED, TRYING), RUNNING),
        ((SCHEDULED, FINISHED, SCHEDULED), SCHEDULED),
        ((STOPPED, FINISHED, STOPPED), STOPPED),
        ((FINISHED, FINISHED, FINISHED), FINISHED),
        ((EDITING, RUNNING, STOPPED), EDITING),
    ],
)
def test_a_broadcast_has_one_state(broadcast: PostgresAddress, states: tuple[str, ...], one: str) -> None:
    in_states(broadcast, *states)
    with closing(StoreReader(broadcast)) as whole:
        found, (listed,) = whole.broadcasts.get("sale"), whole.broadcasts.all()
    assert found is not None and found.state == listed.state == one
    assert found.begins_at == listed.began_at == NOON
    assert (found.ended_at is not None) == (listed.ended_at is not None) == (one == FINISHED)


def test_recipients_wait_as_long_as_the_broadcast_does_in_their_shard(broadcast: PostgresAddress) -> None:
    in_states(broadcast, RUNNING, PAUSED, RUNNING)
    paused = [contact for contact in CONTACTS if shard_number(contact, SHARDS) == 1]
    with closing(StoreReader(broadcast)) as whole:
        assert whole.broadcasts.outcomes("sale") == {"waiting": len(CONTACTS) - len(paused), "paused": len(paused)}
        assert [contact for contact, outcome, _ in whole.broadcasts.recipients("sale") if outcome == "paused"] == paused
        assert whole.broadcasts.unfinished() == {"sale": whole.broadcasts.outcomes("sale")}
        assert whole.broadcasts.outcomes("none") == {}


def test_the_oldest_that_waits_is_that_of_all_shards(store: PostgresAddress) -> None:
    with closing(EngineStore(shards_of(store)[0])) as first, closing(EngineStore(shards_of(store)[1])) as second:
        for engine, at in ((first, NOON - HOUR), (second, NOON), (first, NOON + HOUR)):
            commit = Commit(0, at)
            commit.messages.add(row := message(next(engine.ids.new("messages")), at))
            if at < NOON:
                commit.messages.end(row, "sent", (), 1, "", at)
            engine.write(commit)
    with closing(StoreReader(store)) as whole:
        assert whole.oldest() == {"outbox": NOON}


def test_ids_of_a_shard_that_had_nothing_to_do_follow_those_that_others_gave_meanwhile(store: PostgresAddress) -> None:
    with closing(EngineStore(shards_of(store)[0])) as idle, closing(EngineStore(shards_of(store)[1])) as busy:
        before = next(idle.ids.new("turns"))
        meanwhile = [*islice(busy.ids.new("turns"), 100)]
        idle.ids.drop_drawn()
        assert before < min(meanwhile) and next(idle.ids.new("turns")) > max(meanwhile)


@pytest.mark.parametrize(
    ("sql", "asked"),
    [
        (message_rows._PENDING, (100,)),
        (call_rows._PENDING_EVENTS, (100,)),
        (dead_letter_rows._FIND, (*dead_letter_rows.ALL_LETTERS.asked, 0, LAST_ID, 100)),
        (SESSION_SUMMARIES, ("", 100)),
        (ALL_SESSION_STATES, ("", 100)),
    ],
    ids=["messages", "events", "dead letters", "sessions", "states"],
)
def test_what_is_listed_in_pages_comes_in_order_from_the_indexes_of_all_shards(
    store: PostgresAddress, sql: str, asked: tuple[object, ...]
) -> None:
    with connect(store, "engine") as connection:
        connection.execute(
            "SELECT set_config(name, 'off', false) FROM pg_settings WHERE name IN ('enable_sort', 'enable_seqscan')"
        )
        plan = "\n".join(row for (row,) in connection.execute(f"EXPLAIN {translated(sql)}", asked))
    assert "Merge Append" in plan and "->  Sort" not in plan
