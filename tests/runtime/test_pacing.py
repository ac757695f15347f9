"""The gateway's limits: never broken, never wasted."""

import random
from collections import deque
from datetime import UTC, datetime, timedelta

from bot.gateway.rate import Rate
from bot.runtime.pacing import Pacing

NOON = datetime(2030, 5, 1, 12, 0, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def burst(pacing: Pacing, now: datetime, rate: Rate | None = None) -> int:
    """Take and use every permit there is; how many there were."""
    count = 0
    while (permit := pacing.take(now)) is not None:
        pacing.ended(permit, now, rate)
        count += 1
    return count


def test_a_minute_has_its_limit_and_slides() -> None:
    pacing = Pacing(60, 10_000)
    assert burst(pacing, NOON) == 60
    assert pacing.opens_at(NOON) == at(60.125)
    assert burst(pacing, at(60)) == 0
    assert burst(pacing, at(60.125)) == 60


def test_a_request_in_flight_counts_until_a_minute_after_its_answer() -> None:
    pacing = Pacing(1, 100)
    permit = pacing.take(NOON)
    assert permit is not None
    assert pacing.take(at(90)) is None
    assert pacing.opens_at(at(90)) is None
    pacing.ended(permit, at(100), None)
    assert pacing.take(at(159)) is None
    assert pacing.take(at(161)) is not None


def test_a_request_that_never_left_does_not_count() -> None:
    pacing = Pacing(1, 100)
    for _ in range(5):
        permit = pacing.take(NOON)
        assert permit is not None
        pacing.unused(permit)


def test_a_day_has_its_limit_and_slides() -> None:
    pacing = Pacing(100, 250)
    assert [burst(pacing, at(minutes * 120)) for minutes in range(4)] == [100, 100, 50, 0]
    opens = pacing.opens_at(at(400))
    assert opens is not None
    assert at(86_400) < opens <= at(86_400 + 60)
    assert burst(pacing, opens) == 100


def test_no_calendar_day_has_more_than_its_limit() -> None:
    pacing = Pacing(1000, 1000)
    before_midnight = datetime(2030, 5, 1, 23, 59, 59, tzinfo=UTC)
    assert burst(pacing, before_midnight) == 1000
    assert burst(pacing, before_midnight + timedelta(minutes=2)) == 0


def test_requests_from_before_a_restart_count() -> None:
    pacing = Pacing(60, 100, [(at(-3600), 30), (at(-30), 50)])
    assert burst(pacing, NOON) == 10
    assert burst(pacing, at(31)) == 10
    assert burst(pacing, at(120)) == 0


def test_headers_lower_the_limit_until_their_reset() -> None:
    pacing = Pacing(60, 10_000)
    permit = pacing.take(NOON)
    assert permit is not None
    pacing.ended(permit, NOON, Rate(remaining=2, resets_at=at(10)))
    assert pacing.left(NOON) == 2
    assert burst(pacing, NOON) == 2
    assert pacing.opens_at(NOON) == at(10)
    assert burst(pacing, at(10)) == 57


def test_headers_never_raise_the_limit() -> None:
    pacing = Pacing(5, 10_000)
    assert burst(pacing, NOON, Rate(remaining=1000, resets_at=at(1))) == 5
    assert burst(pacing, at(2)) == 0


def test_a_reset_that_is_far_off_holds_for_a_minute_at_most() -> None:
    pacing = Pacing(60, 10_000)
    assert burst(pacing, NOON, Rate(remaining=0, resets_at=at(86_400))) == 1
    assert pacing.opens_at(NOON) == at(60)


def test_the_newest_word_of_the_gateway_counts_less_what_was_given_since() -> None:
    pacing = Pacing(60, 10_000)
    first, second = pacing.take(NOON), pacing.take(NOON)
    assert first is not None and second is not None
    pacing.take(NOON)
    pacing.ended(second, NOON, Rate(remaining=10, resets_at=at(30)))
    assert pacing.left(NOON) == 9
    pacing.ended(first, NOON, Rate(remaining=50, resets_at=at(30)))
    assert pacing.left(NOON) == 9


def test_a_pause_stops_everybody_and_a_shorter_one_does_not_end_it() -> None:
    pacing = Pacing()
    pacing.pause(at(30))
    pacing.pause(at(10))
    assert pacing.take(at(29)) is None
    assert pacing.opens_at(NOON) == at(30)
    assert pacing.take(at(30)) is not None


def test_no_window_of_the_gateways_ever_overflows_and_little_is_wasted() -> None:
    """The gateway counts each request somewhere between its permit and its answer."""
    chance = random.Random(7)
    pacing = Pacing(60, 10_000)
    now, used = 0.0, 0
    in_flight: list[tuple[float, float, int]] = []
    counted: deque[float] = deque()
    while now < 1800:
        for request in sorted(r for r in in_flight if r[0] <= now):
            in_flight.remove(request)
            counted.append(request[1])
            pacing.ended(request[2], at(request[0]), None)
        while (permit := pacing.take(at(now))) is not None:
            duration = chance.uniform(0.01, 2)
            in_flight.append((now + duration, now + chance.uniform(0, duration), permit))
            used += 1
        now += 0.05
    times = sorted(counted)
    assert all(times[i + 60] - times[i] > 60 for i in range(len(times) - 60))
    assert used > 60 * 30 * 0.95


def test_millions_of_requests_take_little_memory() -> None:
    pacing = Pacing(10_000_000, 10_000_000)
    for second in range(0, 7200, 10):
        assert burst_of(pacing, at(second), 20) == 20
    assert sum(len(window._counts) for window in pacing._windows) < 700


def burst_of(pacing: Pacing, now: datetime, most: int) -> int:
    for _ in range(most):
        permit = pacing.take(now)
        assert permit is not None
        pacing.ended(permit, now, None)
    return most
