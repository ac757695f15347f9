"""A backup: of a live store, sound, private, there whole or not at all."""

import os
import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path

import pytest

from bot.core.session import Session
from bot.store.commit import Commit
from bot.store.engine_store import EngineStore
from bot.store.files import StoreDamaged, StoreMissing, inbox_path
from bot.store.inbox import InboxReader, InboxWriter
from bot.store.integrity import StoresDiffer
from bot.store.sqlite_schema import migrate
from bot.store.store_backup import BackupFailed, back_up
from bot.store.store_reader import StoreReader
from tests.store.store_kit import START, append, contact_files

ANN = "6281234567890"


def take(store: EngineStore, upto: int) -> None:
    commit = Commit(store.cursor, START)
    commit.cursor = upto
    commit.sessions.set(Session(ANN, visit=upto), None)
    store.write(commit)


def test_a_live_store_is_copied_with_all_it_has(path: Path, inbox: InboxWriter, tmp_path: Path) -> None:
    store = EngineStore(path)
    for number in range(3):
        append(inbox, f"evt_{number}")
    take(store, 2)
    photo = contact_files(path, ANN) / "photo.jpg"
    photo.parent.mkdir(parents=True)
    photo.write_bytes(b"a photo")
    backup = back_up(path, tmp_path / "copies" / "monday")
    assert (backup.contacts, backup.cursor, backup.last_seq) == (1, 2, 3)
    copy = backup.folder / "bot.db"
    with closing(StoreReader(copy)) as reader, closing(InboxReader(copy)) as log:
        assert reader.sessions.get(ANN) == store.sessions.get(ANN)
        assert [row.event_id for row in log.after(reader.cursor(), 10)] == ["evt_2"]
    assert (contact_files(copy, ANN) / "photo.jpg").read_bytes() == b"a photo"
    store.close()


def test_a_backup_is_its_owners_alone_whatever_the_umask(path: Path, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        folder = back_up(path, tmp_path / "copy").folder
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}
    assert {file.name for file in folder.iterdir()} == {"bot.db", "bot.inbox.db"}


def test_under_load_the_engines_copy_is_never_ahead_of_the_inboxs(
    path: Path, inbox: InboxWriter, log: InboxReader, tmp_path: Path
) -> None:
    store, going_on, begun = EngineStore(path), threading.Event(), threading.Event()

    def work() -> None:
        number = 0
        while not going_on.is_set():
            append(inbox, f"evt_{number}")
            take(store, log.last_seq())
            number += 1
            begun.set()

    worker = threading.Thread(target=work)
    worker.start()
    begun.wait()
    backups = [back_up(path, tmp_path / f"copy-{n}") for n in range(5)]
    going_on.set()
    worker.join()
    store.close()
    assert all(0 < backup.cursor <= backup.last_seq for backup in backups)
    for backup in backups:
        migrate(backup.folder / "bot.db")  # as a start does


def test_kept_files_that_go_meanwhile_are_not_copied(path: Path, tmp_path: Path) -> None:
    kept = contact_files(path, ANN)
    kept.mkdir(parents=True)
    (kept / "photo.jpg").write_bytes(b"a photo")
    (kept / "next.jpg.part").write_bytes(b"half a pho")
    (kept / "erased.jpg").symlink_to(kept / "gone")  # it is listed, and is not there when it is read
    copy = back_up(path, tmp_path / "copy").folder / "bot.db"
    assert [file.name for file in contact_files(copy, ANN).iterdir()] == ["photo.jpg"]


def test_nothing_is_overwritten(path: Path, tmp_path: Path) -> None:
    back_up(path, tmp_path / "copy")
    with pytest.raises(BackupFailed, match="is there already: name a folder that is not"):
        back_up(path, tmp_path / "copy")
    (tmp_path / "empty").mkdir()
    assert back_up(path, tmp_path / "empty").folder == tmp_path / "empty"


def test_files_that_do_not_belong_together_are_no_backup(path: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE meta SET cursor = 9")
    with pytest.raises(StoresDiffer, match="is an older copy, or has lost events"):
        back_up(path, tmp_path / "copy")
    assert [file.name for file in tmp_path.iterdir() if "copy" in file.name] == []


def test_a_damaged_store_is_said_to_be_damaged_and_leaves_no_half_backup(path: Path, tmp_path: Path) -> None:
    damaged = bytearray(inbox_path(path).read_bytes())
    damaged[4096 : 4096 + 2048] = b"\x05" * 2048
    inbox_path(path).write_bytes(damaged)
    with pytest.raises(StoreDamaged, match=r"bot\.inbox\.db is damaged"):
        back_up(path, tmp_path / "copy")
    assert [file.name for file in tmp_path.iterdir() if "copy" in file.name] == []


def test_without_a_store_there_is_nothing_to_copy(tmp_path: Path) -> None:
    with pytest.raises(StoreMissing):
        back_up(tmp_path / "bot.db", tmp_path / "copy")
