"""The crash quarantine of a run: what the run before may have been taking when it crashed is taken with care."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from bot.core.alarms import Alarms
from bot.runtime.performers import CallResult
from bot.runtime.sending import SendResult
from bot.store.crash_quarantine import ORDINARY, Bounds
from bot.store.engine_store import EngineStore
from bot.store.inbox import InboxReader, LogRow
from bot.store.rows import CallRow, DueRow, EventRow

QUARANTINE = "crash-quarantine"
_CAREFUL = (
    "the engine has crashed twice in a row: what it may have been taking then is taken one by one, which is slow",
    "see in the log what crashed it; what does so twice more is given up (`bot queue`)",
)


class CrashWatch:
    """Knows what may have crashed the engine, and ends the quarantine once all of that is done. ``run`` is this run."""

    def __init__(self, store: EngineStore, inbox: InboxReader, alarms: Alarms) -> None:
        self.run = ORDINARY
        self._store = store
        self._inbox = inbox
        self._alarms = alarms
        self._begun: Bounds | None = None  # what was there when the run began; None: all of that is done

    def begin(self, cursor: int, now: datetime, most: int) -> None:
        """Begin a run. ``most`` is how many events one commit takes."""
        self.run, self._begun = self._store.runs.begin(), self._bounds(cursor, now, most)
        if self.run.in_quarantine:
            self._alarms.report(QUARANTINE, *_CAREFUL)

    def _bounds(self, cursor: int, now: datetime, most: int) -> Bounds:
        """The bounds of what the run before may have taken: one commit at most, and results of what it had begun."""
        rows, due, ids = self._inbox.after(cursor, most), self._store.sessions.due(now, most), self._store.ids.last()
        upto = max(row.received_at for row in rows) if len(rows) == most else now
        if len(due) == most:
            upto = min(upto, due[-1].wake_at)
        return Bounds(rows[-1].seq if rows else cursor, min(upto, now), ids["messages"], ids["calls"])

    def may_crash(self, taken: SendResult | CallResult | CallRow | LogRow | DueRow) -> bool:
        """True if something may have crashed the engine: it is marked before it is taken, and ends its commit."""
        begun = self._begun
        if begun is None or not self.run.in_quarantine:
            return False
        match taken:
            case LogRow():
                return taken.seq <= begun.log
            case DueRow():
                return taken.wake_at <= begun.due
            case SendResult():
                return taken.row.id <= begun.message
            case CallResult():
                return self.may_crash(taken.row)
        return not isinstance(taken, EventRow) and taken.id <= begun.call

    def catch_up(self, cursor: int, done_upto: Callable[[int, int], bool]) -> None:
        """End the quarantine, and with it all suspicion, as soon as everything is done that the run before may have
        been taking.

        ``done_upto`` is true if the messages and the calls up to these ids are done.
        """
        begun = self._begun
        if begun is None or not done_upto(begun.message, begun.call):
            return
        if cursor < begun.log and self._inbox.has_after(cursor):  # the last of them may have been erased
            return
        wake = self._store.sessions.next_wake()
        if wake is None or wake > begun.due:
            self._store.runs.caught_up()
            self._begun, self.run = None, replace(ORDINARY, number=self.run.number)
            self._alarms.clear(QUARANTINE)
