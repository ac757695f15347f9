"""Handlers: called with checked arguments, outside of everything, and whatever they do is an outcome."""

import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest

from bot.core.clock import MovableClock, time_of
from bot.core.effects import Call
from bot.core.values import Media, Record, Usage
from bot.language.python.decorators import handler
from bot.language.python.gathered import extensions_in
from bot.runtime.performers import CallAttempt, CallResult, CrashQuarantine, Performers, Say
from bot.runtime.python_calls import PythonCalls
from bot.store.kept_files import FolderFiles
from bot.store.rows import CallRow

NO_FILES = FolderFiles(Path("none is made"))

NOON = datetime(2030, 5, 1, 12, 0, tzinfo=UTC)


class Bench:
    def __init__(self, *functions: Any, **options: Any) -> None:
        self.clock = MovableClock(NOON)
        self.results: list[CallResult] = []
        self.changed = threading.Condition()
        self.ids = count(1)
        declared = extensions_in([{function.__name__: function for function in functions}])
        self.performers = Performers(
            PythonCalls(declared, NO_FILES), self.clock, self.report, random=Random(1), **options
        )
        self.performers.start()

    def report(self, result: CallResult) -> None:
        with self.changed:
            self.results.append(result)
            self.changed.notify_all()

    def offer(self, name: str = "h", /, *, within: float = 10.0, tries: int = 1, **arguments: Any) -> None:
        self.offer_row(Call(name, arguments, within, tries))

    def offer_row(self, call: Call, attempts: int = 0, due_at: datetime | None = None) -> None:
        id = next(self.ids)
        due_at = self.clock.now() if due_at is None else due_at
        self.performers.offer([CallRow(id, f"e{id}#0", f"key{id}", f"49{id}", call, attempts, due_at)])

    def after(self, results: int) -> CallResult:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.results) >= results, 20), self.results
        assert len(self.results) == results
        return self.results[-1]

    def call(self, **arguments: Any) -> CallResult:
        self.offer(**arguments)
        return self.after(len(self.results) + 1)

    def move(self, seconds: float) -> None:
        self.clock.move(timedelta(seconds=seconds))


class Hanging:
    """A handler that hangs until it is let go, and tells how many are inside."""

    def __init__(self) -> None:
        self.inside = 0
        self.changed = threading.Condition()
        self.released = threading.Event()

    def __call__(self) -> str:
        with self.changed:
            self.inside += 1
            self.changed.notify_all()
        self.released.wait(20)
        with self.changed:
            self.inside -= 1
            self.changed.notify_all()
        return "late"

    def wait_for(self, inside: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: self.inside == inside, 20)


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    made = Hanging()
    yield made
    made.released.set()


@dataclass
class Order:
    number: str
    eta: date


# -- arguments and results


def test_a_result_comes_back_as_a_value_of_the_conversation() -> None:
    @handler("h")
    def h(number: str) -> Order:
        return Order(number, date(2030, 5, 12))

    bench = Bench(h)
    result = bench.call(number="A1")
    assert (result.outcome, result.attempts) == ("done", 1)
    assert result.value == Record("Order", {"number": "A1", "eta": date(2030, 5, 12)})
    assert bench.performers.idle()


def test_arguments_are_made_to_fit_their_annotations() -> None:
    seen: list[Any] = []

    @handler("h")
    def h(order: Order, day: date, orders: list[Order], count: int = 3, note: str | None = "x") -> None:
        seen.append((order, day, orders, count, note))

    record = Record("Order", {"number": "A1", "eta": date(2030, 5, 12)})
    assert Bench(h).call(order=record, day="2030-05-01", orders=[record], note=None).outcome == "done"
    order = Order("A1", date(2030, 5, 12))
    assert seen == [(order, date(2030, 5, 1), [order], 3, None)]


def test_a_record_can_be_asked_for_as_it_is() -> None:
    @handler("h")
    def h(a: Record, b: Any) -> list[str]:
        return [a["number"], b["number"]]

    record = Record("Order", {"number": "A1"})
    bench = Bench(h)
    assert bench.call(a=record, b=record).value == ["A1", "A1"]
    assert bench.call(a="no record", b=1).outcome == "mismatch"


def test_a_handler_cannot_change_the_flows_values() -> None:
    @handler("h")
    def h(a: list[int], b: Any) -> None:
        a.append(1)
        b["x"].append(1)

    a: list[int] = []
    b: dict[str, list[int]] = {"x": []}
    assert Bench(h).call(a=a, b=b).outcome == "done"
    assert (a, b) == ([], {"x": []})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"count": "many"}, "the argument count: Input should be a valid integer"),
        ({}, "the argument count is missing"),
        ({"count": 1, "colour": "red"}, "no such argument: colour"),
    ],
)
def test_arguments_that_do_not_fit_are_a_mismatch_and_call_nothing(arguments: dict[str, Any], words: str) -> None:
    @handler("h")
    def h(count: int) -> None:
        raise AssertionError

    result = Bench(h).call(**arguments)
    assert result.outcome == "mismatch"
    assert words in result.detail


