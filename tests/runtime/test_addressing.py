"""By which number a contact is known."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.core.engine_requests import AddRecipients, SendMessage
from bot.core.events import MessageReceived
from bot.runtime.batch import Batch
from bot.runtime.engine_input import learn_alias, with_contact
from bot.runtime.operator_requests import operate
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


# -- numbers of two forms: the first two are one person's, the last is somebody else's


RIO, OLD_RIO, OTHER_RIO = "5521987654321", "552187654321", "552127654321"


@pytest.mark.parametrize(("known", "written"), [(RIO, OLD_RIO), (OLD_RIO, RIO), ("525512345678", "5215512345678")])
def test_a_person_of_whom_one_form_of_the_number_is_known_is_one_under_the_other(
    batch: Batch, known: str, written: str
) -> None:
    batch.take(message(known))
    assert with_contact(batch, message(written)) == message(known)
    assert batch.commit.aliases == {written: known}, "so an erasure finds what came under the other form"


def test_who_is_not_known_has_the_number_as_it_came(batch: Batch) -> None:
    assert with_contact(batch, message(OLD_RIO)) == message(OLD_RIO)
    batch.take(message(RIO))
    assert with_contact(batch, message(OTHER_RIO)) == message(OTHER_RIO)


def test_an_operators_request_and_a_recipient_are_for_the_person_that_is_known(batch: Batch) -> None:
    batch.take(message(OLD_RIO))
    operate(batch, SendMessage(RIO, "Your table is free."))
    template = {"name": "sale", "language": "en"}
    for recipient in (RIO, OLD_RIO):
        operate(batch, AddRecipients("sale", [{"contact": recipient, "body": []}], template))
    assert {row.contact for row in batch.commit.messages.added} == {OLD_RIO}
    assert [contact for _, contact in batch.commit.broadcasts.recipients] == [OLD_RIO]
