"""What the store keeps of the gateway's list of contacts."""

from datetime import timedelta

from bot.core.events import LISTED, ContactChanged
from bot.store.commit import Commit
from bot.store.engine_store import EngineStore
from tests.store.store_kit import START

ANN, BEN = "6281230000001", "6281230000002"
LISTED_ANN = ContactChanged("", ANN, START, LISTED, "Ann", None, ("gold",), described=True)


def write(store: EngineStore, **contacts: ContactChanged | None) -> None:
    commit = Commit(0, START)
    for contact, event in contacts.items():
        commit.contact_list.keep(contact, event)
    store.write(commit)


def test_a_contact_waits_until_it_is_listed_and_is_forgotten_when_it_is_taken(store: EngineStore) -> None:
    write(store, **{ANN: None, BEN: None})
    assert (store.contact_list.wanted(), store.contact_list.get(ANN)) == ([ANN, BEN], None)
    write(store, **{ANN: LISTED_ANN})
    assert (store.contact_list.wanted(), store.contact_list.get(ANN)) == ([BEN], LISTED_ANN)
    commit = Commit(0, START)
    commit.contact_list.drop(ANN)
    commit.contact_list.drop(BEN)
    store.write(commit)
    assert (store.contact_list.wanted(), store.contact_list.get(ANN)) == ([], None)


def test_the_store_knows_when_the_list_was_read_to_its_end(store: EngineStore) -> None:
    assert store.contact_list.read_at() is None
    commit = Commit(0, START + timedelta(hours=1))
    commit.contact_list.note_read()
    store.write(commit)
    assert store.contact_list.read_at() == START + timedelta(hours=1)
