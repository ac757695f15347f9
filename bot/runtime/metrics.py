"""The metrics of a bot's processes, for ``/metrics`` (docs/monitoring.md). They hold no number, name or text of a
contact.

Each process counts for itself. Counting takes less than a microsecond and no file; what is only known by looking
(queues, limits, alarms) is looked up when somebody asks. prometheus_client, which writes the text, is imported then.
"""

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import accumulate
from math import inf
from operator import add
from typing import TYPE_CHECKING

from bot.core.alarms import Alarm
from bot.store.commit import Commit
from bot.store.inbox import LogRow

if TYPE_CHECKING:
    from prometheus_client import Metric

_FAST = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.1, 1.0)
_WAITS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0)
_SIZES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)
PRIORITIES = ("reply", "sync", "broadcast")
"""The names of the priorities, from `bot.store.rows.REPLY` on, in their order."""


class _Number:
    """A counter or a gauge: a number for each set of values of its labels. Safe to use from many threads."""

    def __init__(self, kind: str, name: str, help: str, labels: Sequence[str]) -> None:
        self._described = (name, help, kind)
        self._labels = labels
        self._lock = threading.Lock()
        self._values: dict[tuple[str, ...], float] = {} if labels else {(): 0.0}

    def add(self, *labels: str, by: float = 1.0) -> None:
        with self._lock:
            self._values[labels] = self._values.get(labels, 0.0) + by

    def set(self, *labels: str, to: float) -> None:
        with self._lock:
            self._values[labels] = to

    def show(self, values: Mapping[tuple[str, ...], float]) -> None:
        with self._lock:
            self._values = dict(values)

    def metric(self) -> "Metric":
        from prometheus_client import Metric

        metric = Metric(*self._described)
        suffix = "_total" if metric.type == "counter" else ""
        with self._lock:
            for values, number in self._values.items():
                metric.add_sample(metric.name + suffix, dict(zip(self._labels, values, strict=True)), number)
        return metric


class _Histogram:
    """How many values lie in each of its buckets, for each value of its label. Safe to use from many threads."""

    def __init__(self, name: str, help: str, buckets: tuple[float, ...], labels: Sequence[str]) -> None:
        self._described = (name, help, "histogram")
        self._labels = labels
        self._buckets = (*buckets, inf)
        self._lock = threading.Lock()
        self._seen: dict[tuple[str, ...], tuple[list[int], list[float]]] = {} if labels else {(): self._none()}

    def _none(self) -> tuple[list[int], list[float]]:
        return [0] * len(self._buckets), [0.0]

    def add(self, value: float, *labels: str) -> None:
        with self._lock:
            seen = self._seen.get(labels) or self._seen.setdefault(labels, self._none())
            counts, total = seen
            counts[bisect_left(self._buckets, value)] += 1
            total[0] += value

    def metric(self) -> "Metric":
        from prometheus_client import Metric
        from prometheus_client.utils import floatToGoString

        metric = Metric(*self._described)
        with self._lock:
            for values, (counts, (total,)) in self._seen.items():
                labels = dict(zip(self._labels, values, strict=True))
                sums = [float(number) for number in accumulate(counts)]
                for bucket, number in zip(self._buckets, sums, strict=True):
                    metric.add_sample(
                        f"{metric.name}_bucket",
                        labels | {"le": floatToGoString(bucket)},  # type: ignore[no-untyped-call]
                        number,
                    )
                metric.add_sample(f"{metric.name}_count", labels, sums[-1])
                metric.add_sample(f"{metric.name}_sum", labels, total)
        return metric


class _Metrics:
    """All metrics of a process, with a gauge of the alarms. ``process`` is ``web`` or ``engine``."""

    def __init__(self, process: str) -> None:
        self._all: list[_Number | _Histogram] = []
        self._alarms = self._gauge(f"bot_{process}_alarms", "Alarms that are on, by kind.", "alarm")

    def _counter(self, name: str, help: str, *labels: str) -> _Number:
        self._all.append(counter := _Number("counter", name, help, labels))
        return counter

    def _gauge(self, name: str, help: str, *labels: str) -> _Number:
        self._all.append(gauge := _Number("gauge", name, help, labels))
        return gauge

    def _histogram(self, name: str, help: str, buckets: tuple[float, ...], *labels: str) -> _Histogram:
        self._all.append(histogram := _Histogram(name, help, buckets, labels))
        return histogram

    def collect(self) -> "Iterable[Metric]":
        """Return all metrics: prometheus_client calls this on a registry."""
        return [each.metric() for each in self._all]

    def _show_alarms(self, alarms: Iterable[Alarm]) -> None:
        self._alarms.show(Counter((alarm.name,) for alarm in alarms))  # at once: two may ask at a time

    def _text(self) -> str:
        from prometheus_client import generate_latest

        return generate_latest(self).decode()


def content_type() -> str:
    """The media type of the text."""
    from prometheus_client import CONTENT_TYPE_LATEST

    return CONTENT_TYPE_LATEST