RING: list[Any] = []
RING.append(RING)


@pytest.mark.parametrize(
    "value",
    [object(), float("nan"), "\ud800", {1, "a"}, RING, b"\0"],
    ids=["object", "nan", "text", "set", "ring", "bytes"],
)
def test_a_result_that_cannot_be_kept_is_a_mismatch(value: Any) -> None:
    @handler("h")
    def h() -> Any:
        return value

    result = Bench(h).call()
    assert result.outcome == "mismatch"
    assert "cannot be kept" in result.detail


def test_the_key_is_given_where_it_is_asked_for_and_is_the_same_at_each_try() -> None:
    keys: list[str] = []

    @handler("h")
    def h(x: int, idempotency_key: str) -> None:
        keys.append(idempotency_key)
        if len(keys) == 1:
            raise RuntimeError

    bench = Bench(h)
    bench.offer(tries=2, x=1)
    bench.after(1)
    bench.move(2)
    assert bench.after(2).outcome == "done"
    assert keys == ["key1", "key1"]


# -- errors


class Missing(LookupError):
    pass


class MissingForGood(Missing):
    pass


def test_a_declared_error_is_an_outcome_the_most_specific_one() -> None:
    class Unheard(MissingForGood):
        pass

    @handler("h", errors=[LookupError, Missing, MissingForGood])
    def h(n: int) -> None:
        raise (Missing, MissingForGood, Unheard, KeyError)[n]("A1")

    bench = Bench(h)
    outcomes = [bench.call(n=n, tries=3) for n in range(4)]
    assert [result.outcome for result in outcomes] == ["Missing", "MissingForGood", "MissingForGood", "LookupError"]
    assert outcomes[0].detail == "Missing: A1"


def test_any_other_error_is_tried_again_with_longer_and_longer_pauses() -> None:
    @handler("h")
    def h() -> None:
        raise ValueError("two\nlines")

    bench = Bench(h)
    bench.offer(tries=3)
    for attempt, seconds in ((1, 1), (2, 2)):
        result = bench.after(attempt)
        assert (result.outcome, result.attempts) == ("retry", attempt)
        assert result.due_at is not None
        assert seconds <= (result.due_at - bench.clock.now()).total_seconds() <= 1.25 * seconds
        assert bench.performers.idle()
        due = bench.performers.next_due()
        assert due is not None and time_of(bench.clock, due) == result.due_at
        bench.clock.move_to(result.due_at)
    result = bench.after(3)
    detail = f"ValueError: two lines at test_performers.py:{h.__code__.co_firstlineno + 2}"
    assert (result.outcome, result.attempts, result.detail) == ("error", 3, detail)


def test_a_handler_that_leaves_the_program_only_leaves_its_call() -> None:
    @handler("h")
    def h() -> None:
        sys.exit(1)

    bench = Bench(h, threads=1)
    assert bench.call().detail == f"SystemExit: 1 at test_performers.py:{h.__code__.co_firstlineno + 2}"
    assert bench.call().outcome == "error"


def test_an_errors_text_is_in_the_result_but_not_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    @handler("h")
    def h(contact: str) -> None:
        raise ValueError(contact)

    assert "4915112345678" in Bench(h).call(contact="4915112345678").detail
    assert "ValueError" in caplog.text
    assert "in h" in caplog.text
    assert "4915112345678" not in caplog.text


def test_a_handler_that_is_gone_is_an_error_in_words() -> None:
    bench = Bench()
    bench.offer("orders.find")
    result = bench.after(1)
    assert (result.outcome, result.detail) == ("error", 'there is no handler "orders.find"')


# -- time


def hangs(hanging: Hanging) -> Any:
    @handler("h")
    def h() -> str:
        return hanging()

    return h


def test_a_handler_that_hangs_times_out_at_its_deadline_and_its_late_result_is_dropped(hanging: Hanging) -> None:
    bench = Bench(hangs(hanging))
    bench.offer(within=5, tries=3)
    hanging.wait_for(1)
    assert not bench.performers.idle()
    assert bench.performers.next_due() == 5
    bench.move(4.9)
    assert bench.results == []
    bench.move(0.1)
    result = bench.after(1)
    assert (result.outcome, result.detail) == ("timeout", "not back after 5 s")
    assert bench.performers.idle()
    hanging.released.set()
    hanging.wait_for(0)
    bench.performers.stop(20)
    assert len(bench.results) == 1


def test_other_calls_go_on_in_place_of_those_that_hang(hanging: Hanging) -> None:
    @handler("quick")
    def quick() -> int:
        return 1

    bench = Bench(hangs(hanging), quick, threads=2, spare=2)
    for round in (1, 2):
        for _ in range(2):
            bench.offer("h", within=1)
        hanging.wait_for(2 * round)
        bench.move(1)
        bench.after(2 * round)
    bench.offer("quick", within=1)
    assert bench.performers.idle()
    assert len(bench.results) == 4
    hanging.released.set()
    assert bench.after(5).outcome == "done"


