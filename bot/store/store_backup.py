"""A backup of a store: a folder with both files and the kept files, made while the server runs, and verified."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import datetime
from itertools import count
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory

from bot.core.errors import BotError
from bot.core.immutable import immutable
from bot.store.database import StoreAddress
from bot.store.files import (
    FileLock,
    StoreDamaged,
    StoreLocked,
    files_folder,
    flush,
    inbox_path,
    restoring_folder,
    server_lock,
)
from bot.store.inbox import COUNT_AFTER
from bot.store.integrity import Age, StoresDiffer, check_pair, check_whole
from bot.store.kept_files import PART
from bot.store.sqlite_database import create, open_to_copy, trouble_in_words
from bot.store.sqlite_schema import make_inbox, migrate
from bot.store.store_reader import StoreReader

_ITS_OWN = "its own tools, such as pg_basebackup or pgBackRest (docs/scaling.md)"


class BackupFailed(BotError):
    """No backup was made, because the target is not empty."""


@immutable
class Backup:
    """The content of a backup: ``contacts``, all events up to ``last_seq`` (taken: up to ``cursor``), and its size."""

    folder: Path
    contacts: int
    cursor: int
    last_seq: int
    bytes: int


def back_up(store: StoreAddress, target: Path) -> Backup:
    """Copy a store into the new folder ``target``. The folder appears complete and durable, or not at all.

    The engine's file is copied first, so the inbox's copy has all events that the engine had taken, and perhaps more.
    Raises `BackupFailed`, `bot.store.integrity.StoresDiffer`, `bot.store.files.StoreMissing`,
    `bot.store.files.StoreUnavailable` and `OSError`.
    """
    if not isinstance(store, Path):
        raise BackupFailed(f"{store} is a database of PostgreSQL: back it up with {_ITS_OWN}")
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
        _copy_kept_files(files_folder(store), files_folder(folder / store.name))
        age = check_pair(folder / store.name)
        with closing(StoreReader(folder / store.name)) as reader:
            contacts = reader.counts()["sessions"]
        written = flush_all(folder)
        size = sum(path.stat().st_size for path in written if path.is_file())
        folder.rename(target)
    flush(target.parent)
    return Backup(target, contacts, age.cursor, age.last, size)


def copy(file: Path, target: Path) -> None:
    """Copy a database, which another process may be writing, into a new private file. Raises like `back_up`."""
    create(target)
    with trouble_in_words(file), closing(open_to_copy(file)) as source, closing(sqlite3.connect(target)) as opened:
        source.backup(opened)
        opened.execute("PRAGMA journal_mode = DELETE")  # one file, without others beside it


def _copy_kept_files(source: Path, target: Path) -> None:
    """Copy the kept files that are complete. One may go meanwhile: its contact is erased."""
    for folder, _, names in os.walk(source):  # which leaves out a folder that is gone
        copies = target / Path(folder).relative_to(source)
        copies.mkdir(mode=0o700, exist_ok=True)
        for name in names:
            if not name.endswith(PART):
                with suppress(FileNotFoundError):
                    shutil.copy2(Path(folder, name), copies)


def flush_all(folder: Path) -> list[Path]:
    """Write all files of a folder, and the folder itself, to the disk. Returns their paths."""
    written = [*folder.rglob("*"), folder]
    for path in written:
        flush(path)
    return written


_BESIDE = ("-wal", "-shm")  # files that SQLite may have beside a database


class CannotRestore(BotError):
    """Nothing was restored, and the store has not changed."""


@immutable
class Restored:
    """The result of a restore. ``replaced`` is the folder of the store's earlier files; None if there were none.

    ``left`` counts the events that only the replaced log has: they came later, and are not taken.
    """

    age: Age
    replaced: Path | None
    left: int


def restore(store: StoreAddress, backup: Path | None, now: datetime, *, keep_inbox: bool = False) -> Restored:
    """Put a backup in the store's place: both files, and the kept files. No server may run.

    ``keep_inbox``: the inbox and the kept files stay as they are. Without a backup, a new inbox is made that
    continues at the engine's cursor. Raises `CannotRestore`, and the errors of `bot.store.sqlite_schema.migrate`.
    """
    if not isinstance(store, Path):
        raise CannotRestore(f"{store} is a database of PostgreSQL: restore it with {_ITS_OWN}")
    with _alone(store):
        put_in_place(store)
        with new_files(store) as new:
            engine = None if backup is None else _engine_file(backup, store)
            try:
                _prepare(new, store, engine, keep_inbox, now)
                age = check_pair(new)
            except StoresDiffer as error:
                raise CannotRestore(str(error).replace(f"{new.parent}/", "")) from error
            left = _newer(inbox_path(store), age.last)
        return Restored(age, put_in_place(store), left)


@contextmanager
def new_files(store: Path) -> Iterator[Path]:
    """Where to make new files of a store, which `put_in_place` then finds complete and durable; or nothing has
    changed.
    """
    draft = store.with_name(f".{restoring_folder(store).name}")
    shutil.rmtree(draft, ignore_errors=True)  # of one that was killed while it prepared
    new = draft / "new" / store.name
    try:
        new.parent.mkdir(parents=True, mode=0o700)
        yield new
        for lock in new.parent.glob("*.lock"):
            lock.unlink()
        flush_all(draft)
        draft.rename(restoring_folder(store))
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    flush(store.parent)


def finish_restore(store: StoreAddress) -> bool:
    """Finish a restore that was interrupted. Returns False if there was none. Raises `bot.store.files.StoreLocked`."""
    if not isinstance(store, Path) or not restoring_folder(store).exists():
        return False
    with files_locked(store):
        put_in_place(store)
    return True


@contextmanager
def _alone(store: Path) -> Iterator[None]:
    try:
        lock = server_lock(store)
    except StoreLocked:
        raise CannotRestore(f"a server runs on {store}: stop it first") from None
    try:
        with files_locked(store):
            yield
    finally:
        lock.release()


@contextmanager
def files_locked(store: Path) -> Iterator[None]:
    """Hold the right to write both files. Raises `bot.store.files.StoreLocked`."""
    with ExitStack() as held:
        for file in (store, inbox_path(store)):
            held.callback(FileLock(file).release)
        yield


def _engine_file(backup: Path, store: Path) -> Path:
    """The engine's file of a backup: the one with an inbox beside it."""
    found = [file for file in backup.glob("*") if inbox_path(file).is_file() and not file.name.endswith(_BESIDE)]
    if len(found) != 1:
        raise CannotRestore(f"{backup} is no backup: it should hold {store.name} and {inbox_path(store).name}")
    if found[0].resolve() == store.resolve():
        raise CannotRestore(f"{backup} is where the store itself lies: name the folder of a backup")
    return found[0]


