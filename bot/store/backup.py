"""A backup of a store: a folder with both files and what flows have kept, taken while the server runs, and verified."""

import os
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory

from bot.core.errors import BotError
from bot.store.files import create, files_folder, inbox_path, open_to_copy, trouble_in_words
from bot.store.integrity import check_pair, check_whole
from bot.store.reader import StoreReader


class BackupFailed(BotError):
    """There is no backup: the target is taken."""


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
    `BackupFailed`, `bot.store.integrity.StoresDiffer`, `bot.store.files.StoreMissing`,
    `bot.store.files.StoreUnavailable` and `OSError`.
    """
    if target.is_file() or (target.is_dir() and any(target.iterdir())):
        raise BackupFailed(f"{target} is there already: name a folder that is not, such as {target}-2")
    check_pair(store)
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as draft:  # only the owner may read it
        folder = Path(draft, target.name)
        folder.mkdir(mode=0o700)
        for file in (store, inbox_path(store)):
            copy(file, folder / file.name)
            check_whole(folder / file.name, inf)
        if files_folder(store).is_dir():
            shutil.copytree(files_folder(store), files_folder(folder / store.name))
        age = check_pair(folder / store.name)
        with closing(StoreReader(folder / store.name)) as reader:
            contacts = reader.counts()["sessions"]
        written = flush_all(folder)
        size = sum(path.stat().st_size for path in written if path.is_file())
        folder.rename(target)
    flush(target.parent)
    return Backup(target, contacts, age.cursor, age.last, size)


def copy(file: Path, target: Path) -> None:
    """Copy a database, also one that is being written, into a new private file. Raises as `back_up` does."""
    create(target)
    with trouble_in_words(file), closing(open_to_copy(file)) as source, closing(sqlite3.connect(target)) as opened:
        source.backup(opened)
        opened.execute("PRAGMA journal_mode = DELETE")  # one file, with nothing beside it


def flush_all(folder: Path) -> list[Path]:
    """Have all that is in a folder on the disk, and the folder too. Returns what that is."""
    written = [*folder.rglob("*"), folder]
    for path in written:
        flush(path)
    return written


def flush(path: Path) -> None:
    """Have a file or a folder's list of names on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
