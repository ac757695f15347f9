"""A restore: of a backup that is checked, whole or not at all, with what was there kept, whenever it is killed."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from bot.core.session import Session
from bot.store.commit import Commit
from bot.store.engine_store import EngineStore
from bot.store.files import FileLock, RestoreUnfinished, StoreLocked, inbox_path, server_lock
from bot.store.inbox import InboxReader, InboxWriter
from bot.store.integrity import check_pair
from bot.store.sqlite_schema import migrate
from bot.store.store_backup import CannotRestore, Restored, back_up, finish_restore, restore
from bot.store.store_reader import StoreReader
from tests.patience import PATIENCE
from tests.store.store_kit import START, append, clock, contact_files

ANN = "6281234567890"
PHOTO = "photo.jpg"


def take(path: Path, *ids: str, visit: int) -> None:
    """Events come in and are taken; the last of them leads the contact to its so manieth visit."""
    with closing(InboxWriter(path, clock(), patience=PATIENCE)) as inbox:
        for id in ids:
            append(inbox, id)
    with closing(EngineStore(path)) as store, closing(InboxReader(path)) as log:
        commit = Commit(store.cursor, START)
        for row in log.after(store.cursor, 100):
            commit.move_cursor(row.seq, row.event_id)
        commit.sessions.set(Session(ANN, visit=visit), None)
        store.write(commit)


def photo(path: Path, content: bytes) -> None:
    folder = contact_files(path, ANN)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / PHOTO).write_bytes(content)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store that has taken two events since its backup."""
    (tmp_path / "store").mkdir()
    store = tmp_path / "store" / "bot.db"
    migrate(store)
    take(store, "evt_1", visit=1)
    photo(store, b"then")
    back_up(store, backup(store))
    take(store, "evt_2", "evt_3", visit=2)
    photo(store, b"now")
    return store


def backup(path: Path) -> Path:
    return path.parent.parent / "monday"


def of(path: Path) -> tuple[object, list[str], bytes]:
    """What a store holds: the session's visit, the events, the photo."""
    with closing(StoreReader(path)) as reader, closing(InboxReader(path)) as log:
        session = reader.sessions.get(ANN)
        ids = [row.event_id for row in log.after(0, 100)]
    return session and session.visit, ids, (contact_files(path, ANN) / PHOTO).read_bytes()


THEN, NOW = (1, ["evt_1"], b"then"), (2, ["evt_1", "evt_2", "evt_3"], b"now")


def restored(path: Path, **options: bool) -> Restored:
    return restore(path, backup(path), START, **options)


def test_all_parts_are_as_they_were_and_what_was_there_is_a_backup_itself(path: Path) -> None:
    found = restored(path)
    assert of(path) == THEN
    assert (found.age.cursor, found.age.last, found.left) == (1, 1, 2)
    assert found.replaced is not None and of(found.replaced / "bot.db") == NOW
    migrate(path)
    again = restore(path, found.replaced, START)
    assert of(path) == NOW and again.left == 0
    assert again.replaced is not None and of(again.replaced / "bot.db") == THEN
    assert {name.name for name in path.parent.iterdir() if "restor" in name.name} == set()


def test_with_the_inbox_kept_the_engine_takes_again_what_came_since(path: Path) -> None:
    with closing(InboxWriter(path, clock(), patience=PATIENCE)) as inbox:
        inbox.prune(3)
    path.write_bytes(b"damaged")
    found = restored(path, keep_inbox=True)
    assert of(path) == (1, NOW[1], b"now")
    assert (found.age.cursor, found.age.taken, found.age.last, found.left) == (1, 3, 3, 0)


@pytest.mark.parametrize("lost", [True, False])
def test_a_new_inbox_goes_on_where_the_engines_file_is(path: Path, lost: bool) -> None:
    inbox_path(path).unlink() if lost else inbox_path(path).write_bytes(b"\5" * 20_000)
    found = restore(path, None, START)
    assert of(path) == (2, [], b"now") and check_pair(path).cursor == found.age.last == 3
    take(path, "evt_4", visit=3)
    assert check_pair(path).cursor == 4
    migrate(path)


