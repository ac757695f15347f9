"""The crash quarantine: how each run of the engine began and ended, and which events and calls may have crashed it."""

from datetime import datetime

from bot.core.immutable import immutable
from bot.core.values import storable
from bot.store.database import Execute, Queries
from bot.store.message_rows import MAY_BE_REPEATED

MOST_CRASHES = 2
"""The quarantine begins after so many crashes in a row. An event or call in progress at so many is given up."""

_CLEAN = "SELECT clean FROM meta"
_BEGIN = "UPDATE meta SET run = run + 1, clean = 0"
_SUSPECT = """
    INSERT INTO crashes (run, work)
    SELECT run, under_way.work FROM crashes, (
        SELECT taking AS work FROM meta WHERE taking IS NOT NULL UNION SELECT key FROM calls WHERE claimed_at IS NOT NULL
    ) AS under_way
    WHERE run = (SELECT run - 1 FROM meta) AND crashes.work = ''
"""
_UNCLAIM = "UPDATE calls SET claimed_at = NULL WHERE claimed_at IS NOT NULL"
_CRASHES = "SELECT count(*) FROM crashes WHERE work = ''"
_SUSPECTS = "SELECT work FROM crashes WHERE work <> '' GROUP BY work HAVING count(*) >= ?"
_MAY_CRASH = "INSERT INTO crashes (run, work) SELECT run, '' FROM meta"
_NUMBER = "SELECT run FROM meta"
_WAIT_FOR_BEGINNING = "UPDATE meta SET run = run"
_NO_CRASH = "DELETE FROM crashes WHERE run = ?"
_TAKING = "UPDATE meta SET taking = ?"
_CAUGHT_UP = ("UPDATE meta SET taking = NULL", "DELETE FROM crashes WHERE run < (SELECT run FROM meta)")
_ENDED = ("UPDATE meta SET clean = 1, taking = NULL", "DELETE FROM crashes WHERE run = (SELECT run FROM meta)")


@immutable
class EngineRun:
    """How a run of the engine begins. ``in_quarantine``: work that the runs before it may have been doing (`Bounds`) is
    marked, and ends its commit.

    ``suspects`` are the ids of events and the keys of calls that were in progress at two crashes: they are not
    repeated.
    """

    number: int
    in_quarantine: bool
    suspects: frozenset[str]


ORDINARY = EngineRun(number=0, in_quarantine=False, suspects=frozenset())
"""A run without the quarantine."""


@immutable
class Bounds:
    """The work that was there when a run began, so that the run before it may have been taking it. Later work has not
    crashed that run.

    The work is the log up to the place ``log`` and the wake-ups up to the time ``due``, as far as one commit can have
    taken them, the results of the messages up to the id ``message``, and the calls up to the id ``call``.
    """

    log: int
    due: datetime
    message: int
    call: int


class EngineRuns(Queries):
    """How the runs of an engine begin and end."""

    def begin(self) -> EngineRun:
        """Note that a run begins. It counts as a crash until it has ended properly or `lost_connection`. After a crash,
        messages in the outbox may have been tried.

        The quarantine begins after two crashes before an engine has caught up, which is when it has taken all within
        its `Bounds`. So one kill, or many kills of an engine that catches up in between, put no event under suspicion.
        """
        with self.database.transaction() as execute:
            ((ended_clean,),) = execute(_CLEAN).fetchall()
            if not ended_clean:
                execute(MAY_BE_REPEATED)
            execute(_BEGIN)
            execute(_SUSPECT)
            execute(_TAKING, (None,))
            execute(_UNCLAIM)
            ((crashes,),) = execute(_CRASHES).fetchall()
            suspects = frozenset(work for (work,) in execute(_SUSPECTS, (MOST_CRASHES,)))
            execute(_MAY_CRASH)
            ((number,),) = execute(_NUMBER).fetchall()
            return EngineRun(number, crashes >= MOST_CRASHES, suspects)

    def mark_taking(self, event_id: str) -> None:
        """Note durably that an event is about to be taken. The next commit deletes the note."""
        self.database.write((_TAKING, [(storable(event_id),)]))

    def caught_up(self) -> None:
        """Note that all that may have crashed the earlier runs was taken: their crashes do not count any more."""
        self.database.write(*((sql, [()]) for sql in _CAUGHT_UP))

    def end(self) -> None:
        """Note that the run ended properly."""
        self.database.write(*((sql, [()]) for sql in _ENDED))


def lost_connection(execute: Execute, run: int) -> None:
    """Note, within a transaction, that a run was no crash: it ended because its connection to the store was lost.
    Another run may have begun since, or be about to begin.
    """
    execute(_WAIT_FOR_BEGINNING)
    execute(_NO_CRASH, (run,))
