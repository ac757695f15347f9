"""The gateway's limits: never broken, never wasted."""

import random
from collections import deque
from copy import deepcopy
from datetime import timedelta
from itertools import pairwise

import pytest

from bot.runtime.rate_limiter import RateLimiter, campaign_time
from bot.store.rows import CAMPAIGN, REPLY

NOON = 43_200.0  # by the clock that never steps


def at(seconds: float) -> float:
    return NOON + seconds


def burst(limiter: RateLimiter, now: float, remaining: int | None = None, resets_in: float | None = None) -> int:
    """Take and use every permit there is; how many there were."""
    count = 0
    while (permit := limiter.acquire(now)) is not None:
        limiter.ended(permit, now, remaining, resets_in)
        count += 1
    return count


def left(limiter: RateLimiter, now: float, priority: int = REPLY) -> int:
    """How many permits are free now."""
    tried = deepcopy(limiter)
    return sum(1 for _ in iter(lambda: tried.acquire(now, priority), None))


def test_a_minute_has_its_limit_and_slides() -> None:
    limiter = RateLimiter(60, 10_000)
    assert burst(limiter, NOON) == 60
    assert limiter.free_at(NOON) == at(60.125)
    assert burst(limiter, at(60)) == 0
    assert burst(limiter, at(60.125)) == 60


def test_a_request_in_flight_counts_until_a_minute_after_its_answer() -> None:
    limiter = RateLimiter(1, 100)
    permit = limiter.acquire(NOON)
    assert permit is not None
    assert limiter.acquire(at(90)) is None
    assert limiter.free_at(at(90)) is None
    limiter.ended(permit, at(100))
    assert limiter.acquire(at(159)) is None
    assert limiter.acquire(at(161)) is not None


def test_a_request_that_never_left_does_not_count() -> None:
    limiter = RateLimiter(1, 100)
    for _ in range(5):
        permit = limiter.acquire(NOON)
        assert permit is not None
        limiter.unused(permit)


def test_the_room_of_each_window_is_what_replies_may_still_take() -> None:
    limiter = RateLimiter(60, 10_000)
    permit = limiter.acquire(NOON)
    assert limiter.room(NOON) == {"minute": 59, "day": 9_999}, "one in flight counts, the reserve does not"
    assert permit is not None
    limiter.ended(permit, NOON)
    assert limiter.room(at(61)) == {"minute": 60, "day": 9_999}


def test_a_day_has_its_limit_and_slides() -> None:
    limiter = RateLimiter(100, 250)
    assert [burst(limiter, at(minutes * 120)) for minutes in range(4)] == [100, 100, 50, 0]
    free = limiter.free_at(at(400))
    assert free is not None
    assert at(86_400) < free <= at(86_400 + 60)
    assert burst(limiter, free) == 100


def test_no_calendar_day_has_more_than_its_limit() -> None:
    limiter = RateLimiter(1000, 1000)
    before_midnight = at(12 * 3600 - 1)
    assert burst(limiter, before_midnight) == 1000
    assert burst(limiter, before_midnight + 120) == 0


def test_requests_from_before_a_restart_count() -> None:
    limiter = RateLimiter(60, 100, [(at(-3600), 30), (at(-30), 50)])
    assert burst(limiter, NOON) == 10
    assert burst(limiter, at(31)) == 10
    assert burst(limiter, at(120)) == 0


def test_the_first_request_after_a_crash_goes_alone_and_its_answer_says_how_many_are_left() -> None:
    limiter = RateLimiter(60, 10_000, crashed=True)
    first = limiter.acquire(NOON)
    assert first is not None
    assert limiter.acquire(at(1)) is None
    assert limiter.free_at(at(1)) == at(5)
    limiter.ended(first, at(1), remaining=3)
    assert burst(limiter, at(1)) == 3