def test_a_new_inbox_says_how_many_events_of_the_old_one_are_not_taken(path: Path) -> None:
    with closing(InboxWriter(path, clock(), patience=PATIENCE)) as inbox:
        append(inbox, "evt_4")
    assert restore(path, None, START).left == 1


def test_where_there_was_no_store_it_is_the_backup(path: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.db"
    assert restore(elsewhere, backup(path), START).replaced is None
    assert of(elsewhere) == THEN
    assert {file.stat().st_mode & 0o777 for file in tmp_path.glob("elsewhere*.db")} == {0o600}


def no_backup(path: Path) -> None:
    inbox_path(backup(path) / "bot.db").unlink()


def damaged(path: Path) -> None:
    file = backup(path) / "bot.db"
    file.write_bytes(file.read_bytes()[:8192] + b"\5" * 4096 + file.read_bytes()[12288:])


def of_two_ages(path: Path) -> None:
    newer = path.parent.parent / "tuesday"
    back_up(path, newer)
    shutil.copy(newer / "bot.db", backup(path) / "bot.db")


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (no_backup, r"monday is no backup: it should hold bot\.db and bot\.inbox\.db"),
        (damaged, r"monday/bot\.db is damaged .*: restore both files, from another backup"),
        (
            of_two_ages,
            r"^bot\.db has taken events up to number 3, and in bot\.inbox\.db the log ends at 1",
        ),
    ],
)
def test_a_backup_that_is_not_whole_or_of_one_age_changes_nothing(
    path: Path, harm: Callable[[Path], None], words: str
) -> None:
    harm(path)
    with pytest.raises(CannotRestore, match=words):
        restored(path)
    assert of(path) == NOW
    assert [name.name for name in path.parent.iterdir() if "re" in name.suffix] == []


def test_the_store_is_no_backup_of_itself(path: Path) -> None:
    with pytest.raises(CannotRestore, match="is where the store itself lies"):
        restore(path, path.parent, START)


def test_a_server_or_a_command_at_work_keeps_its_store(path: Path) -> None:
    for held, error in ((server_lock(path), CannotRestore), (FileLock(inbox_path(path)), StoreLocked)):
        with pytest.raises(error):
            restored(path)
        held.release()
    assert of(path) == NOW


def killed_at_rename(path: Path, number: int) -> bool:
    """Restore in a process that is killed just before it renames for the so manieth time. False where it came to its end."""
    pid = os.fork()
    if pid == 0:
        rename, count = Path.rename, 0

        def counted(self: Path, target: Path) -> Path:
            nonlocal count
            count += 1
            if count == number:
                os._exit(9)
            return rename(self, target)

        Path.rename = counted  # type: ignore[method-assign,assignment]
        try:
            restored(path)
            os._exit(0)
        finally:
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code in (0, 9)
    return code == 9


def test_killed_at_any_step_it_is_as_it_was_or_is_finished(path: Path, tmp_path: Path) -> None:
    number, states = 1, []
    shutil.copytree(path.parent, tmp_path / "kept")
    with closing(sqlite3.connect(path)) as reader:
        reader.execute("SELECT * FROM meta").fetchall()  # it is open, so that a -wal and a -shm stand beside it
    while killed_at_rename(path, number):
        if (path.parent / "bot.restoring").exists():
            for opens in (StoreReader, EngineStore, InboxReader):
                with pytest.raises(RestoreUnfinished, match="was cut short: `bot restore` finishes it"):
                    opens(path)
        states.append(finish_restore(path))
        assert of(path) == (THEN if states[-1] else NOW)
        migrate(path)
        shutil.rmtree(path.parent)
        shutil.copytree(tmp_path / "kept", path.parent)
        number += 1
    assert states[0] is False and all(states[1:]) and len(states) > 5
    assert of(path) == THEN
