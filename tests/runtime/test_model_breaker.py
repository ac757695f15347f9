from datetime import UTC, datetime, timedelta

import pytest

from bot.core.clock import MovableClock
from bot.runtime.model_calls import ModelBreaker

FAILURES = 3
PAUSE = timedelta(seconds=30)
NOW = datetime(2025, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock(NOW)


@pytest.fixture
def breaker(clock: MovableClock) -> ModelBreaker:
    return ModelBreaker(clock)


def fail(breaker: ModelBreaker, times: int = FAILURES) -> None:
    for number in range(times):
        breaker.failed("a", f"contact {number}")


def test_a_model_that_keeps_failing_is_left_alone_and_the_others_are_not(breaker: ModelBreaker) -> None:
    fail(breaker, FAILURES - 1)
    assert breaker.allows("a")
    breaker.failed("a", "another contact")
    assert not breaker.allows("a")
    assert breaker.allows("b")


def test_however_often_one_contacts_questions_fail_they_count_once(breaker: ModelBreaker) -> None:
    for _ in range(3 * FAILURES):
        breaker.failed("a", "one contact")
    assert breaker.allows("a")


def test_only_failures_in_a_row_count(breaker: ModelBreaker) -> None:
    fail(breaker, FAILURES - 1)
    breaker.succeeded("a")
    fail(breaker, FAILURES - 1)
    assert breaker.allows("a")


def test_after_a_pause_one_may_try(breaker: ModelBreaker, clock: MovableClock) -> None:
    fail(breaker)
    clock.move(PAUSE)
    assert [breaker.allows("a") for _ in range(3)] == [True, False, False]


def test_a_try_that_works_lets_everybody_in(breaker: ModelBreaker, clock: MovableClock) -> None:
    fail(breaker)
    clock.move(PAUSE)
    assert breaker.allows("a")
    breaker.succeeded("a")
    assert [breaker.allows("a") for _ in range(3)] == [True, True, True]


def test_a_try_that_fails_begins_another_pause(breaker: ModelBreaker, clock: MovableClock) -> None:
    fail(breaker)
    clock.move(PAUSE)
    assert breaker.allows("a")
    clock.move(PAUSE / 2)
    breaker.failed("a", "contact 1")
    clock.move(PAUSE / 2)
    assert not breaker.allows("a")
    clock.move(PAUSE / 2)
    assert breaker.allows("a")


def test_a_try_that_never_comes_back_stands_in_nobodys_way(breaker: ModelBreaker, clock: MovableClock) -> None:
    fail(breaker)
    clock.move(PAUSE)
    assert breaker.allows("a")
    clock.move(PAUSE)
    assert breaker.allows("a")


def test_a_model_that_is_of_no_use_until_a_time_is_left_alone_until_then(
    breaker: ModelBreaker, clock: MovableClock
) -> None:
    breaker.failed("a", "contact 1", timedelta(hours=5))
    fail(breaker)  # those that were on their way shorten nothing
    clock.move(timedelta(hours=5) - timedelta(seconds=1))
    assert not breaker.allows("a")
    clock.move(timedelta(seconds=1))
    assert breaker.allows("a")
