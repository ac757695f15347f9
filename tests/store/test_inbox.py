"""The inbox: durable, each event once, and never a caller that hangs."""

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from time import monotonic

import pytest

from bot.core.clock import MovableClock
from bot.store.database import PendingStatement
from bot.store.files import StoreLocked, inbox_path
from bot.store.inbox import InboxBusy, InboxReader, InboxRefused, InboxWriter
from tests.patience import PATIENCE
from tests.postgres import about_files
from tests.server.process.serving import until
from tests.store.store_kit import START, append, sqlite


def ids(log: InboxReader) -> list[str]:
    return [row.event_id for row in log.after(0, 10_000)]


def test_what_is_appended_is_read_back_as_it_came(inbox: InboxWriter, log: InboxReader) -> None:
    body = b'\x00\xff not even text "\xed\xa0\x80"'
    appended = inbox.append(inbox.event("d1", "evt_1", "message.inbound", None, START, body, False))
    (row,) = log.after(0, 10)
    assert (row.seq, row.event_id, row.name, row.contact) == (appended.seq, "evt_1", "message.inbound", None)
    assert (row.received_at, row.body, row.readable) == (START, body, False)


def test_an_event_is_kept_once_by_its_own_id_and_by_the_deliverys(inbox: InboxWriter, log: InboxReader) -> None:
    assert not append(inbox, "evt_1", "d1").duplicate
    assert append(inbox, "evt_1", "d2").duplicate  # replayed under another delivery id
    assert append(inbox, "evt_2", "d1").duplicate
    assert not append(inbox, "evt_3").duplicate
    assert not append(inbox, "evt_4").duplicate  # no delivery id is no duplicate of another without one
    assert ids(log) == ["evt_1", "evt_3", "evt_4"]
    assert [log.has(f"evt_{n}") for n in range(1, 5)] == [True, False, True, True]


