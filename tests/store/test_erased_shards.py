"""A contact whose numbers are in several shards is erased in all of them, whichever engine begins and whichever ends meanwhile."""

from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import chain, permutations
from pathlib import Path

import pytest

from bot.core.clock import MovableClock
from bot.store.contact_data import export_contact
from bot.store.database import PostgresAddress, StoreAddress, shard_number, shards_of
from bot.store.engine_store import EngineStore
from bot.store.inbox import InboxReader, InboxWriter
from bot.store.kept_files import contact_path, kept_files
from bot.store.opening import engine_reader
from bot.store.store_reader import StoreReader
from tests.postgres import Postgres, divided_database
from tests.searches import over
from tests.store.store_kit import START

SHARDS = 3
NUMBERS = [
    next(f"6281{n:05}" for n in range(99) if shard_number(f"6281{n:05}", SHARDS) == shard) for shard in range(SHARDS)
]
CONTACT, *ALIASES = NUMBERS
OTHER = "6299"
LETTER = "INSERT INTO dead_letters (what, contact, reason, body, at) VALUES ('event', ?, 'x', ?, '2030-01-01T00:00:00+00:00')"


@pytest.fixture
def store(postgres: Postgres, tmp_path: Path) -> Iterator[PostgresAddress]:
    """A store with a contact that has a number in each shard, and rows that name all of them, in each."""
    with divided_database(postgres, tmp_path, SHARDS) as divided:
        with closing(InboxWriter(divided, MovableClock(START))) as inbox:
            for place, contact in enumerate([*NUMBERS, None, OTHER]):
                body = f"from {NUMBERS}".encode()
                inbox.append(inbox.event(None, f"evt_{place}", "x", contact, START, body, True))
        for number, shard in zip(NUMBERS, shards_of(divided), strict=True):
            with closing(EngineStore(shard)) as engine:
                engine.database.write(
                    (LETTER, [(None, each) for each in NUMBERS] + [(number, "mine"), (OTHER, "of another")]),
                    (
                        "INSERT INTO aliases (alias, contact) VALUES (?, ?)",
                        [(number, CONTACT)] if number in ALIASES else [],
                    ),
                )
        yield divided


def go_on(shard: StoreAddress, *asked: str) -> bool:
    """An engine that is asked to erase these, and its web process, do what they can. Returns whether there is more to do."""
    with (
        closing(EngineStore(shard)) as engine,
        closing(InboxReader(shard)) as log,
        closing(InboxWriter(shard, MovableClock(START))) as inbox,
    ):
        for contact in chain(asked, lazily(engine.erasures.asked)):
            engine.erase(contact, log.last_seq(), START)
        with closing(StoreReader(shard)) as reader:
            for contact, upto in reader.erasures():
                inbox.erase(log.of_contact(contact, upto))
        return engine.erasures.finish(log.has_of)


def lazily(ask: Callable[[], list[str]]) -> Iterator[str]:
    yield from ask()


def left(store: PostgresAddress) -> dict[str, int]:
    found = {number: export_contact(store, number) for number in NUMBERS}
    return {number: len(rows) for number, tables in found.items() for rows in tables.values()}


def others(store: PostgresAddress) -> int:
    with closing(StoreReader(store)) as reader:
        return len([letter for letter in reader.dead_letters.newest() if letter.contact == OTHER])


@over(2, "order", permutations(range(SHARDS)))
def test_all_numbers_go_from_all_shards_in_any_order(store: PostgresAddress, order: tuple[int, ...]) -> None:
    shards = shards_of(store)
    assert left(store).keys() == {*NUMBERS}
    for number in order:
        go_on(shards[number], CONTACT)
    ends = [go_on(shard) for shard in shards]
    assert ends == [False] * SHARDS and left(store) == {}
    assert others(store) == SHARDS


def test_an_engine_that_nobody_asks_goes_on_with_what_another_has_begun(store: PostgresAddress) -> None:
    first, second, third = shards_of(store)
    assert not go_on(second, CONTACT)  # its note of the number there is gone
    for shard in (first, third):
        with closing(EngineStore(shard)) as engine, closing(InboxReader(shard)) as log:
            assert engine.erasures.finish(log.has_of), "nothing of it was done in this shard"
            assert sorted(engine.erasures.asked()) == sorted(NUMBERS)
    with closing(StoreReader(store)) as reader:
        assert {contact for contact, _ in reader.erasures()} == {*NUMBERS}
    assert not go_on(first) and not go_on(third)
    assert left(store) == {} and others(store) == SHARDS


def test_an_erasure_that_is_repeated_ends_too(store: PostgresAddress) -> None:
    shards = shards_of(store)
    for _ in range(2):
        for shard in shards:
            go_on(shard, CONTACT)
    assert [go_on(shard) for shard in shards] == [False] * SHARDS
    with closing(StoreReader(store)) as reader:
        assert reader.erasures() == []


def test_the_files_of_a_number_are_erased_by_the_engine_of_its_shard(store: PostgresAddress, tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").write_bytes(b"a photo")
    files = kept_files(store)
    for number in NUMBERS:
        files.copy(f"{contact_path(number)}/photo.jpg", tmp_path / "photo.jpg")
    for count, shard in enumerate(shards_of(store), 1):
        go_on(shard, CONTACT)
        assert [bool(files.of(number)) for number in NUMBERS] == [False] * count + [True] * (SHARDS - count)


def test_the_trace_has_one_line_of_it(store: PostgresAddress) -> None:
    for shard in shards_of(store):
        go_on(shard, CONTACT)
    with closing(engine_reader(store)) as database:
        assert len(database.all("SELECT id FROM turns WHERE rule = 'operator'")) == 1
