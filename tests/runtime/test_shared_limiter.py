"""The gateway's limits that the engines of all shards keep together: they are never exceeded, and nearly used up, also when engines end and
clocks are wrong."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from bot.core.clock import MovableClock, SystemClock
from bot.core.engine_requests import AskStatus, ListTemplates
from bot.core.values import time_text
from bot.runtime import scheduler, shared_limiter
from bot.runtime.gateway_commands import commands_without_server
from bot.runtime.rate_limiter import RateLimiter
from bot.runtime.shared_limiter import SharedLimiter
from bot.server.local_socket import ask_engine
from bot.services.gateway.gateway_answers import Rate
from bot.settings import AccountSettings
from bot.store import postgres_budget, postgres_database
from bot.store.database import BudgetTurn, PostgresAddress, shards_of
from bot.store.files import StoreUnavailable
from bot.store.opening import engine_writer, shared_budget
from bot.store.postgres_database import connect
from bot.store.rows import CAMPAIGN, REPLY
from tests.divided import Divided, divided_store  # noqa: F401
from tests.patience import wait_for
from tests.postgres import Postgres, divided_database
from tests.runtime.delivering import Bench
from tests.services.gateway.peer import peer, refused

NOON = datetime(2030, 5, 1, 12, 0, tzinfo=UTC)
SHARDS = 4
PER_MINUTE = 20


@pytest.fixture
def store(postgres: Postgres, tmp_path: Path) -> Iterator[PostgresAddress]:
    with divided_database(postgres, tmp_path, SHARDS) as divided:
        yield divided


@contextmanager
def time_of_database(now: datetime) -> Iterator[None]:
    """What time it is in the database meanwhile."""
    with patch.object(postgres_budget, "_STATE", f"SELECT state, {now.timestamp()}::float8 FROM bot.budget"):
        yield


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
            permit = self.drawn(priority, before + most - len(self.permits))
            if permit is None:
                break
            self.permits.append(permit)
        return len(self.permits) - before

    def drawn(self, priority: int, wanted: int) -> int | None:
        """A permit, which is drawn if that is possible."""
        permit = self.limiter.acquire(self.clock.elapsed(), priority, wanted)
        if permit is None and self.limiter.drawing:
            self.limiter._draw()
            permit = self.limiter.acquire(self.clock.elapsed(), priority, wanted)
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


def all_look(engines: list[Engine]) -> None:
    """All take two turns, as they do in two seconds: so each knows what each has done."""
    for engine in [*engines, *engines]:
        engine.look()


def all_take(engines: list[Engine], priority: int = REPLY, most: int = 3) -> int:
    """All look and take in turns, a few at a time, until none gets any more. Returns how many they got."""
    taken, before = 0, -1
    while taken > before:
        before = taken
        for _ in range(2):  # who lets others go first gets some after them
            all_look(engines)
            taken += sum(engine.take(priority, most) for engine in engines)
    return taken


# What must hold


def the_minute_is_kept(store: PostgresAddress) -> None:
    """Engines that all want as much as they can get get a minute's requests together, as one engine would."""
    clock = MovableClock(NOON)
    engines = [Engine(store, shard, clock) for shard in range(SHARDS)]
    assert all_take(engines) == PER_MINUTE
    for engine in engines:
        engine.send()
    all_look(engines)
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
    assert PER_MINUTE - 1 <= 12 + got <= PER_MINUTE, "one had been drawn for the next reply"
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
    assert not paused.limiter.works and successor.limiter.works


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


def an_engine_without_a_successor_holds_nothing_for_ever(store: PostgresAddress) -> None:
    """It was killed in the middle of all requests of a minute, and no machine can work on its shard: they count as if they had just ended."""
    clock = MovableClock(NOON)
    killed, other = (Engine(store, shard, clock) for shard in range(2))
    assert all_take([killed]) == PER_MINUTE
    gone = datetime.now(UTC) + timedelta(seconds=shared_limiter.GONE_SECONDS + 1)
    with time_of_database(gone):
        other.look()
        assert other.take() == 0
        clock.move(timedelta(seconds=61))
        assert other.take() == PER_MINUTE