def _prepare(new: Path, store: Path, engine: Path | None, keep_inbox: bool, now: datetime) -> None:
    """Prepare all new files: checked, and of this version."""
    sources = {new: engine or store}
    if engine is not None:
        sources[inbox_path(new)] = inbox_path(store if keep_inbox else engine)
    for target, source in sources.items():
        try:
            check_whole(source, inf)
        except StoreDamaged as error:
            raise CannotRestore(f"{error.what}: restore both files, from another backup") from error
        copy(source, target)
    if engine is None:
        make_inbox(new, now)
    migrate(new)
    if engine is not None and not (keep_inbox and files_folder(store).exists()):
        files_folder(new).mkdir(mode=0o700)
        _copy_kept_files(files_folder(engine), files_folder(new))


def _newer(log: Path, last: int) -> int:
    """How many events the replaced log has that the restored one does not have, as far as it can be read."""
    try:
        with closing(open_to_copy(log)) as connection:
            return int(connection.execute(COUNT_AFTER, (last,)).fetchone()[0])
    except (BotError, sqlite3.DatabaseError):
        return 0


def put_in_place(store: Path) -> Path | None:
    """Move each new file to its place, and the old ones away. It continues where it was interrupted. Returns the
    folder of the old files.
    """
    folder = restoring_folder(store)
    if not folder.exists():
        return None
    for part in sorted((folder / "new").glob("*")):
        for name in (part.name, *(part.name + end for end in _BESIDE)):
            if (there := store.with_name(name)).exists():
                there.rename(folder / name)
        part.rename(store.with_name(part.name))
        flush(folder)
        flush(store.parent)
    shutil.rmtree(folder / "new", ignore_errors=True)  # empty by now
    aside = _free_name(store) if any(folder.iterdir()) else None
    if aside is None:
        folder.rmdir()
    else:
        folder.rename(aside)
    flush(store.parent)
    return aside


def _free_name(store: Path) -> Path:
    names = (store.with_name(f"{store.stem}.replaced-{number}") for number in count(1))
    return next(name for name in names if not name.exists())
