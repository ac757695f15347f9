"""Files that contacts send, kept: real HTTP, real files, and what is there after a crash."""

import json
import logging
import os
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bot.core.effects import DeleteFile, Fetch
from bot.core.values import Media
from bot.runtime.file_calls import Downloads, FileCalls, FileDeletions
from bot.runtime.performers import CallAttempt
from bot.store.files import files_folder
from bot.store.kept_files import kept_files
from bot.store.rows import CallRow
from bot.testing.emulator.event_payloads import SAMPLES
from tests.services.gateway.peer import Peer, answer, hang_up, peer, raw
from tests.store.store_kit import contact_files

SPARE_BYTES = 256 * 1024 * 1024
NOON = datetime(2030, 5, 1, 12, 0, tzinfo=UTC)
CONTACT = "6281234567890"
KEY = sha256(b"a key").hexdigest()
PNG = SAMPLES["image"]


class Bench:
    def __init__(self, gateway: Peer, store: Path) -> None:
        self.gateway = gateway
        self.store = store

    def fetch(
        self,
        kind: str = "image",
        *,
        most: int = 1000,
        contact: str = CONTACT,
        key: str = KEY,
        types: tuple[str, ...] = (),
    ) -> CallAttempt:
        """Do one row, with performers that know nothing of any other."""
        media = Media(kind, f"{self.gateway.url}/media/1", "Look!")
        row = CallRow(1, "e1#0", key, contact, Fetch(media, most, types), 0, NOON)
        return FileCalls(Downloads(self.gateway.url), kept_files(self.store))(row, lambda text: True)

    def serves(self, *contents: bytes) -> None:
        self.gateway.answers(*(answer(200, content) for content in contents))

    def files(self) -> list[Path]:
        return sorted(path for path in files_folder(self.store).rglob("*") if path.is_file())


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with peer() as gateway:
        yield Bench(gateway, tmp_path / "bot.db")


def test_a_kept_file_is_named_in_the_value_with_what_it_is(bench: Bench) -> None:
    bench.serves(PNG)
    ended = bench.fetch()
    path = contact_files(bench.store, CONTACT) / f"{KEY}.png"
    assert ended == CallAttempt("done", Media("image", f"{bench.gateway.url}/media/1", "Look!", str(path), "image/png"))
    assert path.read_bytes() == PNG
    assert bench.files() == [path]


def test_only_files_of_the_named_types_are_kept(bench: Bench) -> None:
    bench.serves(PNG, PNG)
    wrong = bench.fetch(types=("jpg",))
    assert (wrong.outcome, wrong.detail) == ("WrongType", "the image is image/png")
    assert bench.files() == []
    assert bench.fetch(types=("jpg", "png")).outcome == "done"


def test_a_kept_file_is_for_nobody_elses_eyes_whatever_the_umask(bench: Bench) -> None:
    bench.serves(PNG)
    before = os.umask(0)
    try:
        bench.fetch()
    finally:
        os.umask(before)
    folders = [path for path in bench.store.parent.rglob("*") if path.is_dir()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in folders} == {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for path in bench.files()} == {0o600}


def test_a_contacts_files_lie_apart_from_all_others_and_its_number_is_in_no_path(bench: Bench) -> None:
    bench.serves(PNG, PNG)
    bench.fetch(key="1" * 64)
    bench.fetch(key="2" * 64, contact="6289876543210")
    assert [path.name for path in contact_files(bench.store, CONTACT).iterdir()] == [f"{'1' * 64}.png"]
    assert CONTACT not in str(bench.files())


@pytest.mark.parametrize("kind", SAMPLES)
def test_each_kind_is_kept_under_the_suffix_of_its_type(bench: Bench, kind: str) -> None:
    bench.serves(SAMPLES[kind])
    assert bench.fetch(kind).outcome == "done"
    assert [path.suffix for path in bench.files()] == [
        {"image": ".png", "audio": ".ogg", "video": ".mp4", "document": ".pdf"}[kind]
    ]


class Trouble(NamedTuple):
    answer: Any
    outcome: str
    again: bool


