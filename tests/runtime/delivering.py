"""A running delivery for tests."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from random import Random
from typing import Any

from bot.core.alarms import Alarms
from bot.core.clock import MovableClock, time_of
from bot.core.effects import Send
from bot.core.errors import BotError
from bot.core.messages import Message, TextMessage
from bot.runtime.delivery import Delivery
from bot.runtime.rate_limiter import ContactLimiter, RateLimiter
from bot.runtime.sending import SendResult
from bot.services.gateway.gateway_client import Gateway
from bot.services.http_client import HttpClient
from bot.store.rows import REPLY, OutboxRow

RESERVE = 10
NOON = datetime(2030, 5, 1, 12, 0, tzinfo=UTC)


class Bench:
    """A delivery with a real client and a clock that is moved by hand."""

    def __init__(self, url: str, *, key: str = "k3y", clock: MovableClock | None = None, **options: Any) -> None:
        self.clock = clock or MovableClock(NOON)
        self.alarms = Alarms(self.clock)
        self.results: list[SendResult] = []
        self.newest: dict[str, datetime] = {}
        self.replaced: dict[str, datetime] = {}
        self.opted_out: set[str] = set()
        self.claimed: list[int] = []
        self.changed = threading.Condition()
        self.ids = count(1)
        limits: tuple[int, int] = options.pop("limits", (1000, 100_000))
        reserve = options.pop("reserve", RESERVE)
        claim = options.pop("claim", self.claim)
        self.stores = options.pop("stores", True)
        self.gateway = Gateway(
            url,
            key,
            options.pop("channel_id", None),
            http=HttpClient(url, seconds=options.pop("seconds", 10)),
            channels=options.pop("channels", None),
        )
        self.delivery = Delivery(
            self.gateway,
            self.clock,
            options.pop("limiter", None) or RateLimiter(*limits, reserve=reserve),
            self.report,
            self.newest.get,
            alarms=self.alarms,
            contact_limiter=ContactLimiter(self.alarms, *limits, per_contact=options.pop("per_contact", None)),
            replaced=self.replaced.get,
            opted_out=self.opted_out.__contains__,
            claim=claim,
            random=Random(1),
            **options,
        )
        self.delivery.start()

    def claim(self, row: OutboxRow, done: Callable[[BotError | None], None]) -> None:
        self.claimed.append(row.id)
        done(None)

    def report(self, result: SendResult) -> None:
        with self.changed:
            self.results.append(result)
            self.changed.notify_all()
        if self.stores:
            self.gateway.after_answers(lambda: self.delivery.ends_stored({result.row.id}))

    def row(self, contact: str = "49", message: Message | None = None, **fields: Any) -> OutboxRow:
        id = next(self.ids)
        now = self.clock.now()
        values: dict[str, Any] = {
            "id": id,
            "ref": f"e{id}#0",
            "key": f"key{id}",
            "contact": contact,
            "effect": Send(message or TextMessage(f"message {id}"), fields.pop("instead", None)),
            "priority": REPLY,
            "channel": None,
            "created_at": now,
            "attempts": 0,
            "due_at": now,
            "expires_at": now + timedelta(minutes=15),
            "window_until": now + timedelta(hours=20),
        }
        return OutboxRow(**(values | fields))

    def offer(self, *rows: OutboxRow) -> None:
        self.delivery.offer(rows)

    def after(self, results: int) -> SendResult:
        """The result of this number, the last one: nothing more happens after it."""
        result = self.reported(results)
        self.settle()
        self.nothing_more(results)
        return result

    def reported(self, results: int) -> SendResult:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.results) >= results, 20), self.results
        return self.results[results - 1]

    def settle(self) -> None:
        """Wait until nothing happens before the clock moves."""
        while not self.delivery.idle():
            with self.changed:
                self.changed.wait(0.01)

    def nothing_more(self, results: int) -> None:
        assert self.delivery.idle()
        assert len(self.results) == results, self.results

    def move(self, seconds: float) -> None:
        self.clock.move(timedelta(seconds=seconds))

    def move_to_next(self) -> float:
        """Move the clock to when something happens next; how many seconds that took."""
        due = self.next_due()
        assert due is not None
        before = self.clock.now()
        self.clock.move_to(due)
        return (due - before).total_seconds()

    def next_due(self) -> datetime | None:
        """When something happens next, if the clock is not set."""
        due = self.delivery.next_due()
        return None if due is None else time_of(self.clock, due)

    @property
    def states(self) -> list[str]:
        return [result.state for result in self.results]
