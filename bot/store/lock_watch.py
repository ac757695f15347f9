"""Names in an alarm who holds up a store, or lets it grow: a session of a DBA with an open transaction, for example."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from bot.core.alarms import Alarms
from bot.core.defects import guard
from bot.store.database import Database

ALARM = "store-locked"
GROWS = "store-grows"
WAITED_SECONDS = 3.0
LOOK_SECONDS = 1.0


@contextmanager
def watches_locks(databases: Mapping[str, Database], alarms: Alarms, waited: float = WAITED_SECONDS) -> Iterator[None]:
    """Report an alarm while another program's lock blocks one of these databases, or lets it grow.

    A thread of its own watches, because the threads that use the databases wait. The keys of ``databases`` say what
    does not happen meanwhile: "no event is accepted".
    """
    ending = threading.Event()

    def watch() -> None:
        while not ending.wait(LOOK_SECONDS):
            for missing, database in databases.items():
                if (found := database.held_up(waited)) is None:
                    alarms.clear(ALARM, missing)
                else:
                    what, advice = found
                    alarms.report(ALARM, f"{missing}: {what}", advice, about=missing)
                if (growing := database.grows()) is None:
                    alarms.clear(GROWS, missing)
                else:
                    alarms.report(GROWS, *growing, about=missing)

    thread = threading.Thread(target=guard(watch), name="locks", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()
