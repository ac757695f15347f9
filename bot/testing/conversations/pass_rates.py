"""Statistics of passed tries: a decision about a bar, an interval, a difference, the agreement of two judges.

A bar of 80 % is decided by Wald's sequential test. It weighs the tries between a bot that is right in 80 % and one
that makes a quarter of its mistakes (95 %), and decides as soon as they are 20 times as likely for one of the two.
By Ville's inequality a bot below the bar passes in at most 5 % of the runs, and the better one fails in at most 5 %,
however early a run stops.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from math import ceil, comb, log

from bot.core.immutable import immutable

CHANCE = 0.05
"""The share of runs in which a decision may be wrong, and of intervals that miss the rate."""
_LESS = 4  # a bot that is good enough makes so many times fewer mistakes than the bar allows
_AT_MOST = 4  # times the fewest tries that can pass: then a good bot is undecided in about 3 % of the runs
_STEPS = 50  # of a bisection


class PassDecision(StrEnum):
    """The decision about the tries of an evaluation."""

    PASSED = "passed"
    FAILED = "failed"
    UNSURE = "unsure"


@immutable
class Tries:
    """How often an evaluation is run, and the percentage that must pass: its ``bar``.

    Without a bar all ``times`` tries must pass. With one, ``times`` is the most, and the run ends when it is decided.
    """

    times: int
    bar: int | None = None

    @classmethod
    def with_bar(cls, bar: int) -> "Tries":
        """As many tries as a bar needs."""
        return cls(_AT_MOST * fewest(bar), bar)

    @property
    def fewest(self) -> int:
        """The smallest number of tries that can pass."""
        return self.times if self.bar is None else fewest(self.bar)

    def verdict(self, passed: int, tried: int) -> PassDecision | None:
        """The decision after some tries; None: another try is needed."""
        if self.bar is None:
            decided = PassDecision.PASSED if passed == tried else PassDecision.FAILED
            return None if tried < self.times else decided
        evidence = _evidence(self.bar, passed, tried)
        if abs(evidence) >= _ENOUGH:
            return PassDecision.PASSED if evidence > 0 else PassDecision.FAILED
        return None if tried + self.missing(passed, tried) <= self.times else PassDecision.UNSURE

    def missing(self, passed: int, tried: int) -> int:
        """The number of tries that decide if all of them pass."""
        if self.bar is None:
            return self.times - tried
        return _passing(self.bar, _ENOUGH - _evidence(self.bar, passed, tried))


def fewest(bar: int) -> int:
    """The smallest number of tries that shows that a bot is above a bar: if all of them pass."""
    return _passing(bar, _ENOUGH)


_ENOUGH = -log(CHANCE)  # how much evidence decides


def _passing(bar: int, evidence: float) -> int:
    """The number of passing tries that give so much evidence."""
    return ceil(evidence / _evidence(bar, 1, 1))


def _evidence(bar: int, passed: int, tried: int) -> float:
    """The logarithm of how many times as likely the tries are for a good bot as for one that just reaches the bar."""
    good = 1 - (1 - bar / 100) / _LESS
    return passed * log(100 * good / bar) - (tried - passed) * log(_LESS)


def interval(passed: int, tried: int) -> tuple[float, float]:
    """The rates that fit so many passed tries, at 95 % (Clopper and Pearson): ``interval(12, 14)  -> (0.57, 0.98)``."""
    low = _root(lambda rate: _tail(passed, tried, rate) - CHANCE / 2) if passed else 0.0
    high = _root(lambda rate: CHANCE / 2 - (1 - _tail(passed + 1, tried, rate))) if passed < tried else 1.0
    return low, high


def _tail(least: int, tried: int, rate: float) -> float:
    """The probability that at least so many tries pass."""
    return sum(
        comb(tried, number) * rate**number * (1 - rate) ** (tried - number) for number in range(least, tried + 1)
    )


def _root(rising: Callable[[float], float]) -> float:
    """The rate at which a rising function is 0."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
    return low


def by_chance(one: tuple[int, int], other: tuple[int, int]) -> float:
    """The probability that bots of the same rate differ at least so much (Fisher's exact test).

    Each has its passed tries, and all of its tries, whose number must not depend on how they went.
    """
    passed, tried, total = one[0] + other[0], one[1], one[1] + other[1]
    ways = {
        number: comb(tried, number) * comb(total - tried, passed - number)
        for number in range(max(0, passed - other[1]), min(tried, passed) + 1)
    }
    return sum(way for way in ways.values() if way <= ways[one[0]]) / comb(total, passed)


def kappa(pairs: Sequence[tuple[bool, bool]]) -> float | None:
    """The agreement of two judges beyond chance (Cohen): 1 is full, 0 as by chance.

    None if both give the same verdict on everything: then chance explains it all.
    """
    number = len(pairs)
    agreed = sum(one == other for one, other in pairs) / number
    yes = [sum(pair[place] for pair in pairs) / number for place in (0, 1)]
    expected = yes[0] * yes[1] + (1 - yes[0]) * (1 - yes[1])
    return None if expected == 1 else (agreed - expected) / (1 - expected)
