"""What a bot's processes count, for ``/metrics`` (docs/monitoring.md). No number, name or text of a contact is in it.

Each process has a registry of its own. Counting takes microseconds and no file; what is only known by looking (queues,
limits, alarms) is looked up when somebody asks.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache

from prometheus_client import CONTENT_TYPE_LATEST as CONTENT_TYPE
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest

from bot.alarms import Alarm
from bot.store.commit import Commit
from bot.store.inbox import LogRow

__all__ = ["CONTENT_TYPE", "EngineMetrics", "WebMetrics"]

_FAST = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.1, 1.0)
_WAITS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
PRIORITIES = ("reply", "sync", "broadcast")
"""The names of `bot.store.rows.REPLY` and its brothers, in their order."""

disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for each counter, of no use here


class _Metrics:
    """A registry, with a gauge of the alarms. ``process`` is ``web`` or ``engine``."""

    def __init__(self, process: str) -> None:
        self.registry = CollectorRegistry()
        self._alarms = self._gauge(f"bot_{process}_alarms", "Alarms that are on, by kind.", "alarm")

    def _counter(self, name: str, help: str, *labels: str) -> Counter:
        return Counter(name, help, labels, registry=self.registry)

    def _gauge(self, name: str, help: str, *labels: str) -> Gauge:
        return Gauge(name, help, labels, registry=self.registry)

    def _histogram(self, name: str, help: str, buckets: Iterable[float], *labels: str) -> Histogram:
        return Histogram(name, help, labels, buckets=tuple(buckets), registry=self.registry)

    def _show_alarms(self, alarms: Iterable[Alarm]) -> None:
        self._alarms.clear()
        for alarm in alarms:
            self._alarms.labels(alarm.name).inc()

    def _text(self) -> str:
        return generate_latest(self.registry).decode()


class EngineMetrics(_Metrics):
    """The counts of the engine. All methods except `text` are called from its loop, after the commit of what they count."""

    def __init__(self) -> None:
        super().__init__("engine")
        self._turns = self._counter("bot_turns", "Turns, by the kind of their event.", "event")
        self._turn_seconds = self._histogram("bot_turn_seconds", "Computing time of a turn.", _FAST)
        self._waited = self._histogram(
            "bot_event_wait_seconds", "From the acknowledgement of an event to the commit of its turn.", _WAITS
        )
        self._commit_seconds = self._histogram("bot_commit_seconds", "From the begin of a pass to its commit.", _WAITS)
        self._commit_events = self._histogram("bot_commit_events", "Events and results in one commit.", _SIZES)
        self._sends = self._counter("bot_sends", "Tries to send, by what came of them.", "priority", "outcome")
        self._send_seconds = self._histogram(
            "bot_send_seconds", "From the decision to send a message to its end.", _WAITS, "priority"
        )
        self._calls = self._counter("bot_calls", "Ended calls, by kind.", "kind", "outcome")
        self._tokens = self._counter("bot_model_tokens", "Tokens that models used up.", "model", "kind")
        self._letters = self._counter("bot_dead_letters", "New dead letters, by what they are of.", "what")
        self._rows = self._gauge("bot_queue_rows", "What waits, by queue.", "queue")
        self._oldest = self._gauge("bot_queue_oldest_seconds", "Age of what has waited longest, by queue.", "queue")
        self._left = self._gauge("bot_limit_left", "Requests that the gateway's limits leave.", "window")

    def committed(self, commit: Commit, rows: Sequence[LogRow], results: int, at: datetime, seconds: float) -> None:
        """A pass took rows of the log and so many results, and has committed. ``at`` is when it began, ``seconds`` how long it took."""
        self._commit_events.observe(len(rows) + results)
        self._commit_seconds.observe(seconds)
        for row in rows:
            self._waited.observe(max(0.0, (at - row.received_at).total_seconds()) + seconds)
        for event, _, micros in commit.turns:
            self._turns.labels(type(event).__name__).inc()
            self._turn_seconds.observe(micros / 1e6)
        for what, _, _ in commit.dead_letters:
            self._letters.labels(what).inc()

    def sent(self, priority: int, outcome: str, seconds: float | None) -> None:
        """A message was tried; ``seconds`` after it was decided on it was done, None if it is not."""
        self._sends.labels(PRIORITIES[priority], outcome).inc()
        if seconds is not None:
            self._send_seconds.labels(PRIORITIES[priority]).observe(max(0.0, seconds))

    def called(self, kind: str, outcome: str) -> None:
        """A call has ended."""
        self._calls.labels(kind, outcome).inc()

    def used(self, model: str, prompt: int, completion: int) -> None:
        """A model used up tokens."""
        self._tokens.labels(model, "prompt").inc(prompt)
        self._tokens.labels(model, "completion").inc(completion)

    def text(
        self,
        rows: Mapping[str, int],
        oldest: Mapping[str, float],
        left: Mapping[str, int],
        alarms: Iterable[Alarm],
    ) -> str:
        """All of it in Prometheus' text format, with how things stand now: queues, their ages in seconds, limits."""
        for gauge, values in ((self._rows, rows), (self._oldest, oldest), (self._left, left)):
            for label, value in values.items():
                gauge.labels(label).set(value)
        self._show_alarms(alarms)
        return self._text()


class WebMetrics(_Metrics):
    """The counts of the web process. Safe to use from many threads."""

    def __init__(self) -> None:
        super().__init__("web")
        self._deliveries = self._counter("bot_webhook_requests", "Deliveries of the gateway, by answer.", "answer")
        self._seconds = self._histogram("bot_webhook_seconds", "From a delivery's arrival to its answer.", _WAITS)
        self._delivery = cache(self._deliveries.labels)
        self._starts = self._counter("bot_start_requests", "Starts that programs asked for, by answer.", "status")
        self._up = self._gauge("bot_engine_up", "Whether the engine answers.")

    def delivery(self, answer: str, seconds: float) -> None:
        """A delivery was answered: kept, duplicate, stale, forged, malformed, busy or refused."""
        self._delivery(answer).inc()
        self._seconds.observe(seconds)

    def start(self, status: int) -> None:
        """A program's start was answered."""
        self._starts.labels(str(status)).inc()

    def text(self, alarms: Iterable[Alarm], engine_is_up: bool) -> str:
        """All of it in Prometheus' text format."""
        self._up.set(engine_is_up)
        self._show_alarms(alarms)
        return self._text()
