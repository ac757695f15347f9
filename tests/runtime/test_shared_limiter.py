"""The gateway's limits that the engines of all shards keep together: never broken, hardly wasted, whoever ends and whatever the clocks say."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

import pytest

from bot.clock import MovableClock
from bot.gateway.gateway_answers import Rate
from bot.runtime import shared_limiter
from bot.runtime.rate_limiter import RateLimiter
from bot.runtime.shared_limiter import SharedLimiter
from bot.store import postgres_budget
from bot.store.database import BudgetTurn, PostgresAddress, shards_of
from bot.store.opening import shared_budget
from bot.store.postgres_schema import migrate
from bot.store.rows import REPLY
from tests.postgres import Postgres, new_database

NOON = datetime(2030, 5, 1, 12, 0, tzinfo=UTC)
SHARDS = 4
PER_MINUTE = 20


@pytest.fixture
def store(postgres: Postgres, tmp_path: Path) -> Iterator[PostgresAddress]:
    with new_database(postgres, tmp_path, "template0") as address:
        divided = replace(address, shards=SHARDS)
        migrate(divided)
        yield divided


class Engine:
    """What an engine has of the limits: a limiter, whose turns the test takes."""

    def __init__(self, store: PostgresAddress, shard: int, clock: MovableClock, **limits: int) -> None:
        address = shards_of(store)[shard]
        budget = shared_budget(address)
        assert budget is not None
        self.clock = clock
        self.limiter = SharedLimiter(
            limits.get("per_minute", PER_MINUTE), limits.get("per_day", 10_000), budget, address, clock
        )
        self.permits: list[int] = []

    def take(self, priority: int = REPLY, most: int = 1000) -> int:
        """Take as many permits as there are, at most so many. Returns how many."""
        before = len(self.permits)
        while len(self.permits) < before + most:
            permit = self._drawn(priority, before + most - len(self.permits))
            if permit is None:
                break
            self.permits.append(permit)
        return len(self.permits) - before

    def _drawn(self, priority: int, wanted: int) -> int | None:
        permit = self.limiter.take(self.clock.elapsed(), priority, wanted)
        if permit is None and self.limiter.drawing:
            self.limiter._draw()
            permit = self.limiter.take(self.clock.elapsed(), priority, wanted)
        return permit

    def send(self, remaining: int | None = None) -> None:
        """All permits are used, and answered."""
        for permit in self.permits:
            self.limiter.give_back(permit, self.clock, True, Rate(remaining))
        self.permits.clear()

    def look(self) -> None:
        """Take a turn without wanting anything."""
        self.limiter._draw()

    def crash(self) -> None:
        """The engine ends without a word."""
        self.limiter._budget.close()


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock(NOON)


def all_take(engines: list[Engine], priority: int = REPLY, most: int = 3) -> int:
    """All take in turns, a few at a time, until none gets any more. Returns how many they got."""
    taken = 0
    while got := sum(engine.take(priority, most) for engine in engines):
        taken += got
    return taken


# What must hold


def the_minute_is_kept(store: PostgresAddress) -> None:
    """Engines that all want as much as they can get get a minute's requests together, as one engine would."""
    clock = MovableClock(NOON)
    engines = [Engine(store, shard, clock) for shard in range(SHARDS)]
    assert all_take(engines) == PER_MINUTE
    for engine in engines:
        engine.send()
        engine.look()
    clock.move(timedelta(seconds=59))
    assert all_take(engines) == 0
    clock.move(timedelta(seconds=3))
    assert all_take(engines) == PER_MINUTE


