"""A failure of the store is blamed on no event: the batch ends, and is taken again when the store can be used."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from bot.core.effects import EmitEvent
from bot.core.events import Event, StartRequested
from bot.core.session import Session
from bot.core.turn import Trace, Turn
from bot.runtime.batch import MOST_CAUSED, Batch
from bot.store.crash_quarantine import ORDINARY
from bot.store.database import PostgresAddress
from bot.store.files import StoreUnavailable
from tests.patience import wait_for
from tests.postgres import Postgres, divided_database
from tests.runtime.engine_kit import START, World, open_world
from tests.runtime.test_forwarding import ANN, SHARDS, running

BOB = "491702"


@pytest.fixture
def store(postgres: Postgres, tmp_path: Path) -> Iterator[PostgresAddress]:
    with divided_database(postgres, tmp_path, SHARDS) as divided:
        yield divided


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = open_world(tmp_path / "bot.db")
    yield world
    world.close()


def test_ids_that_cannot_be_drawn_make_no_dead_letter(store: PostgresAddress) -> None:
    with running(store) as machine, psycopg.connect(store.url, autocommit=True) as administrator:
        administrator.execute("ALTER SEQUENCE bot.messages_id RENAME TO mislaid")
        said = [machine.say(ANN, "hi", settle=False) for _ in range(20)]
        wait_for(lambda: [alarm.name for alarm in machine.worlds[0].alarms.current()] == ["store-unavailable"])
        administrator.execute("ALTER SEQUENCE bot.mislaid RENAME TO messages_id")
        machine.settle()
        assert machine.letters() == []
        assert machine.taken(ANN) == said


def test_a_session_that_cannot_be_read_while_a_turn_is_followed_up_ends_the_batch(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A turn starts more flows than may follow it: the last is a dead letter, and its contact's session is looked at."""

    def turn(session: Session, event: Event) -> Turn:
        started = [StartRequested(f"{event.id}#{n}", ANN, START, "f", {}) for n in range(MOST_CAUSED)]
        started.append(StartRequested("one too many", BOB, START, "f", {}))
        return Turn(session, tuple(map(EmitEvent, started)) if event.id == "first" else (), None, Trace("test"))

    def session(contact: str) -> Session | None:
        if contact == BOB:
            raise StoreUnavailable("the disk has a bad block", "replace it")
        return None

    world.settle()
    monkeypatch.setattr(world.store.sessions, "get", session)
    batch = Batch(world.store, turn, ORDINARY, START)
    with pytest.raises(StoreUnavailable):
        batch.take(StartRequested("first", ANN, START, "f", {}))
    assert {contact for _, contact, _ in batch.commit.dead_letters.added} == {BOB}
