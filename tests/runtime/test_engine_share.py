"""One contact whose messages are slow to read: it rests, and its neighbours do not wait. Real store and loop."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.core.clock import MovableClock
from bot.core.events import Event, MessageReceived
from bot.core.session import Session
from bot.core.turn import Turn
from bot.engine import advance as engine
from bot.runtime import batch
from bot.runtime.batch import EngineShare
from bot.store.inbox import InboxWriter
from bot.store.sqlite_schema import migrate
from tests.patience import PATIENCE
from tests.runtime.engine_kit import START, World, begin
from tests.talk import library_of

ANN, BOB = "6281234567890", "6281234567891"
FLOW = """
flow: echo
start: {words: [hi]}
vars: {said: {type: text, max: 10}}
steps:
  ask:
    ask: Say something.
    save: said
    retry: {say: Too long.}
    timeout: {after: 1h, fixed: true, then: late}
  tell: {say: "You said {{ said }}.", then: ask}
  late: {say: Too late., then: end}
"""


class Engine:
    """The real engine, which a message ``slow ...`` takes the seconds of ``takes``."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.library, self.takes, self.now = library_of(FLOW), 0.4, 0.0
        monkeypatch.setattr(batch, "thread_time", lambda: self.now)
        monkeypatch.setattr(batch, "perf_counter_ns", lambda: round(self.now * 1e9))

    def __call__(self, session: Session, event: Event) -> Turn:
        if isinstance(event, MessageReceived) and (event.text or "").startswith("slow"):
            self.now += self.takes
        return engine.advance(self.library, session, event)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Engine:
    return Engine(monkeypatch)


@pytest.fixture
def world(tmp_path: Path, slow: Engine) -> Iterator[World]:
    path = tmp_path / "bot.db"
    migrate(path)
    clock = MovableClock(START)
    world = begin(path, clock, InboxWriter(path, clock, patience=PATIENCE), advance=slow)
    yield world
    world.close()


def texts(world: World, contact: str) -> list[str]:
    return [row.effect.message.body for row in world.delivery.rows if row.contact == contact]


def test_a_contact_whose_messages_take_long_rests_and_is_then_answered_in_order(world: World) -> None:
    world.say(ANN, "hi")
    for text in ("slow 1", "slow 2", "slow 3", "four"):
        world.say(ANN, text)
    assert texts(world, ANN) == [
        "Say something.",
        "You said slow 1.",
        "Say something.",
        "You said slow 2.",
        "Say something.",
    ]
    world.say(BOB, "hi")
    assert texts(world, BOB) == ["Say something."]
    world.clock.move(timedelta(seconds=3))
    world.settle()
    assert texts(world, ANN)[5:] == ["You said slow 3.", "Say something."]
    world.clock.move(timedelta(seconds=10))
    world.settle()
    assert texts(world, ANN)[7:] == ["You said four.", "Say something."]


def test_a_time_out_that_comes_in_the_rest_comes_after_what_was_written_before_it(world: World, slow: Engine) -> None:
    slow.takes = 2.0  # the contact rests for 15 s
    world.say(ANN, "hi")
    world.clock.move(timedelta(minutes=59, seconds=55))
    world.say(ANN, "slow and too long")
    world.say(ANN, "in time")
    world.clock.move(timedelta(seconds=15))
    world.settle()
    assert texts(world, ANN)[1:] == ["Too long.", "You said in time.", "Say something."]


def test_a_time_out_that_comes_in_the_rest_is_carried_out_where_nobody_has_written(world: World, slow: Engine) -> None:
    slow.takes = 2.0
    world.say(ANN, "hi")
    world.clock.move(timedelta(minutes=59, seconds=55))
    world.say(ANN, "slow and too long")
    world.clock.move(timedelta(seconds=10))
    world.settle()
    assert texts(world, ANN)[1:] == ["Too long."]
    world.clock.move(timedelta(seconds=5))
    world.settle()
    assert texts(world, ANN)[2:] == ["Too late."]
    assert world.reader.dead_letters.newest() == []


def test_the_trace_and_the_log_say_that_a_contact_rests(
    world: World, slow: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    slow.takes = 2.0
    world.say(ANN, "hi")
    world.say(ANN, "slow 1")
    assert "messages of this contact take long: the next ones wait for 15.0 s" in str(world.trace(ANN)[-1])
    assert "one contact's messages take long: the next ones wait for 15.0 s, see `bot trace`" in caplog.text
    assert ANN not in caplog.text


def share_of(*used: tuple[float, float]) -> list[Any]:
    """The rests after turns: each comes so many seconds after the last, and takes so many."""
    clock = MovableClock(START)
    share, rests = EngineShare(clock), []
    for after, seconds in used:
        clock.move(timedelta(seconds=after))
        rest = share.rest_after(ANN, seconds)
        rests.append(None if rest is None else round(rest.total_seconds(), 3))
    return rests


def test_a_contact_may_use_half_a_second_at_once_and_a_tenth_of_the_time() -> None:
    assert share_of((0, 0.3), (0, 0.3), (1, 0.1)) == [None, 1.0, 1.0]
    assert share_of(*[(1, 0.1)] * 50) == [None] * 50


def test_ordinary_turns_are_not_counted_however_many() -> None:
    assert share_of(*[(0, 0.004)] * 1000) == [None] * 1000


def test_a_rest_is_a_minute_at_most() -> None:
    assert share_of((0, 60)) == [60.0]


def test_a_neighbour_does_not_rest_for_what_another_has_used() -> None:
    share = EngineShare(MovableClock(START))
    share.rest_after(ANN, 5)
    assert share.rest_after(BOB, 0.4) is None
