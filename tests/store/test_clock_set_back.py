"""What the store does about a clock that was set back, and that nothing is deleted for one that was set forward."""

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from bot.core.effects import Send
from bot.core.messages import TextMessage
from bot.core.session import Session
from bot.store.commit import Commit
from bot.store.engine_store import EngineStore
from bot.store.rows import REPLY, OutboxRow
from bot.store.sqlite_schema import migrate
from bot.store.store_reader import StoreReader
from tests.store.store_kit import START

ANN = "6281234567890"
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EngineStore]:
    migrate(tmp_path / "bot.db")
    with closing(EngineStore(tmp_path / "bot.db")) as made:
        yield made


@pytest.fixture
def reader(store: EngineStore) -> Iterator[StoreReader]:
    with closing(StoreReader(store.address)) as made:
        yield made


def send(store: EngineStore, minutes: float, outcome: str = "sent") -> None:
    """A message is sent so many minutes after the start."""
    id, at = store.ids.last["messages"] + 1, START + minutes * MINUTE
    row = OutboxRow(id, f"r{id}", f"k{id}", ANN, Send(TextMessage("x")), REPLY, None, at, 0, at, at, None)
    commit = Commit(store.cursor, at)
    commit.messages.add(row)
    store.write(commit)
    commit = Commit(store.cursor, at)
    commit.messages.end(row, outcome, (), 1, "why", at)
    store.write(commit)


def ages(reader: StoreReader, minutes: float) -> list[float]:
    """How many minutes ago requests were made, as seen so many minutes after the start."""
    return sorted(round(ago / 60, 1) for ago, _ in reader.messages.requests(START + minutes * MINUTE))


@pytest.mark.parametrize("back", [60, 1440, 525_600], ids=["an hour", "a day", "a year"])
def test_requests_of_before_the_clock_was_set_back_keep_their_age(
    store: EngineStore, reader: StoreReader, back: float
) -> None:
    for minutes in (-2000, -1000, -30, 0):
        send(store, minutes)
    assert ages(reader, 0) == [0, 30, 1000]
    assert ages(reader, -back) == [0, 30, 1000]
    store.clock_set_back(START - back * MINUTE, back * MINUTE)
    send(store, -back + 10)
    now = -back + 20
    assert [age for age in ages(reader, now) if age < 60] == [10, 20, 50]


def test_a_dead_letter_keeps_its_age(store: EngineStore, reader: StoreReader) -> None:
    send(store, 0, "failed")
    store.clock_set_back(START - 30 * MINUTE, DAY)
    assert [letter.at for letter in reader.dead_letters.newest()] == [START - DAY]


def test_a_template_that_went_before_the_clock_was_set_back_is_older_than_the_next_message(
    store: EngineStore, reader: StoreReader
) -> None:
    send(store, 0, "replaced")
    store.clock_set_back(START - DAY, DAY)
    assert reader.messages.last_replaced(ANN) == START - DAY


def test_who_was_written_of_since_is_woken_and_nobody_else(store: EngineStore) -> None:
    for contact, minutes, wakes in (("1", 0, 60), ("2", 0, None), ("3", -100, 60), ("4", 0, -90)):
        commit = Commit(store.cursor, START + minutes * MINUTE)
        commit.sessions.set(Session(contact), None if wakes is None else START + wakes * MINUTE)
        store.write(commit)
    now = START - 60 * MINUTE
    store.clock_set_back(now, 60 * MINUTE)
    before_all_that_is_set_to_now = now - timedelta(milliseconds=1)  # a wake-up has its name from its time
    assert {row.contact: row.wake_at for row in store.sessions.due(now, 9)} == {
        "1": before_all_that_is_set_to_now,
        "2": before_all_that_is_set_to_now,
        "4": START - 90 * MINUTE,
    }
    assert store.set_back == 1


def test_what_waits_keeps_its_age_and_what_is_left_of_its_wait(store: EngineStore, reader: StoreReader) -> None:
    row = OutboxRow(1, "r", "k", ANN, Send(TextMessage("x")), REPLY, None, START, 0, START, START + 15 * MINUTE, None)
    commit = Commit(store.cursor, START)
    commit.messages.add(row)
    commit.messages.try_again(row, 1, START + MINUTE, "503")
    store.write(commit)
    store.clock_set_back(START - DAY + MINUTE / 2, DAY)
    [waiting] = store.messages.pending(0, 9)
    times = waiting.created_at, waiting.due_at, waiting.expires_at
    assert times == (START - DAY, START - DAY + MINUTE, START - DAY + 15 * MINUTE)