def test_others_wait_a_moment_only_for_the_first_request_after_a_crash() -> None:
    limiter = RateLimiter(60, 10_000, crashed=True)
    unused = limiter.acquire(NOON)
    assert unused is not None
    limiter.unused(unused)
    assert limiter.acquire(NOON) is not None
    assert limiter.acquire(at(4)) is None
    assert limiter.acquire(at(5)) is not None


def test_headers_lower_the_limit_until_their_reset() -> None:
    limiter = RateLimiter(60, 10_000)
    permit = limiter.acquire(NOON)
    assert permit is not None
    limiter.ended(permit, NOON, 2, 10)
    assert left(limiter, NOON) == 2
    assert burst(limiter, NOON) == 2
    assert limiter.free_at(NOON) == at(10)
    assert burst(limiter, at(10)) == 57


def test_headers_never_raise_the_limit() -> None:
    limiter = RateLimiter(5, 10_000)
    assert burst(limiter, NOON, 1000, 1) == 5
    assert burst(limiter, at(2)) == 0


def test_a_reset_that_is_far_off_holds_for_a_minute_at_most() -> None:
    limiter = RateLimiter(60, 10_000)
    assert burst(limiter, NOON, 0, 86_400) == 1
    assert limiter.free_at(NOON) == at(60)


def test_the_newest_word_of_the_gateway_counts_less_what_was_given_since() -> None:
    limiter = RateLimiter(60, 10_000)
    first, second = limiter.acquire(NOON), limiter.acquire(NOON)
    assert first is not None and second is not None
    limiter.acquire(NOON)
    limiter.ended(second, NOON, 10, 30)
    assert left(limiter, NOON) == 9
    limiter.ended(first, NOON, 50, 30)
    assert left(limiter, NOON) == 9


@pytest.mark.parametrize("resets_in", [None, -3600.0, 0.0, 86_400.0, 1e12])
def test_none_left_without_a_time_is_believed_for_a_minute_and_once(resets_in: float | None) -> None:
    limiter = RateLimiter(60, 10_000)
    assert burst(limiter, NOON, 0, resets_in) == 1
    assert limiter.free_at(NOON) == at(60)
    assert burst(limiter, at(61), 0, resets_in) == 60
    assert limiter.said_none_for(at(300)) == 0
    assert burst_of(limiter, at(400), 1, remaining=5) == 1
    assert left(limiter, at(400)) == 5
    assert burst(limiter, at(470), 0, resets_in) == 1


def test_none_left_with_a_time_is_believed_each_time_and_told(resets_in: float = 30) -> None:
    limiter = RateLimiter(60, 10_000)
    for minute in range(4):
        assert burst(limiter, at(60 * minute), 0, resets_in) == 1
    assert limiter.said_none_for(at(180)) == 180
    assert burst_of(limiter, at(240), 1, remaining=10) == 1
    assert limiter.said_none_for(at(241)) == 0


def test_no_window_of_the_gateways_ever_overflows_and_little_is_wasted() -> None:
    """The gateway counts each request somewhere between its permit and its answer."""
    chance = random.Random(7)
    limiter = RateLimiter(60, 10_000)
    now, used = 0.0, 0
    in_flight: list[tuple[float, float, int]] = []
    counted: deque[float] = deque()
    while now < 1800:
        for request in sorted(r for r in in_flight if r[0] <= now):
            in_flight.remove(request)
            counted.append(request[1])
            limiter.ended(request[2], at(request[0]), None)
        while (permit := limiter.acquire(at(now))) is not None:
            duration = chance.uniform(0.01, 2)
            in_flight.append((now + duration, now + chance.uniform(0, duration), permit))
            used += 1
        now += 0.05
    times = sorted(counted)
    assert all(times[i + 60] - times[i] > 60 for i in range(len(times) - 60))
    assert used > 60 * 30 * 0.95


def test_millions_of_requests_take_little_memory() -> None:
    limiter = RateLimiter(10_000_000, 10_000_000)
    for second in range(0, 7200, 10):
        assert burst_of(limiter, at(second), 20) == 20
    assert sum(len(window._slots) for window, _ in limiter._windows) < 700


