"""Replies and an endless broadcast, sent to the emulated gateway: delivery and HTTP in earnest, time by hand."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from random import Random

from bot.core.clock import MovableClock
from bot.core.messages import TemplateMessage
from bot.store.rows import CAMPAIGN
from bot.testing.emulator import API_KEY, Emulator, MessageTemplate
from tests.runtime.delivering import NOON, Bench

RESERVE = 10
PER_MINUTE = 60
SALE = TemplateMessage("sale", "en")
AHEAD = 20  # messages of the broadcast that wait
CONTACTS = 40


@dataclass(frozen=True)
class Report:
    """What came of it: the share of the budget that was used, requests that were refused, and how replies waited."""

    used: float
    refused: int
    waits: list[float]  # seconds, the shortest first

    @property
    def p99(self) -> float:
        """Of a hundred replies, one waited longer."""
        return self.waits[int(len(self.waits) * 0.99)]


def simulate(length: timedelta, window: str, *, reserve: int = RESERVE, replies: int = 30, seed: int = 1) -> Report:
    """Send ``replies`` a minute at random times, and campaigns all the while."""
    clock = MovableClock(NOON)
    emulator = Emulator(clock, per_minute=PER_MINUTE)
    emulator.behaviour.change({"minute_window": window, "window": "open"})
    emulator.templates.add(MessageTemplate("sale", "en", body="Now or never"))
    with emulator:
        bench = Bench(emulator.url, key=API_KEY, clock=clock, limits=(PER_MINUTE, 10_000), reserve=reserve)
        strangers = (str(number) for number in count(6280000000000))
        times = _times(Random(seed), replies)
        reply_at = next(times)
        while clock.now() < NOON + length:
            while reply_at <= clock.now():
                bench.offer(bench.row(str(4910000000000 + len(bench.results) % CONTACTS), created_at=reply_at))
                reply_at = next(times)
            for _ in range(AHEAD - bench.delivery.status().waiting):
                bench.offer(bench.row(next(strangers), SALE, priority=CAMPAIGN))
            bench.settle()
            due = bench.next_due()
            clock.move_to(min(reply_at, NOON + length, *([due] if due is not None else [])))
        bench.delivery.stop(5)
    return _report(bench, length)


def _times(random: Random, a_minute: int) -> Iterator[datetime]:
    at = NOON
    while True:
        at += timedelta(seconds=random.expovariate(a_minute / 60))
        yield at


def _report(bench: Bench, length: timedelta) -> Report:
    sent = [result for result in bench.results if result.state == "sent"]
    waits = sorted(
        (result.at - result.row.created_at).total_seconds() for result in sent if result.row.priority != CAMPAIGN
    )
    return Report(len(sent) / (length.total_seconds() / 60 * PER_MINUTE), len(bench.results) - len(sent), waits)
