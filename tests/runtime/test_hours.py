"""With replies at 30 a minute and an endless broadcast: no limit is broken, no reply waits, little is wasted."""

from datetime import timedelta

import pytest

from tests.runtime.hours import simulate

HOUR = timedelta(hours=1)


@pytest.mark.parametrize("window", ["sliding", "fixed"])
def test_in_an_hour_with_the_reserve_no_reply_waits_and_most_of_the_budget_is_used(window: str) -> None:
    report = simulate(HOUR, window)
    assert report.refused == 0
    assert len(report.waits) > 1700
    assert report.p99 < 1
    assert report.used >= 0.8


@pytest.mark.parametrize("window", ["sliding", "fixed"])
def test_without_the_reserve_the_budget_is_used_up(window: str) -> None:
    report = simulate(HOUR / 6, window, reserve=0)
    assert report.refused == 0
    assert report.used >= 0.95
