"""A store in PostgreSQL that is divided into shards: each has tables of its own, and who reads the whole store reads all of them."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.clock import MovableClock
from bot.store.database import PostgresAddress, StoreAddress, shard_number, shards_of, whole_of
from bot.store.engine_store import Store
from bot.store.files import ShardsDiffer
from bot.store.inbox import InboxReader, InboxWriter
from bot.store.opening import engine_reader, engine_writer
from bot.store.postgres_schema import migrate
from tests.postgres import Postgres, new_database

NOON = datetime(2030, 5, 1, 12, 0, tzinfo=UTC)
SHARDS = 3
CONTACTS = [f"62812345678{number:02}" for number in range(20)]


@pytest.fixture
def store(postgres: Postgres, tmp_path: Path) -> Iterator[PostgresAddress]:
    with new_database(postgres, tmp_path, "template0") as address:
        divided = replace(address, shards=SHARDS)
        migrate(divided)
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
    assert len({shard.beside for shard in shards if isinstance(shard, PostgresAddress)}) == SHARDS


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
    first, second, third = shards_of(store)
    with closing(engine_writer(first)), closing(engine_writer(second)), closing(engine_writer(third)) as engine:
        assert engine.one("SELECT store_id FROM meta") is not None
    with closing(engine_reader(store)) as whole:
        ids = whole.all("SELECT store_id FROM meta")
    assert len(ids) == SHARDS and len({*ids}) == 1, "one store: a message has the same key in each shard"


def test_an_id_is_given_once_in_all_shards(store: PostgresAddress) -> None:
    drawn: list[int] = []
    for _ in range(2):
        for shard in shards_of(store):
            with closing(Store(shard)) as engine:
                ids = engine.new_ids("messages")
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
        with pytest.raises(ShardsDiffer, match=r"has 3 shards, and BOT_SHARDS says 2: set BOT_SHARDS=3"):
            use(two)
