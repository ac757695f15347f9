"""Checks that the two files of a store are undamaged and belong together; and a store's health for `bot doctor`."""

import sqlite3
import stat
from contextlib import closing
from datetime import datetime
from pathlib import Path
from time import monotonic

from bot.core.errors import BotError
from bot.core.immutable import immutable
from bot.store.database import Database, StoreAddress
from bot.store.files import StoreDamaged, damage_in_words, inbox_path
from bot.store.inbox import InboxReader
from bot.store.sqlite_database import SqliteDatabase, open_to_copy, trouble_in_words
from bot.store.store_reader import StoreReader

LOOK_SECONDS = 2.0
"""The most seconds for which a file is checked. Damage after that is found when the data is read."""

_STEPS = 10_000  # SQLite's steps between two looks at the time
_ENGINE = "SELECT store_id, cursor, last_event FROM meta"
_INBOX = """
    SELECT store_id, taken, (SELECT coalesce(max(seq), 0) FROM log), (SELECT min(seq) FROM log),
        (SELECT event_id FROM log WHERE seq = ?)
    FROM meta
"""


class StoresDiffer(BotError):
    """The two files do not belong together: they are of different stores, or of different times."""


@immutable
class Age:
    """How far the engine has taken the log: by its own file (``cursor``), and by the log (``taken``).

    ``taken`` is written once a minute, so it is usually smaller than ``cursor``. If it is larger, the engine's file
    is an older copy: the engine takes the events in between again, and its messages have the same keys as before.
    """

    cursor: int
    taken: int
    last: int

    @property
    def taken_again(self) -> int:
        """How many places of the log the engine takes a second time, at least."""
        return max(0, self.taken - self.cursor)


def check_whole(path: Path, seconds: float = LOOK_SECONDS) -> None:
    """Check a file for damaged pages. Raises `StoreDamaged`, `StoreMissing` and `StoreUnavailable`."""
    until = monotonic() + seconds
    with trouble_in_words(path), closing(open_to_copy(path)) as connection:
        (page,) = connection.execute("PRAGMA page_size").fetchone()
        if path.stat().st_size % page:
            raise StoreDamaged(path, "it ends in the middle of a page")
        connection.set_progress_handler(lambda: monotonic() > until, _STEPS)
        try:
            (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
                raise
            return
    if found != "ok":
        raise StoreDamaged(path, " ".join(found.split()))


def is_empty(path: Path) -> bool:
    """True if a file is missing or contains nothing."""
    return not path.exists() or path.stat().st_size == 0


def check_both(store: Path) -> None:
    """Check that no file is missing or empty while the other one has data. Raises `StoresDiffer`, and the errors of
    `check_whole`.
    """
    log = inbox_path(store)
    for missing, other, advice in (
        (store, log, "restore a backup of it, `bot restore BACKUP --keep-inbox`, or move both away to start anew"),
        (
            log,
            store,
            "restore both from one backup, `bot restore BACKUP`, or make a new one, `bot restore --new-inbox`",
        ),
    ):
        if is_empty(missing) and not is_empty(other):
            check_whole(other)
            with closing(open_to_copy(other)) as connection, trouble_in_words(other):
                is_made = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone()
                if is_made and connection.execute("SELECT store_id FROM meta").fetchone() != (None,):
                    raise StoresDiffer(f"{missing} is missing or empty, and {other} is not: {advice}")


def check_pair(store: StoreAddress) -> Age:
    """Check that both files are of one store, and that the log has the event at the engine's cursor. A database of
    PostgreSQL has both parts, of one time.

    Raises `StoresDiffer`, `bot.store.files.StoreMissing`, `bot.store.files.StoreOutdated` and
    `bot.store.files.StoreUnavailable`.
    """
    if not isinstance(store, Path):
        return Age(0, 0, 0)
    with closing(SqliteDatabase.reader(store)) as engine, closing(SqliteDatabase.reader(inbox_path(store))) as inbox:
        return check_open_pair(engine, inbox)


def check_open_pair(engine: Database, inbox: Database) -> Age:
    """Do as `check_pair` by two connections that are open: opening one takes SQLite a millisecond."""
    store, log = engine.place, inbox.place
    if not (isinstance(store, Path) and isinstance(log, Path)):
        return Age(0, 0, 0)
    with damage_in_words(store):
        ours, cursor, event = engine.one(_ENGINE)  # the engine first, because the log grows
    with damage_in_words(log):
        theirs, taken, last, first, found = inbox.one(_INBOX, cursor)
    if theirs != ours:
        raise StoresDiffer(
            f"{store} and {log} are not of one store: restore both from one backup, `bot restore BACKUP`, "
            "or move both away to start anew"
        )
    if cursor > last:
        raise StoresDiffer(_older_log(store, log, f"the log ends at {last}", cursor))
    begins_behind = found is None and first is not None and first > cursor
    if event is not None and found != event and not begins_behind:
        raise StoresDiffer(_older_log(store, log, "that number is another event, or none", cursor))
    if begins_behind and first > cursor + 1 and (event is not None or cursor < taken):
        raise StoresDiffer(
            f"{store} is too old for {log}: it has taken events up to number {cursor}, and of those behind it, which "
            "a newer copy has taken, the log has deleted some. Restore a newer backup of it, "
            "`bot restore BACKUP --keep-inbox`"
        )
    return Age(cursor, taken, last)


def _older_log(store: Path, log: Path, how: str, cursor: int) -> str:
    return (
        f"{store} has taken events up to number {cursor}, and in {log} {how}: the log is an older copy, or has lost events. "
        "Restore both from one backup, `bot restore BACKUP`, or go on with a new log, `bot restore --new-inbox`"
    )


@immutable
class StoreHealth:
    """A store as `bot doctor` reports it. ``exposed`` are files that other users of this machine can read.

    ``late`` is how many contacts must write before messages can go whose window is closed.
    """

    dead_letters: int
    late: int
    erasures: int
    last_received: datetime | None
    stale: int
    last_stale: datetime | None
    exposed: tuple[Path, ...]


def sqlite_version() -> str:
    """The version of SQLite."""
    return sqlite3.sqlite_version


def health(store: StoreAddress) -> StoreHealth:
    """Check a store, each file for a second at most.

    Raises `bot.store.files.StoreMissing`, `StoreOutdated`, `StoreUnavailable`, and
    `bot.store.integrity.StoresDiffer`.
    """
    files = (store, inbox_path(store)) if isinstance(store, Path) else ()
    if isinstance(store, Path):
        check_both(store)
        for file in files:
            check_whole(file, seconds=1.0)
        check_pair(store)
    with closing(StoreReader(store)) as reader, closing(InboxReader(store)) as log:
        stale, last_stale = log.stale()
        return StoreHealth(
            reader.counts()["dead_letters"],
            reader.sessions.count_late(),
            len(reader.erasures()),
            log.last_received(),
            stale,
            last_stale,
            tuple(file for file in files if stat.S_IMODE(file.stat().st_mode) & 0o077),
        )
