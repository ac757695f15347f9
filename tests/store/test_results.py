"""What turns count for `bot report`, in the store: by day, added up, kept for as many days as are set."""

from contextlib import closing
from datetime import timedelta
from pathlib import Path

from bot.core.events import ResetRequested
from bot.core.session import Session
from bot.core.turn import Counted, Trace, Turn
from bot.store.commit import Commit
from bot.store.engine_store import EngineStore
from bot.store.store_reader import StoreReader
from tests.store.store_kit import START

ANN = "6281234567890"
DAY = timedelta(days=1)
ENTERED: Counted = ("shop", "size", "", "entered", "")
ANSWERED: Counted = ("shop", "size", "", "answered", "[S]")


def count(store: EngineStore, days: int, *counted: Counted) -> None:
    commit = Commit(store.cursor, START + days * DAY)
    turn = Turn(Session(ANN), (), None, Trace("reset"), results=counted)
    commit.add_turn(Session(ANN), ResetRequested(f"e{days}", ANN, START), turn, [], 1)
    store.write(commit)


def results(path: Path, days: int) -> list[tuple[str, str, int]]:
    with closing(StoreReader(path)) as reader:
        return [(row.day, row.way, row.count) for row in reader.results(START + days * DAY)]


def test_counts_of_a_day_add_up_over_commits(path: Path) -> None:
    with closing(EngineStore(path)) as store:
        count(store, 0, ENTERED, ENTERED, ANSWERED)
        count(store, 0, ENTERED)
        count(store, 1, ENTERED)
    assert results(path, 0) == [
        ("2030-05-06", "answered", 1),
        ("2030-05-06", "entered", 3),
        ("2030-05-07", "entered", 1),
    ]
    assert results(path, 1) == [("2030-05-07", "entered", 1)]


def test_results_outlive_the_trace_and_are_kept_for_as_many_days_as_are_set(path: Path) -> None:
    with closing(EngineStore(path, results_days=90)) as store:
        count(store, 0, ENTERED)
        store.prune(START + 90 * DAY)
        assert len(results(path, 0)) == 1
        store.prune(START + 91 * DAY)
        assert results(path, 0) == []


def test_an_erased_contact_stays_counted(path: Path) -> None:
    with closing(EngineStore(path)) as store:
        count(store, 0, ENTERED)
        store.erase(ANN, 0, START)
        assert results(path, 0) == [("2030-05-06", "entered", 1)]
