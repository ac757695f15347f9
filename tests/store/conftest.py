from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.core.clock import MovableClock
from bot.store.engine_store import EngineStore
from bot.store.inbox import InboxReader, InboxWriter
from bot.store.sqlite_schema import migrate
from bot.store.store_reader import StoreReader
from tests.patience import PATIENCE
from tests.store.store_kit import START


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock(START)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The path of a store that has both its files."""
    store = tmp_path / "bot.db"
    migrate(store)
    return store


@pytest.fixture
def inbox(path: Path, clock: MovableClock) -> Iterator[InboxWriter]:
    writer = InboxWriter(path, clock, patience=PATIENCE)
    yield writer
    writer.close()


@pytest.fixture
def log(path: Path) -> Iterator[InboxReader]:
    reader = InboxReader(path)
    yield reader
    reader.close()


@pytest.fixture
def store(path: Path) -> Iterator[EngineStore]:
    store = EngineStore(path)
    yield store
    store.close()


@pytest.fixture
def reader(path: Path) -> Iterator[StoreReader]:
    reader = StoreReader(path)
    yield reader
    reader.close()
