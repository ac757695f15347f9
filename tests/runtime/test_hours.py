"""With replies at 30 a minute and an endless broadcast: no limit is broken, no reply waits, little is wasted."""

from datetime import timedelta

import pytest

from tests.runtime.hours import simulate
from tests.searches import search, tries

MINUTES = timedelta(minutes=1)


@search
@pytest.mark.parametrize("window", ["sliding", "fixed"])
def test_with_the_reserve_no_reply_waits_and_most_of_the_budget_is_used(window: str) -> None:
    report = simulate(tries(8, 20) * MINUTES, window)
    assert report.refused == 0
    assert len(report.waits) > tries(200, 550)
    assert sum(wait >= 1 for wait in report.waits) < 18, "only in the first minute, which the broadcast has to itself"
    assert report.used >= 0.8


@search
@pytest.mark.parametrize("window", ["sliding", "fixed"])
def test_without_the_reserve_the_budget_is_used_up(window: str) -> None:
    report = simulate(tries(4, 10) * MINUTES, window, reserve=0)
    assert report.refused == 0
    assert report.used >= 0.95