def test_many_callers_are_each_answered_and_their_order_of_numbers_is_the_logs(
    inbox: InboxWriter, log: InboxReader
) -> None:
    given: dict[str, int | None] = {}

    def send(sender: int) -> None:
        for number in range(50):
            event = f"evt_{sender}_{number}"
            given[event] = append(inbox, event).seq
            assert append(inbox, event).duplicate

    senders = [threading.Thread(target=send, args=(sender,)) for sender in range(8)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    assert {row.event_id: row.seq for row in log.after(0, 1000)} == given
    assert len(given) == 400
    for sender_number in range(8):
        of_one = [row.event_id for row in log.after(0, 1000) if row.event_id.startswith(f"evt_{sender_number}_")]
        assert of_one == [f"evt_{sender_number}_{number}" for number in range(50)]


def test_reading_goes_on_after_a_place_and_stops_at_a_limit(inbox: InboxWriter, log: InboxReader) -> None:
    seqs = [append(inbox, f"evt_{number}").seq for number in range(5)]
    assert [row.seq for row in log.after(seqs[1] or 0, 2)] == seqs[2:4]
    assert log.last_seq() == seqs[-1]


@pytest.mark.parametrize("event_id", ["evt_\ud800", None, 2**70, object()])
def test_a_value_that_cannot_be_kept_is_refused_and_costs_no_neighbour(
    path: Path, inbox: InboxWriter, log: InboxReader, event_id: str
) -> None:
    blocker = sqlite3.connect(inbox_path(path), isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")  # holds the first commit up, so that the other three share the second
    results: dict[str, object] = {}

    def keep(name: str, id: str) -> None:
        try:
            results[name] = append(inbox, id)
        except InboxRefused as refusal:
            results[name] = refusal

    callers = [
        threading.Thread(target=keep, args=(name, id))
        for name, id in [("a", "evt_a"), ("bad", event_id), ("b", "evt_b")]
    ]
    for caller in callers:
        caller.start()
    blocker.execute("ROLLBACK")
    for caller in callers:
        caller.join()
    blocker.close()
    assert isinstance(results["bad"], InboxRefused)
    assert "\ud800" not in str(results["bad"])
    assert sorted(ids(log)) == ["evt_a", "evt_b"]


@pytest.mark.parametrize("strange", ["", "a duplicate", "a delivery that came before", "half of a surrogate pair"])
def test_events_of_one_commit_have_the_results_that_they_would_have_alone(
    inbox: InboxWriter, log: InboxReader, strange: str
) -> None:
    inbox.append(inbox.event("d-0", "e-0", "message.inbound", None, START, b"{}", True))
    named = [(f"d-{number}", f"e-{number}") for number in range(1, 6)]
    third = {"a duplicate": ("d-3", "e-1"), "a delivery that came before": ("d-0", "e-3")}.get(strange, ("d-3", "e-3"))
    named[2] = third if "half" not in strange else ("d-3", "\ud800")
    writes = [inbox.event(delivery, id, "message.inbound", None, START, b"{}", True) for delivery, id in named]
    ended = threading.Event()
    inbox.hand_over(writes, ended.set)
    assert ended.wait(PATIENCE)
    kept = [write for write in writes if write is not writes[2] or not strange]
    seqs = [inbox.appended(write).seq for write in kept]
    assert [(row.seq, row.event_id) for row in log.after(1, 10)] == [
        (seq, write.parameters[1]) for seq, write in zip(seqs, kept, strict=True)
    ]
    if "half" in strange:
        with pytest.raises(InboxRefused):
            inbox.appended(writes[2])
    elif strange:
        assert inbox.appended(writes[2]).duplicate


@about_files
def test_a_commit_that_hangs_gives_busy_and_later_callers_are_refused_without_being_kept(
    path: Path, inbox: InboxWriter, clock: MovableClock, log: InboxReader
) -> None:
    inbox.close()
    impatient = InboxWriter(path, clock, patience=0.05)
    blocker = sqlite3.connect(inbox_path(path), isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    with pytest.raises(InboxBusy, match="did not commit within"):
        append(impatient, "evt_late")
    until(lambda: impatient._committing_since is not None)
    with pytest.raises(InboxBusy, match="has not finished a commit"):
        append(impatient, "evt_refused")
    blocker.execute("ROLLBACK")
    blocker.close()
    impatient.close()
    assert ids(log) == ["evt_late"]  # a late commit is whole; the sender's next try is a duplicate


@about_files
def test_after_a_quiet_hour_the_patience_of_callers_begins_anew(
    path: Path, inbox: InboxWriter, log: InboxReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(inbox, "evt_before")
    monkeypatch.setattr("bot.store.inbox.monotonic", lambda: monotonic() + 3600)
    blocker = sqlite3.connect(inbox_path(path), isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(2) as callers:
        first = callers.submit(append, inbox, "evt_1")
        until(lambda: inbox._committing_since is not None)
        second = callers.submit(append, inbox, "evt_2")
        until(lambda: bool(inbox._gathering.writes) or second.done())
        blocker.execute("ROLLBACK")
        assert not first.result().duplicate and not second.result().duplicate
    blocker.close()
    assert ids(log) == ["evt_before", "evt_1", "evt_2"]


@about_files
def test_a_full_queue_refuses_at_once(path: Path, inbox: InboxWriter) -> None:
    append(inbox, "evt_before")
    blocker = sqlite3.connect(inbox_path(path), isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(1) as callers:
        first = callers.submit(append, inbox, "evt_1")
        until(lambda: inbox._committing_since is not None)
        inbox._gathering.writes.extend(PendingStatement("SELECT 1", (), erases=False) for _ in range(1000))
        with pytest.raises(InboxBusy, match="has 1000 events waiting for their commit"):
            append(inbox, "evt_2")
        blocker.execute("ROLLBACK")
        assert not first.result().duplicate
    blocker.close()


def test_a_full_disk_gives_busy_and_the_writer_recovers_when_there_is_space(
    path: Path, inbox: InboxWriter, log: InboxReader
) -> None:
    append(inbox, "evt_before")
    pages = sqlite(inbox).execute("PRAGMA page_count").fetchone()[0]
    sqlite(inbox).execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(InboxBusy, match="full") as busy:
        append(inbox, "evt_full", body=b"x" * 100_000)
    assert busy.value.advice == "make room on its disk"
    with pytest.raises(InboxBusy, match="full"):
        append(inbox, "evt_full", body=b"x" * 100_000)
    sqlite(inbox).execute("PRAGMA max_page_count = 1000000")
    assert not append(inbox, "evt_full", body=b"x" * 100_000).duplicate
    assert ids(log) == ["evt_before", "evt_full"]


def test_the_check_fails_while_there_is_no_room_for_an_event(
    inbox: InboxWriter, log: InboxReader, clock: MovableClock
) -> None:
    inbox.check()
    pages = sqlite(inbox).execute("PRAGMA page_count").fetchone()[0]
    sqlite(inbox).execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(InboxBusy, match="full"):
        for number in range(10):
            append(inbox, f"evt_{number}", body=b"x" * 1000)
    with pytest.raises(InboxBusy, match="full"):
        inbox.check()
    sqlite(inbox).execute("PRAGMA max_page_count = 1000000")
    inbox.check()
    assert all(event.startswith("evt_") for event in ids(log)), "what the check appends is taken back"


def test_the_check_writes_nothing_while_events_prove_that_they_are_kept(
    inbox: InboxWriter, clock: MovableClock
) -> None:
    written: list[PendingStatement] = []
    write_each = inbox.database.write_each
    inbox.database.write_each = lambda writes: (written.extend(writes), write_each(writes))[1]  # type: ignore[method-assign,func-returns-value]
    for seconds, writes in ((0, 2), (1, 0), (1, 2), (1, 0)):
        clock.move(timedelta(seconds=seconds))
        inbox.check()
        assert len(written) == writes
        written.clear()


def test_stale_events_are_counted_unless_they_are_known(inbox: InboxWriter, log: InboxReader) -> None:
    append(inbox, "evt_known")
    assert log.stale() == (0, None)
    for event_id, is_lost in (("evt_new", True), ("evt_known", False), ("evt_other", True)):
        write = inbox.stale_event(event_id, None)
        inbox.commit(write)
        assert inbox.is_lost(write) is is_lost
    assert log.stale() == (2, START)


def test_only_what_the_engine_has_read_and_is_old_is_pruned(
    inbox: InboxWriter, clock: MovableClock, log: InboxReader
) -> None:
    for number in range(1200):
        inbox.append(inbox.event(None, f"old_{number}", "message.inbound", None, START, b"{}", True))
    clock.move(timedelta(days=8))
    seq = inbox.append(inbox.event(None, "new", "message.inbound", None, clock.now(), b"{}", True)).seq
    assert seq is not None
    assert inbox.prune(below_seq=1101) == 1100
    assert ids(log)[0] == "old_1100"
    assert inbox.prune(below_seq=seq + 1) == 100
    assert ids(log) == ["new"]


def test_numbers_are_never_given_twice_because_the_newest_event_stays(
    path: Path, inbox: InboxWriter, clock: MovableClock, log: InboxReader
) -> None:
    first = append(inbox, "evt_1").seq or 0
    clock.move(timedelta(days=8))
    second = append(inbox, "evt_2").seq or 0
    clock.move(timedelta(days=8))
    assert inbox.prune(second + 1) == 1
    inbox.close()
    again = InboxWriter(path, clock, patience=PATIENCE)
    assert (first, log.last_seq()) == (1, second)
    assert append(again, "evt_3").seq == second + 1
    again.close()


@about_files
def test_a_second_writer_is_refused_in_words(path: Path, inbox: InboxWriter, clock: MovableClock) -> None:
    with pytest.raises(StoreLocked, match=r"bot\.inbox\.db is in use by another process"):
        InboxWriter(path, clock)


def test_a_closed_inbox_has_kept_what_it_accepted_and_refuses_more(
    path: Path, inbox: InboxWriter, clock: MovableClock, log: InboxReader
) -> None:
    append(inbox, "evt_1")
    inbox.close()
    with pytest.raises(InboxBusy):
        append(inbox, "evt_2")
    assert ids(log) == ["evt_1"]
    InboxWriter(path, clock).close()  # the lock is free again
