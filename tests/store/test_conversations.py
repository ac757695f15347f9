"""What a store keeps of a contact's turns, conversation by conversation, so that it can be replayed."""

from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from bot.core.effects import Send
from bot.core.events import ContactChanged, Event, MessageReceived
from bot.core.messages import TextMessage
from bot.core.session import Frame, Session
from bot.core.turn import StepTaken, Trace, Turn
from bot.store.commit import Commit
from bot.store.engine_store import EngineStore
from bot.store.rows import REPLY, OutboxRow
from bot.store.store_reader import StoreReader
from bot.store.trace_rows import UnreadableRecord
from tests.store.store_kit import START, sqlite

ANN = "491701"
LATER = START + timedelta(hours=1)
IDLE = Session(ANN, kept_variables={"city": "Oslo"})
BUSY = Session(ANN, visit=1, frames=(Frame("shop", "menu", 1, START, START),))
HELLO = Send(TextMessage("Hello"))
Take = Callable[..., None]


@pytest.fixture
def take(store: EngineStore) -> Take:
    """Write turns that each led from one session to another. Each sent a message; one of another event came to nothing."""

    def write(*turns: tuple[Session, Session], event: Event | None = None) -> None:
        for before, after in turns:
            commit = Commit(0, START)
            if event is not None:
                commit.add_turn(before, event, Turn(after, (), LATER, Trace()), [], 10)
            else:
                number = store.ids.last["messages"] + 1
                wrote = MessageReceived(f"e{number}", ANN, START, START, "text", "hi")
                row = OutboxRow(number, f"e{number}#0", "key", ANN, HELLO, REPLY, None, START, 0, START, START, None)
                turn = Turn(after, (HELLO,), LATER, Trace("start", [StepTaken("shop", "hello")]))
                commit.add_turn(before, wrote, turn, [row], 10)
            store.write(commit)

    return write


def test_a_conversation_begins_where_the_contact_was_in_no_flow(take: Take, reader: StoreReader) -> None:
    take((Session(ANN), BUSY), (BUSY, IDLE), (IDLE, BUSY))
    first, second = reader.trace.conversations(ANN)
    assert [turn.session for turn in (*first.turns, *second.turns)] == [Session(ANN), None, IDLE]
    assert (first.left, second.left) == (IDLE, None)
    assert (first.contact, second.contact) == (ANN, ANN)
    assert first.turns[0].effects == [HELLO]
    assert first.turns[0].steps[0]["effects"] == 0
    assert first.turns[0].wake_at == LATER


def test_what_the_last_one_left_is_the_session_as_it_is(take: Take, reader: StoreReader) -> None:
    take((Session(ANN), BUSY), (BUSY, IDLE))
    (only,) = reader.trace.conversations(ANN)
    assert only.left == IDLE


def test_what_comes_to_nothing_makes_no_conversation_of_its_own(take: Take, reader: StoreReader) -> None:
    named = ContactChanged("c1", ANN, START, "contact.updated", "Ann")
    take((Session(ANN), Session(ANN)), event=named)
    take((Session(ANN), BUSY), (BUSY, IDLE))
    take((IDLE, IDLE), event=named)
    take((IDLE, BUSY))
    assert [len(found.turns) for found in reader.trace.conversations(ANN)] == [4, 1]


def test_lines_that_are_no_turns_are_left_out(store: EngineStore, take: Take, reader: StoreReader) -> None:
    take((Session(ANN), BUSY))
    commit = Commit(0, START)
    commit.add_note(ANN, "operator:1", '{"do":"send"}', "operator", "message 1")
    store.write(commit)
    assert [len(found.turns) for found in reader.trace.conversations(ANN)] == [1]


def test_where_the_beginning_was_pruned_no_session_is_known(
    store: EngineStore, take: Take, reader: StoreReader
) -> None:
    take((Session(ANN), BUSY), (BUSY, IDLE), (IDLE, BUSY))
    sqlite(store).execute("DELETE FROM turns WHERE id = 1")
    assert [found.turns[0].session for found in reader.trace.conversations(ANN)] == [None, IDLE]


def test_what_another_version_wrote_is_refused_in_words(store: EngineStore, take: Take, reader: StoreReader) -> None:
    take((Session(ANN), BUSY))
    sqlite(store).execute("""UPDATE turns SET effects = '[{"$Send":{"colour":"red"}}]'""")
    with pytest.raises(UnreadableRecord, match="cannot be read by this version"):
        reader.trace.conversations(ANN)


def test_the_contacts_of_a_span_of_time_are_listed(take: Take, reader: StoreReader) -> None:
    take((Session(ANN), BUSY))
    assert reader.trace.contacts(START) == [ANN]
    assert reader.trace.contacts(START + timedelta(seconds=1)) == []


def test_every_session_is_read_and_one_of_another_version_is_none(store: EngineStore, reader: StoreReader) -> None:
    commit = Commit(0, START)
    for number in range(501):
        commit.sessions.set(Session(f"{number:04}"), None)
    store.write(commit)
    sqlite(store).execute("UPDATE sessions SET state = '{}' WHERE contact = '0499'")
    found = list(reader.sessions.all())
    assert len(found) == 501
    assert found[499] is None and found[500] == Session("0500")


def test_no_id_of_a_turn_is_used_twice(path: Path) -> None:
    def take(store: EngineStore) -> None:
        commit = Commit(0, START)
        for number in range(2):
            event = MessageReceived(f"e{number}", ANN, START, START, "text", "hi")
            commit.add_turn(Session(ANN), event, Turn(Session(ANN), (), None, Trace()), [], 10)
        store.write(commit)

    def ids(store: EngineStore) -> list[int]:
        return [id for (id,) in sqlite(store).execute("SELECT id FROM turns ORDER BY id")]

    with closing(EngineStore(path)) as store:
        take(store)
        store.erase(ANN, 0, START)
        take(store)
        assert ids(store) == [3, 4, 5]  # the first is the note of the erasure
        store.prune(START + timedelta(days=30))
        assert ids(store) == []
    with closing(EngineStore(path)) as store:
        take(store)
        assert ids(store) == [6, 7]
