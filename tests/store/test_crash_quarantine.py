"""How often the engine may crash before the quarantine begins, and before what it was doing is given up."""

from contextlib import closing
from pathlib import Path

from bot.store.crash_quarantine import lost_connection
from bot.store.engine_store import EngineStore
from tests.store.store_kit import beside_the_store

CLAIMED = """
    INSERT INTO calls (ref, key, contact, effect, created_at, attempts, due_at, claimed_at) VALUES ('r', 'k', '', '', '', 0, '', ?)
"""


def test_after_two_crashes_in_a_row_the_engine_is_careful_until_it_has_caught_up(path: Path) -> None:
    with closing(EngineStore(path)) as store:
        assert [store.runs.begin().in_quarantine for _ in range(4)] == [False, False, True, True]
        store.runs.caught_up()
        assert [store.runs.begin().in_quarantine for _ in range(2)] == [False, True]


def test_a_run_that_ended_properly_is_no_crash(path: Path) -> None:
    with closing(EngineStore(path)) as store:
        for _ in range(4):
            assert not store.runs.begin().in_quarantine
            store.runs.end()


def test_what_was_being_done_at_two_crashes_is_a_suspect(path: Path) -> None:
    with closing(EngineStore(path)) as store:
        store.runs.begin()
        wanted: tuple[set[str], ...] = (set(), {"evt_1", "k"})
        for suspects in wanted:
            store.runs.mark_taking("evt_1")
            with beside_the_store(path) as execute:
                execute(CLAIMED, ("2026-01-01",))
            assert store.runs.begin().suspects == suspects
            with beside_the_store(path) as execute:
                execute("DELETE FROM calls")


def test_runs_that_lost_their_connection_are_no_crashes_whether_they_say_so_before_the_next_begins_or_later(
    path: Path,
) -> None:
    """Of two machines, the one that did not take over says so later."""
    with closing(EngineStore(path)) as store:
        first = store.runs.begin()
        for _ in range(3):
            store.runs.mark_taking("evt_1")
            second = store.runs.begin()
            with beside_the_store(path) as execute:
                lost_connection(execute, first.number)
            store.runs.mark_taking("evt_1")
            with beside_the_store(path) as execute:
                lost_connection(execute, second.number)
            first = store.runs.begin()
            assert not (second.in_quarantine or first.in_quarantine or second.suspects or first.suspects)


def test_a_run_that_lost_its_connection_ends_no_row_of_crashes(path: Path) -> None:
    with closing(EngineStore(path)) as store:
        store.runs.begin()
        lost = store.runs.begin()
        with beside_the_store(path) as execute:
            lost_connection(execute, lost.number)
        store.runs.begin()
        assert store.runs.begin().in_quarantine
