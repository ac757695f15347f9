"""The circuit breakers of several routes, where what one finds out meets what another is still trying."""

from datetime import UTC, datetime

import pytest

from bot.alarms import Alarms
from bot.clock import MovableClock
from bot.runtime.scheduler import CircuitBreakers
from bot.runtime.sending import ACCOUNT, CHANNEL, LIMITS, SendAttempt

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
    breakers.judge("one", False, WRONG_KEY, 0)
    assert [breakers[route].begin() for route in ("one", "two")] == [True, True]
    breakers.judge("one", True, TAKEN, 61)
    breakers.judge("two", True, late, 62)
    assert all(breakers[route].free_at(62) == 62 for route in ("one", "two"))
    assert alarms.current() == []


def test_one_refusal_long_after_another_channels_is_no_alarm_and_a_minute_of_them_is(
    breakers: CircuitBreakers, alarms: Alarms
) -> None:
    breakers.judge("one", False, LIMITED, 0)
    assert breakers["one"].begin()
    breakers.judge("one", True, TAKEN, 2)
    for now, reported in ((3600, 0), (3630, 0), (3660, 1)):
        assert breakers["two"].begin()
        breakers.judge("two", True, LIMITED, now)
        assert len(alarms.current()) == reported
    assert breakers["two"].begin()
    breakers.judge("two", True, TAKEN, 3700)
    assert alarms.current() == []


def test_a_channel_that_an_edit_has_removed_is_no_alarm_any_more(breakers: CircuitBreakers, alarms: Alarms) -> None:
    breakers.judge("one", False, SendAttempt("held", requested=True, fault=CHANNEL), 0)
    breakers.judge("two", False, LIMITED, 0)
    assert breakers["two"].begin()
    breakers.judge("two", True, LIMITED, 100)
    assert [alarm.name for alarm in alarms.current()] == ["channel-held", "rate-limited"]
    breakers.keep(["two"])
    assert [alarm.name for alarm in alarms.current()] == ["rate-limited"]
