"""How often the engine may crash before the quarantine begins, and before the event that it was taking is given up."""

from contextlib import closing
from pathlib import Path

from bot.store.engine_store import Store


def test_after_two_crashes_in_a_row_the_engine_is_careful_until_it_has_caught_up(path: Path) -> None:
    with closing(Store(path)) as store:
        assert [store.begin_run().in_quarantine for _ in range(4)] == [False, False, True, True]
        store.caught_up()
        assert [store.begin_run().in_quarantine for _ in range(2)] == [False, True]


def test_an_event_that_was_being_taken_at_two_crashes_is_a_suspect(path: Path) -> None:
    with closing(Store(path)) as store:
        store.begin_run()
        wanted: tuple[set[str], ...] = (set(), {"evt_1"})
        for suspects in wanted:
            store.mark_taking("evt_1")
            assert store.begin_run().suspects == suspects