class EngineMetrics(_Metrics):
    """The counts of the engine. Its loop calls all methods except `text`, after the commit of what they count."""

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
        self._calls = self._counter("bot_calls", "Tries to make a call, by kind.", "kind", "outcome")
        self._failures = self._counter(
            "bot_model_failures", "Questions to a model that failed, by what went wrong.", "model", "outcome"
        )
        self._judged = self._counter(
            "bot_answers_judged", "Answers of models that were judged, by what the judge says.", "flow", "verdict"
        )
        self._tokens = self._counter("bot_model_tokens", "Tokens that models used up.", "model", "kind")
        self._letters = self._counter("bot_dead_letters", "New dead letters, by what they are of.", "what")
        self._rows = self._gauge("bot_queue_rows", "Rows that wait, by queue.", "queue")
        self._oldest = self._gauge("bot_queue_oldest_seconds", "Age of what has waited longest, by queue.", "queue")
        self._left = self._gauge("bot_limit_left", "Requests that the gateway's limits leave.", "window")

    def committed(self, commit: Commit, rows: Sequence[LogRow], results: int, at: datetime, seconds: float) -> None:
        """Count a pass that took rows of the log and so many results, and has committed. ``at`` is when it began,
        ``seconds`` how long it took.
        """
        self._commit_events.add(len(rows) + results)
        self._commit_seconds.add(seconds)
        for row in rows:
            self._waited.add(max(0.0, (at - row.received_at).total_seconds()) + seconds)
        for event, _, micros in commit.turns:
            self._turns.add(type(event).__name__)
            self._turn_seconds.add(micros / 1e6)
        for what, _, _ in commit.dead_letters.added:
            self._letters.add(what)

    def sent(self, priority: int, outcome: str, seconds: float | None) -> None:
        """Count a try of a message. ``seconds`` is the time from its decision to its end; None if it is not done."""
        self._sends.add(PRIORITIES[priority], outcome)
        if seconds is not None:
            self._send_seconds.add(max(0.0, seconds), PRIORITIES[priority])

    def called(self, kind: str, outcome: str) -> None:
        """A call has ended."""
        self._calls.add(kind, outcome)

    def model_failed(self, model: str, outcome: str) -> None:
        """Count a failed request to a model."""
        self._failures.add(model, outcome)

    def judged(self, flow: str, verdict: str) -> None:
        """An answer was judged by one question."""
        self._judged.add(flow, verdict)

    def used(self, model: str, prompt: int, completion: int) -> None:
        """A model used up tokens."""
        self._tokens.add(model, "prompt", by=prompt)
        self._tokens.add(model, "completion", by=completion)

    def text(
        self, rows: Mapping[str, int], oldest: Mapping[str, float], left: Mapping[str, int], alarms: Iterable[Alarm]
    ) -> str:
        """All metrics in Prometheus' text format, with the present queues, their ages in seconds, and the limits."""
        for gauge, values in ((self._rows, rows), (self._oldest, oldest), (self._left, left)):
            for label, value in values.items():
                gauge.set(label, to=value)
        self._show_alarms(alarms)
        return self._text()


_NOT_SUMMED: Mapping[str, Callable[[float, float], float]] = {
    "bot_engine_alarms": max,  # the same alarm of several engines is one
    "bot_queue_oldest_seconds": max,
    "bot_limit_left": min,  # all engines share the limits
}


def joined_text(texts: Iterable[str]) -> str:
    """Join the metrics of several shards' engines into one text: the sums, except for `_NOT_SUMMED`.

    The parser of prometheus_client takes ten times as long.
    """
    from prometheus_client.utils import floatToGoString

    found: dict[str, dict[str, float]] = {}  # by the two lines above a metric, its numbers by their labels
    for line in (line for text in texts for line in text.split("\n") if line):
        if line.startswith("# HELP "):
            described = line
        elif line.startswith("# TYPE "):
            numbers = found.setdefault(f"{described}\n{line}\n", {})
            join: Callable[[float, float], float] = _NOT_SUMMED.get(line.split(" ")[2], add)
        else:
            labelled, _, number = line.rpartition(" ")
            numbers[labelled] = join(numbers[labelled], float(number)) if labelled in numbers else float(number)
    return "".join(
        above
        + "".join(
            f"{labelled} {floatToGoString(number)}\n"  # type: ignore[no-untyped-call]
            for labelled, number in numbers.items()
        )
        for above, numbers in found.items()
    )


class WebMetrics(_Metrics):
    """The counts of the web process. Safe to use from many threads."""

    def __init__(self) -> None:
        super().__init__("web")
        self._deliveries = self._counter("bot_webhook_requests", "Deliveries of the gateway, by answer.", "answer")
        self._seconds = self._histogram("bot_webhook_seconds", "From a delivery's arrival to its answer.", _WAITS)
        self._starts = self._counter(
            "bot_start_requests", "Starts and signals that programs asked for, by answer.", "status"
        )
        self._up = self._gauge("bot_engine_up", "Whether the engine answers.")

    def delivery(self, answer: str, seconds: float) -> None:
        """A delivery was answered: kept, duplicate, stale, forged, malformed, busy or refused."""
        self._deliveries.add(answer)
        self._seconds.add(seconds)

    def start(self, status: int) -> None:
        """A program's start was answered."""
        self._starts.add(str(status))

    def text(self, alarms: Iterable[Alarm], engine_is_up: bool) -> str:
        """All of it in Prometheus' text format."""
        self._up.set(to=engine_is_up)
        self._show_alarms(alarms)
        return self._text()