TROUBLES = {
    "too large": Trouble(answer(200, PNG + bytes(1000)), "TooLarge", False),
    "another kind": Trouble(answer(200, SAMPLES["document"]), "WrongType", False),
    "a page that says sorry": Trouble(answer(200, b"<html>expired</html>"), "WrongType", False),
    "nothing known": Trouble(answer(200, b"\x00\x01\x02"), "WrongType", False),
    "nothing at all": Trouble(answer(200, b""), "WrongType", False),
    "gone": Trouble(answer(404, b""), "NotFetched", False),
    "down": Trouble(answer(503, b""), "NotFetched", True),
    "cut": Trouble(raw(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n" + PNG[:20]), "NotFetched", True),
    "hung up": Trouble(hang_up, "NotFetched", True),
    "led inside": Trouble(answer(302, b"", {"Location": "http://169.254.169.254/"}), "NotFetched", False),
}


@pytest.mark.parametrize("name", TROUBLES)
def test_what_is_not_kept_leaves_nothing_behind(bench: Bench, name: str) -> None:
    trouble = TROUBLES[name]
    bench.gateway.answers(trouble.answer)
    ended = bench.fetch()
    assert (ended.outcome, ended.again, ended.value) == (trouble.outcome, trouble.again, None)
    assert ended.detail and CONTACT not in ended.detail
    assert bench.files() == []


def test_a_fetch_that_is_repeated_after_a_crash_keeps_one_file_though_its_address_has_died(bench: Bench) -> None:
    bench.serves(PNG)
    first = bench.fetch()
    bench.gateway.by_default = answer(404, b"")
    assert bench.fetch() == first
    assert len(bench.files()) == 1


def test_what_a_crash_left_half_written_is_written_anew(bench: Bench) -> None:
    folder = contact_files(bench.store, CONTACT)
    folder.mkdir(parents=True)
    (folder / f"{KEY}.part").write_bytes(b"x" * 5000)
    bench.serves(PNG)
    assert bench.fetch().outcome == "done"
    (path,) = bench.files()
    assert path.read_bytes() == PNG


def test_a_file_that_is_not_on_the_disk_yet_is_not_in_its_place_either(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order that power loss is survived by: the content, then the name, then the folder."""
    done: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def synced(descriptor: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "content")
        fsync(descriptor)

    def moved(self: Path, target: Any) -> Path:
        done.append("name")
        return replace(self, target)

    bench.serves(PNG)
    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", moved)
    bench.fetch()
    assert done == ["folder", "folder", "folder", "content", "name", "folder"]


def test_a_disk_that_is_full_is_tried_again_and_told_of_without_anybodys_name(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    bench.serves(PNG)
    contact_files(bench.store, CONTACT).mkdir(parents=True)
    monkeypatch.setattr(os, "fsync", full)
    with caplog.at_level(logging.ERROR):
        ended = bench.fetch()
    assert ended == CallAttempt("NotFetched", detail="it cannot be written: No space left on device", again=True)
    assert caplog.messages == ["a file of a contact's cannot be kept: No space left on device"]
    assert bench.files() == []


def test_a_contact_that_is_erased_while_its_file_comes_leaves_nothing_behind(bench: Bench) -> None:
    folder = contact_files(bench.store, CONTACT)

    def erase_first(connection: socket.socket) -> bool:
        shutil.rmtree(folder)
        return answer(200, PNG)(connection)

    bench.gateway.answers(erase_first)
    assert bench.fetch().outcome == "NotFetched"
    assert not folder.exists()


def test_a_download_ends_five_seconds_before_nobody_waits_for_it_any_more(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[float] = []
    opened = Downloads.open

    def noted(self: Downloads, url: str, *, most: int, seconds: float) -> Any:
        given.append(seconds)
        return opened(self, url, most=most, seconds=seconds)

    monkeypatch.setattr(Downloads, "open", noted)
    bench.serves(PNG)
    bench.fetch()
    assert given == [Fetch(Media("image", "", ""), 0).within - 5]


def test_files_leave_the_store_some_room_on_the_disk(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []

    def full(path: Path) -> "shutil._ntuple_diskusage":
        asked.append(path)
        return shutil._ntuple_diskusage(0, 0, SPARE_BYTES + 999)

    monkeypatch.setattr(shutil, "disk_usage", full)
    assert (bench.fetch().outcome, bench.gateway.requests) == ("NotFetched", [])
    files_folder(bench.store).mkdir()  # from now on it may be a disk of its own
    assert bench.fetch().outcome == "NotFetched"
    assert asked == [bench.store.parent, files_folder(bench.store)]


def test_wherever_it_is_killed_the_file_is_there_whole_or_not_and_once_in_the_end(bench: Bench, tmp_path: Path) -> None:
    bench.gateway.by_default = answer(200, PNG)
    run = subprocess.run(
        [sys.executable, "-m", "tests.runtime.killed_file_call", bench.gateway.url, str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert run.returncode == 0, run.stderr
    found = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(found) > 6
    assert [one["killed"] for one in found] == [True] * (len(found) - 1) + [False]
    for place, one in enumerate(found, start=1):
        assert one["left"].get("key.png") in (None, len(PNG)), place
        assert (one["outcome"], one["then"]) == ("done", {"key.png": len(PNG)}), place


# Deleting


def test_a_file_that_a_flow_has_cleared_is_deleted_and_again_is_nothing_to_do(bench: Bench) -> None:
    bench.serves(PNG, PNG)
    file, other = bench.fetch().value.file, bench.fetch(key=sha256(b"another").hexdigest()).value.file
    assert [deleted(bench, file) for _ in range(2)] == [CallAttempt("done")] * 2
    assert bench.files() == [Path(other)]


def test_no_file_of_another_contact_and_none_elsewhere_is_deleted(bench: Bench, tmp_path: Path) -> None:
    bench.serves(PNG)
    file = bench.fetch(contact="6281234567891").value.file
    elsewhere = tmp_path / "elsewhere.png"
    elsewhere.write_bytes(PNG)
    assert [deleted(bench, each) for each in (file, str(elsewhere))] == [CallAttempt("done")] * 2
    assert bench.files() == [Path(file)]
    assert elsewhere.exists()


def test_a_deletion_that_fails_is_tried_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.serves(PNG)
    file = bench.fetch().value.file
    monkeypatch.setattr(Path, "unlink", lambda *_, **__: (_ for _ in ()).throw(OSError(30, "Read-only file system")))
    assert deleted(bench, file) == CallAttempt(
        "error", detail="it cannot be deleted: Read-only file system", again=True
    )


def deleted(bench: Bench, file: str) -> CallAttempt:
    row = CallRow(2, "e2#0", KEY, CONTACT, DeleteFile(file), 0, NOON)
    return FileDeletions(kept_files(bench.store))(row, lambda text: True)
