"""The circuit breakers of several routes, where what one finds out meets what another is still trying."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.core.alarms import Alarms
from bot.core.clock import MovableClock
from bot.runtime.scheduler import CircuitBreakers
from bot.runtime.sending import ACCOUNT, CHANNEL, LIMITS, OtherRoute, Route, SendAttempt

TAKEN = SendAttempt("sent", requested=True)
WRONG_KEY = SendAttempt("held", requested=True, fault=ACCOUNT)
LIMITED = SendAttempt("retry", requested=True, fault=LIMITS)


@pytest.fixture
def alarms() -> Alarms:
    return Alarms(MovableClock(datetime(2030, 5, 1, tzinfo=UTC)))


@pytest.fixture
def breakers(alarms: Alarms) -> CircuitBreakers:
    return CircuitBreakers(alarms, ["one", "two"])


@pytest.mark.parametrize("late", [WRONG_KEY, LIMITED, TAKEN, SendAttempt("retry", requested=True)])
def test_a_probe_that_comes_back_after_another_channels_has_shown_that_the_key_is_right_says_nothing(
    breakers: CircuitBreakers, alarms: Alarms, late: SendAttempt
) -> None:
    breakers.record("one", False, WRONG_KEY, 0)
    assert [breakers[route].begin() for route in ("one", "two")] == [True, True]
    breakers.record("one", True, TAKEN, 61)
    breakers.record("two", True, late, 62)
    assert all(breakers[route].free_at(62) == 62 for route in ("one", "two"))
    assert alarms.current() == []


def test_one_refusal_long_after_another_channels_is_no_alarm_and_a_minute_of_them_is(
    breakers: CircuitBreakers, alarms: Alarms
) -> None:
    breakers.record("one", False, LIMITED, 0)
    assert breakers["one"].begin()
    breakers.record("one", True, TAKEN, 2)
    for now, reported in ((3600, 0), (3630, 0), (3660, 1)):
        assert breakers["two"].begin()
        breakers.record("two", True, LIMITED, now)
        assert len(alarms.current()) == reported
    assert breakers["two"].begin()
    breakers.record("two", True, TAKEN, 3700)
    assert alarms.current() == []


def test_a_channel_that_an_edit_has_removed_is_no_alarm_any_more(breakers: CircuitBreakers, alarms: Alarms) -> None:
    breakers.record("one", False, SendAttempt("held", requested=True, fault=CHANNEL), 0)
    breakers.record("two", False, LIMITED, 0)
    assert breakers["two"].begin()
    breakers.record("two", True, LIMITED, 100)
    assert [alarm.name for alarm in alarms.current()] == ["channel-held", "rate-limited"]
    breakers.keep(["two"])
    assert [alarm.name for alarm in alarms.current()] == ["rate-limited"]


# -- of several shards


class Shard:
    """The breakers of an engine, with a clock of its own that began ``ahead`` seconds earlier than the database's."""

    def __init__(self, known: dict[str, Any], ahead: float) -> None:
        self.alarms = Alarms(MovableClock(datetime(2030, 5, 1, tzinfo=UTC)))
        self.breakers = CircuitBreakers(self.alarms, ["one", "two"])
        self._known, self._ahead = known, ahead

    def share(self, now: float) -> None:
        self.breakers.share(self._known, -self._ahead, now + self._ahead)

    def record(self, route: str, now: float, outcome: SendAttempt) -> None:
        self.breakers.record(route, self.breakers[route].begin(), outcome, now + self._ahead)
        self.share(now)

    def free_at(self, route: Route, now: float) -> float | None:
        free = self.breakers[route].free_at(now + self._ahead)
        return None if free is None else free - self._ahead


@pytest.fixture
def shards() -> tuple[Shard, Shard]:
    known: dict[str, Any] = {}
    return Shard(known, 0), Shard(known, 1000)


LIMITED_A_WHILE = replace(LIMITED, retry_after=30.0)


def test_what_one_shard_is_refused_for_the_limits_no_shard_tries_until_that_one_has(
    shards: tuple[Shard, Shard],
) -> None:
    first, second = shards
    first.record("one", 0, LIMITED_A_WHILE)
    second.share(1)
    assert [first.free_at(route, 1) for route in ("one", "two", OtherRoute.COMMANDS)] == [30, 30, 30]
    assert [second.free_at(route, 1) for route in ("one", "two", OtherRoute.COMMANDS)] == [35, 35, 35]
    first.record("one", 30, TAKEN)
    second.share(31)
    assert (second.free_at("one", 31), second.free_at("two", 31)) == (31, 35), "each channel finds out for itself"


def test_another_shard_finds_out_if_the_one_that_was_refused_does_not(shards: tuple[Shard, Shard]) -> None:
    first, second = shards
    first.record("one", 0, LIMITED_A_WHILE)
    second.share(1)
    second.record("one", 35, LIMITED_A_WHILE)
    first.share(36)
    assert (first.free_at("one", 36), second.free_at("one", 36)) == (100, 95), "it is refused again: a longer pause"


def test_a_key_that_is_right_again_lets_all_shards_go_on_and_ends_the_alarm(shards: tuple[Shard, Shard]) -> None:
    first, second = shards
    first.record("one", 0, WRONG_KEY)
    second.share(1)
    assert second.free_at("two", 1) == 65 and second.free_at(OtherRoute.COMMANDS, 1) == 1
    assert [alarm.name for alarm in first.alarms.current()] == ["delivery-held"]
    second.record("two", 65, TAKEN)
    second.share(66)
    first.share(66)
    assert (first.free_at("one", 66), first.free_at("two", 66)) == (66, 66)
    assert first.alarms.current() == []


def test_a_channel_that_one_shard_may_not_use_the_others_try_for_themselves(shards: tuple[Shard, Shard]) -> None:
    first, second = shards
    first.record("one", 0, SendAttempt("held", requested=True, fault=CHANNEL))
    second.share(1)
    assert second.free_at("one", 1) == 1
    second.record("two", 1, LIMITED_A_WHILE)
    first.share(2)
    assert (first.free_at("one", 2), first.free_at("two", 2)) == (60, 36)


def test_a_clock_of_the_database_that_was_set_back_prolongs_no_pause(shards: tuple[Shard, Shard]) -> None:
    first, second = shards
    first.record("one", 0, LIMITED_A_WHILE)
    second.breakers.share(second._known, -4600.0, 1001.0)
    assert second.free_at("one", 1) == 36