def test_when_every_thread_hangs_what_waits_times_out_too(hanging: Hanging) -> None:
    bench = Bench(hangs(hanging), threads=1, spare=0)
    bench.offer(within=1)
    hanging.wait_for(1)
    bench.move(1)
    bench.after(1)
    bench.offer(within=3)
    assert bench.performers.next_due() == 4
    bench.move(3)
    result = bench.after(2)
    assert (result.row.id, result.outcome) == (2, "timeout")
    assert "too many hang" in result.detail


def test_a_call_that_waits_behind_busy_threads_does_not_time_out(hanging: Hanging) -> None:
    bench = Bench(hangs(hanging), threads=1, spare=0)
    bench.offer(within=100)
    hanging.wait_for(1)
    bench.offer(within=1)
    bench.move(50)
    assert bench.results == []
    hanging.released.set()
    bench.after(2)
    assert [result.outcome for result in bench.results] == ["done", "done"]


def test_calls_run_at_the_same_time() -> None:
    together = threading.Barrier(8)

    @handler("h")
    def h() -> None:
        together.wait(20)

    bench = Bench(h)
    for _ in range(8):
        bench.offer()
    bench.after(8)
    assert {result.outcome for result in bench.results} == {"done"}


def test_a_call_that_may_crash_the_engine_is_made_alone_and_the_others_together() -> None:
    """So a crash accuses no other."""
    under_way, met, claimed = set[int](), dict[int, set[int]](), list[int]()
    together, lock = threading.Barrier(3), threading.Lock()

    @handler("h")
    def h(n: int) -> None:
        with lock:
            under_way.add(n)
        if n != 3:
            together.wait(20)
        with lock:
            met[n] = under_way - {n}
            under_way.discard(n)

    quarantine = CrashQuarantine(lambda row: row.id == 3, lambda row: claimed.append(row.id))
    bench = Bench(h, quarantine=quarantine)
    for n in (1, 2):
        bench.offer(n=n)
    bench.offer(n=3)
    together.wait(20)
    for n in (4, 5):
        bench.offer(n=n)
    bench.after(3)
    together.wait(20)
    bench.after(5)
    assert met[3] == set()
    assert claimed == [3]


def test_more_calls_than_threads_are_all_made() -> None:
    @handler("h")
    def h(n: int) -> int:
        return n

    bench = Bench(h, threads=2)
    for n in range(200):
        bench.offer(n=n)
    bench.after(200)
    assert sorted(result.value for result in bench.results) == list(range(200))


def test_stop_waits_for_what_runs_and_begins_nothing_more(hanging: Hanging) -> None:
    bench = Bench(hangs(hanging), threads=1)
    bench.offer()
    bench.offer()
    hanging.wait_for(1)
    bench.performers.end()  # as `stop` begins: from then on the handler may return
    hanging.released.set()
    bench.performers.stop(20)
    assert [(result.row.id, result.outcome) for result in bench.results] == [(1, "done")]


def test_what_comes_back_after_stop_gave_up_waiting_is_not_reported(hanging: Hanging) -> None:
    bench = Bench(hangs(hanging))
    bench.offer()
    hanging.wait_for(1)
    bench.performers.stop(0)
    hanging.released.set()
    bench.performers.stop(20)
    assert bench.results == []


def test_what_was_given_up_reports_what_it_used_up_when_it_comes_back(hanging: Hanging) -> None:
    used = (Usage("acme/one", 300, 0, estimated=True),)

    def perform(row: CallRow, say: Say) -> CallAttempt:
        hanging()
        return CallAttempt("timeout", usage=used)

    bench = Bench()
    bench.performers._perform = perform
    bench.offer(within=10.0)
    hanging.wait_for(1)
    bench.move(10)
    assert bench.after(1).outcome == "timeout"
    hanging.released.set()
    late = bench.after(2)
    assert (late.outcome, late.usage) == ("late", used)
    bench.performers.stop(5)


def test_a_file_that_a_late_result_has_is_reported(hanging: Hanging) -> None:
    def perform(row: CallRow, say: Say) -> CallAttempt:
        hanging()
        return CallAttempt("done", Media("document", "", file="/a.pdf"))

    bench = Bench()
    bench.performers._perform = perform
    bench.offer(within=10.0)
    hanging.wait_for(1)
    bench.move(10)
    assert bench.after(1).outcome == "timeout"
    hanging.released.set()
    late = bench.after(2)
    assert (late.outcome, late.value.file) == ("late", "/a.pdf")
    bench.performers.stop(5)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_defect_of_ours_ends_one_call_and_no_thread() -> None:
    bench = Bench(threads=1, spare=0)
    bench.performers._perform = lambda row, say: (
        CallAttempt("done", [][0]) if row.id == 1 else CallAttempt("done", row.id)
    )
    bench.offer()
    assert (bench.after(1).outcome, bench.results[0].detail) == ("error", "IndexError")
    bench.offer()
    assert bench.after(2).value == 2
    bench.performers.stop(5)
