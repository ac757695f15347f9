"""The clocks: the time of day can be set, how much time has passed cannot."""

import threading
from datetime import UTC, datetime, timedelta
from queue import SimpleQueue

import pytest

from bot.core.clock import Clock, ClockJumps, ExpiryTime, MovableClock, SystemClock, Timekeeper, deadline_of, time_of
from tests.patience import PATIENCE

NOON = datetime(2030, 5, 6, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock(NOON)


def test_time_that_passes_passes_for_both(clock: MovableClock) -> None:
    clock.move(HOUR)
    clock.move_to(NOON + 2 * HOUR)
    assert (clock.now(), clock.elapsed()) == (NOON + 2 * HOUR, 7200.0)


@pytest.mark.parametrize("by", [DAY, -DAY])
def test_a_clock_that_is_set_tells_another_time_and_no_time_has_passed(clock: MovableClock, by: timedelta) -> None:
    clock.move(HOUR)
    clock.step(by)
    assert (clock.now(), clock.elapsed()) == (NOON + HOUR + by, 3600.0)
    clock.move_to(NOON + by + 3 * HOUR)
    assert clock.elapsed() == 3 * 3600.0


def test_time_never_passes_backwards(clock: MovableClock) -> None:
    clock.move_to(NOON - HOUR)
    assert (clock.now(), clock.elapsed()) == (NOON, 0.0)


def test_a_running_clock_goes_on_from_where_it_was_set() -> None:
    clock = MovableClock(NOON, running=True)
    before = clock.elapsed()
    clock.step(-DAY)
    assert NOON - DAY <= clock.now() < NOON - DAY + HOUR
    assert before <= clock.elapsed() < 3600


@pytest.mark.parametrize("clock", [SystemClock(), MovableClock(NOON)])
def test_nobody_waits_for_what_is_past(clock: Clock) -> None:
    condition = threading.Condition()
    with condition:
        clock.wait(condition, clock.elapsed(), at_most=PATIENCE)


@pytest.mark.parametrize("change", [MovableClock.move, MovableClock.step])
def test_who_waits_is_woken_when_the_clock_moves_or_is_set(clock: MovableClock, change: object) -> None:
    condition, woken = threading.Condition(), threading.Event()

    def wait() -> None:
        with condition:
            clock.wait(condition, 10.0, at_most=PATIENCE)
        woken.set()

    threading.Thread(target=wait, daemon=True).start()
    while not woken.wait(0.001):
        assert callable(change)
        change(clock, timedelta(seconds=1))


def test_a_deadline_stands_for_a_time_until_the_clock_is_set(clock: MovableClock) -> None:
    deadline = deadline_of(clock, NOON + HOUR)
    assert deadline == 3600.0
    clock.move(HOUR / 2)
    assert time_of(clock, deadline) == NOON + HOUR
    clock.step(-DAY)
    assert time_of(clock, deadline) == NOON + HOUR - DAY
    assert time_of(clock, 0.0) == NOON - DAY


def test_a_deadline_ahead_is_never_shown_as_now(clock: MovableClock) -> None:
    assert time_of(clock, 1e-9) > NOON


def test_a_step_is_seen_once_with_its_size_however_much_time_has_passed(clock: MovableClock) -> None:
    jumps = ClockJumps(clock)
    clock.move(HOUR)
    assert not jumps.pop(clock.now(), clock.elapsed())
    clock.step(-DAY)
    clock.move(HOUR)
    assert jumps.pending()
    assert [jumps.pop(clock.now(), clock.elapsed()) for _ in range(2)] == [-DAY, timedelta()]


def test_many_small_steps_are_seen_together(clock: MovableClock) -> None:
    jumps = ClockJumps(clock)
    seen = []
    for _ in range(3):
        clock.step(timedelta(seconds=2))
        seen.append(jumps.pop(clock.now(), clock.elapsed()))
    assert seen == [timedelta(), timedelta(), timedelta(seconds=6)]


def test_things_expire_by_a_clock_that_was_set_forward_after_a_day_only(clock: MovableClock) -> None:
    expiry = ExpiryTime(clock)
    clock.step(100 * DAY)
    assert expiry.now() == NOON
    clock.move(DAY - HOUR)
    assert expiry.now() == NOON + DAY - HOUR
    clock.move(HOUR)
    assert expiry.now() == clock.now() == NOON + 101 * DAY


def test_things_expire_by_a_clock_that_was_set_back_at_once(clock: MovableClock) -> None:
    expiry = ExpiryTime(clock)
    clock.step(100 * DAY)
    assert expiry.now() == NOON
    clock.step(-101 * DAY)
    assert expiry.now() == clock.now() == NOON - DAY


def test_a_time_that_is_named_while_a_timekeeper_looks_is_not_missed() -> None:
    clock, lock, looks = MovableClock(NOON), threading.Lock(), SimpleQueue[float]()

    def look() -> float | None:
        if clock.elapsed() == 0:
            with lock:
                keeper.wake_by(5.0)  # what another thread may do now
        looks.put(clock.elapsed())
        return None

    keeper = Timekeeper(clock, lock, look, "test")
    with lock:
        keeper.wake_by(0.0)
    assert looks.get(timeout=20) == 0
    clock.move(timedelta(seconds=5))
    while looks.get(timeout=20) < 5:  # it may have looked before it waited
        pass
    with lock:
        keeper.end()
    keeper.join()