def an_engine_that_was_taken_to_be_gone_takes_nothing_off_the_count(store: PostgresAddress) -> None:
    """It was only paused, and gives its permits back later."""
    clock = MovableClock(NOON)
    paused, other = (Engine(store, shard, clock) for shard in range(2))
    assert paused.take(most=10) == 10
    gone = datetime.now(UTC) + timedelta(seconds=shared_limiter.GONE_SECONDS + 1)
    with time_of_database(gone):
        other.look()
        clock.move(timedelta(seconds=30))
        for permit in paused.permits:
            paused.limiter.give_back(permit, clock, False, None)
        all_look([paused, other])
        clock.move(timedelta(seconds=32))
        assert other.take() <= PER_MINUTE


def what_an_engine_sends_after_a_pause_counts_when_it_is_sent(store: PostgresAddress) -> None:
    """The others had counted its permits before, when they took it to be gone; the gateway counts the requests."""
    clock = MovableClock(NOON)
    paused, other = (Engine(store, shard, clock) for shard in range(2))
    assert paused.take(most=7) == 7
    with time_of_database(datetime.now(UTC) + timedelta(seconds=shared_limiter.GONE_SECONDS + 1)):
        other.look()
        clock.move(timedelta(seconds=50))
        paused.send()
        all_look([paused, other])
        clock.move(timedelta(seconds=12))  # more than a minute after they were counted first
        assert other.take() <= PER_MINUTE - 7


