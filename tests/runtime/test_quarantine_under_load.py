"""The crash quarantine: only what the crashed runs may have been taking is taken one by one, however much comes in."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from bot.core.clock import MovableClock
from bot.core.events import Event
from bot.core.session import Session
from bot.core.turn import Turn
from bot.runtime import engine_cycle
from bot.store.engine_store import EngineStore
from bot.store.inbox import InboxWriter
from bot.store.sqlite_schema import migrate
from tests.patience import PATIENCE
from tests.runtime.engine_kit import START, World, advance, begin

ANN, BOB = "491701", "491702"
HOUR = timedelta(hours=1)
AT_ONCE = 16  # how many events one commit takes here


class Load:
    """A store with an engine that has crashed twice, and that gets an event more with each turn, up to a number of them."""

    def __init__(self, path: Path) -> None:
        migrate(path)
        self.path, self.clock = path, MovableClock(START)
        self.inbox = InboxWriter(path, self.clock, patience=PATIENCE)
        self.left = 0
        self.marked: list[str] = []
        self.world: World | None = None

    def begin(self, *, crashes: int = 0, events: int = 0) -> World:
        def crash_and_watch(store: EngineStore) -> None:
            for _ in range(crashes):
                store.runs.begin()
            real = store.runs.mark_taking

            def mark(event_id: str) -> None:
                self.marked.append(event_id)
                real(event_id)

            store.runs.mark_taking = mark  # type: ignore[method-assign]

        self.left = events
        self.world = begin(self.path, self.clock, self.inbox, prepare=crash_and_watch, advance=self._advance)
        return self.world

    def _advance(self, session: Session, event: Event) -> Turn:
        if self.left:
            self.left -= 1
            self.write("hi", BOB, f"more_{self.left}")
        return advance(session, event)

    def write(self, text: str, contact: str, id: str) -> None:
        body = f'{{"id": "{id}", "contact": "{contact}", "text": "{text}"}}'.encode()
        self.inbox.append(self.inbox.event(None, id, "message.inbound", contact, self.clock.now(), body, True))


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Load]:
    monkeypatch.setattr(engine_cycle, "AT_ONCE", AT_ONCE)
    load = Load(tmp_path / "bot.db")
    yield load
    if load.world is not None:
        load.world.stop()
    load.inbox.close()


def test_it_ends_with_what_may_have_crashed_the_engine_and_not_with_the_log(load: Load) -> None:
    for number in range(5):
        load.write("hi", ANN, f"before_{number}")
    world = load.begin(crashes=2, events=AT_ONCE + 50)
    world.settle()
    assert len(world.taken(BOB)) == AT_ONCE + 50
    assert load.marked == [f"before_{number}" for number in range(5)]


def test_no_more_of_a_long_log_is_suspect_than_one_commit_takes(load: Load) -> None:
    for number in range(AT_ONCE + 30):
        load.write("hi", ANN, f"before_{number}")
    world = load.begin(crashes=2)
    world.settle()
    assert load.marked == [f"before_{number}" for number in range(AT_ONCE)]
    assert len(world.taken(ANN)) == AT_ONCE + 30


def test_times_that_were_due_are_suspect_and_later_ones_are_not(load: Load) -> None:
    world = load.begin()
    world.say(ANN, "wait")
    load.clock.move(HOUR / 2)
    world.say(BOB, "wait")
    world.stop()
    load.clock.move(HOUR / 2)
    world = load.begin(crashes=2)
    world.settle()
    load.clock.move(HOUR)
    world.settle()
    (marked,) = load.marked
    assert marked.startswith(f"time:{ANN}:")
    assert world.rules(BOB) == ["MessageReceived", "TimeReached"]


def test_the_end_of_a_message_that_was_there_is_suspect_and_until_then_there_is_an_alarm(load: Load) -> None:
    world = load.begin()
    world.say(ANN, "report")
    world.stop()
    world = load.begin(crashes=2)
    world.say(BOB, "report")
    before, later = world.delivery.rows
    world.report(later)
    assert load.marked == []
    assert [alarm.name for alarm in world.alarms.current()] == ["crash-quarantine"]
    world.report(before)
    assert load.marked == [f"sent:{before.ref}"]
    assert world.alarms.current() == []
    assert not world.store.runs.begin().in_quarantine, "earlier crashes do not count any more"
