"""A backup of a store: a folder with both files and what flows have kept, taken while the server runs, and verified."""

import os
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bot.core.errors import BotError
from bot.store.files import create, files_folder, inbox_path, open_to_copy, trouble_in_words

_ENGINE = "SELECT store_id, cursor, (SELECT count(*) FROM sessions) FROM meta"
_INBOX = "SELECT store_id, (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'log') FROM meta"


class BackupFailed(BotError):
    """There is no backup: the target is taken, or the copy is not sound. The store is as it was."""


@dataclass(frozen=True, slots=True)
class Backup:
    """What a backup holds: ``contacts``, all events up to ``last_seq`` (taken: up to ``cursor``), and its size."""

    folder: Path
    contacts: int
    cursor: int
    last_seq: int
    bytes: int


def back_up(store: Path, target: Path) -> Backup:
    """Copy a store into the new folder ``target``; it appears there whole and durable, or not at all.

    The engine's file is copied first: the inbox's copy then holds all that the engine had taken, and more. Raises
    `BackupFailed`, `bot.store.files.StoreMissing`, `bot.store.files.StoreUnavailable` and `OSError`.
    """
    if target.is_file() or (target.is_dir() and any(target.iterdir())):
        raise BackupFailed(f"{target} is there already: name a folder that is not, such as {target}-2")
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as draft:  # only the owner may read it
        folder = Path(draft, target.name)
        folder.mkdir(mode=0o700)
        for file in (store, inbox_path(store)):
            _copy(file, folder / file.name)
        if files_folder(store).is_dir():
            shutil.copytree(files_folder(store), files_folder(folder / store.name))
        contacts, cursor, last_seq = _verified(folder / store.name)
        written = [*folder.rglob("*"), folder]
        for path in written:
            _flush(path)
        size = sum(path.stat().st_size for path in written if path.is_file())
        folder.rename(target)
    _flush(target.parent)
    return Backup(target, contacts, cursor, last_seq, size)


def _copy(file: Path, copy: Path) -> None:
    create(copy)
    with trouble_in_words(file), closing(open_to_copy(file)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
        target.execute("PRAGMA journal_mode = DELETE")  # one file, with nothing beside it


def _verified(store: Path) -> tuple[int, int, int]:
    """Whether the copies are sound and of one store. Returns the contacts, the cursor and the log's end."""
    with closing(sqlite3.connect(store)) as engine, closing(sqlite3.connect(inbox_path(store))) as inbox:
        for file, connection in ((store, engine), (inbox_path(store), inbox)):
            (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
            if found != "ok":
                raise BackupFailed(f"the copy of {file.name} is not sound ({found}): is the disk failing?")
        store_id, cursor, contacts = engine.execute(_ENGINE).fetchone()
        inbox_id, last_seq = inbox.execute(_INBOX).fetchone()
    if store_id != inbox_id or cursor > last_seq:
        raise BackupFailed(f"{store.name} and {inbox_path(store).name} do not belong together: restore an older backup")
    return contacts, cursor, last_seq


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