def burst_of(limiter: RateLimiter, now: float, most: int, remaining: int | None = None) -> int:
    for _ in range(most):
        permit = limiter.acquire(now)
        assert permit is not None
        limiter.ended(permit, now, remaining)
    return most


# -- what is no reply


def test_campaigns_go_evenly_and_leave_the_reserve() -> None:
    limiter = RateLimiter(60, 10_000, reserve=10)
    sent, now = [], NOON
    for _ in range(200):
        assert burst_for(limiter, now, CAMPAIGN) == 1
        assert left(limiter, now) >= 10
        sent.append(now)
        free = limiter.free_at(now, CAMPAIGN)
        assert free is not None
        now = free
    gaps = [after - before for before, after in pairwise(sent)]
    assert 1 <= min(gaps) <= max(gaps) < 2
    assert len([at_ for at_ in sent if at_ < at(180)]) >= 148


def test_what_is_a_little_late_is_made_up_for_and_a_long_rest_is_no_credit() -> None:
    limiter = RateLimiter(60, 10_000, reserve=0)
    assert burst_for(limiter, NOON, CAMPAIGN) == 1
    assert burst_for(limiter, at(1.4), CAMPAIGN) == 1
    assert limiter.free_at(at(1.4), CAMPAIGN) == at(2 - 0.125)
    assert burst_for(limiter, at(50), CAMPAIGN) == 1
    assert limiter.free_at(at(50), CAMPAIGN) == at(51 - 0.125)


def test_replies_may_use_all_there_is_and_campaigns_wait_for_the_reserve_to_be_there_again() -> None:
    limiter = RateLimiter(60, 10_000, reserve=10)
    assert burst_of(limiter, NOON, 55) == 55
    assert (left(limiter, NOON), left(limiter, NOON, CAMPAIGN)) == (5, 0)
    free = limiter.free_at(NOON, CAMPAIGN)
    assert burst(limiter, NOON) == 5
    assert free is not None and left(limiter, free, CAMPAIGN) == 1


def test_the_same_share_of_a_day_is_left_to_replies() -> None:
    limiter = RateLimiter(60, 600, [(at(-7200), 500)], reserve=10)
    assert (left(limiter, NOON), left(limiter, NOON, CAMPAIGN)) == (60, 0)


def test_headers_leave_the_reserve_too() -> None:
    limiter = RateLimiter(60, 10_000, reserve=10)
    permit = limiter.acquire(NOON)
    assert permit is not None
    limiter.ended(permit, NOON, 10, 20)
    assert (left(limiter, NOON), left(limiter, NOON, CAMPAIGN)) == (10, 0)
    assert limiter.free_at(NOON, CAMPAIGN) == at(20)


@pytest.mark.parametrize("limit", [1, 2, 5, 15])
def test_however_small_the_limit_campaigns_go_on(limit: int) -> None:
    assert left(RateLimiter(limit, limit * 10, reserve=10), NOON, CAMPAIGN) == 1


def test_under_a_high_limit_what_falls_into_one_moment_goes_at_once() -> None:
    limiter = RateLimiter(60_000, 1_000_000)
    assert burst_for(limiter, NOON, CAMPAIGN) > 100


def test_how_long_a_campaign_takes_counts_the_reserve_and_the_days() -> None:
    assert campaign_time(50, 60, 10_000) == timedelta(minutes=1)
    assert campaign_time(1000, 60, 10_000) == timedelta(minutes=20)
    assert campaign_time(8334 + 50, 60, 10_000) == timedelta(days=1, minutes=1)
    assert campaign_time(10, 1, 1) == timedelta(days=10)


def burst_for(limiter: RateLimiter, now: float, priority: int) -> int:
    count = 0
    while (permit := limiter.acquire(now, priority)) is not None:
        limiter.ended(permit, now)
        count += 1
    return count
