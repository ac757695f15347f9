"""By which number a contact is known."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.core.events import MessageReceived
from bot.runtime.batch import Batch
from bot.runtime.engine_input import learn_alias, with_contact
from bot.store.crash_quarantine import ORDINARY
from bot.store.engine_store import EngineStore
from bot.store.sqlite_schema import migrate
from tests.runtime.engine_kit import START, advance

ANN, BOB = "6281234567890", "6281234567891"


@pytest.fixture
def batch(tmp_path: Path) -> Iterator[Batch]:
    migrate(tmp_path / "bot.db")
    with closing(EngineStore(tmp_path / "bot.db")) as store:
        yield Batch(store, advance, ORDINARY, START)


def message(contact: str) -> MessageReceived:
    return MessageReceived("evt_1", contact, START, START, "text", "hi")


def test_an_event_under_an_alias_is_the_contacts(batch: Batch) -> None:
    learn_alias(batch, BOB, ANN)
    assert with_contact(batch, message(BOB)) == message(ANN)


def test_a_number_that_has_written_in_this_very_batch_is_nobodys_alias(batch: Batch) -> None:
    batch.take(message(BOB))
    learn_alias(batch, BOB, ANN)
    assert with_contact(batch, message(BOB)) == message(BOB)
    assert batch.commit.aliases == {}