def a_killed_engine_s_permits_count(store: PostgresAddress) -> None:
    """An engine ends in the middle of its requests. Whoever takes its shard over, perhaps on a machine whose clock is an hour off,
    finds the minute as full as it is.
    """
    clock = MovableClock(NOON)
    first, second = (Engine(store, shard, clock) for shard in range(2))
    assert first.take(most=8) == 8 and second.take(most=4) == 4
    second.send()
    second.look()
    first.crash()
    successor = Engine(store, 0, MovableClock(NOON + timedelta(hours=1)))
    got = all_take([successor, second])
    assert PER_MINUTE - shared_limiter.AHEAD <= 12 + got <= PER_MINUTE, "some had been drawn for the next replies"
    successor.clock.move(timedelta(seconds=59))
    assert successor.take() == 0


def an_engine_that_lost_its_shard_sends_nothing(store: PostgresAddress) -> None:
    """It was paused, and another one has taken its shard over meanwhile."""
    clock = MovableClock(NOON)
    paused = Engine(store, 0, clock)
    assert paused.take(most=1) == 1, "and some more are there, for the next replies"
    successor = Engine(store, 0, clock)
    clock.move(timedelta(seconds=2))
    paused.take()
    successor.take()
    assert len(paused.permits) == 1


def nothing_is_forgotten(store: PostgresAddress) -> None:
    """All engines end and begin anew, on machines whose clocks differ."""
    engines = [Engine(store, shard, MovableClock(NOON)) for shard in range(SHARDS)]
    assert all_take(engines, most=2) == PER_MINUTE
    for engine in engines:
        engine.send()
        engine.limiter.stop()
    again = [Engine(store, shard, MovableClock(NOON + timedelta(hours=shard - 1))) for shard in range(SHARDS)]
    assert all_take(again) == 0
    assert {engine.limiter.room(0)["day"] for engine in again} == {10_000 - PER_MINUTE}


PROMISES = (
    the_minute_is_kept,
    a_killed_engine_s_permits_count,
    an_engine_that_lost_its_shard_sends_nothing,
    nothing_is_forgotten,
)


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_together_they_keep_the_limits(promise: Callable[[PostgresAddress], None], store: PostgresAddress) -> None:
    promise(store)


@contextmanager
def nobody_learns() -> Iterator[None]:
    """Engines that do not share: each knows of its own requests only."""
    with patch.object(RateLimiter, "elsewhere", lambda *_: None):
        yield


@contextmanager
def no_permit_is_left_over() -> Iterator[None]:
    """The successor believes that the engine before it had no request in progress."""
    real = SharedLimiter._take_turn

    def forgetful(limiter: SharedLimiter, turn: BudgetTurn) -> dict[int, list[int]]:
        drawn = real(limiter, turn)
        turn.state["engines"][limiter._budget.name]["in_flight"] = 0
        return drawn

    with patch.object(SharedLimiter, "_take_turn", forgetful):
        yield


@contextmanager
def nobody_owns_a_shard() -> Iterator[None]:
    """A successor that gives itself no name of its own."""
    with patch.object(shared_limiter, "uuid4", lambda: type("Same", (), {"hex": "same"})):
        yield


@contextmanager
def no_request_is_noted() -> Iterator[None]:
    """What was requested is in the memory of the engines alone."""
    with patch.object(postgres_budget, "_MADE", "SELECT $1::bigint, $2::bigint"):
        yield


GUARDS: dict[Callable[[], object], set[Callable[[PostgresAddress], None]]] = {
    nobody_learns: {the_minute_is_kept, a_killed_engine_s_permits_count},
    no_permit_is_left_over: {the_minute_is_kept, a_killed_engine_s_permits_count},
    nobody_owns_a_shard: {an_engine_that_lost_its_shard_sends_nothing},
    no_request_is_noted: {nothing_is_forgotten},
}


@pytest.mark.parametrize(
    ("without", "promise"),
    [(guard, promise) for guard, promises in GUARDS.items() for promise in promises],
    ids=lambda value: value.__name__,
)
def test_each_guard_is_missed_where_it_is_taken_out(
    without: Callable[[], Iterator[None]], promise: Callable[[PostgresAddress], None], store: PostgresAddress
) -> None:
    with without(), pytest.raises(AssertionError):  # type: ignore[attr-defined]
        promise(store)
