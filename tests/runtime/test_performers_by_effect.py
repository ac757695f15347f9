"""All performers as one."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from queue import Empty, Queue

import pytest

from bot.core.clock import MovableClock
from bot.core.effects import AskModel, Call, HttpRequest, Performed, RunHook, Transcribe
from bot.core.values import Media
from bot.runtime.performers import CallAttempt, CallResult, Performers, PerformersByEffect, Say
from bot.store.rows import CallRow
from tests.patience import PATIENCE

NOON = datetime(2030, 5, 6, 12, 0, tzinfo=UTC)
CALL = CallRow(1, "e1#0", "key1", "6281234567890", Call("price", {}), 0, NOON)
COMPLETE = CallRow(2, "e2#0", "key2", "6281234567891", AskModel(()), 0, NOON)


def performers(name: str, report: Callable[[CallResult], None]) -> Performers:
    def perform(row: CallRow, say: Say) -> CallAttempt:
        return CallAttempt("done", name)

    return Performers(perform, MovableClock(NOON), report, name=name)


def test_each_row_goes_to_those_who_do_what_it_asks_for() -> None:
    results: Queue[CallResult] = Queue()
    outside = PerformersByEffect(
        {
            Call: partial(performers, "handlers", results.put),
            AskModel: partial(performers, "models", results.put),
        }
    )
    outside.start()
    outside.offer([COMPLETE, CALL])
    did = [results.get(timeout=20) for _ in range(2)]
    outside.stop(20)
    assert {(result.row.id, result.value) for result in did} == {(1, "handlers"), (2, "models")}


def test_once_it_is_to_end_nothing_begins_whatever_is_still_being_waited_for() -> None:
    results: list[CallResult] = []
    outside = PerformersByEffect(
        {
            Call: partial(performers, "handlers", results.append),
            AskModel: partial(performers, "models", results.append),
        }
    )
    outside.start()
    outside.end()
    outside.offer([CALL, COMPLETE])
    outside.stop(20)
    assert results == []


VOICE_NOTE = Media("audio", "https://files.example/1.ogg")


def call(handler: str) -> Call:
    return Call(handler, {})


PEERS: dict[str, Callable[[str], Performed]] = {
    "handlers": call,
    "hooks": lambda name: RunHook(name, {}),
    "services": lambda name: HttpRequest("GET", f"{name}:/orders/17"),
    "models": lambda name: AskModel((), models=(name, "the fallback")),
    "those who transcribe": lambda name: Transcribe(VOICE_NOTE, call(name)),
}


@pytest.mark.parametrize("of", PEERS)
@pytest.mark.parametrize("is_suspect", [False, True])
def test_a_peer_that_is_silent_takes_no_thread_from_another_one(of: str, is_suspect: bool) -> None:
    results: Queue[int] = Queue()
    come_back = threading.Event()

    def perform(row: CallRow, say: Say) -> CallAttempt:
        if row.id:
            come_back.wait(PATIENCE)
        return CallAttempt("done")

    def make() -> Performers:
        return Performers(perform, MovableClock(NOON), lambda result: results.put(result.row.id), threads=2, spare=0)

    effect = PEERS[of]
    outside = PerformersByEffect({type(effect("x")): make}, lambda row: is_suspect)
    outside.start()
    silent = [CallRow(id, f"e{id}#0", f"key{id}", f"49{id}", effect("silent"), 0, NOON) for id in (1, 2, 3)]
    outside.offer(silent)
    outside.offer([CallRow(0, "e0#0", "key0", "490", effect("answers"), 0, NOON)])
    try:
        if is_suspect:  # then calls are made one at a time
            with pytest.raises(Empty):
                results.get_nowait()
        else:
            assert results.get(timeout=PATIENCE) == 0
        assert not outside.idle()
    finally:
        come_back.set()
        outside.stop(PATIENCE)
