"""The crash quarantine: how each run of the engine began and ended, and which events and calls may have crashed it."""

from bot.core.immutable import immutable
from bot.store.database import Execute

MOST_CRASHES = 2
"""After so many crashes in a row the quarantine begins. An event or call that was in progress at so many of them is given up."""

_LAST = "SELECT clean, crashes, taking FROM meta"
_SUSPECT = """
    INSERT INTO suspects (event_id, crashes) VALUES (?, 1) ON CONFLICT (event_id) DO UPDATE SET crashes = suspects.crashes + 1
"""
_SUSPECTS = "SELECT event_id FROM suspects WHERE crashes >= ?"
_CRASHED = "UPDATE calls SET crashes = crashes + 1 WHERE claimed_at IS NOT NULL"
_UNCLAIM = "UPDATE calls SET claimed_at = NULL WHERE claimed_at IS NOT NULL"
_STARTED = "UPDATE meta SET clean = 0, crashes = ?, taking = NULL"
TAKING = "UPDATE meta SET taking = ?"
CAUGHT_UP = ("UPDATE meta SET crashes = 0, taking = NULL", "DELETE FROM suspects")
ENDED = "UPDATE meta SET clean = 1, crashes = 0, taking = NULL"


@immutable
class EngineRun:
    """How a run of the engine begins. ``in_quarantine``: each event is marked and taken in a
    commit of its own.

    ``suspects`` are the events that were being taken at two crashes: they are not taken again.
    """

    in_quarantine: bool
    suspects: frozenset[str]


ORDINARY = EngineRun(in_quarantine=False, suspects=frozenset())
"""A run without the quarantine."""


def begin_run(execute: Execute) -> EngineRun:
    """Note, within a transaction, that a run begins, and whether the last one ended properly.

    The quarantine begins after two crashes in a row before the engine has taken all events. So one kill, or many
    kills of an engine that catches up in between, put no event under suspicion.
    """
    clean, crashes, taking = execute(_LAST).fetchone()
    crashes = 0 if clean else crashes + 1
    if taking is not None:
        execute(_SUSPECT, (taking,))
    if not clean:
        execute(_CRASHED)
    execute(_UNCLAIM)
    execute(_STARTED, (crashes,))
    suspects = frozenset(id for (id,) in execute(_SUSPECTS, (MOST_CRASHES,)))
    return EngineRun(crashes >= MOST_CRASHES, suspects)
