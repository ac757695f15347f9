"""Decisions, intervals and comparisons by passed tries."""

import random
from collections import Counter

import pytest

from bot.testing.conversations.pass_rates import PassDecision, Tries, by_chance, interval, kappa

BAR = Tries.with_bar(80)


def decided(right: float, seed: int, tries: Tries = BAR) -> tuple[PassDecision, int]:
    """The verdict on a bot that is right at a rate, and after how many tries."""
    coin = random.Random(seed)
    passed = tried = 0
    while (verdict := tries.verdict(passed, tried)) is None:
        passed, tried = passed + (coin.random() < right), tried + 1
    return verdict, tried


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_a_bot_that_is_right_in_70_per_cent_passes_a_bar_of_80_in_1_of_20_runs_at_most(first: int) -> None:
    verdicts = Counter(decided(0.7, seed)[0] for seed in range(first, first + 20))
    assert verdicts[PassDecision.PASSED] <= 1


def test_a_bot_that_is_right_in_95_per_cent_passes_a_bar_of_80_in_18_of_20_runs() -> None:
    assert Counter(decided(0.95, seed)[0] for seed in range(20))[PassDecision.PASSED] >= 18


@pytest.mark.parametrize(("bar", "good"), [(50, 0.875), (80, 0.95), (90, 0.975)])
def test_not_one_in_20_decisions_is_wrong(bar: int, good: float) -> None:
    tries = Tries.with_bar(bar)
    at_bar, at_good = (Counter(decided(rate, seed, tries)[0] for seed in range(1000)) for rate in (bar / 100, good))
    assert at_bar[PassDecision.PASSED] <= 50
    assert at_good[PassDecision.FAILED] <= 50 and at_good[PassDecision.PASSED] >= 900


def test_a_run_stops_as_soon_as_it_is_decided() -> None:
    assert (BAR.fewest, BAR.times) == (18, 72)
    assert [BAR.verdict(passed, passed) for passed in (0, 17, 18)] == [None, None, PassDecision.PASSED]
    assert BAR.verdict(5, 8) is PassDecision.FAILED
    assert [tries for _, tries in (decided(1.0, 1), decided(0.0, 1))] == [18, 3]


def test_a_run_that_cannot_pass_any_more_is_unsure_and_knows_how_many_tries_are_missing() -> None:
    short = Tries(18, 80)
    assert short.verdict(1, 1) is None
    assert short.verdict(13, 14) is PassDecision.UNSURE
    assert short.missing(13, 14) == 13
    assert Tries(27, 80).verdict(26, 27) is PassDecision.PASSED


def test_without_a_bar_all_tries_must_pass() -> None:
    tries = Tries(3)
    assert [tries.verdict(*done) for done in ((0, 2), (3, 3), (2, 3))] == [
        None,
        PassDecision.PASSED,
        PassDecision.FAILED,
    ]


@pytest.mark.parametrize(
    ("passed", "tried", "low", "high"), [(12, 14, 57.2, 98.2), (3, 3, 29.2, 100), (0, 5, 0, 52.2), (7, 10, 34.8, 93.3)]
)
def test_an_interval_is_that_of_clopper_and_pearson(passed: int, tried: int, low: float, high: float) -> None:
    assert [round(100 * rate, 1) for rate in interval(passed, tried)] == [low, high]


@pytest.mark.parametrize(
    ("one", "other", "chance"),
    [((3, 3), (0, 3), 0.1), ((18, 18), (11, 18), 0.0076), ((5, 9), (5, 9), 1.0), ((1, 12), (9, 12), 0.0028)],
)
def test_a_difference_is_weighed_by_fishers_exact_test(
    one: tuple[int, int], other: tuple[int, int], chance: float
) -> None:
    assert round(by_chance(one, other), 4) == chance
    assert by_chance(other, one) == by_chance(one, other)


def test_kappa_is_the_agreement_beyond_chance() -> None:
    both = [(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10 + [(False, False)] * 15
    assert kappa(both) == pytest.approx(0.4)
    assert kappa([(True, True), (False, False)]) == 1
    assert kappa([(True, True)] * 4) is None
