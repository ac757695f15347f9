"""How a store is, as far as its files tell: for `bot doctor`."""

import sqlite3
import stat
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from bot.store.files import inbox_path
from bot.store.inbox import InboxReader
from bot.store.integrity import check_both, check_pair, check_whole
from bot.store.reader import StoreReader


@dataclass(frozen=True, slots=True)
class Health:
    """What there is to see. ``exposed`` are files that others on this machine can read."""

    dead_letters: int
    erasures: int
    last_received: datetime | None
    stale: int
    last_stale: datetime | None
    exposed: tuple[Path, ...]


def sqlite_version() -> str:
    """Which SQLite this Python has."""
    return sqlite3.sqlite_version


def health(store: Path) -> Health:
    """Look at a store, a second at each file at most.

    Raises `bot.store.files.StoreMissing`, `StoreOutdated`, `StoreUnavailable`, and `bot.store.integrity.StoresDiffer`.
    """
    check_both(store)
    for file in (store, inbox_path(store)):
        check_whole(file, seconds=1.0)
    check_pair(store)
    with closing(StoreReader(store)) as reader, closing(InboxReader(store)) as log:
        stale, last_stale = log.stale()
        files = [file for file in (store, inbox_path(store)) if stat.S_IMODE(file.stat().st_mode) & 0o077]
        return Health(
            reader.counts()["dead_letters"],
            len(reader.erasures()),
            log.last_received(),
            stale,
            last_stale,
            tuple(files),
        )