PROMISES = (
    what_an_engine_sends_after_a_pause_counts_when_it_is_sent,
    an_engine_without_a_successor_holds_nothing_for_ever,
    an_engine_that_was_taken_to_be_gone_takes_nothing_off_the_count,
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

    def forgetful(limiter: SharedLimiter, turn: BudgetTurn, offset: float) -> dict[int, list[int]]:
        drawn = real(limiter, turn, offset)
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


GUARDS: dict[Callable[[], object], tuple[Callable[[PostgresAddress], None], ...]] = {
    nobody_learns: (the_minute_is_kept, a_killed_engine_s_permits_count),
    no_permit_is_left_over: (the_minute_is_kept, a_killed_engine_s_permits_count),
    nobody_owns_a_shard: (an_engine_that_lost_its_shard_sends_nothing,),
    no_request_is_noted: (nothing_is_forgotten,),
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


# How the limits are shared


def test_what_others_leave_one_shard_may_use(store: PostgresAddress, clock: MovableClock) -> None:
    idle, busy = (Engine(store, shard, clock) for shard in range(2))
    assert busy.take() == PER_MINUTE
    assert idle.take() == 0


def test_half_of_what_is_left_stays_for_others(store: PostgresAddress, clock: MovableClock) -> None:
    greedy, modest = (Engine(store, shard, clock) for shard in range(2))
    assert greedy.take(most=PER_MINUTE // 2) == PER_MINUTE // 2
    assert modest.take(most=1) == 1


def test_of_two_shards_with_much_to_do_the_one_that_has_waited_longer_goes_first(
    store: PostgresAddress, clock: MovableClock
) -> None:
    flooded, other = (Engine(store, shard, clock) for shard in range(2))
    assert flooded.take() == PER_MINUTE
    flooded.send()
    clock.move(timedelta(seconds=1))
    for minute in range(2):
        for engine in [flooded, other] * 8:
            engine.look()
            engine.take()
        assert len(flooded.permits) + len(other.permits) == minute * PER_MINUTE
        clock.move(timedelta(seconds=61))
    assert len(other.permits) >= PER_MINUTE // 4


def test_while_there_is_enough_for_all_nobody_waits_for_others(store: PostgresAddress, clock: MovableClock) -> None:
    slow, quick = (Engine(store, shard, clock, per_minute=60_000, per_day=1_000_000) for shard in range(2))
    assert slow.drawn(REPLY, wanted=1000) is not None
    assert quick.take(most=5 * shared_limiter.MOST) == 5 * shared_limiter.MOST


def test_nothing_is_left_for_an_engine_that_has_ended_while_its_replies_waited(
    store: PostgresAddress, clock: MovableClock
) -> None:
    dead, other = (Engine(store, shard, clock) for shard in range(2))
    with time_of_database(NOON):
        assert other.take() == PER_MINUTE
        other.send()
        for engine in [other, dead] * 3:
            engine.look()
            engine.take()
    dead.crash()
    clock.move(timedelta(seconds=61))
    with time_of_database(NOON + timedelta(seconds=61)):
        other.look()
        assert other.take() == PER_MINUTE


def test_a_permit_that_is_not_used_is_there_for_others_a_second_later(
    store: PostgresAddress, clock: MovableClock
) -> None:
    first, second = (Engine(store, shard, clock) for shard in range(2))
    assert first.take(most=1) == 1
    clock.move(timedelta(seconds=1))
    first.look()
    second.look()
    assert second.take() == PER_MINUTE - 1


def test_broadcasts_of_all_shards_are_spread_evenly_and_leave_the_reserve_to_replies(
    store: PostgresAddress, clock: MovableClock
) -> None:
    engines = [Engine(store, shard, clock) for shard in range(2)]
    replying, taken = Engine(store, 2, clock), []
    for second in range(60):
        with time_of_database(clock.now()):
            for engine in (*engines, replying):
                engine.look()
            taken += [second for engine in engines if engine.take(CAMPAIGN)]
        for engine in engines:
            engine.send()
        clock.move(timedelta(seconds=1))
    assert taken == [*range(0, 60, 6)]
    assert replying.take() == PER_MINUTE - len(taken)


def test_a_clock_of_the_database_that_was_set_back_delays_no_broadcast(
    store: PostgresAddress, clock: MovableClock
) -> None:
    engine = Engine(store, 0, clock)
    with time_of_database(NOON + timedelta(hours=1)):
        assert engine.take(CAMPAIGN) == 1
    clock.move(timedelta(seconds=6))
    with time_of_database(NOON):
        assert engine.take(CAMPAIGN) == 1


@pytest.mark.parametrize("ahead", [-3600, 3600])
def test_a_clock_of_the_database_that_is_set_lets_no_request_be_forgotten(
    store: PostgresAddress, clock: MovableClock, ahead: int
) -> None:
    first, second = (Engine(store, shard, clock) for shard in range(2))
    with time_of_database(NOON):
        assert all_take([first]) == PER_MINUTE
    first.send()
    with time_of_database(NOON + timedelta(seconds=ahead)):
        first.look()
        assert second.take() == 0


def test_what_the_gateway_says_is_left_counts_for_all_shards(store: PostgresAddress, clock: MovableClock) -> None:
    first, second = (Engine(store, shard, clock) for shard in range(2))
    assert first.take(most=1) == 1
    first.send(remaining=0)
    first.look()
    second.look()
    assert second.take() == 0
    clock.move(timedelta(seconds=60))
    assert second.take(most=1) == 1


def test_a_machine_that_is_paused_in_its_turn_holds_up_nobody_for_long(
    store: PostgresAddress, clock: MovableClock
) -> None:
    paused, other = (Engine(store, shard, clock) for shard in range(2))
    at_once = postgres_database.END_SILENT.replace("secs => 5", "secs => 0")
    with ThreadPoolExecutor() as threads, closing(engine_writer(shards_of(store)[1])) as engine:
        with pytest.raises(StoreUnavailable), paused.limiter._budget.turn():
            looked = threads.submit(other.look)
            with patch.object(postgres_database, "END_SILENT", at_once):
                while not looked.done():
                    engine.require()


def test_a_permit_that_nobody_knows_to_be_noted_is_not_used_and_comes_back(
    store: PostgresAddress, clock: MovableClock
) -> None:
    first, second = (Engine(store, shard, clock) for shard in range(2))
    real = first.limiter._budget.turn

    @contextmanager
    def committed_unknown() -> Iterator[BudgetTurn]:
        with real() as turn:
            yield turn
        raise StoreUnavailable("the connection is lost", "try again")

    with patch.object(first.limiter._budget, "turn", committed_unknown):
        assert first.take() == 0
    second.look()
    assert second.limiter.room(clock.elapsed())["minute"] < PER_MINUTE
    for _ in range(2):
        clock.move(timedelta(seconds=1))
        first.look()
    second.look()
    assert second.take() == PER_MINUTE


def test_a_store_that_was_copied_begins_with_the_requests_in_its_rows(
    store: PostgresAddress, clock: MovableClock
) -> None:
    with connect(shards_of(store)[1], "engine") as connection:  # type: ignore[arg-type]
        connection.execute(
            "INSERT INTO messages (ref, key, contact, effect, outcome, message_ids, attempts, created_at, at, detail) "
            "VALUES ('r', 'k', '628', '{}', 'sent', '[]', 7, $1, $1, '')",
            [time_text(NOON)],
        )
    assert all_take([Engine(store, shard, clock) for shard in range(2)]) == PER_MINUTE - 7


def test_a_commands_requests_count_for_the_engines_too(store: PostgresAddress) -> None:
    with peer() as server, closing(shared_budget(store) or pytest.fail()) as budget:
        account = AccountSettings(server.url, "k3y", None, PER_MINUTE, 10_000)
        with commands_without_server(account, store, SystemClock()) as commands:
            commands.run(ListTemplates())
        with budget.turn() as turn:
            assert sum(requests for _, requests in turn.recent()) == 1


# With delivery


class Sending:
    """A delivery of a shard's, which draws its permits by itself. ``turns`` counts how often its engine has looked at the budget."""

    def __init__(self, store: PostgresAddress, shard: int, url: str, clock: MovableClock) -> None:
        self.turns = 0
        self.limiter = Engine(store, shard, clock).limiter
        self.bench = Bench(url, clock=clock, limiter=self.limiter)
        self.limiter.start(self._share, self.bench.delivery.permits_came)

    def _share(self, known: dict[str, Any], offset: float) -> None:
        self.bench.delivery.share_breakers(known, offset)
        self.turns += 1

    def look(self) -> None:
        """Wait until it has looked twice more, so that it knows what had happened before, and has done what follows."""
        until = self.turns + 2
        wait_for(lambda: self.turns >= until)
        self.bench.settle()

    def stop(self) -> None:
        self.bench.delivery.stop(5)
        self.limiter.stop()


@pytest.fixture
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_limiter, "LOOK_SECONDS", 0.1)


@pytest.mark.usefixtures("looks_often")
def test_deliveries_of_four_shards_keep_one_limit_and_use_it_up(store: PostgresAddress) -> None:
    clock = MovableClock(NOON, running=True)
    with peer() as server, ExitStack() as running:
        engines = [Sending(store, shard, server.url, clock) for shard in range(SHARDS)]
        for engine in engines:
            running.callback(engine.stop)
            engine.bench.offer(*[engine.bench.row(f"49{contact}") for contact in range(8)])
        wait_for(lambda: len(server.requests) == PER_MINUTE)
        for engine in engines:
            engine.look()
        assert len(server.requests) == PER_MINUTE
        assert {engine.limiter.room(clock.elapsed())["minute"] for engine in engines} == {0}
        clock.move(timedelta(seconds=60))
        wait_for(lambda: len(server.requests) == 8 * SHARDS)


@pytest.mark.usefixtures("looks_often")
def test_what_one_shard_is_refused_for_keeps_the_others_from_trying(store: PostgresAddress) -> None:
    clock = MovableClock(NOON, running=True)
    with peer() as server, ExitStack() as running:
        first, second = (Sending(store, shard, server.url, clock) for shard in range(2))
        for engine in (first, second):
            running.callback(engine.stop)
        server.answers(refused("RATE_LIMIT_EXCEEDED", 429, "slow down", {"Retry-After": "40"}))
        first.bench.offer(first.bench.row())
        wait_for(lambda: first.bench.delivery.next_due() is not None)
        first.look()
        second.look()
        second.bench.offer(second.bench.row())
        second.look()
        assert len(server.requests) == 1
        clock.move(timedelta(seconds=41))
        assert first.bench.reported(2).state == "sent"
        clock.move(timedelta(seconds=scheduler.OTHERS_PROBE_AFTER))
        assert second.bench.reported(1).state == "sent"


def test_what_one_engine_requests_is_missing_from_what_another_says_is_left(divided: Divided) -> None:
    with divided.engines(0, 1) as gateway:
        first, second, _ = shards_of(divided.store)
        assert ask_engine(first, ListTemplates()).has_more is False
        wait_for(lambda: ask_engine(second, AskStatus()).left == {"minute": 59, "day": 9_999})
        assert gateway.requests == 1
    with divided.engines(2):
        assert ask_engine(shards_of(divided.store)[2], AskStatus()).left["minute"] == 59, "they have begun anew"
