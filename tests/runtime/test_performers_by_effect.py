"""All performers as one."""

from collections.abc import Callable
from datetime import UTC, datetime
from queue import Queue

from bot.clock import MovableClock
from bot.core.effects import Call, Complete
from bot.runtime.performers import CallAttempt, CallResult, Performers, PerformersByEffect, Say
from bot.store.rows import CallRow

NOON = datetime(2030, 5, 6, 12, 0, tzinfo=UTC)
CALL = CallRow(1, "e1#0", "key1", "6281234567890", Call("price", {}), 0, NOON)
COMPLETE = CallRow(2, "e2#0", "key2", "6281234567891", Complete(()), 0, NOON)


def performers(name: str, report: Callable[[CallResult], None]) -> Performers:
    def perform(row: CallRow, say: Say) -> CallAttempt:
        return CallAttempt("done", name)

    return Performers(perform, MovableClock(NOON), report, name=name)


def test_each_row_goes_to_those_who_do_what_it_asks_for() -> None:
    results: Queue[CallResult] = Queue()
    outside = PerformersByEffect(
        {Call: performers("handlers", results.put), Complete: performers("models", results.put)}
    )
    outside.start()
    outside.offer([COMPLETE, CALL])
    did = [results.get(timeout=20) for _ in range(2)]
    outside.stop(20)
    assert {(result.row.id, result.value) for result in did} == {(1, "handlers"), (2, "models")}


def test_once_it_is_to_end_nothing_begins_whatever_is_still_being_waited_for() -> None:
    results: list[CallResult] = []
    outside = PerformersByEffect(
        {Call: performers("handlers", results.append), Complete: performers("models", results.append)}
    )
    outside.start()
    outside.end()
    outside.offer([CALL, COMPLETE])
    outside.stop(20)
    assert results == []
